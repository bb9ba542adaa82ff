//! Following a structure into what is not met in every tree: unusual keys, ordered dicts, deques, registered classes.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;

use super::apart::take_apart;
use super::key_order::sorted_places;
use super::matching::Matcher;
use super::mismatch::Mismatch;
use super::reading::{Entry, deque_items, ordered_entries};
use crate::ffi::{self, Raw};
use crate::limits::{CALL, gathered};
use crate::registry::builtins;
use crate::structure::{Kind, Node};

impl Matcher<'_> {
    /// Follows the entries of a dict, comparing its keys by value.
    pub(super) fn open_entries<'py>(
        &mut self,
        py: Python<'py>,
        dict: &Bound<'py, PyAny>,
        entries: Vec<Entry<'py>>,
        index: usize,
        first_key: usize,
    ) -> PyResult<()> {
        let node = self.graph.nodes[index];
        let expected = &self.graph.slots.raw()[node.slots_at as usize + first_key..node.slot_range().end];
        let mut same = entries.len() == expected.len();
        for ((slot, key), (found, _)) in expected.iter().enumerate().zip(&entries) {
            self.interrupts.after(py, 1)?;
            same = same
                && match key {
                    Some(key) => self.same_slot(py, index, first_key + slot, *key, ffi::raw(found))?,
                    None => false,
                };
        }
        if !same {
            let found = gathered(entries.iter().map(|(key, _)| key.clone()))?;
            return Err(self.mismatch(py, &Mismatch::Keys { index, found: dict, keys: &found }));
        }
        let base = self.agenda.len();
        for (_, value) in entries {
            self.agenda.push_owned(value)?;
        }
        self.enter(index, base)
    }

    /// What is not met in every tree.
    #[cold]
    #[inline(never)]
    pub(super) fn open_rare(&mut self, py: Python<'_>, child: Raw, index: usize) -> PyResult<()> {
        self.pin();
        let child = ffi::own(py, child);
        let node = self.graph.nodes[index];
        let builtins = builtins(py)?;
        let has_class = |cls: &Py<PyType>| child.get_type().is(cls.bind(py));
        match node.kind {
            Kind::None if child.is_none() => Ok(()),
            Kind::Dict if ffi::type_address(ffi::raw(&child)) == ffi::dict_address() => {
                self.open_sorted_dict(py, &child, index, 0)
            }
            Kind::DefaultDict if has_class(&builtins.default_dict) => {
                let factory = child.getattr(intern!(py, "default_factory"))?;
                self.check_slot(py, index, 0, &factory, &child)?;
                if self.rules.sorted {
                    self.open_sorted_dict(py, &child, index, 1)
                } else {
                    self.open_dict(py, ffi::raw(&child), index, 1)
                }
            }
            Kind::OrderedDict if has_class(&builtins.ordered_dict) => {
                let entries = ordered_entries(&child, &|| self.here(py))?;
                self.open_entries(py, &child, entries, index, 0)
            }
            Kind::Deque if has_class(&builtins.deque) => {
                let maxlen = child.getattr(intern!(py, "maxlen"))?;
                self.check_slot(py, index, 0, &maxlen, &child)?;
                let items = deque_items(&child, &|| self.here(py))?;
                self.open_owned(py, &child, items, index)
            }
            Kind::Custom | Kind::Dataclass | Kind::Static => self.open_registered(py, &child, index),
            _ => Err(self.mismatch(py, &Mismatch::Class { index, found: &child })),
        }
    }

    fn open_sorted_dict(
        &mut self,
        py: Python<'_>,
        dict: &Bound<'_, PyAny>,
        index: usize,
        first_key: usize,
    ) -> PyResult<()> {
        let entries = ffi::dict_entries(dict)?;
        let keys = gathered(entries.iter().map(|(key, _)| key.clone()))?;
        let by_key = sorted_places(py, &keys, &|| self.here(py))?;
        let entries = gathered(by_key.into_iter().map(|place| entries[place].clone()))?;
        self.open_entries(py, dict, entries, index, first_key)
    }

    fn open_registered(&mut self, py: Python<'_>, child: &Bound<'_, PyAny>, index: usize) -> PyResult<()> {
        let node: Node = self.graph.nodes[index];
        let Some(registration) = self.graph.registration(py, &node) else { return Ok(()) };
        if !child.get_type().is(registration.get().cls.bind(py)) {
            return Err(self.mismatch(py, &Mismatch::Class { index, found: child }));
        }
        self.interrupts.count(CALL);
        let apart = match take_apart(&registration, child) {
            Ok(apart) => apart,
            Err(failure) => return Err(failure.explain(py, &registration, &|| self.here(py))),
        };
        self.check_slot(py, index, 1, &apart.context, child)?;
        self.open_owned(py, child, apart.children, index)
    }

    /// Compares a context, a factory or a maxlen.
    fn check_slot(
        &mut self,
        py: Python<'_>,
        index: usize,
        slot: usize,
        found: &Bound<'_, PyAny>,
        owner: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let expected = self.graph.slots.raw()[self.graph.nodes[index].slots_at as usize + slot];
        let same = match expected {
            Some(expected) if expected == ffi::raw(found) => true,
            Some(expected) => self.same_slot(py, index, slot, expected, ffi::raw(found))?,
            None => found.is_none(),
        };
        if same { Ok(()) } else { Err(self.mismatch(py, &Mismatch::Context { index, slot, found, owner })) }
    }

    fn same_slot(&self, py: Python<'_>, index: usize, slot: usize, ours: Raw, theirs: Raw) -> PyResult<bool> {
        self.graph.same_slot(py, index, slot, ours, theirs, self.rules.names.as_ref())
    }

    fn open_owned<'py>(
        &mut self,
        py: Python<'py>,
        owner: &Bound<'py, PyAny>,
        children: Vec<Bound<'py, PyAny>>,
        index: usize,
    ) -> PyResult<()> {
        if children.len() != self.graph.nodes[index].arity as usize {
            return Err(self.mismatch(py, &Mismatch::Length { index, found: owner, length: children.len() }));
        }
        let base = self.agenda.len();
        for child in children {
            self.agenda.push_owned(child)?;
        }
        self.enter(index, base)
    }
}
