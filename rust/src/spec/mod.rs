//! The structure of one tree with its Python objects: what a `TreeSpec` is made of.
//!
//! A [`Graph`] is a flat array of nodes and an array of slots (keys, classes, contexts) that it alone owns. It never
//! changes. Hash and equality look at the numbers first and at Python objects last.

mod algebra;
mod draft;
mod entries;
mod equal;
mod fingerprint;
mod html;
mod object;
mod orders;
mod paths;
mod pickle;
mod repr;
mod rewrite;
mod templates;

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use pyo3::Borrowed;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};

pub(crate) use draft::{Draft, NoRoom};
pub(crate) use entries::{Names, Place, entry_of, key_path, key_text, node_name};
pub(crate) use object::{Structure, TreeSpec};
pub(crate) use orders::Orders;
pub(crate) use paths::KeyPaths;
pub(crate) use rewrite::{Where, wrong_result};
pub(crate) use templates::Templates;

use crate::errors::text_of;
use crate::ffi::{self, Entry, Raw, Slots};
use crate::limits::{Interrupts, gathered};
use crate::registry::{Manner, Registration, builtins};
use crate::structure::{Kind, Mixer, Node};
use crate::values::quick_hash;

/// The structure of one tree.
pub(crate) struct Graph {
    /// The first to be dropped.
    entry: Entry,
    pub(crate) nodes: Box<[Node]>,
    pub(crate) slots: Slots,
    pub(crate) orders: Orders,
    pub(crate) num_leaves: usize,
    pub(crate) none_is_leaf: bool,
    /// Covers kinds, arities, classes, and the values that hash without Python code.
    shape_hash: u64,
    /// Some values were left out of `shape_hash`.
    has_open_values: bool,
    /// Nothing in its slots is tracked by the garbage collector.
    is_plain: bool,
    was_rebuilt: AtomicBool,
    made: OnceLock<Box<Made>>,
}

/// What was asked for once and is kept: most structures die without it.
#[derive(Default)]
struct Made {
    value_hash: OnceLock<u64>,
    paths: OnceLock<Py<PyTuple>>,
    key_paths: OnceLock<Py<PyTuple>>,
    templates: OnceLock<Templates>,
}

/// The hash of a structure whose nodes and slots are mixed.
fn shape_hash(mut mixer: Mixer, none_is_leaf: bool) -> u64 {
    mixer.add(u64::from(none_is_leaf));
    mixer.finish()
}

/// Mixes one slot of a node into a hash; says whether its value was left out.
#[inline]
pub(crate) fn mix_slot(py: Python<'_>, mixer: &mut Mixer, kind: Kind, slot: usize, value: Option<Raw>) -> bool {
    let Some(value) = value else {
        return false;
    };
    if kind.is_registered() || kind == Kind::NamedTuple {
        return mix_class_slot(py, mixer, slot, value);
    }
    mix_value(py, mixer, value)
}

#[inline]
fn mix_value(py: Python<'_>, mixer: &mut Mixer, value: Raw) -> bool {
    match quick_hash(py, value) {
        Some(hash) => {
            mixer.add(hash);
            false
        }
        None => true,
    }
}

fn mix_class_slot(py: Python<'_>, mixer: &mut Mixer, slot: usize, value: Raw) -> bool {
    let object = crate::ffi::own(py, value);
    match slot {
        0 => {
            let identity = match object.cast::<Registration>() {
                Ok(registration) => registration.get().identity,
                Err(_) => value.as_ptr() as u64,
            };
            mixer.add(identity);
            false
        }
        1 => mix_value(py, mixer, value),
        // The entries of a custom node name its children; they are no part of the value.
        _ => false,
    }
}

impl Graph {
    /// A structure of nodes and the slots that belong to them.
    pub(crate) fn new(
        py: Python<'_>,
        nodes: Box<[Node]>,
        slots: Slots,
        orders: Orders,
        none_is_leaf: bool,
    ) -> PyResult<Self> {
        let mut interrupts = Interrupts::new();
        let (mut mixer, mut has_open_values, mut num_leaves) = (Mixer::new(0), false, 0);
        for node in &nodes {
            interrupts.after(py, 1)?;
            mixer.add_node(node.kind, node.arity);
            if node.is_leaves() {
                num_leaves += node.arity as usize;
            }
            for (slot, value) in slots.raw()[node.slot_range()].iter().enumerate() {
                interrupts.after(py, 1)?;
                has_open_values |= mix_slot(py, &mut mixer, node.kind, slot, *value);
            }
        }
        let hash = shape_hash(mixer, none_is_leaf);
        Ok(Self::with_hash(nodes, slots, orders, num_leaves, none_is_leaf, hash, has_open_values))
    }

    fn with_hash(
        nodes: Box<[Node]>,
        slots: Slots,
        orders: Orders,
        num_leaves: usize,
        none_is_leaf: bool,
        shape_hash: u64,
        has_open_values: bool,
    ) -> Self {
        Self {
            entry: Entry::default(),
            nodes,
            slots,
            orders,
            num_leaves,
            none_is_leaf,
            shape_hash,
            has_open_values,
            is_plain: false,
            was_rebuilt: AtomicBool::new(false),
            made: OnceLock::new(),
        }
    }

    fn made(&self) -> &Made {
        self.made.get_or_init(Box::default)
    }

    pub(crate) fn root(&self) -> &Node {
        &self.nodes[0]
    }

    /// The bytes of its arrays; the objects in its slots belong to others.
    pub(crate) fn size_of_arrays(&self) -> usize {
        let made =
            self.made.get().map_or(0, |made| size_of::<Made>() + made.templates.get().map_or(0, Templates::size));
        size_of_val(&*self.nodes) + size_of_val(self.slots.raw()) + self.orders.size() + made
    }

