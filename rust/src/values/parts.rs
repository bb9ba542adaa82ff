//! What a value is made of, as far as comparing and hashing look into it.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyDict, PyEllipsis, PyFloat, PyFrozenSet, PyFunction, PyInt, PyList, PySet, PySlice,
    PyString, PyTuple, PyType,
};

use crate::errors::{left_out, printable};
use crate::ffi;
use crate::limits::{Grow, all_of, gathered, gathered_from};

/// Why a value can't be compared or hashed.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// It has no usable hash or equality: its class, and what is the matter.
    Value { class: String, reason: String },
    /// Its own code raised something else.
    Raised(PyErr),
}

impl From<PyErr> for Unusable {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl Unusable {
    /// Says no more than that there is no answer; raises what is none to be caught, as Ctrl-C.
    pub(crate) fn left_out(self, py: Python<'_>) -> PyResult<()> {
        match self {
            Self::Value { .. } => Ok(()),
            Self::Raised(raised) => left_out(py, raised),
        }
    }

    /// A verdict on this object.
    pub(crate) fn new(value: &Bound<'_, PyAny>, reason: &str) -> Self {
        Self::Value { class: class_name(value), reason: reason.to_owned() }
    }
}

/// The class of an object, with its module where that says more: `numpy.ndarray`, `list`.
pub(crate) fn class_name(value: &Bound<'_, PyAny>) -> String {
    let cls = value.get_type();
    cls.fully_qualified_name().map_or_else(|_| "object".to_owned(), |name| printable(&name.to_string_lossy()))
}

/// How a value is compared and hashed.
pub(crate) enum Parts<'py> {
    /// By these bits.
    Bits(u64, u64),
    /// By its own equality and hash, which are those of a built-in class.
    Plain,
    /// Item by item, in order.
    Sequence(Vec<Bound<'py, PyAny>>),
    /// Member by member, in any order.
    Unordered(Vec<Bound<'py, PyAny>>),
    /// By its own equality and hash, which may be anything.
    Opaque,
}

/// How objects of this library are hashed and compared: asked of a room above, which knows their classes, so that specs
/// in contexts of specs need no recursion.
pub(crate) struct OwnObjects {
    /// The hash of such an object, or what it is made of.
    pub(crate) hash: for<'py> fn(&Bound<'py, PyAny>) -> PyResult<Option<OwnHash<'py>>>,
    /// Keeps a hash that was found out.
    pub(crate) remember: fn(&Bound<'_, PyAny>, u64),
    /// What such an object is made of, as far as equality looks.
    pub(crate) parts: TakeApart,
}

type TakeApart = for<'py> fn(&Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>>;

/// The hash of an object of this library.
pub(crate) enum OwnHash<'py> {
    Known(u64),
    /// To be mixed of these values.
    Open {
        seed: u64,
        items: Vec<Bound<'py, PyAny>>,
    },
}

static OWN_OBJECTS: PyOnceLock<OwnObjects> = PyOnceLock::new();

pub(crate) fn set_own_objects(py: Python<'_>, own_objects: OwnObjects) {
    let _ = OWN_OBJECTS.set(py, own_objects);
}

pub(super) fn own_objects(py: Python<'_>) -> Option<&OwnObjects> {
    OWN_OBJECTS.get(py)
}

/// Takes a value apart one level deep.
pub(crate) fn parts<'py>(value: &Bound<'py, PyAny>) -> PyResult<Parts<'py>> {
    let py = value.py();
    if value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyBytes>()
        || value.is_exact_instance_of::<PyEllipsis>()
        || value.is_exact_instance_of::<PyType>()
        || value.is_exact_instance_of::<PyFunction>()
    {
        return Ok(Parts::Plain);
    }
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return Ok(Parts::Bits(number.value().to_bits(), 0));
    }
    if let Ok(number) = value.cast_exact::<PyComplex>() {
        return Ok(Parts::Bits(number.real().to_bits(), number.imag().to_bits()));
    }
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return Ok(Parts::Sequence(gathered(tuple)?));
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        return Ok(Parts::Sequence(gathered(list)?));
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        // A copy of the entries: user code may change the dict between two of them.
        let entries = ffi::dict_entries(dict.as_any())?;
        return Ok(Parts::Sequence(gathered(entries.into_iter().flat_map(|(key, value)| [key, value]))?));
    }
    if value.is_exact_instance_of::<PySet>() || value.is_exact_instance_of::<PyFrozenSet>() {
        return Ok(Parts::Unordered(gathered_from(value)?));
    }
    if value.is_exact_instance_of::<PySlice>() {
        let names = [intern!(py, "start"), intern!(py, "stop"), intern!(py, "step")];
        return Ok(Parts::Sequence(names.iter().map(|name| value.getattr(name)).collect::<PyResult<_>>()?));
    }
    if let Ok(tuple) = value.cast::<PyTuple>()
        && is_namedtuple_class(&value.get_type())?
    {
        return Ok(Parts::Sequence(gathered(tuple)?));
    }
    if let Some(own_objects) = own_objects(py)
        && let Some(items) = (own_objects.parts)(value)?
    {
        return Ok(Parts::Sequence(items));
    }
    if let Some(fields) = compared_fields(value)? {
        return Ok(Parts::Sequence(fields));
    }
    if is_numpy_scalar(value)? {
        let kind = value.getattr(intern!(py, "dtype"))?;
        let bytes = value.call_method0(intern!(py, "tobytes"))?;
        return Ok(Parts::Sequence(vec![kind, bytes]));
    }
    Ok(Parts::Opaque)
}

