//! Trees taken apart with dicts in an order that the call names, whatever block it is in: for the modules that stand in for
//! other libraries, to which entering a block for each call would cost more than a small tree.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::ffi::pair;
use crate::spec::TreeSpec;
use crate::walk::{self, Rules};

/// As `tree_flatten`, in a block `dict_insertion_ordered(not sort_keys)` that user code does not see.
#[pyfunction(signature = (tree, is_leaf, none_is_leaf, namespace, sort_keys, /))]
pub(crate) fn flatten_in_order<'py>(
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: &Bound<'py, PyAny>,
    namespace: &Bound<'py, PyAny>,
    sort_keys: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let rules = Rules::in_order(is_leaf, none_is_leaf, namespace, sort_keys)?;
    let (leaves, structure) = walk::flatten(tree, rules)?;
    pair(leaves, structure.into_spec(tree.py())?)
}

/// As `tree_leaves`, like that.
#[pyfunction(signature = (tree, is_leaf, none_is_leaf, namespace, sort_keys, /))]
pub(crate) fn leaves_in_order<'py>(
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: &Bound<'py, PyAny>,
    namespace: &Bound<'py, PyAny>,
    sort_keys: bool,
) -> PyResult<Bound<'py, PyList>> {
    walk::leaves(tree, Rules::in_order(is_leaf, none_is_leaf, namespace, sort_keys)?)
}

/// As `tree_structure`, like that.
#[pyfunction(signature = (tree, is_leaf, none_is_leaf, namespace, sort_keys, /))]
pub(crate) fn structure_in_order<'py>(
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: &Bound<'py, PyAny>,
    namespace: &Bound<'py, PyAny>,
    sort_keys: bool,
) -> PyResult<Bound<'py, TreeSpec>> {
    let rules = Rules::in_order(is_leaf, none_is_leaf, namespace, sort_keys)?;
    walk::structure(tree, rules)?.into_spec(tree.py())
}
