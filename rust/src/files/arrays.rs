//! What a file says of arrays of numpy, for many of them at once.

use std::ops::Range;

use hashbrown::HashMap;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple, PyType};

use super::writer::{begun, encoded};
use crate::errors::{Family, no_memory};
use crate::ffi::{self, array_layout_is_known, int_of, tuple_of, with_array};
use crate::limits::{Grow, Interrupts};

/// Where arrays lie, each known by the place of its leaf.
#[derive(Default)]
struct Places {
    /// The last array that begins at an address.
    last: HashMap<usize, usize>,
    /// For each leaf the one before it that begins at the same address.
    before: Vec<Option<usize>>,
}

impl Places {
    /// The first leaf of which `is_same` says that it is the array at this address; where there is none, the new one.
    fn first(&mut self, address: usize, index: usize, is_same: impl Fn(usize) -> bool) -> PyResult<usize> {
        let mut at = self.last.get(&address).copied();
        while let Some(other) = at {
            if is_same(other) {
                return Ok(other);
            }
            at = self.before[other];
        }
        self.last.try_reserve(1).map_err(no_memory)?;
        let before = self.last.insert(address, index);
        self.before.grow_by((self.before.len()..index).map(|_| None))?;
        self.before.grow(before)?;
        Ok(index)
    }
}

/// Whether two arrays that begin at one address are the same elements in the same order.
fn are_alike(ours: &Bound<'_, PyAny>, theirs: &Bound<'_, PyAny>) -> bool {
    with_array(ffi::raw(ours), |ours| {
        with_array(ffi::raw(theirs), |theirs| {
            ours.descr.as_ptr() == theirs.descr.as_ptr() && ours.sizes == theirs.sizes && ours.strides == theirs.strides
        })
    })
}

/// A dtype that was met, and what a file calls it.
struct Known {
    dtype: Py<PyAny>,
    code: Option<Py<PyString>>,
}

/// What is known of an array.
struct Fact {
    /// Which of the dtypes it has.
    known: usize,
    sizes: Range<usize>,
    is_contiguous: bool,
    /// The first leaf that is the same elements in the same memory, mostly itself.
    first: usize,
}

/// What a file says of each of some arrays of numpy's own class. They must not be changed while it is used.
#[pyclass(frozen, module = "clika_pytree._native")]
pub(crate) struct ArrayFacts {
    /// None of a leaf that is no such array, or has a dtype that no file has.
    facts: Vec<Option<Fact>>,
    known: Vec<Known>,
    sizes: Vec<usize>,
    are_ready: bool,
}

impl ArrayFacts {
    fn shape(&self, fact: &Fact) -> &[usize] {
        &self.sizes[fact.sizes.clone()]
    }

    fn code(&self, fact: &Fact) -> Option<&Py<PyString>> {
        self.known[fact.known].code.as_ref()
    }
}

#[pymethods]
impl ArrayFacts {
    /// Whether all of them lie in memory as in a file, and none is there twice.
    #[getter]
    fn are_ready(&self) -> bool {
        self.are_ready
    }

    /// `(dtype, shape, is C-contiguous, first)` of an array; None of every other leaf. `first` is the place of the first
    /// leaf that is the same elements in the same memory: its own for most.
    fn __getitem__<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let Some(found) = self.facts.get(index) else { return Err(PyIndexError::new_err("no such leaf")) };
        let Some((fact, code)) = found.as_ref().and_then(|fact| Some((fact, self.code(fact)?))) else {
            return Ok(None);
        };
        let mut shape = Vec::new();
        for &size in self.shape(fact) {
            shape.grow(int_of(py, size)?)?;
        }
        let fact = [
            code.bind(py).clone().into_any(),
            tuple_of(py, shape)?.into_any(),
            PyBool::new(py, fact.is_contiguous).to_owned().into_any(),
            int_of(py, fact.first)?,
        ];
        Ok(Some(tuple_of(py, fact)?))
    }

    /// As `encode_header`, for arrays that are ready, under these names.
    fn encode<'py>(&self, names: &Bound<'py, PyList>, metadata: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyTuple>> {
        let py = names.py();
        if !self.are_ready || names.len() != self.facts.len() {
            return Err(PyValueError::new_err("every array needs a name, and has to be ready"));
        }
        let refused = |problem: super::Problem| problem.into_error(py, Family::Value, "");
        let mut encoder = begun(metadata)?;
        let mut interrupts = Interrupts::new();
        let mut bytes = 0;
        for (name, fact) in names.iter().zip(&self.facts) {
            interrupts.after(py, 1)?;
            let name = name.cast_into::<PyString>()?;
            if let Some((fact, code)) = fact.as_ref().and_then(|fact| Some((fact, self.code(fact)?))) {
                let shape = self.shape(fact).iter().map(|&size| size as u64);
                bytes += encoder.add(name.to_str()?, code.bind(py).to_str()?, shape).map_err(refused)?;
            }
        }
        encoded(py, encoder, bytes)
    }
}

/// What a file says of the arrays among some leaves. `codes` has what a file calls a dtype.
#[pyfunction]
pub(crate) fn array_facts<'py>(leaves: &Bound<'py, PyList>, codes: &Bound<'py, PyDict>) -> PyResult<ArrayFacts> {
    let py = leaves.py();
    let ndarray =
        ffi::loaded(intern!(py, "numpy"), intern!(py, "ndarray"))?.and_then(|found| found.cast_into::<PyType>().ok());
    let ndarray = ndarray.filter(array_layout_is_known);
    let is_array = |leaf: &Bound<'py, PyAny>| ndarray.as_ref().is_some_and(|ndarray| leaf.get_type().is(ndarray));
    let mut places = Places::default();
    let mut interrupts = Interrupts::new();
    let mut all = ArrayFacts { facts: Vec::new(), known: Vec::new(), sizes: Vec::new(), are_ready: true };
    for (index, leaf) in leaves.iter().enumerate() {
        interrupts.after(py, 1)?;
        if !is_array(&leaf) {
            all.are_ready = false;
            all.facts.grow(None)?;
            continue;
        }
        let first_size = all.sizes.len();
        let (address, descr, is_contiguous) = with_array(ffi::raw(&leaf), |array| {
            all.sizes.grow_by(array.sizes.iter().map(|size| size.cast_unsigned()))?;
            Ok::<_, PyErr>((array.address, array.descr, array.is_c_contiguous()))
        })?;
        let sizes = first_size..all.sizes.len();
        let met = all.known.iter().position(|known| known.dtype.as_ptr() == descr.as_ptr());
        let known = if let Some(met) = met {
            met
        } else {
            let dtype = ffi::own(py, descr);
            let code = codes.get_item(&dtype)?.and_then(|code| code.cast_into::<PyString>().ok());
            all.known.grow(Known { dtype: dtype.unbind(), code: code.map(Bound::unbind) })?;
            all.known.len() - 1
        };
        if all.known[known].code.is_none() {
            all.are_ready = false;
            all.facts.grow(None)?;
            continue;
        }
        let first = if all.sizes[sizes.clone()].contains(&0) {
            index
        } else {
            places.first(address, index, |other| {
                leaves.get_item(other).is_ok_and(|other| is_array(&other) && are_alike(&leaf, &other))
            })?
        };
        all.are_ready &= is_contiguous && first == index;
        all.facts.grow(Some(Fact { known, sizes, is_contiguous, first }))?;
    }
    Ok(all)
}
