//! Structures made by functions of their nodes, and folds over a structure.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::algebra::shape_error;
use super::{Graph, Orders};
use crate::errors::{Family, KeyPath, counted, error, left_out, quote};
use crate::ffi::{RefVec, tuple_from};
use crate::limits::{CALL, Grow, Interrupts, Nested};
use crate::structure::{Cursor, ShapeBuilder, Step};

/// Asks for the place of a node; only errors do.
pub(crate) type Where<'a> = &'a dyn Fn() -> KeyPath;

impl Graph {
    /// The structure of one container with a leaf for every child.
    pub(crate) fn one_level(&self, py: Python<'_>, index: usize) -> PyResult<Self> {
        let node = &self.nodes[index];
        let mut shape = ShapeBuilder::default();
        shape.container(node.kind, node.arity, node.mutable_context).map_err(shape_error)?;
        if node.arity > 0 {
            shape.leaves(node.arity).map_err(shape_error)?;
        }
        let mut slots = RefVec::default();
        self.copy_slots(&mut slots, node.slot_range())?;
        let mut orders = Orders::default();
        orders.add_from(&self.orders, index..index + 1, 0)?;
        let nodes = shape.finish().map_err(shape_error)?;
        Self::new(py, nodes, slots.drain_to_slots()?, orders, self.none_is_leaf)
    }

    /// The structure in which two structures agree: where one has a leaf, the other's subtree.
    pub(crate) fn broadcast(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        self.check_same_mode(py, other, "broadcast")?;
        let mut made = Made::default();
        let (mut ours, mut theirs) = (Cursor::new(&self.nodes), Cursor::new(&other.nodes));
        while let (Some(our_step), Some(their_step)) = (ours.enter(), theirs.enter()) {
            made.interrupts.after(py, 1)?;
            match (our_step, their_step) {
                (Step::Leaf, Step::Leaf) => {
                    let further = ours.pass_leaves_with(&mut theirs);
                    made.leaf()?;
                    made.leaves(further)?;
                }
                (Step::Leaf, Step::Container(index)) => {
                    made.subtree(py, other, index)?;
                    theirs.leave(index);
                }
                (Step::Container(index), Step::Leaf) => {
                    made.subtree(py, self, index)?;
                    ours.leave(index);
                }
                (Step::Container(our_index), Step::Container(their_index)) => {
                    if !self.same_node(py, our_index, other, their_index, &mut made.interrupts)? {
                        return Err(self.disagreement(py, our_index, other, their_index));
                    }
                    made.node(py, self, our_index)?;
                }
            }
        }
        made.finish(py, self.none_is_leaf)
    }

    #[cold]
    fn disagreement(&self, py: Python<'_>, index: usize, other: &Self, other_index: usize) -> PyErr {
        let path = self.path_of_node(py, index);
        let shown = |graph: &Self, index: usize| {
            let text = graph.one_level(py, index).and_then(|level| level.excerpt(py));
            text.or_else(|raised| left_out(py, raised).map(|()| graph.nodes[index].kind.name().to_owned()))
        };
        let (ours, theirs) = match (shown(self, index), shown(other, other_index)) {
            (Ok(ours), Ok(theirs)) => (ours, theirs),
            (Err(raised), _) | (_, Err(raised)) => return raised,
        };
        let message = format!(
            "the structures do not fit together {}: the first has {ours}, the second has {theirs}",
            path.place()
        );
        error(py, Family::Structure, Some(&path), &message)
    }

