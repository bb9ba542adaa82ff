//! Classes that another library registers and that are nodes here, too.
//!
//! A class that is not registered here is looked for in the tables of the libraries that were adopted. A table is a dict
//! that the library adds to as it likes: how many entries it has is looked at in every call, and a change makes all that
//! is remembered of classes out of date.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use super::registration::Registration;
use super::table::{forget_classes, generation};
use crate::errors::{Family, error, text_of};
use crate::ffi::{self, GilCell};
use crate::limits::Grow;

/// Whether there is anything to ask: what a program that adopts nothing pays for it.
static ADOPTING: AtomicBool = AtomicBool::new(false);
static ADOPTED: GilCell<Option<Adopted>> = GilCell::new(None);

struct Adopted {
    /// Called with a class and one namespace; gives its registration or None.
    resolver: Py<PyAny>,
    tables: Vec<Py<PyDict>>,
    /// How many entries the tables had when they were last looked at.
    entries: usize,
    /// The registrations that were given, as of one state: what remembers a class has the address alone.
    given: Vec<Py<Registration>>,
    generation: u64,
}

impl Adopted {
    fn count(&self, py: Python<'_>) -> usize {
        self.tables.iter().map(|table| table.bind(py).len()).sum()
    }
}

/// Sets what is asked for classes that are not registered here, and the tables it looks at; None asks nobody.
///
/// `resolver` is called with a class and a namespace, and returns the class's registration in that namespace, or None. It
/// is asked once for each class, and again where a table has got or lost entries, after a registration, or the end of a
/// class.
#[pyfunction]
pub(crate) fn set_adopted(resolver: &Bound<'_, PyAny>, tables: &Bound<'_, PyTuple>) -> PyResult<()> {
    let py = resolver.py();
    let mut dicts = Vec::new();
    for table in tables {
        dicts.grow(table.cast_into::<PyDict>()?.unbind())?;
    }
    let adopting = !resolver.is_none();
    let mut adopted =
        Adopted { resolver: resolver.clone().unbind(), tables: dicts, entries: 0, given: Vec::new(), generation: 0 };
    adopted.entries = adopted.count(py);
    let replaced = ADOPTED.with(py, |held| if adopting { held.replace(adopted) } else { held.take() });
    ADOPTING.store(adopting, Ordering::Relaxed);
    forget_classes();
    drop(replaced);
    Ok(())
}

/// Sees whether an adopted library has registered classes since the last call.
#[inline]
pub(crate) fn notice_adopted(py: Python<'_>) {
    if ADOPTING.load(Ordering::Relaxed) {
        look_at_tables(py);
    }
}

#[cold]
fn look_at_tables(py: Python<'_>) {
    let outdated = ADOPTED.with(py, |held| {
        let adopted = held.as_mut()?;
        let entries = adopted.count(py);
        if entries == adopted.entries {
            return None;
        }
        adopted.entries = entries;
        forget_classes();
        Some(std::mem::take(&mut adopted.given))
    });
    drop(outdated);
}

/// The registration that an adopted library has for a class in just this namespace; may run Python code.
pub(super) fn adopted(cls: &Bound<'_, PyType>, namespace: &str) -> PyResult<Option<Py<Registration>>> {
    if !ADOPTING.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let py = cls.py();
    let Some(resolver) = ADOPTED.with(py, |held| held.as_ref().map(|adopted| adopted.resolver.clone_ref(py))) else {
        return Ok(None);
    };
    let found = resolver.bind(py).call1(ffi::pair(cls.clone(), text_of(py, namespace)?)?)?;
    if found.is_none() {
        return Ok(None);
    }
    let found = found.cast_into::<Registration>()?;
    if !found.get().cls.is(cls) || found.get().namespace != namespace {
        let message = format!("the registration adopted for {} is that of another class or namespace", cls.name()?);
        return Err(error(py, Family::Registration, None, &message));
    }
    keep(py, found.clone().unbind())?;
    Ok(Some(found.unbind()))
}

/// Holds a registration for as long as its address may be remembered.
fn keep(py: Python<'_>, registration: Py<Registration>) -> PyResult<()> {
    let current = generation();
    let mut registration = Some(registration);
    let (outdated, kept) = ADOPTED.with(py, |held| {
        let Some(adopted) = held.as_mut() else { return (None, Ok(())) };
        let mut outdated = None;
        if adopted.generation != current {
            adopted.generation = current;
            outdated = Some(std::mem::take(&mut adopted.given));
        }
        (outdated, registration.take().map_or(Ok(()), |registration| adopted.given.grow(registration)))
    });
    drop(outdated);
    drop(registration);
    kept
}
