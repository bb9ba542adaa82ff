//! Walking what is made of lists, tuples and dicts without copying anything but the leaves.
//!
//! Most trees, and most parts of the others, hold nothing that could run Python code. There a container is read in
//! place, by a cursor that points into its memory. At the first child that is something else, the cursors become frames
//! of the walk, the children that are left go on its agenda, and the walk goes on from there.

#![allow(unsafe_code)]

use std::ops::Range;

use pyo3::prelude::*;

use super::cursor::{Cursor, DEEPEST, MOST_AT_ONCE};
use super::walker::Walker;
use crate::errors::no_memory;
use crate::ffi::{self, DictTable, Raw, TypeAddress};
use crate::registry::{Class, Registration};
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
    #[expect(clippy::inline_always, reason = "small trees are one dive, and the call counts there")]
    #[inline(always)]
    pub(super) fn dive<const KEEP: bool>(&mut self, py: Python<'_>, root: Raw) -> PyResult<bool> {
        self.cursors.try_reserve(DEEPEST).map_err(no_memory)?;
        self.room = 0;
        self.gathered.clear();
        self.recalled = (0, None);
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
            if let Some(done) = self.cursors.pop() {
                self.gathered.drop_last(usize::from(done.gathered));
            }
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
            let table = unsafe { DictTable::of(container) };
            let Some(table) = table.filter(|table| table.entries <= MOST_AT_ONCE) else { return Ok(Begun::Not) };
            if self.rules.sorted && !table.is_sorted() {
                return self.begin_sorted_dict::<KEEP>(py, container, &table);
            }
            if KEEP {
                self.draft.open_dict(py, &table)?;
            }
            #[expect(clippy::cast_possible_truncation, reason = "2 or 3")]
            let words = table.words as u8;
            (Kind::Dict, table.first_value(), table.end(), words, table.used)
        } else {
            let kind = match class {
                _ if class == ffi::list_address() => Kind::List,
                _ if class == ffi::tuple_address() => Kind::Tuple,
                _ => match self.recall(py, class) {
                    Some(Class::Builtin(Kind::NamedTuple)) => Kind::NamedTuple,
                    Some(Class::Registered(Kind::Dataclass, registration)) => {
                        return self.begin_dataclass::<KEEP>(py, container, registration);
                    }
                    _ => return Ok(Begun::Not),
                },
            };
            // SAFETY: a live list or tuple, by its class; no Python code runs while the cursor is in use.
            let items = unsafe { ffi::items_of(container, kind == Kind::List) };
            if items.len() > MOST_AT_ONCE {
                return Ok(Begun::Not);
            }
            if KEEP {
                let namedtuple = (kind == Kind::NamedTuple).then(|| ffi::class_of(container));
                self.draft.open_sequence(kind, items.len(), namedtuple)?;
            }
            let places = items.as_ptr_range();
            (kind, places.start.cast(), places.end.cast(), 1, items.len())
        };
        self.settle::<KEEP>(
            py,
            Cursor { container, next: first, end, node: self.draft.last_node(), words, kind, gathered: 0 },
            children,
        )
    }

    /// Opens a dict by sorted key, where its keys are strs in another order.
    #[inline(never)]
    fn begin_sorted_dict<const KEEP: bool>(
        &mut self,
        py: Python<'_>,
        container: Raw,
        table: &DictTable,
    ) -> Result<Begun, NoRoom> {
        let Some(sorted) = self.gathered.by_sorted_key(table) else { return Ok(Begun::Not) };
        if KEEP {
            self.draft.open_sorted_dict(sorted.keys, |places| sorted.write_places(places))?;
        }
        let (Range { start, end }, arity) = (sorted.values.as_ptr_range(), table.used);
        self.begin_gathered::<KEEP>(py, container, start..end, Kind::Dict, 2 * arity)
    }

    /// Opens a dataclass instance whose fields can be read in place.
    #[inline(never)]
    fn begin_dataclass<const KEEP: bool>(
        &mut self,
        py: Python<'_>,
        instance: Raw,
        registration: Raw,
    ) -> Result<Begun, NoRoom> {
        // SAFETY: the table owns the registration until Python code runs.
        let record = unsafe { ffi::content::<Registration>(py, registration) };
        let Some((children, meta)) = self.gathered.fields_of(py, record, instance) else { return Ok(Begun::Not) };
        let (range, arity) = (children.as_ptr_range(), children.len());
        let fields = arity + meta.len();
        if KEEP && meta.is_empty() {
            self.draft.open_record(arity, registration, record.identity, ffi::empty_tuple(py))?;
        } else if KEEP {
            let Some(context) = record.plain_context(py, meta).map_err(|_| NoRoom::NoMemory)? else {
                self.gathered.drop_last(fields);
                return Ok(Begun::Not);
            };
            self.draft.open_record(arity, registration, record.identity, ffi::raw(&context))?;
        }
        self.begin_gathered::<KEEP>(py, instance, range, Kind::Dataclass, fields)
    }

    /// Sets a cursor on children that were gathered.
    #[expect(clippy::inline_always, reason = "it is in the innermost loops")]
    #[inline(always)]
    fn begin_gathered<const KEEP: bool>(
        &mut self,
        py: Python<'_>,
        container: Raw,
        children: Range<*const Option<Raw>>,
        kind: Kind,
        gathered: usize,
    ) -> Result<Begun, NoRoom> {
        let Range { start, end } = children;
        #[expect(clippy::cast_possible_truncation, reason = "so many are never gathered")]
        let (all, node) = (gathered as u16, self.draft.last_node());
        let cursor = Cursor { container, next: start, end, node, words: 1, kind, gathered: all };
        let arity = cursor.words_left();
        let begun = self.settle::<KEEP>(py, cursor, arity)?;
        if matches!(begun, Begun::Done) {
            self.gathered.drop_last(gathered);
        }
        Ok(begun)
    }

    /// Takes the leaves at the head of a container that was opened; the cursor stays on the rest.
    #[expect(clippy::inline_always, reason = "it is in the innermost loops, and a call is a tenth of its cost")]
    #[inline(always)]
    fn settle<const KEEP: bool>(
        &mut self,
        py: Python<'_>,
        mut cursor: Cursor,
        children: usize,
    ) -> Result<Begun, NoRoom> {
        self.interrupts.count(children + 1);
        // Every child that is left may be a leaf: of this container, and of those around it.
        let room = self.room + self.cursors.last().map_or(0, Cursor::words_left);
        self.leaves.reserve_quietly(room + children).map_err(|_| NoRoom::NoMemory)?;
        cursor.next = self.take_leaves::<KEEP>(py, cursor.next, cursor.end, usize::from(cursor.words));
        if cursor.next == cursor.end {
            if KEEP {
                self.draft.close_within(cursor.node);
            }
            return Ok(Begun::Done);
        }
        self.room = room;
        self.cursors.push(cursor);
        Ok(Begun::Open)
    }

    /// What a class is.
    #[inline]
    fn recall(&self, py: Python<'_>, class: TypeAddress) -> Option<Class> {
        if self.recalled.0 == class { self.recalled.1 } else { self.rules.scope.known(py, class) }
    }

    /// Whether instances of a class are known to be leaves; what else they are is kept for the next child, which often
    /// asks for the same. Runs no Python code.
    #[inline]
    fn is_known_leaf(&mut self, py: Python<'_>, class: TypeAddress) -> bool {
        if class == ffi::dict_address() || class == ffi::list_address() || class == ffi::tuple_address() {
            return false;
        }
        let known = self.recall(py, class);
        let is_leaf = match known {
            Some(Class::Leaf) => true,
            Some(Class::Builtin(Kind::None)) => self.rules.none_is_leaf,
            _ => false,
        };
        if is_leaf {
            self.last_leaf = class;
        } else {
            self.recalled = (class, known);
        }
        is_leaf
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
        self.gathered.clear();
        self.look_for_circle(py)?;
        self.interruptible(py, 1)
    }

    /// The node of a container of which nothing was recorded so far.
    fn draft_again(&mut self, py: Python<'_>, cursor: &Cursor) -> PyResult<u32> {
        let container = cursor.container;
        // SAFETY: as in `begin`, and nothing has changed since.
        unsafe {
            if cursor.kind == Kind::Dataclass {
                if let Some(Class::Registered(_, registration)) = self.recall(py, ffi::type_address(container)) {
                    let record = ffi::content::<Registration>(py, registration);
                    let arity = usize::from(cursor.gathered) - record.num_meta();
                    // The context of a node that leaves no trace is never looked at.
                    self.draft.open_record(arity, registration, record.identity, ffi::empty_tuple(py))?;
                }
            } else if cursor.kind == Kind::Dict && cursor.gathered > 0 {
                let keys = std::slice::from_raw_parts(cursor.end, usize::from(cursor.gathered) / 2);
                self.draft.open_sorted_dict(keys, |_| ())?;
            } else if cursor.kind != Kind::Dict {
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
