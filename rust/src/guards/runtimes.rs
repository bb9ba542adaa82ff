//! Which classes are those of tensors, and of what runtime.

use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

use super::facts::Reading;
use crate::arguments::check_function;
use crate::errors::{Family, error};
use crate::ffi::{self, AddressHash, GilCell, Raw, TypeAddress};
use crate::registry;

/// What a class is at a boundary.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sort {
    /// Its instances are values.
    Static,
    /// Its instances may be modules of this runtime, which the table keeps alive until it changes.
    Module(Raw),
    Tensor(TensorClass),
}

/// A class of tensors.
#[derive(Clone, Copy, Debug)]
pub(super) struct TensorClass {
    /// The runtime, which the table keeps alive until it changes.
    pub(super) runtime: Raw,
    /// Its graphs hold their inputs against their own guards.
    pub(super) own_guards: bool,
    pub(super) reading: Reading,
}

/// What classes turned out to be, as of one state of registrations and runtimes.
struct Table {
    generation: u64,
    classes: HashMap<TypeAddress, Sort, AddressHash>,
    /// The runtimes that the classes name, each once, and the names by which they describe tensors.
    runtimes: Vec<(Py<PyAny>, Option<Py<PyTuple>>)>,
}

/// The functions that say to which runtime a class of tensors belongs, and which one may know a class of modules.
struct Resolver {
    tensors: Py<PyAny>,
    modules: Option<Py<PyAny>>,
}

static RESOLVER: GilCell<Option<Resolver>> = GilCell::new(None);
static TABLE: GilCell<Option<Table>> = GilCell::new(None);
static CHANGES: AtomicU64 = AtomicU64::new(0);

/// How often a look at a class may change what is known of classes before it is refused.
const MOST_TRIES: u32 = 16;

/// The number of the state of registrations and runtimes: what was found out under another one is out of date.
#[inline]
pub(super) fn generation() -> u64 {
    registry::generation() + CHANGES.load(Ordering::Relaxed)
}

/// Sets the function that says to which runtime a class of tensors belongs.
///
/// Args:
///     resolver: called with a class; returns its runtime, an object with `name` and `own_guards`, or None where its
///         instances are no tensors. It is asked once for each class, and again after `forget_runtimes()`, a registration, or
///         the end of a class. Where the runtime has a tuple of str as `described_by`, its tensors are read by these
///         attributes.
///     modules: called with a class that is not one of tensors; returns the runtime whose `module_state(obj)` is to be asked
///         of its instances, or None.
#[pyfunction]
#[pyo3(signature = (resolver, modules=None))]
pub(crate) fn set_runtime_resolver(resolver: &Bound<'_, PyAny>, modules: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let py = resolver.py();
    check_function("resolver", resolver)?;
    modules.map_or(Ok(()), |modules| check_function("modules", modules))?;
    let made =
        Resolver { tensors: resolver.clone().unbind(), modules: modules.map(|modules| modules.clone().unbind()) };
    let replaced = RESOLVER.with(py, |held| held.replace(made));
    drop(replaced);
    forget_runtimes(py);
    Ok(())
}

/// Forgets to which runtime each class belongs: the resolver is asked again.
#[pyfunction]
pub(crate) fn forget_runtimes(py: Python<'_>) {
    CHANGES.fetch_add(1, Ordering::Relaxed);
    let forgotten = TABLE.with(py, Option::take);
    drop(forgotten);
}

/// The runtime whose tensor an object is, or None.
#[pyfunction]
pub(crate) fn runtime_of<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(match sort_of(obj.py(), ffi::raw(obj))? {
        Sort::Tensor(class) => Some(ffi::own(obj.py(), class.runtime)),
        Sort::Static | Sort::Module(_) => None,
    })
}

/// What the class of a live object is; may run Python code where it was never seen before.
#[inline]
pub(super) fn sort_of(py: Python<'_>, object: Raw) -> PyResult<Sort> {
    match known(py, ffi::type_address(object)) {
        Some(sort) => Ok(sort),
        None => resolve(&ffi::own(py, object).get_type()),
    }
}

