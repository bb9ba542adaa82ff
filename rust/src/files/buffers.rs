//! Memory of Python objects, pinned while it is read or filled without the GIL.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

use pyo3::ffi;
use pyo3::prelude::*;

/// The bytes of an object with the buffer protocol, in C order, for as long as this lives.
///
/// The format of its elements is not asked for: dtypes that the protocol has no letter for have bytes all the same.
pub(super) struct Pinned<'py> {
    // The exporter may point into the view from its own fields, so it stays where it was filled.
    view: Box<ffi::Py_buffer>,
    held: PhantomData<Bound<'py, PyAny>>,
}

impl<'py> Pinned<'py> {
    /// Pins bytes to be read.
    pub(super) fn to_read(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        Self::new(object, ffi::PyBUF_SIMPLE)
    }

    /// Pins bytes to be written to.
    pub(super) fn to_fill(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        Self::new(object, ffi::PyBUF_WRITABLE)
    }

    fn new(object: &Bound<'py, PyAny>, flags: c_int) -> PyResult<Self> {
        let mut view: Box<MaybeUninit<ffi::Py_buffer>> = Box::new_uninit();
        // SAFETY: the view is filled where the call succeeds, and given back by `drop` exactly once.
        let view = unsafe {
            if ffi::PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), flags) != 0 {
                return Err(PyErr::fetch(object.py()));
            }
            view.assume_init()
        };
        Ok(Self { view, held: PhantomData })
    }

    pub(super) fn len(&self) -> usize {
        self.view.len.cast_unsigned()
    }

    /// The bytes. Other threads may write to them meanwhile, so they are for the kernel, which copies them; nothing here
    /// reads them twice and counts on the same.
    pub(super) fn bytes(&self) -> &[u8] {
        if self.len() == 0 {
            return &[];
        }
        // SAFETY: a simple buffer is `len` bytes from `buf`, which stay there until the view is released.
        unsafe { std::slice::from_raw_parts(self.view.buf.cast(), self.len()) }
    }

    /// The bytes, to be filled. What else can write to them is Python code that holds the same object.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        if self.len() == 0 {
            return &mut [];
        }
        // SAFETY: as above, and the buffer was asked for as writable where this is called.
        unsafe { std::slice::from_raw_parts_mut(self.view.buf.cast(), self.len()) }
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        // SAFETY: filled by `PyObject_GetBuffer`, released here alone; the lifetime says that the GIL is held.
        unsafe { ffi::PyBuffer_Release(&raw mut *self.view) }
    }
}

/// Hands out memory that lives as long as its owner, as the owner's buffer.
///
/// # Safety
/// `view` comes from a call of the owner's `__getbuffer__`, and the memory stays where it is while the owner lives. It is
/// writable, and nothing of Rust holds a reference to it.
pub(super) unsafe fn fill_view(
    owner: &Bound<'_, PyAny>,
    view: *mut ffi::Py_buffer,
    memory: *mut u8,
    length: usize,
    flags: c_int,
) -> PyResult<()> {
    // SAFETY: the view is the interpreter's, and takes a reference to the owner.
    let failed = unsafe { ffi::PyBuffer_FillInfo(view, owner.as_ptr(), memory.cast(), length.cast_signed(), 0, flags) };
    if failed == 0 { Ok(()) } else { Err(PyErr::fetch(owner.py())) }
}
