//! What is remembered of classes, for one search order of namespaces.

use hashbrown::HashMap;
use pyo3::Python;

use super::Class;
use crate::ffi::{AddressHash, GilCell, TypeAddress};

pub(crate) type AddressMap<V> = HashMap<TypeAddress, V, AddressHash>;

/// One search order of namespaces: the names, then the global registrations. Lives as long as the process.
pub(crate) struct Scope {
    pub(super) namespaces: Vec<String>,
    known: GilCell<Known>,
}

/// What classes turned out to be, as of one state of the registrations.
struct Known {
    generation: u64,
    classes: AddressMap<Class>,
}

impl Scope {
    pub(super) fn new(namespaces: Vec<String>) -> Self {
        let classes = AddressMap::default();
        Self { namespaces, known: GilCell::new(Known { generation: 0, classes }) }
    }

    /// What a class is, where that is known.
    #[inline]
    pub(super) fn recall(&self, py: Python<'_>, class: TypeAddress, generation: u64) -> Option<Class> {
        self.known.with(
            py,
            |known| {
                if known.generation == generation { known.classes.get(&class).copied() } else { None }
            },
        )
    }

    pub(super) fn remember(&self, py: Python<'_>, address: TypeAddress, class: Class, generation: u64) {
        self.known.with(py, |known| {
            if known.generation != generation {
                known.classes.clear();
                known.generation = generation;
            }
            // Where there is no memory for it, the class is looked at again the next time.
            if known.classes.try_reserve(1).is_ok() {
                known.classes.insert(address, class);
            }
        });
    }
}
