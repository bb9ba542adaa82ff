//! Taking a tree apart.

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::Rules;
use super::walker::{Sink, Walker};
use crate::ffi::{self, LARGEST_KEPT, Pool, Raw, RefVec};
use crate::spec::Graph;
use crate::structure::Node;

/// Collects the leaves, and with `KEEP` the structure.
struct Collector<const KEEP: bool>(RefVec);

impl<const KEEP: bool> Sink for Collector<KEEP> {
    const QUIET: bool = true;
    const KEEP: bool = KEEP;

    #[inline]
    fn borrowed_leaf(&mut self, leaf: Raw) -> PyResult<()> {
        self.0.push_new(leaf)
    }

    #[inline]
    fn leaf(&mut self, leaf: Bound<'_, PyAny>) -> PyResult<bool> {
        self.0.push(leaf)?;
        Ok(true)
    }

    #[inline]
    fn close(&mut self, _node: &Node, _slots: &[Option<Py<PyAny>>], _order: Option<&[u32]>) -> PyResult<()> {
        Ok(())
    }
}

static MEMORY: Pool<RefVec> = Pool::new();

fn collector<const KEEP: bool>(py: Python<'_>) -> Collector<KEEP> {
    Collector(MEMORY.take(py))
}

impl<const KEEP: bool> Collector<KEEP> {
    /// The leaves as a list; the memory is kept.
    fn into_list(mut self, py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
        let list = ffi::list_from(py, &mut self.0, 0)?;
        self.recycle(py);
        Ok(list)
    }

    fn recycle(mut self, py: Python<'_>) {
        self.0.truncate(py, 0);
        if self.0.capacity() <= LARGEST_KEPT {
            MEMORY.give_back(py, self.0);
        }
    }
}

/// The leaves and the structure of a tree.
pub(crate) fn flatten<'py>(tree: &Bound<'py, PyAny>, rules: Rules) -> PyResult<(Bound<'py, PyList>, Graph)> {
    let py = tree.py();
    let (sink, graph) = walk(tree, rules)?;
    Ok((sink.into_list(py)?, graph))
}

/// The structure of a tree.
pub(crate) fn structure(tree: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Graph> {
    let (sink, graph) = walk(tree, rules)?;
    sink.recycle(tree.py());
    Ok(graph)
}

/// The leaves and the structure, the leaves as references.
pub(super) fn flatten_to_refs(tree: &Bound<'_, PyAny>, rules: Rules) -> PyResult<(RefVec, Graph, Rules)> {
    let mut sink = Collector::<true>(RefVec::default());
    let none_is_leaf = rules.none_is_leaf;
    let mut walker = Walker::new(tree, rules)?;
    walker.run(tree.py(), &mut sink)?;
    let graph = walker.draft.finish(none_is_leaf)?;
    Ok((sink.0, graph, walker.recycle(tree.py())))
}

fn walk(tree: &Bound<'_, PyAny>, rules: Rules) -> PyResult<(Collector<true>, Graph)> {
    let py = tree.py();
    let none_is_leaf = rules.none_is_leaf;
    let mut sink = collector::<true>(py);
    let mut walker = Walker::new(tree, rules)?;
    walker.run(py, &mut sink)?;
    let graph = walker.draft.finish(none_is_leaf)?;
    walker.recycle(py);
    Ok((sink, graph))
}

/// The leaves of a tree.
pub(crate) fn leaves<'py>(tree: &Bound<'py, PyAny>, rules: Rules) -> PyResult<Bound<'py, PyList>> {
    let py = tree.py();
    let mut sink = collector::<false>(py);
    let mut walker = Walker::new(tree, rules)?;
    walker.run(py, &mut sink)?;
    walker.recycle(py);
    sink.into_list(py)
}
