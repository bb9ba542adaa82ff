//! Taking a tree apart along a structure that is known.

#![allow(unsafe_code)]

use std::mem;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::Rules;
use super::agenda::Agenda;
use super::cursor::{Cursor, Gathered};
use super::mismatch::{self, Mismatch};
use super::walker::{Frame, ROOT};
use crate::errors::{KeyPath, no_memory, noted};
use crate::ffi::{self, DictEntries, LARGEST_KEPT, Pool, Raw, RefVec, TypeAddress};
use crate::limits::{Interrupts, Nested};
use crate::registry::Class;
use crate::spec::{Graph, Place, key_path};
use crate::structure::Kind;

/// What `tree_map` asks of its further trees: a leaf where the first has one.
pub(super) struct Strict<'a> {
    /// The leaves of the first tree.
    pub(super) leaves: &'a [Option<Py<PyAny>>],
    /// Which of the trees this one is, counted from one.
    pub(super) number: usize,
}

pub(super) struct Matcher<'a> {
    pub(super) graph: &'a Graph,
    pub(super) rules: Rules,
    pub(super) strict: Option<&'a Strict<'a>>,
    pub(super) frames: Vec<Frame>,
    pub(super) cursors: Vec<Cursor>,
    pub(super) gathered: Gathered,
    pub(super) agenda: Agenda,
    pub(super) leaves: RefVec,
    /// The node that comes next in the structure.
    pub(super) at: usize,
    /// The class of the last leaf. Some leaf of it is alive as long as no Python code runs.
    pub(super) last_leaf: TypeAddress,
    pub(super) interrupts: Interrupts,
    /// Nobody reads how a tree differs: only that it does.
    quiet: bool,
    differs: bool,
}

/// Room for so many leaves is asked for before the walk: a structure may have far more than the tree that it is held to.
const LEAVES_AHEAD: usize = 1 << 16;

/// The memory of a finished walk, for the next one.
#[derive(Default)]
struct Memory {
    frames: Vec<Frame>,
    cursors: Vec<Cursor>,
    gathered: Gathered,
    agenda: Agenda,
    leaves: RefVec,
}

static MEMORY: Pool<Memory> = Pool::new();

/// What the tree has at the leaves of a structure, in their order.
pub(crate) fn flatten_up_to<'py>(
    graph: &Graph,
    tree: &Bound<'py, PyAny>,
    rules: Rules,
) -> PyResult<Bound<'py, PyList>> {
    let (mut leaves, _) = match_leaves(graph, tree, rules, None)?;
    ffi::list_from(tree.py(), &mut leaves, 0)
}

/// The same as references; hands the rules back.
pub(super) fn match_leaves(
    graph: &Graph,
    tree: &Bound<'_, PyAny>,
    rules: Rules,
    strict: Option<&Strict<'_>>,
) -> PyResult<(RefVec, Rules)> {
    let py = tree.py();
    let mut matcher = Matcher::new(py, graph, rules, strict);
    matcher.walk(tree)?;
    Ok(matcher.finish(py))
}

/// The same for a call: what `take` makes of the leaves; nothing where the tree has another structure. Where the structure
/// has a leaf the tree may have anything.
#[inline]
pub(crate) fn leaves_if_same<T>(
    graph: &Graph,
    tree: &Bound<'_, PyAny>,
    rules: Rules,
    take: impl FnOnce(&mut RefVec) -> PyResult<Option<T>>,
) -> PyResult<Option<T>> {
    let py = tree.py();
    let mut matcher = Matcher::new(py, graph, rules, None);
    matcher.quiet = true;
    let taken = match matcher.walk(tree) {
        Ok(()) => take(&mut matcher.leaves)?,
        Err(_) if matcher.differs => {
            matcher.agenda.truncate(0);
            matcher.frames.clear();
            matcher.cursors.clear();
            None
        }
        Err(raised) => return Err(raised),
    };
    matcher.leaves.truncate(py, 0);
    let leaves = mem::take(&mut matcher.leaves);
    matcher.keep_memory(py, leaves);
    Ok(taken)
}

impl<'a> Matcher<'a> {
    #[inline]
    fn new(py: Python<'_>, graph: &'a Graph, rules: Rules, strict: Option<&'a Strict<'a>>) -> Self {
        let Memory { frames, cursors, gathered, agenda, leaves } = MEMORY.take(py);
        Self {
            graph,
            rules,
            strict,
            frames,
            cursors,
            gathered,
            agenda,
            leaves,
            at: 0,
            last_leaf: 0,
            interrupts: Interrupts::new(),
            quiet: false,
            differs: false,
        }
    }

