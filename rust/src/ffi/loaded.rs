//! What other modules have, without loading them.

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// An attribute of a module, where somebody has loaded the module. Nothing is there any more while the interpreter ends.
pub(crate) fn loaded<'py>(
    module: &Bound<'py, PyString>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = module.py();
    // SAFETY: a live str; the result is a new reference, or null with or without an exception, which is fetched.
    let module = unsafe { Bound::from_owned_ptr_or_opt(py, ffi::PyImport_GetModule(module.as_ptr())) };
    if let Some(module) = module {
        return module.getattr_opt(name);
    }
    drop(PyErr::take(py));
    Ok(None)
}

/// What the module that this is has under a name, for a pickle.
pub(crate) fn native<'py>(name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    let py = name.py();
    py.import(intern!(py, "clika_pytree._native"))?.getattr(name)
}
