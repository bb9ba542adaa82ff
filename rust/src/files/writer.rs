//! `FileWriter`: the bytes of a file, part by part, and then the file.

use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use super::Problem;
use super::buffers::Pinned;
use super::encode::Encoder;
use super::output::Output;
use super::reader::system_error;
use crate::errors::{Family, no_memory};
use crate::ffi::{int_of, pair};
use crate::limits::{Grow, Interrupts, gathered};

/// How much is written between two looks at pending signals.
const CHUNK: usize = 64 << 20;
/// As many parts as one call of the system takes.
const MOST_PARTS: usize = 1024;

/// A file that is written beside its target and takes its place on commit.
#[pyclass(frozen, module = "clika_pytree._native")]
pub(crate) struct FileWriter {
    /// Taken out by the call that works with it.
    output: Mutex<Option<Output>>,
    name: String,
}

impl FileWriter {
    fn take(&self) -> PyResult<Output> {
        let taken = self.output.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| PyValueError::new_err("this file is finished, or in use by another thread"))
    }

    fn failure(&self, failure: &io::Error) -> PyErr {
        system_error(failure, &self.name)
    }
}

#[pymethods]
impl FileWriter {
    /// Begins a file of so many bytes; `name` is what errors call it.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "extracted from a Python object")]
    fn new(py: Python<'_>, path: PathBuf, name: String, size: u64) -> PyResult<Self> {
        let output = py.detach(|| Output::new(&path, size)).map_err(|failure| system_error(&failure, &name))?;
        Ok(Self { output: Mutex::new(Some(output)), name })
    }

    /// Writes the bytes of objects with the buffer protocol, in C order. `report` is called with the bytes of each step.
    #[pyo3(signature = (parts, report=None))]
    fn write(&self, parts: &Bound<'_, PyList>, report: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let py = parts.py();
        let mut pinned = Vec::new();
        for part in parts.iter() {
            pinned.grow(Pinned::to_read(&part)?)?;
        }
        let mut output = self.take()?;
        let mut rest = Rest::new(gathered(pinned.iter().map(Pinned::bytes))?);
        while !rest.is_empty() {
            let next = rest.next_parts()?;
            // A call that was interrupted by a signal is made again once its handler ran.
            let written = match py.detach(|| output.write(&next)) {
                Err(failure) if failure.kind() == io::ErrorKind::Interrupted => 0,
                result => result.map_err(|failure| self.failure(&failure))?,
            };
            rest.advance(written);
            py.check_signals()?;
            if let Some(report) = report
                && written > 0
            {
                report.call1((written,))?;
            }
        }
        *self.output.lock().unwrap_or_else(PoisonError::into_inner) = Some(output);
        Ok(())
    }

    /// Puts the file where it belongs; with `sync` it survives the loss of power.
    fn commit(&self, py: Python<'_>, sync: bool) -> PyResult<()> {
        let output = self.take()?;
        let missing = output.missing();
        if missing != 0 {
            return Err(PyValueError::new_err(format!("{}: {missing} bytes are still to be written", self.name)));
        }
        py.detach(|| output.commit(sync)).map_err(|failure| self.failure(&failure))
    }

    /// Gives the file up; nothing of it is left. Again, or after a commit, it does nothing.
    fn discard(&self) {
        drop(self.take());
    }
}

/// What of some parts is still to be written.
struct Rest<'a> {
    parts: Vec<&'a [u8]>,
    /// The first part that is not done, and how much of it is.
    first: usize,
    done: usize,
}

impl<'a> Rest<'a> {
    fn new(parts: Vec<&'a [u8]>) -> Self {
        let mut rest = Self { parts, first: 0, done: 0 };
        rest.advance(0);
        rest
    }

    fn is_empty(&self) -> bool {
        self.first == self.parts.len()
    }

    /// What one call of the system is given.
    fn next_parts(&self) -> PyResult<Vec<IoSlice<'a>>> {
        let mut room = CHUNK;
        let mut skipped = self.done;
        let mut next = Vec::new();
        next.try_reserve_exact((self.parts.len() - self.first).min(MOST_PARTS)).map_err(no_memory)?;
        for part in self.parts[self.first..].iter().take(MOST_PARTS) {
            let part = &part[skipped..];
            skipped = 0;
            let part = &part[..part.len().min(room)];
            room -= part.len();
            next.push(IoSlice::new(part));
            if room == 0 {
                break;
            }
        }
        Ok(next)
    }

    fn advance(&mut self, written: usize) {
        self.done += written;
        while let Some(part) = self.parts.get(self.first)
            && self.done >= part.len()
        {
            self.done -= part.len();
            self.first += 1;
        }
    }
}

/// The first bytes of a file, up to the data, for tensors `(name, dtype, shape, ...)` in this order, and the size of the
/// file. The metadata is pairs of texts, sorted.
#[pyfunction]
pub(crate) fn encode_header<'py>(
    entries: &Bound<'py, PyList>,
    metadata: &Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = entries.py();
    let refused = |problem: Problem| problem.into_error(py, Family::Value, "");
    let mut encoder = begun(metadata)?;
    let mut interrupts = Interrupts::new();
    let mut bytes = 0;
    for entry in entries.iter() {
        interrupts.after(py, 1)?;
        let entry = entry.cast_into::<PyTuple>()?;
        let (name, dtype) = (entry.get_item(0)?.cast_into::<PyString>()?, entry.get_item(1)?.cast_into::<PyString>()?);
        let shape: Vec<u64> = entry.get_item(2)?.extract()?;
        bytes += encoder.add(name.to_str()?, dtype.to_str()?, shape.into_iter()).map_err(refused)?;
    }
    encoded(py, encoder, bytes)
}

/// A header that has its metadata.
pub(super) fn begun(metadata: &Bound<'_, PyList>) -> PyResult<Encoder> {
    let refused = |problem: Problem| problem.into_error(metadata.py(), Family::Value, "");
    let mut encoder = Encoder::new().map_err(refused)?;
    for pair in metadata.iter() {
        let pair = pair.cast_into::<PyTuple>()?;
        let (key, value) = (pair.get_item(0)?.cast_into::<PyString>()?, pair.get_item(1)?.cast_into::<PyString>()?);
        encoder.add_text(key.to_str()?, value.to_str()?).map_err(refused)?;
    }
    Ok(encoder)
}

/// The header, and the size of a file with so many bytes behind it.
pub(super) fn encoded(py: Python<'_>, encoder: Encoder, bytes: u64) -> PyResult<Bound<'_, PyTuple>> {
    let header = encoder.finish().map_err(|problem| problem.into_error(py, Family::Value, ""))?;
    let size = usize::try_from(header.len() as u64 + bytes)?;
    let header = PyBytes::new_with_writer(py, header.len(), |out| Ok(io::Write::write_all(out, &header)?))?;
    pair(header, int_of(py, size)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_handed_over_once_in_order() {
        let parts: [&[u8]; 5] = [b"", b"abc", b"", b"defg", b""];
        for step in 1..8 {
            let mut rest = Rest::new(parts.to_vec());
            let mut seen = Vec::new();
            while !rest.is_empty() {
                let next = rest.next_parts().unwrap();
                let bytes: Vec<u8> = next.iter().flat_map(|part| part.iter().copied()).collect();
                let written = bytes.len().min(step);
                seen.extend_from_slice(&bytes[..written]);
                rest.advance(written);
            }
            assert_eq!(seen, b"abcdefg");
        }
        assert!(Rest::new(vec![b"", b""]).is_empty());
    }
}
