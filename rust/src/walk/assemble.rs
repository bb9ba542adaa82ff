//! Making a container of its children.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::ffi::{self, RefVec};
use crate::limits::{Interrupts, gathered};
use crate::registry::{DroppedDefault, Manner, Registration, builtins};
use crate::structure::{Kind, Node};
use crate::values;

/// So many children are handed to a class of `CPython` at once: it looks at no signals.
const AT_ONCE: usize = 1 << 20;

/// So many fit into a deque before it asks for memory. Where there is none, one that is made of more forgets to say so.
const FIRST_BLOCK: usize = 32;

/// Puts a container in the place of its children, which are the last ones on the stack.
///
/// May run Python code: unflatten functions, descriptors of fields, hash and equality of unusual keys.
#[inline]
pub(super) fn assemble(
    py: Python<'_>,
    node: &Node,
    slots: &[Option<Py<PyAny>>],
    order: Option<&[u32]>,
    template: Option<&Py<PyDict>>,
    stack: &mut RefVec,
) -> PyResult<()> {
    let base = stack.len() - node.arity as usize;
    if let Some(template) = template
        && let Some(copy) = ffi::copy_with_values(template.bind(py), stack, base, order)?
    {
        return stack.push(copy.into_any());
    }
    let made = match node.kind {
        Kind::List => ffi::list_from(py, stack, base)?.into_any(),
        Kind::Tuple => ffi::tuple_from(py, stack, base)?.into_any(),
        Kind::Dict if order.is_none() && node.arity <= MOST_AT_ONCE => {
            let dict = ffi::new_dict(py, node.arity as usize)?.into_any();
            fill_dict(&dict, slots, stack, base)?;
            stack.truncate(py, base);
            dict
        }
        _ => {
            let made = assemble_rare(py, node, slots, order, stack, base)?;
            stack.truncate(py, base);
            made
        }
    };
    stack.push(made)
}

/// Nobody can interrupt the filling of a dict of so many keys, which takes some milliseconds.
const MOST_AT_ONCE: u32 = 1 << 15;

/// Setting a key takes some steps' time.
const PER_KEY: usize = 4;

/// Sets the keys to the children from `base` on.
#[inline]
fn fill_dict(dict: &Bound<'_, PyAny>, keys: &[Option<Py<PyAny>>], stack: &RefVec, base: usize) -> PyResult<()> {
    for (key, value) in keys.iter().zip(&stack.as_slice()[base..]) {
        if let (Some(key), Some(value)) = (key, value) {
            ffi::dict_set(dict, key, value)?;
        }
    }
    Ok(())
}

fn fill_wide_dict(dict: &Bound<'_, PyAny>, keys: &[Option<Py<PyAny>>], stack: &RefVec, base: usize) -> PyResult<()> {
    let mut interrupts = Interrupts::new();
    for (key, value) in keys.iter().zip(&stack.as_slice()[base..]) {
        interrupts.after(dict.py(), PER_KEY)?;
        if let (Some(key), Some(value)) = (key, value) {
            ffi::dict_set(dict, key, value)?;
        }
    }
    Ok(())
}

/// Gives an empty `OrderedDict` the table of its entries, none of which is in its order yet: one that grows looks up all
/// the keys it has, and nobody can interrupt that.
fn make_room(ordered: &Bound<'_, PyAny>, keys: &[Option<Py<PyAny>>], stack: &RefVec, base: usize) -> PyResult<()> {
    let py = ordered.py();
    let entries = ffi::new_dict(py, keys.len())?.into_any();
    fill_wide_dict(&entries, keys, stack, base)?;
    py.get_type::<PyDict>().call_method1(intern!(py, "update"), (ordered, entries))?;
    Ok(())
}

/// The same in the order that the dict had before its keys were sorted.
fn fill_dict_in_order(
    dict: &Bound<'_, PyAny>,
    keys: &[Option<Py<PyAny>>],
    order: &[u32],
    stack: &RefVec,
    base: usize,
) -> PyResult<()> {
    let mut interrupts = Interrupts::new();
    for place in order {
        interrupts.after(dict.py(), PER_KEY)?;
        let place = *place as usize;
        if let (Some(Some(key)), Some(Some(value))) = (keys.get(place), stack.as_slice().get(base + place)) {
            ffi::dict_set(dict, key, value)?;
        }
    }
    Ok(())
}

