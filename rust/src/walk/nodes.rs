//! Opening a container: its node, its slots, and its children on the agenda.

#![allow(unsafe_code)]

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::apart::{Failure, context_of, fields_of, take_apart};
use super::key_order::{MOST_AT_ONCE, sorted_places};
use super::reading::{deque_items, ordered_entries};
use super::walker::Walker;
use crate::ffi::{self, DictEntries, Raw};
use crate::limits::{CALL, gathered};
use crate::registry::{Manner, Registration};
use crate::structure::Kind;

impl Walker {
    /// Opens a built-in container or a namedtuple.
    #[inline]
    pub(super) fn open_builtin<const KEEP: bool>(
        &mut self,
        py: Python<'_>,
        container: Raw,
        kind: Kind,
    ) -> PyResult<()> {
        match kind {
            Kind::Dict if !self.rules.sorted => self.open_dict::<KEEP>(py, container, kind, None),
            Kind::Dict if self.open_sorted_texts::<KEEP>(py, container)? => Ok(()),
            // SAFETY: the class of the container was looked at, and its items are copied before Python code runs.
            Kind::List => self.open_sequence::<KEEP>(py, kind, None, unsafe { ffi::list_items(container) }),
            // SAFETY: as above.
            Kind::Tuple => self.open_sequence::<KEEP>(py, kind, None, unsafe { ffi::tuple_items(container) }),
            Kind::NamedTuple => {
                let cls = ffi::own(py, container).get_type();
                // SAFETY: as above; a namedtuple is a tuple.
                self.open_sequence::<KEEP>(py, kind, Some(cls.as_any()), unsafe { ffi::tuple_items(container) })
            }
            _ => self.open_rare::<KEEP>(py, container, kind),
        }
    }

    /// A list or tuple.
    fn open_sequence<const KEEP: bool>(
        &mut self,
        py: Python<'_>,
        kind: Kind,
        slot: Option<&Bound<'_, PyAny>>,
        items: &[Raw],
    ) -> PyResult<()> {
        let node = self.draft.open(kind, items.len())?;
        if let Some(slot) = slot {
            self.draft.add_slot(kind, 0, slot)?;
        }
        let base = self.agenda.len();
        self.agenda.extend_borrowed(items)?;
        self.enter::<KEEP>(py, node, base)
    }

    /// A dict or defaultdict in insertion order.
    fn open_dict<const KEEP: bool>(
        &mut self,
        py: Python<'_>,
        dict: Raw,
        kind: Kind,
        factory: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let arity = ffi::dict_len(dict);
        let node = self.draft.open(kind, arity)?;
        if let Some(factory) = factory {
            self.draft.add_slot(kind, 0, factory)?;
        }
        let base = self.agenda.len();
        // SAFETY: `dict` is a live dict, and nothing in the loop runs Python code: keys are hashed where that runs none.
        for (key, value) in unsafe { DictEntries::new(dict) } {
            self.draft.add_key(py, key)?;
            self.agenda.push_borrowed(value)?;
        }
        self.interrupts.count(arity);
        self.enter::<KEEP>(py, node, base)
    }

    /// A dict whose keys are strs, by sorted key; `false` where it has others, or too many to sort them at once. No
    /// Python code runs meanwhile.
    fn open_sorted_texts<const KEEP: bool>(&mut self, py: Python<'_>, dict: Raw) -> PyResult<bool> {
        let arity = ffi::dict_len(dict);
        let mut entries = Vec::new();
        if arity > MOST_AT_ONCE || entries.try_reserve_exact(arity).is_err() {
            return Ok(false);
        }
        // SAFETY: `dict` is a live dict, and nothing in the loop runs Python code.
        for ((key, value), place) in unsafe { DictEntries::new(dict) }.zip(0u32..) {
            if ffi::type_address(key) != ffi::str_address() {
                return Ok(false);
            }
            entries.push((key, value, place));
        }
        let was_sorted = entries.is_sorted_by(|left, right| ffi::compare_texts(left.0, right.0).is_lt());
        if !was_sorted {
            entries.sort_unstable_by(|left, right| ffi::compare_texts(left.0, right.0));
        }
        let node = self.draft.open(Kind::Dict, arity)?;
        let base = self.agenda.len();
        for (key, value, _) in &entries {
            self.draft.add_key(py, *key)?;
            self.agenda.push_borrowed(*value)?;
        }
        if !was_sorted {
            let sorted_places = self.draft.orders.add(node, arity)?;
            for (place, (_, _, original)) in (0u32..).zip(&entries) {
                sorted_places[*original as usize] = place;
            }
        }
        self.interrupts.count(arity);
        self.enter::<KEEP>(py, node, base)?;
        Ok(true)
    }

    /// What is not met in every tree.
    #[cold]
    #[inline(never)]
    fn open_rare<const KEEP: bool>(&mut self, py: Python<'_>, container: Raw, kind: Kind) -> PyResult<()> {
        self.pin();
        let container = ffi::own(py, container);
        match kind {
            Kind::OrderedDict => self.open_ordered_dict::<KEEP>(&container),
            Kind::Deque => self.open_deque::<KEEP>(&container),
            Kind::DefaultDict => {
                let factory = container.getattr(intern!(py, "default_factory"))?;
                if self.rules.sorted {
                    self.open_sorted_dict::<KEEP>(&container, kind, Some(&factory))
                } else {
                    self.open_dict::<KEEP>(py, ffi::raw(&container), kind, Some(&factory))
                }
            }
            Kind::Dict => self.open_sorted_dict::<KEEP>(&container, kind, None),
            _ => {
                let node = self.draft.open(kind, 0)?;
                self.enter::<KEEP>(py, node, self.agenda.len())
            }
        }
    }

