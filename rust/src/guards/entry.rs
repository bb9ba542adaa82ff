//! What was made for a call, with all that a call has to be for it to be right.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::exceptions::PyException;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::call::Call;
use super::facts::Layout;
use super::guard::{Axes, Guard, Tensor, Watched, hash_of_facts};
use super::modules::{self, Module};
use super::observation::{Observation, answer};
use crate::errors::{Family, error, left_out, show, text_of};
use crate::ffi::{self, Raw, RefVec, int_of, list_of};
use crate::limits::{Grow, check_memory, gathered};
use crate::spec::{Graph, TreeSpec};

/// A forced size expression: a function of the tensors, and the value it had.
struct Condition {
    function: Py<PyAny>,
    value: Py<PyAny>,
    text: Option<Py<PyAny>>,
}

/// One entry of a `GuardCache`: `value` is what was inserted, `hits` how often a call found it.
#[pyclass(frozen, module = "clika_pytree._native")]
pub(crate) struct GuardEntry {
    #[pyo3(get)]
    value: Py<PyAny>,
    #[pyo3(get)]
    pub(super) spec: Py<TreeSpec>,
    pub(super) names: Py<PyTuple>,
    /// One for each leaf, then for each tensor of a module.
    pub(super) guards: Vec<Guard>,
    pub(super) modules: Vec<Module>,
    /// Whether what runs refuses tensors that do not fit, so that of those used last the classes will do.
    is_trusted: AtomicBool,
    /// The sizes that they ask for.
    pub(super) sizes: Vec<isize>,
    conditions: Vec<Condition>,
    pub(super) mask: Vec<Watched>,
    /// Of structure and values, and of what is watched of the tensors.
    pub(super) hash: u64,
    pub(super) hash_of_facts: u64,
    /// The state of registrations and runtimes under which it was last found right in every respect.
    generation: AtomicU64,
    pub(super) hits: AtomicU64,
}

/// What a recorder says is right: facts, sizes and conditions.
struct Asked<'py> {
    facts: Bound<'py, PyDict>,
    sizes: Bound<'py, PyDict>,
    conditions: Bound<'py, PyAny>,
    is_checked: bool,
}

impl<'py> Asked<'py> {
    fn of(guards: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = guards.py();
        let dict = |name: &Bound<'py, PyString>| Ok::<_, PyErr>(guards.getattr(name)?.cast_into::<PyDict>()?);
        Ok(Self {
            facts: dict(intern!(py, "facts"))?,
            sizes: dict(intern!(py, "sizes"))?,
            conditions: guards.getattr(intern!(py, "conditions"))?,
            is_checked: match guards.getattr_opt(intern!(py, "is_checked"))? {
                Some(is_checked) => is_checked.is_truthy()?,
                None => false,
            },
        })
    }

    /// The sizes that were forced, for each tensor.
    fn forced(&self, tensors: usize) -> PyResult<Vec<Vec<(usize, isize)>>> {
        let mut forced: Vec<Vec<(usize, isize)>> = gathered((0..tensors).map(|_| Vec::new()))?;
        for (place, size) in self.sizes.iter() {
            let (index, axis): (usize, usize) = place.extract()?;
            let of_tensor = forced.get_mut(index).ok_or_else(|| no_such_tensor(self.sizes.py(), index, tensors))?;
            of_tensor.grow((axis, size.extract()?))?;
        }
        for of_tensor in &mut forced {
            of_tensor.sort_unstable();
        }
        Ok(forced)
    }

    /// What is watched of each tensor; without a fact it is only handed on.
    fn mask(&self, tensors: &[Tensor], forced: &[Vec<(usize, isize)>], dynamic: bool) -> PyResult<Vec<Watched>> {
        let py = self.facts.py();
        let mut mask = gathered(tensors.iter().map(|_| Watched::Class))?;
        for (index, fact) in self.facts.iter() {
            let index: usize = index.extract()?;
            let layout = Layout::from_name(&fact.getattr(intern!(py, "layout"))?)?;
            let sizes = if dynamic && forced.get(index).is_some() {
                Axes::Some(forced[index].iter().map(|(axis, _)| *axis).collect())
            } else {
                Axes::All
            };
            let watched = mask.get_mut(index).ok_or_else(|| no_such_tensor(py, index, tensors.len()))?;
            *watched = Watched::Facts { layout: layout.is_some(), sizes };
        }
        Ok(mask)
    }

    fn conditions(&self) -> PyResult<Vec<Condition>> {
        let py = self.facts.py();
        let mut conditions = Vec::new();
        for condition in self.conditions.try_iter()? {
            let condition = condition?;
            conditions.grow(Condition {
                function: condition.getattr(intern!(py, "function"))?.unbind(),
                value: condition.getattr(intern!(py, "value"))?.unbind(),
                text: condition.getattr_opt(intern!(py, "text"))?.map(Bound::unbind),
            })?;
        }
        Ok(conditions)
    }
}

