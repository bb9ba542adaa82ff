//! The walk itself: one loop for flattening and iterating.
//!
//! `KEEP` says that the structure is wanted in the end; without it a container leaves no trace when it closes. `LAZY` halts
//! the walk after each leaf.

use hashbrown::HashSet;
use pyo3::exceptions::PyMemoryError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use super::Rules;
use super::agenda::Agenda;
use super::cursor::{Cursor, Gathered};
use crate::errors::{self, Family, KeyPath, error, no_memory};
use crate::ffi::{self, AddressHash, LARGEST_KEPT, Pool, Raw, RefVec, TypeAddress};
use crate::limits::{Grow, Interrupts, Nested};
use crate::registry::Class;
use crate::spec::{Draft, Place, key_path};
use crate::structure::Kind;

/// An open container, or (the first one) the place of the root.
pub(super) struct Frame {
    pub(super) node: u32,
    /// Its children on the agenda: where they begin, which one comes next, and where they end.
    pub(super) base: usize,
    pub(super) next: usize,
    pub(super) end: usize,
}

pub(super) const ROOT: u32 = u32::MAX;
/// How deep a tree is before it is first looked at for a circle; then at twice that depth, and so on.
const FIRST_CIRCLE_CHECK: usize = 32;

/// The state of a walk.
pub(super) struct Walker {
    pub(super) rules: Rules,
    pub(super) frames: Vec<Frame>,
    pub(super) cursors: Vec<Cursor>,
    pub(super) gathered: Gathered,
    /// How many leaves may still come from the containers around the innermost cursor.
    pub(super) room: usize,
    pub(super) agenda: Agenda,
    pub(super) draft: Draft,
    /// The leaves so far.
    pub(super) leaves: RefVec,
    /// The class of the last leaf. Some leaf of it is alive as long as no Python code runs.
    pub(super) last_leaf: TypeAddress,
    /// The class that was looked up last while containers are read in place, and what it is.
    pub(super) recalled: (TypeAddress, Option<Class>),
    next_circle_check: usize,
    pub(super) interrupts: Interrupts,
    /// Whether leaves may be taken before it is their turn to be visited: nobody asks for them one by one.
    takes_at_once: bool,
}

/// A finished walk, whose memory the next one uses.
static FINISHED: Pool<Option<Box<Walker>>> = Pool::new();

