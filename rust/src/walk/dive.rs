//! Walking what is made of lists, tuples and dicts without copying anything but the leaves.
//!
//! Most trees, and most parts of the others, hold nothing that could run Python code. There a container is read in
//! place, by a cursor that points into its memory. At the first child that is something else, the cursors become frames
//! of the walk, the children that are left go on its agenda, and the walk goes on from there.

#![allow(unsafe_code)]

use pyo3::prelude::*;

use super::cursor::{Cursor, DEEPEST, MOST_AT_ONCE};
use super::walker::Walker;
use crate::errors::no_memory;
use crate::ffi::{self, DictTable, Raw, TypeAddress};
use crate::registry::Class;
use crate::spec::NoRoom;
use crate::structure::Kind;

/// What became of a container.
enum Begun {
    /// It can't be read in place; nothing was done.
    Not,
    /// It held leaves only and is closed again.
    Done,
    /// A cursor stands on its first child that is no leaf.
    Open,
}

impl Walker {
    /// Walks the subtree of a container as far as that can run no Python code; the rest is left to the walk. `false`,
    /// and nothing done, where not even the container itself can be read that way.
    pub(super) fn dive<const KEEP: bool>(&mut self, py: Python<'_>, root: Raw) -> PyResult<bool> {
        self.cursors.try_reserve(DEEPEST).map_err(no_memory)?;
        self.room = 0;
        match self.begin::<KEEP>(py, root, ffi::type_address(root))? {
            Begun::Not => return Ok(false),
            Begun::Done => return Ok(true),
            Begun::Open => {}
        }
        let mut at_container = true;
        'containers: while let Some(cursor) = self.cursors.last() {
            let (mut next, end, words, node) = (cursor.next, cursor.end, usize::from(cursor.words), cursor.node);
            if !at_container {
                next = self.take_leaves::<KEEP>(py, next, end, words);
            }
            while next != end {
                if let Some(cursor) = self.cursors.last_mut() {
                    cursor.next = next.wrapping_add(words);
                }
                // SAFETY: the cursor is before the end of its container, and at a child that is no leaf.
                let Some(child) = (unsafe { *next }) else { break };
                let begun = if self.cursors.len() < DEEPEST {
                    self.begin::<KEEP>(py, child, ffi::type_address(child))?
                } else {
                    Begun::Not
                };
                match begun {
                    Begun::Done => next = self.take_leaves::<KEEP>(py, next.wrapping_add(words), end, words),
                    Begun::Open => {
                        at_container = true;
                        continue 'containers;
                    }
                    Begun::Not => {
                        if let Some(cursor) = self.cursors.last_mut() {
                            cursor.next = next;
                        }
                        return self.spill::<KEEP>(py).map(|()| true);
                    }
                }
            }
            if KEEP {
                self.draft.close_within(node);
            }
            self.cursors.pop();
            self.room -= self.cursors.last().map_or(0, Cursor::words_left);
            at_container = false;
        }
        Ok(true)
    }

    /// Takes the leaves that come next; gives the place of the first other child, or the end.
    #[inline]
    fn take_leaves<const KEEP: bool>(
        &mut self,
        py: Python<'_>,
        mut next: *const Option<Raw>,
        end: *const Option<Raw>,
        words: usize,
    ) -> *const Option<Raw> {
        let before = self.leaves.len();
        while next != end {
            // SAFETY: the cursor is before the end of its container, which nothing has changed.
            if let Some(child) = unsafe { *next } {
                let class = ffi::type_address(child);
                if class != self.last_leaf && !self.is_known_leaf(py, class) {
                    break;
                }
                self.leaves.push_within(child);
            }
            next = next.wrapping_add(words);
        }
        if KEEP {
            self.draft.add_leaves(self.leaves.len() - before);
        }
        next
    }

    /// Opens a container that can be read in place and takes the leaves at its head; sets a cursor on the rest.
    #[inline(never)]
    fn begin<const KEEP: bool>(&mut self, py: Python<'_>, container: Raw, class: TypeAddress) -> Result<Begun, NoRoom> {
        if self.interrupts.are_spent() {
            return Ok(Begun::Not);
        }
        let (kind, first, end, words, children) = if class == ffi::dict_address() {
            // SAFETY: a live dict, by its class; no Python code runs while the cursor is in use.
            let table = if self.rules.sorted { None } else { unsafe { DictTable::of(container) } };
            let Some(table) = table.filter(|table| table.entries <= MOST_AT_ONCE) else { return Ok(Begun::Not) };
            if KEEP {
                self.draft.open_dict(py, &table)?;
            }
            (Kind::Dict, table.first_value(), table.end(), table.words, table.used)
        } else {
            let Some(kind) = self.kind_of_sequence(py, class) else { return Ok(Begun::Not) };
            // SAFETY: a live list or tuple, by its class; no Python code runs while the cursor is in use.
            let items = unsafe { ffi::items_of(container, kind == Kind::List) };
            if items.len() > MOST_AT_ONCE {
                return Ok(Begun::Not);
            }
            if KEEP {
                self.draft.open_sequence(
                    kind,
                    items.len(),
                    (kind == Kind::NamedTuple).then(|| ffi::class_of(container)),
                )?;
            }
            let places = items.as_ptr_range();
            (kind, places.start.cast(), places.end.cast(), 1, items.len())
        };
        self.interrupts.count(children + 1);
        // Every child that is left may be a leaf: of this container, and of those around it.
        let room = self.room + self.cursors.last().map_or(0, Cursor::words_left);
        self.leaves.reserve_quietly(room + children).map_err(|_| NoRoom::NoMemory)?;
        let node = self.draft.last_node();
        let next = self.take_leaves::<KEEP>(py, first, end, words);
        if next == end {
            if KEEP {
                self.draft.close_within(node);
            }
            return Ok(Begun::Done);
        }
        self.room = room;
        #[expect(clippy::cast_possible_truncation, reason = "1, 2 or 3")]
        let words = words as u8;
        self.cursors.push(Cursor { container, next, end, node, words, kind });
        Ok(Begun::Open)
    }

    /// What a sequence is that can be read in place.
    #[inline]
    fn kind_of_sequence(&self, py: Python<'_>, class: TypeAddress) -> Option<Kind> {
        if class == ffi::list_address() {
            return Some(Kind::List);
        }
        if class == ffi::tuple_address() {
            return Some(Kind::Tuple);
        }
        match self.rules.scope.known(py, class) {
            Some(Class::Builtin(Kind::NamedTuple)) => Some(Kind::NamedTuple),
            _ => None,
        }
    }

    /// Makes frames of the cursors; the last one stands before the child that is to be visited next.
    #[cold]
    #[inline(never)]
    fn spill<const KEEP: bool>(&mut self, py: Python<'_>) -> PyResult<()> {
        let mut cursors = std::mem::take(&mut self.cursors);
        self.frames.try_reserve(cursors.len()).map_err(no_memory)?;
        for (index, cursor) in cursors.iter().enumerate() {
            let node = if KEEP { cursor.node } else { self.draft_again(py, cursor)? };
            self.frames.push(cursor.to_frame(node, cursors.get(index + 1), &mut self.agenda)?);
        }
        cursors.clear();
        self.cursors = cursors;
        self.look_for_circle(py)?;
        self.interruptible(py, 1)
    }

    /// The node of a container of which nothing was recorded so far.
    fn draft_again(&mut self, py: Python<'_>, cursor: &Cursor) -> PyResult<u32> {
        let container = cursor.container;
        // SAFETY: as in `begin`, and nothing has changed since.
        unsafe {
            if cursor.kind != Kind::Dict {
                let class = (cursor.kind == Kind::NamedTuple).then(|| ffi::class_of(container));
                let arity = ffi::items_of(container, cursor.kind == Kind::List).len();
                self.draft.open_sequence(cursor.kind, arity, class)?;
            } else if let Some(table) = DictTable::of(container) {
                self.draft.open_dict(py, &table)?;
            }
        }
        Ok(self.draft.last_node())
    }
}
