//! Reading a list, tuple or dict in place.

#![allow(unsafe_code)]

use pyo3::prelude::*;

use super::agenda::Agenda;
use super::walker::Frame;
use crate::ffi::{self, DictTable, Raw};
use crate::registry::Registration;
use crate::structure::Kind;

/// How many containers inside one another are read in place; deeper ones begin anew.
pub(super) const DEEPEST: usize = 128;

/// Wider containers are read child by child, since nobody can interrupt what is read in place.
pub(super) const MOST_AT_ONCE: usize = 1 << 22;

/// A container that is being read in place.
pub(super) struct Cursor {
    pub(super) container: Raw,
    /// The next child, and the one after the last: pointers into the container, good as long as no Python code runs. A
    /// dict may have gaps.
    pub(super) next: *const Option<Raw>,
    pub(super) end: *const Option<Raw>,
    /// Its node, where the structure is kept.
    pub(super) node: u32,
    /// How many words lie between one child and the next.
    pub(super) words: u8,
    pub(super) kind: Kind,
    /// How much of what was gathered belongs to it.
    pub(super) gathered: u16,
}

// SAFETY: the pointers are only followed with the GIL held, and there are no cursors between two steps of a walk.
unsafe impl Send for Cursor {}
// SAFETY: as above.
unsafe impl Sync for Cursor {}

/// The children that cursors stand on where they don't lie in the container as they are read: the fields of dataclasses,
/// and the values of dicts by sorted key, with the keys. The innermost come last; all are borrowed.
///
/// It never grows, since cursors point into it.
#[derive(Default)]
pub(super) struct Gathered {
    fields: Vec<Option<Raw>>,
    /// The entries of a dict while they are sorted.
    entries: Vec<Entry>,
}

/// A key, its value, and its place in the dict.
type Entry = (Raw, Raw, u32);

/// The entries of a dict by sorted key.
pub(super) struct ByKey<'a> {
    pub(super) values: &'a [Option<Raw>],
    pub(super) keys: &'a [Option<Raw>],
    entries: &'a [Entry],
}

impl ByKey<'_> {
    /// Writes, for each key in the order of the dict, its place among the sorted ones.
    pub(super) fn write_places(&self, places: &mut [u32]) {
        for (place, (_, _, original)) in (0..).zip(self.entries) {
            places[*original as usize] = place;
        }
    }
}

// SAFETY: the pointers are only followed with the GIL held, and there are none between two steps of a walk.
unsafe impl Send for Gathered {}
// SAFETY: as above.
unsafe impl Sync for Gathered {}

/// The children of an instance, and its meta fields.
type Fields<'a> = (&'a [Option<Raw>], &'a [Option<Raw>]);

/// How many there is room for; what is wider or deeper is read child by child.
const MOST_FIELDS: usize = 1024;

impl Gathered {
    /// Gathers the fields of a dataclass instance, where they can be read in place: its children and its meta fields.
    #[inline]
    pub(super) fn fields_of(&mut self, py: Python<'_>, record: &Registration, object: Raw) -> Option<Fields<'_>> {
        if self.fields.capacity() == 0 {
            self.fields.try_reserve_exact(MOST_FIELDS).ok()?;
        }
        let before = self.fields.len();
        let children = record.read_fields(py, object, &mut self.fields)?;
        Some(self.fields[before..].split_at(children))
    }

    /// Gathers the values of a dict whose keys are strs by sorted key, and behind them the keys; nothing where that are too
    /// many.
    #[inline]
    pub(super) fn by_sorted_key(&mut self, table: &DictTable) -> Option<ByKey<'_>> {
        let start = self.make_room(table)?;
        self.entries.clear();
        self.entries.extend(table.pairs().zip(0..).map(|((key, value), place)| (key, value, place)));
        self.entries.sort_unstable_by(|left, right| ffi::compare_texts(left.0, right.0));
        self.fields.extend(self.entries.iter().map(|entry| Some(entry.1)));
        self.fields.extend(self.entries.iter().map(|entry| Some(entry.0)));
        let (values, keys) = self.fields[start..].split_at(table.used);
        Some(ByKey { values, keys, entries: &self.entries })
    }

    /// Gathers the same where the dict has these keys, and the places of its own keys among them are these.
    pub(super) fn by_known_key(
        &mut self,
        table: &DictTable,
        expected: &[Option<Raw>],
        places: &[u32],
    ) -> Option<&[Option<Raw>]> {
        let start = self.make_room(table)?;
        if places.len() != table.used || expected.len() != table.used {
            return None;
        }
        self.fields.resize(start + table.used, None);
        for ((key, value), place) in table.pairs().zip(places) {
            let place = *place as usize;
            if !expected.get(place)?.is_some_and(|expected| key == expected || ffi::are_equal_texts(key, expected)) {
                self.fields.truncate(start);
                return None;
            }
            self.fields[start + place] = Some(value);
        }
        self.fields.extend_from_slice(expected);
        Some(&self.fields[start..start + table.used])
    }

    /// Where the entries of a dict begin, for which there is room.
    fn make_room(&mut self, table: &DictTable) -> Option<usize> {
        if !table.texts || self.fields.len() + 2 * table.used > MOST_FIELDS {
            return None;
        }
        if self.fields.capacity() == 0 {
            self.fields.try_reserve_exact(MOST_FIELDS).ok()?;
        }
        self.entries.try_reserve(table.used).ok()?;
        Some(self.fields.len())
    }

    #[inline]
    pub(super) fn drop_last(&mut self, count: usize) {
        self.fields.truncate(self.fields.len().saturating_sub(count));
    }

    pub(super) fn clear(&mut self) {
        self.fields.clear();
    }
}

impl Cursor {
    /// At least the number of children that are left.
    pub(super) fn words_left(&self) -> usize {
        (self.end as usize - self.next as usize) / size_of::<Option<Raw>>()
    }

    /// The same place as a frame of a walk, for when Python code is about to run: the children that are left go on the
    /// agenda. `inner` is the cursor on the child that is open.
    pub(super) fn to_frame(&self, node: u32, inner: Option<&Self>, agenda: &mut Agenda) -> PyResult<Frame> {
        let base = agenda.len();
        // The open child stays on the agenda, where circles are looked for.
        if let Some(inner) = inner {
            agenda.push_borrowed(inner.container)?;
        }
        let next = agenda.len();
        let mut place = self.next;
        while place != self.end {
            // SAFETY: the cursor is before the end of its container, which nothing has changed.
            if let Some(child) = unsafe { *place } {
                agenda.push_borrowed(child)?;
            }
            place = place.wrapping_add(usize::from(self.words));
        }
        Ok(Frame { node, base, next, end: agenda.len() })
    }
}
