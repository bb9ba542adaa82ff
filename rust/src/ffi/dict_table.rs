//! Reading the table of a dict in place.
//!
//! `PyDict_Next` costs more per entry than all else that a walk does with it. The layout of a dict's table is private to
//! `CPython`, though the same from 3.11 on; it is used only where [`check_layout`] has seen, when the module was loaded,
//! that it is what we take it for.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{Raw, RefVec};

/// The entries of a dict, as they lie in memory.
///
/// Pointers into a table are good as long as no Python code runs.
pub(crate) struct DictTable {
    /// The key of the first entry; its value follows. A removed entry has a null value.
    pub(crate) first_key: *const Option<Raw>,
    /// How many words lie between one key and the next.
    pub(crate) words: usize,
    /// How many entries there are, removed ones among them.
    pub(crate) entries: usize,
    /// How many there are without the removed ones.
    pub(crate) used: usize,
    /// Every key is an exact str whose hash is known.
    pub(crate) texts: bool,
}

/// Whether the layout is the one that is described here.
static IS_KNOWN: AtomicBool = AtomicBool::new(false);

#[cfg(all(Py_3_11, not(Py_3_15), not(Py_GIL_DISABLED), target_pointer_width = "64"))]
mod layout {
    use pyo3::ffi;

    use super::DictTable;
    use crate::ffi::Raw;

    /// What comes before the hash index and the entries of a table.
    #[repr(C)]
    struct Head {
        references: isize,
        log2_size: u8,
        log2_index_bytes: u8,
        kind: u8,
        version: u32,
        usable: isize,
        entries: isize,
    }

    /// Entries of hash, key and value.
    const GENERAL: u8 = 0;
    /// Entries of key and value; every key is an exact str.
    const TEXTS: u8 = 1;
    /// The same, of a table whose values lie in the instances that share it.
    const SHARED: u8 = 2;

    /// # Safety
    /// `dict` is a live dict, and its layout is known.
    #[inline]
    pub(super) unsafe fn read(dict: Raw) -> Option<DictTable> {
        let dict = dict.as_ptr().cast::<ffi::PyDictObject>();
        // SAFETY: the promise of the caller.
        unsafe {
            let head = (*dict).ma_keys.cast::<Head>();
            // A dict of an instance's attributes may have its values elsewhere.
            if !(*dict).ma_values.is_null() {
                return None;
            }
            let (words, before_key) = match (*head).kind {
                TEXTS => (2, 0),
                GENERAL => (3, 1),
                _ => return None,
            };
            Some(DictTable {
                first_key: first_entry(head).add(before_key),
                words,
                entries: (*head).entries.cast_unsigned(),
                used: (*dict).ma_used.cast_unsigned(),
                texts: words == 2,
            })
        }
    }

    /// # Safety
    /// The head of a table.
    #[inline]
    unsafe fn first_entry(head: *const Head) -> *const Option<Raw> {
        // SAFETY: the promise of the caller; the index lies between the head and the entries.
        unsafe { head.add(1).byte_add(1usize << (*head).log2_index_bytes).cast() }
    }

    /// # Safety
    /// `keys` is null or the table that the instances of a class share, and the layout is known.
    pub(super) unsafe fn shared_key(keys: *const std::ffi::c_void, name: Raw) -> Option<usize> {
        let head = keys.cast::<Head>();
        // SAFETY: the promise of the caller.
        unsafe {
            if head.is_null() || (*head).kind != SHARED {
                return None;
            }
            let first = first_entry(head);
            (0..(*head).entries.cast_unsigned()).find(|entry| *first.add(entry * 2) == Some(name))
        }
    }
}

#[cfg(not(all(Py_3_11, not(Py_3_15), not(Py_GIL_DISABLED), target_pointer_width = "64")))]
mod layout {
    use super::DictTable;
    use crate::ffi::Raw;

