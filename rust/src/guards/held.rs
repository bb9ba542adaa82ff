//! Attributes of objects as they were when a guard was made.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PySet, PyString};

use super::holders::{Attributes, attributes_of};
use super::statics::{has_own_equality, is_atom, is_container, is_known_by_identity};
use crate::errors::left_out;
use crate::ffi;
use crate::limits::{Grow, gathered_from};
use crate::registry::builtins;
use crate::structure::Mixer;
use crate::values::{self, Unusable};

/// An attribute as it was.
pub(super) enum Held {
    /// A slot that nothing was put in.
    Unset(Py<PyString>),
    Value {
        name: Py<PyString>,
        frozen: Py<PyAny>,
        hash: u64,
    },
    Identity {
        name: Py<PyString>,
        object: Py<PyAny>,
    },
    /// A container that can change and is no plain list, dict or set: it alone, as long as it has the items that it had.
    Contents {
        name: Py<PyString>,
        object: Py<PyAny>,
        items: Py<PyAny>,
        hash: u64,
    },
}

impl Held {
    /// By value where it has a usable one, else by identity.
    pub(super) fn of(name: Bound<'_, PyString>, value: Option<Bound<'_, PyAny>>) -> Result<Self, Unusable> {
        let Some(value) = value else { return Ok(Self::Unset(name.unbind())) };
        if is_atom(&value) || is_container(&value) || !is_known_by_identity(&value)? && has_own_equality(&value)? {
            let frozen = values::freeze(&value)?.unwrap_or_else(|| value.clone());
            match values::hash(&frozen) {
                Ok(hash) => return Ok(Self::Value { name: name.unbind(), frozen: frozen.unbind(), hash }),
                Err(Unusable::Value { .. }) => {}
                Err(raised) => return Err(raised),
            }
        }
        if let Some(items) = contents_of(&value)? {
            match values::hash(&items) {
                Ok(hash) => {
                    let (name, object) = (name.unbind(), value.unbind());
                    return Ok(Self::Contents { name, object, items: items.unbind(), hash });
                }
                Err(Unusable::Value { .. }) => {}
                Err(raised) => return Err(raised),
            }
        }
        Ok(Self::Identity { name: name.unbind(), object: value.unbind() })
    }

    pub(super) fn by_identity(name: Bound<'_, PyString>, value: Option<Bound<'_, PyAny>>) -> Self {
        match value {
            Some(value) => Self::Identity { name: name.unbind(), object: value.unbind() },
            None => Self::Unset(name.unbind()),
        }
    }

    fn name<'a, 'py>(&'a self, py: Python<'py>) -> &'a Bound<'py, PyString> {
        match self {
            Self::Unset(name)
            | Self::Value { name, .. }
            | Self::Identity { name, .. }
            | Self::Contents { name, .. } => name.bind(py),
        }
    }

    fn is_named(&self, name: &Bound<'_, PyString>) -> bool {
        ffi::are_equal_texts(ffi::raw(self.name(name.py())), ffi::raw(name))
    }

    fn holds(&self, name: &Bound<'_, PyString>, value: Option<&Bound<'_, PyAny>>) -> Result<bool, Unusable> {
        let py = name.py();
        if !self.is_named(name) {
            return Ok(false);
        }
        match (self, value) {
            (Self::Unset(_), None) => Ok(true),
            (Self::Value { frozen, .. }, Some(value)) if frozen.is(value) && is_atom(value) => Ok(true),
            (Self::Value { frozen, hash, .. }, Some(value)) => {
                let frozen = frozen.bind(py);
                Ok(frozen.get_type().is(value.get_type())
                    && values::hash(value)? == *hash
                    && values::equal(frozen, value)?)
            }
            (Self::Identity { object, .. }, Some(value)) => Ok(object.is(value)),
            (Self::Contents { object, items, hash, .. }, Some(value)) => {
                let Some(current) = contents_of(value)?.filter(|_| object.is(value)) else { return Ok(false) };
                Ok(values::hash(&current)? == *hash && values::equal(items.bind(py), &current)?)
            }
            _ => Ok(false),
        }
    }

