//! Plain values as bytes: the same in every process and on every machine, others for every other value.

use hashbrown::{HashMap, HashSet};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyDict, PyEllipsis, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple,
};

use crate::errors::quote;
use crate::ffi::AddressHash;
use crate::limits::{Grow, Interrupts, gathered, gathered_from};

pub(crate) const DIGEST_BYTES: usize = 16;
/// Longer content of a container counts by its digest, so that a value of many common parts takes no longer to write
/// than to make.
const LONGEST_CONTENT: usize = 32;
/// Stands where the length of shorter content does.
const IS_DIGEST: u8 = 0xff;

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
    pub(crate) bytes: Vec<u8>,
    blake2b: Bound<'py, PyAny>,
    options: Bound<'py, PyDict>,
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
        let options = PyDict::new(py);
        options.set_item(intern!(py, "digest_size"), DIGEST_BYTES)?;
        let blake2b = py.import(intern!(py, "hashlib"))?.getattr(intern!(py, "blake2b"))?;
        Ok(Self { bytes: first.to_vec(), blake2b, options })
    }

    /// The digest of all that was written, in hexadecimal.
    pub(crate) fn finish(self, py: Python<'py>) -> PyResult<String> {
        self.hash(&self.bytes)?.call_method0(intern!(py, "hexdigest"))?.extract()
    }

    fn hash(&self, content: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        self.blake2b.call((PyBytes::new(self.blake2b.py(), content),), Some(&self.options))
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
            interrupts.after(value.py(), 1)?;
            let target = stack.last_mut().map_or(&mut self.bytes, |top| &mut top.content);
            if !write_atom(&current, target)? {
                if let Some((_, bytes)) = written.get(&(current.as_ptr() as usize)) {
                    target.extend_from_slice(bytes);
                } else {
                    if !around.insert(current.as_ptr() as usize) {
                        let class = current.get_type().name()?;
                        return Err(NoBytes::Unfit(format!("it holds a {class} that contains itself")));
                    }
                    stack.grow(Open::new(current)?)?;
                }
            }
            loop {
                let Some(top) = stack.last_mut() else { return Ok(()) };
                if let Some(next) = top.next() {
                    current = next;
                    break;
                }
                let Some(complete) = stack.pop() else { return Ok(()) };
                let bytes = self.closed(&complete)?;
                stack.last_mut().map_or(&mut self.bytes, |top| &mut top.content).extend_from_slice(&bytes);
                let address = complete.container.as_ptr() as usize;
                around.remove(&address);
                written.insert(address, (complete.container, bytes));
            }
        }
    }

    /// The bytes of a container all of whose parts are written.
    fn closed(&self, complete: &Open<'py>) -> PyResult<Vec<u8>> {
        let content = complete.sorted();
        let mut bytes = vec![complete.tag];
        match u8::try_from(content.len()) {
            Ok(length) if content.len() <= LONGEST_CONTENT => bytes.push(length),
            _ => {
                bytes.push(IS_DIGEST);
                let digest = self.hash(&content)?.call_method0(intern!(self.blake2b.py(), "digest"))?;
                bytes.extend_from_slice(digest.cast::<PyBytes>()?.as_bytes());
                return Ok(bytes);
            }
        }
        bytes.extend_from_slice(&content);
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
            (b'd', gathered(dict.iter().flat_map(|(key, value)| [key, value]))?)
        } else if is_set || container.is_exact_instance_of::<PyFrozenSet>() {
            (if is_set { b'e' } else { b'z' }, gathered_from(&container)?)
        } else {
            return Err(NoBytes::Unfit(format!("it holds {}", quote(&container))));
        };
        let starts = matches!(tag, b'e' | b'z').then(Vec::new);
        Ok(Self { container, tag, parts: parts.into_iter(), content: Vec::new(), starts })
    }

    /// The next part to write.
    fn next(&mut self) -> Option<Bound<'py, PyAny>> {
        let next = self.parts.next()?;
        if let Some(starts) = &mut self.starts {
            starts.push(self.content.len());
        }
        Some(next)
    }

    /// The content; of a set in the order of the bytes of its members.
    fn sorted(&self) -> Vec<u8> {
        let Some(starts) = &self.starts else { return self.content.clone() };
        let ends = starts.iter().skip(1).copied().chain([self.content.len()]);
        let mut members: Vec<_> = starts.iter().zip(ends).map(|(start, end)| &self.content[*start..end]).collect();
        members.sort_unstable();
        members.concat()
    }
}

fn write_bytes(tag: u8, content: &[u8], bytes: &mut Vec<u8>) {
    bytes.push(tag);
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    bytes.extend_from_slice(content);
}

fn write_text(text: &Bound<'_, PyAny>, bytes: &mut Vec<u8>) -> PyResult<()> {
    let py = text.py();
    let encoded = text.call_method1(intern!(py, "encode"), (intern!(py, "utf-8"), intern!(py, "surrogatepass")))?;
    write_bytes(b's', encoded.cast::<PyBytes>()?.as_bytes(), bytes);
    Ok(())
}

/// Writes a value without parts; `false` where it is none.
fn write_atom(value: &Bound<'_, PyAny>, bytes: &mut Vec<u8>) -> PyResult<bool> {
    let py = value.py();
    if value.is_none() {
        bytes.push(b'N');
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        bytes.push(if flag.is_true() { b'T' } else { b'F' });
    } else if value.is_exact_instance_of::<PyEllipsis>() {
        bytes.push(b'.');
    } else if value.is_exact_instance_of::<PyInt>() {
        // Hexadecimal: the decimal form of a huge int is refused.
        let digits = value.call_method1(intern!(py, "__format__"), (intern!(py, "x"),))?;
        write_bytes(b'i', digits.str()?.to_string_lossy().as_bytes(), bytes);
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        write_bytes(b'f', &number.value().to_bits().to_le_bytes(), bytes);
    } else if let Ok(number) = value.cast_exact::<PyComplex>() {
        let parts = [number.real().to_bits().to_le_bytes(), number.imag().to_bits().to_le_bytes()];
        write_bytes(b'j', &parts.concat(), bytes);
    } else if value.is_exact_instance_of::<PyString>() {
        write_text(value, bytes)?;
    } else if let Ok(content) = value.cast_exact::<PyBytes>() {
        write_bytes(b'b', content.as_bytes(), bytes);
    } else {
        return Ok(false);
    }
    Ok(true)
}