    #[inline]
    fn walk(&mut self, tree: &Bound<'_, PyAny>) -> PyResult<()> {
        self.leaves.reserve(self.graph.num_leaves.min(LEAVES_AHEAD))?;
        self.agenda.push_borrowed(ffi::raw(tree))?;
        self.frames.push(Frame { node: ROOT, base: 0, next: 0, end: 1 });
        self.run(tree.py())
    }

    /// The leaves and the rules.
    #[inline]
    fn finish(mut self, py: Python<'_>) -> (RefVec, Rules) {
        let (leaves, rules) = (mem::take(&mut self.leaves), self.rules.take());
        self.keep_memory(py, RefVec::default());
        (leaves, rules)
    }

    /// Keeps the memory of a finished walk for the next one; that of the leaves is empty.
    #[inline]
    fn keep_memory(self, py: Python<'_>, leaves: RefVec) {
        let Matcher { frames, cursors, gathered, agenda, .. } = self;
        if frames.capacity().max(agenda.capacity()).max(leaves.capacity()) <= LARGEST_KEPT {
            MEMORY.give_back(py, Memory { frames, cursors, gathered, agenda, leaves });
        }
    }
}

impl Matcher<'_> {
    fn run(&mut self, py: Python<'_>) -> PyResult<()> {
        let _nested = Nested::enter()?;
        while let Some(frame) = self.frames.last_mut() {
            if frame.next == frame.end {
                let base = frame.base;
                self.frames.pop();
                if self.agenda.truncate(base) {
                    self.last_leaf = 0;
                }
                continue;
            }
            let (index, start) = (self.at, frame.next);
            let node = &self.graph.nodes[index];
            self.at += 1;
            if node.is_leaves() {
                self.take_run(py, start, node.arity as usize)?;
                continue;
            }
            frame.next += 1;
            self.interruptible(py, 1)?;
            let Some(child) = self.agenda.get(start) else { continue };
            self.open(py, child, index)?;
        }
        Ok(())
    }

    /// Looks at pending signals, where so many steps make it time.
    #[inline]
    fn interruptible(&mut self, py: Python<'_>, steps: usize) -> PyResult<()> {
        if !self.interrupts.are_due(steps) {
            return Ok(());
        }
        self.pin();
        py.check_signals()
    }

    /// Takes the next children of the innermost container as leaves.
    #[inline]
    fn take_run(&mut self, py: Python<'_>, start: usize, count: usize) -> PyResult<()> {
        for index in start..start + count {
            if let Some(frame) = self.frames.last_mut() {
                frame.next += 1;
            }
            self.interruptible(py, 1)?;
            if self.strict.is_some() {
                self.check_leaf(py, index)?;
            }
            self.agenda.take_into(index, &mut self.leaves)?;
        }
        Ok(())
    }

    /// Refuses a container where the first tree has a leaf.
    fn check_leaf(&mut self, py: Python<'_>, index: usize) -> PyResult<()> {
        let (Some(strict), Some(child)) = (self.strict, self.agenda.get(index)) else { return Ok(()) };
        if let Some(Class::Leaf) = self.rules.scope.known(py, ffi::type_address(child)) {
            return Ok(());
        }
        self.pin();
        let child = ffi::own(py, child);
        if !self.is_node(&child)? {
            return Ok(());
        }
        let first = strict.leaves.get(self.leaves.len()).and_then(Option::as_ref);
        let stopped_at_container = match first {
            Some(first) => self.is_node(first.bind(py))?,
            None => false,
        };
        let stopped = stopped_at_container
            || self
                .rules
                .stops_at(&child)
                .map_err(|raised| noted(py, raised, || self.here(py), |path| format!("by is_leaf {}", path.place())))?;
        if stopped {
            return Ok(());
        }
        Err(self.mismatch(py, &Mismatch::Deeper { found: &child }))
    }

    fn is_node(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        let cls = object.get_type();
        let class = match self.rules.scope.known(object.py(), ffi::address_of(&cls)) {
            Some(class) => class,
            None => self.rules.scope.resolve(&cls)?,
        };
        Ok(match class {
            Class::Leaf => false,
            Class::Builtin(Kind::None) => !self.rules.none_is_leaf,
            _ => true,
        })
    }

    #[inline]
    fn open(&mut self, py: Python<'_>, child: Raw, index: usize) -> PyResult<()> {
        if self.follow(py, child, index)? {
            return Ok(());
        }
        let node = self.graph.nodes[index];
        let address = ffi::type_address(child);
        match node.kind {
            Kind::Dict if address == ffi::dict_address() && !self.rules.sorted => self.open_dict(py, child, index, 0),
            Kind::List if address == ffi::list_address() => {
                // SAFETY: the class was looked at, and the items are copied before Python code runs.
                self.open_items(py, unsafe { ffi::list_items(child) }, index)
            }
            Kind::Tuple if address == ffi::tuple_address() => {
                // SAFETY: as above.
                self.open_items(py, unsafe { ffi::tuple_items(child) }, index)
            }
            Kind::NamedTuple if self.is_class_slot(index, address) => {
                // SAFETY: as above; the class in the slot is a subclass of tuple.
                self.open_items(py, unsafe { ffi::tuple_items(child) }, index)
            }
            _ => self.open_rare(py, child, index),
        }
    }

    fn is_class_slot(&self, index: usize, address: usize) -> bool {
        let slot = self.graph.slots.raw()[self.graph.nodes[index].slots_at as usize];
        slot.is_some_and(|cls| cls.as_ptr() as usize == address)
    }

    #[inline]
    fn open_items(&mut self, py: Python<'_>, items: &[Raw], index: usize) -> PyResult<()> {
        let arity = self.graph.nodes[index].arity as usize;
        if items.len() != arity {
            let found = self.agenda_child(py);
            return Err(self.mismatch(py, &Mismatch::Length { index, found: &found, length: items.len() }));
        }
        let base = self.agenda.len();
        self.agenda.extend_borrowed(items)?;
        self.enter(index, base)
    }

    /// Follows a dict or defaultdict whose keys begin at slot `first_key` of its node.
    #[inline]
    pub(super) fn open_dict(&mut self, py: Python<'_>, dict: Raw, index: usize, first_key: usize) -> PyResult<()> {
        let node = self.graph.nodes[index];
        let arity = node.arity as usize;
        let base = self.agenda.len();
        if ffi::dict_len(dict) == arity {
            let keys = &self.graph.slots.raw()[node.slots_at as usize + first_key..node.slot_range().end];
            let mut matched = 0;
            // SAFETY: a live dict, and nothing in the loop runs Python code: only exact strs are compared.
            for ((key, value), expected) in unsafe { DictEntries::new(dict) }.zip(keys) {
                if !expected.is_some_and(|expected| is_same_key(key, expected)) {
                    break;
                }
                matched += 1;
                self.agenda.push_borrowed(value)?;
            }
            self.interrupts.count(matched);
            if matched == arity {
                return self.enter(index, base);
            }
        }
        self.agenda.truncate(base);
        self.pin();
        let dict = ffi::own(py, dict);
        let entries = ffi::dict_entries(&dict)?;
        self.open_entries(py, &dict, entries, index, first_key)
    }

    #[inline]
    pub(super) fn enter(&mut self, node: usize, base: usize) -> PyResult<()> {
        let end = self.agenda.len();
        if base < end {
            self.frames.try_reserve(1).map_err(no_memory)?;
            #[expect(clippy::cast_possible_truncation, reason = "the number of a node")]
            let node = node as u32;
            self.frames.push(Frame { node, base, next: base, end });
        }
        Ok(())
    }

    /// Owns every child on the agenda: from here on Python code may run.
    pub(super) fn pin(&mut self) {
        self.agenda.pin();
        self.last_leaf = 0;
    }

    /// The child that is being opened.
    #[cold]
    fn agenda_child<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyAny> {
        let child = self.frames.last().and_then(|frame| self.agenda.get(frame.next - 1));
        child.map_or_else(|| py.None().into_bound(py), |child| ffi::own(py, child))
    }

    #[cold]
    pub(super) fn here(&self, py: Python<'_>) -> KeyPath {
        let places = self.frames.iter().filter(|frame| frame.node != ROOT).map(|frame| {
            let left = frame.end - frame.next;
            let node = frame.node as usize;
            Place { node, child: (self.graph.nodes[node].arity as usize).saturating_sub(left + 1) }
        });
        key_path(py, &self.graph.nodes, self.graph.slots.as_slice(), self.rules.names.as_ref(), places)
    }

    #[cold]
    pub(super) fn mismatch(&mut self, py: Python<'_>, what: &Mismatch<'_, '_>) -> PyErr {
        if self.quiet {
            self.differs = true;
            return PyValueError::new_err("the tree differs");
        }
        self.pin();
        mismatch::error(py, self.graph, what, self.strict.map(|strict| strict.number), &self.here(py))
    }
}

/// Whether two keys are the same object, or exact strs of the same text.
#[inline]
pub(super) fn is_same_key(found: Raw, expected: Raw) -> bool {
    let is_text = |key: Raw| ffi::type_address(key) == ffi::str_address();
    found == expected || is_text(found) && is_text(expected) && ffi::str_equal(found, expected)
}