#[inline]
fn known(py: Python<'_>, class: TypeAddress) -> Option<Sort> {
    let current = generation();
    TABLE.with(py, |table| {
        let table = table.as_ref().filter(|table| table.generation == current)?;
        table.classes.get(&class).copied()
    })
}

#[cold]
fn resolve(cls: &Bound<'_, PyType>) -> PyResult<Sort> {
    let py = cls.py();
    for _ in 0..MOST_TRIES {
        registry::watch(cls)?;
        let current = generation();
        let (tensors, modules) = RESOLVER.with(py, |held| match held {
            Some(held) => {
                (Some(held.tensors.clone_ref(py)), held.modules.as_ref().map(|modules| modules.clone_ref(py)))
            }
            None => (None, None),
        });
        let runtime = ask(tensors, cls)?;
        if runtime.is_none()
            && let Some(runtime) = ask(modules, cls)?
        {
            if generation() == current {
                return Ok(remember(cls, Some(runtime), None, current));
            }
            continue;
        }
        let found = match &runtime {
            Some(runtime) => {
                let own_guards = runtime.getattr(intern!(py, "own_guards"))?.is_truthy()?;
                Some((own_guards, Reading::of(cls)?, names_of(runtime)?))
            }
            None => None,
        };
        if generation() == current {
            return Ok(remember(cls, runtime, found, current));
        }
    }
    let name = cls.name()?;
    let message =
        format!("looking for the runtime of the class {name} registers runtimes or classes each time: it must not");
    Err(error(py, Family::Registration, None, &message))
}

fn ask<'py>(resolver: Option<Py<PyAny>>, cls: &Bound<'py, PyType>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(resolver) = resolver else { return Ok(None) };
    Ok(Some(ffi::call_one(resolver.bind(cls.py()), cls.as_any())?).filter(|found| !found.is_none()))
}

/// The names by which a runtime describes its tensors; interned, as the first is looked up for every tensor.
fn names_of<'py>(runtime: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let py = runtime.py();
    let Some(names) = runtime.getattr_opt(intern!(py, "described_by"))? else { return Ok(None) };
    let names = names.cast_into::<PyTuple>()?;
    if names.is_empty() {
        return Ok(None);
    }
    let interned = names.iter().map(|name| Ok(PyString::intern(py, &name.extract::<String>()?)));
    Ok(Some(PyTuple::new(py, interned.collect::<PyResult<Vec<_>>>()?)?))
}

fn remember(
    cls: &Bound<'_, PyType>,
    runtime: Option<Bound<'_, PyAny>>,
    found: Option<(bool, Reading, Option<Bound<'_, PyTuple>>)>,
    current: u64,
) -> Sort {
    let py = cls.py();
    let (sort, outdated) = TABLE.with(py, |held| {
        let outdated = if held.as_ref().is_some_and(|table| table.generation == current) { None } else { held.take() };
        let table = held.get_or_insert_with(|| Table {
            generation: current,
            classes: HashMap::default(),
            runtimes: Vec::new(),
        });
        let sort = match runtime {
            Some(runtime) => {
                let raw = ffi::raw(&runtime);
                let (class, names) = found.map_or((None, None), |(own_guards, reading, names)| {
                    (Some((own_guards, reading)), names.map(Bound::unbind))
                });
                if !table.runtimes.iter().any(|(known, _)| known.is(&runtime)) {
                    table.runtimes.push((runtime.clone().unbind(), None));
                }
                // The names that the table keeps, which may have been read for another class.
                let held = table.runtimes.iter_mut().find(|(known, _)| known.is(&runtime));
                let names = held.and_then(|(_, held)| match names {
                    Some(names) => Some(&*held.get_or_insert(names)),
                    None => held.as_ref(),
                });
                class.map_or(Sort::Module(raw), |(own_guards, reading)| {
                    let reading = names.map_or(reading, |names| Reading::Described(ffi::raw(names.bind(py))));
                    Sort::Tensor(TensorClass { runtime: raw, own_guards, reading })
                })
            }
            None => Sort::Static,
        };
        // Where there is no memory for it, the class is looked at again the next time.
        if table.classes.try_reserve(1).is_ok() {
            table.classes.insert(ffi::address_of(cls), sort);
        }
        (sort, outdated)
    });
    drop(outdated);
    sort
}
