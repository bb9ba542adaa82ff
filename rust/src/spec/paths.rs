//! The paths of all leaves.

use std::sync::OnceLock;

use hashbrown::HashMap;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use super::entries::{PER_STEP, Place, entry_of, key_of, key_text};
use super::{Graph, Names};
use crate::errors::{no_memory, text_of};
use crate::ffi::{AddressHash, Raw, RefVec, Slots, list_from, tuple_from, tuple_of_all};
use crate::keys::text_of_key;
use crate::limits::{Grow, Interrupts, write};
use crate::structure::{Kind, Node};

/// What makes the step to a child of a node.
type Name<'a, 'py> = &'a mut dyn FnMut(&Node, usize) -> PyResult<Bound<'py, PyAny>>;

/// A walk along a structure that stops at every leaf.
struct Leaves<'a, 'py> {
    graph: &'a Graph,
    /// The node that comes next.
    at: usize,
    /// How many leaves of a run are left.
    left: u32,
    /// The open containers: their index, and the next child.
    open: Vec<Place>,
    steps: Vec<Bound<'py, PyAny>>,
}

impl<'a, 'py> Leaves<'a, 'py> {
    const fn of(graph: &'a Graph) -> Self {
        Self { graph, at: 0, left: 0, open: Vec::new(), steps: Vec::new() }
    }

    /// The path of the next leaf, each step as `name` makes it.
    fn next_path(
        &mut self,
        py: Python<'py>,
        name: Name<'_, 'py>,
        interrupts: &mut Interrupts,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        while self.left == 0 {
            self.close();
            let Some(node) = self.graph.nodes.get(self.at) else { return Ok(None) };
            if node.is_leaves() {
                self.left = node.arity;
            } else {
                self.step_in(name)?;
                interrupts.after(py, PER_STEP)?;
                self.open.grow(Place { node: self.at, child: 0 })?;
            }
            self.at += 1;
        }
        self.left -= 1;
        self.step_in(name)?;
        interrupts.after(py, PER_STEP * (self.steps.len() + 1))?;
        let path = tuple_of_all(py, &self.steps)?;
        self.steps.truncate(self.open.len().saturating_sub(1));
        Ok(Some(path))
    }

    /// Leaves the containers that are done.
    fn close(&mut self) {
        let nodes = &self.graph.nodes;
        while self.open.last().is_some_and(|place| place.child == nodes[place.node].arity as usize) {
            self.open.pop();
            self.steps.truncate(self.open.len().saturating_sub(1));
        }
    }

    /// Names the step to the innermost container's next child.
    fn step_in(&mut self, name: Name<'_, 'py>) -> PyResult<()> {
        if let Some(place) = self.open.last_mut() {
            self.steps.grow(name(&self.graph.nodes[place.node], place.child)?)?;
            place.child += 1;
        }
        Ok(())
    }
}

/// The key paths of a structure, one after the other: millions of them at once would take their time to end.
pub(crate) struct KeyPaths<'a, 'py> {
    /// Those that somebody has asked for before.
    known: Option<&'a Bound<'py, PyTuple>>,
    leaves: Leaves<'a, 'py>,
    keys: SharedKeys<'py>,
    interrupts: Interrupts,
}

impl<'a, 'py> KeyPaths<'a, 'py> {
    pub(crate) fn of(py: Python<'py>, graph: &'a Graph) -> Self {
        let known = graph.made.get().and_then(|made| made.key_paths.get()).map(|paths| paths.bind(py));
        Self { known, leaves: Leaves::of(graph), keys: SharedKeys::default(), interrupts: Interrupts::new() }
    }

    /// The path of a leaf; the leaves have to be asked for in their order.
    pub(crate) fn path_of(&mut self, py: Python<'py>, leaf: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(known) = self.known {
            return known.get_item(leaf).map(Some);
        }
        let Self { leaves, keys, interrupts, .. } = self;
        let graph = leaves.graph;
        let path = leaves.next_path(py, &mut |node, child| keys.key_of(py, node, &graph.slots, child), interrupts)?;
        Ok(path.map(Bound::into_any))
    }
}

impl Graph {
    /// The path of every leaf as a tuple of entries; made once.
    pub(crate) fn paths(&self, py: Python<'_>) -> PyResult<&Py<PyTuple>> {
        remembered(py, &self.made().paths, || {
            self.paths_of(py, &mut |node, child| entry_of(py, node, self.slots.as_slice(), child))
        })
    }

    /// The path of every leaf as a tuple of keys; made once.
    pub(crate) fn key_paths(&self, py: Python<'_>) -> PyResult<&Py<PyTuple>> {
        remembered(py, &self.made().key_paths, || {
            let mut keys = SharedKeys::default();
            self.paths_of(py, &mut |node, child| keys.key_of(py, node, &self.slots, child))
        })
    }

