//! What a module and the modules in it hold beside their tensors: guarded as it is of any object.

use hashbrown::HashSet;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::held::{Change, Held, are_held, first_change, hash_of_held};
use super::holders::{Attributes, attributes_of, holds_tensors};
use super::modules::State;
use super::runtimes::{Sort, sort_of};
use super::statics::{is_atom, is_known_by_identity};
use crate::errors::{Family, KeyPath, error, left_out, no_memory};
use crate::ffi;
use crate::keys::text_of_value;
use crate::limits::Grow;
use crate::registry::Scope;
use crate::structure::Mixer;
use crate::values::Unusable;

/// One of the modules that a module consists of, itself the first, with what it held.
pub(super) struct Part {
    module: Py<PyAny>,
    held: Vec<Held>,
}

impl Part {
    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self { module: self.module.clone_ref(py), held: self.held.iter().map(|held| held.clone_ref(py)).collect() }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.module)?;
        self.held.iter().try_for_each(|held| held.traverse(visit))
    }
}

/// The parts of a module, and the hash of what they hold.
pub(super) fn parts_of(module: &Bound<'_, PyAny>) -> Result<(Vec<Part>, u64), Unusable> {
    let (mut parts, mut mixer) = (Vec::new(), Mixer::new(0));
    let Walk { found, open, .. } = Walk::over(module)?;
    for Found { module, attributes, .. } in found {
        let mut held = Vec::new();
        for (name, value) in attributes {
            // A container of tensors or modules: what is in it is looked at by itself.
            let is_open = value.as_ref().is_some_and(|value| open.contains(&address(value)));
            held.grow(if is_open { Held::by_identity(name, value) } else { Held::of(name, value)? })?;
        }
        mixer.add(hash_of_held(&module, &held));
        parts.grow(Part { module: module.unbind(), held })?;
    }
    Ok((parts, mixer.finish()))
}

/// Whether a module has the parts that it had, and these hold what they held.
pub(super) fn are_parts_of(parts: &[Part], module: &Bound<'_, PyAny>) -> Result<bool, Unusable> {
    let found = Walk::over(module)?.found;
    if found.len() != parts.len() {
        return Ok(false);
    }
    for (part, found) in parts.iter().zip(&found) {
        if !part.module.is(&found.module) || !are_held(&part.held, &found.attributes)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The first thing in a module that is not what it was, by its path from there.
pub(super) fn change_of_parts<'py>(parts: &[Part], module: &Bound<'py, PyAny>) -> PyResult<Option<Change<'py>>> {
    let py = module.py();
    let walk = match Walk::over(module) {
        Ok(walk) => walk,
        Err(raised) => return left_out(py, raised).map(|()| None),
    };
    for (part, found) in parts.iter().zip(walk.found) {
        if !part.module.is(&found.module) {
            return Ok(Some((found.path, Some(part.module.bind(py).clone()), Some(found.module))));
        }
        if let Some((name, old, new)) = first_change(&part.held, py, found.attributes)? {
            return Ok(Some((found.path + &name, old, new)));
        }
    }
    Ok(None)
}

/// Refuses a module with tensors that its runtime does not name: they would be constants of the graph.
pub(super) fn refuse_unnamed(
    module: &Bound<'_, PyAny>,
    state: &State<'_>,
    path: &dyn Fn() -> KeyPath,
    scope: &'static Scope,
) -> PyResult<()> {
    let mut named = HashSet::new();
    named.try_reserve(state.len()).map_err(no_memory)?;
    named.extend(state.iter().map(|(_, tensor)| address(tensor)));
    let walk = Walk::over(module)?;
    let mut unnamed = walk.tensors.into_iter().find(|(_, tensor)| !named.contains(&address(tensor)));
    for (place, value) in walk.others {
        if unnamed.is_none() && !is_known_by_identity(&value)? && holds_tensors(&value, scope)? {
            unnamed = Some((place, value));
        }
    }
    let Some((place, _)) = unnamed else { return Ok(()) };
    let path = path().and(&place);
    let message = format!(
        "{} is no parameter and no buffer of its module, and the tensors there would be constants of the graph: register \
         them with the module, or pass them as arguments",
        path.full().unwrap_or_default()
    );
    Err(error(module.py(), Family::Guard, Some(&path), &message))
}

/// A module that a walk has come by, with its attributes that are no tensors.
struct Found<'py> {
    path: String,
    module: Bound<'py, PyAny>,
    attributes: Attributes<'py>,
}

/// An object and where it is.
type Placed<'py> = (String, Bound<'py, PyAny>);

/// A walk over a module and the modules in it, each once. Runs no code of the user's.
#[derive(Default)]
struct Walk<'py> {
    found: Vec<Found<'py>>,
    tensors: Vec<Placed<'py>>,
    /// What is no tensor, module, container or plain value.
    others: Vec<Placed<'py>>,
    agenda: Vec<Placed<'py>>,
    /// The addresses of the modules and containers met, and those of containers that hold tensors or modules.
    seen: HashSet<usize>,
    open: HashSet<usize>,
}