/// Whether a class is a tuple subclass with a tuple of str `_fields`.
pub(crate) fn is_namedtuple_class(cls: &Bound<'_, PyType>) -> PyResult<bool> {
    let py = cls.py();
    if !cls.is_subclass_of::<PyTuple>()? || cls.is(py.get_type::<PyTuple>()) {
        return Ok(false);
    }
    let Some(fields) = cls.getattr_opt(intern!(py, "_fields"))? else {
        return Ok(false);
    };
    let Ok(fields) = fields.cast_exact::<PyTuple>() else {
        return Ok(false);
    };
    Ok(fields.iter().all(|field| field.is_instance_of::<PyString>()))
}

/// The fields that a dataclass compares, of an instance whose class has the generated equality.
fn compared_fields<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let py = value.py();
    let cls = value.get_type();
    let Some(fields) = cls.getattr_opt(intern!(py, "__dataclass_fields__"))? else {
        return Ok(None);
    };
    let Some(params) = cls.getattr_opt(intern!(py, "__dataclass_params__"))? else {
        return Ok(None);
    };
    if !params.getattr(intern!(py, "eq"))?.is_truthy()? || !has_generated_equality(&cls)? {
        return Ok(None);
    }
    let Ok(fields) = fields.cast_exact::<PyDict>() else {
        return Ok(None);
    };
    let mut compared = Vec::new();
    for (name, field) in
        all_of(fields.items().iter().map(|item| item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()))?
    {
        // The dict also lists ClassVar and InitVar pseudo-fields, whose kind is another.
        let kind = field.getattr(intern!(py, "_field_type"))?.getattr(intern!(py, "name"))?;
        if kind.eq("_FIELD")? && field.getattr(intern!(py, "compare"))?.is_truthy()? {
            compared.grow(value.getattr(name.cast::<PyString>()?)?)?;
        }
    }
    Ok(Some(compared))
}

/// Whether the class's `__eq__` is the one that the dataclass decorator wrote, and not one of its author.
fn has_generated_equality(cls: &Bound<'_, PyType>) -> PyResult<bool> {
    let py = cls.py();
    let Ok(equality) = cls.getattr(intern!(py, "__eq__"))?.cast_into::<PyFunction>() else {
        return Ok(false);
    };
    // Its source is a text of no file.
    equality.getattr(intern!(py, "__code__"))?.getattr(intern!(py, "co_filename"))?.eq("<string>")
}

static NUMPY_GENERIC: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Whether it is a numpy scalar; numpy is asked only where it is loaded already.
fn is_numpy_scalar(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = value.py();
    if NUMPY_GENERIC.get(py).is_none() {
        let Some(generic) = ffi::loaded(intern!(py, "numpy"), intern!(py, "generic"))? else {
            return Ok(false);
        };
        let _ = NUMPY_GENERIC.set(py, generic.unbind());
    }
    match NUMPY_GENERIC.get(py) {
        Some(generic) => value.is_instance(generic.bind(py)),
        None => Ok(false),
    }
}
