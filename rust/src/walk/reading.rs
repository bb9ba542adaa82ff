//! Reading containers that only their own iterators can read.

use pyo3::prelude::*;

use crate::errors::{Family, KeyPath, add_note, error, quote};
use crate::ffi;
use crate::limits::{Grow, Interrupts, gathered_from};

pub(super) type Entry<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The entries of an OrderedDict: its order is not that of the table it is built on. `here` is its path, for errors.
pub(super) fn ordered_entries<'py>(dict: &Bound<'py, PyAny>, here: &dyn Fn() -> KeyPath) -> PyResult<Vec<Entry<'py>>> {
    let py = dict.py();
    let mut interrupts = Interrupts::new();
    let mut entries = Vec::new();
    for key in gathered_from(dict).map_err(|raised| noted(py, raised, "OrderedDict", here))? {
        interrupts.after(py, 1)?;
        let value = ffi::dict_get(dict, &key).map_err(|raised| noted(py, raised, "OrderedDict", here))?;
        let Some(value) = value else {
            let path = here();
            let message = format!(
                "the OrderedDict {} lost the key {} while it was read: don't change a tree while it is walked",
                path.place(),
                quote(&key)
            );
            return Err(error(py, Family::Value, Some(&path), &message));
        };
        entries.grow((key, value))?;
    }
    Ok(entries)
}

/// The items of a deque.
pub(super) fn deque_items<'py>(
    deque: &Bound<'py, PyAny>,
    here: &dyn Fn() -> KeyPath,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    gathered_from(deque).map_err(|raised| noted(deque.py(), raised, "deque", here))
}

#[cold]
fn noted(py: Python<'_>, raised: PyErr, class: &str, here: &dyn Fn() -> KeyPath) -> PyErr {
    add_note(py, &raised, &format!("clika_pytree: raised by reading the {class} {}", here().place()));
    raised
}
