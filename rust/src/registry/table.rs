//! The table of registrations, and the look-up of a class.

use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::{HashMap, TryReserveError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple, PyType, PyWeakrefReference};

use super::Class;
use super::adoption::{adopted, notice_adopted};
use super::class::builtin_kind;
use super::registration::Registration;
use super::scope::{AddressMap, Scope};
use crate::errors::{Family, error, no_memory, show};
use crate::ffi::{self, GilCell, TypeAddress};
use crate::structure::Kind;
use crate::values::is_namedtuple_class;

/// All registrations, by the class's address; a class has one for each namespace that knows it.
static REGISTRATIONS: GilCell<Option<AddressMap<Vec<Py<Registration>>>>> = GilCell::new(None);

/// Changes with every registration: what was remembered under an older number is out of date.
static GENERATION: AtomicU64 = AtomicU64::new(1);

/// The scopes of all search orders in use, and the weak references to the classes they remember.
static SCOPES: GilCell<Option<HashMap<Vec<String>, &'static Scope, hashbrown::DefaultHashBuilder>>> =
    GilCell::new(None);
static WATCHED: GilCell<Option<AddressMap<Py<PyAny>>>> = GilCell::new(None);

/// The number of the state of the registrations: another one where a class was registered or unregistered, or a class
/// that is remembered has died.
#[inline]
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// Makes all that is remembered of classes out of date. Scopes drop it when they next see that the number has changed.
pub(super) fn forget_classes() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// How often a look at a class may change the registrations before it is refused.
const MOST_TRIES: u32 = 16;

static GLOBAL: PyOnceLock<&'static Scope> = PyOnceLock::new();

/// The scope of a `namespace=` argument: a name, or a tuple of names; nothing means the global one.
pub(crate) fn scope_of(py: Python<'_>, namespace: Option<&Bound<'_, PyAny>>) -> PyResult<&'static Scope> {
    notice_adopted(py);
    let Some(namespace) = namespace else {
        return global_scope(py);
    };
    if let Ok(name) = namespace.cast::<PyString>() {
        let name = name.to_str().map_err(|_| namespace_error(py, namespace))?;
        return if name.is_empty() { global_scope(py) } else { Ok(named_scope(py, vec![name.to_owned()])) };
    }
    let Ok(names) = namespace.cast::<PyTuple>() else {
        return Err(namespace_error(py, namespace));
    };
    let mut searched: Vec<String> = Vec::with_capacity(names.len());
    for name in names.iter() {
        let text = name.cast::<PyString>().map_err(|_| namespace_error(py, &name))?;
        let name = text.to_str().map_err(|_| namespace_error(py, &name))?.to_owned();
        if !searched.contains(&name) {
            searched.push(name);
        }
    }
    // The global registrations come last, wherever they are not named.
    if searched.last().is_some_and(String::is_empty) {
        searched.pop();
    }
    if searched.is_empty() { global_scope(py) } else { Ok(named_scope(py, searched)) }
}

#[cold]
fn namespace_error(py: Python<'_>, namespace: &Bound<'_, PyAny>) -> PyErr {
    let found = match show(namespace) {
        Ok(found) => found,
        Err(raised) => return raised,
    };
    let surrogates = if found.contains("\\ud") { ", without lone surrogates" } else { "" };
    let message = format!("namespace must be a str or a tuple of str{surrogates}, got {found}");
    error(py, Family::Type, None, &message)
}

