//! The structure that a walk is making.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use super::object::find_living;
use super::{Graph, Orders, Structure, mix_slot, shape_hash};
use crate::errors::no_memory;
use crate::ffi::{self, DictTable, Raw, RefVec};
use crate::limits::exactly;
use crate::structure::{Kind, Mixer, Node};
use crate::values::{self, text_hash};

/// Nodes and slots in the order of a walk, hashed as they come.
///
/// A walk that keeps no structure uses it as a stack: what belongs to a container is dropped when it closes.
pub(crate) struct Draft {
    pub(crate) nodes: Vec<Node>,
    pub(crate) slots: RefVec,
    pub(crate) orders: Orders,
    /// Leaves that came since the last container was opened or closed.
    run: usize,
    num_leaves: usize,
    mixer: Mixer,
    has_open_values: bool,
    /// Nothing in the slots is tracked by the garbage collector.
    is_plain: bool,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            slots: RefVec::default(),
            orders: Orders::default(),
            run: 0,
            num_leaves: 0,
            mixer: Mixer::new(0),
            has_open_values: false,
            is_plain: true,
        }
    }
}

/// Why a container finds no room in a draft.
#[derive(Clone, Copy)]
pub(crate) enum NoRoom {
    TooLarge,
    NoMemory,
}

impl From<NoRoom> for PyErr {
    #[cold]
    fn from(limit: NoRoom) -> Self {
        match limit {
            NoRoom::TooLarge => too_large(),
            NoRoom::NoMemory => no_memory(()),
        }
    }
}

/// Room for so many nodes is made at once: more than the containers that may be open without asking again.
const NODES_AHEAD: usize = 64;

#[cold]
fn too_large() -> PyErr {
    PyOverflowError::new_err("clika_pytree: a tree has at most 4,294,967,295 containers, keys and neighbouring leaves")
}

fn fits(number: usize) -> PyResult<u32> {
    u32::try_from(number).map_err(|_| too_large())
}

impl Draft {
    /// Ready for another walk, in the same memory.
    pub(crate) fn clear(&mut self, py: Python<'_>) {
        self.nodes.clear();
        self.slots.truncate(py, 0);
        self.orders.clear();
        self.run = 0;
        self.num_leaves = 0;
        self.mixer = Mixer::new(0);
        self.has_open_values = false;
        self.is_plain = true;
    }

    #[inline]
    pub(crate) fn add_leaves(&mut self, count: usize) {
        self.run += count;
    }

    /// Writes the leaves that came so far as one node.
    #[inline]
    pub(crate) fn end_run(&mut self) -> PyResult<()> {
        if self.run > 0 {
            self.num_leaves += self.run;
            let count = fits(std::mem::take(&mut self.run))?;
            self.push(Kind::Leaves, count)?;
        }
        Ok(())
    }

    /// Opens a container; its slots follow.
    #[inline]
    pub(crate) fn open(&mut self, kind: Kind, arity: usize) -> PyResult<u32> {
        self.end_run()?;
        self.push(kind, fits(arity)?)
    }

    #[inline]
    fn push(&mut self, kind: Kind, arity: u32) -> PyResult<u32> {
        let index = fits(self.nodes.len())?;
        let slots_at = fits(self.slots.len())?;
        self.nodes.try_reserve(1).map_err(no_memory)?;
        self.nodes.push(Node::new(kind, arity, slots_at));
        self.mixer.add_node(kind, arity);
        Ok(index)
    }

    /// Adds a key of a dict.
    #[inline]
    pub(crate) fn add_key(&mut self, py: Python<'_>, key: Raw) -> PyResult<()> {
        self.slots.push_new(key)?;
        self.has_open_values |= mix_slot(py, &mut self.mixer, Kind::Dict, 0, Some(key));
        self.is_plain &= !ffi::may_be_tracked(key);
        Ok(())
    }

    /// Opens a dict in insertion order, with its keys.
    #[inline]
    pub(crate) fn open_dict(&mut self, py: Python<'_>, table: &DictTable) -> Result<(), NoRoom> {
        self.make_room(table.used, table.used)?;
        self.end_run_within();
        self.push_within(Kind::Dict, table.used);
        let (mut mixer, mut has_open_values, mut is_plain) = (self.mixer, false, true);
        if table.texts {
            table.push_keys(&mut self.slots, |key| mixer.add(text_hash(key)));
        } else {
            table.push_keys(&mut self.slots, |key| {
                has_open_values |= mix_slot(py, &mut mixer, Kind::Dict, 0, Some(key));
                is_plain &= !ffi::may_be_tracked(key);
            });
        }
        self.mixer = mixer;
        self.has_open_values |= has_open_values;
        self.is_plain &= is_plain;
        Ok(())
    }

    /// Opens a dict whose keys are strs, by sorted key. `places` writes, for each key in the order of the dict, its place
    /// among these.
    #[inline]
    pub(crate) fn open_sorted_dict(
        &mut self,
        keys: &[Option<Raw>],
        places: impl FnOnce(&mut [u32]),
    ) -> Result<(), NoRoom> {
        self.make_room(keys.len(), keys.len())?;
        self.end_run_within();
        self.push_within(Kind::Dict, keys.len());
        let Self { slots, mixer, .. } = self;
        slots.extend_within(keys.len(), keys.iter().flatten().copied(), |key| mixer.add(text_hash(key)));
        let node = self.last_node();
        places(self.orders.add(node, keys.len()).map_err(|_| NoRoom::NoMemory)?);
        Ok(())
    }