    /// Whether a value is the same as far as can be told without an equality of the user's.
    fn looks_the_same(&self, py: Python<'_>, value: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let has_hash = |value: &Bound<'_, PyAny>, hash: u64| match values::hash(value) {
            Ok(now) => Ok(now == hash),
            Err(unusable) => unusable.left_out(py).map(|()| false),
        };
        match (self, value) {
            (Self::Unset(_), None) => Ok(true),
            (Self::Value { frozen, hash, .. }, Some(value)) => {
                let frozen = frozen.bind(py);
                Ok(frozen.get_type().is(value.get_type()) && has_hash(value, *hash)?)
            }
            (Self::Identity { object, .. }, Some(value)) => Ok(object.is(value)),
            (Self::Contents { object, hash, .. }, Some(value)) => {
                let current = match contents_of(value) {
                    Ok(current) => current,
                    Err(raised) => left_out(py, raised).map(|()| None)?,
                };
                Ok(object.is(value) && current.map_or(Ok(false), |items| has_hash(&items, *hash))?)
            }
            _ => Ok(false),
        }
    }

    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Unset(name) => Self::Unset(name.clone_ref(py)),
            Self::Value { name, frozen, hash } => {
                Self::Value { name: name.clone_ref(py), frozen: frozen.clone_ref(py), hash: *hash }
            }
            Self::Identity { name, object } => {
                Self::Identity { name: name.clone_ref(py), object: object.clone_ref(py) }
            }
            Self::Contents { name, object, items, hash } => {
                let (name, object) = (name.clone_ref(py), object.clone_ref(py));
                Self::Contents { name, object, items: items.clone_ref(py), hash: *hash }
            }
        }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Self::Unset(name) => visit.call(name),
            Self::Value { name, frozen: object, .. } | Self::Identity { name, object } => {
                visit.call(name)?;
                visit.call(object)
            }
            Self::Contents { name, object, items, .. } => {
                visit.call(name)?;
                visit.call(object)?;
                visit.call(items)
            }
        }
    }
}

/// What is in a container that can change, as a tuple of its own; of a plain list, dict or set nothing, which is compared
/// by value.
fn contents_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    if is_container(value) {
        return Ok(None);
    }
    let mut items = Vec::new();
    if value.is_instance(builtins(py)?.ordered_dict.bind(py))? {
        // Its order is not that of the table.
        items = gathered_from(&value.call_method0(intern!(py, "items"))?)?;
    } else if value.is_instance_of::<PyDict>() {
        for (key, value) in ffi::dict_entries(value)? {
            items.grow(ffi::tuple_of(py, [key, value])?.into_any())?;
        }
    } else if let Ok(list) = value.cast::<PyList>() {
        items.grow_by(list.iter())?;
    } else if let Ok(array) = value.cast::<PyByteArray>() {
        items.grow(PyBytes::new(py, &array.to_vec()).into_any())?;
    } else if value.is_instance_of::<PySet>() || value.is_instance(builtins(py)?.deque.bind(py))? {
        items = gathered_from(value)?;
    } else {
        return Ok(None);
    }
    let items = ffi::tuple_of(py, items)?.into_any();
    Ok(Some(values::freeze(&items)?.unwrap_or(items)))
}

/// The attributes of an object as they are.
pub(super) fn hold(value: &Bound<'_, PyAny>) -> Result<Vec<Held>, Unusable> {
    let mut held = Vec::new();
    for (name, value) in attributes_of(value)? {
        held.grow(Held::of(name, value)?)?;
    }
    Ok(held)
}

pub(super) fn hash_of_held(value: &Bound<'_, PyAny>, held: &[Held]) -> u64 {
    let mut mixer = Mixer::new(value.as_ptr() as u64);
    for held in held {
        mixer.add(match held {
            Held::Unset(_) => 0,
            Held::Value { hash, .. } | Held::Contents { hash, .. } => *hash,
            Held::Identity { object, .. } => object.as_ptr() as u64,
        });
    }
    mixer.finish()
}

/// The path of an attribute with its old and its new value, where it has them.
pub(super) type Change<'py> = (String, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>);

/// Whether attributes are what they were.
pub(super) fn are_held(held: &[Held], current: &Attributes<'_>) -> Result<bool, Unusable> {
    if current.len() != held.len() {
        return Ok(false);
    }
    for (held, (name, value)) in held.iter().zip(current) {
        if !held.holds(name, value.as_ref())? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The first attribute that is not what it was.
pub(super) fn first_change<'py>(
    held: &[Held],
    py: Python<'py>,
    current: Attributes<'py>,
) -> PyResult<Option<Change<'py>>> {
    let path = |name: &Bound<'_, PyString>| format!(".{}", name.to_string_lossy());
    let old = |held: &Held| match held {
        Held::Unset(_) => None,
        Held::Value { frozen, .. } => Some(frozen.bind(py).clone()),
        Held::Identity { object, .. } => Some(object.bind(py).clone()),
        Held::Contents { items, .. } => Some(items.bind(py).clone()),
    };
    for known in held {
        let now = current.iter().find(|(name, _)| known.is_named(name));
        let value = now.and_then(|(_, value)| value.clone());
        if now.is_none() || !known.looks_the_same(py, value.as_ref())? {
            return Ok(Some((path(known.name(py)), old(known), value)));
        }
    }
    let is_new = |name: &Bound<'_, PyString>| !held.iter().any(|known| known.is_named(name));
    Ok(current.into_iter().find(|(name, _)| is_new(name)).map(|(name, value)| (path(&name), None, value)))
}
