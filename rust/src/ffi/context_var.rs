//! A context variable, without the calls of methods: it is asked in every walk inside a block.

use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;

/// What a thread and an async task have of their own under a name.
pub(crate) struct ContextVar(Py<PyAny>);

impl ContextVar {
    pub(crate) fn new(py: Python<'_>, name: &std::ffi::CStr) -> PyResult<Self> {
        // SAFETY: the name ends with zero, there is no default, and the result is a new reference or null.
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyContextVar_New(name.as_ptr(), null_mut())) }
            .map(|variable| Self(variable.unbind()))
    }

    /// Its value here and now, where it has one.
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut value = null_mut();
        // SAFETY: a live variable, and a place for a new reference, which is null where there is no value.
        unsafe {
            if ffi::PyContextVar_Get(self.0.as_ptr(), null_mut(), &raw mut value) < 0 {
                return Err(PyErr::fetch(py));
            }
            Ok(Bound::from_owned_ptr_or_opt(py, value))
        }
    }

    /// Sets it, and gives the token that takes it back.
    pub(crate) fn set(&self, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        // SAFETY: a live variable and a live value; the result is a new reference or null.
        unsafe { Bound::from_owned_ptr_or_err(value.py(), ffi::PyContextVar_Set(self.0.as_ptr(), value.as_ptr())) }
            .map(Bound::unbind)
    }

    /// Takes back what gave this token; an error where that was in another context.
    pub(crate) fn reset(&self, token: &Bound<'_, PyAny>) -> PyResult<()> {
        // SAFETY: a live variable and a live object, whose class is looked at.
        if unsafe { ffi::PyContextVar_Reset(self.0.as_ptr(), token.as_ptr()) } < 0 {
            return Err(PyErr::fetch(token.py()));
        }
        Ok(())
    }
}
