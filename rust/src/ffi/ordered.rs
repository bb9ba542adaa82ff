//! Reading the order of an `OrderedDict` in place.
//!
//! Its iterators look up every key, which runs the keys' hash and equality. Where those change the dict, `CPython` itself
//! reads freed memory (`list(dict)` does, up to 3.13 at least). The list of its nodes can be read without any of that.
//! Their layout is private to `CPython`, though the same since 3.5: it is used only where [`is_known`] has seen that it is
//! what we take it for.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};

use crate::limits::gathered;

#[cfg(not(any(Py_3_15, Py_GIL_DISABLED)))]
mod layout {
    use pyo3::ffi;
    use pyo3::prelude::*;
    use pyo3::types::PyType;

    use crate::ffi::Raw;

    /// An entry in the order of the dict, which owns a reference to its key.
    #[repr(C)]
    struct Node {
        key: Option<Raw>,
        hash: ffi::Py_hash_t,
        next: *const Node,
        previous: *const Node,
    }

    #[repr(C)]
    struct OrderedDict {
        dict: ffi::PyDictObject,
        first: *const Node,
        last: *const Node,
        nodes_by_index: *const *const Node,
        nodes_by_index_size: ffi::Py_ssize_t,
        keys_at_resize: *const ffi::PyDictKeysObject,
        state: usize,
        attributes: *const ffi::PyObject,
        weak_references: *const ffi::PyObject,
    }

    /// The keys in order.
    pub(super) struct Keys(*const Node);

    impl Keys {
        /// # Safety
        /// `dict` is a live `OrderedDict` whose layout is known; no Python code runs while this is in use.
        pub(super) unsafe fn of(dict: Raw) -> Self {
            // SAFETY: the promise of the caller.
            Self(unsafe { (*dict.as_ptr().cast::<OrderedDict>()).first })
        }
    }

    impl Iterator for Keys {
        type Item = Raw;

        fn next(&mut self) -> Option<Raw> {
            // SAFETY: a node of a dict that nothing has changed since `of`.
            unsafe {
                let node = self.0.as_ref()?;
                self.0 = node.next;
                node.key
            }
        }
    }

    /// Whether instances are as large as we think, and a dict of one key holds in each place what belongs there. No
    /// pointer is followed before.
    pub(super) fn fits(cls: &Bound<'_, PyType>, empty: Raw, single: Raw, key: Raw) -> bool {
        // SAFETY: a live class, and live instances of it that are at least as large as what is read of them.
        unsafe {
            let size = (*cls.as_type_ptr()).tp_basicsize.cast_unsigned();
            if size != size_of::<OrderedDict>() {
                return false;
            }
            let (empty, single) = (&*empty.as_ptr().cast::<OrderedDict>(), &*single.as_ptr().cast::<OrderedDict>());
            let is_in_place = empty.first.is_null()
                && empty.last.is_null()
                && !single.first.is_null()
                && single.first == single.last
                && single.nodes_by_index_size == SMALLEST_TABLE
                && single.keys_at_resize == single.dict.ma_keys.cast_const();
            is_in_place && {
                let node = &*single.first;
                node.key == Some(key)
                    && node.hash == ffi::PyObject_Hash(key.as_ptr())
                    && node.next.is_null()
                    && node.previous.is_null()
            }
        }
    }

    /// The size of the table of a dict with few keys.
    const SMALLEST_TABLE: ffi::Py_ssize_t = 8;
}

#[cfg(any(Py_3_15, Py_GIL_DISABLED))]
mod layout {
    use pyo3::prelude::*;
    use pyo3::types::PyType;

    use crate::ffi::Raw;

    pub(super) struct Keys;

    impl Keys {
        #[expect(clippy::missing_safety_doc, reason = "it reads nothing")]
        pub(super) unsafe fn of(_dict: Raw) -> Self {
            Self
        }
    }

    impl Iterator for Keys {
        type Item = Raw;

        fn next(&mut self) -> Option<Raw> {
            None
        }
    }

    pub(super) fn fits(_cls: &Bound<'_, PyType>, _empty: Raw, _single: Raw, _key: Raw) -> bool {
        false
    }
}

static IS_KNOWN: PyOnceLock<bool> = PyOnceLock::new();

/// The keys of an `OrderedDict` in its order, or nothing where only its iterator knows them. Runs none of the keys' code.
pub(crate) fn ordered_keys<'py>(dict: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let py = dict.py();
    let known = IS_KNOWN.get_or_try_init(py, || is_known(&dict.get_type()))?;
    if !known {
        return Ok(None);
    }
    // SAFETY: a live OrderedDict, and adding a reference runs no Python code.
    let keys = unsafe { layout::Keys::of(super::raw(dict)) };
    gathered(keys.map(|key| super::own(py, key))).map(Some)
}

/// Compares some dicts as we read them with what Python says of them.
fn is_known(cls: &Bound<'_, PyType>) -> PyResult<bool> {
    let py = cls.py();
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"].map(|key| PyString::new(py, key));
    let (empty, single, moved) = (cls.call0()?, cls.call0()?, cls.call0()?);
    single.set_item(&keys[0], 0)?;
    if !layout::fits(cls, super::raw(&empty), super::raw(&single), super::raw(&keys[0])) {
        return Ok(false);
    }
    for key in &keys {
        moved.set_item(key, 0)?;
    }
    moved.del_item(&keys[4])?;
    moved.call_method1("move_to_end", (&keys[7], false))?;
    moved.call_method1("move_to_end", (&keys[1],))?;
    let expected = moved.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    // SAFETY: a live OrderedDict, and nothing below runs Python code.
    let found = unsafe { layout::Keys::of(super::raw(&moved)) };
    Ok(found.eq(expected.iter().map(super::raw)))
}
