//! The entries that lead from a container to its children, and the paths made of them.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple};

use super::Graph;
use crate::errors::KeyPath;
use crate::registry::{Manner, Registration};
use crate::structure::{Kind, Node};

/// A child of a container, on the way to some place in a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) node: usize,
    pub(crate) child: usize,
}

/// The entry of a child: an index, a key, a field name, or what a flatten function called it.
pub(crate) fn entry_of<'py>(
    py: Python<'py>,
    node: &Node,
    slots: &[Option<Py<PyAny>>],
    child: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let index = || Ok(child.into_pyobject(py)?.into_any());
    let slot =
        |number: usize| slots.get(node.slots_at as usize + number).and_then(Option::as_ref).map(|slot| slot.bind(py));
    if let Some(first) = node.kind.first_key() {
        return slot(first + child).map_or_else(index, |key| Ok(key.clone()));
    }
    match node.kind {
        Kind::NamedTuple => {
            let fields = slot(0).map(|cls| cls.getattr(intern!(py, "_fields"))).transpose()?;
            let field = fields.as_ref().and_then(|fields| fields.cast::<PyTuple>().ok()?.get_item(child).ok());
            field.map_or_else(index, Ok)
        }
        Kind::Dataclass => {
            let registration = slot(0).and_then(|registration| registration.cast::<Registration>().ok());
            match registration.map(|registration| &registration.get().manner) {
                Some(Manner::Fields { data, .. }) => {
                    data.get(child).map_or_else(index, |name| Ok(name.bind(py).clone().into_any()))
                }
                _ => index(),
            }
        }
        Kind::Custom => {
            let entry = slot(2).and_then(|entries| entries.cast::<PyTuple>().ok()?.get_item(child).ok());
            entry.map_or_else(index, Ok)
        }
        _ => index(),
    }
}

/// How an entry is written in a path.
fn entry_text(py: Python<'_>, node: &Node, slots: &[Option<Py<PyAny>>], child: usize) -> String {
    let Ok(entry) = entry_of(py, node, slots, child) else {
        return format!("[{child}]");
    };
    match node.kind {
        Kind::NamedTuple | Kind::Dataclass if entry.is_instance_of::<PyString>() => format!(".{entry}"),
        Kind::Custom => {
            let has_entries = slots.get(node.slots_at as usize + 2).is_some_and(Option::is_some);
            let is_name = entry.cast::<PyString>().is_ok_and(|name| {
                name.call_method0(intern!(py, "isidentifier")).and_then(|answer| answer.is_truthy()).unwrap_or(false)
            });
            match (has_entries, is_name) {
                (false, _) => format!("[<flat index {child}>]"),
                (true, true) => format!(".{entry}"),
                (true, false) => format!("[{}]", key_text(&entry)),
            }
        }
        kind if kind.first_key().is_some() => format!("[{}]", key_text(&entry)),
        _ => format!("[{child}]"),
    }
}

/// How a key is written: plain values by their repr, others with their class in front.
fn key_text(key: &Bound<'_, PyAny>) -> String {
    let class = key.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    match key.repr() {
        Ok(text) if is_plain(key) => text.to_string_lossy().into_owned(),
        Ok(text) => format!("<{class} {}>", text.to_string_lossy()),
        Err(_) => format!("<{class}>"),
    }
}

/// Whether it is None, a bool, number, str or bytes, or a tuple of such values.
fn is_plain(key: &Bound<'_, PyAny>) -> bool {
    let mut left = vec![key.clone()];
    while let Some(value) = left.pop() {
        if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            left.extend(tuple.iter());
            continue;
        }
        let plain = value.is_none()
            || value.is_exact_instance_of::<PyString>()
            || value.is_exact_instance_of::<PyInt>()
            || value.is_exact_instance_of::<PyBool>()
            || value.is_exact_instance_of::<PyFloat>()
            || value.is_exact_instance_of::<PyComplex>()
            || value.is_exact_instance_of::<PyBytes>();
        if !plain {
            return false;
        }
    }
    true
}

/// The text of the path through these places.
#[cold]
pub(crate) fn key_path(py: Python<'_>, nodes: &[Node], slots: &[Option<Py<PyAny>>], places: &[Place]) -> KeyPath {
    KeyPath::new(places.iter().map(|place| entry_text(py, &nodes[place.node], slots, place.child)).collect())
}

impl Graph {
    /// The entries of the root's children.
    pub(crate) fn entries<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        if self.is_leaf() {
            return Ok(Vec::new());
        }
        let root = self.root();
        (0..root.arity as usize).map(|child| entry_of(py, root, self.slots.as_slice(), child)).collect()
    }

    /// The path of every leaf, as a tuple of entries.
    pub(crate) fn paths<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let mut paths = Vec::with_capacity(self.num_leaves);
        // The open containers: their index, and the next child.
        let mut open: Vec<Place> = Vec::new();
        let mut entries: Vec<Bound<'py, PyAny>> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if node.is_leaves() {
                for _ in 0..node.arity {
                    self.step_in(py, &mut open, &mut entries)?;
                    paths.push(PyTuple::new(py, &entries)?);
                    entries.truncate(open.len().saturating_sub(1));
                }
            } else {
                self.step_in(py, &mut open, &mut entries)?;
                open.push(Place { node: index, child: 0 });
            }
            while open.last().is_some_and(|place| place.child == self.nodes[place.node].arity as usize) {
                open.pop();
                entries.truncate(open.len().saturating_sub(1));
            }
        }
        Ok(paths)
    }

    /// Adds the entry of the innermost container's next child.
    fn step_in<'py>(&self, py: Python<'py>, open: &mut [Place], entries: &mut Vec<Bound<'py, PyAny>>) -> PyResult<()> {
        if let Some(place) = open.last_mut() {
            entries.push(entry_of(py, &self.nodes[place.node], self.slots.as_slice(), place.child)?);
            place.child += 1;
        }
        Ok(())
    }
}

impl Graph {
    /// The path of a leaf by its number.
    #[cold]
    pub(crate) fn path_of_leaf(&self, py: Python<'_>, leaf: usize) -> KeyPath {
        let mut open: Vec<Place> = Vec::new();
        let mut seen = 0;
        for (index, node) in self.nodes.iter().enumerate() {
            let step = |open: &mut Vec<Place>, count: usize| {
                if let Some(place) = open.last_mut() {
                    place.child += count;
                }
            };
            if !node.is_leaves() {
                step(&mut open, 1);
                open.push(Place { node: index, child: 0 });
            } else if leaf < seen + node.arity as usize {
                step(&mut open, leaf - seen + 1);
                break;
            } else {
                seen += node.arity as usize;
                step(&mut open, node.arity as usize);
            }
            while open.last().is_some_and(|place| place.child == self.nodes[place.node].arity as usize) {
                open.pop();
            }
        }
        // Each place has counted the child it is at.
        for place in &mut open {
            place.child -= 1;
        }
        key_path(py, &self.nodes, self.slots.as_slice(), &open)
    }
}
