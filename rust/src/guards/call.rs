//! A call that no entry was right for, for something to be made for it.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyTuple};

use super::cache::GuardCache;
use super::guard::Tensor;
use super::modules::{self, Module};
use super::observation::Observation;
use super::statics::Static;
use crate::errors::{Family, error, text_of};
use crate::ffi::{self, RefVec, list_of, tuple_of};
use crate::spec::TreeSpec;

/// A call bound to its signature and taken apart, as `GuardCache.bind` makes it.
///
/// `spec` is the structure of the bound arguments, a tuple with one child for each parameter: `*args` is a tuple in it,
/// `**kwargs` a dict.
#[pyclass(frozen, name = "GuardCall", module = "clika_pytree._native")]
pub(crate) struct Call {
    cache: Py<GuardCache>,
    #[pyo3(get)]
    pub(super) spec: Py<TreeSpec>,
    pub(super) leaves: RefVec,
    pub(super) is_tensor: Vec<bool>,
    pub(super) tensors: Vec<Tensor>,
    pub(super) statics: Vec<Static>,
    pub(super) modules: Vec<Module>,
    /// The runtimes of the tensors, each once, numpy last.
    #[pyo3(get)]
    runtimes: Py<PyTuple>,
    pub(super) hash: u64,
    pub(super) generation: u64,
}

impl Call {
    pub(super) fn new(cache: &Bound<'_, GuardCache>, observed: Observation<'_>) -> PyResult<Self> {
        let runtimes = runtimes_of(cache, &observed)?.unbind();
        let Observation { spec, leaves, is_tensor, tensors, statics, modules, hash, generation } = observed;
        let (cache, spec) = (cache.clone().unbind(), spec.unbind());
        Ok(Self { cache, spec, leaves, is_tensor, tensors, statics, modules, runtimes, hash, generation })
    }

    pub(super) fn is_of(&self, cache: &Bound<'_, GuardCache>) -> bool {
        self.cache.is(cache)
    }

    pub(super) fn tensors_as_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list_of(py, self.tensors_of(py))
    }

    /// The leaves that are tensors.
    fn tensors_of<'py>(&self, py: Python<'py>) -> impl Iterator<Item = Bound<'py, PyAny>> {
        let leaves = self.leaves.as_slice().iter().flatten().zip(&self.is_tensor);
        leaves.filter(|(_, is_tensor)| **is_tensor).map(move |(leaf, _)| leaf.bind(py).clone())
    }
}

/// The distinct runtimes of a call's tensors, numpy last: its arrays are inputs of any other runtime. Two others can't be in
/// one call.
fn runtimes_of<'py>(cache: &Bound<'py, GuardCache>, call: &Observation<'py>) -> PyResult<Bound<'py, PyTuple>> {
    let py = cache.py();
    let mut distinct: Vec<(Bound<'py, PyAny>, usize)> = Vec::new();
    let tensors = call.is_tensor.iter().enumerate().filter(|(_, is_tensor)| **is_tensor).map(|(leaf, _)| leaf);
    for (tensor, leaf) in call.tensors.iter().zip(tensors) {
        let runtime = tensor.runtime.bind(py);
        if !distinct.iter().any(|(known, _)| known.is(runtime)) {
            distinct.push((runtime.clone(), leaf));
        }
    }
    let (mut others, mut numpy) = (Vec::new(), Vec::new());
    for (runtime, leaf) in distinct {
        let name = runtime.getattr(intern!(py, "name"))?.to_string();
        if name == "numpy" { numpy.push((runtime, leaf, name)) } else { others.push((runtime, leaf, name)) }
    }
    if let [(_, first, one), (_, second, other), ..] = others.as_slice() {
        let names = cache.get().names();
        let [first, second] = [first, second].map(|leaf| modules::path_of(py, &call.spec, &call.modules, *leaf, names));
        if let Some(raised) = first.interrupt(py) {
            return Err(raised);
        }
        let message = format!(
            "the tensors of one call must belong to one runtime (and numpy), but {} is of {one} and {} of {other}: convert \
             one of them",
            first.full().unwrap_or_default(),
            second.full().unwrap_or_default()
        );
        return Err(error(py, Family::Guard, Some(&second), &message));
    }
    others.append(&mut numpy);
    tuple_of(py, others.into_iter().map(|(runtime, _, _)| runtime))
}

#[pymethods]
impl Call {
    /// All leaves, in order, then the tensors of those that are modules.
    #[getter]
    fn leaves<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        list_of(py, self.leaves.as_slice().iter().flatten().map(|leaf| leaf.bind(py).clone()))
    }

    /// The leaves that are tensors, in order.
    #[getter]
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.tensors_as_list(py)
    }

    /// For each leaf, whether it is a tensor.
    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        tuple_of(py, self.is_tensor.iter().map(|is_tensor| PyBool::new(py, *is_tensor).to_owned().into_any()))
    }

    /// The path of each leaf, and of each tensor of a module, from the name of its parameter on.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let mut names = RefVec::default();
        for name in modules::texts_of(py, &self.spec.get().0, &self.modules, self.cache.get().names())? {
            names.push(text_of(py, &name)?.into_any())?;
        }
        ffi::tuple_from(py, &mut names, 0)
    }

    /// The leaves that are modules: the number of the leaf, the runtime, and the names of its tensors, a tuple for each.
    #[getter]
    fn modules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let all = crate::limits::all_of(self.modules.iter().map(|module| module.as_tuple(py)))?;
        tuple_of(py, all)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.cache)?;
        visit.call(&self.spec)?;
        visit.call(&self.runtimes)?;
        self.leaves.as_slice().iter().try_for_each(|leaf| visit.call(leaf))?;
        self.tensors.iter().try_for_each(|tensor| tensor.traverse(&visit))?;
        self.statics.iter().try_for_each(|value| value.traverse(&visit))?;
        self.modules.iter().try_for_each(|module| module.traverse(&visit))
    }
}
