//! Specs as plain data, for pickle and for documents.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::spec::{Graph, TreeSpec};

/// A `TreeSpec` as plain data: `(version, none_is_leaf, nodes, slots, orders)`; for pickle and for documents.
///
/// `nodes` has five bytes for each container and each run of leaves, in the order of a walk: the number of its kind, then
/// its arity in little-endian order. `slots` holds the Python objects of the nodes, one after the other.
#[pyfunction]
pub(crate) fn treespec_state<'py>(treespec: &Bound<'py, TreeSpec>) -> PyResult<Bound<'py, PyTuple>> {
    treespec.get().0.state(treespec.py())
}

/// The `TreeSpec` of such a state, which is checked like any stranger's data.
///
/// `fields` are the field names of its namedtuples when it was written. Raises `ValueError` for a state that is no structure
/// or names other fields than the classes have.
#[pyfunction(signature = (state, fields=None))]
pub(crate) fn treespec_from_state<'py>(
    state: &Bound<'py, PyAny>,
    fields: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, TreeSpec>> {
    let py = state.py();
    let graph = Graph::from_state(py, state)?;
    if let Some(fields) = fields {
        graph.check_namedtuple_fields(py, fields)?;
    }
    TreeSpec::of_loaded(py, graph)
}
