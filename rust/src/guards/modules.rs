//! Modules: objects whose tensors are inputs of a graph by name, read at each call, as their runtime says.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::errors::{Family, KeyPath, error, quote};
use crate::ffi::{self, RefVec, tuple_of};
use crate::limits::{Grow, gathered};
use crate::spec::{Graph, TreeSpec};

/// A leaf that is a module. Its tensors come after all leaves of the call, those of the first module first.
pub(super) struct Module {
    /// Which leaf it is.
    pub(super) leaf: usize,
    pub(super) runtime: Py<PyAny>,
    /// The names of its tensors.
    pub(super) names: Vec<Py<PyString>>,
}

/// The tensors of a module by name.
pub(super) type State<'py> = Vec<(Bound<'py, PyString>, Bound<'py, PyAny>)>;

impl Module {
    pub(super) fn clone_ref(&self, py: Python<'_>) -> PyResult<Self> {
        let names = gathered(self.names.iter().map(|name| name.clone_ref(py)))?;
        Ok(Self { leaf: self.leaf, runtime: self.runtime.clone_ref(py), names })
    }

    /// Whether some names are those of its tensors.
    fn has_names<'a, 'py: 'a>(&self, names: impl ExactSizeIterator<Item = &'a Bound<'py, PyString>>) -> bool {
        names.len() == self.names.len()
            && self
                .names
                .iter()
                .zip(names)
                .all(|(ours, theirs)| ffi::are_equal_texts(ffi::raw(ours.bind(theirs.py())), ffi::raw(theirs.as_any())))
    }

    pub(super) fn is_like(&self, py: Python<'_>, other: &Self) -> bool {
        let names: Vec<_> = other.names.iter().map(|name| name.bind(py).clone()).collect();
        self.leaf == other.leaf && self.runtime.is(&other.runtime) && self.has_names(names.iter())
    }

    /// The tensors that a module has now, after the leaves of a call; false where they have other names.
    pub(super) fn add_tensors(&self, py: Python<'_>, leaves: &mut RefVec) -> PyResult<bool> {
        let Some(Some(module)) = leaves.raw().get(self.leaf) else { return Ok(false) };
        let module = ffi::own(py, *module);
        let Some(state) = state_of(self.runtime.bind(py), &module)? else { return Ok(false) };
        if !self.has_names(state.iter().map(|(name, _)| name)) {
            return Ok(false);
        }
        for (_, tensor) in state {
            leaves.push(tensor)?;
        }
        Ok(true)
    }

    /// `(leaf, runtime, names)`.
    pub(super) fn as_tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let names = tuple_of(py, self.names.iter().map(|name| name.bind(py).clone().into_any()))?;
        let parts = [ffi::int_of(py, self.leaf)?, self.runtime.bind(py).clone(), names.into_any()];
        Ok(tuple_of(py, parts)?.into_any())
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.runtime)
    }
}

pub(super) fn are_alike(py: Python<'_>, ours: &[Module], theirs: &[Module]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(one, other)| one.is_like(py, other))
}

/// The module that a tensor after the leaves belongs to, and its name.
fn owner_of(modules: &[Module], mut after: usize) -> Option<(&Module, &Py<PyString>)> {
    for module in modules {
        match module.names.get(after) {
            Some(name) => return Some((module, name)),
            None => after -= module.names.len(),
        }
    }
    None
}

/// Says where a leaf is, or a tensor of a module, from the name of a parameter on.
pub(super) fn path_of(
    py: Python<'_>,
    spec: &Bound<'_, TreeSpec>,
    modules: &[Module],
    leaf: usize,
    names: &Py<PyTuple>,
) -> KeyPath {
    let graph = &spec.get().0;
    match leaf.checked_sub(graph.num_leaves).and_then(|after| owner_of(modules, after)) {
        Some((module, name)) => {
            graph.named_path_of_leaf(py, module.leaf, Some(names)).and(&format!(".{}", name.bind(py).to_string_lossy()))
        }
        None => graph.named_path_of_leaf(py, leaf, Some(names)),
    }
}

/// The paths of all leaves, then those of the tensors of modules.
pub(super) fn texts_of(
    py: Python<'_>,
    graph: &Graph,
    modules: &[Module],
    names: &Py<PyTuple>,
) -> PyResult<Vec<String>> {
    let mut texts = graph.leaf_texts(py, Some(names))?;
    for module in modules {
        for name in &module.names {
            let text = format!("{}.{}", texts[module.leaf], name.bind(py).to_string_lossy());
            texts.grow(text)?;
        }
    }
    Ok(texts)
}

/// Asks a runtime for the tensors of an object; nothing where that is no module.
pub(super) fn state_of<'py>(runtime: &Bound<'py, PyAny>, object: &Bound<'py, PyAny>) -> PyResult<Option<State<'py>>> {
    let answer = runtime.call_method1(intern!(object.py(), "module_state"), (object,))?;
    if answer.is_none() {
        return Ok(None);
    }
    let Ok(dict) = answer.cast::<PyDict>() else { return Err(wrong_state(runtime, &quote(&answer))) };
    let mut state = Vec::new();
    for (name, tensor) in ffi::dict_entries(dict.as_any())? {
        let Ok(name) = name.cast_exact::<PyString>() else {
            return Err(wrong_state(runtime, &format!("the name {}", quote(&name))));
        };
        state.grow((name.clone(), tensor))?;
    }
    Ok(Some(state))
}

#[cold]
pub(super) fn wrong_state(runtime: &Bound<'_, PyAny>, got: &str) -> PyErr {
    let py = runtime.py();
    let name = runtime.getattr(intern!(py, "name")).map_or_else(|_| "?".to_owned(), |name| name.to_string());
    let message = format!(
        "module_state() of the runtime '{name}' has to give a dict of its tensors by name, or None for what is no module, \
         got {got}"
    );
    error(py, Family::Type, None, &message)
}
