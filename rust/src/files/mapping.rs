//! A file as memory of this process.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::fs::File;
use std::io;

use memmap2::{MmapOptions, MmapRaw};
use pyo3::ffi;
use pyo3::prelude::*;

use super::buffers::fill_view;

/// The whole of a file as a buffer of bytes. They are private: what is written there is not written to the file.
#[pyclass(frozen, module = "clika_pytree._native")]
pub(crate) struct MappedFile(MmapRaw);

impl MappedFile {
    /// Maps so many bytes of a file that is at least so long.
    pub(super) fn new(file: &File, length: usize) -> io::Result<Self> {
        // SAFETY: no reference to the memory is ever made, here or by a caller: it is handed to Python as a pointer, and
        // whoever changes the file changes values there, not what Rust takes for granted. A file that is cut while it is
        // mapped ends the process where the lost part is touched (SIGBUS), which is why our files are replaced whole.
        let mapped = unsafe { MmapOptions::new().len(length).map_copy(file)? };
        Ok(Self(mapped.into()))
    }
}

#[pymethods]
impl MappedFile {
    #[expect(clippy::needless_pass_by_value, reason = "the signature of the protocol")]
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let memory = &slf.get().0;
        // SAFETY: the interpreter's view of a call of this method. The memory is mapped writable and moves nowhere until
        // the mapping is dropped with its owner, to which the view takes a reference.
        unsafe { fill_view(slf.as_any(), view, memory.as_mut_ptr(), memory.len(), flags) }
    }
}
