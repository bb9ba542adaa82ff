//! The class `TreeSpec`, and how a structure is found again.

#![expect(clippy::doc_link_with_quotes, reason = "docstrings for Python")]

use std::ops::Deref;
use std::sync::OnceLock;

use pyo3::ffi::hashfunc;
use pyo3::prelude::*;
use pyo3::types::PyInt;

use super::{Graph, Orders};
use crate::ffi::{self, Entry, Findable, KnownHash, Living, Raw};
use crate::structure::Node;

/// The structure of a tree: an immutable value, equal and hashed by structure.
///
/// Made by `tree_flatten`, `tree_structure` and the operations on specs. Two specs are equal where kinds, arities,
/// classes, keys (in their order) and contexts are, by exact type and value.
///
/// >>> import clika_pytree as crt
/// >>> spec = crt.tree_structure({"a": [1, 2], "b": None})
/// >>> spec, spec.num_leaves, spec.num_nodes
/// (TreeSpec({'a': [*, *], 'b': *}), 3, 5)
/// >>> spec == crt.tree_structure({"a": ["x", "y"], "b": 0})
/// True
#[pyclass(frozen, weakref, module = "clika_pytree._native")]
pub(crate) struct TreeSpec(pub(crate) Graph);

impl Findable for TreeSpec {
    fn entry(&self) -> &Entry {
        &self.0.entry
    }
}

impl KnownHash for TreeSpec {
    fn known_hash(&self) -> Option<u64> {
        self.0.known_hash()
    }

    fn other_way() -> &'static OnceLock<hashfunc> {
        static OTHER_WAY: OnceLock<hashfunc> = OnceLock::new();
        &OTHER_WAY
    }
}

/// The living specs that a walk may find again. None of them holds anything that the garbage collector tracks, so that a
/// spec in here is never part of garbage.
static LIVING: Living<TreeSpec> = Living::new();

/// The structure that a walk saw: newly made, or that of a spec which is alive.
pub(crate) enum Structure<'py> {
    New(Graph),
    Known(Bound<'py, TreeSpec>),
}

impl Deref for Structure<'_> {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        match self {
            Self::New(graph) => graph,
            Self::Known(spec) => &spec.get().0,
        }
    }
}

impl<'py> Structure<'py> {
    /// The spec of it, which later walks may find.
    pub(crate) fn into_spec(self, py: Python<'py>) -> PyResult<Bound<'py, TreeSpec>> {
        match self {
            Self::Known(spec) => Ok(spec),
            Self::New(graph) => {
                let (is_plain, hash) = (graph.is_plain, graph.shape_hash);
                let spec = Bound::new(py, TreeSpec(graph))?;
                if is_plain {
                    LIVING.enter(&spec, hash);
                }
                Ok(spec)
            }
        }
    }
}

impl TreeSpec {
    /// The spec of a structure that was loaded. It takes over the keys of a living spec that is the same: so they are in
    /// memory once, and comparing the two compares pointers.
    pub(crate) fn of_loaded(py: Python<'_>, mut graph: Graph) -> PyResult<Bound<'_, Self>> {
        let is_tracked = |slot: &Option<Raw>| slot.is_some_and(ffi::may_be_tracked);
        if graph.slots.raw().iter().any(is_tracked) {
            return Bound::new(py, Self(graph));
        }
        let (nodes, slots) = (&*graph.nodes, graph.slots.raw());
        let living = find_living(py, graph.shape_hash, graph.none_is_leaf, nodes, slots, &graph.orders);
        if let Some(living) = living {
            graph.slots = living.get().0.slots.shared(py)?;
            return Bound::new(py, Self(graph));
        }
        graph.is_plain = true;
        Structure::New(graph).into_spec(py)
    }
}

/// The living spec that is the same in all that can be seen of it.
#[inline]
pub(super) fn find_living<'py>(
    py: Python<'py>,
    hash: u64,
    none_is_leaf: bool,
    nodes: &[Node],
    slots: &[Option<Raw>],
    orders: &Orders,
) -> Option<Bound<'py, TreeSpec>> {
    let spec = LIVING.find(py, hash)?;
    let graph = &spec.get().0;
    let is_same = graph.none_is_leaf == none_is_leaf
        && ffi::are_same(&graph.nodes, nodes)
        && graph.orders == *orders
        && is_same_payload(py, graph.slots.raw(), slots);
    is_same.then_some(spec)
}

/// Whether slots without anything that the garbage collector tracks hold the same: the very same objects, or texts or
/// integers of the same value.
fn is_same_payload(py: Python<'_>, ours: &[Option<Raw>], theirs: &[Option<Raw>]) -> bool {
    ffi::are_same(ours, theirs)
        || ours.len() == theirs.len()
            && ours.iter().zip(theirs).all(|pair| match pair {
                (Some(our), Some(their)) => {
                    our == their || ffi::are_equal_texts(*our, *their) || are_equal_ints(py, *our, *their)
                }
                _ => false,
            })
}

#[cold]
fn are_equal_ints(py: Python<'_>, ours: Raw, theirs: Raw) -> bool {
    let (ours, theirs) = (ffi::own(py, ours), ffi::own(py, theirs));
    let is_int = |value: &Bound<'_, PyAny>| value.is_exact_instance_of::<PyInt>();
    is_int(&ours) && is_int(&theirs) && ours.eq(&theirs).unwrap_or(false)
}
