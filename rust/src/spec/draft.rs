//! The structure that a walk is making.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use super::{Graph, Order, mix_slot};
use crate::errors::no_memory;
use crate::ffi::{Raw, RefVec};
use crate::limits::gathered;
use crate::structure::{Kind, Mixer, Node};

/// Nodes and slots in the order of a walk, hashed as they come.
///
/// A walk that keeps no structure uses it as a stack: what belongs to a container is dropped when it closes.
pub(crate) struct Draft {
    pub(crate) nodes: Vec<Node>,
    pub(crate) slots: RefVec,
    pub(crate) orders: Vec<Order>,
    /// Leaves that came since the last container was opened or closed.
    run: usize,
    num_leaves: usize,
    mixer: Mixer,
    has_open_values: bool,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            slots: RefVec::default(),
            orders: Vec::new(),
            run: 0,
            num_leaves: 0,
            mixer: Mixer::new(0),
            has_open_values: false,
        }
    }
}

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
        self.nodes.push(Node { kind, mutable_context: false, arity, span: 1, slots_at });
        self.mixer.add_node(kind, arity);
        Ok(index)
    }

    /// Adds a key of a dict.
    #[inline]
    pub(crate) fn add_key(&mut self, py: Python<'_>, key: Raw) -> PyResult<()> {
        self.slots.push_new(key)?;
        self.has_open_values |= mix_slot(py, &mut self.mixer, Kind::Dict, 0, Some(key));
        Ok(())
    }

    /// Adds the `slot`-th slot of a node of this kind.
    pub(crate) fn add_slot(&mut self, kind: Kind, slot: usize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let raw = crate::ffi::raw(value);
        self.slots.push_new(raw)?;
        self.has_open_values |= mix_slot(value.py(), &mut self.mixer, kind, slot, Some(raw));
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
        while self.orders.last().is_some_and(|order| order.node >= index) {
            self.orders.pop();
        }
        self.slots.truncate(py, slots_at);
    }

    pub(crate) fn order_of(&self, node: u32) -> Option<&[u32]> {
        // Those of containers that were opened later have been dropped with them.
        self.orders.last().filter(|order| order.node == node).map(|order| &*order.sorted_places)
    }

    /// The finished structure.
    pub(crate) fn finish(&mut self, none_is_leaf: bool) -> PyResult<Graph> {
        self.end_run()?;
        let slots = self.slots.drain_to_slots()?;
        let nodes = gathered(self.nodes.iter().copied())?.into_boxed_slice();
        let mut orders = std::mem::take(&mut self.orders);
        orders.sort_by_key(|order| order.node);
        let orders = orders.into_boxed_slice();
        Ok(Graph::with_hash(nodes, slots, orders, self.num_leaves, none_is_leaf, self.mixer, self.has_open_values))
    }
}
