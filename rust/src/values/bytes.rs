//! Plain values as bytes: the same in every process and on every machine, others for every other value.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use hashbrown::{HashMap, HashSet};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyDict, PyEllipsis, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple,
};

use crate::errors::{no_memory, quote};
use crate::ffi::{AddressHash, dict_entries, int_of, new_dict, references};
use crate::limits::{Grow, Interrupts, gathered, gathered_from};

pub(crate) const DIGEST_BYTES: usize = 16;
/// Longer content of a container counts by its digest, so that a value of many common parts takes no longer to write
/// than to make.
const LONGEST_CONTENT: usize = 32;
/// The references to a container that is not met again: that of what it is in, and ours.
const IN_ONE_PLACE: isize = 2;
/// Stands where the length of shorter content does.
const IS_DIGEST: u8 = 0xff;
/// So many bytes go into the digest at once.
const MOST_BYTES: usize = 1 << 20;
/// A part is written by a method call or two, which take some steps' time.
const PER_PART: usize = 8;
/// So many members of a set are sorted at once, in less than a millisecond.
const SORTED_AT_ONCE: usize = 1 << 12;

/// Why a value has no bytes.
pub(crate) enum NoBytes {
    /// It holds something that is not plain; in words.
    Unfit(String),
    Raised(PyErr),
}

impl From<PyErr> for NoBytes {
    fn from(raised: PyErr) -> Self {
        Self::Raised(raised)
    }
}

/// Collects values as bytes. Each says how long it is, so that no two sequences of values have the same bytes.
pub(crate) struct Writer<'py> {
    /// What is not in the digest yet.
    bytes: Vec<u8>,
    digest: Bound<'py, PyAny>,
    blake2b: Bound<'py, PyAny>,
    options: Bound<'py, PyDict>,
    interrupts: Interrupts,
}

/// A container that is being written.
struct Open<'py> {
    container: Bound<'py, PyAny>,
    tag: u8,
    parts: std::vec::IntoIter<Bound<'py, PyAny>>,
    content: Vec<u8>,
    /// Of a set: where each member begins. They are sorted at the end.
    starts: Option<Vec<usize>>,
}

type Addresses = HashSet<usize, AddressHash>;
/// Containers that were written, by their address. They are held, so that no other value gets it.
type Written<'py> = HashMap<usize, (Bound<'py, PyAny>, Vec<u8>), AddressHash>;

impl<'py> Writer<'py> {
    pub(crate) fn new(py: Python<'py>, first: &[u8]) -> PyResult<Self> {
        let options = new_dict(py, 1)?;
        options.set_item(intern!(py, "digest_size"), int_of(py, DIGEST_BYTES)?)?;
        let blake2b = py.import(intern!(py, "hashlib"))?.getattr(intern!(py, "blake2b"))?;
        let digest = blake2b.call((), Some(&options))?;
        Ok(Self { bytes: first.to_vec(), digest, blake2b, options, interrupts: Interrupts::new() })
    }

