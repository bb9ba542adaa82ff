//! Leaves that are no tensors: compared by value, or by identity and what they hold.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyDict, PyEllipsis, PyFloat, PyFrozenSet, PyFunction, PyInt, PyIterator, PyList,
    PyModule, PyRange, PySet, PySlice, PyString, PyTuple, PyType,
};

use super::held::{Change, Held, are_held, first_change, hash_of_held, hold};
use super::holders::attributes_of;
use super::parts::{Part, are_parts_of, change_of_parts, parts_of};
use crate::errors::left_out;
use crate::ffi::{self, Raw};
use crate::structure::Mixer;
use crate::values::{self, Parts, Unusable};

/// How a value is held against another one.
enum Manner {
    /// It never changes and runs no code of the user's: itself, or one of the same bits.
    Atom,
    /// It alone.
    Identity,
    /// By its own equality; the hash tells whether it has changed since.
    Value,
    /// By the fields that its dataclass compares, as they were.
    Fields(Py<PyAny>),
    /// It alone, as long as it holds what it held.
    Attributes(Vec<Held>),
    /// A module: it alone, as long as it has the parts that it had, and these hold what they held beside tensors.
    Module(Vec<Part>),
    /// A function and the object it is bound to, by the manner of the object.
    Method { function: Py<PyAny>, owner: Box<Static> },
}

/// A value that was a leaf of a call, with what it takes to see whether another one is the same.
pub(super) struct Static {
    pub(super) object: Py<PyAny>,
    manner: Manner,
    pub(super) hash: u64,
}

impl Static {
    /// Takes a value as a guard; runs its hash and equality.
    pub(super) fn of(value: &Bound<'_, PyAny>) -> Result<Self, Unusable> {
        let object = value.clone().unbind();
        if is_atom(value) {
            let hash = match values::quick_hash(value.py(), ffi::raw(value)) {
                Some(hash) => hash,
                None => values::hash(value)?,
            };
            return Ok(Self { object, manner: Manner::Atom, hash });
        }
        if is_known_by_identity(value)? {
            return Ok(Self { object, manner: Manner::Identity, hash: value.as_ptr() as u64 });
        }
        if let Some((function, owner)) = method_parts(value)? {
            let owner = Box::new(Self::of(&owner)?);
            let mut mixer = Mixer::new(function.as_ptr() as u64);
            mixer.add(owner.hash);
            let manner = Manner::Method { function: function.unbind(), owner };
            return Ok(Self { object, manner, hash: mixer.finish() });
        }
        if value.cast::<PyIterator>().is_ok() {
            return Err(Unusable::new(value, "gives another item each time it is asked for one"));
        }
        if !has_own_equality(value)? {
            let held = hold(value)?;
            let hash = hash_of_held(value, &held);
            return Ok(Self { object, manner: Manner::Attributes(held), hash });
        }
        if value.is_exact_instance_of::<PySet>() {
            return Err(Unusable::new(value, "can change, and has no hash"));
        }
        if let Some(fields) = compared_fields(value)? {
            let fields = values::freeze(&fields)?.unwrap_or(fields);
            let hash = hash_of_fields(value, &fields)?;
            return Ok(Self { object, manner: Manner::Fields(fields.unbind()), hash });
        }
        let hash = values::hash(value)?;
        Ok(Self { object, manner: Manner::Value, hash })
    }

    /// Takes a module as a guard; its tensors are not part of it.
    pub(super) fn of_module(module: &Bound<'_, PyAny>) -> Result<Self, Unusable> {
        let (parts, hash) = parts_of(module)?;
        Ok(Self { object: module.clone().unbind(), manner: Manner::Module(parts), hash })
    }

    /// Whether a value is the same, where that can be seen without running Python code.
    #[inline]
    pub(super) fn at_sight(&self, found: Raw) -> Option<bool> {
        let is_same = self.object.as_ptr() == found.as_ptr();
        match self.manner {
            Manner::Identity => Some(is_same),
            Manner::Atom if is_same => Some(true),
            _ => None,
        }
    }

    /// Whether a value is the same; runs code of the user's where it has a hash or an equality of its own.
    pub(super) fn holds(&self, found: &Bound<'_, PyAny>) -> Result<bool, Unusable> {
        let py = found.py();
        if !self.object.bind(py).get_type().is(found.get_type()) {
            return Ok(false);
        }
        let object = self.object.bind(py);
        match &self.manner {
            Manner::Atom => same_atoms(object, found),
            Manner::Identity => Ok(object.is(found)),
            Manner::Value => Ok(values::hash(found)? == self.hash && values::equal(object, found)?),
            Manner::Fields(fields) => {
                let Some(current) = compared_fields(found)? else { return Ok(false) };
                Ok(hash_of_fields(found, &current)? == self.hash && values::equal(fields.bind(py), &current)?)
            }
            Manner::Attributes(held) => Ok(object.is(found) && are_held(held, &attributes_of(found)?)?),
            Manner::Module(parts) => Ok(object.is(found) && are_parts_of(parts, found)?),
            Manner::Method { function, owner } => match method_parts(found)? {
                Some((current, current_owner)) if function.is(&current) => owner.holds(&current_owner),
                _ => Ok(false),
            },
        }
    }

