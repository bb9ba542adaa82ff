//! A structure as plain values and back; what comes back is checked like any stranger's data.

use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyInt, PyList, PyTuple, PyType};

use super::algebra::shape_error;
use super::{Graph, Orders};
use crate::errors::{Family, error, no_memory, quote};
use crate::ffi::{RefVec, int_of, interned, list_from, new_dict, tuple_from, tuple_of, tuple_of_all};
use crate::limits::{Interrupts, all_of, gathered};
use crate::registry::{Manner, Registration};
use crate::structure::{Kind, Node, ShapeBuilder, ShapeError};
use crate::values;

/// The first item of a state; a state of a newer version is refused.
const VERSION: u32 = 1;
/// A node in a state: its kind's number, then its arity in little-endian order.
const NODE_BYTES: usize = 5;

type State<'py> = (u32, bool, Bound<'py, PyBytes>, Bound<'py, PyTuple>, Vec<(u32, Vec<u32>)>);

fn unfit(message: &str) -> PyErr {
    Python::attach(|py| error(py, Family::Value, None, message))
}

fn damaged(reason: &str) -> PyErr {
    unfit(&format!("damaged TreeSpec: {reason}"))
}

fn damaged_at(node: usize, reason: &str) -> PyErr {
    damaged(&format!("{reason}, at node {node}"))
}

/// What a builder's refusal says of a state, in the words of `damaged`.
fn misshapen(refusal: ShapeError, damaged: impl FnOnce(&str) -> PyErr) -> PyErr {
    if refusal == ShapeError::NoMemory { shape_error(refusal) } else { damaged(&refusal.to_string()) }
}

fn unless_of_memory(py: Python<'_>, raised: PyErr, reason: &str) -> PyErr {
    if raised.is_instance_of::<PyMemoryError>(py) { raised } else { damaged(reason) }
}

impl Graph {
    /// The structure as numbers, bytes and a tuple of its slots.
    pub(crate) fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let mut interrupts = Interrupts::new();
        let mut slots = RefVec::default();
        for node in &self.nodes {
            interrupts.after(py, 1 + node.slot_range().len())?;
            for (number, slot) in self.slots_of(node).iter().enumerate() {
                let value = slot.as_ref().map_or_else(|| py.None().into_bound(py), |value| value.bind(py).clone());
                // The state may be spoilt by whoever reads it: what can change in it are copies.
                let is_private = node.mutable_context && number == 1;
                slots.push(if is_private { values::thaw(&value)? } else { value })?;
            }
        }
        let slots = tuple_from(py, &mut slots, 0)?;
        let parts = [
            int_of(py, VERSION as usize)?,
            PyBool::new(py, self.none_is_leaf).to_owned().into_any(),
            self.node_bytes(py)?.into_any(),
            slots.into_any(),
            self.order_lists(py)?.into_any(),
        ];
        tuple_of_all(py, &parts)
    }

    /// The nodes, five bytes each: the number of the kind, then the arity in little-endian order.
    pub(super) fn node_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        PyBytes::new_with(py, self.nodes.len() * NODE_BYTES, |bytes| {
            let mut interrupts = Interrupts::new();
            for (node, place) in self.nodes.iter().zip(bytes.chunks_exact_mut(NODE_BYTES)) {
                interrupts.after(py, 1)?;
                place[0] = node.kind as u8;
                place[1..].copy_from_slice(&node.arity.to_le_bytes());
            }
            Ok(())
        })
    }

    fn order_lists<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut interrupts = Interrupts::new();
        let mut orders = RefVec::default();
        for (node, sorted_places) in self.orders.iter() {
            let mut places = RefVec::default();
            for place in sorted_places {
                interrupts.after(py, 1)?;
                places.push(int_of(py, *place as usize)?)?;
            }
            let pair = [int_of(py, node as usize)?, list_from(py, &mut places, 0)?.into_any()];
            orders.push(tuple_of_all(py, &pair)?.into_any())?;
        }
        list_from(py, &mut orders, 0)
    }

    /// The field names of the namedtuples, in the order of the nodes: a class may change before its pickle is read.
    pub(crate) fn namedtuple_fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let namedtuples = self.namedtuples().map(|(_, node)| node);
        let fields = namedtuples.filter_map(|node| Some(self.slot(py, node, 0)?.getattr(intern!(py, "_fields"))));
        tuple_of(py, all_of(fields)?)
    }

    fn namedtuples(&self) -> impl Iterator<Item = (usize, &Node)> {
        self.nodes.iter().enumerate().filter(|(_, node)| node.kind == Kind::NamedTuple)
    }

    /// Refuses a structure whose namedtuples have other fields than these.
    pub(crate) fn check_namedtuple_fields(&self, py: Python<'_>, expected: &Bound<'_, PyAny>) -> PyResult<()> {
        let expected = expected.cast::<PyTuple>().map_err(|_| damaged("the fields of its namedtuples are no tuple"))?;
        let current = self.namedtuple_fields(py)?;
        if current.len() != expected.len() {
            return Err(damaged("the fields of its namedtuples are missing"));
        }
        for ((number, _), (now, then)) in self.namedtuples().zip(current.iter().zip(expected.iter())) {
            if !now.eq(&then)? {
                return Err(unfit(&format!(
                    "node {number}: a namedtuple has other fields than when the TreeSpec was written: {} now, {} then",
                    crate::errors::show(&now)?,
                    crate::errors::show(&then)?
                )));
            }
        }
        Ok(())
    }

    /// The structure of a state.
    pub(crate) fn from_state(py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<Self> {
        let state = state.cast::<PyTuple>().map_err(|_| damaged("its state is no tuple"))?;
        let version: u32 =
            state.get_item(0).and_then(|version| version.extract()).map_err(|_| damaged("no version"))?;
        if version > VERSION {
            return Err(unfit(&format!(
                "this TreeSpec was written with version {version}; this release reads up to {VERSION}: upgrade clika_pytree"
            )));
        }
        let state: State<'_> =
            state.extract().map_err(|unfit| unless_of_memory(py, unfit, "its parts have other types"))?;
        let (_, none_is_leaf, bytes, values, orders) = state;
        let nodes = read_nodes(py, bytes.as_bytes())?;
        let mut reader = SlotReader { values, next: 0, node: 0, slots: RefVec::default() };
        let mut shape = ShapeBuilder::default();
        let mut interrupts = Interrupts::new();
        for (number, (kind, arity)) in nodes.into_iter().enumerate() {
            let refused = |refusal| misshapen(refusal, |reason| damaged_at(number, reason));
            interrupts.after(py, 1 + kind.slots(arity as usize))?;
            if kind == Kind::Leaves {
                shape.leaves(arity).map_err(refused)?;
            } else {
                if kind == Kind::None && none_is_leaf {
                    return Err(damaged_at(number, "None is a node, and the mode says that None is a leaf"));
                }
                reader.node = number;
                let mutable_context = reader.read(py, kind, arity)?;
                shape.container(kind, arity, mutable_context).map_err(refused)?;
            }
        }
        if reader.next != reader.values.len() {
            return Err(damaged("slots are left over"));
        }
        let nodes = shape.finish().map_err(|refusal| misshapen(refusal, damaged))?;
        let orders = read_orders(&nodes, orders)?;
        Self::new(py, nodes, reader.slots.drain_to_slots()?, orders, none_is_leaf)
    }
}

