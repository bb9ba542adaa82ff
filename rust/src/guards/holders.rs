//! What an object holds, one level deep: its attributes, and the tensors among them.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PySet, PyString, PyTuple, PyType};

use super::modules::state_of;
use super::runtimes::{Sort, sort_of};
use super::statics::{is_atom, is_known_by_identity, method_parts};
use crate::errors::{Family, KeyPath, class_name, error, left_out, text_of, with_article};
use crate::ffi::{self, RefVec};
use crate::keys::text_of_value;
use crate::limits::{Grow, gathered, gathered_from};
use crate::registry::{Class, Scope, scope_of};
use crate::walk::{self, Rules};

/// Names with what an object has there; nothing for a slot that is empty.
pub(super) type Attributes<'py> = Vec<(Bound<'py, PyString>, Option<Bound<'py, PyAny>>)>;

/// What an object has in its slots and in its `__dict__`, read without code of the user's.
pub(super) fn attributes_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Attributes<'py>> {
    let mut attributes: Attributes<'py> = Vec::new();
    for class in object.get_type().mro().iter() {
        for name in ffi::slot_names(&class)? {
            let value = ffi::generic_attribute(object, &name)?;
            attributes.grow((name, value))?;
        }
    }
    if let Some(dict) = ffi::instance_dict(object)? {
        for (name, value) in ffi::dict_entries(dict.as_any())? {
            if let Ok(name) = name.cast_into::<PyString>() {
                attributes.grow((name, Some(value)))?;
            }
        }
    }
    Ok(attributes)
}

/// How many of the places that hold tensors a message names.
const MOST_NAMED: usize = 4;

/// Refuses a leaf that holds tensors and is none: they would be constants of the graph.
pub(super) fn refuse_holder(
    leaf: &Bound<'_, PyAny>,
    path: &dyn Fn() -> KeyPath,
    scope: &'static Scope,
) -> PyResult<()> {
    match parts_with_tensors(leaf, scope)? {
        Some((holder, named)) if !named.is_empty() => Err(unregistered(&holder, &named, &path(), scope)),
        _ => Ok(()),
    }
}

/// The names of what an object holds where tensors are in it, as `.attribute` or `[item]`. Of plain values, functions, classes,
/// modules and members of enumerations there are none, and of a method it is its object alone.
#[pyfunction]
pub(crate) fn tensor_parts<'py>(
    leaf: &Bound<'py, PyAny>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let py = leaf.py();
    let scope = scope_of(py, namespace)?;
    let named = match method_parts(leaf)? {
        Some((_, owner)) if holds_tensors(&owner, scope)? => vec![".__self__".to_owned()],
        Some(_) => Vec::new(),
        None => parts_with_tensors(leaf, scope)?.map_or_else(Vec::new, |(_, named)| named),
    };
    let mut texts = RefVec::default();
    for name in &named {
        texts.push(text_of(py, name)?.into_any())?;
    }
    ffi::list_from(py, &mut texts, 0)
}

/// Whether a tree has tensors among its leaves; one that can't be walked has none.
#[pyfunction]
pub(crate) fn has_tensors(tree: &Bound<'_, PyAny>, namespace: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    holds_tensors(tree, scope_of(tree.py(), namespace)?)
}

type Holder<'py> = (Bound<'py, PyAny>, Vec<String>);

/// What holds the parts of a leaf, and the names of those with tensors in them; nothing for what has no parts to look at.
fn parts_with_tensors<'py>(leaf: &Bound<'py, PyAny>, scope: &'static Scope) -> PyResult<Option<Holder<'py>>> {
    if is_atom(leaf) || is_known_by_identity(leaf)? {
        return Ok(None);
    }
    let holder = match method_parts(leaf)? {
        Some((_, owner)) => owner,
        None => leaf.clone(),
    };
    let mut named: Vec<String> = Vec::new();
    for (name, value) in parts_of(&holder)? {
        if holds_tensors(&value, scope)? {
            named.grow(name)?;
        }
    }
    Ok(Some((holder, named)))
}

