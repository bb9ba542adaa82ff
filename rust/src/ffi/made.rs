//! New objects, or a `MemoryError` where there is no memory for one: `PyO3` has constructors that panic then.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::{Raw, RefVec, raw};
use crate::errors::text_of;

/// So many references are moved at once: more take their time, in which the user may press Ctrl-C.
const PART: usize = 1 << 20;

/// The empty tuple, of which there is one, for ever.
#[inline]
pub(crate) fn empty_tuple(py: Python<'_>) -> Raw {
    static EMPTY: PyOnceLock<Py<PyTuple>> = PyOnceLock::new();
    raw(EMPTY.get_or_init(py, || PyTuple::empty(py).unbind()).bind(py).as_any())
}

/// A tuple of these objects. Unlike other constructors it runs no Python code: no collection of garbage begins.
pub(crate) fn tuple_quietly<'py>(py: Python<'py>, items: &[Option<Raw>]) -> PyResult<Bound<'py, PyTuple>> {
    // SAFETY: the new tuple has room for the items, all of them live objects, and nothing runs before it is filled.
    unsafe {
        // From 3.12 on the collector waits until Python code goes on.
        #[cfg(not(Py_3_12))]
        let was_enabled = ffi::PyGC_Disable();
        let tuple = ffi::PyTuple_New(items.len().cast_signed());
        #[cfg(not(Py_3_12))]
        if was_enabled != 0 {
            ffi::PyGC_Enable();
        }
        let tuple = Bound::from_owned_ptr_or_err(py, tuple)?;
        for (index, item) in (0..).zip(items.iter().flatten()) {
            ffi::PyTuple_SET_ITEM(tuple.as_ptr(), index, ffi::Py_NewRef(item.as_ptr()));
        }
        Ok(tuple.cast_into_unchecked())
    }
}

/// A list of the references from `start` on.
pub(crate) fn list_from<'py>(py: Python<'py>, items: &mut RefVec, start: usize) -> PyResult<Bound<'py, PyList>> {
    let count = items.len() - start;
    // SAFETY: the new list has room for `count` items and is filled before any Python code sees it.
    unsafe {
        let list = Bound::from_owned_ptr_or_err(py, ffi::PyList_New(count.cast_signed()))?;
        if count > 0 {
            fill(&list, (*list.as_ptr().cast::<ffi::PyListObject>()).ob_item, items, start)?;
        }
        Ok(list.cast_into_unchecked())
    }
}

/// A tuple of the references from `start` on.
pub(crate) fn tuple_from<'py>(py: Python<'py>, items: &mut RefVec, start: usize) -> PyResult<Bound<'py, PyTuple>> {
    let count = items.len() - start;
    // SAFETY: the new tuple has room for `count` items and is filled before any Python code sees it; the empty tuple is
    // shared, and nothing is written to it.
    unsafe {
        let tuple = Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(count.cast_signed()))?;
        fill(&tuple, (&raw mut (*tuple.as_ptr().cast::<ffi::PyTupleObject>()).ob_item).cast(), items, start)?;
        Ok(tuple.cast_into_unchecked())
    }
}

/// Moves the references from `start` on to the room of a new list or tuple.
///
/// # Safety
/// `room` has place for them, and is that of an object which nobody else has seen.
#[inline]
unsafe fn fill(
    object: &Bound<'_, PyAny>,
    room: *mut *mut ffi::PyObject,
    items: &mut RefVec,
    start: usize,
) -> PyResult<()> {
    // SAFETY: as promised.
    unsafe {
        if items.len() - start > PART {
            return fill_in_parts(object, room, items, start);
        }
        items.move_out(start, room);
    }
    Ok(())
}

/// The same, from the last part to the first, with a look at signals after each.
///
/// # Safety
/// As for `fill`.
#[cold]
unsafe fn fill_in_parts(
    object: &Bound<'_, PyAny>,
    room: *mut *mut ffi::PyObject,
    items: &mut RefVec,
    start: usize,
) -> PyResult<()> {
    // SAFETY: as promised; places without an object are null, which is what ends a list or a tuple well. The collector,
    // which shows objects to everybody, does not know this one until it is full.
    unsafe {
        ffi::PyObject_GC_UnTrack(object.as_ptr().cast());
        while items.len() > start {
            let part = start.max(items.len().saturating_sub(PART));
            items.move_out(part, room.add(part - start));
            object.py().check_signals()?;
        }
        ffi::PyObject_GC_Track(object.as_ptr().cast());
    }
    Ok(())
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