fn read_nodes(py: Python<'_>, bytes: &[u8]) -> PyResult<Vec<(Kind, u32)>> {
    if !bytes.len().is_multiple_of(NODE_BYTES) {
        return Err(damaged("its nodes are cut short"));
    }
    let mut interrupts = Interrupts::new();
    let mut nodes = Vec::new();
    nodes.try_reserve_exact(bytes.len() / NODE_BYTES).map_err(no_memory)?;
    for (number, bytes) in bytes.chunks_exact(NODE_BYTES).enumerate() {
        interrupts.after(py, 1)?;
        let kind = Kind::from_number(bytes[0]).ok_or_else(|| damaged_at(number, "an unknown kind"))?;
        nodes.push((kind, u32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]])));
    }
    Ok(nodes)
}

fn read_orders(nodes: &[Node], orders: Vec<(u32, Vec<u32>)>) -> PyResult<Orders> {
    let mut read = Orders::default();
    let mut last = None;
    for (node, sorted_places) in orders {
        let is_next = last.replace(node).is_none_or(|last| last < node);
        let mut places = gathered(sorted_places.iter().copied())?;
        places.sort_unstable();
        let fits = nodes.get(node as usize).is_some_and(|owner| {
            matches!(owner.kind, Kind::Dict | Kind::DefaultDict) && places.iter().copied().eq(0..owner.arity)
        });
        if !is_next || !fits {
            return Err(damaged_at(node as usize, "a key order that does not belong to a dict"));
        }
        read.add(node, sorted_places.len())?.copy_from_slice(&sorted_places);
    }
    Ok(read)
}

/// Takes the slots of one node after another, checking that they are what its kind needs.
struct SlotReader<'py> {
    values: Bound<'py, PyTuple>,
    next: usize,
    /// The number of the node that is read, for messages.
    node: usize,
    slots: RefVec,
}

impl<'py> SlotReader<'py> {
    fn damaged(&self, reason: &str) -> PyErr {
        damaged_at(self.node, reason)
    }