    /// The path of every leaf as text, from a child of the root by its name.
    pub(crate) fn leaf_texts(&self, py: Python<'_>, names: Names<'_>) -> PyResult<Vec<String>> {
        let mut texts = Vec::new();
        let mut name = |node: &Node, child: usize| match names.filter(|_| std::ptr::eq(node, self.root())) {
            Some(names) => names.bind(py).get_item(child),
            None => Ok(text_of(py, &key_text(py, node, self.slots.as_slice(), child)?)?.into_any()),
        };
        let (mut leaves, mut interrupts) = (Leaves::of(self), Interrupts::new());
        while let Some(path) = leaves.next_path(py, &mut name, &mut interrupts)? {
            let mut text = String::new();
            path.iter().try_for_each(|step| write(&mut text, &step.str()?.to_string_lossy()))?;
            texts.grow(text)?;
        }
        Ok(texts)
    }

    /// The path of every leaf as `keystr` writes it.
    pub(crate) fn leaf_names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut keys = SharedKeys::default();
        let mut name = |node: &Node, child: usize| {
            let key = keys.key_of(py, node, &self.slots, child)?;
            Ok(text_of(py, &text_of_key(&key)?)?.into_any())
        };
        let (mut leaves, mut interrupts) = (Leaves::of(self), Interrupts::new());
        let mut names = RefVec::with_room(self.num_leaves)?;
        let mut text = String::new();
        while let Some(path) = leaves.next_path(py, &mut name, &mut interrupts)? {
            text.clear();
            for step in path.iter() {
                write(&mut text, step.cast_into::<PyString>()?.to_str()?)?;
            }
            names.push(text_of(py, &text)?.into_any())?;
        }
        list_from(py, &mut names, 0)
    }

    /// The path of every leaf as a tuple of what `name` makes of each step.
    fn paths_of<'py>(&self, py: Python<'py>, name: Name<'_, 'py>) -> PyResult<Bound<'py, PyTuple>> {
        let mut paths = RefVec::default();
        paths.reserve(self.num_leaves)?;
        let (mut leaves, mut interrupts) = (Leaves::of(self), Interrupts::new());
        while let Some(path) = leaves.next_path(py, name, &mut interrupts)? {
            paths.push(path.into_any())?;
        }
        tuple_from(py, &mut paths, 0)
    }
}

/// The keys of dicts and sequences that were made for one structure: each is used wherever it comes up again.
#[derive(Default)]
struct SharedKeys<'py> {
    of_mappings: HashMap<Raw, Bound<'py, PyAny>, AddressHash>,
    of_sequences: Vec<Bound<'py, PyAny>>,
}

/// Places beyond are not worth remembering.
const SHARED_PLACES: usize = 64;
/// More keys than these are as good as never the same, and millions of them would take their time to end.
const SHARED_KEYS: usize = 1 << 16;

impl<'py> SharedKeys<'py> {
    fn key_of(&mut self, py: Python<'py>, node: &Node, slots: &Slots, child: usize) -> PyResult<Bound<'py, PyAny>> {
        let made = || key_of(py, node, slots.as_slice(), child);
        if let Some(first) = node.kind.first_key()
            && let Some(key) = slots.raw()[node.slots_at as usize + first + child]
        {
            if let Some(known) = self.of_mappings.get(&key) {
                return Ok(known.clone());
            }
            if self.of_mappings.len() >= SHARED_KEYS {
                return made();
            }
            self.of_mappings.try_reserve(1).map_err(no_memory)?;
            return Ok(self.of_mappings.entry(key).or_insert(made()?).clone());
        }
        if !matches!(node.kind, Kind::List | Kind::Tuple | Kind::Deque) || child > self.of_sequences.len() {
            return made();
        }
        if child == self.of_sequences.len() && child < SHARED_PLACES {
            self.of_sequences.grow(made()?)?;
        }
        self.of_sequences.get(child).map_or_else(made, |known| Ok(known.clone()))
    }
}

fn remembered<'a, 'py>(
    py: Python<'py>,
    cell: &'a OnceLock<Py<PyTuple>>,
    make: impl FnOnce() -> PyResult<Bound<'py, PyTuple>>,
) -> PyResult<&'a Py<PyTuple>> {
    if let Some(known) = cell.get() {
        return Ok(known);
    }
    let made = make()?.unbind();
    // Code that ran meanwhile may have come first; the cell is asked again without running any more.
    let refused = cell.set(made).err();
    drop(refused);
    Ok(cell.get_or_init(|| PyTuple::empty(py).unbind()))
}
