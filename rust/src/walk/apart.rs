//! Taking an instance of a registered class apart, one level deep.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::errors::{Family, KeyPath, counted, error, no_memory, noted, quote};
use crate::ffi::{self, RefVec};
use crate::limits::{Grow, Interrupts, all_of, gathered, gathered_from};
use crate::registry::{Manner, Registration};
use crate::values;

/// An instance of a registered class, one level apart.
pub(super) struct Apart<'py> {
    pub(super) children: Vec<Bound<'py, PyAny>>,
    pub(super) context: Bound<'py, PyAny>,
    pub(super) mutable_context: bool,
    pub(super) entries: Option<Bound<'py, PyAny>>,
}

/// Why an instance did not come apart.
pub(super) enum Failure {
    /// The user's own code raised.
    Raised(PyErr),
    /// The flatten function gave something unfit.
    Unfit(Family, String),
}

impl From<PyErr> for Failure {
    fn from(raised: PyErr) -> Self {
        Self::Raised(raised)
    }
}

impl Failure {
    #[cold]
    pub(super) fn explain(
        self,
        py: Python<'_>,
        registration: &Bound<'_, Registration>,
        here: &dyn Fn() -> KeyPath,
    ) -> PyErr {
        let class = || registration.get().class_name(py);
        match self {
            Self::Raised(raised) => {
                let who = match registration.get().manner {
                    Manner::Functions { .. } => "the flatten function of",
                    _ => "reading the fields of",
                };
                noted(py, raised, here, |path| format!("by {who} {} {}", class(), path.place()))
            }
            Self::Unfit(family, what) => {
                let path = here();
                let message = format!("the flatten function of {}, called {}, {what}", class(), path.place());
                error(py, family, Some(&path), &message)
            }
        }
    }
}

/// Takes an instance of a registered class apart, by its functions or its fields.
pub(super) fn take_apart<'py>(
    registration: &Bound<'py, Registration>,
    object: &Bound<'py, PyAny>,
) -> Result<Apart<'py>, Failure> {
    let py = object.py();
    match &registration.get().manner {
        Manner::Functions { with_keys: Some(flatten), .. } => {
            apart_with_keys(&ffi::call_one(flatten.bind(py), object)?)
        }
        Manner::Functions { flatten, .. } => apart_by_function(&ffi::call_one(flatten.bind(py), object)?),
        Manner::Fields { data, meta, .. } => {
            let mut children = fields_of(registration.get(), object, data, meta)?;
            let (context, mutable_context) = context_of(py, children.split_off(data.len()))?;
            Ok(Apart { children, context, mutable_context, entries: None })
        }
        Manner::Static => {
            Ok(Apart { children: Vec::new(), context: object.clone(), mutable_context: false, entries: None })
        }
    }
}

/// The values of a dataclass's fields: the children, then the meta fields.
pub(super) fn fields_of<'py>(
    record: &Registration,
    object: &Bound<'py, PyAny>,
    data: &[Py<PyString>],
    meta: &[Py<PyString>],
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = object.py();
    let mut read = Vec::new();
    read.try_reserve_exact(data.len() + meta.len()).map_err(no_memory)?;
    if record.read_fields(py, ffi::raw(object), &mut read).is_some() {
        return gathered(read.into_iter().flatten().map(|field| ffi::own(py, field)));
    }
    let fields = all_of(data.iter().chain(meta).map(|name| object.getattr(name.bind(py))))?;
    record.find_fields(object)?;
    Ok(fields)
}

/// The values of a dataclass's meta fields as a tuple, and whether lists, dicts or sets in it were copied.
pub(super) fn context_of<'py>(
    py: Python<'py>,
    meta: impl IntoIterator<Item = Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    frozen(ffi::tuple_of(py, meta)?.into_any())
}

/// A context that nobody else can change, and whether it is a copy.
fn frozen(context: Bound<'_, PyAny>) -> PyResult<(Bound<'_, PyAny>, bool)> {
    Ok(match values::freeze(&context)? {
        Some(copy) => (copy, true),
        None => (context, false),
    })
}