    #[expect(clippy::missing_safety_doc, reason = "it reads nothing")]
    pub(super) unsafe fn read(_dict: Raw) -> Option<DictTable> {
        None
    }
}

impl DictTable {
    /// The table of a dict, where it can be read in place.
    ///
    /// # Safety
    /// `dict` is a live exact dict; no Python code runs while the table is in use.
    #[inline]
    pub(crate) unsafe fn of(dict: Raw) -> Option<Self> {
        if !IS_KNOWN.load(Ordering::Relaxed) {
            return None;
        }
        // SAFETY: the promise of the caller; the layout was checked.
        unsafe { layout::read(dict) }
    }

    /// The value of the first entry.
    #[inline]
    pub(crate) fn first_value(&self) -> *const Option<Raw> {
        self.first_key.wrapping_add(1)
    }

    /// Where the value of an entry after the last one would be.
    #[inline]
    pub(crate) fn end(&self) -> *const Option<Raw> {
        self.first_value().wrapping_add(self.entries * self.words)
    }

    /// The entries, keys and values, without the removed ones.
    #[inline]
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (Raw, Raw)> {
        let (first, words) = (self.first_key, self.words);
        (0..self.entries).filter_map(move |entry| {
            // SAFETY: every entry lies in the table, which the maker of this promised to leave alone. The key of an entry
            // with a value is never null.
            unsafe {
                let key = first.add(entry * words);
                (*key.add(1)).map(|value| ((*key).unwrap_unchecked(), value))
            }
        })
    }

    /// Whether the keys are strs in sorted order.
    #[inline(never)]
    pub(crate) fn is_sorted(&self) -> bool {
        self.used == 0
            || self.texts && self.pairs().is_sorted_by(|left, right| super::compare_texts(left.0, right.0).is_lt())
    }

    /// Adds a reference to every key, in order, where room for them was reserved, and shows each to `seen`.
    #[inline]
    pub(crate) fn push_keys(&self, target: &mut RefVec, seen: impl FnMut(Raw)) {
        let (first, words) = (self.first_key, self.words);
        // SAFETY: every entry lies in the table, which the maker of this promised to leave alone. The key of an entry
        // with a value is never null.
        unsafe {
            if self.entries == self.used {
                let keys = (0..self.used).map(|entry| (*first.add(entry * words)).unwrap_unchecked());
                target.extend_within(self.used, keys, seen);
            } else {
                let entries = (0..self.entries).map(|entry| first.add(entry * words));
                let keys = entries.filter(|key| (*key.add(1)).is_some()).map(|key| (*key).unwrap_unchecked());
                target.extend_within(self.used, keys, seen);
            }
        }
    }

    /// Whether the keys are these, in this order: the same objects, or exact strs of the same text. Runs no Python code.
    #[inline]
    pub(crate) fn has_keys(&self, expected: &[Option<Raw>]) -> bool {
        let mut place = self.first_key;
        for expected in expected {
            // SAFETY: callers pass as many keys as there are entries with values, all of which lie in the table.
            unsafe {
                while (*place.add(1)).is_none() {
                    place = place.add(self.words);
                }
                let found = *place;
                place = place.wrapping_add(self.words);
                if found != *expected && !same_text(found, *expected) {
                    return false;
                }
            }
        }
        true
    }
}

#[cold]
fn same_text(found: Option<Raw>, expected: Option<Raw>) -> bool {
    found.zip(expected).is_some_and(|(found, expected)| super::are_equal_texts(found, expected))
}

/// The place of an interned name among the attributes that the instances of a class share.
///
/// # Safety
/// `keys` is null or the table of a living class for this.
#[cfg(all(Py_3_11, not(Py_3_15), not(Py_GIL_DISABLED), target_pointer_width = "64"))]
pub(super) unsafe fn shared_key(keys: *const std::ffi::c_void, name: Raw) -> Option<usize> {
    if !dict_layout_is_known() {
        return None;
    }
    // SAFETY: the promise of the caller; the layout was checked.
    unsafe { layout::shared_key(keys, name) }
}

