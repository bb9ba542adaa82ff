//! Dicts that a structure is rebuilt from again and again.
//!
//! Copying a dict with the right keys and setting its values in place costs a fraction of filling a new one. The dicts
//! are made when a structure is rebuilt for the second time; those of equal keys share one.

use std::sync::atomic::Ordering;

use hashbrown::HashMap;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Graph;
use crate::errors::no_memory;
use crate::ffi::{self, Raw};
use crate::limits::{Grow, Interrupts};
use crate::structure::Kind;

/// Setting a key takes some steps' time.
const PER_KEY: usize = 4;

/// The keys of a dict, and the places in which it had them where they are sorted.
type Keys<'a> = (&'a [Option<Raw>], Option<&'a [u32]>);

/// For each node a dict of its keys, where it is a dict whose keys are exact strs.
pub(crate) struct Templates(Box<[Option<Py<PyDict>>]>);

impl Templates {
    #[inline]
    pub(crate) fn of(&self, node: usize) -> Option<&Py<PyDict>> {
        self.0[node].as_ref()
    }

    pub(super) fn size(&self) -> usize {
        size_of_val(&*self.0)
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.iter().try_for_each(|template| visit.call(template))
    }
}

impl Graph {
    /// The dicts to copy, once the structure has been rebuilt before.
    pub(crate) fn templates(&self, py: Python<'_>) -> PyResult<Option<&Templates>> {
        if let Some(templates) = self.made.get().and_then(|made| made.templates.get()) {
            return Ok(Some(templates));
        }
        if !self.was_rebuilt.swap(true, Ordering::Relaxed) || !ffi::dict_layout_is_known() {
            return Ok(None);
        }
        let made = self.make_templates(py)?;
        let kept = &self.made().templates;
        let refused = kept.set(made).err();
        drop(refused);
        Ok(kept.get())
    }

    fn make_templates(&self, py: Python<'_>) -> PyResult<Templates> {
        let mut by_keys: HashMap<Keys<'_>, Py<PyDict>> = HashMap::new();
        let mut templates = Vec::new();
        let mut interrupts = Interrupts::new();
        for (index, node) in self.nodes.iter().enumerate() {
            interrupts.after(py, node.arity as usize + 1)?;
            let keys = &self.slots.raw()[node.slot_range()];
            let is_text = |key: &Option<Raw>| key.is_some_and(|key| ffi::type_address(key) == ffi::str_address());
            if node.kind != Kind::Dict || keys.is_empty() || !keys.iter().all(is_text) {
                templates.grow(None)?;
                continue;
            }
            let order = self.order_of(index);
            if let Some(known) = by_keys.get(&(keys, order)) {
                templates.grow(Some(known.clone_ref(py)))?;
                continue;
            }
            let template = ffi::new_dict(py, keys.len())?;
            let slots = self.slots_of(node);
            for number in 0..keys.len() {
                interrupts.after(py, PER_KEY)?;
                let place = order.map_or(number, |order| order[number] as usize);
                template.set_item(&slots[place], py.None())?;
            }
            by_keys.try_reserve(1).map_err(no_memory)?;
            by_keys.insert((keys, order), template.clone().unbind());
            templates.grow(Some(template.unbind()))?;
        }
        Ok(Templates(templates.into_boxed_slice()))
    }
}
