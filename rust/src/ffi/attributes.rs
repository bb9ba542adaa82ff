//! What objects hold, read past their own `__getattribute__`.

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyType};

use super::{Raw, own, type_address};
use crate::limits::Grow;

static METHOD: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Whether an object is a function of Python's bound to an object.
pub(crate) fn is_method(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    Ok(object.get_type().is(METHOD.import(py, "types", "MethodType")?))
}

/// The `__dict__` of an instance, where its class gives it one.
pub(crate) fn instance_dict<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let py = object.py();
    // SAFETY: a live object, which has a class; the result is a new reference or an exception is set.
    let dict = unsafe {
        if (*ffi::Py_TYPE(object.as_ptr())).tp_dictoffset == 0 {
            return Ok(None);
        }
        Bound::from_owned_ptr_or_err(py, ffi::PyObject_GenericGetDict(object.as_ptr(), std::ptr::null_mut()))?
    };
    Ok(dict.cast_into::<PyDict>().ok())
}

/// An attribute as `object.__getattribute__` finds it, or nothing where it is not set.
pub(crate) fn generic_attribute<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    // SAFETY: two live objects; the result is a new reference or an exception is set.
    let found =
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyObject_GenericGetAttr(object.as_ptr(), name.as_ptr())) };
    match found {
        Ok(value) => Ok(Some(value)),
        Err(raised) if raised.is_instance_of::<PyAttributeError>(py) => Ok(None),
        Err(raised) => Err(raised),
    }
}

/// The names of the slots that a class itself adds to its instances.
pub(crate) fn slot_names<'py>(cls: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyString>>> {
    let py = cls.py();
    let mut names = Vec::new();
    let Ok(cls) = cls.cast::<PyType>() else { return Ok(names) };
    // SAFETY: a live class; its dict is borrowed and copied before anything else runs.
    let dict = unsafe {
        let dict = (*cls.as_type_ptr()).tp_dict;
        if dict.is_null() {
            return Ok(names);
        }
        Bound::from_borrowed_ptr(py, dict)
    };
    let is_slot = |value: Raw| type_address(value) == &raw const ffi::PyMemberDescr_Type as usize;
    // SAFETY: a live dict, and nothing in the loop runs Python code.
    for (name, value) in unsafe { super::DictEntries::new(super::raw(&dict)) } {
        if is_slot(value)
            && let Ok(name) = own(py, name).cast_into::<PyString>()
        {
            names.grow(name)?;
        }
    }
    Ok(names)
}