    /// A second guard of the same value.
    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        let manner = match &self.manner {
            Manner::Atom => Manner::Atom,
            Manner::Identity => Manner::Identity,
            Manner::Value => Manner::Value,
            Manner::Fields(fields) => Manner::Fields(fields.clone_ref(py)),
            Manner::Attributes(held) => Manner::Attributes(held.iter().map(|held| held.clone_ref(py)).collect()),
            Manner::Module(parts) => Manner::Module(parts.iter().map(|part| part.clone_ref(py)).collect()),
            Manner::Method { function, owner } => {
                Manner::Method { function: function.clone_ref(py), owner: Box::new(owner.clone_ref(py)) }
            }
        };
        Self { object: self.object.clone_ref(py), manner, hash: self.hash }
    }

    /// The first attribute that is not what it was, where an object was told by what it holds: its path from the object on,
    /// and the old and the new value.
    pub(super) fn changed_attribute<'py>(&self, found: &Bound<'py, PyAny>) -> PyResult<Option<Change<'py>>> {
        match &self.manner {
            Manner::Attributes(held) => match attributes_of(found) {
                Ok(current) => first_change(held, found.py(), current),
                Err(raised) => left_out(found.py(), raised).map(|()| None),
            },
            Manner::Module(parts) if self.object.is(found) => change_of_parts(parts, found),
            _ => Ok(None),
        }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)?;
        match &self.manner {
            Manner::Atom | Manner::Identity | Manner::Value => Ok(()),
            Manner::Fields(fields) => visit.call(fields),
            Manner::Attributes(held) => held.iter().try_for_each(|held| held.traverse(visit)),
            Manner::Module(parts) => parts.iter().try_for_each(|part| part.traverse(visit)),
            Manner::Method { function, owner } => {
                visit.call(function)?;
                owner.traverse(visit)
            }
        }
    }
}

/// Whether two atoms of one class have the same bits.
fn same_atoms(ours: &Bound<'_, PyAny>, theirs: &Bound<'_, PyAny>) -> Result<bool, Unusable> {
    if ffi::type_address(ffi::raw(ours)) == ffi::str_address() {
        return Ok(ffi::str_equal(ffi::raw(ours), ffi::raw(theirs)));
    }
    if ours.is_exact_instance_of::<PyInt>() {
        return Ok(ours.eq(theirs)?);
    }
    values::equal(ours, theirs)
}

/// Whether a value never changes and is compared by bits, without code of the user's.
pub(super) fn is_atom(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_none()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBytes>()
        || value.is_exact_instance_of::<PyComplex>()
        || value.is_exact_instance_of::<PyEllipsis>()
        || value.is_exact_instance_of::<PyRange>()
}

pub(super) fn is_container(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyList>()
        || value.is_exact_instance_of::<PyTuple>()
        || value.is_exact_instance_of::<PyDict>()
        || value.is_exact_instance_of::<PySet>()
        || value.is_exact_instance_of::<PyFrozenSet>()
        || value.is_exact_instance_of::<PySlice>()
}

/// Whether an object is a function, a class, a module or a member of an enumeration: what it holds is not looked at.
pub(super) fn is_known_by_identity(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = value.py();
    if value.is_exact_instance_of::<PyFunction>()
        || value.is_instance_of::<PyType>()
        || value.is_instance_of::<PyModule>()
    {
        return Ok(true);
    }
    let Some(enum_class) = ffi::loaded(intern!(py, "enum"), intern!(py, "Enum"))? else { return Ok(false) };
    // Members that are ints or strs too are by identity as well: two of them are never one.
    let enum_class = enum_class.cast_into::<PyType>()?;
    Ok(value.get_type().mro().iter().any(|base| base.is(&enum_class)))
}

/// The function and the object of a bound method.
pub(super) fn method_parts<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let py = value.py();
    if !ffi::is_method(value)? {
        return Ok(None);
    }
    Ok(Some((value.getattr(intern!(py, "__func__"))?, value.getattr(intern!(py, "__self__"))?)))
}

static OBJECT_EQUALITY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Whether the class of an object has an `==` of its own.
pub(super) fn has_own_equality(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = value.py();
    let name = intern!(py, "__eq__");
    let inherited =
        OBJECT_EQUALITY.get_or_try_init(py, || py.get_type::<PyAny>().getattr(name).map(Bound::unbind))?.bind(py);
    Ok(!value.get_type().getattr(name)?.is(inherited))
}

/// The compared fields of a dataclass with the generated equality, as a tuple.
fn compared_fields<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    if !value.get_type().hasattr(intern!(py, "__dataclass_fields__"))? {
        return Ok(None);
    }
    match values::parts(value)? {
        Parts::Sequence(fields) => Ok(Some(ffi::tuple_of(py, fields)?.into_any())),
        _ => Ok(None),
    }
}

fn hash_of_fields(value: &Bound<'_, PyAny>, fields: &Bound<'_, PyAny>) -> Result<u64, Unusable> {
    let mut mixer = Mixer::new(ffi::address_of(&value.get_type()) as u64);
    mixer.add(values::hash(fields)?);
    Ok(mixer.finish())
}
