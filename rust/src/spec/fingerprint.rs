//! A digest of a structure that is the same in every process, on every machine and Python version.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyDict, PyEllipsis, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple,
    PyType,
};

use super::{Graph, key_path};
use crate::errors::{Family, error, quote};
use crate::registry::Registration;
use crate::structure::{Kind, Node};

/// Changes where the same structure is to get another digest.
const VERSION: &[u8] = b"clika_pytree 1";
const DIGEST_BYTES: usize = 16;

/// Why a value has no digest.
enum Refusal {
    Unfit(String),
    Raised(PyErr),
}

impl From<PyErr> for Refusal {
    fn from(raised: PyErr) -> Self {
        Self::Raised(raised)
    }
}

impl Graph {
    /// The digest, in hexadecimal.
    pub(crate) fn fingerprint(&self, py: Python<'_>) -> PyResult<String> {
        let mut bytes = VERSION.to_vec();
        bytes.push(u8::from(self.none_is_leaf));
        for (index, node) in self.nodes.iter().enumerate() {
            bytes.push(node.kind as u8);
            bytes.extend_from_slice(&node.arity.to_le_bytes());
            if let Err(refusal) = self.write_slots(py, node, &mut bytes) {
                return Err(self.refused(py, index, refusal));
            }
        }
        let options = PyDict::new(py);
        options.set_item(intern!(py, "digest_size"), DIGEST_BYTES)?;
        let hashlib = py.import(intern!(py, "hashlib"))?;
        let digest = hashlib.getattr(intern!(py, "blake2b"))?.call((PyBytes::new(py, &bytes),), Some(&options))?;
        digest.call_method0(intern!(py, "hexdigest"))?.extract()
    }

    fn write_slots(&self, py: Python<'_>, node: &Node, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
        let slot = |number| match self.slot(py, node, number) {
            Some(slot) => slot.to_owned(),
            None => py.None().into_bound(py),
        };
        match node.kind {
            Kind::NamedTuple => write_named(&slot(0), bytes),
            Kind::DefaultDict => {
                let factory = slot(0);
                if factory.is_none() {
                    bytes.push(b'N');
                } else {
                    write_named(&factory, bytes)?;
                }
                (1..=node.arity as usize).try_for_each(|number| write_value(&slot(number), bytes))
            }
            Kind::Custom | Kind::Dataclass | Kind::Static => {
                let Some(registration) = self.registration(py, node) else { return Ok(()) };
                write_registration(&registration, bytes)?;
                let dump = registration.getattr(intern!(py, "to_dumpable_context"))?;
                let context = slot(1);
                let plain = if dump.is_none() { context } else { dump.call1((context,))? };
                write_value(&plain, bytes)
            }
            _ => (0..node.kind.slots(node.arity as usize)).try_for_each(|number| write_value(&slot(number), bytes)),
        }
    }

    #[cold]
    fn refused(&self, py: Python<'_>, index: usize, refusal: Refusal) -> PyErr {
        let path = key_path(py, &self.nodes, self.slots.as_slice(), &self.ancestors(index));
        let owner = self.registration(py, &self.nodes[index]);
        let owner = owner.map_or_else(|| self.nodes[index].kind.name().to_owned(), |owner| owner.get().class_name(py));
        match refusal {
            Refusal::Raised(raised) => {
                let note = format!("clika_pytree: raised by fingerprint() for the {owner} {}", path.place());
                crate::errors::add_note(py, &raised, &note);
                raised
            }
            Refusal::Unfit(what) => error(
                py,
                Family::Value,
                Some(&path),
                &format!("no fingerprint of the {owner} {}: {what}", path.place()),
            ),
        }
    }
}

fn write_text(text: &Bound<'_, PyAny>, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
    let py = text.py();
    let encoded = text.call_method1(intern!(py, "encode"), ("utf-8", "surrogatepass"))?;
    write_bytes(b's', encoded.cast_into::<PyBytes>().map_err(PyErr::from)?.as_bytes(), bytes);
    Ok(())
}

fn write_bytes(tag: u8, content: &[u8], bytes: &mut Vec<u8>) {
    bytes.push(tag);
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    bytes.extend_from_slice(content);
}

/// A class by its serialized name, else by where it is found; and its namespace.
fn write_registration(registration: &Bound<'_, Registration>, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
    let py = registration.py();
    let name = registration.getattr(intern!(py, "serialized_type_name"))?;
    if name.is_none() {
        write_named(registration.get().cls.bind(py).as_any(), bytes)?;
    } else {
        bytes.push(b'S');
        write_text(&name, bytes)?;
    }
    write_bytes(b'n', registration.get().namespace.as_bytes(), bytes);
    Ok(())
}

