//! Hashes that are known already, without `PyO3`'s way into Rust: that way costs more than the answer.

use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;

/// A class many of whose instances know their hash.
pub(crate) trait KnownHash: pyo3::PyClass<Frozen = True> + Sync {
    /// Runs no Python code.
    fn known_hash(&self) -> Option<u64>;

    /// Where `__hash__` of its `pymethods` is kept.
    fn other_way() -> &'static OnceLock<ffi::hashfunc>;
}

/// Has `hash(instance)` ask for the known hash first.
pub(crate) fn hash_by_known<T: KnownHash>(py: Python<'_>) {
    // SAFETY: the class was made from `T` and is not in use yet: the module that it belongs to is being made.
    let slot = unsafe { &mut (*T::type_object_raw(py)).tp_hash };
    if let Some(other_way) = *slot
        && T::other_way().set(other_way).is_ok()
    {
        *slot = Some(known_or_other::<T>);
    }
}

unsafe extern "C" fn known_or_other<T: KnownHash>(object: *mut ffi::PyObject) -> ffi::Py_hash_t {
    // SAFETY: the slot of a class is called with its instances alone, by a thread that holds the GIL.
    let known = unsafe {
        let py = Python::assume_attached();
        pyo3::Borrowed::from_ptr(py, object).cast_unchecked::<T>().get().known_hash()
    };
    match known {
        // -1 is how a slot says that it failed.
        #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "any bits of a hash will do")]
        Some(hash) => match hash as ffi::Py_hash_t {
            -1 => -2,
            hash => hash,
        },
        // SAFETY: the slot that was there before, called as this one was; it is kept before this one is in use.
        None => T::other_way().get().map_or(-1, |other_way| unsafe { other_way(object) }),
    }
}
