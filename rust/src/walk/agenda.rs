//! The children that are still to be visited.

#![allow(unsafe_code)]

use pyo3::prelude::*;

use crate::errors::no_memory;
use crate::ffi::{Raw, RefVec};

/// Pointers to the children of all open containers, those of the innermost last.
///
/// The first `pinned` entries own a reference. The others are borrowed from a container that was read a moment ago,
/// which is sound as long as no Python code runs: whoever is about to run some calls [`Agenda::pin`] first. An entry
/// that was taken is empty.
#[derive(Default)]
pub(super) struct Agenda {
    items: Vec<Option<Raw>>,
    pinned: usize,
}

// SAFETY: the references are only touched with the GIL held.
unsafe impl Send for Agenda {}
// SAFETY: as above.
unsafe impl Sync for Agenda {}

impl Agenda {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn capacity(&self) -> usize {
        self.items.capacity()
    }

    #[inline]
    pub(super) fn reserve(&mut self, additional: usize) -> PyResult<()> {
        self.items.try_reserve(additional).map_err(no_memory)
    }

    /// Adds a child that its container keeps alive.
    #[inline]
    pub(super) fn push_borrowed(&mut self, child: Raw) -> PyResult<()> {
        self.reserve(1)?;
        self.items.push(Some(child));
        Ok(())
    }

    /// Adds children that their container keeps alive.
    #[inline]
    pub(super) fn extend_borrowed(&mut self, children: &[Raw]) -> PyResult<()> {
        self.reserve(children.len())?;
        self.items.extend(children.iter().map(|child| Some(*child)));
        Ok(())
    }

    /// Adds a child of which nobody else may hold a reference; everything before it must be pinned.
    pub(super) fn push_owned(&mut self, child: Bound<'_, PyAny>) -> PyResult<()> {
        debug_assert_eq!(self.pinned, self.items.len());
        self.reserve(1)?;
        self.items.push(Some(crate::ffi::into_raw(child)));
        self.pinned += 1;
        Ok(())
    }

    /// Makes every entry own its reference: from here on Python code may run.
    #[inline]
    pub(super) fn pin(&mut self) {
        for item in self.items[self.pinned..].iter().flatten() {
            // SAFETY: no Python code ran since the entry was read from its container, so it is alive.
            unsafe { pyo3::ffi::Py_INCREF(item.as_ptr()) };
        }
        self.pinned = self.items.len();
    }

    /// The child at an index, which was not taken yet.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<Raw> {
        self.items[index]
    }

    /// Takes a child: its reference where it is pinned, a new one otherwise.
    #[inline]
    pub(super) fn take_into(&mut self, index: usize, target: &mut RefVec) -> PyResult<()> {
        let Some(child) = self.items[index] else { return Ok(()) };
        if index < self.pinned {
            self.items[index] = None;
            target.push_stolen(child)
        } else {
            target.push_new(child)
        }
    }

    /// Drops the entries from `start` on. Says whether some of them were owned: then finalizers may have run, and
    /// everything before is pinned.
    #[inline]
    pub(super) fn truncate(&mut self, start: usize) -> bool {
        self.items.truncate(start.max(self.pinned));
        let owned = self.pinned > start;
        if owned {
            self.truncate_pinned(start);
        }
        owned
    }

    fn truncate_pinned(&mut self, start: usize) {
        while self.items.len() > start {
            let item = self.items.pop().flatten();
            self.pinned = self.items.len();
            if let Some(item) = item {
                // SAFETY: the reference was the entry's, which has left the agenda.
                unsafe { pyo3::ffi::Py_DECREF(item.as_ptr()) };
            }
        }
    }

    /// The references it owns, for the garbage collector.
    pub(super) fn pinned(&self) -> &[Option<Py<PyAny>>] {
        // SAFETY: `Option<Py>` and `Option<NonNull>` have one layout, and a shared slice can't drop the references.
        unsafe { &*(std::ptr::from_ref(&self.items[..self.pinned]) as *const [Option<Py<PyAny>>]) }
    }
}

impl Drop for Agenda {
    fn drop(&mut self) {
        self.items.truncate(self.pinned);
        // What is left is owned, and a stack of references gives itself back.
        drop(RefVec::from_owned(std::mem::take(&mut self.items)));
    }
}