    /// The digest of all that was written, in hexadecimal.
    pub(crate) fn finish(mut self) -> PyResult<Bound<'py, PyAny>> {
        self.update()?;
        self.digest.call_method0(intern!(self.digest.py(), "hexdigest"))
    }

    /// Between two parts the bytes so far may go into the digest, and the user may interrupt.
    pub(crate) fn end_of_part(&mut self) -> PyResult<()> {
        self.interrupts.after(self.digest.py(), PER_PART)?;
        if self.bytes.len() < MOST_BYTES { Ok(()) } else { self.update() }
    }

    fn update(&mut self) -> PyResult<()> {
        let py = self.digest.py();
        self.digest.call_method1(intern!(py, "update"), (bytes_of(py, &self.bytes)?,))?;
        self.bytes.clear();
        Ok(())
    }

    fn hash(&self, content: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        self.blake2b.call((bytes_of(self.blake2b.py(), content)?,), Some(&self.options))
    }

    /// Adds bytes as they are.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> PyResult<()> {
        put(bytes, &mut self.bytes)
    }

    /// Adds the bytes of a str.
    pub(crate) fn text(&mut self, text: &Bound<'py, PyAny>) -> PyResult<()> {
        write_text(text, &mut self.bytes)
    }

    /// Adds the bytes of a value: of its exact type, its bits, and its parts in their order.
    pub(crate) fn value(&mut self, value: &Bound<'py, PyAny>) -> Result<(), NoBytes> {
        let mut stack: Vec<Open<'py>> = Vec::new();
        let mut around = Addresses::default();
        let mut written = Written::default();
        let mut current = value.clone();
        let mut interrupts = Interrupts::new();
        loop {
            interrupts.after(value.py(), PER_PART)?;
            around.try_reserve(1).map_err(no_memory)?;
            let target = stack.last_mut().map_or(&mut self.bytes, |top| &mut top.content);
            if !write_atom(&current, target)? {
                if let Some((_, bytes)) = written.get(&(current.as_ptr() as usize)) {
                    put(bytes, target)?;
                } else {
                    if !around.insert(current.as_ptr() as usize) {
                        let class = current.get_type().name()?;
                        return Err(NoBytes::Unfit(format!("it holds a {class} that contains itself")));
                    }
                    stack.grow(Open::new(current)?)?;
                }
            }
            loop {
                let Some(top) = stack.last_mut() else { return Ok(forget(value.py(), written, interrupts)?) };
                if let Some(next) = top.next()? {
                    current = next;
                    break;
                }
                let Some(mut complete) = stack.pop() else { return Ok(()) };
                interrupts.after(value.py(), PER_PART)?;
                let content = complete.sorted(value.py(), &mut interrupts)?;
                let bytes = self.closed(complete.tag, &content)?;
                put(&bytes, stack.last_mut().map_or(&mut self.bytes, |top| &mut top.content))?;
                let address = complete.container.as_ptr() as usize;
                around.remove(&address);
                if references(&complete.container) > IN_ONE_PLACE {
                    written.try_reserve(1).map_err(no_memory)?;
                    written.insert(address, (complete.container, bytes));
                }
            }
        }
    }

    /// The bytes of a container whose content is complete.
    fn closed(&self, tag: u8, content: &[u8]) -> PyResult<Vec<u8>> {
        let mut bytes = vec![tag];
        match u8::try_from(content.len()) {
            Ok(length) if content.len() <= LONGEST_CONTENT => bytes.push(length),
            _ => {
                bytes.push(IS_DIGEST);
                let digest = self.hash(content)?.call_method0(intern!(self.blake2b.py(), "digest"))?;
                bytes.extend_from_slice(digest.cast::<PyBytes>()?.as_bytes());
                return Ok(bytes);
            }
        }
        bytes.extend_from_slice(content);
        Ok(bytes)
    }
}

impl<'py> Open<'py> {
    fn new(container: Bound<'py, PyAny>) -> Result<Self, NoBytes> {
        let is_set = container.is_exact_instance_of::<PySet>();
        let (tag, parts): (u8, Vec<_>) = if let Ok(tuple) = container.cast_exact::<PyTuple>() {
            (b't', gathered(tuple.iter())?)
        } else if let Ok(list) = container.cast_exact::<PyList>() {
            (b'l', gathered(list.iter())?)
        } else if let Ok(dict) = container.cast_exact::<PyDict>() {
            (b'd', gathered(dict_entries(dict.as_any())?.into_iter().flat_map(|(key, value)| [key, value]))?)
        } else if is_set || container.is_exact_instance_of::<PyFrozenSet>() {
            (if is_set { b'e' } else { b'z' }, gathered_from(&container)?)
        } else {
            return Err(NoBytes::Unfit(format!("it holds {}", quote(&container))));
        };
        let starts = matches!(tag, b'e' | b'z').then(Vec::new);
        Ok(Self { container, tag, parts: parts.into_iter(), content: Vec::new(), starts })
    }

