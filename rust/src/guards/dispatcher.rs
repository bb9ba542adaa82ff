//! The call of a compiled function: the graph for it is found and run without a frame of Python but the graph's.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::cache::GuardCache;
use super::replay::Replay;
use crate::ffi;

/// Calls what a cache has for a call with the call's tensors; where it has nothing, `_miss(args, kwargs)` gives the result.
///
/// A class that derives from it has that method, and `_other_results(args, kwargs, error)`, which gives the result where a
/// graph has raised an error whose class has a `_has_other_results`.
///
/// Args:
///     cache: the `GuardCache`.
#[pyclass(frozen, subclass, module = "clika_pytree._native")]
pub(crate) struct Dispatcher {
    #[pyo3(get, name = "_cache")]
    cache: Py<GuardCache>,
}

impl Dispatcher {
    /// The result after a graph has raised: `_other_results(args, kwargs)` where the exception says that it is asked for.
    #[cold]
    fn after<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        raised: PyErr,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if !raised.value(py).get_type().hasattr(intern!(py, "_has_other_results"))? {
            return Err(raised);
        }
        let kwargs = kwargs.cloned().map_or_else(|| ffi::new_dict(py, 0), Ok)?;
        slf.call_method1(intern!(py, "_other_results"), (args, kwargs, raised.into_value(py)))
    }
}

#[pymethods]
impl Dispatcher {
    #[new]
    fn new(cache: Py<GuardCache>) -> Self {
        Self { cache }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if let Some((value, tensors)) = slf.get().cache.get().find(args, kwargs)? {
            let result = match value.cast::<Replay>() {
                Ok(replay) => replay.get().run(tensors),
                Err(_) => ffi::call_one(&value, tensors.as_any()),
            };
            return result.or_else(|raised| Self::after(slf, args, kwargs, raised));
        }
        let kwargs = kwargs.cloned().map_or_else(|| ffi::new_dict(py, 0), Ok)?;
        slf.call_method1(intern!(py, "_miss"), (args, kwargs))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.cache)
    }
}
