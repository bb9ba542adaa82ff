//! Keeps contexts safe: lists, dicts and sets in them are copied when a tree is flattened and when it is rebuilt.

use hashbrown::{DefaultHashBuilder, HashSet};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PySet, PyTuple};

/// A container being copied: the original, its items, and the copies made so far.
struct Pending<'py> {
    original: Bound<'py, PyAny>,
    items: Vec<Bound<'py, PyAny>>,
    copies: Vec<Bound<'py, PyAny>>,
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

/// Whether it is plain, or a tuple of plain values: most contexts are.
fn is_surely_frozen(value: &Bound<'_, PyAny>) -> bool {
    let is_container = |value: &Bound<'_, PyAny>| {
        value.is_exact_instance_of::<PyTuple>()
            || value.is_exact_instance_of::<PyList>()
            || value.is_exact_instance_of::<PyDict>()
            || value.is_exact_instance_of::<PySet>()
    };
    match value.cast_exact::<PyTuple>() {
        Ok(tuple) => !tuple.iter_borrowed().any(|item| is_container(&item)),
        Err(_) => !is_container(value),
    }
}

/// What a container that can hold a list, dict or set is made of; nothing for other values.
fn items_of<'py>(value: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return Some(tuple.iter().collect());
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        return Some(list.iter().collect());
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        return Some(dict.iter().flat_map(|(key, value)| [key, value]).collect());
    }
    // The members of a set are hashable: no list, dict or set is among them.
    value.is_exact_instance_of::<PySet>().then(Vec::new)
}

/// A copy, with what can't change in it left as it is; nothing of a value that contains itself.
fn copy<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut stack: Vec<Pending<'py>> = Vec::new();
    let mut around: HashSet<usize, DefaultHashBuilder> = HashSet::default();
    let mut current = value.clone();
    loop {
        let mut done = match items_of(&current) {
            Some(items) => {
                if !around.insert(current.as_ptr() as usize) {
                    return Ok(None);
                }
                stack.push(Pending { copies: Vec::with_capacity(items.len()), original: current, items });
                None
            }
            None => Some(current),
        };
        loop {
            let Some(top) = stack.last_mut() else {
                return Ok(done);
            };
            if let Some(copied) = done.take() {
                top.copies.push(copied);
            }
            if let Some(next) = top.items.get(top.copies.len()) {
                current = next.clone();
                break;
            }
            if let Some(complete) = stack.pop() {
                around.remove(&(complete.original.as_ptr() as usize));
                done = Some(rebuild(complete)?);
            }
        }
    }
}

fn rebuild(complete: Pending<'_>) -> PyResult<Bound<'_, PyAny>> {
    let Pending { original, items, copies } = complete;
    let py = original.py();
    if original.is_exact_instance_of::<PyTuple>() {
        if items.iter().zip(&copies).all(|(item, copy)| item.is(copy)) {
            return Ok(original);
        }
        return Ok(PyTuple::new(py, copies)?.into_any());
    }
    if original.is_exact_instance_of::<PyList>() {
        return Ok(PyList::new(py, copies)?.into_any());
    }
    if original.is_exact_instance_of::<PyDict>() {
        let dict = PyDict::new(py);
        for pair in copies.chunks_exact(2) {
            dict.set_item(&pair[0], &pair[1])?;
        }
        return Ok(dict.into_any());
    }
    if let Ok(set) = original.cast_exact::<PySet>() {
        return set.call_method0("copy");
    }
    debug_assert!(original.is_exact_instance_of::<PyFrozenSet>());
    Ok(original)
}
