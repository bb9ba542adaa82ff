//! New objects, or a `MemoryError` where there is no memory for one: `PyO3` has constructors that panic then.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::RefVec;
use crate::errors::text_of;

/// A list of the references from `start` on.
pub(crate) fn list_from<'py>(py: Python<'py>, items: &mut RefVec, start: usize) -> PyResult<Bound<'py, PyList>> {
    let count = (items.len() - start).cast_signed();
    // SAFETY: the new list has room for `count` items and is filled before any Python code runs.
    unsafe {
        let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(count))?;
        if count > 0 {
            items.move_out(start, (*list.as_ptr().cast::<ffi::PyListObject>()).ob_item);
        }
        Ok(list.cast_into_unchecked())
    }
}

/// A tuple of the references from `start` on.
pub(crate) fn tuple_from<'py>(py: Python<'py>, items: &mut RefVec, start: usize) -> PyResult<Bound<'py, PyTuple>> {
    let count = (items.len() - start).cast_signed();
    // SAFETY: the new tuple has room for `count` items and is filled before any Python code runs; the empty tuple is
    // shared, and nothing is written to it.
    unsafe {
        let tuple = Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(count))?;
        items.move_out(start, (&raw mut (*tuple.as_ptr().cast::<ffi::PyTupleObject>()).ob_item).cast());
        Ok(tuple.cast_into_unchecked())
    }
}

/// A tuple of new references to these objects.
pub(crate) fn tuple_of_all<'py>(py: Python<'py>, items: &[Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyTuple>> {
    // SAFETY: the new tuple has room for the items and is filled before any Python code runs.
    unsafe {
        let tuple = Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(items.len().cast_signed()))?;
        for (index, item) in items.iter().enumerate() {
            ffi::PyTuple_SET_ITEM(tuple.as_ptr(), index.cast_signed(), item.clone().into_ptr());
        }
        Ok(tuple.cast_into_unchecked())
    }
}

/// A str as names are kept: `CPython`'s cache of look-ups keeps any other for ever.
pub(crate) fn name_of<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    let mut name = text_of(py, text)?.into_ptr();
    // SAFETY: an exact str, whose reference is exchanged for that of an equal one.
    unsafe {
        ffi::PyUnicode_InternInPlace(&raw mut name);
        Ok(Bound::from_owned_ptr(py, name).cast_into_unchecked())
    }
}

/// An int, or a `MemoryError`.
pub(crate) fn int_of(py: Python<'_>, number: usize) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the result is a new reference or an exception is set.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromSize_t(number)) }
}

/// A list of these objects.
pub(crate) fn list_of<'py>(
    py: Python<'py>,
    items: impl IntoIterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    list_from(py, &mut RefVec::of(py, items)?, 0)
}

/// A tuple of these objects.
pub(crate) fn tuple_of<'py>(
    py: Python<'py>,
    items: impl IntoIterator<Item = Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    tuple_from(py, &mut RefVec::of(py, items)?, 0)
}

/// A pair of these objects.
#[inline]
pub(crate) fn pair<'py, A, B>(first: Bound<'py, A>, second: Bound<'py, B>) -> PyResult<Bound<'py, PyTuple>> {
    let py = first.py();
    // SAFETY: the new tuple has room for two items and is filled before any Python code runs.
    unsafe {
        let tuple = Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(2))?;
        ffi::PyTuple_SET_ITEM(tuple.as_ptr(), 0, first.into_ptr());
        ffi::PyTuple_SET_ITEM(tuple.as_ptr(), 1, second.into_ptr());
        Ok(tuple.cast_into_unchecked())
    }
}

#[cfg(not(Py_3_14))]
unsafe extern "C" {
    // Exported by every interpreter up to 3.13, where growing a wide dict step by step costs as much as filling it.
    fn _PyDict_NewPresized(size: ffi::Py_ssize_t) -> *mut ffi::PyObject;
}

/// A new dict that is about to get `size` entries.
pub(crate) fn new_dict(py: Python<'_>, size: usize) -> PyResult<Bound<'_, PyDict>> {
    #[cfg(not(Py_3_14))]
    // SAFETY: the result is a new reference or an exception is set.
    let dict = unsafe { _PyDict_NewPresized(size.cast_signed()) };
    #[cfg(Py_3_14)]
    // SAFETY: as above.
    let dict = unsafe {
        let _ = size;
        ffi::PyDict_New()
    };
    // SAFETY: as above.
    unsafe { Ok(Bound::from_owned_ptr_or_err(py, dict)?.cast_into_unchecked()) }
}
