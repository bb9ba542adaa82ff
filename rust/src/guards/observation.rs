//! One call, taken apart: its structure, its values, and its tensors.

use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};

use super::guard::Tensor;
use super::holders::refuse_holder;
use super::modules::{self, Module, State, state_of, wrong_state};
use super::parts::refuse_unnamed;
use super::runtimes::{self, Sort, sort_of};
use super::statics::Static;
use crate::errors::{Family, KeyPath, class_name, error, left_out, noted, quote, with_article};
use crate::ffi::{self, RefVec};
use crate::limits::{Grow, Interrupts, check_memory};
use crate::registry::Scope;
use crate::spec::TreeSpec;
use crate::structure::Mixer;
use crate::values::Unusable;
use crate::walk::{self, Rules};

/// A leaf takes some steps' time to look at.
const PER_LEAF: usize = 8;

/// What a call is, as far as any guard may look.
pub(super) struct Observation<'py> {
    pub(super) spec: Bound<'py, TreeSpec>,
    pub(super) leaves: RefVec,
    pub(super) is_tensor: Vec<bool>,
    /// The leaves that are tensors, in order, and the others.
    pub(super) tensors: Vec<Tensor>,
    pub(super) statics: Vec<Static>,
    /// The modules among those, whose tensors come after all leaves.
    pub(super) modules: Vec<Module>,
    /// Of the structure, the values, and which leaves are tensors.
    pub(super) hash: u64,
    /// As of which state of registrations and runtimes.
    pub(super) generation: u64,
}

impl<'py> Observation<'py> {
    /// Takes apart a call whose parameters have these values. Values that hold tensors are looked for only where the call
    /// is not held against entries, none of which has such a value.
    pub(super) fn of(
        bound: &Bound<'py, PyTuple>,
        scope: &'static Scope,
        names: &Py<PyTuple>,
        reads_facts: bool,
        refuses_holders: bool,
    ) -> PyResult<Self> {
        let py = bound.py();
        let generation = runtimes::generation();
        let rules = Rules::of_call(scope, names.clone_ref(py));
        let (mut leaves, structure, _) = walk::flatten_to_refs(bound.as_any(), rules)?;
        let spec = structure.into_spec(py)?;
        let mut mixer = Mixer::new(spec.get().0.named_hash(py, spec.as_ptr() as usize, Some(names))?);
        let (mut is_tensor, mut tensors, mut statics) = (Vec::new(), Vec::new(), Vec::new());
        let mut found: Vec<(usize, Bound<'py, PyAny>, State<'py>)> = Vec::new();
        let mut interrupts = Interrupts::new();
        for (index, leaf) in leaves.as_slice().iter().enumerate() {
            interrupts.after(py, PER_LEAF)?;
            check_memory(index)?;
            let Some(leaf) = leaf else { continue };
            let leaf = leaf.bind(py);
            let sort = sort_of(py, ffi::raw(leaf))?;
            is_tensor.grow(matches!(sort, Sort::Tensor(_)))?;
            if let Sort::Tensor(class) = sort {
                mixer.add(1);
                tensors.grow(Tensor::of(leaf, class, reads_facts)?)?;
                continue;
            }
            let path = || modules::path_of(py, &spec, &[], index, names);
            if let Sort::Module(runtime) = sort {
                let runtime = ffi::own(py, runtime);
                if let Some(state) = state_of(&runtime, leaf)? {
                    if refuses_holders {
                        refuse_unnamed(leaf, &state, &path, scope)?;
                    }
                    let value = Static::of_module(leaf).map_err(|unusable| no_guard(leaf, unusable, &path()))?;
                    mixer.add(value.hash);
                    statics.grow(value)?;
                    found.grow((index, runtime, state))?;
                    continue;
                }
            }
            if refuses_holders {
                refuse_holder(leaf, &path, scope)?;
            }
            let value = match Static::of(leaf) {
                Ok(value) => value,
                Err(unusable) => {
                    // Of two reasons to refuse it, the tensors that it holds come first, as they do where nothing is known.
                    refuse_holder(leaf, &path, scope)?;
                    return Err(no_guard(leaf, unusable, &path()));
                }
            };
            mixer.add(value.hash);
            statics.grow(value)?;
        }
        let mut modules = Vec::new();
        for (leaf, runtime, state) in found {
            let mut names = Vec::new();
            for (name, tensor) in state {
                let Sort::Tensor(class) = sort_of(py, ffi::raw(&tensor))? else {
                    let got = format!("{} as '{}'", quote(&tensor), name.to_string_lossy());
                    return Err(wrong_state(&runtime, &got));
                };
                tensors.grow(Tensor::of(&tensor, class, reads_facts)?)?;
                is_tensor.grow(true)?;
                leaves.push(tensor)?;
                names.grow(name.unbind())?;
            }
            modules.grow(Module { leaf, runtime: runtime.unbind(), names })?;
        }
        Ok(Self { spec, leaves, is_tensor, tensors, statics, modules, hash: mixer.finish(), generation })
    }
}

