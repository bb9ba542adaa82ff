//! Giving references back without recursing on the depth of what they held.

use std::cell::{Cell, RefCell};
use std::mem::{ManuallyDrop, take};

use pyo3::{Bound, Py, PyAny, Python, ffi};

use super::Raw;

/// How deep the end of one object may end another before the rest is put off.
const DEEPEST: u32 = 32;

thread_local! {
    /// How many owners of references are dying inside one another on this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// References that the outermost of them gives back in the end. Nothing is left of it then, so that the thread has
    /// nothing to end: to be told of its end takes memory, without which the process would be ended.
    static PUT_OFF: RefCell<ManuallyDrop<Vec<Raw>>> = const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

/// Gives back the references of an owner that dies. Objects of ours may hold each other in a chain of any length, so
/// from some depth on they wait until the outermost owner is done.
pub(super) fn give_back(references: impl Iterator<Item = Raw>) {
    for reference in references {
        // SAFETY: a live object, the reference to which is its owner's.
        if unsafe { ffi::Py_REFCNT(reference.as_ptr()) } > 1 {
            // Nothing ends with it.
            drop_reference(reference);
        } else {
            end(reference);
        }
    }
}

fn end(reference: Raw) {
    let depth = DEPTH.get();
    if depth >= DEEPEST {
        put_off(reference);
        return;
    }
    DEPTH.set(depth + 1);
    drop_reference(reference);
    if depth == 0 {
        while let Some(reference) = PUT_OFF.with(|put_off| put_off.borrow_mut().pop()) {
            drop_reference(reference);
        }
        drop(PUT_OFF.with(|put_off| take(&mut **put_off.borrow_mut())));
    }
    DEPTH.set(depth);
}

/// Where there is no memory for a reference, its object stays for ever: nobody can be told, and the stack has an end.
fn put_off(reference: Raw) {
    PUT_OFF.with(|put_off| {
        let mut put_off = put_off.borrow_mut();
        if put_off.try_reserve(1).is_ok() {
            put_off.push(reference);
        }
    });
}

fn drop_reference(reference: Raw) {
    // SAFETY: the reference was its owner's, who is dying with the GIL held, and is given back here only.
    unsafe { ffi::Py_DECREF(reference.as_ptr()) };
}

/// A reference in an object that others of its class may be hung on in a chain.
pub(crate) struct Link<T>(Option<Py<T>>);

impl<T> Link<T> {
    pub(crate) fn new(next: Option<Py<T>>) -> Self {
        Self(next)
    }

    pub(crate) fn get(&self) -> Option<&Py<T>> {
        self.0.as_ref()
    }
}

impl Link<PyAny> {
    /// The object; None of Python's where there is none.
    pub(crate) fn bound<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.0.as_ref().map_or_else(|| py.None().into_bound(py), |object| object.bind(py).clone())
    }
}

impl<T> From<Py<T>> for Link<T> {
    fn from(next: Py<T>) -> Self {
        Self(Some(next))
    }
}

impl<T> Drop for Link<T> {
    fn drop(&mut self) {
        if let Some(next) = self.0.take() {
            give_back(Raw::new(next.into_ptr()).into_iter());
        }
    }
}
