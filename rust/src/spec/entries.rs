//! The entries that lead from a container to its children, and the path of one place.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple, PyType};

use super::Graph;
use crate::errors::{KeyPath, left_out};
use crate::ffi::{RefVec, int_of, list_from};
use crate::keys::{
    DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey, is_identifier, key_of_entry, text_of_key,
};
use crate::limits::Interrupts;
use crate::registry::{Manner, Registration};
use crate::structure::{Kind, Node};

/// A key takes some steps' time to make.
pub(super) const PER_STEP: usize = 4;

/// A child of a container, on the way to some place in a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) node: usize,
    pub(crate) child: usize,
}

/// What the children of a root are called in messages, where they have names: the parameters of a call.
pub(crate) type Names<'a> = Option<&'a Py<PyTuple>>;

/// The class of a node, for messages: `list`, `Point`.
pub(crate) fn node_name(py: Python<'_>, node: &Node, slots: &[Option<Py<PyAny>>]) -> String {
    let first = slots.first().and_then(Option::as_ref).map(|slot| slot.bind(py));
    match (node.kind, first) {
        (Kind::NamedTuple, Some(cls)) => {
            let name = cls.cast::<PyType>().ok().and_then(|cls| cls.name().ok());
            name.map_or_else(|| "namedtuple".to_owned(), |name| name.to_string())
        }
        (kind, Some(registration)) if kind.is_registered() => registration
            .cast::<Registration>()
            .map_or_else(|_| "a class".to_owned(), |registration| registration.get().class_name(py)),
        (Kind::OrderedDict, _) => "OrderedDict".to_owned(),
        (Kind::None, _) => "None".to_owned(),
        (kind, _) => kind.name().to_owned(),
    }
}

/// The entry of a child: an index, a key, a field name, or what a flatten function called it.
pub(crate) fn entry_of<'py>(
    py: Python<'py>,
    node: &Node,
    slots: &[Option<Py<PyAny>>],
    child: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let index = || int_of(py, child);
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

/// The key of a child.
pub(super) fn key_of<'py>(
    py: Python<'py>,
    node: &Node,
    slots: &[Option<Py<PyAny>>],
    child: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let entry = entry_of(py, node, slots, child)?;
    match node.kind {
        // A class that was made by hand may have names that are none of an attribute.
        Kind::NamedTuple if entry.is_instance_of::<PyString>() && !is_identifier(&entry) => MappingKey::new_key(entry),
        Kind::NamedTuple if entry.is_instance_of::<PyString>() => GetAttrKey::new_key(entry),
        Kind::Dataclass => DataclassKey::new_key(entry),
        Kind::Custom if slots.get(node.slots_at as usize + 2).is_some_and(Option::is_some) => key_of_entry(&entry),
        Kind::Custom => FlattenedIndexKey::new_key(entry),
        kind if kind.first_key().is_some() => MappingKey::new_key(entry),
        _ => SequenceKey::new_key(entry),
    }
}

/// How the key of a child is written; a repr that fails is left out.
pub(crate) fn key_text(py: Python<'_>, node: &Node, slots: &[Option<Py<PyAny>>], child: usize) -> PyResult<String> {
    key_of(py, node, slots, child)
        .and_then(|key| text_of_key(&key))
        .or_else(|raised| left_out(py, raised).and_then(|()| class_of_key(py, node, slots, child)))
}

#[cold]
fn class_of_key(py: Python<'_>, node: &Node, slots: &[Option<Py<PyAny>>], child: usize) -> PyResult<String> {
    match entry_of(py, node, slots, child).and_then(|entry| entry.get_type().name()) {
        Ok(class) => Ok(format!("[<{class}>]")),
        Err(raised) => left_out(py, raised).map(|()| format!("[{child}]")),
    }
}

/// The text of the path through these places.
#[cold]
pub(crate) fn key_path(
    py: Python<'_>,
    nodes: &[Node],
    slots: &[Option<Py<PyAny>>],
    names: Names<'_>,
    places: impl IntoIterator<Item = Place>,
) -> KeyPath {
    let name = |place: &Place| names.filter(|_| place.node == 0)?.bind(py).get_item(place.child).ok();
    KeyPath::new(places.into_iter().map(|place| match name(&place) {
        Some(name) => Ok(name.str()?.to_string_lossy().into_owned()),
        None => key_text(py, &nodes[place.node], slots, place.child),
    }))
}

impl Graph {
    /// The entries of the root's children.
    pub(crate) fn entries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let root = self.root();
        let count = if root.is_leaves() { 0 } else { root.arity as usize };
        let mut interrupts = Interrupts::new();
        let mut entries = RefVec::with_room(count)?;
        for child in 0..count {
            interrupts.after(py, PER_STEP)?;
            entries.push(entry_of(py, root, self.slots.as_slice(), child)?)?;
        }
        list_from(py, &mut entries, 0)
    }

    /// The path of a leaf by its number.
    #[cold]
    pub(crate) fn path_of_leaf(&self, py: Python<'_>, leaf: usize) -> KeyPath {
        self.named_path_of_leaf(py, leaf, None)
    }

    /// The same, from a child of the root by its name.
    #[cold]
    pub(crate) fn named_path_of_leaf(&self, py: Python<'_>, leaf: usize, names: Names<'_>) -> KeyPath {
        let mut seen = 0;
        let holds_it = |node: &Node| {
            seen += if node.is_leaves() { node.arity as usize } else { 0 };
            leaf < seen
        };
        let run = self.nodes.iter().position(holds_it).unwrap_or_default();
        let places = self.ancestors(run, leaf + self.nodes[run].arity as usize - seen);
        key_path(py, &self.nodes, self.slots.as_slice(), names, places)
    }

    /// The path of a node by its index.
    #[cold]
    pub(crate) fn path_of_node(&self, py: Python<'_>, index: usize) -> KeyPath {
        self.named_path_of_node(py, index, None)
    }

    /// The same, from a child of the root by its name.
    #[cold]
    pub(crate) fn named_path_of_node(&self, py: Python<'_>, index: usize, names: Names<'_>) -> KeyPath {
        key_path(py, &self.nodes, self.slots.as_slice(), names, self.ancestors(index, 0))
    }

    /// The containers around a node (or around a leaf, by its number in a run), each with the place of the child that
    /// leads to it.
    fn ancestors(&self, index: usize, leaf: usize) -> impl Iterator<Item = Place> {
        let mut at = 0;
        std::iter::from_fn(move || {
            if at == index {
                return None;
            }
            let (child, next) = self.children_of(at).enumerate().find(|(_, child)| {
                let node = &self.nodes[*child];
                *child <= index && index < *child + node.span as usize
            })?;
            let place = Place { node: at, child: if next == index { child + leaf } else { child } };
            at = next;
            Some(place)
        })
    }
}
