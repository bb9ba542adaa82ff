//! What a file says of arrays of numpy, for many of them at once.

use std::collections::HashMap;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyType};

use crate::ffi::{self, array_layout_is_known, int_of, list_of, tuple_of, with_array};
use crate::limits::Interrupts;

/// Where the elements of an array lie and how; two arrays that have it in common are one tensor.
#[derive(PartialEq, Eq, Hash)]
struct Place {
    address: usize,
    dtype: usize,
    /// The sizes, then the strides.
    numbers: Vec<isize>,
}

/// A dtype that was met, and what a file calls it.
struct Known<'py> {
    dtype: Bound<'py, PyAny>,
    code: Option<Bound<'py, PyAny>>,
}

/// For each leaf that is an array of numpy's own class, `(code, shape, is C-contiguous, first)`; None for every other.
///
/// `codes` has what a file calls a dtype; an array of a dtype that is not there is None, too. `first` is the place of the
/// first leaf that is the same elements in the same memory: its own for most.
#[pyfunction]
pub(crate) fn array_facts<'py>(
    leaves: &Bound<'py, PyList>,
    codes: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyList>> {
    let py = leaves.py();
    let none = || py.None().into_bound(py);
    let ndarray =
        ffi::loaded(intern!(py, "numpy"), intern!(py, "ndarray"))?.and_then(|found| found.cast_into::<PyType>().ok());
    let Some(ndarray) = ndarray.filter(array_layout_is_known) else {
        return list_of(py, leaves.iter().map(|_| none()));
    };
    let mut known: Vec<Known<'py>> = Vec::new();
    let mut places: HashMap<Place, usize> = HashMap::with_capacity(leaves.len());
    let mut interrupts = Interrupts::new();
    let mut facts = Vec::with_capacity(leaves.len());
    for (index, leaf) in leaves.iter().enumerate() {
        interrupts.after(py, 1)?;
        if !leaf.get_type().is(&ndarray) {
            facts.push(none());
            continue;
        }
        let (numbers, ndim, address, descr, is_contiguous) = with_array(ffi::raw(&leaf), |array| {
            let numbers = [array.sizes, array.strides].concat();
            (numbers, array.sizes.len(), array.address, array.descr, array.is_c_contiguous())
        });
        let dtype = descr.as_ptr() as usize;
        let at = match known.iter().position(|known| known.dtype.as_ptr() as usize == dtype) {
            Some(at) => at,
            None => {
                let dtype = ffi::own(py, descr);
                let code = codes.get_item(&dtype)?;
                known.push(Known { dtype, code });
                known.len() - 1
            }
        };
        let Some(code) = &known[at].code else {
            facts.push(none());
            continue;
        };
        let sizes = &numbers[..ndim];
        let shape = sizes.iter().map(|&size| int_of(py, size.cast_unsigned())).collect::<PyResult<Vec<_>>>()?;
        let first =
            if sizes.contains(&0) { index } else { *places.entry(Place { address, dtype, numbers }).or_insert(index) };
        let fact = [
            code.clone(),
            tuple_of(py, shape)?.into_any(),
            PyBool::new(py, is_contiguous).to_owned().into_any(),
            int_of(py, first)?,
        ];
        facts.push(tuple_of(py, fact)?.into_any());
    }
    list_of(py, facts)
}
