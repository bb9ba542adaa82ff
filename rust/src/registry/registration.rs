//! One registered class.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

use super::contexts::Contexts;
use crate::errors::{printable, text_of};
use crate::ffi::{self, FieldPlaces, GilCell, Link, Raw};
use crate::limits::all_of;
use crate::structure::{Kind, Mixer};
use crate::values;

/// A dropped field that has a default: its name, and the default or what makes one.
pub(crate) struct DroppedDefault {
    pub(crate) name: Py<PyString>,
    pub(crate) value: Py<PyAny>,
    pub(crate) is_factory: bool,
}

/// How the instances of a registered class come apart and are put together.
pub(crate) enum Manner {
    Functions {
        flatten: Py<PyAny>,
        unflatten: Py<PyAny>,
        with_keys: Option<Py<PyAny>>,
    },
    Fields {
        data: Vec<Py<PyString>>,
        meta: Vec<Py<PyString>>,
        defaults: Vec<DroppedDefault>,
        init: bool,
        /// Where the fields lie in an instance: the children, then the meta fields.
        places: GilCell<FieldPlaces>,
        contexts: GilCell<Contexts>,
    },
    Static,
}

/// How a class is registered: an immutable record that the specs of its instances hold on to.
///
/// Made by `register_pytree_node`, `register_dataclass` and `register_static`.
#[pyclass(frozen, module = "clika_pytree._native")]
pub(crate) struct Registration {
    pub(crate) cls: Py<PyType>,
    pub(crate) namespace: String,
    /// The part of it that a structure's hash covers: class and namespace.
    pub(crate) identity: u64,
    pub(crate) manner: Manner,
    serialized_type_name: Option<Py<PyAny>>,
    to_dumpable_context: Option<Py<PyAny>>,
    from_dumpable_context: Option<Py<PyAny>>,
}

fn class_of<'py>(cls: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyType>> {
    cls.cast::<PyType>().cloned().map_err(|_| {
        let found = crate::errors::quote(cls);
        let message = format!("only a class can be registered, got {found}: pass the class itself");
        crate::errors::type_error(cls.py(), &message)
    })
}

fn identity(cls: &Py<PyType>, namespace: &str) -> u64 {
    let mut mixer = Mixer::new(cls.as_ptr() as u64);
    namespace.bytes().for_each(|byte| mixer.add(u64::from(byte)));
    mixer.finish()
}

/// Field names as interned strs: attribute look-up compares interned names by address.
fn interned(names: &[Bound<'_, PyString>]) -> PyResult<Vec<Py<PyString>>> {
    all_of(names.iter().map(|name| ffi::name_of(name.py(), &name.to_string_lossy()).map(Bound::unbind)))
}

/// Field names as a tuple.
pub(crate) fn names<'py>(py: Python<'py>, names: &[Py<PyString>]) -> PyResult<Bound<'py, PyTuple>> {
    ffi::tuple_of(py, names.iter().map(|name| name.bind(py).clone().into_any()))
}

impl Registration {
    pub(crate) fn node_kind(&self) -> Kind {
        match self.manner {
            Manner::Functions { .. } => Kind::Custom,
            Manner::Fields { .. } => Kind::Dataclass,
            Manner::Static => Kind::Static,
        }
    }

    /// The name of the class, for messages.
    pub(crate) fn class_name(&self, py: Python<'_>) -> String {
        self.cls.bind(py).name().map_or_else(|_| "a class".to_owned(), |name| printable(&name.to_string_lossy()))
    }

    /// Adds the fields of a dataclass instance to `target`, as far as its memory goes: the children, then the meta fields,
    /// borrowed. Gives the number of children; none, and nothing added, where they have to be asked for by name. Runs no
    /// Python code.
    #[inline]
    pub(crate) fn read_fields(&self, py: Python<'_>, object: Raw, target: &mut Vec<Option<Raw>>) -> Option<usize> {
        let Manner::Fields { data, places, .. } = &self.manner else { return None };
        places.with(py, |places| places.read(object, target)).then_some(data.len())
    }

    pub(crate) fn num_meta(&self) -> usize {
        if let Manner::Fields { meta, .. } = &self.manner { meta.len() } else { 0 }
    }

