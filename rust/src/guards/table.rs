//! Entries by hash, and in the order of their last use.

use hashbrown::{DefaultHashBuilder, HashMap};
use pyo3::prelude::*;

use super::entry::GuardEntry;
use super::guard::{Tensor, Watched, hash_of_facts};
use crate::errors::no_memory;
use crate::limits::{Grow, gathered};

/// Stands for no place.
const NOWHERE: usize = usize::MAX;

/// An entry in its place, with its neighbours in the order of use.
struct Slot {
    entry: Py<GuardEntry>,
    newer: usize,
    older: usize,
}

/// The entries of one structure and the same values, for one choice of what is watched of the tensors.
struct Group {
    mask: Vec<Watched>,
    by_facts: HashMap<u64, Vec<usize>, DefaultHashBuilder>,
}

/// The entries of a cache. All of it happens with the GIL held and runs no Python code; what is taken out is handed out.
#[derive(Default)]
pub(super) struct Table {
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    newest: Option<usize>,
    oldest: Option<usize>,
    groups: HashMap<u64, Vec<Group>, DefaultHashBuilder>,
    len: usize,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The place of the entry that was used last.
    #[inline]
    pub(super) fn newest(&self) -> Option<usize> {
        self.newest
    }

    /// The place of the entry that was used last but one.
    #[inline]
    pub(super) fn second(&self) -> Option<usize> {
        let newest = self.slots.get(self.newest?)?.as_ref()?;
        (newest.older != NOWHERE).then_some(newest.older)
    }

    #[inline]
    pub(super) fn entry(&self, place: usize) -> Option<&Py<GuardEntry>> {
        Some(&self.slots.get(place)?.as_ref()?.entry)
    }

    /// All entries, those used last first.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Py<GuardEntry>> {
        let mut next = self.newest;
        std::iter::from_fn(move || {
            let slot = self.slots.get(next?)?.as_ref()?;
            next = (slot.older != NOWHERE).then_some(slot.older);
            Some(&slot.entry)
        })
    }

    /// The entries for this hash whose facts may be those of these tensors, with their places.
    pub(super) fn candidates(
        &self,
        py: Python<'_>,
        hash: u64,
        tensors: &[Tensor],
    ) -> PyResult<Vec<(usize, Py<GuardEntry>)>> {
        let mut found = Vec::new();
        for group in self.groups.get(&hash).into_iter().flatten().filter(|group| group.mask.len() == tensors.len()) {
            let places = group.by_facts.get(&hash_of_facts(tensors, &group.mask));
            for place in places.into_iter().flatten() {
                if let Some(slot) = &self.slots[*place] {
                    found.grow((*place, slot.entry.clone_ref(py)))?;
                }
            }
        }
        Ok(found)
    }

    /// Makes an entry the one used last, where it is still in its place.
    pub(super) fn use_now(&mut self, place: usize, entry: &Bound<'_, GuardEntry>) {
        let is_there = self.entry(place).is_some_and(|there| there.is(entry));
        if is_there && self.newest != Some(place) {
            self.unlink(place);
            self.link_newest(place);
        }
    }

    /// Adds an entry as the one used last.
    pub(super) fn add(&mut self, entry: &Bound<'_, GuardEntry>) -> PyResult<()> {
        let guards = entry.get();
        self.slots.try_reserve(1).map_err(no_memory)?;
        self.free.try_reserve(1).map_err(no_memory)?;
        self.groups.try_reserve(1).map_err(no_memory)?;
        let mask = gathered(guards.mask.iter().cloned())?;
        let place = self.free.last().copied().unwrap_or(self.slots.len());
        let of_hash = self.groups.entry(guards.hash).or_default();
        let group = of_hash.iter().position(|group| group.mask == mask).unwrap_or(of_hash.len());
        if group == of_hash.len() {
            of_hash.grow(Group { mask, by_facts: HashMap::default() })?;
        }
        let group = &mut of_hash[group];
        group.by_facts.try_reserve(1).map_err(no_memory)?;
        let places = group.by_facts.entry(guards.hash_of_facts).or_default();
        places.try_reserve(1).map_err(no_memory)?;
        // A later entry for the same call comes first.
        places.insert(0, place);
        let slot = Some(Slot { entry: entry.clone().unbind(), newer: NOWHERE, older: NOWHERE });
        if self.free.pop().is_some() {
            self.slots[place] = slot;
        } else {
            self.slots.push(slot);
        }
        self.len += 1;
        self.link_newest(place);
        Ok(())
    }

    /// Takes out the entry that was used longest ago.
    pub(super) fn take_oldest(&mut self, py: Python<'_>) -> Option<Py<GuardEntry>> {
        let place = self.oldest?;
        self.unlink(place);
        let entry = self.slots[place].take()?.entry;
        self.free.push(place);
        self.len -= 1;
        let guards = entry.bind(py).get();
        let of_hash = self.groups.get_mut(&guards.hash)?;
        let index = of_hash.iter().position(|group| group.mask == guards.mask)?;
        let by_facts = &mut of_hash[index].by_facts;
        if let Some(places) = by_facts.get_mut(&guards.hash_of_facts) {
            places.retain(|other| *other != place);
            if places.is_empty() {
                by_facts.remove(&guards.hash_of_facts);
            }
        }
        if by_facts.is_empty() {
            of_hash.remove(index);
        }
        if of_hash.is_empty() {
            self.groups.remove(&guards.hash);
        }
        Some(entry)
    }

    fn link_newest(&mut self, place: usize) {
        let before = self.newest.replace(place);
        if let Some(slot) = &mut self.slots[place] {
            (slot.newer, slot.older) = (NOWHERE, before.unwrap_or(NOWHERE));
        }
        match before {
            Some(before) => self.set(before, |slot| slot.newer = place),
            None => self.oldest = Some(place),
        }
    }

    fn unlink(&mut self, place: usize) {
        let Some(slot) = &self.slots[place] else { return };
        let (newer, older) = (slot.newer, slot.older);
        self.set(newer, |slot| slot.older = older);
        self.set(older, |slot| slot.newer = newer);
        if newer == NOWHERE {
            self.newest = (older != NOWHERE).then_some(older);
        }
        if older == NOWHERE {
            self.oldest = (newer != NOWHERE).then_some(newer);
        }
    }

    fn set(&mut self, place: usize, change: impl FnOnce(&mut Slot)) {
        if let Some(Some(slot)) = self.slots.get_mut(place) {
            change(slot);
        }
    }
}
