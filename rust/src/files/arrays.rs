//! What a file says of arrays of numpy, for many of them at once.

use hashbrown::HashMap;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyType};

use crate::ffi::{self, array_layout_is_known, int_of, list_of, tuple_of, with_array};
use crate::limits::Interrupts;

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
    fn first(&mut self, address: usize, index: usize, is_same: impl Fn(usize) -> bool) -> usize {
        let mut at = self.last.get(&address).copied();
        while let Some(other) = at {
            if is_same(other) {
                return other;
            }
            at = self.before[other];
        }
        self.before.resize(index + 1, None);
        self.before[index] = self.last.insert(address, index);
        index
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
    let mut places = Places::default();
    let mut interrupts = Interrupts::new();
    let mut facts = Vec::with_capacity(leaves.len());
    for (index, leaf) in leaves.iter().enumerate() {
        interrupts.after(py, 1)?;
        if !leaf.get_type().is(&ndarray) {
            facts.push(none());
            continue;
        }
        let (sizes, address, descr, is_contiguous) = with_array(ffi::raw(&leaf), |array| {
            (array.sizes.to_vec(), array.address, array.descr, array.is_c_contiguous())
        });
        let dtype = descr.as_ptr() as usize;
        let at = known.iter().position(|known| known.dtype.as_ptr() as usize == dtype);
        let at = if let Some(at) = at {
            at
        } else {
            let dtype = ffi::own(py, descr);
            let code = codes.get_item(&dtype)?;
            known.push(Known { dtype, code });
            known.len() - 1
        };
        let Some(code) = &known[at].code else {
            facts.push(none());
            continue;
        };
        let shape = sizes.iter().map(|&size| int_of(py, size.cast_unsigned())).collect::<PyResult<Vec<_>>>()?;
        let first = if sizes.contains(&0) {
            index
        } else {
            places.first(address, index, |other| {
                leaves.get_item(other).is_ok_and(|other| other.get_type().is(&ndarray) && are_alike(&leaf, &other))
            })
        };
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