impl<'py> Walk<'py> {
    fn over(module: &Bound<'py, PyAny>) -> PyResult<Self> {
        let mut walk = Self::default();
        walk.is_new(module)?;
        walk.agenda.grow((String::new(), module.clone()))?;
        let mut next = 0;
        while let Some((path, module)) = walk.agenda.get(next).cloned() {
            next += 1;
            let mut attributes = Attributes::new();
            for (name, value) in all_attributes(&module)? {
                let is_tensor = match &value {
                    Some(value) if !is_atom(value) => walk.look(&path, &name, value)?,
                    _ => false,
                };
                if !is_tensor {
                    attributes.grow((name, value))?;
                }
            }
            walk.found.grow(Found { path, module, attributes })?;
        }
        Ok(walk)
    }

    /// Looks at what an attribute has, and at what is in it; says whether it is a tensor.
    fn look(&mut self, path: &str, name: &Bound<'py, PyString>, value: &Bound<'py, PyAny>) -> PyResult<bool> {
        let py = value.py();
        if matches!(sort_of(py, ffi::raw(value))?, Sort::Tensor(_)) {
            self.tensors.grow((format!("{path}.{name}"), value.clone()))?;
            return Ok(true);
        }
        let mut is_open = false;
        let mut todo = vec![(format!("{path}.{name}"), value.clone())];
        while let Some((place, value)) = todo.pop() {
            match sort_of(py, ffi::raw(&value))? {
                Sort::Tensor(_) => {
                    is_open = true;
                    self.tensors.grow((place, value))?;
                }
                // A device or a dtype of the same library has no attributes of its own.
                Sort::Module(_) if ffi::instance_dict(&value)?.is_some() => {
                    is_open = true;
                    if self.is_new(&value)? {
                        self.agenda.grow((place, value))?;
                    }
                }
                _ => match items_of(&value)? {
                    Some(items) if self.is_new(&value)? => {
                        // What a library keeps under a name of its own is known to users by its keys.
                        let is_own = place.len() == path.len() + 1 + name.to_string_lossy().len();
                        let base: &str = if is_own && place[path.len()..].starts_with("._") { path } else { &place };
                        for (key, item) in items.into_iter().filter(|(_, item)| !is_atom(item)) {
                            todo.grow((place_of(base, base.len() == path.len(), &key)?, item))?;
                        }
                    }
                    Some(_) => is_open |= self.open.contains(&address(&value)),
                    None => self.others.grow((place, value))?,
                },
            }
        }
        if is_open {
            self.open.try_reserve(1).map_err(no_memory)?;
            self.open.insert(address(value));
        }
        Ok(false)
    }

    fn is_new(&mut self, value: &Bound<'py, PyAny>) -> PyResult<bool> {
        self.seen.try_reserve(1).map_err(no_memory)?;
        Ok(self.seen.insert(address(value)))
    }
}

/// The attributes of a module, and its items where it is a dict.
fn all_attributes<'py>(module: &Bound<'py, PyAny>) -> PyResult<Attributes<'py>> {
    let mut attributes = attributes_of(module)?;
    if module.is_instance_of::<PyDict>() {
        for (name, value) in ffi::dict_entries(module)? {
            if let Ok(name) = name.cast_into::<PyString>() {
                attributes.grow((name, Some(value)))?;
            }
        }
    }
    Ok(attributes)
}

fn address(object: &Bound<'_, PyAny>) -> usize {
    object.as_ptr() as usize
}

/// The path of an item of a container.
fn place_of(place: &str, is_attribute: bool, key: &Bound<'_, PyAny>) -> PyResult<String> {
    match key.cast::<PyString>() {
        Ok(name) if is_attribute => Ok(format!("{place}.{name}")),
        _ => Ok(place.to_owned() + &text_of_value(key)?),
    }
}

/// Keys with what stands there.
type Items<'py> = Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

/// The items of a dict, a list or a tuple by their keys; nothing for other objects.
fn items_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Items<'py>>> {
    let py = value.py();
    if value.is_instance_of::<PyDict>() {
        return ffi::dict_entries(value).map(Some);
    }
    let mut items = Vec::new();
    if let Ok(list) = value.cast::<PyList>() {
        for (index, item) in list.iter().enumerate() {
            items.grow((ffi::int_of(py, index)?, item))?;
        }
    } else if let Ok(tuple) = value.cast::<PyTuple>() {
        for (index, item) in tuple.iter().enumerate() {
            items.grow((ffi::int_of(py, index)?, item))?;
        }
    } else {
        return Ok(None);
    }
    Ok(Some(items))
}
