//! What a tensor is, read through the table of C functions that its class has by `DLPack`'s exchange protocol.
//!
//! A class has it as `__dlpack_c_exchange_api__`, a capsule whose table lives as long as the process. The function that is
//! called here fills in a description which lies in the tensor itself; it runs no Python code.

use std::ffi::{c_int, c_void};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyType};

use super::Raw;

const NAME: &std::ffi::CStr = c"dlpack_exchange_api";
const MAJOR: u32 = 1;

type Describe = unsafe extern "C" fn(*mut c_void, *mut Description) -> c_int;

/// `DLPackExchangeAPI`.
#[repr(C)]
struct Table {
    major: u32,
    minor: u32,
    previous: *const c_void,
    allocate: *const c_void,
    export: *const c_void,
    import: *const c_void,
    describe: Option<Describe>,
    current_stream: *const c_void,
}

/// `DLTensor`.
#[repr(C)]
struct Description {
    data: *mut c_void,
    device_type: i32,
    device: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    sizes: *const i64,
    strides: *const i64,
    offset: u64,
}

/// What the elements of a tensor are: the code, the bits and the lanes of `DLPack`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Elements(u8, u8, u16);

/// How the tensors of a class are described.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange(Describe);

impl Exchange {
    /// The one that a class has, if it has one.
    pub(crate) fn of(cls: &Bound<'_, PyType>) -> Option<Self> {
        if size_of::<isize>() != size_of::<i64>() {
            return None;
        }
        let found = cls.getattr_opt(intern!(cls.py(), "__dlpack_c_exchange_api__")).ok()??;
        let table = found.cast::<PyCapsule>().ok()?.pointer_checked(Some(NAME)).ok()?.cast::<Table>();
        // SAFETY: a capsule of this name has such a table, which is there for good; the version comes first in all of them.
        unsafe {
            let table = table.as_ptr();
            if (*table).major == MAJOR { (*table).describe.map(Self) } else { None }
        }
    }

    /// What a live tensor of the class is, where it can be told so.
    #[inline]
    pub(crate) fn look<R>(self, py: Python<'_>, tensor: Raw, look: impl FnOnce(Elements, &[isize]) -> R) -> Option<R> {
        let mut seen = std::mem::MaybeUninit::<Description>::uninit();
        // SAFETY: a tensor of the class that has the function, and room for what it fills in where it gives 0. The sizes lie
        // in the tensor, which is alive and which nobody changes before the closure is done, as it runs no Python code.
        unsafe {
            if (self.0)(tensor.as_ptr().cast(), seen.as_mut_ptr()) != 0 {
                drop(PyErr::take(py));
                return None;
            }
            let seen = seen.assume_init();
            let sizes = match usize::try_from(seen.ndim) {
                Ok(0) => &[][..],
                Ok(ndim) if !seen.sizes.is_null() => std::slice::from_raw_parts(seen.sizes.cast::<isize>(), ndim),
                _ => return None,
            };
            Some(look(Elements(seen.code, seen.bits, seen.lanes), sizes))
        }
    }
}