    /// Reads the slots of a node; says whether its context has lists, dicts or sets.
    fn read(&mut self, py: Python<'py>, kind: Kind, arity: u32) -> PyResult<bool> {
        let arity = arity as usize;
        // The arity may be forged: nothing is asked for before the slots are known to be there.
        if kind.slots(arity) > self.values.len() - self.next {
            return Err(self.damaged("slots are missing"));
        }
        match kind {
            Kind::Leaves | Kind::List | Kind::Tuple => {}
            Kind::None if arity == 0 => {}
            Kind::Dict | Kind::OrderedDict => self.read_keys(py, arity)?,
            Kind::DefaultDict => {
                let factory = self.take()?;
                if !factory.is_none() && !factory.is_callable() {
                    return Err(self.damaged("a defaultdict whose factory can't be called"));
                }
                self.read_keys(py, arity)?;
            }
            Kind::Deque => {
                let maxlen = self.take()?;
                let fits = maxlen.is_none()
                    || maxlen.is_exact_instance_of::<PyInt>()
                        && maxlen
                            .extract::<isize>()
                            .is_ok_and(|most| usize::try_from(most).is_ok_and(|most| arity <= most));
                if !fits {
                    return Err(self.damaged("a deque with an unfit maxlen"));
                }
            }
            Kind::NamedTuple => {
                let cls = self.take()?;
                let is_namedtuple =
                    cls.cast::<PyType>().is_ok_and(|cls| values::is_namedtuple_class(cls).unwrap_or(false));
                if !is_namedtuple || cls.getattr(intern!(py, "_fields"))?.len()? != arity {
                    return Err(self.damaged("a namedtuple whose class is none, or has another number of fields"));
                }
            }
            Kind::Custom => return self.read_custom(arity),
            Kind::Dataclass | Kind::Static => return self.read_record(kind, arity),
            Kind::None => return Err(self.damaged("None with children")),
        }
        Ok(false)
    }

    fn take(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let value = self.values.get_item(self.next).map_err(|_| self.damaged("slots are missing"))?;
        self.next += 1;
        self.slots.push(value.clone())?;
        Ok(value)
    }

    fn take_key(&mut self) -> PyResult<Bound<'py, PyAny>> {
        let key = self.values.get_item(self.next).map_err(|_| self.damaged("slots are missing"))?;
        // Keys written in a program are interned, so that comparing with them mostly compares pointers.
        let key = interned(key);
        self.next += 1;
        self.slots.push(key.clone())?;
        Ok(key)
    }

    fn read_keys(&mut self, py: Python<'py>, arity: usize) -> PyResult<()> {
        let seen = new_dict(py, arity)?;
        let mut interrupts = Interrupts::new();
        for _ in 0..arity {
            interrupts.after(py, 1)?;
            let key = self.take_key()?;
            seen.set_item(&key, py.None()).map_err(|raised| {
                if !raised.is_instance_of::<PyTypeError>(py) {
                    return raised;
                }
                let refusal = self.damaged(&format!("the key {} can't be hashed", quote(&key)));
                refusal.set_cause(py, Some(raised));
                refusal
            })?;
        }
        if seen.len() == arity { Ok(()) } else { Err(self.damaged("a dict with the same key twice")) }
    }

    /// Takes a registration of this kind, and the context after it.
    fn read_class(&mut self, kind: Kind) -> PyResult<(Bound<'py, Registration>, bool, Bound<'py, PyAny>)> {
        let registration =
            self.take()?.cast_into::<Registration>().map_err(|_| self.damaged("a class that is not registered"))?;
        if registration.get().node_kind() != kind {
            return Err(unfit(&format!(
                "node {}: {} was a {} when the TreeSpec was written and is registered as {} now",
                self.node,
                registration.get().class_name(registration.py()),
                kind.name(),
                registration.get().node_kind().name()
            )));
        }
        let context = self.values.get_item(self.next).map_err(|_| self.damaged("slots are missing"))?;
        self.next += 1;
        // A static object is its own context and comes back as it is.
        let frozen = if kind == Kind::Static { None } else { values::freeze(&context)? };
        let is_mutable = frozen.is_some();
        let context = frozen.unwrap_or(context);
        self.slots.push(context.clone())?;
        Ok((registration, is_mutable, context))
    }

    fn read_custom(&mut self, arity: usize) -> PyResult<bool> {
        let (_, is_mutable, _) = self.read_class(Kind::Custom)?;
        let entries = self.values.get_item(self.next).map_err(|_| self.damaged("slots are missing"))?;
        self.next += 1;
        match entries.cast_exact::<PyTuple>() {
            Ok(names) if names.len() == arity => self.slots.push(entries.clone())?,
            _ if entries.is_none() => self.slots.push_gap()?,
            _ => return Err(self.damaged("entries that do not name the children")),
        }
        Ok(is_mutable)
    }

    fn read_record(&mut self, kind: Kind, arity: usize) -> PyResult<bool> {
        let (registration, is_mutable, context) = self.read_class(kind)?;
        let fits = match &registration.get().manner {
            Manner::Fields { data, meta, .. } => {
                data.len() == arity && context.cast_exact::<PyTuple>().is_ok_and(|values| values.len() == meta.len())
            }
            _ => arity == 0 && context.get_type().is(registration.get().cls.bind(context.py())),
        };
        if !fits {
            return Err(unfit(&format!(
                "node {}: the fields of {} are others than when the TreeSpec was written",
                self.node,
                registration.get().class_name(registration.py())
            )));
        }
        Ok(is_mutable)
    }
}
