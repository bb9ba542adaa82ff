//! Following a structure through a tree without copying anything but the leaves: what [`dive`](super::dive) is to
//! flattening.

#![allow(unsafe_code)]

use std::ops::Range;

use pyo3::prelude::*;

use super::cursor::{Cursor, DEEPEST, MOST_AT_ONCE};
use super::matching::{Matcher, is_same_key};
use crate::errors::no_memory;
use crate::ffi::{self, DictTable, Raw};
use crate::registry::Class;
use crate::structure::{Kind, Node};

/// What became of a container.
enum Begun {
    /// It does not fit its node, or it takes Python code to find that out.
    Not,
    /// There is a cursor on it.
    Open,
    /// Its leaves were taken, and it has nothing else.
    Taken,
}

impl Matcher<'_> {
    /// Follows the structure into a container as far as all is as it should be and no Python code can run; the rest is
    /// left to the walk. `false`, and nothing done, where that is not even so of the container itself.
    pub(super) fn follow(&mut self, py: Python<'_>, root: Raw, index: usize) -> PyResult<bool> {
        self.cursors.try_reserve(DEEPEST).map_err(no_memory)?;
        self.gathered.clear();
        match self.begin(py, root, index)? {
            Begun::Not => return Ok(false),
            Begun::Taken => return Ok(true),
            Begun::Open => {}
        }
        'containers: while let Some(cursor) = self.cursors.last() {
            let (mut next, end, words) = (cursor.next, cursor.end, usize::from(cursor.words));
            while next != end {
                // SAFETY: the cursor is before the end of its container, which nothing has changed.
                let Some(child) = (unsafe { *next }) else {
                    next = next.wrapping_add(words);
                    continue;
                };
                let node = self.graph.nodes[self.at];
                let place = next;
                let begun = if node.is_leaves() {
                    self.make_room(node.arity as usize)?;
                    if self.take_leaves(py, &mut next, words, node.arity) { Begun::Taken } else { Begun::Not }
                } else {
                    next = next.wrapping_add(words);
                    self.set_innermost(next);
                    if self.cursors.len() < DEEPEST { self.begin(py, child, self.at)? } else { Begun::Not }
                };
                match begun {
                    Begun::Taken => self.at += 1,
                    Begun::Open => {
                        self.at += 1;
                        continue 'containers;
                    }
                    Begun::Not => {
                        self.set_innermost(place);
                        return self.leave().map(|()| true);
                    }
                }
            }
            if let Some(done) = self.cursors.pop() {
                self.gathered.drop_last(usize::from(done.gathered));
            }
        }
        Ok(true)
    }

    #[inline]
    fn make_room(&mut self, leaves: usize) -> PyResult<()> {
        if self.leaves.room() < leaves { self.leaves.reserve(leaves) } else { Ok(()) }
    }

    fn set_innermost(&mut self, next: *const Option<Raw>) {
        if let Some(cursor) = self.cursors.last_mut() {
            cursor.next = next;
        }
    }

    /// Takes the next children as leaves, where there is room for them. `false`, and none taken, where they must be leaves and one may be none.
    #[inline]
    fn take_leaves(&mut self, py: Python<'_>, next: &mut *const Option<Raw>, words: usize, count: u32) -> bool {
        let before = self.leaves.len();
        let mut missing = count;
        let mut place = *next;
        while missing > 0 {
            // SAFETY: as many children as the structure has were counted when the cursor was set.
            let child = unsafe { *place };
            place = place.wrapping_add(words);
            let Some(child) = child else { continue };
            if self.strict.is_some() && !self.is_known_leaf(py, child) {
                self.leaves.truncate(py, before);
                return false;
            }
            self.leaves.push_within(child);
            missing -= 1;
        }
        *next = place;
        true
    }

    #[inline]
    fn is_known_leaf(&mut self, py: Python<'_>, child: Raw) -> bool {
        let class = ffi::type_address(child);
        if class != self.last_leaf {
            match self.rules.scope.known(py, class) {
                Some(Class::Leaf) => {}
                Some(Class::Builtin(Kind::None)) if self.rules.none_is_leaf => {}
                _ => return false,
            }
            self.last_leaf = class;
        }
        true
    }

    /// Sets a cursor on a container that fits its node, where finding that out runs no Python code. Of one that has only
    /// leaves these are taken at once.
    #[inline]
    fn begin(&mut self, py: Python<'_>, container: Raw, index: usize) -> PyResult<Begun> {
        let node: &Node = &self.graph.nodes[index];
        let class = ffi::type_address(container);
        let arity = node.arity as usize;
        let fits = match node.kind {
            Kind::Dict => class == ffi::dict_address(),
            Kind::List => class == ffi::list_address(),
            Kind::Tuple => class == ffi::tuple_address(),
            Kind::NamedTuple => self.graph.slots.raw()[node.slots_at as usize] == Some(ffi::class_of(container)),
            Kind::Dataclass => true,
            _ => false,
        };
        if !fits || arity > MOST_AT_ONCE || self.interrupts.are_spent() {
            return Ok(Begun::Not);
        }
        let mut gathered = 0;
        let (next, end, words) = if node.kind == Kind::Dataclass {
            let Some((children, fields)) = self.fields_of(py, container, index) else { return Ok(Begun::Not) };
            gathered = fields;
            (children.start, children.end, 1)
        } else if node.kind == Kind::Dict {
            // SAFETY: a live dict, by its class; no Python code runs while the cursor is in use.
            let Some(table) = (unsafe { DictTable::of(container) }) else { return Ok(Begun::Not) };
            let expected = &self.graph.slots.raw()[node.slot_range()];
            if table.used != arity {
                return Ok(Begun::Not);
            }
            let in_order = !self.rules.sorted || table.is_sorted();
            if !in_order {
                let Some(values) = self.values_by_key(&table, index) else { return Ok(Begun::Not) };
                gathered = 2 * arity;
                (values.start, values.end, 1)
            } else if table.has_keys(expected) {
                (table.first_value(), table.end(), table.words)
            } else {
                return Ok(Begun::Not);
            }
        } else {
            // SAFETY: a live list or tuple, by its class; no Python code runs while the cursor is in use.
            let items = unsafe { ffi::items_of(container, node.kind == Kind::List) };
            if items.len() != arity {
                return Ok(Begun::Not);
            }
            let places = items.as_ptr_range();
            (places.start.cast(), places.end.cast(), 1)
        };
        self.interrupts.count(arity + 1);
        if node.span == 2 && self.graph.nodes[index + 1].is_leaves() {
            self.make_room(arity)?;
            let mut next: *const Option<Raw> = next;
            if self.take_leaves(py, &mut next, words, node.arity) {
                self.at += 1;
                self.gathered.drop_last(gathered);
                return Ok(Begun::Taken);
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "the number of a node; 1, 2 or 3; as many as are gathered")]
        let (node_index, words, gathered) = (index as u32, words as u8, gathered as u16);
        self.cursors.push(Cursor { container, next, end, node: node_index, words, kind: node.kind, gathered });
        Ok(Begun::Open)
    }

    /// The children of a dataclass instance that fits its node, where they can be read in place, and how many fields were
    /// gathered.
    fn fields_of(&mut self, py: Python<'_>, instance: Raw, index: usize) -> Option<(Range<*const Option<Raw>>, usize)> {
        let node = &self.graph.nodes[index];
        let registration = self.graph.registration(py, node)?;
        let context = self.graph.slots.raw()[node.slots_at as usize + 1]?;
        let (children, meta) = self.gathered.fields_of(py, registration.get(), instance)?;
        let fits = children.len() == node.arity as usize && !node.mutable_context && ffi::is_tuple_of(context, meta);
        fits.then_some((children.as_ptr_range(), children.len() + meta.len()))
    }

    /// The values of a dict that has the keys of its node, by sorted key.
    fn values_by_key(&mut self, table: &DictTable, index: usize) -> Option<Range<*const Option<Raw>>> {
        let expected = &self.graph.slots.raw()[self.graph.nodes[index].slot_range()];
        if let Some(places) = self.graph.order_of(index)
            && let Some(values) = self.gathered.by_known_key(table, expected, places)
        {
            return Some(values.as_ptr_range());
        }
        let sorted = self.gathered.by_sorted_key(table)?;
        let same = |(found, expected): (&Option<Raw>, &Option<Raw>)| {
            found.zip(*expected).is_some_and(|(found, expected)| is_same_key(found, expected))
        };
        if !sorted.keys.iter().zip(expected).all(same) {
            self.gathered.drop_last(2 * table.used);
            return None;
        }
        Some(sorted.values.as_ptr_range())
    }

    /// Makes frames of the cursors.
    #[cold]
    #[inline(never)]
    fn leave(&mut self) -> PyResult<()> {
        let mut cursors = std::mem::take(&mut self.cursors);
        self.frames.try_reserve(cursors.len()).map_err(no_memory)?;
        for (index, cursor) in cursors.iter().enumerate() {
            self.frames.push(cursor.to_frame(cursor.node, cursors.get(index + 1), &mut self.agenda)?);
        }
        cursors.clear();
        self.cursors = cursors;
        self.gathered.clear();
        Ok(())
    }
}