    /// The context of an instance with these meta fields, where nothing in it has to be copied; runs no Python code.
    pub(crate) fn plain_context<'py>(
        &self,
        py: Python<'py>,
        meta: &[Option<Raw>],
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Manner::Fields { contexts, .. } = &self.manner else { return Ok(None) };
        if let Some(known) = contexts.with(py, |contexts| contexts.find(py, meta)) {
            return Ok(Some(ffi::own(py, known)));
        }
        let context = ffi::tuple_quietly(py, meta)?.into_any();
        if !values::is_surely_frozen(&context) {
            return Ok(None);
        }
        self.keep_context(&context);
        Ok(Some(context))
    }

    /// Keeps a context for other instances with these meta fields.
    fn keep_context(&self, context: &Bound<'_, PyAny>) {
        let py = context.py();
        if let Manner::Fields { contexts, .. } = &self.manner
            && let Ok(context) = context.cast_exact::<PyTuple>()
            && Contexts::is_worth_keeping(context)
        {
            drop(contexts.with(py, |contexts| contexts.keep(context.clone().unbind())));
        }
    }

    /// Finds out where the fields of an instance lie, where that was not done for its class as it is now.
    pub(crate) fn find_fields(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = object.py();
        let Manner::Fields { data, meta, places, .. } = &self.manner else { return Ok(()) };
        if places.with(py, |places| places.are_of(ffi::raw(object))) {
            return Ok(());
        }
        let found = FieldPlaces::find(self.cls.bind(py), data.iter().chain(meta))?;
        places.with(py, |places| *places = found);
        Ok(())
    }

    /// Whether two registrations are of one class, taken apart in the same manner, in one namespace.
    pub(crate) fn is_same_class(&self, other: &Self) -> bool {
        let same_fields = match (&self.manner, &other.manner) {
            // Field names are interned: one name is one object.
            (Manner::Fields { data, meta, .. }, Manner::Fields { data: other_data, meta: other_meta, .. }) => {
                let same = |ours: &[Py<PyString>], theirs: &[Py<PyString>]| {
                    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(our, their)| our.is(their))
                };
                same(data, other_data) && same(meta, other_meta)
            }
            (Manner::Functions { .. }, Manner::Functions { .. }) | (Manner::Static, Manner::Static) => true,
            _ => false,
        };
        self.cls.is(&other.cls) && self.namespace == other.namespace && same_fields
    }
}

