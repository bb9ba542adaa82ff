//! Structures made of structures, and the prefix order.

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use super::{Graph, Orders};
use crate::errors::{Family, error};
use crate::ffi::RefVec;
use crate::limits::{Interrupts, gathered};
use crate::structure::{Cursor, Kind, Node, ShapeBuilder, ShapeError, Step};

impl Graph {
    /// The structure of one leaf.
    pub(crate) fn leaf(py: Python<'_>, none_is_leaf: bool) -> PyResult<Self> {
        let mut shape = ShapeBuilder::default();
        shape.leaves(1).map_err(shape_error)?;
        let nodes = shape.finish().map_err(shape_error)?;
        Self::new(py, nodes, RefVec::default().drain_to_slots()?, Orders::default(), none_is_leaf)
    }

    /// The structure that begins at a node; of a run, one leaf.
    pub(crate) fn subtree(&self, py: Python<'_>, index: usize) -> PyResult<Self> {
        let root = self.nodes[index];
        if root.is_leaves() {
            return Self::leaf(py, self.none_is_leaf);
        }
        let end = index + root.span as usize;
        let first_slot = root.slots_at;
        let end_slot = self.nodes.get(end).map_or(self.slots.raw().len(), |next| next.slots_at as usize);
        let rebase = |node: &Node| Node { slots_at: node.slots_at - first_slot, ..*node };
        let nodes = gathered(self.nodes[index..end].iter().map(rebase))?.into_boxed_slice();
        let mut slots = RefVec::default();
        self.copy_slots(&mut slots, first_slot as usize..end_slot)?;
        let mut orders = Orders::default();
        orders.add_from(&self.orders, index..end, 0)?;
        Self::new(py, nodes, slots.drain_to_slots()?, orders, self.none_is_leaf)
    }

    /// This structure with `inner` in the place of every leaf.
    pub(crate) fn compose(&self, py: Python<'_>, inner: &Self) -> PyResult<Self> {
        self.check_same_mode(py, inner, "compose")?;
        let mut shape = ShapeBuilder::default();
        let mut slots = RefVec::default();
        let mut orders = Orders::default();
        let mut interrupts = Interrupts::new();
        for (index, node) in self.nodes.iter().enumerate() {
            interrupts.after(py, 1 + node.slot_range().len())?;
            if !node.is_leaves() {
                orders.add_from(&self.orders, index..index + 1, shape.len())?;
                shape.container(node.kind, node.arity, node.mutable_context).map_err(shape_error)?;
                self.copy_slots(&mut slots, node.slot_range())?;
            } else if inner.is_leaf() {
                shape.leaves(node.arity).map_err(shape_error)?;
            } else {
                for _ in 0..node.arity {
                    interrupts.after(py, inner.nodes.len() + inner.slots.raw().len())?;
                    orders.add_from(&inner.orders, 0..inner.nodes.len(), shape.len())?;
                    inner.replay(&mut shape).map_err(shape_error)?;
                    inner.copy_slots(&mut slots, 0..inner.slots.raw().len())?;
                }
            }
        }
        let nodes = shape.finish().map_err(shape_error)?;
        Self::new(py, nodes, slots.drain_to_slots()?, orders, self.none_is_leaf)
    }

    /// Whether `other` has this structure at its top: wherever this one has a leaf, `other` may have anything.
    pub(crate) fn is_prefix(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        self.check_same_mode(py, other, "compare")?;
        let (mut ours, mut theirs) = (Cursor::new(&self.nodes), Cursor::new(&other.nodes));
        let mut interrupts = Interrupts::new();
        while let (Some(our_step), Some(their_step)) = (ours.enter(), theirs.enter()) {
            interrupts.after(py, 1)?;
            match (our_step, their_step) {
                (Step::Leaf, Step::Leaf) => {
                    ours.pass_leaves_with(&mut theirs);
                }
                (Step::Leaf, Step::Container(index)) => theirs.leave(index),
                (Step::Container(_), Step::Leaf) => return Ok(false),
                (Step::Container(our_index), Step::Container(their_index)) => {
                    if !self.same_node(py, our_index, other, their_index, &mut interrupts)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Whether two containers are of one kind and arity, with equal classes, keys and contexts.
    pub(super) fn same_node(
        &self,
        py: Python<'_>,
        index: usize,
        other: &Self,
        other_index: usize,
        interrupts: &mut Interrupts,
    ) -> PyResult<bool> {
        let (ours, theirs) = (&self.nodes[index], &other.nodes[other_index]);
        if ours.kind != theirs.kind || ours.arity != theirs.arity {
            return Ok(false);
        }
        let slots = self.slots.raw()[ours.slot_range()].iter().zip(&other.slots.raw()[theirs.slot_range()]);
        for (slot, (our_slot, their_slot)) in slots.enumerate() {
            interrupts.after(py, 1)?;
            if let (Some(our_value), Some(their_value)) = (our_slot, their_slot)
                && our_value != their_value
                && !self.same_slot(py, index, slot, *our_value, *their_value, None)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Refuses two structures that disagree about None.
    pub(crate) fn check_same_mode(&self, py: Python<'_>, other: &Self, verb: &str) -> PyResult<()> {
        if self.none_is_leaf == other.none_is_leaf {
            return Ok(());
        }
        let mode = |graph: &Self| if graph.none_is_leaf { "none_is_leaf=True" } else { "none_is_leaf=False" };
        let message = format!(
            "can't {verb} a spec made with {} and one made with {}: make both with the same none_is_leaf",
            mode(self),
            mode(other)
        );
        Err(error(py, Family::Structure, None, &message))
    }

    pub(super) fn copy_slots(&self, target: &mut RefVec, range: std::ops::Range<usize>) -> PyResult<()> {
        for slot in &self.slots.raw()[range] {
            match slot {
                Some(value) => target.push_new(*value)?,
                None => target.push_gap()?,
            }
        }
        Ok(())
    }

    fn replay(&self, shape: &mut ShapeBuilder) -> Result<(), ShapeError> {
        for node in &self.nodes {
            if node.kind == Kind::Leaves {
                shape.leaves(node.arity)?;
            } else {
                shape.container(node.kind, node.arity, node.mutable_context)?;
            }
        }
        Ok(())
    }
}

/// What a builder's refusal is in Python.
pub(super) fn shape_error(refusal: ShapeError) -> PyErr {
    match refusal {
        ShapeError::NoMemory => PyMemoryError::new_err("clika_pytree: not enough memory for this structure"),
        _ => Python::attach(|py| error(py, Family::Value, None, &format!("not a structure: {refusal}"))),
    }
}
