//! Taking a tree apart.

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::Rules;
use super::walker::Walker;
use crate::ffi::{self, RefVec};
use crate::spec::Structure;

/// The leaves and the structure of a tree.
pub(crate) fn flatten<'py>(tree: &Bound<'py, PyAny>, rules: Rules) -> PyResult<(Bound<'py, PyList>, Structure<'py>)> {
    let (mut walker, graph) = walk(tree, rules)?;
    let leaves = ffi::list_from(tree.py(), &mut walker.leaves, 0)?;
    walker.recycle(tree.py());
    Ok((leaves, graph))
}

/// The structure of a tree.
pub(crate) fn structure<'py>(tree: &Bound<'py, PyAny>, rules: Rules) -> PyResult<Structure<'py>> {
    let (walker, graph) = walk(tree, rules)?;
    walker.recycle(tree.py());
    Ok(graph)
}

/// The leaves and the structure, the leaves as references; hands the rules back.
pub(crate) fn flatten_to_refs<'py>(
    tree: &Bound<'py, PyAny>,
    rules: Rules,
) -> PyResult<(RefVec, Structure<'py>, Rules)> {
    let (mut walker, graph) = walk(tree, rules)?;
    let leaves = std::mem::take(&mut walker.leaves);
    Ok((leaves, graph, walker.recycle(tree.py())))
}

fn walk<'py>(tree: &Bound<'py, PyAny>, rules: Rules) -> PyResult<(Box<Walker>, Structure<'py>)> {
    let none_is_leaf = rules.none_is_leaf;
    let mut walker = Walker::new(tree, rules)?;
    walker.run::<true, false>(tree.py())?;
    let graph = walker.draft.finish(tree.py(), none_is_leaf)?;
    Ok((walker, graph))
}

/// The leaves of a tree.
pub(crate) fn leaves<'py>(tree: &Bound<'py, PyAny>, rules: Rules) -> PyResult<Bound<'py, PyList>> {
    let py = tree.py();
    let mut walker = Walker::new(tree, rules)?;
    walker.run::<false, false>(py)?;
    let leaves = ffi::list_from(py, &mut walker.leaves, 0)?;
    walker.recycle(py);
    Ok(leaves)
}