impl Walker {
    /// A walk over `tree`, which the caller keeps alive.
    #[inline]
    pub(super) fn new(tree: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Box<Self>> {
        let mut walker = match FINISHED.take(tree.py()) {
            Some(mut finished) => {
                finished.rules = rules;
                finished
            }
            None => Box::new(Self {
                rules,
                frames: Vec::new(),
                cursors: Vec::new(),
                gathered: Gathered::default(),
                room: 0,
                agenda: Agenda::default(),
                draft: Draft::default(),
                leaves: RefVec::default(),
                last_leaf: 0,
                recalled: (0, None),
                next_circle_check: FIRST_CIRCLE_CHECK,
                interrupts: Interrupts::new(),
                takes_at_once: false,
            }),
        };
        walker.agenda.push_borrowed(ffi::raw(tree))?;
        walker.frames.grow(Frame { node: ROOT, base: 0, next: 0, end: 1 })?;
        Ok(walker)
    }

    /// Hands the memory of a finished walk on, and its rules back.
    #[inline]
    pub(super) fn recycle(mut self: Box<Self>, py: Python<'_>) -> Rules {
        self.agenda.truncate(0);
        self.draft.clear(py);
        self.leaves.truncate(py, 0);
        self.frames.clear();
        self.last_leaf = 0;
        self.next_circle_check = FIRST_CIRCLE_CHECK;
        self.interrupts = Interrupts::new();
        let rules = self.rules.take();
        let slots_and_nodes = self.draft.slots.capacity().max(self.draft.nodes.capacity());
        let largest = self.agenda.capacity().max(self.frames.capacity()).max(self.leaves.capacity());
        if largest.max(slots_and_nodes) <= LARGEST_KEPT {
            FINISHED.give_back(py, Some(self));
        }
        rules
    }

    /// Walks on until there is a leaf, where it is lazy (`false`), or the tree is done (`true`).
    #[inline]
    pub(super) fn run<const KEEP: bool, const LAZY: bool>(&mut self, py: Python<'_>) -> PyResult<bool> {
        let _nested = Nested::enter()?;
        self.takes_at_once = !LAZY && self.rules.is_leaf.is_none();
        while let Some(frame) = self.frames.last_mut() {
            let index = frame.next;
            if index == frame.end {
                self.close::<KEEP>(py)?;
                continue;
            }
            frame.next += 1;
            if self.visit::<KEEP, LAZY>(py, index)? && LAZY {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Visits one child: takes it as a leaf (`true`), or opens it.
    #[inline]
    fn visit<const KEEP: bool, const LAZY: bool>(&mut self, py: Python<'_>, index: usize) -> PyResult<bool> {
        let Some(child) = self.agenda.get(index) else { return Ok(false) };
        if self.rules.is_leaf.is_some() && self.predicate_stops(py, child)? {
            return self.take_leaf::<KEEP>(py, index);
        }
        let address = ffi::type_address(child);
        if address == self.last_leaf {
            return self.take_leaf::<KEEP>(py, index);
        }
        match self.classify(py, child, address)? {
            Class::Leaf => {
                self.last_leaf = address;
                return self.take_leaf::<KEEP>(py, index);
            }
            Class::Builtin(_) | Class::Registered(Kind::Dataclass, _)
                if self.takes_at_once && self.dive::<KEEP>(py, child)? => {}
            Class::Builtin(kind) => self.open_builtin::<KEEP>(py, child, kind)?,
            Class::Registered(kind, registration) => self.open_registered::<KEEP>(py, child, kind, registration)?,
        }
        Ok(false)
    }

    /// What the class of an object is; runs Python code only where it was never seen before.
    #[inline]
    fn classify(&mut self, py: Python<'_>, child: Raw, address: TypeAddress) -> PyResult<Class> {
        if address == ffi::dict_address() {
            return Ok(Class::Builtin(Kind::Dict));
        }
        if address == ffi::list_address() {
            return Ok(Class::Builtin(Kind::List));
        }
        if address == ffi::tuple_address() {
            return Ok(Class::Builtin(Kind::Tuple));
        }
        let class = match self.rules.scope.known(py, address) {
            Some(class) => class,
            None => self.classify_unknown(py, child)?,
        };
        if let Class::Builtin(Kind::None) = class {
            return Ok(if self.rules.none_is_leaf { Class::Leaf } else { class });
        }
        Ok(class)
    }

    #[cold]
    fn classify_unknown(&mut self, py: Python<'_>, child: Raw) -> PyResult<Class> {
        self.pin();
        let class = ffi::own(py, child).get_type();
        self.rules.scope.resolve(&class)
    }

    #[cold]
    fn predicate_stops(&mut self, py: Python<'_>, child: Raw) -> PyResult<bool> {
        self.pin();
        let child = ffi::own(py, child);
        self.rules.stops_at(&child).map_err(|raised| self.noted(py, raised, "is_leaf", self.frames.len()))
    }

    #[inline]
    fn take_leaf<const KEEP: bool>(&mut self, py: Python<'_>, index: usize) -> PyResult<bool> {
        if KEEP {
            self.draft.add_leaves(1);
        }
        self.interruptible(py, 1)?;
        self.agenda.take_into(index, &mut self.leaves)?;
        Ok(true)
    }

    /// Takes the next child of the container whose node was opened last, where it is known to be a leaf and those before
    /// it were; else it goes on the agenda. `base` is where the agenda ended when the node was opened.
    #[inline]
    pub(super) fn take_or_push<const KEEP: bool>(&mut self, child: Bound<'_, PyAny>, base: usize) -> PyResult<()> {
        if self.takes_at_once && self.agenda.len() == base && self.is_known_leaf_now(&child) {
            if KEEP {
                self.draft.add_leaves(1);
            }
            return self.leaves.push(child);
        }
        self.agenda.push_owned(child)
    }

    /// Whether a leaf's class is known, whatever ran since the last one.
    fn is_known_leaf_now(&self, child: &Bound<'_, PyAny>) -> bool {
        match self.rules.scope.known(child.py(), ffi::type_address(ffi::raw(child))) {
            Some(Class::Leaf) => true,
            Some(Class::Builtin(Kind::None)) => self.rules.none_is_leaf,
            _ => false,
        }
    }

    /// Opens a frame for the children on the agenda from `base` on; closes the node where there are none.
    #[inline]
    pub(super) fn enter<const KEEP: bool>(&mut self, py: Python<'_>, node: u32, base: usize) -> PyResult<()> {
        let end = self.agenda.len();
        self.interruptible(py, 1)?;
        if base == end {
            return self.close_node::<KEEP>(py, node);
        }
        self.frames.try_reserve(1).map_err(no_memory)?;
        self.frames.push(Frame { node, base, next: base, end });
        self.look_for_circle(py)
    }

    /// Looks for a circle each time that the depth has doubled.
    #[inline]
    pub(super) fn look_for_circle(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.frames.len() >= self.next_circle_check {
            self.check_circle(py)?;
        }
        Ok(())
    }

    /// Looks at pending signals, where so many steps make it time.
    #[inline]
    pub(super) fn interruptible(&mut self, py: Python<'_>, steps: usize) -> PyResult<()> {
        if self.interrupts.are_due(steps) { self.look(py) } else { Ok(()) }
    }

    #[cold]
    fn look(&mut self, py: Python<'_>) -> PyResult<()> {
        self.pin();
        py.check_signals()
    }

    #[inline]
    fn close<const KEEP: bool>(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        if frame.node != ROOT {
            self.close_node::<KEEP>(py, frame.node)?;
        }
        // Back from a deep branch, the next look comes as early as if that had not been.
        if self.frames.len() < self.next_circle_check / 4 && self.next_circle_check > FIRST_CIRCLE_CHECK {
            self.next_circle_check /= 2;
        }
        if self.agenda.truncate(frame.base) {
            // A finalizer may have given the last leaf another class, and a new class may have the address of its old one.
            self.last_leaf = 0;
        }
        Ok(())
    }

    #[inline]
    fn close_node<const KEEP: bool>(&mut self, py: Python<'_>, node: u32) -> PyResult<()> {
        if KEEP {
            return self.draft.close(node);
        }
        self.draft.drop_from(py, node);
        Ok(())
    }

    /// Owns every child on the agenda: from here on Python code may run.
    #[inline]
    pub(super) fn pin(&mut self) {
        self.agenda.pin();
        self.last_leaf = 0;
    }

    /// Looks for a container among those around it. That costs as much as the depth, and the depth has doubled since the
    /// last look.
    #[cold]
    fn check_circle(&mut self, py: Python<'_>) -> PyResult<()> {
        self.next_circle_check *= 2;
        let mut around: HashSet<Raw, AddressHash> = HashSet::default();
        if around.try_reserve(self.frames.len()).is_err() {
            return Err(PyMemoryError::new_err("clika_pytree: not enough memory for this tree"));
        }
        let mut containers = self.frames[..self.frames.len() - 1].iter().map(|frame| self.agenda.get(frame.next - 1));
        let Some(depth) = containers.position(|container| container.is_some_and(|container| !around.insert(container)))
        else {
            return Ok(());
        };
        let closing = self.agenda.get(self.frames[depth].next - 1);
        let outer = self.frames[..depth].iter().position(|frame| self.agenda.get(frame.next - 1) == closing);
        let path = self.path(py, depth + 1);
        let message = format!(
            "the tree contains itself: what stands {} is the container {}, in which it lies. A tree has no circles: put \
             something else there",
            path.place(),
            self.path(py, outer.map_or(0, |depth| depth + 1)).place()
        );
        Err(error(py, Family::Circular, Some(&path), &message))
    }

    /// The path through the children that the first `depth` frames are at.
    #[cold]
    pub(super) fn path(&self, py: Python<'_>, depth: usize) -> KeyPath {
        let places = self.frames[..depth].iter().filter(|frame| frame.node != ROOT).map(|frame| {
            let node = frame.node as usize;
            let left = frame.end - frame.next;
            Place { node, child: (self.draft.nodes[node].arity as usize).saturating_sub(left + 1) }
        });
        key_path(py, &self.draft.nodes, self.draft.slots.as_slice(), self.rules.names.as_ref(), places)
    }

    /// The path of the child that is being visited.
    #[cold]
    pub(super) fn here(&self, py: Python<'_>) -> KeyPath {
        self.path(py, self.frames.len())
    }

    /// Notes on an exception of user code who raised it and where.
    #[cold]
    pub(super) fn noted(&self, py: Python<'_>, raised: PyErr, who: &str, depth: usize) -> PyErr {
        errors::noted(py, raised, || self.path(py, depth), |path| format!("by {who} {}", path.place()))
    }

    /// Shows the references that a halted walk owns to the garbage collector.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        for owned in self.agenda.pinned().iter().chain(self.draft.slots.as_slice()) {
            visit.call(owned)?;
        }
        visit.call(&self.rules.names)?;
        visit.call(self.rules.is_leaf.as_ref().and_then(|predicate| predicate.get()))
    }
}