    /// Containers and leaves.
    pub(crate) fn num_nodes(&self) -> usize {
        self.num_leaves + self.nodes.iter().filter(|node| !node.is_leaves()).count()
    }

    pub(crate) fn is_leaf(&self) -> bool {
        self.root().is_leaves()
    }

    /// The slots of one node.
    pub(crate) fn slots_of(&self, node: &Node) -> &[Option<Py<PyAny>>] {
        &self.slots.as_slice()[node.slot_range()]
    }

    /// One slot of a node that has it.
    pub(crate) fn slot<'a, 'py>(
        &'a self,
        py: Python<'py>,
        node: &Node,
        slot: usize,
    ) -> Option<Borrowed<'a, 'py, PyAny>> {
        self.slots.get(py, node.slots_at as usize + slot)
    }

    /// The registration of a node of a registered class.
    pub(crate) fn registration<'py>(&self, py: Python<'py>, node: &Node) -> Option<Bound<'py, Registration>> {
        if !node.kind.is_registered() {
            return None;
        }
        self.slot(py, node, 0)?.cast::<Registration>().ok().map(pyo3::Borrowed::to_owned)
    }

    /// Whether the nodes of two equal structures have the very same registrations.
    pub(crate) fn has_same_registrations(&self, other: &Self) -> bool {
        let registered = self.nodes.iter().filter(|node| node.kind.is_registered());
        registered.map(|node| node.slots_at as usize).all(|slot| self.slots.raw()[slot] == other.slots.raw()[slot])
    }

    /// The meta fields of a dataclass, each with its value; other nodes have none.
    pub(crate) fn meta_fields<'py>(
        &self,
        py: Python<'py>,
        node: &Node,
    ) -> impl Iterator<Item = (Bound<'py, PyString>, Bound<'py, PyAny>)> + use<'py> {
        let registration = self.registration(py, node);
        let values =
            self.slot(py, node, 1).and_then(|values| values.cast::<PyTuple>().ok().map(pyo3::Borrowed::to_owned));
        (0..).map_while(move |place| {
            let Manner::Fields { meta, .. } = &registration.as_ref()?.get().manner else { return None };
            Some((meta.get(place)?.bind(py).clone(), values.as_ref()?.get_item(place).ok()?))
        })
    }

    /// The original key order of a node that was flattened in sorted order.
    pub(crate) fn order_of(&self, node: usize) -> Option<&[u32]> {
        self.orders.of(node)
    }

    /// Where each child of a container begins: its node, and its place in a run of leaves.
    pub(crate) fn children_of(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let node = &self.nodes[index];
        let end = index + node.span as usize;
        let mut at = index + 1;
        let mut within = 0;
        std::iter::from_fn(move || {
            if node.is_leaves() || at >= end {
                return None;
            }
            let child = at;
            if self.nodes[at].is_leaves() && within + 1 < self.nodes[at].arity {
                within += 1;
            } else {
                at += self.nodes[at].span as usize;
                within = 0;
            }
            Some(child)
        })
    }

    /// The class of a node; nothing for a run of leaves.
    pub(crate) fn class_of<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Option<Bound<'py, PyType>>> {
        let node = &self.nodes[index];
        Ok(Some(match node.kind {
            Kind::Leaves => return Ok(None),
            Kind::None => py.None().bind(py).get_type(),
            Kind::List => py.get_type::<PyList>(),
            Kind::Tuple => py.get_type::<PyTuple>(),
            Kind::Dict => py.get_type::<PyDict>(),
            Kind::OrderedDict => builtins(py)?.ordered_dict.bind(py).clone(),
            Kind::DefaultDict => builtins(py)?.default_dict.bind(py).clone(),
            Kind::Deque => builtins(py)?.deque.bind(py).clone(),
            Kind::NamedTuple => match self.slot(py, node, 0) {
                Some(cls) => cls.to_owned().cast_into::<PyType>()?,
                None => return Ok(None),
            },
            Kind::Custom | Kind::Dataclass | Kind::Static => {
                return Ok(self.registration(py, node).map(|registration| registration.get().cls.bind(py).clone()));
            }
        }))
    }

    /// The number of children of the root.
    pub(crate) fn num_children(&self) -> usize {
        if self.is_leaf() { 0 } else { self.root().arity as usize }
    }

    /// The namespaces that the nodes used: `""`, one name, or a tuple of names in the order of the nodes.
    pub(crate) fn namespace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut interrupts = Interrupts::new();
        // A dict, for its order and for as many namespaces as there may be classes.
        let used = ffi::new_dict(py, 0)?;
        for node in &self.nodes {
            interrupts.after(py, 1)?;
            if let Some(registration) = self.registration(py, node) {
                let namespace = &registration.get().namespace;
                if !namespace.is_empty() {
                    used.set_item(text_of(py, namespace)?, py.None())?;
                }
            }
        }
        let mut names = gathered(used.iter().map(|(name, _)| name))?;
        match names.len() {
            0 => Ok(text_of(py, "")?.into_any()),
            1 => Ok(names.remove(0)),
            _ => Ok(ffi::tuple_of(py, names)?.into_any()),
        }
    }

    /// Shows every reference to the garbage collector, once.
    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        for slot in self.slots.as_slice() {
            visit.call(slot)?;
        }
        let Some(made) = self.made.get() else { return Ok(()) };
        visit.call(made.paths.get())?;
        visit.call(made.key_paths.get())?;
        made.templates.get().map_or(Ok(()), |templates| templates.traverse(visit))
    }
}
