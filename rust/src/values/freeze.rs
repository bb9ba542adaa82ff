//! Keeps contexts safe: lists, dicts and sets in them are copied when a tree is flattened and when it is rebuilt.

use hashbrown::{HashMap, HashSet};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PySet, PySlice, PyString, PyTuple};

use super::is_namedtuple_class;
use crate::errors::no_memory;
use crate::ffi::{AddressHash, RefVec, dict_entries, list_from, tuple_from, tuple_instance_from};
use crate::limits::{Grow, Interrupts, gathered};

/// A container being copied: the original, its items, and the copies made so far.
struct Pending<'py> {
    original: Bound<'py, PyAny>,
    items: Vec<Bound<'py, PyAny>>,
    copies: RefVec,
}

/// The value with every list, dict and set in it copied, or nothing where it holds none.
///
/// A value that contains itself is left as it is: it can't be compared or hashed anyway.
pub(crate) fn freeze<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if is_surely_frozen(value) {
        return Ok(None);
    }
    Ok(copy(value)?.filter(|copy| !copy.is(value)))
}

/// A fresh copy of a frozen value, to hand out.
pub(crate) fn thaw<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Ok(copy(value)?.unwrap_or_else(|| value.clone()))
}

fn may_hold(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyTuple>()
        || value.is_exact_instance_of::<PyList>()
        || value.is_exact_instance_of::<PyDict>()
        || value.is_exact_instance_of::<PySet>()
        || value.is_exact_instance_of::<PySlice>()
}

/// Whether it is plain, or a tuple of plain values: most contexts are. Runs no Python code.
pub(crate) fn is_surely_frozen(value: &Bound<'_, PyAny>) -> bool {
    match value.cast_exact::<PyTuple>() {
        Ok(tuple) => is_small_and_plain(tuple) || !tuple.iter_borrowed().any(|item| may_hold(&item)),
        Err(_) => !may_hold(value),
    }
}

/// Whether a tuple holds but a few short strs, numbers, None and the like, and tuples of these.
pub(crate) fn is_small_and_plain(context: &Bound<'_, PyTuple>) -> bool {
    const MOST_ITEMS: usize = 32;
    const LONGEST_TEXT: usize = 256;
    let is_plain = |value: &Bound<'_, PyAny>| match value.cast_exact::<PyString>() {
        Ok(text) => text.len().is_ok_and(|length| length <= LONGEST_TEXT),
        Err(_) => {
            value.is_none()
                || value.is_exact_instance_of::<PyBool>()
                || value.is_exact_instance_of::<PyInt>()
                || value.is_exact_instance_of::<PyFloat>()
        }
    };
    let is_plain_or_tuple = |value: &Bound<'_, PyAny>| match value.cast_exact::<PyTuple>() {
        Ok(tuple) => tuple.len() <= MOST_ITEMS && tuple.iter_borrowed().all(|item| is_plain(&item)),
        Err(_) => is_plain(value),
    };
    context.len() <= MOST_ITEMS && context.iter_borrowed().all(|item| is_plain_or_tuple(&item))
}

/// What a container that can hold a list, dict or set is made of; nothing for other values.
fn items_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let py = value.py();
    if let Ok(list) = value.cast_exact::<PyList>() {
        return gathered(list).map(Some);
    }
    if value.is_exact_instance_of::<PyDict>() {
        let entries = dict_entries(value)?;
        return gathered(entries.into_iter().flat_map(|(key, value)| [key, value])).map(Some);
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        let opened = tuple.is_exact_instance_of::<PyTuple>() || is_namedtuple_class(&tuple.get_type())?;
        return if opened { gathered(tuple).map(Some) } else { Ok(None) };
    }
    if value.is_exact_instance_of::<PySlice>() {
        let names = [intern!(py, "start"), intern!(py, "stop"), intern!(py, "step")];
        return names.iter().map(|name| value.getattr(name)).collect::<PyResult<_>>().map(Some);
    }
    // The members of a set are hashable: no list, dict or set is among them.
    Ok(value.is_exact_instance_of::<PySet>().then(Vec::new))
}

/// A copy, with what can't change in it left as it is; nothing of a value that contains itself.
fn copy<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut stack: Vec<Pending<'py>> = Vec::new();
    let mut around: HashSet<usize, AddressHash> = HashSet::default();
    // What several containers hold is copied once. The originals are held, so that no other value gets their address.
    let mut copied: HashMap<usize, (Bound<'py, PyAny>, Bound<'py, PyAny>), AddressHash> = HashMap::default();
    let mut current = value.clone();
    let mut interrupts = Interrupts::new();
    loop {
        interrupts.after(value.py(), 1)?;
        around.try_reserve(1).map_err(no_memory)?;
        let address = current.as_ptr() as usize;
        let mut done = match copied.get(&address) {
            Some((_, copy)) => Some(copy.clone()),
            None => match items_of(&current)? {
                Some(items) => {
                    if !around.insert(address) {
                        return Ok(None);
                    }
                    stack.grow(Pending { copies: RefVec::with_room(items.len())?, original: current, items })?;
                    None
                }
                None => Some(current),
            },
        };
        loop {
            let Some(top) = stack.last_mut() else {
                return Ok(done);
            };
            if let Some(copy) = done.take() {
                top.copies.push(copy)?;
            }
            if let Some(next) = top.items.get(top.copies.len()) {
                current = next.clone();
                break;
            }
            if let Some(complete) = stack.pop() {
                let original = complete.original.clone();
                around.remove(&(original.as_ptr() as usize));
                let copy = rebuild(complete)?;
                copied.try_reserve(1).map_err(no_memory)?;
                copied.insert(original.as_ptr() as usize, (original, copy.clone()));
                done = Some(copy);
            }
        }
    }
}

fn rebuild(complete: Pending<'_>) -> PyResult<Bound<'_, PyAny>> {
    let Pending { original, items, mut copies } = complete;
    let py = original.py();
    if original.is_exact_instance_of::<PyList>() {
        return Ok(list_from(py, &mut copies, 0)?.into_any());
    }
    if let Ok(dict) = original.cast_exact::<PyDict>() {
        // Copying runs no hash functions; only the values that were copied themselves are set anew.
        let copy = dict.copy()?;
        for (item, copied) in items.chunks_exact(2).zip(copies.as_slice().chunks_exact(2)) {
            if let Some(copied) = copied[1].as_ref().filter(|copied| !copied.is(&item[1])) {
                copy.set_item(&item[0], copied)?;
            }
        }
        return Ok(copy.into_any());
    }
    if original.is_exact_instance_of::<PySet>() {
        return original.call_method0(intern!(py, "copy"));
    }
    if items.iter().zip(copies.as_slice()).all(|(item, copy)| copy.as_ref().is_some_and(|copy| copy.is(item))) {
        return Ok(original);
    }
    if original.is_exact_instance_of::<PySlice>() {
        return py.get_type::<PySlice>().call1(tuple_from(py, &mut copies, 0)?);
    }
    if original.is_exact_instance_of::<PyTuple>() {
        return Ok(tuple_from(py, &mut copies, 0)?.into_any());
    }
    tuple_instance_from(&original.get_type(), &mut copies, 0)
}