#[inline]
fn global_scope(py: Python<'_>) -> PyResult<&'static Scope> {
    GLOBAL.get_or_try_init(py, || Ok(named_scope(py, Vec::new()))).copied()
}

fn named_scope(py: Python<'_>, namespaces: Vec<String>) -> &'static Scope {
    SCOPES.with(py, |scopes| {
        let scopes = scopes.get_or_insert_default();
        if let Some(scope) = scopes.get(&namespaces) {
            return *scope;
        }
        // A program names a handful of namespaces, and walks in progress refer to their scope.
        let scope: &'static Scope = Box::leak(Box::new(Scope::new(namespaces.clone())));
        scopes.insert(namespaces, scope);
        scope
    })
}

impl Scope {
    /// What a class is, where that is remembered; runs no Python code.
    #[inline]
    pub(crate) fn known(&self, py: Python<'_>, class: TypeAddress) -> Option<Class> {
        self.recall(py, class, GENERATION.load(Ordering::Relaxed))
    }

    /// What a class is; may run Python code (a metaclass's attribute look-up).
    #[cold]
    pub(crate) fn resolve(&self, cls: &Bound<'_, PyType>) -> PyResult<Class> {
        let py = cls.py();
        let address = ffi::address_of(cls);
        for _ in 0..MOST_TRIES {
            let generation = GENERATION.load(Ordering::Relaxed);
            let class = self.look_up(cls)?;
            watch(cls)?;
            if GENERATION.load(Ordering::Relaxed) == generation {
                self.remember(py, address, class, generation);
                return Ok(class);
            }
        }
        let name = cls.name()?;
        let message = format!("looking at the class {name} registers or unregisters classes each time: it must not");
        Err(error(py, Family::Registration, None, &message))
    }

    fn look_up(&self, cls: &Bound<'_, PyType>) -> PyResult<Class> {
        let py = cls.py();
        if let Some(registration) = self.registered(cls)? {
            let registration = registration.bind(py);
            // The tables own it: the address is good for as long as the generation.
            return Ok(Class::Registered(registration.get().node_kind(), ffi::raw(registration)));
        }
        Ok(match builtin_kind(py, ffi::address_of(cls))? {
            Some(kind) => Class::Builtin(kind),
            None if is_namedtuple_class(cls)? => Class::Builtin(Kind::NamedTuple),
            None => Class::Leaf,
        })
    }

    /// The registration that the first of the namespaces has, its own or an adopted one.
    fn registered(&self, cls: &Bound<'_, PyType>) -> PyResult<Option<Py<Registration>>> {
        for name in self.namespaces.iter().map(String::as_str).chain([""]) {
            let found = registration_in(cls, name)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// The registration of a class in just this namespace: its own, else the one of an adopted library.
fn registration_in(cls: &Bound<'_, PyType>, namespace: &str) -> PyResult<Option<Py<Registration>>> {
    let py = cls.py();
    let address = ffi::address_of(cls);
    let own = REGISTRATIONS.with(py, |table| {
        let of_class = table.as_ref()?.get(&address)?;
        of_class.iter().find(|registration| registration.get().namespace == namespace).map(|found| found.clone_ref(py))
    });
    match own {
        Some(own) => Ok(Some(own)),
        None if builtin_kind(py, address)?.is_some() => Ok(None),
        None => adopted(cls, namespace),
    }
}

/// Has the class forgotten everywhere when it dies: a new class may get its address.
pub(crate) fn watch(cls: &Bound<'_, PyType>) -> PyResult<()> {
    let py = cls.py();
    let address = ffi::address_of(cls);
    let watched = || WATCHED.with(py, |watched| watched.get_or_insert_default().contains_key(&address));
    if !ffi::is_heap_type(cls) || watched() {
        return Ok(());
    }
    let weakref = PyWeakrefReference::new_with(cls, ClassWatch { address })?;
    // User code may have run meanwhile and have put its own there: dropped only once the table is let go.
    let replaced = WATCHED.with(py, |watched| {
        let watched = watched.get_or_insert_default();
        watched.try_reserve(1)?;
        Ok::<_, TryReserveError>(watched.insert(address, weakref.clone().into_any().unbind()))
    });
    replaced.map(drop).map_err(no_memory)
}

/// Called when a remembered class dies.
#[pyclass(frozen)]
struct ClassWatch {
    address: TypeAddress,
}

#[pymethods]
impl ClassWatch {
    fn __call__(&self, py: Python<'_>, _reference: &Bound<'_, PyAny>) {
        forget_classes();
        let gone = WATCHED.with(py, |watched| watched.as_mut().and_then(|watched| watched.remove(&self.address)));
        drop(gone);
    }
}

fn class_argument<'a, 'py>(cls: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyType>> {
    cls.cast::<PyType>().map_err(|_| {
        let message = format!("expected a class, got {}: pass the class itself", crate::errors::quote(cls));
        error(cls.py(), Family::Type, None, &message)
    })
}

/// Adds a registration, or says why not; then nothing has changed.
#[pyfunction(name = "register")]
pub(crate) fn add(registration: &Bound<'_, Registration>) -> PyResult<()> {
    let (py, record) = (registration.py(), registration.get());
    let address = ffi::address_of(record.cls.bind(py));
    if builtin_kind(py, address)?.is_some() {
        let name = record.class_name(py);
        let message = match name.as_str() {
            "NoneType" => "NoneType can't be registered: none_is_leaf says how None is read".to_owned(),
            _ => format!(
                "{name} is a built-in container, which is a node already: to have it read in another way, register a \
                 subclass of {name}"
            ),
        };
        return Err(error(py, Family::Registration, None, &message));
    }
    let added = REGISTRATIONS.with(py, |table| {
        let table = table.get_or_insert_default();
        table.try_reserve(1)?;
        let of_class = table.entry(address).or_default();
        if of_class.iter().any(|other| other.get().namespace == record.namespace) {
            return Ok(false);
        }
        of_class.push(registration.clone().unbind());
        Ok::<_, TryReserveError>(true)
    });
    if !added.map_err(no_memory)? {
        let name = record.class_name(py);
        let (place, argument) = match record.namespace.as_str() {
            "" => ("the global namespace".to_owned(), String::new()),
            space => (format!("namespace '{space}'"), format!(", namespace='{space}'")),
        };
        let message = format!(
            "{name} is already registered in {place}: call unregister_pytree_node({name}{argument}) first, or register it \
             in another namespace"
        );
        return Err(error(py, Family::Registration, None, &message));
    }
    forget_classes();
    Ok(())
}

/// Takes a registration back; its specs keep it.
#[pyfunction(name = "unregister", signature = (cls, namespace=""))]
pub(crate) fn remove(py: Python<'_>, cls: &Bound<'_, PyAny>, namespace: &str) -> PyResult<Py<Registration>> {
    let cls = class_argument(cls)?;
    let address = ffi::address_of(cls);
    let removed = REGISTRATIONS.with(py, |table| {
        let table = table.as_mut()?;
        let of_class = table.get_mut(&address)?;
        let index = of_class.iter().position(|registration| registration.get().namespace == namespace)?;
        let removed = of_class.remove(index);
        if of_class.is_empty() {
            table.remove(&address);
        }
        Some(removed)
    });
    let Some(removed) = removed else {
        let hint = if builtin_kind(py, address)?.is_some() {
            ": built-in containers are always nodes"
        } else if adopted(cls, namespace)?.is_some() {
            ", but with a library that was adopted: end() of what adopt() returned makes its classes leaves again"
        } else {
            ""
        };
        return Err(not_registered(cls, namespace, hint));
    };
    forget_classes();
    Ok(removed)
}

/// The registration that a call with this namespace finds for a class, or None.
#[pyfunction(name = "lookup", signature = (cls, namespace=None))]
pub(crate) fn find(
    py: Python<'_>,
    cls: &Bound<'_, PyAny>,
    namespace: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Py<Registration>>> {
    let cls = class_argument(cls)?;
    scope_of(py, namespace)?.registered(cls)
}

/// The registration of a class in just this namespace, with these data and meta fields; for pickle only.
///
/// Raises `RegistrationError` where there is none.
#[pyfunction(signature = (cls, namespace, data_fields=None, meta_fields=None))]
pub(crate) fn registered(
    cls: &Bound<'_, PyType>,
    namespace: &str,
    data_fields: Option<&Bound<'_, PyTuple>>,
    meta_fields: Option<&Bound<'_, PyTuple>>,
) -> PyResult<Py<Registration>> {
    let py = cls.py();
    let hint = ": register it before loading what was pickled with it";
    let found = registration_in(cls, namespace)?.ok_or_else(|| not_registered(cls, namespace, hint))?;
    let wanted = [("data_fields", data_fields), ("meta_fields", meta_fields)];
    for (name, fields) in wanted {
        let Some(fields) = fields else { continue };
        let current = found.bind(py).getattr(ffi::name_of(py, name)?)?;
        if !current.eq(fields)? {
            let message = format!(
                "{} is registered with other {name} than when this was pickled: {} now, {} then",
                cls.name()?,
                show(&current)?,
                show(fields)?
            );
            return Err(error(py, Family::Registration, None, &message));
        }
    }
    Ok(found)
}

#[cold]
fn not_registered(cls: &Bound<'_, PyType>, namespace: &str, hint: &str) -> PyErr {
    let name = cls.name().map_or_else(|_| "the class".to_owned(), |name| name.to_string());
    let place = match namespace {
        "" => "the global namespace".to_owned(),
        space => format!("namespace '{space}'"),
    };
    error(cls.py(), Family::Registration, None, &format!("{name} is not registered in {place}{hint}"))
}

/// Whether instances of a class are nodes because it is a built-in container or registered.
///
/// `namespace` is a name or a tuple of names, searched in order; the global registrations come last. A namedtuple class
/// is a node without being registered, so it counts only where it is.
///
/// Raises `TypeError` if `cls` is not a class.
///
/// >>> import clika_pytree as crt
/// >>> crt.is_registered(dict), crt.is_registered(set)
/// (True, False)
#[pyfunction(signature = (cls, namespace=None), text_signature = "(cls, namespace='')")]
pub(crate) fn is_registered(
    py: Python<'_>,
    cls: &Bound<'_, PyAny>,
    namespace: Option<&Bound<'_, PyAny>>,
) -> PyResult<bool> {
    let cls = class_argument(cls)?;
    let is_builtin = || builtin_kind(py, ffi::address_of(cls)).map(|kind| kind.is_some());
    Ok(scope_of(py, namespace)?.registered(cls)?.is_some() || is_builtin()?)
}