/// What an object is made of, each part with how it is reached.
fn parts_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let mut parts = Vec::new();
    if let Ok(dict) = object.cast::<PyDict>() {
        for (key, value) in ffi::dict_entries(dict.as_any())? {
            parts.grow((text_of_value(&key)?, value))?;
        }
    }
    let items = match (object.cast::<PyTuple>(), object.cast::<PyList>()) {
        (Ok(tuple), _) => gathered(tuple.iter())?,
        (_, Ok(list)) => gathered(list.iter())?,
        _ if object.is_instance_of::<PySet>() || object.is_instance_of::<PyFrozenSet>() => gathered_from(object)?,
        _ => Vec::new(),
    };
    parts.grow_by(items.into_iter().enumerate().map(|(index, item)| (format!("[{index}]"), item)))?;
    for (name, value) in attributes_of(object)? {
        if let Some(value) = value {
            parts.grow((format!(".{}", name.to_string_lossy()), value))?;
        }
    }
    Ok(parts)
}

/// Whether a tree has tensors, or modules that have some.
pub(super) fn holds_tensors(tree: &Bound<'_, PyAny>, scope: &'static Scope) -> PyResult<bool> {
    let py = tree.py();
    let rules = Rules::of_call(scope, PyTuple::empty(py).unbind());
    // A circle, or a flatten function that fails: not a tree that a function could have taken tensors from.
    let leaves = match walk::leaves(tree, rules) {
        Ok(leaves) => leaves,
        Err(raised) if raised.is_instance_of::<pyo3::exceptions::PyException>(py) => return Ok(false),
        Err(raised) => return Err(raised),
    };
    for leaf in leaves.iter() {
        let holds = match sort_of(py, ffi::raw(&leaf))? {
            Sort::Tensor(_) => true,
            Sort::Module(runtime) => state_of(&ffi::own(py, runtime), &leaf)?.is_some_and(|state| !state.is_empty()),
            Sort::Static => false,
        };
        if holds {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cold]
fn unregistered(holder: &Bound<'_, PyAny>, named: &[String], path: &KeyPath, scope: &'static Scope) -> PyErr {
    let py = holder.py();
    let cls = holder.get_type();
    let class = class_name(&cls);
    let has_fields = cls.hasattr("__dataclass_fields__");
    let is_dataclass = match has_fields.or_else(|raised| left_out(py, raised).map(|()| false)) {
        Ok(answer) => answer,
        Err(raised) => return raised,
    };
    let what = if is_dataclass { "a dataclass that is not registered" } else { "whose class is not registered" };
    let mut places = named[..named.len().min(MOST_NAMED)].join(", ");
    if named.len() > MOST_NAMED {
        places.push_str(", …");
    }
    let way_out = if is_dataclass {
        format!("clika_pytree.register_dataclass({class})")
    } else {
        format!("clika_pytree.register_pytree_node({class}, ...)")
    };
    let is_registered = |base: &Bound<'_, PyAny>| base.cast::<PyType>().is_ok_and(|base| is_node(base, scope));
    let base = cls.mro().iter().skip(1).find(is_registered);
    let of_base = base.map_or_else(String::new, |base| {
        let base = base.cast::<PyType>().map_or_else(|_| String::new(), class_name);
        format!(" Its base {base} is a node, but that holds for instances of {base} itself only.")
    });
    let message = format!(
        "{} is {}, {what}: it counts as one leaf, and the tensors that it holds at {places} would be constants of the \
         graph.{of_base} Register the class, so that they are inputs: {way_out}",
        path.full().unwrap_or_default(),
        with_article(&class),
    );
    error(py, Family::UnregisteredNode, Some(path), &message)
}

fn is_node(cls: &Bound<'_, PyType>, scope: &'static Scope) -> bool {
    matches!(scope.resolve(cls), Ok(Class::Registered(..) | Class::Builtin(_)))
}