#[inline(never)]
fn assemble_rare<'py>(
    py: Python<'py>,
    node: &Node,
    slots: &[Option<Py<PyAny>>],
    order: Option<&[u32]>,
    stack: &mut RefVec,
    base: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let slot = |index: usize| match slots.get(index) {
        Some(Some(slot)) => slot.bind(py).clone(),
        _ => py.None().into_bound(py),
    };
    match node.kind {
        Kind::Dict | Kind::DefaultDict => {
            let (dict, keys) = match node.kind {
                Kind::Dict => (ffi::new_dict(py, node.arity as usize)?.into_any(), slots),
                _ => (builtins(py)?.default_dict.bind(py).call1((slot(0),))?, &slots[1..]),
            };
            match order {
                Some(order) => fill_dict_in_order(&dict, keys, order, stack, base)?,
                None => fill_wide_dict(&dict, keys, stack, base)?,
            }
            Ok(dict)
        }
        Kind::OrderedDict => {
            let dict = builtins(py)?.ordered_dict.bind(py).call0()?;
            if node.arity > MOST_AT_ONCE {
                make_room(&dict, slots, stack, base)?;
            }
            let mut interrupts = Interrupts::new();
            for (key, value) in slots.iter().zip(&stack.as_slice()[base..]) {
                interrupts.after(py, PER_KEY)?;
                dict.set_item(key, value)?;
            }
            Ok(dict)
        }
        Kind::Deque => {
            let class = builtins(py)?.deque.bind(py);
            if stack.len() - base < FIRST_BLOCK {
                return class.call1((ffi::tuple_from(py, stack, base)?, slot(0)));
            }
            let deque = class.call1(((), slot(0)))?;
            for start in (base..stack.len()).step_by(AT_ONCE) {
                let places = start..stack.len().min(start + AT_ONCE);
                let part = ffi::tuple_of(py, places.filter_map(|place| stack.take(py, place)))?;
                deque.call_method1(intern!(py, "extend"), (part,))?;
                py.check_signals()?;
            }
            Ok(deque)
        }
        Kind::NamedTuple => ffi::tuple_instance_from(slot(0).cast::<PyType>()?, stack, base),
        Kind::Custom | Kind::Dataclass | Kind::Static => {
            let context = if node.mutable_context { values::thaw(&slot(1))? } else { slot(1) };
            let registration = slot(0).cast_into::<Registration>()?;
            assemble_registered(&registration, context, stack, base)
        }
        _ => Ok(py.None().into_bound(py)),
    }
}

fn assemble_registered<'py>(
    registration: &Bound<'py, Registration>,
    context: Bound<'py, PyAny>,
    stack: &mut RefVec,
    base: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = registration.py();
    let record = registration.get();
    match &record.manner {
        Manner::Functions { unflatten, .. } => {
            let children = ffi::tuple_from(py, stack, base)?;
            unflatten.bind(py).call1((children, context))
        }
        Manner::Fields { data, meta, defaults, init, .. } => {
            let context = context.cast_into::<PyTuple>()?;
            let names = data.iter().chain(meta).map(|name| name.bind(py));
            let children = (base..base + data.len()).filter_map(|index| stack.take(py, index));
            let values = gathered(children.chain(context.iter()))?;
            let cls = record.cls.bind(py);
            if *init {
                let fields = ffi::new_dict(py, values.len())?;
                for (name, value) in names.zip(values) {
                    fields.set_item(name, value)?;
                }
                return cls.call((), Some(&fields));
            }
            let instance = ffi::new_instance(cls)?;
            for (name, value) in names.zip(values) {
                ffi::set_field(&instance, name, &value)?;
            }
            for DroppedDefault { name, value, is_factory } in defaults {
                let value = if *is_factory { value.bind(py).call0()? } else { value.bind(py).clone() };
                ffi::set_field(&instance, name.bind(py), &value)?;
            }
            Ok(instance)
        }
        Manner::Static => Ok(context),
    }
}
