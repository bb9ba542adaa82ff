//! Objects of given classes among all that the garbage collector knows.

use hashbrown::HashMap;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::errors::no_memory;
use crate::ffi::{AddressHash, RefVec, list_from};

/// Every object that the garbage collector tracks and whose class derives from one of these, as a list.
///
/// Objects that `gc.freeze` has put aside are not among them.
///
/// >>> from clika_pytree import _native
/// >>> class Kept:
/// ...     pass
/// >>> kept = Kept()
/// >>> _native.tracked_instances((Kept,)) == [kept]
/// True
#[pyfunction]
pub(crate) fn tracked_instances<'py>(classes: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyList>> {
    let py = classes.py();
    let all = py.import("gc")?.call_method0("get_objects")?.cast_into::<PyList>()?;
    let mut found = RefVec::default();
    // By address: the list keeps the objects, and so their classes, alive.
    let mut known: HashMap<usize, bool, AddressHash> = HashMap::default();
    for object in all.iter() {
        let address = object.get_type_ptr() as usize;
        let fits = if let Some(&fits) = known.get(&address) {
            fits
        } else {
            let fits = derives(&object, classes)?;
            known.try_reserve(1).map_err(no_memory)?;
            known.insert(address, fits);
            fits
        };
        if fits {
            found.push(object)?;
        }
    }
    list_from(py, &mut found, 0)
}

fn derives(object: &Bound<'_, PyAny>, classes: &Bound<'_, PyTuple>) -> PyResult<bool> {
    let cls = object.get_type();
    for class in classes.iter() {
        if cls.is_subclass(&class)? {
            return Ok(true);
        }
    }
    Ok(false)
}