/// Whether dicts can be read in place.
pub(crate) fn dict_layout_is_known() -> bool {
    IS_KNOWN.load(Ordering::Relaxed)
}

/// A dict with the keys of `template` and the references from `start` on as values; nothing, and `values` as it was, where
/// the copy can't be written in place. `order` gives the place of the value of each key of the template.
pub(crate) fn copy_with_values<'py>(
    template: &Bound<'py, PyDict>,
    values: &mut RefVec,
    start: usize,
    order: Option<&[u32]>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let py = template.py();
    let count = values.len() - start;
    // SAFETY: the copy is new and nobody else's: a full table of so many entries, each of which owns the reference that
    // is replaced. Nothing here runs Python code, the freeing of the template's values (None) included.
    unsafe {
        let copy = Bound::from_owned_ptr_or_err(py, ffi::PyDict_Copy(template.as_ptr()))?;
        let Some(table) = DictTable::of(super::raw(&copy)) else { return Ok(None) };
        if table.entries != count || table.used != count {
            return Ok(None);
        }
        let mut place = table.first_value().cast_mut();
        let mut is_collected = false;
        let mut set_next = |value: Option<Raw>| {
            is_collected |= value.is_some_and(super::is_collected);
            if let Some(before) = std::mem::replace(&mut *place, value) {
                ffi::Py_DECREF(before.as_ptr());
            }
            place = place.wrapping_add(table.words);
        };
        if let Some(order) = order {
            for at in order.iter().take(count) {
                // A place that was named before has no value any more.
                let value = values.take(py, start + *at as usize).unwrap_or_else(|| py.None().into_bound(py));
                set_next(Some(super::raw(&ManuallyDrop::new(value))));
            }
            values.truncate(py, start);
        } else {
            values.take_from(start).for_each(set_next);
        }
        // A copy of what holds nothing for the collector is not shown to it.
        if is_collected && ffi::PyObject_GC_IsTracked(copy.as_ptr()) == 0 {
            ffi::PyObject_GC_Track(copy.as_ptr().cast());
        }
        Ok(Some(copy.cast_into_unchecked()))
    }
}

/// Compares some dicts as we read them with what Python says of them; reading in place is left alone where they differ.
pub(crate) fn check_layout(py: Python<'_>) -> PyResult<()> {
    let samples = py.eval(
        c"[{}, {'a': 1}, dict(zip(range(300), range(300))), dict(zip('abcdefghijkl', range(12))),
           (lambda d: (d.pop('b'), d)[1])(dict(zip('abcdefg', range(7)))), {1: 2, 'x': 3}, {'a': 0} | {2: 1}]",
        None,
        None,
    )?;
    for sample in samples.try_iter()? {
        let sample = sample?.cast_into::<PyDict>()?;
        // SAFETY: a live dict, and nothing below runs Python code before the table is done with.
        let Some(table) = (unsafe { layout::read(super::raw(sample.as_any())) }) else { return Ok(()) };
        if table.used != sample.len() || table.entries < table.used || table.entries > 2 * table.used + 1 {
            return Ok(());
        }
        let expected: Vec<(Raw, Raw)> =
            sample.iter().map(|(key, value)| (super::raw(&key), super::raw(&value))).collect();
        let mut place = table.first_key;
        let mut found = 0;
        while place.wrapping_add(1) != table.end() {
            // SAFETY: as above; the number of entries was compared with what Python says.
            let (key, value) = unsafe { (*place, *place.add(1)) };
            place = place.wrapping_add(table.words);
            if let (Some(key), Some(value)) = (key, value) {
                if expected.get(found) != Some(&(key, value)) {
                    return Ok(());
                }
                found += 1;
            }
        }
        if found != expected.len() {
            return Ok(());
        }
    }
    IS_KNOWN.store(true, Ordering::Relaxed);
    Ok(())
}