#[cold]
fn no_such_tensor(py: Python<'_>, index: usize, tensors: usize) -> PyErr {
    let message = format!("guards name the tensor {index}, but the call has {tensors} of them");
    error(py, Family::Value, None, &message)
}

impl GuardEntry {
    /// An entry for a call.
    pub(super) fn new(
        call: &Call,
        names: &Py<PyTuple>,
        value: &Bound<'_, PyAny>,
        guards: Option<&Bound<'_, PyAny>>,
        dynamic: bool,
    ) -> PyResult<Self> {
        let py = value.py();
        let (mask, forced, conditions, is_checked) = match guards {
            Some(guards) => {
                let asked = Asked::of(guards)?;
                let forced = asked.forced(call.tensors.len())?;
                (asked.mask(&call.tensors, &forced, dynamic)?, forced, asked.conditions()?, asked.is_checked)
            }
            None => (gathered(call.tensors.iter().map(|_| Watched::Class))?, Vec::new(), Vec::new(), false),
        };
        let (mut statics, mut tensors) = (call.statics.iter(), call.tensors.iter().zip(&mask).enumerate());
        let (mut of_leaves, mut sizes) = (Vec::new(), Vec::new());
        for (index, is_tensor) in call.is_tensor.iter().enumerate() {
            check_memory(index)?;
            if !is_tensor {
                of_leaves.grow_by(statics.next().map(|value| Guard::Static(Box::new(value.clone_ref(py)))))?;
            } else if let Some((index, (tensor, watched))) = tensors.next() {
                let forced = forced.get(index).map_or(&[][..], Vec::as_slice);
                of_leaves.grow(tensor.guard(py, watched, forced, &mut sizes)?)?;
            }
        }
        Ok(Self {
            value: value.clone().unbind(),
            spec: call.spec.clone_ref(py),
            names: names.clone_ref(py),
            guards: of_leaves,
            is_trusted: AtomicBool::new(is_checked),
            modules: crate::limits::all_of(call.modules.iter().map(|module| module.clone_ref(py)))?,
            sizes,
            conditions,
            hash: call.hash,
            hash_of_facts: hash_of_facts(&call.tensors, &mask),
            mask,
            generation: AtomicU64::new(call.generation),
            hits: AtomicU64::new(0),
        })
    }

    pub(super) fn graph(&self) -> &Graph {
        &self.spec.get().0
    }

    /// Whether nothing was registered since it was last found right: then classes alone say what is a leaf, a node and a
    /// tensor.
    #[inline]
    pub(super) fn is_current(&self, generation: u64) -> bool {
        self.generation.load(Ordering::Relaxed) == generation
    }

    /// Looks at all facts of tensors from now on; false where it was made without.
    pub(super) fn distrust(&self) -> bool {
        self.is_trusted.store(false, Ordering::Relaxed);
        !self.guards.iter().any(|guard| matches!(guard, Guard::Class { .. }))
    }