/// A class or function by module and qualified name, which must lead back to it.
fn write_named(object: &Bound<'_, PyAny>, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
    let py = object.py();
    let attribute = |name| object.getattr_opt(name).ok().flatten();
    let (module, qualname) = (attribute(intern!(py, "__module__")), attribute(intern!(py, "__qualname__")));
    let found = match (&module, &qualname) {
        (Some(module), Some(qualname)) => found_by_name(module, qualname)?,
        _ => None,
    };
    if !found.is_some_and(|found| found.is(object)) {
        let what = if object.is_instance_of::<PyType>() { "the class" } else { "the object" };
        return Err(Refusal::Unfit(format!(
            "its name does not lead back to {what} {}: give the class a serialized_type_name, or define it at the top \
             level of its module",
            qualname.map_or_else(|| quote(object), |name| name.to_string())
        )));
    }
    bytes.push(b'c');
    for name in [module, qualname].into_iter().flatten() {
        write_text(&name, bytes)?;
    }
    Ok(())
}

fn found_by_name<'py>(module: &Bound<'py, PyAny>, qualname: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = module.py();
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    let Ok(mut found) = modules.get_item(module) else { return Ok(None) };
    for part in qualname.str()?.to_string_lossy().split('.') {
        match found.getattr_opt(PyString::new(py, part))? {
            Some(next) => found = next,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// What is still to be written: a value, or the end of a set whose members are sorted by their bytes.
enum Pending<'py> {
    Value(Bound<'py, PyAny>),
    Member { start: usize },
    Members { starts_at: usize },
}

/// A plain value by exact type and bits. Sets lie between marks, since the bytes of their members are sorted.
fn write_value(value: &Bound<'_, PyAny>, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
    let mut left = vec![Pending::Value(value.clone())];
    // The members of the sets that are being written, each a range of its own bytes.
    let mut members: Vec<Vec<u8>> = Vec::new();
    while let Some(pending) = left.pop() {
        match pending {
            Pending::Value(value) => {
                if write_plain(&value, bytes)? {
                    continue;
                }
                if value.is_exact_instance_of::<PySet>() || value.is_exact_instance_of::<PyFrozenSet>() {
                    bytes.push(if value.is_exact_instance_of::<PySet>() { b'e' } else { b'z' });
                    bytes.extend_from_slice(&(value.len()? as u64).to_le_bytes());
                    left.push(Pending::Members { starts_at: members.len() });
                    for member in value.try_iter()? {
                        left.push(Pending::Member { start: 0 });
                        left.push(Pending::Value(member?));
                    }
                    mark_members(&mut left, bytes.len());
                    continue;
                }
                left.extend(parts_of(&value, bytes)?.into_iter().rev().map(Pending::Value));
            }
            Pending::Member { start } => members.push(bytes.split_off(start)),
            Pending::Members { starts_at } => {
                let mut sorted = members.split_off(starts_at);
                sorted.sort();
                for member in &sorted {
                    write_bytes(b'm', member, bytes);
                }
            }
        }
    }
    Ok(())
}

/// Every member of the set that was just opened is written from this place on, and taken away again.
fn mark_members(left: &mut [Pending<'_>], place: usize) {
    for pending in left.iter_mut().rev() {
        match pending {
            Pending::Member { start } => *start = place,
            Pending::Members { .. } => break,
            Pending::Value(_) => {}
        }
    }
}

/// Writes a value without parts; `false` where it has some.
fn write_plain(value: &Bound<'_, PyAny>, bytes: &mut Vec<u8>) -> Result<bool, Refusal> {
    let py = value.py();
    if value.is_none() {
        bytes.push(b'N');
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        bytes.push(if flag.is_true() { b'T' } else { b'F' });
    } else if value.is_exact_instance_of::<PyEllipsis>() {
        bytes.push(b'.');
    } else if value.is_exact_instance_of::<PyInt>() {
        // Hexadecimal: the decimal form of a huge int is refused.
        let digits = value.call_method1(intern!(py, "__format__"), ("x",))?;
        write_bytes(b'i', digits.str()?.to_string_lossy().as_bytes(), bytes);
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        write_bytes(b'f', &number.value().to_bits().to_le_bytes(), bytes);
    } else if let Ok(number) = value.cast_exact::<PyComplex>() {
        bytes.push(b'j');
        write_bytes(b'f', &number.real().to_bits().to_le_bytes(), bytes);
        write_bytes(b'f', &number.imag().to_bits().to_le_bytes(), bytes);
    } else if value.is_exact_instance_of::<PyString>() {
        write_text(value, bytes)?;
    } else if let Ok(content) = value.cast_exact::<PyBytes>() {
        write_bytes(b'b', content.as_bytes(), bytes);
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Opens a tuple, list or dict and gives its parts.
fn parts_of<'py>(value: &Bound<'py, PyAny>, bytes: &mut Vec<u8>) -> Result<Vec<Bound<'py, PyAny>>, Refusal> {
    let (tag, parts): (u8, Vec<_>) = if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        (b't', tuple.iter().collect())
    } else if let Ok(list) = value.cast_exact::<PyList>() {
        (b'l', list.iter().collect())
    } else if let Ok(dict) = value.cast_exact::<PyDict>() {
        (b'd', dict.items().iter().collect())
    } else {
        return Err(Refusal::Unfit(format!(
            "{} is no plain value: give the registration a to_dumpable_context that makes plain values of it",
            quote(value)
        )));
    };
    bytes.push(tag);
    bytes.extend_from_slice(&(parts.len() as u64).to_le_bytes());
    Ok(parts)
}
