//! What numpy keeps of an array, read from the array itself.
//!
//! The fields are those of `PyArrayObject_fields`, the same in numpy 1 and 2. They are believed once they have been held
//! against what Python says of some arrays; numpy is never imported for it.

use std::ffi::c_int;
use std::ptr::NonNull;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use pyo3::{ffi, intern};

use super::{Raw, raw};

#[repr(C)]
struct Fields {
    ob_base: ffi::PyObject,
    data: *mut u8,
    ndim: c_int,
    sizes: *const isize,
    strides: *const isize,
    base: *mut ffi::PyObject,
    descr: *mut ffi::PyObject,
    flags: c_int,
}

const C_CONTIGUOUS: c_int = 0x1;
const F_CONTIGUOUS: c_int = 0x2;
const ALIGNED: c_int = 0x100;

/// An array, as long as no Python code runs.
pub(crate) struct Array<'a> {
    pub(crate) sizes: &'a [isize],
    pub(crate) strides: &'a [isize],
    /// Where its first element lies.
    pub(crate) address: usize,
    /// Its dtype, which the array keeps alive.
    pub(crate) descr: Raw,
    flags: c_int,
}

/// Flags that an array has to have, and others that it must not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayFlags {
    among: c_int,
    expected: c_int,
}

impl ArrayFlags {
    pub(crate) const ANY: Self = Self { among: 0, expected: 0 };
    pub(crate) const ROWS: Self = Self { among: ALIGNED | C_CONTIGUOUS, expected: ALIGNED | C_CONTIGUOUS };
    pub(crate) const COLUMNS: Self =
        Self { among: ALIGNED | C_CONTIGUOUS | F_CONTIGUOUS, expected: ALIGNED | F_CONTIGUOUS };
}

impl Array<'_> {
    #[inline]
    pub(crate) fn has(&self, flags: ArrayFlags) -> bool {
        self.flags & flags.among == flags.expected
    }

    pub(crate) fn is_aligned(&self) -> bool {
        self.flags & ALIGNED != 0
    }

    pub(crate) fn is_c_contiguous(&self) -> bool {
        self.flags & C_CONTIGUOUS != 0
    }

    pub(crate) fn is_f_contiguous(&self) -> bool {
        self.flags & F_CONTIGUOUS != 0
    }
}

/// Looks at a live instance of `numpy.ndarray` or of a subclass. The closure must run no Python code.
///
/// It is only called for classes that [`array_layout_is_known`] was asked about.
#[inline]
pub(crate) fn with_array<R>(array: Raw, look: impl FnOnce(&Array<'_>) -> R) -> R {
    let fields = array.as_ptr().cast::<Fields>();
    // SAFETY: an array has these fields, which were looked at before it was taken for one. One without axes may have no
    // sizes; every array has a dtype.
    let seen = unsafe {
        let ndim = (*fields).ndim.cast_unsigned() as usize;
        let numbers = |first| if ndim == 0 { &[][..] } else { std::slice::from_raw_parts(first, ndim) };
        Array {
            sizes: numbers((*fields).sizes),
            strides: numbers((*fields).strides),
            address: (*fields).data as usize,
            descr: Raw::new_unchecked((*fields).descr),
            flags: (*fields).flags,
        }
    };
    look(&seen)
}

static IS_KNOWN: PyOnceLock<bool> = PyOnceLock::new();

/// Whether arrays are laid out as they are read here. `ndarray` is numpy's class of arrays.
pub(crate) fn array_layout_is_known(ndarray: &Bound<'_, PyType>) -> bool {
    let py = ndarray.py();
    // A class that says otherwise, or raises, is read by its attributes.
    *IS_KNOWN.get_or_init(py, || looks_as_described(ndarray).unwrap_or(false))
}

fn looks_as_described(ndarray: &Bound<'_, PyType>) -> PyResult<bool> {
    let py = ndarray.py();
    let basic_size: usize = ndarray.getattr(intern!(py, "__basicsize__"))?.extract()?;
    if basic_size < size_of::<Fields>() {
        return Ok(false);
    }
    let rows = ndarray.call1(((3, 5), "int16"))?;
    let columns = rows.getattr("T")?;
    let scalar = ndarray.call1(((), ">f8"))?;
    let empty = ndarray.call1(((2, 0, 7), "bool"))?;
    for array in [rows, columns, scalar, empty] {
        if !is_as_described(&array)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Holds the fields against the attributes, the pointers before what they point to.
fn is_as_described(array: &Bound<'_, PyAny>) -> PyResult<bool> {
    let dtype = array.getattr("dtype")?;
    let base = array.getattr("base")?;
    let interface = array.getattr("__array_interface__")?;
    let (data, _): (usize, bool) = interface.get_item("data")?.extract()?;
    let flags: c_int = array.getattr("flags")?.getattr("num")?.extract()?;
    let ndim: c_int = array.getattr("ndim")?.extract()?;
    let shape: Vec<isize> = array.getattr("shape")?.extract()?;
    let strides: Vec<isize> = array.getattr("strides")?.extract()?;
    let fields = raw(array).as_ptr().cast::<Fields>();
    // SAFETY: instances are at least so large. The arrays are followed once every other field is what it should be.
    unsafe {
        let expected_base = if base.is_none() { std::ptr::null_mut() } else { base.as_ptr() };
        let fields_agree = (*fields).data as usize == data
            && (*fields).ndim == ndim
            && (*fields).base == expected_base
            && (*fields).descr == dtype.as_ptr()
            && (*fields).flags == flags;
        let numbers = |first: *const isize| {
            let first = if shape.is_empty() { Some(NonNull::dangling()) } else { NonNull::new(first.cast_mut()) };
            first.map(|first| std::slice::from_raw_parts(first.as_ptr().cast_const(), shape.len()))
        };
        Ok(fields_agree && numbers((*fields).sizes) == Some(&*shape) && numbers((*fields).strides) == Some(&*strides))
    }
}