    /// Adds the tensors of modules to leaves; false where a module is not the one that it has to be, or has other tensors.
    #[inline]
    pub(super) fn complete(&self, py: Python<'_>, leaves: &mut RefVec) -> PyResult<bool> {
        for module in &self.modules {
            let Some(Some(leaf)) = leaves.raw().get(module.leaf).copied() else { return Ok(false) };
            let is_same =
                matches!(&self.guards[module.leaf], Guard::Static(known) if known.object.as_ptr() == leaf.as_ptr());
            if !is_same || !module.add_tensors(py, leaves)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether leaves are what they have to be; runs code of the user's for values with a hash or equality of their own.
    #[inline]
    pub(super) fn leaves_hold(&self, py: Python<'_>, leaves: &RefVec) -> PyResult<bool> {
        let is_trusted = self.is_trusted.load(Ordering::Relaxed);
        for (index, (guard, leaf)) in self.guards.iter().zip(leaves.raw()).enumerate() {
            let Some(leaf) = *leaf else { return Ok(false) };
            let of_class = if is_trusted { guard.class_holds(leaf) } else { None };
            let holds = match of_class.or_else(|| guard.at_sight(py, leaf, &self.sizes)) {
                Some(holds) => holds,
                None => self.leaf_holds(py, index, leaf)?,
            };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }

    #[inline(never)]
    fn leaf_holds(&self, py: Python<'_>, index: usize, leaf: Raw) -> PyResult<bool> {
        let holds = self.guards[index].holds(&ffi::own(py, leaf), &self.sizes);
        answer(py, holds, &|| modules::path_of(py, self.spec.bind(py), &self.modules, index, &self.names))
    }

    /// Whether a call is one for this entry, but for the conditions.
    pub(super) fn is_for(&self, py: Python<'_>, call: &Observation<'_>) -> PyResult<bool> {
        let (spec, other) = (self.spec.bind(py), &call.spec);
        if !spec.is(other) {
            let (owner, other_owner) = (spec.as_ptr() as usize, other.as_ptr() as usize);
            if !self.graph().named_equal(owner, &other.get().0, other_owner, Some(&self.names), py)? {
                return Ok(false);
            }
        }
        if !self.graph().has_same_registrations(&other.get().0)
            || !self.has_same_runtimes(call)
            || !modules::are_alike(py, &self.modules, &call.modules)
        {
            return Ok(false);
        }
        if !self.leaves_hold(py, &call.leaves)? {
            return Ok(false);
        }
        self.generation.store(call.generation, Ordering::Relaxed);
        Ok(true)
    }

    /// Whether the same leaves are tensors, of the same runtimes.
    fn has_same_runtimes(&self, call: &Observation<'_>) -> bool {
        let mut tensors = call.tensors.iter();
        self.guards.len() == call.is_tensor.len()
            && self.guards.iter().zip(&call.is_tensor).all(|(guard, is_tensor)| match guard.runtime() {
                Some(runtime) => *is_tensor && tensors.next().is_some_and(|tensor| tensor.runtime.is(runtime)),
                None => !is_tensor,
            })
    }

    pub(super) fn has_conditions(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// The tensors among its leaves as a list, where the conditions hold for them; takes the leaves.
    #[inline]
    pub(super) fn accept<'py>(&self, py: Python<'py>, leaves: &mut RefVec) -> PyResult<Option<Bound<'py, PyList>>> {
        if self.mask.len() < self.guards.len() {
            leaves.keep(py, |index| self.guards[index].is_tensor());
        }
        let tensors = ffi::list_from(py, leaves, 0)?;
        for condition in &self.conditions {
            if !condition.holds(&tensors)? {
                return Ok(None);
            }
        }
        Ok(Some(tensors))
    }

    /// The conditions that do not hold for some tensors: the expression, the value it had, and the value it has.
    pub(super) fn failed_conditions(
        &self,
        py: Python<'_>,
        tensors: &Bound<'_, PyList>,
    ) -> PyResult<Vec<(String, String, String)>> {
        let mut failed = Vec::new();
        for condition in &self.conditions {
            if !condition.holds(tensors)? {
                let now = ffi::call_one(condition.function.bind(py), tensors.as_any());
                let now = match now {
                    Ok(value) => show(&value)?,
                    Err(raised) => {
                        let words = raised.to_string();
                        left_out(py, raised).map(|()| words)?
                    }
                };
                failed.grow((condition.text(py)?, show(condition.value.bind(py))?, now))?;
            }
        }
        Ok(failed)
    }

    /// What was inserted.
    #[inline]
    pub(super) fn value<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.value.bind(py).clone()
    }
}

impl Condition {
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        const UNNAMED: &str = "a condition";
        match self.text.as_ref().map(|text| text.bind(py).str()) {
            Some(Ok(text)) => Ok(text.to_string_lossy().into_owned()),
            Some(Err(raised)) => left_out(py, raised).map(|()| UNNAMED.to_owned()),
            None => Ok(UNNAMED.to_owned()),
        }
    }

    /// An exception says that it does not hold: the function raises it, too, when it runs.
    fn holds(&self, tensors: &Bound<'_, PyList>) -> PyResult<bool> {
        let py = tensors.py();
        let answer = ffi::call_one(self.function.bind(py), tensors.as_any()).and_then(|value| value.eq(&self.value));
        match answer {
            Err(raised) if raised.is_instance_of::<PyException>(py) => Ok(false),
            answer => answer,
        }
    }
}

#[pymethods]
impl GuardEntry {
    /// How often a call found it.
    #[getter]
    fn hits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        int_of(py, usize::try_from(self.hits.load(Ordering::Relaxed)).unwrap_or(usize::MAX))
    }

    /// The leaves that are no tensors, in order.
    #[getter]
    fn statics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list_of(
            py,
            self.guards.iter().filter_map(|guard| match guard {
                Guard::Static(value) => Some(value.object.bind(py).clone()),
                _ => None,
            }),
        )
    }

    /// What each leaf has to be, as text; then the conditions.
    #[getter]
    fn guards<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut texts = RefVec::default();
        let names = modules::texts_of(py, self.graph(), &self.modules, &self.names)?;
        for (name, guard) in names.iter().zip(&self.guards) {
            texts.push(text_of(py, &format!("{name}: {}", guard.text(py, &self.sizes)?))?.into_any())?;
        }
        for condition in &self.conditions {
            let text = format!("{} == {}", condition.text(py)?, show(condition.value.bind(py))?);
            texts.push(text_of(py, &text)?.into_any())?;
        }
        ffi::list_from(py, &mut texts, 0)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.value)?;
        visit.call(&self.spec)?;
        visit.call(&self.names)?;
        self.guards.iter().try_for_each(|guard| guard.traverse(&visit))?;
        self.modules.iter().try_for_each(|module| module.traverse(&visit))?;
        for Condition { function, value, text } in &self.conditions {
            visit.call(function)?;
            visit.call(value)?;
            visit.call(text)?;
        }
        Ok(())
    }
}