    /// The next part to write.
    fn next(&mut self) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(next) = self.parts.next() else { return Ok(None) };
        if let Some(starts) = &mut self.starts {
            starts.grow(self.content.len())?;
        }
        Ok(Some(next))
    }

    /// The content; of a set in the order of the bytes of its members, which is found in parts: one sort of all could not
    /// be interrupted.
    fn sorted(&mut self, py: Python<'py>, interrupts: &mut Interrupts) -> PyResult<Vec<u8>> {
        let Some(starts) = &self.starts else { return Ok(std::mem::take(&mut self.content)) };
        let ends = starts.iter().skip(1).copied().chain([self.content.len()]);
        let mut members = gathered(starts.iter().zip(ends).map(|(start, end)| &self.content[*start..end]))?;
        for part in members.chunks_mut(SORTED_AT_ONCE) {
            part.sort_unstable();
            interrupts.after(py, part.len() * PER_PART)?;
        }
        // What is left of each part, that with the least member first.
        let mut parts = BinaryHeap::from(gathered(members.chunks(SORTED_AT_ONCE).map(Reverse))?);
        let mut sorted = Vec::new();
        while let Some(mut least) = parts.peek_mut() {
            let Some((member, rest)) = least.0.split_first() else { break };
            put(member, &mut sorted)?;
            interrupts.after(py, PER_PART)?;
            if rest.is_empty() {
                PeekMut::pop(least);
            } else {
                least.0 = rest;
            }
        }
        Ok(sorted)
    }
}

/// Lets the containers go one by one: where there are many, that takes its time, too.
fn forget(py: Python<'_>, written: Written<'_>, mut interrupts: Interrupts) -> PyResult<()> {
    written.into_iter().try_for_each(|entry| {
        drop(entry);
        interrupts.after(py, 1)
    })
}

fn put(more: &[u8], bytes: &mut Vec<u8>) -> PyResult<()> {
    bytes.try_reserve(more.len()).map_err(no_memory)?;
    bytes.extend_from_slice(more);
    Ok(())
}

fn bytes_of<'py>(py: Python<'py>, content: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, content.len(), |bytes| {
        bytes.copy_from_slice(content);
        Ok(())
    })
}

fn write_bytes(tag: u8, content: &[u8], bytes: &mut Vec<u8>) -> PyResult<()> {
    put(&[tag], bytes)?;
    put(&(content.len() as u64).to_le_bytes(), bytes)?;
    put(content, bytes)
}

fn write_text(text: &Bound<'_, PyAny>, bytes: &mut Vec<u8>) -> PyResult<()> {
    let py = text.py();
    let encoded = text.call_method1(intern!(py, "encode"), (intern!(py, "utf-8"), intern!(py, "surrogatepass")))?;
    write_bytes(b's', encoded.cast::<PyBytes>()?.as_bytes(), bytes)
}

/// Writes a value without parts; `false` where it is none.
fn write_atom(value: &Bound<'_, PyAny>, bytes: &mut Vec<u8>) -> PyResult<bool> {
    let py = value.py();
    if value.is_none() {
        put(b"N", bytes)?;
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        put(if flag.is_true() { b"T" } else { b"F" }, bytes)?;
    } else if value.is_exact_instance_of::<PyEllipsis>() {
        put(b".", bytes)?;
    } else if value.is_exact_instance_of::<PyInt>() {
        // Hexadecimal: the decimal form of a huge int is refused.
        let digits = value.call_method1(intern!(py, "__format__"), (intern!(py, "x"),))?;
        write_bytes(b'i', digits.str()?.to_string_lossy().as_bytes(), bytes)?;
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        write_bytes(b'f', &number.value().to_bits().to_le_bytes(), bytes)?;
    } else if let Ok(number) = value.cast_exact::<PyComplex>() {
        let parts = [number.real().to_bits().to_le_bytes(), number.imag().to_bits().to_le_bytes()];
        write_bytes(b'j', &parts.concat(), bytes)?;
    } else if value.is_exact_instance_of::<PyString>() {
        write_text(value, bytes)?;
    } else if let Ok(content) = value.cast_exact::<PyBytes>() {
        write_bytes(b'b', content.as_bytes(), bytes)?;
    } else {
        return Ok(false);
    }
    Ok(true)
}