    /// The structure with every container replaced by what `node` makes of it, every leaf by what `leaf` does. Both can
    /// ask for the place.
    pub(crate) fn transform(
        &self,
        py: Python<'_>,
        node: &dyn Fn(Self, Where<'_>) -> PyResult<Option<Self>>,
        leaf: &dyn Fn(Where<'_>) -> PyResult<Option<Self>>,
    ) -> PyResult<Self> {
        let _nested = Nested::enter()?;
        let mut made = Made::default();
        let mut cursor = Cursor::new(&self.nodes);
        let mut leaves = 0;
        while let Some(step) = cursor.enter() {
            made.interrupts.after(py, CALL)?;
            match step {
                Step::Leaf => {
                    match leaf(&|| self.path_of_leaf(py, leaves))? {
                        Some(replacement) => {
                            self.check_same_mode(py, &replacement, "graft")?;
                            made.subtree(py, &replacement, 0)?;
                        }
                        None => made.leaf()?,
                    }
                    leaves += 1;
                }
                Step::Container(index) => match node(self.one_level(py, index)?, &|| self.path_of_node(py, index))? {
                    Some(replacement) => {
                        self.check_same_mode(py, &replacement, "graft")?;
                        self.check_replacement(py, index, &replacement)?;
                        made.node(py, &replacement, 0)?;
                    }
                    None => made.node(py, self, index)?,
                },
            }
        }
        made.finish(py, self.none_is_leaf)
    }

    /// A replacement of a container is one container with as many leaves as it has children.
    fn check_replacement(&self, py: Python<'_>, index: usize, replacement: &Self) -> PyResult<()> {
        let arity = self.nodes[index].arity as usize;
        let fits = !replacement.is_leaf()
            && replacement.root().arity as usize == arity
            && replacement.num_leaves == arity
            && replacement.num_nodes() == arity + 1;
        if fits {
            return Ok(());
        }
        let path = self.path_of_node(py, index);
        let message = format!(
            "f_node must return the spec of one container with {} for the node {}, got {}",
            counted(arity, "leaf", "leaves"),
            path.place(),
            replacement.excerpt(py)?
        );
        Err(error(py, Family::Structure, Some(&path), &message))
    }

    /// Folds the structure from the leaves up: `node` gets a container and the results of its children, and can ask for
    /// the place.
    pub(crate) fn fold<'py>(
        &self,
        py: Python<'py>,
        leaves: Vec<Bound<'py, PyAny>>,
        node: impl Fn(Self, Bound<'py, PyTuple>, Where<'_>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut leaves = leaves.into_iter();
        let mut stack = RefVec::default();
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut interrupts = Interrupts::new();
        for (index, each) in self.nodes.iter().enumerate() {
            if each.is_leaves() {
                for leaf in leaves.by_ref().take(each.arity as usize) {
                    interrupts.after(py, 1)?;
                    stack.push(leaf)?;
                }
            } else {
                open.grow((index, stack.len()))?;
            }
            while let Some((index, base)) =
                open.pop_if(|(index, base)| stack.len() - *base == self.nodes[*index].arity as usize)
            {
                interrupts.after(py, CALL)?;
                let children = tuple_from(py, &mut stack, base)?;
                stack.push(node(self.one_level(py, index)?, children, &|| self.path_of_node(py, index))?)?;
            }
        }
        stack.take(py, 0).ok_or_else(|| error(py, Family::LeafCount, None, "no leaves"))
    }
}

/// A structure that is being put together from parts of others.
#[derive(Default)]
struct Made {
    shape: ShapeBuilder,
    slots: RefVec,
    orders: Orders,
    interrupts: Interrupts,
}

impl Made {
    fn leaf(&mut self) -> PyResult<()> {
        self.leaves(1)
    }

    fn leaves(&mut self, count: u32) -> PyResult<()> {
        if count == 0 { Ok(()) } else { self.shape.leaves(count).map_err(shape_error) }
    }

    /// One container; its children follow.
    fn node(&mut self, py: Python<'_>, graph: &Graph, index: usize) -> PyResult<()> {
        let node = &graph.nodes[index];
        self.interrupts.after(py, 1 + node.slot_range().len())?;
        let length = self.shape.len();
        self.shape.container(node.kind, node.arity, node.mutable_context).map_err(shape_error)?;
        graph.copy_slots(&mut self.slots, node.slot_range())?;
        self.orders.add_from(&graph.orders, index..index + 1, length)
    }

    /// A container with all that is below it.
    fn subtree(&mut self, py: Python<'_>, graph: &Graph, index: usize) -> PyResult<()> {
        let end = index + graph.nodes[index].span as usize;
        for at in index..end {
            if graph.nodes[at].is_leaves() {
                self.shape.leaves(graph.nodes[at].arity).map_err(shape_error)?;
            } else {
                self.node(py, graph, at)?;
            }
        }
        Ok(())
    }

    fn finish(mut self, py: Python<'_>, none_is_leaf: bool) -> PyResult<Graph> {
        let slots = self.slots.drain_to_slots()?;
        let nodes = self.shape.finish().map_err(shape_error)?;
        Graph::new(py, nodes, slots, self.orders, none_is_leaf)
    }
}

/// The error where a function of `transform` returned something else than a structure.
pub(crate) fn wrong_result(function: &str, result: &Bound<'_, PyAny>, path: &KeyPath) -> PyErr {
    let message = format!("{function} must return a TreeSpec, got {} for the node {}", quote(result), path.place());
    error(result.py(), Family::Type, Some(path), &message)
}
