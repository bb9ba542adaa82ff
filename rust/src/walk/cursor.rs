//! Reading a list, tuple or dict in place.

#![allow(unsafe_code)]

use pyo3::prelude::*;

use super::agenda::Agenda;
use super::walker::Frame;
use crate::ffi::Raw;
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
    /// How many of the gathered fields are its children.
    pub(super) gathered: u16,
}

// SAFETY: the pointers are only followed with the GIL held, and there are no cursors between two steps of a walk.
unsafe impl Send for Cursor {}
// SAFETY: as above.
unsafe impl Sync for Cursor {}

/// The fields of the dataclasses that cursors stand on, the innermost last: borrowed, as their places are.
///
/// It never grows, since cursors point into it.
#[derive(Default)]
pub(super) struct Gathered {
    fields: Vec<Option<Raw>>,
}

// SAFETY: the pointers are only followed with the GIL held, and there are none between two steps of a walk.
unsafe impl Send for Gathered {}
// SAFETY: as above.
unsafe impl Sync for Gathered {}

/// The children of an instance, and its meta fields.
type Fields<'a> = (&'a [Option<Raw>], &'a [Option<Raw>]);

/// How many fields there is room for; what is wider or deeper is read field by field.
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