fn unfit_result(result: &Bound<'_, PyAny>, wanted: &str) -> Failure {
    let found = match result.cast::<PyTuple>() {
        Ok(tuple) => format!("a tuple of {}", tuple.len()),
        Err(_) => quote(result),
    };
    Failure::Unfit(Family::Node, format!("returned {found}: it must return {wanted}"))
}

/// The items of what a flatten function gave as `what`: any iterable but a str.
fn collect<'py>(children: &Bound<'py, PyAny>, what: &str) -> Result<Vec<Bound<'py, PyAny>>, Failure> {
    if let Ok(tuple) = children.cast_exact::<PyTuple>() {
        return Ok(gathered(tuple)?);
    }
    if let Ok(list) = children.cast_exact::<PyList>() {
        return Ok(gathered(list)?);
    }
    if children.is_instance_of::<PyString>() || !is_iterable(children)? {
        let found = quote(children);
        return Err(Failure::Unfit(Family::Node, format!("gave {found} as {what}: it must give an iterable of them")));
    }
    Ok(gathered_from(children)?)
}

fn is_iterable(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let cls = object.get_type();
    let py = object.py();
    Ok(cls.hasattr(intern!(py, "__iter__"))? || cls.hasattr(intern!(py, "__getitem__"))?)
}

fn apart_by_function<'py>(result: &Bound<'py, PyAny>) -> Result<Apart<'py>, Failure> {
    const WANTED: &str = "(children, context) or (children, context, entries)";
    let Ok(result) = result.cast::<PyTuple>() else {
        return Err(unfit_result(result, WANTED));
    };
    let entries = match result.len() {
        2 => None,
        3 => Some(result.get_item(2)?).filter(|entries| !entries.is_none()),
        _ => return Err(unfit_result(result.as_any(), WANTED)),
    };
    let children = collect(&result.get_item(0)?, "children")?;
    let entries = entries.map(|entries| named(&entries, children.len())).transpose()?;
    with_frozen_context(children, result.get_item(1)?, entries)
}

/// The entries as a tuple, one for each child.
fn named<'py>(entries: &Bound<'py, PyAny>, children: usize) -> Result<Bound<'py, PyAny>, Failure> {
    let entries = match entries.cast_exact::<PyTuple>() {
        Ok(entries) => entries.clone(),
        Err(_) => ffi::tuple_of(entries.py(), collect(entries, "entries")?)?,
    };
    if entries.len() == children {
        return Ok(entries.into_any());
    }
    let what = format!(
        "gave {} for {}: it must name each child once, in order",
        counted(entries.len(), "entry", "entries"),
        counted(children, "child", "children")
    );
    Err(Failure::Unfit(Family::Structure, what))
}

/// `flatten_with_keys_fn` gives pairs of a key and a child.
fn apart_with_keys<'py>(result: &Bound<'py, PyAny>) -> Result<Apart<'py>, Failure> {
    const WANTED: &str = "(pairs of key and child, context)";
    let Some(result) = result.cast::<PyTuple>().ok().filter(|result| result.len() == 2) else {
        return Err(unfit_result(result, WANTED));
    };
    let (mut keys, mut children) = (RefVec::default(), Vec::new());
    let mut interrupts = Interrupts::new();
    for pair in collect(&result.get_item(0)?, "pairs")? {
        let Some(pair) = pair.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2) else {
            return Err(unfit_result(&pair, WANTED));
        };
        keys.push(pair.get_item(0)?)?;
        children.grow(pair.get_item(1)?)?;
        interrupts.after(result.py(), 1)?;
    }
    let entries = ffi::tuple_from(result.py(), &mut keys, 0)?.into_any();
    with_frozen_context(children, result.get_item(1)?, Some(entries))
}

fn with_frozen_context<'py>(
    children: Vec<Bound<'py, PyAny>>,
    context: Bound<'py, PyAny>,
    entries: Option<Bound<'py, PyAny>>,
) -> Result<Apart<'py>, Failure> {
    let (context, mutable_context) = frozen(context)?;
    Ok(Apart { children, context, mutable_context, entries })
}
