//! `TensorFile`: a file that is open and found to be right.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pyo3::exceptions::{PyMemoryError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::Problem;
use super::buffers::Pinned;
use super::header::{Entry, Header, PREFIX, header_length};
use super::mapping::MappedFile;
use super::recognise::{ENOUGH, recognised};
use crate::errors::{Family, text_of};
use crate::ffi::{RefVec, int_of, list_from, new_dict, tuple_of, tuple_of_all};
use crate::limits::{Interrupts, all_of};

/// How much is read between two looks at pending signals.
const CHUNK: usize = 64 << 20;

/// Why a file was not opened.
enum Failure {
    System(io::Error),
    Content(Problem),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Content(problem)
    }
}

/// An open safetensors file whose header was read and checked.
#[pyclass(frozen, module = "clika_pytree._native")]
pub(crate) struct TensorFile {
    header: Header,
    /// Where the data begins.
    data: u64,
    size: u64,
    file: File,
}

impl TensorFile {
    fn open(path: &Path) -> Result<Self, Failure> {
        // A pipe would wait for its other end, so it is not opened.
        if !std::fs::metadata(path)?.is_file() {
            return Err(Problem::new("it is no regular file").into());
        }
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        let mut beginning = Vec::new();
        file.by_ref().take(ENOUGH as u64).read_to_end(&mut beginning)?;
        let header = Self::read_header(&mut file, &beginning, size);
        let (header, data) = header.map_err(|failure| match (failure, recognised(&beginning)) {
            (Failure::Content(Problem::NoMemory), _) => Problem::NoMemory.into(),
            (Failure::Content(_), Some(kind)) if beginning.get(8) != Some(&b'{') => {
                Problem::new(format!("it is no safetensors file: it looks like {kind}")).into()
            }
            (Failure::Content(_), _) if size == 0 => Problem::new("it is empty").into(),
            (failure, _) => failure,
        })?;
        Ok(Self { header, data, size, file })
    }

    fn read_header(file: &mut File, beginning: &[u8], size: u64) -> Result<(Header, u64), Failure> {
        let length = header_length(beginning, size)?;
        let wanted = usize::try_from(length).map_err(|_| Problem::NoMemory)?;
        let mut header = Vec::new();
        header.try_reserve_exact(wanted).map_err(Problem::from)?;
        header.extend(beginning[PREFIX..].iter().take(wanted));
        // It ends where there is room for no more, so the vector does not grow.
        file.take((wanted - header.len()) as u64).read_to_end(&mut header)?;
        if header.len() != wanted {
            return Err(Problem::new("it was cut while it was read").into());
        }
        let data = PREFIX as u64 + length;
        Ok((Header::read(&header, size - data)?, data))
    }
}

#[pymethods]
impl TensorFile {
    /// Opens the file at a path; `name` is what errors call it.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "extracted from a Python object")]
    fn new(py: Python<'_>, path: PathBuf, name: &str) -> PyResult<Self> {
        py.detach(|| Self::open(&path)).map_err(|failure| match failure {
            Failure::System(failure) => system_error(&failure, name),
            Failure::Content(problem) => problem.into_error(py, Family::FileFormat, &format!("{name}: ")),
        })
    }

    /// The bytes of the file.
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        int_of(py, usize::try_from(self.size)?)
    }

    /// The tensors in the order of the header: `(name, dtype, shape, first byte in the file, bytes)`.
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let number = |number: u64| int_of(py, usize::try_from(number)?);
        let mut interrupts = Interrupts::new();
        let mut entries = RefVec::with_room(self.header.entries.len())?;
        // Most tensors have the dtype and the shape of the one before.
        let mut last: Option<(&Entry, Bound<'py, PyAny>, Bound<'py, PyAny>)> = None;
        for entry in &self.header.entries {
            interrupts.after(py, 1)?;
            let (dtype, shape) = match last {
                Some((before, dtype, shape))
                    if before.dtype == entry.dtype && self.header.shape(before) == self.header.shape(entry) =>
                {
                    (dtype, shape)
                }
                _ => {
                    let shape = all_of(self.header.shape(entry).iter().map(|&size| number(size)))?;
                    (text_of(py, entry.dtype.name)?.into_any(), tuple_of(py, shape)?.into_any())
                }
            };
            let parts = [
                text_of(py, self.header.name(entry))?.into_any(),
                dtype.clone(),
                shape.clone(),
                number(self.data + entry.start)?,
                number(entry.end - entry.start)?,
            ];
            last = Some((entry, dtype, shape));
            entries.push(tuple_of_all(py, &parts)?.into_any())?;
        }
        list_from(py, &mut entries, 0)
    }

    /// The texts under `__metadata__`, in the order of the header.
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metadata = new_dict(py, self.header.metadata.len())?;
        for (key, value) in &self.header.metadata {
            metadata.set_item(text_of(py, key)?, text_of(py, value)?)?;
        }
        Ok(metadata)
    }

    /// Fills writable memory with the bytes of the file from a place on. Raises `OSError` where the file has become
    /// shorter.
    fn read_into(&self, py: Python<'_>, memory: &Bound<'_, PyAny>, start: u64, name: &str) -> PyResult<()> {
        let mut pinned = Pinned::to_fill(memory)?;
        let file = &self.file;
        let mut at = start;
        for chunk in pinned.bytes_mut().chunks_mut(CHUNK) {
            py.detach(|| read_at(file, chunk, at)).map_err(|failure| system_error(&failure, name))?;
            at += chunk.len() as u64;
            py.check_signals()?;
        }
        Ok(())
    }

    /// The whole file as memory.
    fn map(&self, py: Python<'_>, name: &str) -> PyResult<MappedFile> {
        let length = usize::try_from(self.size)?;
        py.detach(|| MappedFile::new(&self.file, length)).map_err(|failure| system_error(&failure, name))
    }
}

#[cfg(unix)]
fn read_at(file: &File, memory: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, memory, start)
}

#[cfg(windows)]
fn read_at(file: &File, mut memory: &mut [u8], mut start: u64) -> io::Result<()> {
    while !memory.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, memory, start)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                memory = &mut memory[read..];
                start += read as u64;
            }
        }
    }
    Ok(())
}

/// The `OSError` of a failure of the system, of the class that its number stands for.
pub(super) fn system_error(failure: &io::Error, name: &str) -> PyErr {
    let text = match failure.kind() {
        io::ErrorKind::UnexpectedEof => "it became shorter while it was read".to_owned(),
        io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
        _ => {
            let text = failure.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_owned()
        }
    };
    match number_of(failure) {
        Some(NO_MEMORY) => PyMemoryError::new_err(format!("{name}: {text}")),
        Some(number) => PyOSError::new_err((number, text, name.to_owned())),
        None => PyOSError::new_err(format!("{name}: {text}")),
    }
}

/// What mapping a file says where the process may have no more addresses.
const NO_MEMORY: i32 = 12;

/// The number that makes Python choose the class.
fn number_of(failure: &io::Error) -> Option<i32> {
    const A_FOLDER: i32 = 21;
    failure.raw_os_error().or((failure.kind() == io::ErrorKind::IsADirectory).then_some(A_FOLDER))
}
