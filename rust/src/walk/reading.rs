//! Reading containers that only their own iterators can read.

use hashbrown::HashMap;
use pyo3::prelude::*;

use crate::errors::{self, Family, KeyPath, error, no_memory, quote};
use crate::ffi::{self, AddressHash, Raw};
use crate::limits::{Grow, Interrupts, gathered_from};

pub(super) type Entry<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The entries of an OrderedDict: its order is not that of the table it is built on. `here` is its path, for errors.
pub(super) fn ordered_entries<'py>(dict: &Bound<'py, PyAny>, here: &dyn Fn() -> KeyPath) -> PyResult<Vec<Entry<'py>>> {
    let keys = match ffi::ordered_keys(dict)? {
        Some(keys) => keys,
        None => gathered_from(dict).map_err(|raised| noted(dict.py(), raised, "OrderedDict", here))?,
    };
    let entries = ffi::dict_entries(dict)?;
    let is_in_order = keys.len() == entries.len() && keys.iter().zip(&entries).all(|(key, (other, _))| key.is(other));
    if is_in_order { Ok(entries) } else { arranged(dict, &keys, &entries, here) }
}

/// The entries in the order of these keys. Keys are told by their address: their equality may be any code.
fn arranged<'py>(
    dict: &Bound<'py, PyAny>,
    keys: &[Bound<'py, PyAny>],
    entries: &[Entry<'py>],
    here: &dyn Fn() -> KeyPath,
) -> PyResult<Vec<Entry<'py>>> {
    let py = dict.py();
    let mut interrupts = Interrupts::new();
    let mut places: HashMap<Raw, usize, AddressHash> = HashMap::default();
    places.try_reserve(entries.len()).map_err(no_memory)?;
    for (place, (key, _)) in entries.iter().enumerate() {
        interrupts.after(py, 1)?;
        places.insert(ffi::raw(key), place);
    }
    let mut arranged = Vec::new();
    for key in keys {
        interrupts.after(py, 1)?;
        let place = places.remove(&ffi::raw(key)).ok_or_else(|| at_odds(py, "its order has", key, here))?;
        arranged.grow(entries[place].clone())?;
    }
    match places.into_values().min() {
        Some(place) => Err(at_odds(py, "its table has", &entries[place].0, here)),
        None => Ok(arranged),
    }
}

/// The error for an OrderedDict whose order and table have different keys.
#[cold]
fn at_odds(py: Python<'_>, which: &str, key: &Bound<'_, PyAny>, here: &dyn Fn() -> KeyPath) -> PyErr {
    let path = here();
    let message = format!(
        "the OrderedDict {} is at odds with itself: only {which} the key {}. Don't change it while it is walked, and not \
         by the methods of dict",
        path.place(),
        quote(key)
    );
    error(py, Family::Value, Some(&path), &message)
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
    errors::noted(py, raised, here, |path| format!("by reading the {class} {}", path.place()))
}
