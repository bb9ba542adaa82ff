//! The walk itself: one loop for flattening, mapping and iterating.

use std::cell::Cell;

use hashbrown::HashSet;
use pyo3::exceptions::{PyMemoryError, PyRecursionError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use super::Rules;
use super::agenda::Agenda;
use crate::errors::{Family, KeyPath, add_note, error, no_memory};
use crate::ffi::{self, AddressHash, LARGEST_KEPT, Pool, Raw, TypeAddress};
use crate::limits::{CALL, Interrupts};
use crate::registry::Class;
use crate::spec::{Draft, Place, key_path};
use crate::structure::{Kind, Node};

/// What a walk does with what it meets.
pub(super) trait Sink {
    /// Taking a leaf runs no Python code, so that children need not be owned.
    const QUIET: bool;
    /// The structure is wanted in the end.
    const KEEP: bool;
    /// Who raised an exception that came out of `leaf`, for its note; nothing to leave it as it is.
    fn who(&self) -> Option<&'static str> {
        None
    }

    /// Takes a leaf whose container keeps it alive. Asked of quiet sinks only.
    fn borrowed_leaf(&mut self, leaf: Raw) -> PyResult<()>;

    /// Takes a leaf; `false` halts the walk after it.
    fn leaf(&mut self, leaf: Bound<'_, PyAny>) -> PyResult<bool>;

    /// A container is complete. Not called where the structure is kept.
    fn close(&mut self, node: &Node, slots: &[Option<Py<PyAny>>], order: Option<&[u32]>) -> PyResult<()>;
}

/// An open container, or (the first one) the place of the root.
struct Frame {
    node: u32,
    /// Its children on the agenda: where they begin, which one comes next, and where they end.
    base: usize,
    next: usize,
    end: usize,
}

const ROOT: u32 = u32::MAX;
/// The leaves of a wider container are taken one by one, since nobody can interrupt those that are taken at once.
const MOST_AT_ONCE: usize = 1 << 22;
/// How deep a tree is before it is first looked at for a circle; then at twice that depth, and so on.
const FIRST_CIRCLE_CHECK: usize = 32;

/// The state of a walk.
pub(super) struct Walker {
    pub(super) rules: Rules,
    frames: Vec<Frame>,
    pub(super) agenda: Agenda,
    pub(super) draft: Draft,
    /// The class of the last leaf. Some leaf of it is alive as long as no Python code runs.
    last_leaf: TypeAddress,
    next_circle_check: usize,
    pub(super) interrupts: Interrupts,
}

thread_local! {
    static WALKS: Cell<u32> = const { Cell::new(0) };
}

/// A walk inside another one, called by a flatten function or a mapped function. Each takes some of the native stack.
struct Nested;

/// Python's own limit may be far higher than what the stack has room for.
const MOST_NESTED: u32 = 500;

impl Nested {
    #[inline]
    fn enter() -> PyResult<Self> {
        let walks = WALKS.get();
        if walks >= MOST_NESTED {
            return Err(PyRecursionError::new_err(format!(
                "{walks} walks inside one another: a flatten function or a mapped function calls the walk that called it"
            )));
        }
        WALKS.set(walks + 1);
        Ok(Self)
    }
}

impl Drop for Nested {
    #[inline]
    fn drop(&mut self) {
        WALKS.set(WALKS.get() - 1);
    }
}

/// The memory of a finished walk, for the next one.
#[derive(Default)]
struct Memory {
    frames: Vec<Frame>,
    agenda: Agenda,
    draft: Draft,
}

static MEMORY: Pool<Memory> = Pool::new();

impl Walker {
    /// A walk over `tree`, which the caller keeps alive.
    #[inline]
    pub(super) fn new(tree: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Self> {
        let Memory { frames, agenda, draft } = MEMORY.take(tree.py());
        let mut walker = Self {
            rules,
            frames,
            agenda,
            draft,
            last_leaf: 0,
            next_circle_check: FIRST_CIRCLE_CHECK,
            interrupts: Interrupts::new(),
        };
        walker.agenda.push_borrowed(ffi::raw(tree))?;
        walker.frames.push(Frame { node: ROOT, base: 0, next: 0, end: 1 });
        Ok(walker)
    }

    /// Hands the memory of a finished walk on, and its rules back.
    #[inline]
    pub(super) fn recycle(mut self, py: Python<'_>) -> Rules {
        self.agenda.truncate(0);
        self.draft.clear(py);
        self.frames.clear();
        let Self { rules, frames, agenda, draft, .. } = self;
        let largest = agenda.capacity().max(draft.slots.capacity()).max(draft.nodes.capacity()).max(frames.capacity());
        if largest <= LARGEST_KEPT {
            MEMORY.give_back(py, Memory { frames, agenda, draft });
        }
        rules
    }

    /// Walks on until the sink halts it (`false`) or the tree is done (`true`).
    #[inline]
    pub(super) fn run<S: Sink>(&mut self, py: Python<'_>, sink: &mut S) -> PyResult<bool> {
        let _nested = Nested::enter()?;
        while let Some(frame) = self.frames.last_mut() {
            let index = frame.next;
            if index == frame.end {
                self.close(py, sink)?;
                continue;
            }
            frame.next += 1;
            if !self.visit(py, index, sink)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Visits one child: takes it as a leaf, or opens it.
    #[inline]
    fn visit<S: Sink>(&mut self, py: Python<'_>, index: usize, sink: &mut S) -> PyResult<bool> {
        let Some(child) = self.agenda.get(index) else { return Ok(true) };
        if self.rules.is_leaf.is_some() && self.predicate_stops(py, child)? {
            return self.take_leaf(py, index, sink);
        }
        let address = ffi::type_address(child);
        if address == self.last_leaf {
            return self.take_leaf(py, index, sink);
        }
        match self.classify(py, child, address)? {
            Class::Leaf => {
                self.last_leaf = address;
                self.take_leaf(py, index, sink)
            }
            Class::Builtin(kind) => self.open_builtin(py, child, kind, sink).map(|()| true),
            Class::Registered(kind, registration) => {
                self.open_registered(py, child, kind, registration, sink).map(|()| true)
            }
        }
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
    fn take_leaf<S: Sink>(&mut self, py: Python<'_>, index: usize, sink: &mut S) -> PyResult<bool> {
        if S::KEEP {
            self.draft.add_leaves(1);
        }
        self.interruptible(py, if S::QUIET { 1 } else { CALL })?;
        if S::QUIET {
            let Some(leaf) = self.agenda.take(py, index) else { return Ok(true) };
            return sink.leaf(leaf);
        }
        self.pin();
        let Some(leaf) = self.agenda.take(py, index) else { return Ok(true) };
        match (sink.leaf(leaf), sink.who()) {
            (Err(raised), Some(who)) => Err(self.noted(py, raised, who, self.frames.len())),
            (done, _) => done,
        }
    }

    /// Whether instances of a class are known to be leaves; runs no Python code.
    #[inline]
    fn is_known_leaf(&mut self, py: Python<'_>, address: TypeAddress) -> bool {
        if address == self.last_leaf {
            return true;
        }
        if address == ffi::dict_address() || address == ffi::list_address() || address == ffi::tuple_address() {
            return false;
        }
        let is_leaf = match self.rules.scope.known(py, address) {
            Some(Class::Leaf) => true,
            Some(Class::Builtin(Kind::None)) => self.rules.none_is_leaf,
            _ => false,
        };
        if is_leaf {
            self.last_leaf = address;
        }
        is_leaf
    }

    /// Whether leaves can be taken straight from their container of so many children.
    #[inline]
    pub(super) fn takes_directly<S: Sink>(&self, children: usize) -> bool {
        S::QUIET && children <= MOST_AT_ONCE && self.rules.is_leaf.is_none()
    }

    /// Takes a leaf straight from its container, where it is known to be one.
    #[inline]
    pub(super) fn take_directly<S: Sink>(&mut self, py: Python<'_>, child: Raw, sink: &mut S) -> PyResult<bool> {
        if !self.is_known_leaf(py, ffi::type_address(child)) {
            return Ok(false);
        }
        if S::KEEP {
            self.draft.add_leaves(1);
        }
        sink.borrowed_leaf(child)?;
        Ok(true)
    }

    /// Opens a frame for the children on the agenda from `base` on; closes the node where there are none.
    #[inline]
    pub(super) fn enter<S: Sink>(&mut self, py: Python<'_>, node: u32, base: usize, sink: &mut S) -> PyResult<()> {
        let end = self.agenda.len();
        self.interruptible(py, 1)?;
        if S::KEEP && base == end {
            return self.draft.close(node);
        }
        self.frames.try_reserve(1).map_err(no_memory)?;
        self.frames.push(Frame { node, base, next: base, end });
        if base == end {
            return self.close(py, sink);
        }
        if self.frames.len() >= self.next_circle_check {
            self.check_circle(py)?;
        }
        Ok(())
    }

    /// Looks at pending signals, where so many steps make it time.
    #[inline]
    fn interruptible(&mut self, py: Python<'_>, steps: usize) -> PyResult<()> {
        if self.interrupts.are_due(steps) { self.look(py) } else { Ok(()) }
    }

    #[cold]
    fn look(&mut self, py: Python<'_>) -> PyResult<()> {
        self.pin();
        py.check_signals()
    }

    #[inline]
    fn close<S: Sink>(&mut self, py: Python<'_>, sink: &mut S) -> PyResult<()> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let (node, base) = (frame.node, frame.base);
        if node != ROOT {
            if S::KEEP {
                self.draft.close(node)?;
            } else {
                self.close_dropped(py, node, sink)?;
            }
        }
        self.frames.pop();
        // Back from a deep branch, the next look comes as early as if that had not been.
        if self.frames.len() < self.next_circle_check / 4 && self.next_circle_check > FIRST_CIRCLE_CHECK {
            self.next_circle_check /= 2;
        }
        if self.agenda.truncate(base) {
            // A finalizer may have given the last leaf another class, and a new class may have the address of its old one.
            self.last_leaf = 0;
        }
        Ok(())
    }

    #[inline]
    fn close_dropped<S: Sink>(&mut self, py: Python<'_>, index: u32, sink: &mut S) -> PyResult<()> {
        if !S::QUIET {
            self.pin();
        }
        let node = self.draft.nodes[index as usize];
        let slots = &self.draft.slots.as_slice()[node.slot_range()];
        if let Err(raised) = sink.close(&node, slots, self.draft.order_of(index)) {
            let who = format!("the rebuilding of {}", self.node_name(py, &node));
            return Err(self.noted(py, raised, &who, self.frames.len() - 1));
        }
        self.draft.drop_from(py, index);
        Ok(())
    }

    fn node_name(&self, py: Python<'_>, node: &Node) -> String {
        let slots = &self.draft.slots.as_slice()[node.slot_range()];
        crate::spec::node_name(py, node, slots)
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
        let path = self.path(py, depth + 1);
        let message = format!(
            "the tree contains itself: what stands {} is one of the containers around it. A tree has no circles",
            path.place()
        );
        Err(error(py, Family::Circular, Some(&path), &message))
    }

    /// The path through the children that the first `depth` frames are at.
    #[cold]
    pub(super) fn path(&self, py: Python<'_>, depth: usize) -> KeyPath {
        let places: Vec<Place> = self.frames[..depth]
            .iter()
            .filter(|frame| frame.node != ROOT)
            .map(|frame| {
                let node = frame.node as usize;
                let left = frame.end - frame.next;
                Place { node, child: (self.draft.nodes[node].arity as usize).saturating_sub(left + 1) }
            })
            .collect();
        key_path(py, &self.draft.nodes, self.draft.slots.as_slice(), &places)
    }

    /// The path of the child that is being visited.
    #[cold]
    pub(super) fn here(&self, py: Python<'_>) -> KeyPath {
        self.path(py, self.frames.len())
    }

    /// Notes on an exception of user code who raised it and where.
    #[cold]
    pub(super) fn noted(&self, py: Python<'_>, raised: PyErr, who: &str, depth: usize) -> PyErr {
        let place = self.path(py, depth).place();
        add_note(py, &raised, &format!("clika_pytree: raised by {who} {place}"));
        raised
    }

    /// Shows the references that a halted walk owns to the garbage collector.
    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        for owned in self.agenda.pinned().iter().chain(self.draft.slots.as_slice()) {
            visit.call(owned)?;
        }
        visit.call(self.rules.is_leaf.as_ref().and_then(|predicate| predicate.get()))
    }
}
