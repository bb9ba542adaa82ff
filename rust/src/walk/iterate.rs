//! Yielding leaves one by one.

use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

use super::Rules;
use super::walker::Walker;
use crate::ffi::GilCell;

/// The iterator over the leaves of a tree.
#[pyclass(frozen, module = "clika_pytree._native")]
pub(crate) struct TreeIter {
    state: GilCell<State>,
}

enum State {
    /// Between two leaves: every reference is owned.
    Halted(Box<Walker>),
    Running,
    /// The tree is done, or the walk has failed.
    Over,
}

impl TreeIter {
    pub(crate) fn new(tree: &Bound<'_, PyAny>, rules: Rules) -> PyResult<Self> {
        let mut walker = Walker::new(tree, rules)?;
        // The iterator outlives the call, so from here on the tree is its own.
        walker.pin();
        Ok(Self { state: GilCell::new(State::Halted(walker)) })
    }
}

#[pymethods]
impl TreeIter {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let cell = &self.state;
        let state = cell.with(py, |state| match state {
            State::Over => State::Over,
            _ => std::mem::replace(state, State::Running),
        });
        let mut walker = match state {
            State::Halted(walker) => walker,
            State::Over => return Ok(None),
            State::Running => {
                return Err(PyRuntimeError::new_err(
                    "this iterator is already being advanced: by its own is_leaf or flatten function, or by another thread",
                ));
            }
        };
        match walker.run::<false, true>(py) {
            Ok(false) => {
                walker.pin();
                let leaf = walker.leaves.pop(py);
                cell.with(py, |state| *state = State::Halted(walker));
                Ok(leaf)
            }
            Ok(true) => {
                cell.with(py, |state| *state = State::Over);
                Ok(None)
            }
            Err(raised) => {
                cell.with(py, |state| *state = State::Over);
                Err(not_the_end(py, raised))
            }
        }
    }

    /// Notes on an exception who raised it at the leaf that came last. Where the walk itself has failed or is done, that is
    /// the walk's to say.
    fn note(&self, py: Python<'_>, raised: &Bound<'_, PyAny>, who: &str) -> PyResult<()> {
        // Words of keys may be user code, so the walker is out of its cell meanwhile.
        let state = self.state.with(py, |state| match state {
            State::Halted(_) => std::mem::replace(state, State::Running),
            _ => State::Over,
        });
        if let State::Halted(walker) = state {
            let noted = walker.noted(py, PyErr::from_value(raised.clone()), who, walker.frames.len());
            self.state.with(py, |state| *state = State::Halted(walker));
            if !noted.value(py).is(raised) {
                return Err(noted); // what interrupted the writing
            }
        }
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let seen = self.state.peek(|state| match state {
            State::Halted(walker) => walker.traverse(&visit),
            State::Running | State::Over => Ok(()),
        });
        seen.unwrap_or(Ok(()))
    }

    fn __clear__(&self, py: Python<'_>) {
        let dropped = self.state.with(py, |state| std::mem::replace(state, State::Over));
        drop(dropped);
    }
}

/// A `StopIteration` of user code would end the loop as if the tree were done.
fn not_the_end(py: Python<'_>, raised: PyErr) -> PyErr {
    if !raised.is_instance_of::<PyStopIteration>(py) {
        return raised;
    }
    let error = PyRuntimeError::new_err("a function called by tree_iter raised StopIteration");
    error.set_cause(py, Some(raised));
    error
}