    fn open_ordered_dict<const KEEP: bool>(&mut self, dict: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = dict.py();
        let entries = ordered_entries(dict, &|| self.here(py))?;
        let node = self.draft.open(Kind::OrderedDict, entries.len())?;
        let base = self.agenda.len();
        for (key, value) in entries {
            self.draft.add_slot(Kind::OrderedDict, 0, &key)?;
            self.agenda.push_owned(value)?;
        }
        self.interrupts.count(self.agenda.len() - base);
        self.enter::<KEEP>(py, node, base)
    }

    fn open_deque<const KEEP: bool>(&mut self, deque: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = deque.py();
        let maxlen = deque.getattr(intern!(py, "maxlen"))?;
        let items = deque_items(deque, &|| self.here(py))?;
        let node = self.draft.open(Kind::Deque, items.len())?;
        self.draft.add_slot(Kind::Deque, 0, &maxlen)?;
        let base = self.agenda.len();
        for item in items {
            self.agenda.push_owned(item)?;
        }
        self.enter::<KEEP>(py, node, base)
    }

    /// A dict or defaultdict by sorted key.
    fn open_sorted_dict<const KEEP: bool>(
        &mut self,
        dict: &Bound<'_, PyAny>,
        kind: Kind,
        factory: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = dict.py();
        let entries = ffi::dict_entries(dict)?;
        let keys = gathered(entries.iter().map(|(key, _)| key.clone()))?;
        let by_key = sorted_places(py, &keys, &|| self.here(py))?;
        let node = self.draft.open(kind, entries.len())?;
        if let Some(factory) = factory {
            self.draft.add_slot(kind, 0, factory)?;
        }
        let base = self.agenda.len();
        let mut places = gathered(std::iter::repeat_n(0u32, entries.len()))?;
        for (place, original) in (0u32..).zip(&by_key) {
            let (key, value) = &entries[*original];
            places[*original] = place;
            self.draft.add_key(py, ffi::raw(key))?;
            self.agenda.push_owned(value.clone())?;
        }
        if !places.is_sorted() {
            self.draft.orders.add(node, places.len())?.copy_from_slice(&places);
        }
        self.enter::<KEEP>(py, node, base)
    }

    /// Opens an instance of a registered class.
    #[inline(never)]
    pub(super) fn open_registered<const KEEP: bool>(
        &mut self,
        py: Python<'_>,
        object: Raw,
        kind: Kind,
        registration: Raw,
    ) -> PyResult<()> {
        // The table owns the registration until Python code runs.
        let registration = ffi::own(py, registration);
        self.pin();
        let object = ffi::own(py, object);
        let registration = registration.cast_into::<Registration>()?;
        if let Manner::Fields { data, meta, .. } = &registration.get().manner {
            return match self.open_fields::<KEEP>(&object, &registration, data, meta) {
                Ok((node, base)) => self.enter::<KEEP>(py, node, base),
                Err(failure) => Err(self.explain(py, &registration, failure)),
            };
        }
        self.interrupts.count(CALL);
        let parts = match take_apart(&registration, &object) {
            Ok(parts) => parts,
            Err(failure) => return Err(self.explain(py, &registration, failure)),
        };
        let node = self.draft.open(kind, parts.children.len())?;
        self.draft.nodes[node as usize].mutable_context = parts.mutable_context;
        self.draft.add_slot(kind, 0, registration.as_any())?;
        self.draft.add_slot(kind, 1, &parts.context)?;
        if kind == Kind::Custom {
            match &parts.entries {
                Some(entries) => self.draft.add_slot(kind, 2, entries)?,
                None => self.draft.add_gap()?,
            }
        }
        let base = self.agenda.len();
        for child in parts.children {
            self.take_or_push::<KEEP>(child, base)?;
        }
        self.enter::<KEEP>(py, node, base)
    }

    /// Opens a dataclass instance, reading its fields.
    fn open_fields<'py, const KEEP: bool>(
        &mut self,
        object: &Bound<'py, PyAny>,
        registration: &Bound<'py, Registration>,
        data: &[Py<PyString>],
        meta: &[Py<PyString>],
    ) -> Result<(u32, usize), Failure> {
        let mut fields = fields_of(registration.get(), object, data, meta)?;
        let (context, mutable_context) = context_of(object.py(), fields.split_off(data.len()))?;
        let node = self.draft.open(Kind::Dataclass, data.len())?;
        self.draft.nodes[node as usize].mutable_context = mutable_context;
        self.draft.add_slot(Kind::Dataclass, 0, registration.as_any())?;
        self.draft.add_slot(Kind::Dataclass, 1, &context)?;
        let base = self.agenda.len();
        for child in fields {
            self.take_or_push::<KEEP>(child, base)?;
        }
        Ok((node, base))
    }

    /// Says where a flatten function failed, and of which class it is.
    #[cold]
    fn explain(&self, py: Python<'_>, registration: &Bound<'_, Registration>, failure: Failure) -> PyErr {
        failure.explain(py, registration, &|| self.here(py))
    }
}
