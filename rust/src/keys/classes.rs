//! The five classes of keys.

#![expect(clippy::doc_link_with_quotes, reason = "docstrings for Python")]

use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyString, PyTuple};

use super::text::{is_identifier, text_of_key};
use crate::errors::text_of;
use crate::ffi::{self, Link};
use crate::limits::joined;
use crate::structure::Mixer;
use crate::values::{self, Unusable};

/// What a hash or comparison of a key's value failed with.
fn raised(unusable: Unusable) -> PyErr {
    match unusable {
        Unusable::Raised(error) => error,
        Unusable::Value { class, reason } => {
            PyTypeError::new_err(format!("this key holds {}, which {reason}", crate::errors::with_article(&class)))
        }
    }
}

/// The methods that all classes of keys have: a key is its class and one value.
macro_rules! key_class {
    ($class:ident, $field:ident, $tag:literal, $get:expr, $doc:literal, $field_doc:literal) => {
        #[doc = $doc]
        #[pyclass(frozen, module = "clika_pytree._native")]
        pub(crate) struct $class {
            pub(crate) $field: Link<PyAny>,
        }

        impl $class {
            pub(crate) fn new_key(value: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
                let py = value.py();
                Ok(Bound::new(py, Self { $field: value.unbind().into() })?.into_any())
            }
        }

        #[pymethods]
        impl $class {
            #[classattr]
            fn __match_args__() -> (&'static str,) {
                (stringify!($field),)
            }

            #[new]
            fn new($field: Py<PyAny>) -> Self {
                Self { $field: $field.into() }
            }

            #[doc = $field_doc]
            #[getter]
            fn $field(&self, py: Python<'_>) -> Py<PyAny> {
                self.$field.bound(py).unbind()
            }

            /// The child of a container that the key leads to.
            fn get<'py>(&self, parent: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                let get: fn(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> = $get;
                get(parent, &self.$field.bound(parent.py()))
            }

            fn __richcmp__<'py>(&self, other: &Bound<'py, PyAny>, operation: CompareOp) -> PyResult<Bound<'py, PyAny>> {
                let py = other.py();
                let Ok(other) = other.cast_exact::<Self>() else {
                    return Ok(py.NotImplemented().into_bound(py));
                };
                let same = || values::equal(&self.$field.bound(py), &other.get().$field.bound(py)).map_err(raised);
                let answer = match operation {
                    CompareOp::Eq => same()?,
                    CompareOp::Ne => !same()?,
                    _ => return Ok(py.NotImplemented().into_bound(py)),
                };
                Ok(answer.into_pyobject(py)?.to_owned().into_any())
            }

            fn __hash__(&self, py: Python<'_>) -> PyResult<u64> {
                let mut mixer = Mixer::new($tag);
                mixer.add(values::hash(&self.$field.bound(py)).map_err(raised)?);
                Ok(mixer.finish())
            }

            fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
                let value = self.$field.bound(py).repr()?;
                let opening = concat!(stringify!($class), "(", stringify!($field), "=");
                text_of(py, &joined(&[opening, &value.to_string_lossy(), ")"])?)
            }

            fn __str__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyString>> {
                text_of(slf.py(), &text_of_key(slf.as_any())?)
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
                let py = slf.py();
                ffi::pair(slf.get_type(), ffi::tuple_of_all(py, &[slf.get().$field.bound(py)])?)
            }

            fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
                visit.call(self.$field.get())
            }
        }
    };
}

key_class!(
    SequenceKey,
    idx,
    1,
    |parent, idx| parent.get_item(idx),
    "The place of a child in a list, tuple or deque: `[0]`.\n\n>>> import clika_pytree as crt\n>>> str(crt.SequenceKey(0)), crt.SequenceKey(1).get(['a', 'b'])\n('[0]', 'b')",
    "The index."
);
key_class!(
    MappingKey,
    key,
    2,
    |parent, key| parent.get_item(key),
    "The key of a child in a dict: `['a']`.\n\n>>> import clika_pytree as crt\n>>> str(crt.MappingKey('a')), crt.MappingKey(1) == crt.MappingKey(True)\n(\"['a']\", False)",
    "The key."
);
key_class!(
    GetAttrKey,
    name,
    3,
    |parent, name| parent.getattr(name.cast::<PyString>()?),
    "The attribute that holds a child, of a namedtuple or a registered class: `.x`.\n\n>>> import clika_pytree as crt\n>>> str(crt.GetAttrKey('x')), crt.GetAttrKey('real').get(2.5)\n('.x', 2.5)",
    "The name of the attribute."
);
key_class!(
    DataclassKey,
    name,
    4,
    |parent, name| parent.getattr(name.cast::<PyString>()?),
    "The field of a registered dataclass that holds a child: `.x`.\n\n>>> import clika_pytree as crt\n>>> str(crt.DataclassKey('x'))\n'.x'",
    "The name of the field."
);
key_class!(
    FlattenedIndexKey,
    key,
    5,
    |parent, key| Err(PyTypeError::new_err(format!(
        "child {} of {} has no name: follow the path with key_get, which asks the flatten function",
        key.str()?.to_string_lossy(),
        crate::errors::quote(parent)
    ))),
    "The number of a child that its flatten function gave no name: `[<flat index 0>]`.\n\n>>> import clika_pytree as crt\n>>> str(crt.FlattenedIndexKey(0))\n'[<flat index 0>]'",
    "The number of the child."
);

/// Whether it is a key of one of the five classes.
pub(crate) fn is_key(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<MappingKey>()
        || value.is_exact_instance_of::<SequenceKey>()
        || value.is_exact_instance_of::<GetAttrKey>()
        || value.is_exact_instance_of::<DataclassKey>()
        || value.is_exact_instance_of::<FlattenedIndexKey>()
}

/// The key of a child whose flatten function gave it this entry.
///
/// A key stays what it is; an identifier is an attribute, an int an index, anything else a mapping's key.
pub(crate) fn key_of_entry<'py>(entry: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if is_key(entry) {
        return Ok(entry.clone());
    }
    if entry.is_exact_instance_of::<PyInt>() {
        return SequenceKey::new_key(entry.clone());
    }
    if ffi::type_address(ffi::raw(entry)) == ffi::str_address() && is_identifier(entry) {
        return GetAttrKey::new_key(entry.clone());
    }
    MappingKey::new_key(entry.clone())
}
