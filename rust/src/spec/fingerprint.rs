//! A digest of a structure that is the same in every process, on every machine and Python version.

use pyo3::exceptions::PyKeyError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::{Graph, node_name};
use crate::errors::{Family, error, noted, quote, text_of};
use crate::ffi;
use crate::limits::Nested;
use crate::registry::{Manner, Registration, names};
use crate::structure::{Kind, Node};
use crate::values::{self, NoBytes, Writer};

/// Changes where the same structure is to get another digest.
const VERSION: &[u8] = b"clika_pytree 1";

/// Why a node has no digest.
enum Refusal {
    /// What of it is unfit, and what to do.
    Unfit(String),
    /// The function that raised, and what.
    Raised(&'static str, PyErr),
}

impl From<PyErr> for Refusal {
    fn from(raised: PyErr) -> Self {
        Self::Raised("fingerprint()", raised)
    }
}

impl Graph {
    /// The digest, in hexadecimal.
    pub(crate) fn fingerprint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let _nested = Nested::enter()?;
        let mut writer = Writer::new(py, VERSION)?;
        writer.put(&[u8::from(self.none_is_leaf)])?;
        for (index, node) in self.nodes.iter().enumerate() {
            writer.put(&[node.kind as u8])?;
            writer.put(&node.arity.to_le_bytes())?;
            if let Err(refusal) = self.write_slots(py, node, &mut writer) {
                return Err(self.refused(py, index, refusal));
            }
            writer.end_of_part()?;
        }
        writer.finish()
    }

    fn write_slots<'py>(&self, py: Python<'py>, node: &Node, writer: &mut Writer<'py>) -> Result<(), Refusal> {
        let slot = |number| match self.slot(py, node, number) {
            Some(slot) => slot.to_owned(),
            None => py.None().into_bound(py),
        };
        match node.kind {
            Kind::NamedTuple => {
                let cls = slot(0);
                write_named(&cls, "the class", "", writer)?;
                write_value(&cls.getattr(intern!(py, "_fields"))?, "the tuple of its fields", "", writer)
            }
            Kind::Custom | Kind::Dataclass | Kind::Static => {
                let Some(registration) = self.registration(py, node) else { return Ok(()) };
                write_class(&registration, writer)?;
                // What is handed to a function of the user is never what the structure itself holds.
                let context = if node.mutable_context { values::thaw(&slot(1))? } else { slot(1) };
                write_context(&registration, &context, writer)
            }
            _ => (0..node.kind.slots(node.arity as usize)).try_for_each(|number| {
                if node.kind == Kind::DefaultDict && number == 0 && !slot(0).is_none() {
                    return write_named(&slot(0), "its factory", "", writer);
                }
                write_value(&slot(number), "a key", "", writer)
            }),
        }
    }

    #[cold]
    fn refused(&self, py: Python<'_>, index: usize, refusal: Refusal) -> PyErr {
        let node = &self.nodes[index];
        let owner = || node_name(py, node, self.slots_of(node));
        match refusal {
            Refusal::Raised(function, raised) => {
                let path = || self.path_of_node(py, index);
                noted(py, raised, path, |path| format!("by {function} of {} {}", owner(), path.place()))
            }
            Refusal::Unfit(what) => {
                let (owner, path) = (owner(), self.path_of_node(py, index));
                let message = format!("the {owner} {} has no fingerprint: {what}", path.place());
                error(py, Family::Value, Some(&path), &message)
            }
        }
    }
}

/// Writes a plain value; `what` it is and the `way_out` are said where it is not plain.
fn write_value<'py>(
    value: &Bound<'py, PyAny>,
    what: &str,
    way_out: &str,
    writer: &mut Writer<'py>,
) -> Result<(), Refusal> {
    writer.value(value).map_err(|refusal| match refusal {
        NoBytes::Unfit(reason) => Refusal::Unfit(format!("{what} is more than plain values: {reason}{way_out}")),
        NoBytes::Raised(raised) => raised.into(),
    })?;
    Ok(writer.end_of_part()?)
}

/// A registered class: its name, its namespace, and the fields of a dataclass.
fn write_class<'py>(registration: &Bound<'py, Registration>, writer: &mut Writer<'py>) -> Result<(), Refusal> {
    let py = registration.py();
    let record = registration.get();
    match record.serialized_type_name(py) {
        Some(name) => {
            writer.put(b"S")?;
            writer.text(name.bind(py))?;
        }
        None => write_named(record.cls.bind(py), "the class", "give it a serialized_type_name, or ", writer)?,
    }
    writer.text(text_of(py, &record.namespace)?.as_any())?;
    if let Manner::Fields { data, meta, .. } = &record.manner {
        for fields in [data, meta] {
            write_value(names(py, fields)?.as_any(), "the tuple of its fields", "", writer)?;
        }
    }
    Ok(())
}

fn write_context<'py>(
    registration: &Bound<'py, Registration>,
    context: &Bound<'py, PyAny>,
    writer: &mut Writer<'py>,
) -> Result<(), Refusal> {
    let py = registration.py();
    match registration.get().to_dumpable_context(py) {
        None => {
            let way_out = "; register the class with a to_dumpable_context that makes plain values of it";
            write_value(context, "its context", way_out, writer)
        }
        Some(dump) => {
            let dumped = dump.bind(py).call1((context,));
            let dumped = dumped.map_err(|raised| Refusal::Raised("to_dumpable_context", raised))?;
            write_value(&dumped, "what to_dumpable_context returns", "", writer)
        }
    }
}

/// A class or function by module and qualified name, which must lead back to it.
fn write_named<'py>(
    object: &Bound<'py, PyAny>,
    what: &str,
    way_out: &str,
    writer: &mut Writer<'py>,
) -> Result<(), Refusal> {
    let py = object.py();
    let attribute = |name| {
        let found: PyResult<_> = object.getattr_opt(name);
        found.map(|found| found.filter(PyAnyMethods::is_exact_instance_of::<PyString>))
    };
    if let (Some(module), Some(name)) = (attribute(intern!(py, "__module__"))?, attribute(intern!(py, "__qualname__"))?)
    {
        if found_by_name(&module, &name)?.is_some_and(|found| found.is(object)) {
            writer.put(b"c")?;
            writer.text(&module)?;
            return Ok(writer.text(&name)?);
        }
        return Err(Refusal::Unfit(format!(
            "{what} is not what the module {} has under the name {}, so the name does not say which it is; {way_out}\
             define it at the top of a module",
            quote(&module),
            quote(&name)
        )));
    }
    Err(Refusal::Unfit(format!("{what} is {}, which has no name of its own", quote(object))))
}

fn found_by_name<'py>(module: &Bound<'py, PyAny>, qualname: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = module.py();
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    let mut found = match modules.get_item(module) {
        Err(raised) if raised.is_instance_of::<PyKeyError>(py) => return Ok(None),
        found => found?,
    };
    for part in qualname.str()?.to_string_lossy().split('.') {
        match found.getattr_opt(ffi::name_of(py, part)?)? {
            Some(next) => found = next,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}
