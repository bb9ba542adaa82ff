//! The blocks that say whether the order of dict keys is part of a structure.

use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::arguments::flag;
use crate::ffi::{ContextVar, GilCell, Link};

/// How many blocks are open, in all threads and contexts: while there is none, nobody reads the context variable.
static OPEN_BLOCKS: AtomicUsize = AtomicUsize::new(0);
static INNERMOST: PyOnceLock<ContextVar> = PyOnceLock::new();

/// The variable that holds the innermost block of a context.
pub(super) fn innermost(py: Python<'_>) -> PyResult<&'static ContextVar> {
    INNERMOST.get_or_try_init(py, || ContextVar::new(py, c"clika_pytree.dict_insertion_ordered"))
}

/// One entry into a block. It stays in the contexts that were copied inside it; once closed it counts no more.
#[pyclass(frozen)]
struct Block {
    insertion_ordered: bool,
    is_open: GilCell<bool>,
    around: Link<Block>,
}

#[pymethods]
impl Block {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(self.around.get())
    }
}

/// The block that this context is in, be it closed.
fn current_block(py: Python<'_>) -> PyResult<Option<Py<Block>>> {
    let current = innermost(py)?.get(py)?;
    Ok(current.and_then(|block| block.cast_into::<Block>().ok()).map(Bound::unbind))
}

/// The first of a block and those around it that is still open.
fn first_open(py: Python<'_>, mut block: Option<Py<Block>>) -> Option<Py<Block>> {
    while let Some(candidate) = block {
        if candidate.get().is_open.with(py, |is_open| *is_open) {
            return Some(candidate);
        }
        block = candidate.get().around.get().map(|around| around.clone_ref(py));
    }
    None
}

/// Whether plain dicts and defaultdicts are walked by sorted key here and now.
#[inline]
pub(super) fn is_sorted(py: Python<'_>) -> PyResult<bool> {
    if OPEN_BLOCKS.load(Atomic::Relaxed) == 0 {
        return Ok(false);
    }
    Ok(first_open(py, current_block(py)?).is_some_and(|block| !block.get().insertion_ordered))
}

/// A block in which the order of plain dicts and defaultdicts is, or is not, part of the structure.
///
/// Inside `with dict_insertion_ordered(False):` they are flattened by sorted key, so that two dicts with the same keys
/// have one structure; a dict is still rebuilt in the order it had. The innermost open block of the thread or async
/// task counts. Keys that can't be compared with each other are sorted by the name of their class first; Enum members
/// by their definition. An `OrderedDict` keeps its order always.
///
/// Inside such a block, flattening raises `KeyOrderError` where keys of one class have no order, as NaN and sets do not.
///
/// >>> import clika_pytree as crt
/// >>> with crt.dict_insertion_ordered(False):
/// ...     crt.tree_leaves({"b": 1, "a": 2})
/// [2, 1]
#[pyclass(name = "dict_insertion_ordered", module = "clika_pytree._native", frozen)]
pub(crate) struct DictInsertionOrdered {
    mode: bool,
    /// The blocks this object opened, with what restores the variable.
    entered: GilCell<Vec<(Py<Block>, Py<PyAny>)>>,
}

impl DictInsertionOrdered {
    /// The block to leave: the innermost one of this context that this object opened. Threads and tasks may share it.
    fn take_entered(&self, py: Python<'_>, current: Option<Py<Block>>) -> Option<(Py<Block>, Py<PyAny>)> {
        let mut block = first_open(py, current);
        while let Some(candidate) = block {
            let found = self.entered.with(py, |entered| {
                let place = entered.iter().rposition(|(block, _)| block.is(&candidate))?;
                Some(entered.remove(place))
            });
            if found.is_some() {
                return found;
            }
            block = candidate.get().around.get().map(|around| around.clone_ref(py));
        }
        // It was entered in another context, as a generator's block may be.
        self.entered.with(py, Vec::pop)
    }
}

#[pymethods]
impl DictInsertionOrdered {
    #[new]
    fn new(mode: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { mode: flag("mode", mode)?, entered: GilCell::new(Vec::new()) })
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let py = slf.py();
        let around = first_open(py, current_block(py)?);
        let block = Bound::new(
            py,
            Block { insertion_ordered: slf.get().mode, is_open: GilCell::new(true), around: Link::new(around) },
        )?;
        let set = innermost(py)?.set(block.as_any());
        // CPython may have set the variable although it has no memory for the token.
        let token = set.inspect_err(|_| block.get().is_open.with(py, |is_open| *is_open = false))?;
        slf.get().entered.with(py, |entered| entered.push((block.unbind(), token)));
        OPEN_BLOCKS.fetch_add(1, Atomic::Relaxed);
        Ok(slf.clone())
    }

    #[pyo3(signature = (_exc_type=None, _exc=None, _traceback=None, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        _exc_type: Option<&Bound<'_, PyAny>>,
        _exc: Option<&Bound<'_, PyAny>>,
        _traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        // Where there is no memory to ask for it, the block is closed all the same.
        let current = current_block(py).unwrap_or_default();
        let Some((block, token)) = self.take_entered(py, current.as_ref().map(|block| block.clone_ref(py))) else {
            return Err(PyRuntimeError::new_err("dict_insertion_ordered: this block was left without being entered"));
        };
        block.get().is_open.with(py, |is_open| *is_open = false);
        OPEN_BLOCKS.fetch_sub(1, Atomic::Relaxed);
        // Blocks of generators may overlap: then another one is the innermost, and this closed one is passed over from now
        // on. A block may also be left in another context than it was entered in, where there is nothing to restore.
        if current.is_some_and(|current| current.is(&block)) {
            let _ = innermost(py)?.reset(token.bind(py));
        }
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let seen = self.entered.peek(|entered| {
            for (block, token) in entered {
                visit.call(block)?;
                visit.call(token)?;
            }
            Ok(())
        });
        seen.unwrap_or(Ok(()))
    }
}
