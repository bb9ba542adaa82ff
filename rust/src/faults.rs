//! Faults on purpose, for `make asan`, `make valgrind` and `make test-checked` to catch before they are believed.
//!
//! Built with the feature `faults` alone, never into a wheel that is handed out.

#![allow(unsafe_code)]

use std::hint::black_box;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::ffi::{list_items, raw, type_address};

/// Commits the fault of this name. Where nothing watches, it may return as if nothing had happened.
#[pyfunction]
#[pyo3(name = "_commit_fault")]
pub(crate) fn commit_fault(py: Python<'_>, name: &str) -> PyResult<usize> {
    match name {
        "freed object" => freed_object(py),
        "freed items" => freed_items(py),
        "freed memory" => Ok(freed_memory()),
        "past the end" => Ok(past_the_end()),
        "undefined value" => Ok(undefined_value()),
        "overflow" => Ok(black_box(usize::MAX) + black_box(1)),
        "unchecked index" => Ok(unchecked_index()),
        _ => Err(PyKeyError::new_err(format!("no fault is called {name:?}"))),
    }
}

/// A list's item, borrowed while the list lets go of it.
fn freed_object(py: Python<'_>) -> PyResult<usize> {
    let list = PyList::new(py, [py.get_type::<PyAny>().call0()?])?;
    // SAFETY: none, the slice is in use while Python code runs.
    let item = unsafe { list_items(raw(&list)) }[0];
    list.call_method0("clear")?;
    Ok(type_address(item))
}

/// A list's items, read after the list has moved them.
fn freed_items(py: Python<'_>) -> PyResult<usize> {
    let list = PyList::new(py, [py.None()])?;
    // SAFETY: none, the slice is in use while Python code runs.
    let items = unsafe { list_items(raw(&list)) };
    list.call_method1("extend", ((0..1000).collect::<Vec<_>>(),))?;
    Ok(black_box(items)[0].as_ptr() as usize)
}

fn freed_memory() -> usize {
    let memory = black_box(vec![1_usize; 8]);
    let first = black_box(memory.as_ptr());
    drop(memory);
    // SAFETY: none, the memory is gone.
    unsafe { first.read() }
}

fn past_the_end() -> usize {
    let memory = black_box(vec![1_usize; 8]);
    let first = black_box(memory.as_ptr());
    // SAFETY: none, there are eight.
    unsafe { first.add(8).read() }
}

fn undefined_value() -> usize {
    let memory = Vec::<usize>::with_capacity(8);
    let first = black_box(memory.as_ptr());
    // SAFETY: none, nothing has been written there.
    let value = unsafe { first.read() };
    if black_box(value) > 1 { black_box(1) } else { black_box(0) }
}

fn unchecked_index() -> usize {
    let memory = black_box(vec![1_usize; 8]);
    // SAFETY: none, there are eight.
    unsafe { *memory.get_unchecked(black_box(8)) }
}