    /// Opens a list or a tuple; of an instance of a namedtuple class, the class is a slot.
    #[inline]
    pub(crate) fn open_sequence(&mut self, kind: Kind, arity: usize, namedtuple: Option<Raw>) -> Result<(), NoRoom> {
        self.make_room(arity, 1)?;
        self.end_run_within();
        self.push_within(kind, arity);
        if let Some(class) = namedtuple {
            self.is_plain = false;
            self.slots.extend_within(1, std::iter::once(class), |class| self.mixer.add(class.as_ptr() as u64));
        }
        Ok(())
    }

    /// Opens a dataclass instance; `identity` is that of its registration.
    #[inline]
    pub(crate) fn open_record(
        &mut self,
        arity: usize,
        registration: Raw,
        identity: u64,
        context: Raw,
    ) -> Result<(), NoRoom> {
        self.make_room(arity, 2)?;
        self.end_run_within();
        self.push_within(Kind::Dataclass, arity);
        self.is_plain = false;
        self.slots.extend_within(2, [registration, context].into_iter(), |_| ());
        self.mixer.add(identity);
        if ffi::is_tuple_of(context, &[]) {
            self.mixer.add(values::EMPTY);
        } else {
            self.has_open_values = true;
        }
        Ok(())
    }

    /// Closes the container at `index`, which was opened by one of those above, or leaves it as it is.
    #[inline]
    pub(crate) fn close_within(&mut self, index: u32) {
        self.end_run_within();
        // The number of nodes fits: room was made for this one.
        #[expect(clippy::cast_possible_truncation, reason = "room was made for it")]
        let end = self.nodes.len() as u32;
        self.nodes[index as usize].span = end - index;
    }

    /// Makes room for a container with its slots, the runs of leaves around it, and those that end the open containers.
    #[inline]
    fn make_room(&mut self, arity: usize, slots: usize) -> Result<(), NoRoom> {
        const MOST: usize = u32::MAX as usize - NODES_AHEAD;
        if arity > MOST || self.nodes.len() > MOST || self.slots.len() + slots > MOST {
            return Err(NoRoom::TooLarge);
        }
        self.nodes.try_reserve(NODES_AHEAD).map_err(|_| NoRoom::NoMemory)?;
        self.slots.reserve_quietly(slots).map_err(|_| NoRoom::NoMemory)
    }

    #[inline]
    fn end_run_within(&mut self) {
        if self.run > 0 {
            let run = std::mem::take(&mut self.run);
            self.num_leaves += run;
            self.push_within(Kind::Leaves, run);
        }
    }

    #[inline]
    fn push_within(&mut self, kind: Kind, arity: usize) {
        debug_assert!(self.nodes.len() < self.nodes.capacity());
        #[expect(clippy::cast_possible_truncation, reason = "`make_room` has looked at both")]
        let (arity, slots_at) = (arity as u32, self.slots.len() as u32);
        self.nodes.push(Node::new(kind, arity, slots_at));
        self.mixer.add_node(kind, arity);
    }

    /// The node that was opened last.
    #[inline]
    pub(crate) fn last_node(&self) -> u32 {
        // Every node was checked to fit when it was opened.
        #[expect(clippy::cast_possible_truncation, reason = "checked when it was opened")]
        let last = self.nodes.len().wrapping_sub(1) as u32;
        last
    }

    /// Adds the `slot`-th slot of a node of this kind.
    pub(crate) fn add_slot(&mut self, kind: Kind, slot: usize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let raw = ffi::raw(value);
        self.slots.push_new(raw)?;
        self.has_open_values |= mix_slot(value.py(), &mut self.mixer, kind, slot, Some(raw));
        self.is_plain &= !ffi::may_be_tracked(raw);
        Ok(())
    }

    /// Leaves a slot empty.
    pub(crate) fn add_gap(&mut self) -> PyResult<()> {
        self.slots.push_gap()
    }

    /// Closes a container all of whose children are in.
    #[inline]
    pub(crate) fn close(&mut self, index: u32) -> PyResult<()> {
        self.end_run()?;
        let span = fits(self.nodes.len() - index as usize)?;
        self.nodes[index as usize].span = span;
        Ok(())
    }

    /// Drops a container and all that came after it.
    #[inline]
    pub(crate) fn drop_from(&mut self, py: Python<'_>, index: u32) {
        let slots_at = self.nodes[index as usize].slots_at as usize;
        self.nodes.truncate(index as usize);
        self.orders.drop_from(index);
        self.slots.truncate(py, slots_at);
    }

    /// The finished structure, or that of a living spec which is the same in all that can be seen of it.
    pub(crate) fn finish<'py>(&mut self, py: Python<'py>, none_is_leaf: bool) -> PyResult<Structure<'py>> {
        self.end_run()?;
        let hash = shape_hash(self.mixer, none_is_leaf);
        if self.is_plain {
            let (nodes, slots) = (&*self.nodes, self.slots.raw());
            if let Some(spec) = find_living(py, hash, none_is_leaf, nodes, slots, &self.orders) {
                return Ok(Structure::Known(spec));
            }
        }
        let slots = self.slots.drain_to_slots()?;
        let nodes = exactly(&self.nodes)?;
        let orders = self.orders.take_exactly()?;
        let mut graph =
            Graph::with_hash(nodes, slots, orders, self.num_leaves, none_is_leaf, hash, self.has_open_values);
        graph.is_plain = self.is_plain;
        Ok(Structure::New(graph))
    }
}
