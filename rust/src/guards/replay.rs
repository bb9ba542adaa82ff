//! A graph that can run again, and how its results become the result of a call.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::{Family, error};
use crate::ffi::{self, RefVec};
use crate::spec::TreeSpec;
use crate::walk;

/// What a graph gives, put together: called with the tensors of a call, it gives what the function would have given.
///
/// Args:
///     run: called with the list of tensors; gives the results that are tensors, in order.
///     spec: the structure of the result.
///     leaves: the leaves of the result; what stands in the place of a tensor does not matter.
///     places: which of the leaves are tensors, in order.
///
/// Raises `ValueError` where these do not fit together.
#[pyclass(frozen, subclass, module = "clika_pytree._native")]
pub(crate) struct Replay {
    run: Py<PyAny>,
    spec: Py<TreeSpec>,
    /// The constants, with gaps for the tensors.
    leaves: RefVec,
    tensors: usize,
    is_leaf: bool,
}

impl Replay {
    /// Runs the graph, which may be the last one to hold the tensors.
    #[inline]
    pub(super) fn run<'py>(&self, tensors: Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>> {
        let py = tensors.py();
        let results = ffi::call_one(self.run.bind(py), tensors.as_any())?;
        drop(tensors);
        if !self.is_leaf {
            return self.put_together(&results);
        }
        if let Some(Some(constant)) = self.leaves.as_slice().first() {
            return Ok(constant.bind(py).clone());
        }
        match results.cast_exact::<PyList>() {
            Ok(list) if list.len() == 1 => list.get_item(0),
            _ => Ok(walk::leaves_of(&results, 1)?.remove(0)),
        }
    }

    fn put_together<'py>(&self, results: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, graph) = (results.py(), &self.spec.get().0);
        if self.tensors == self.leaves.len() {
            return walk::unflatten(graph, results);
        }
        let mut results = walk::leaves_of(results, self.tensors)?.into_iter();
        let constants = self.leaves.as_slice().iter();
        let leaves = constants.filter_map(|leaf| match leaf {
            Some(constant) => Some(constant.bind(py).clone()),
            None => results.next(),
        });
        walk::unflatten_refs(py, graph, RefVec::of(py, leaves)?)
    }
}

#[pymethods]
impl Replay {
    #[new]
    fn new(
        run: Py<PyAny>,
        spec: Bound<'_, TreeSpec>,
        leaves: &Bound<'_, PyAny>,
        places: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let py = spec.py();
        let graph = &spec.get().0;
        let given = walk::leaves_of(leaves, graph.num_leaves)?;
        let (mut leaves, mut places) = (RefVec::with_room(given.len())?, places.try_iter()?.peekable());
        let mut tensors = 0;
        for (index, leaf) in given.into_iter().enumerate() {
            let is_tensor = match places.peek() {
                Some(Ok(place)) => place.extract::<usize>()? == index,
                _ => false,
            };
            if is_tensor {
                places.next();
                tensors += 1;
                leaves.push_gap()?;
            } else {
                leaves.push(leaf)?;
            }
        }
        match places.next() {
            None => {}
            Some(Ok(place)) => {
                let message = format!("places must be places of leaves in order, got {} too late", place.str()?);
                return Err(error(py, Family::Value, None, &message));
            }
            Some(Err(raised)) => return Err(raised),
        }
        let is_leaf = graph.is_leaf();
        Ok(Self { run, spec: spec.unbind(), leaves, tensors, is_leaf })
    }

    /// The result for these tensors.
    fn __call__<'py>(&self, tensors: Bound<'py, PyList>) -> PyResult<Bound<'py, PyAny>> {
        self.run(tensors)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.run)?;
        visit.call(&self.spec)?;
        self.leaves.as_slice().iter().try_for_each(|leaf| visit.call(leaf))
    }
}
