//! The order in which dicts had their keys.

use pyo3::PyResult;

use crate::errors::no_memory;

/// The orders of the dicts whose leaves were taken by sorted key. Only rebuilding looks at them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Orders {
    /// In the order of the nodes.
    dicts: Vec<Dict>,
    /// Of one dict after another: for its i-th key the place of that key among the sorted ones.
    places: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dict {
    node: u32,
    /// Where its places begin.
    start: usize,
}

impl Orders {
    pub(crate) fn is_empty(&self) -> bool {
        self.dicts.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.dicts.clear();
        self.places.clear();
    }

    /// Adds a dict of so many keys after all others, and gives its places to be written.
    pub(crate) fn add(&mut self, node: u32, keys: usize) -> PyResult<&mut [u32]> {
        debug_assert!(self.dicts.last().is_none_or(|last| last.node < node));
        let start = self.places.len();
        self.places.try_reserve(keys).map_err(no_memory)?;
        self.dicts.try_reserve(1).map_err(no_memory)?;
        self.places.resize(start + keys, 0);
        self.dicts.push(Dict { node, start });
        Ok(&mut self.places[start..])
    }

    /// Adds the orders of a range of nodes of another structure, which stand `length` nodes into this one.
    pub(crate) fn add_from(&mut self, other: &Self, nodes: std::ops::Range<usize>, length: usize) -> PyResult<()> {
        let first = other.dicts.partition_point(|dict| (dict.node as usize) < nodes.start);
        for (node, places) in other.iter_from(first).take_while(|(node, _)| (*node as usize) < nodes.end) {
            // The sum fits: the builder checks every index.
            let node = u32::try_from(node as usize - nodes.start + length).unwrap_or(u32::MAX);
            self.add(node, places.len())?.copy_from_slice(places);
        }
        Ok(())
    }

    /// Drops those of the nodes from `node` on.
    pub(crate) fn drop_from(&mut self, node: u32) {
        let left = self.dicts.partition_point(|dict| dict.node < node);
        if let Some(first) = self.dicts.get(left) {
            self.places.truncate(first.start);
            self.dicts.truncate(left);
        }
    }

    /// The places of a node that was flattened by sorted key, and had its keys in another order.
    #[inline]
    pub(crate) fn of(&self, node: usize) -> Option<&[u32]> {
        if self.dicts.is_empty() {
            return None;
        }
        let found = self.dicts.binary_search_by_key(&node, |dict| dict.node as usize).ok()?;
        Some(self.places_of(found))
    }

    /// The number of each node with its places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.iter_from(0)
    }

    fn iter_from(&self, first: usize) -> impl Iterator<Item = (u32, &[u32])> {
        (first..self.dicts.len()).map(|index| (self.dicts[index].node, self.places_of(index)))
    }

    fn places_of(&self, index: usize) -> &[u32] {
        let end = self.dicts.get(index + 1).map_or(self.places.len(), |next| next.start);
        &self.places[self.dicts[index].start..end]
    }

    /// In no more memory than it takes.
    pub(crate) fn take_exactly(&mut self) -> PyResult<Self> {
        if self.is_empty() {
            return Ok(Self::default());
        }
        let taken = Self {
            dicts: crate::limits::exactly(&self.dicts)?.into_vec(),
            places: crate::limits::exactly(&self.places)?.into_vec(),
        };
        self.clear();
        Ok(taken)
    }

    /// The bytes of its arrays.
    pub(crate) fn size(&self) -> usize {
        size_of_val(&*self.dicts) + size_of_val(&*self.places)
    }
}