impl Observation<'_> {
    pub(super) fn copy_of_leaves(&self, py: Python<'_>) -> PyResult<RefVec> {
        RefVec::of(py, self.leaves.as_slice().iter().flatten().map(|leaf| leaf.bind(py).clone()))
    }
}

/// The error for a leaf that can't be compared with that of another call.
#[cold]
fn no_guard(leaf: &Bound<'_, PyAny>, unusable: Unusable, path: &KeyPath) -> PyErr {
    let py = leaf.py();
    let class = class_name(&leaf.get_type());
    let (reason, cause) = match unusable {
        Unusable::Value { class: of, reason } if of.rsplit('.').next() == Some(&class) => {
            (format!("it {reason}"), None)
        }
        Unusable::Value { class: of, reason } => (format!("it holds {}, which {reason}", with_article(&of)), None),
        Unusable::Raised(raised) if is_verdict(py, &raised) => {
            let name = raised.get_type(py).name().map_or_else(|_| "an error".to_owned(), |name| name.to_string());
            (format!("its hash or == raises {}", with_article(&name)), Some(raised))
        }
        Unusable::Raised(raised) => return raised,
    };
    let looks_like_a_tensor = match has_shape_and_dtype(leaf) {
        Ok(answer) => answer,
        Err(raised) => return raised,
    };
    let way_out = if looks_like_a_tensor {
        "If it is a tensor, tell clika_pytree.register_runtime() of its library; else pass something hashable in its place"
    } else if leaf.cast::<PyIterator>().is_ok() {
        "Pass a list or a tuple of its items"
    } else {
        "Pass something hashable in its place (a frozenset for a set, a frozen dataclass for an object), or register its \
         class as a node"
    };
    let message = format!(
        "{} is {}, which can't be a guard: {reason}, so a later call can't be held against it. {way_out}",
        path.full().unwrap_or_default(),
        with_article(&class)
    );
    let error = error(py, Family::Guard, Some(path), &message);
    error.set_cause(py, cause);
    error
}

/// Whether a value looks like a tensor of a library that nobody has registered.
fn has_shape_and_dtype(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let cls = value.get_type();
    let has = |name| cls.hasattr(name).or_else(|raised| left_out(value.py(), raised).map(|()| false));
    Ok(has("shape")? && has("dtype")?)
}

/// Whether an exception of a hash or an equality is a word about the value, and not about the process.
fn is_verdict(py: Python<'_>, raised: &PyErr) -> bool {
    raised.is_instance_of::<PyException>(py) && !raised.is_instance_of::<PyMemoryError>(py)
}

/// The answer of a guard: what can't be compared is not the same. Exceptions of the user's code pass, with a note.
pub(super) fn answer(py: Python<'_>, answer: Result<bool, Unusable>, path: &dyn Fn() -> KeyPath) -> PyResult<bool> {
    match answer {
        Ok(answer) => Ok(answer),
        Err(Unusable::Value { .. }) => Ok(false),
        Err(Unusable::Raised(raised)) => {
            let words = |path: &KeyPath| format!("while {} was compared", path.full().unwrap_or_default());
            Err(noted(py, raised, path, words))
        }
    }
}