#[pymethods]
impl Registration {
    /// A class taken apart and put together by functions.
    #[staticmethod]
    #[pyo3(signature = (cls, namespace, flatten_fn, unflatten_fn, flatten_with_keys_fn=None, serialized_type_name=None,
        to_dumpable_context=None, from_dumpable_context=None))]
    #[expect(clippy::too_many_arguments, reason = "the arguments of register_pytree_node, handed on")]
    fn function(
        cls: &Bound<'_, PyAny>,
        namespace: String,
        flatten_fn: Py<PyAny>,
        unflatten_fn: Py<PyAny>,
        flatten_with_keys_fn: Option<Py<PyAny>>,
        serialized_type_name: Option<Py<PyAny>>,
        to_dumpable_context: Option<Py<PyAny>>,
        from_dumpable_context: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let manner =
            Manner::Functions { flatten: flatten_fn, unflatten: unflatten_fn, with_keys: flatten_with_keys_fn };
        let cls = class_of(cls)?.unbind();
        let identity = identity(&cls, &namespace);
        Ok(Self { cls, namespace, identity, manner, serialized_type_name, to_dumpable_context, from_dumpable_context })
    }

    /// A dataclass taken apart by its fields.
    #[staticmethod]
    #[pyo3(signature = (cls, namespace, data_fields, meta_fields, defaults, init, serialized_type_name=None,
        to_dumpable_context=None, from_dumpable_context=None))]
    #[expect(clippy::too_many_arguments, reason = "the arguments of register_dataclass, handed on")]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts lists by value")]
    fn dataclass(
        cls: &Bound<'_, PyAny>,
        namespace: String,
        data_fields: Vec<Bound<'_, PyString>>,
        meta_fields: Vec<Bound<'_, PyString>>,
        defaults: Vec<(Py<PyString>, Py<PyAny>, bool)>,
        init: bool,
        serialized_type_name: Option<Py<PyAny>>,
        to_dumpable_context: Option<Py<PyAny>>,
        from_dumpable_context: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let cls = class_of(cls)?.unbind();
        let defaults = defaults.into_iter();
        let manner = Manner::Fields {
            data: interned(&data_fields)?,
            meta: interned(&meta_fields)?,
            defaults: defaults.map(|(name, value, is_factory)| DroppedDefault { name, value, is_factory }).collect(),
            init,
            places: GilCell::new(FieldPlaces::UNKNOWN),
            contexts: GilCell::new(Contexts::default()),
        };
        let identity = identity(&cls, &namespace);
        Ok(Self { cls, namespace, identity, manner, serialized_type_name, to_dumpable_context, from_dumpable_context })
    }

    /// A class whose instances are childless nodes.
    #[staticmethod]
    #[pyo3(name = "static", signature = (cls, namespace, serialized_type_name=None, to_dumpable_context=None,
        from_dumpable_context=None))]
    fn of_static(
        cls: &Bound<'_, PyAny>,
        namespace: String,
        serialized_type_name: Option<Py<PyAny>>,
        to_dumpable_context: Option<Py<PyAny>>,
        from_dumpable_context: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let cls = class_of(cls)?.unbind();
        let manner = Manner::Static;
        let identity = identity(&cls, &namespace);
        Ok(Self { cls, namespace, identity, manner, serialized_type_name, to_dumpable_context, from_dumpable_context })
    }

    /// The registered class.
    #[getter]
    fn cls(&self, py: Python<'_>) -> Py<PyType> {
        self.cls.clone_ref(py)
    }

    /// The namespace it is registered in; `""` is the global one.
    #[getter]
    fn namespace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        text_of(py, &self.namespace)
    }

    /// `"custom"`, `"dataclass"` or `"static"`.
    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        text_of(py, self.node_kind().name())
    }

    /// The function that takes an instance apart, or None.
    #[getter]
    fn flatten_fn(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        match &self.manner {
            Manner::Functions { flatten, .. } => Some(flatten.clone_ref(py)),
            _ => None,
        }
    }

    /// The function that puts an instance together, or None.
    #[getter]
    fn unflatten_fn(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        match &self.manner {
            Manner::Functions { unflatten, .. } => Some(unflatten.clone_ref(py)),
            _ => None,
        }
    }

    /// The function that takes an instance apart into children with their keys, or None.
    #[getter]
    fn flatten_with_keys_fn(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        match &self.manner {
            Manner::Functions { with_keys, .. } => with_keys.as_ref().map(|function| function.clone_ref(py)),
            _ => None,
        }
    }

    /// The names of the fields that are children.
    #[getter]
    fn data_fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match &self.manner {
            Manner::Fields { data, .. } => names(py, data),
            _ => Ok(PyTuple::empty(py)),
        }
    }

    /// The names of the fields that ride the context.
    #[getter]
    fn meta_fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match &self.manner {
            Manner::Fields { meta, .. } => names(py, meta),
            _ => Ok(PyTuple::empty(py)),
        }
    }

    /// How an instance of a dataclass is made, `"fields"` or `"init"`; else None.
    #[getter]
    fn rebuild<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyString>>> {
        match &self.manner {
            Manner::Fields { init, .. } => text_of(py, if *init { "init" } else { "fields" }).map(Some),
            _ => Ok(None),
        }
    }

    /// The name under which documents know the class, or None.
    #[getter]
    pub(crate) fn serialized_type_name(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.serialized_type_name.as_ref().map(|name| name.clone_ref(py))
    }

    /// The function that makes plain values of a context, or None.
    #[getter]
    pub(crate) fn to_dumpable_context(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.to_dumpable_context.as_ref().map(|function| function.clone_ref(py))
    }

    /// The function that makes a context of plain values, or None.
    #[getter]
    #[expect(clippy::wrong_self_convention, reason = "the name of the registration argument")]
    fn from_dumpable_context(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.from_dumpable_context.as_ref().map(|function| function.clone_ref(py))
    }

    fn __repr__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        let (class, kind) = (self.class_name(py), self.node_kind().name());
        text_of(py, &format!("Registration({class}, kind='{kind}', namespace='{}')", self.namespace))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let load = ffi::native(intern!(py, "registered"))?;
        let record = slf.get();
        let arguments = [
            record.cls.bind(py).clone().into_any(),
            record.namespace(py)?.into_any(),
            record.data_fields(py)?.into_any(),
            record.meta_fields(py)?.into_any(),
        ];
        ffi::pair(load, ffi::tuple_of_all(py, &arguments)?)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.cls)?;
        match &self.manner {
            Manner::Functions { flatten, unflatten, with_keys } => {
                visit.call(flatten)?;
                visit.call(unflatten)?;
                visit.call(with_keys)?;
            }
            Manner::Fields { data, meta, defaults, .. } => {
                for name in data.iter().chain(meta) {
                    visit.call(name)?;
                }
                for default in defaults {
                    visit.call(&default.name)?;
                    visit.call(&default.value)?;
                }
            }
            Manner::Static => {}
        }
        visit.call(&self.serialized_type_name)?;
        visit.call(&self.to_dumpable_context)?;
        visit.call(&self.from_dumpable_context)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // Functions and defaults may lead to other registrations, in a chain of any length.
        let manner = std::mem::replace(&mut self.manner, Manner::Static);
        let mut held = vec![self.serialized_type_name.take(), self.to_dumpable_context.take()];
        held.push(self.from_dumpable_context.take());
        match manner {
            Manner::Functions { flatten, unflatten, with_keys } => {
                held.extend([Some(flatten), Some(unflatten), with_keys]);
            }
            Manner::Fields { defaults, .. } => held.extend(defaults.into_iter().map(|default| Some(default.value))),
            Manner::Static => {}
        }
        drop(held.into_iter().flatten().map(Link::from).collect::<Vec<_>>());
    }
}
