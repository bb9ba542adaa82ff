//! Reading the attributes of an instance where they lie, without asking for them by name.
//!
//! `CPython` keeps the attributes of most instances in a row of values beside the instance, in an order that all instances
//! of the class share, and those of `__slots__` inside it. Where they lie is private to `CPython` and differs from version
//! to version; it is used only where [`check_fields`] has seen, when the module was loaded, that it is what we take it for.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

use super::Raw;
use crate::limits::gathered;

/// Whether the layout is the one that is described here.
static IS_KNOWN: AtomicBool = AtomicBool::new(false);

/// Where one attribute of an instance lies.
#[derive(Clone, Copy)]
struct Place {
    /// In the row of values, not in the instance itself.
    in_values: bool,
    bytes: isize,
}

/// Where attributes of these names lie in the instances of a class, as of one version of the class.
pub(crate) struct FieldPlaces {
    version: u32,
    /// None where some attribute has to be asked for by its name.
    places: Option<Box<[Place]>>,
    has_values: bool,
}

impl FieldPlaces {
    /// Nothing is known, and no class has this version.
    pub(crate) const UNKNOWN: Self = Self { version: 0, places: None, has_values: false };

    /// Looks for the attributes in a class.
    pub(crate) fn find<'a>(
        cls: &Bound<'_, PyType>,
        names: impl IntoIterator<Item = &'a Py<PyString>>,
    ) -> PyResult<Self> {
        if !IS_KNOWN.load(Ordering::Relaxed) {
            return Ok(Self::UNKNOWN);
        }
        let mut places = gathered(names.into_iter().map(|name| layout::place_of(cls, name.bind(cls.py()))))?;
        // Asking a class for an attribute gives it a version.
        let version = layout::version(cls.as_type_ptr());
        if places.iter().any(Option::is_none) {
            places.clear();
            return Ok(Self { version, places: None, has_values: false });
        }
        let places = gathered(places.into_iter().flatten())?.into_boxed_slice();
        let has_values = places.iter().any(|place| place.in_values);
        Ok(Self { version, places: Some(places), has_values })
    }

    /// Whether this was found out of the class of an object, as that class is now: no two classes have one version.
    #[inline]
    pub(crate) fn are_of(&self, object: Raw) -> bool {
        // SAFETY: a live object has a class.
        let class = unsafe { ffi::Py_TYPE(object.as_ptr()) };
        self.version != 0 && self.version == layout::version(class)
    }

    /// Adds the attributes of an instance to `target`, as far as its memory goes. `false`, and nothing added, where they
    /// have to be asked for by name. The references are borrowed; runs no Python code.
    #[inline]
    pub(crate) fn read(&self, object: Raw, target: &mut Vec<Option<Raw>>) -> bool {
        let Some(places) = &self.places else { return false };
        if !self.are_of(object) || target.capacity() - target.len() < places.len() {
            return false;
        }
        let mut are_there = true;
        // SAFETY: the places were found in this version of the object's class, and a row of values is long enough for each.
        // There is room for so many entries in `target`.
        unsafe {
            let values = if self.has_values { layout::values(object) } else { std::ptr::null() };
            if self.has_values && values.is_null() {
                return false;
            }
            let room = target.as_mut_ptr().add(target.len());
            for (index, place) in places.iter().enumerate() {
                let start = if place.in_values { values } else { object.as_ptr().cast_const().cast() };
                let value = *start.byte_offset(place.bytes).cast::<Option<Raw>>();
                are_there &= value.is_some();
                room.add(index).write(value);
            }
            if are_there {
                target.set_len(target.len() + places.len());
            }
        }
        are_there
    }
}

#[cfg(all(Py_3_11, not(Py_3_15), not(Py_GIL_DISABLED), target_pointer_width = "64"))]
mod layout {
    use std::ffi::{c_char, c_int, c_void};

    use pyo3::ffi;
    use pyo3::prelude::*;
    use pyo3::types::{PyString, PyType};

    use super::Place;
    use crate::ffi::Raw;
    use crate::ffi::dict_table::shared_key;

    unsafe extern "C" {
        /// What a class and its bases have under a name, borrowed; no error is left set.
        fn _PyType_Lookup(class: *mut ffi::PyTypeObject, name: *mut ffi::PyObject) -> *mut ffi::PyObject;
    }

    /// An attribute of `__slots__`.
    #[repr(C)]
    struct Slot {
        common: ffi::PyDescrObject,
        member: *const Member,
    }

    #[repr(C)]
    struct Member {
        name: *const c_char,
        kind: c_int,
        offset: isize,
        flags: c_int,
    }

    /// A member that holds an object, and is missing where it holds none.
    const OBJECT_OR_MISSING: c_int = 16;
    const READ_ONLY: c_int = 1;

    /// The flag of a class whose instances have their values beside them.
    const HAS_VALUES: std::ffi::c_ulong = if cfg!(Py_3_13) { 1 << 2 } else { 1 << 4 };

    #[inline]
    pub(super) fn version(class: *mut ffi::PyTypeObject) -> u32 {
        // SAFETY: a live class.
        unsafe { (*class).tp_version_tag }
    }

    /// Where the instances of a class have an attribute, where `object.__getattribute__` would find it there.
    pub(super) fn place_of(cls: &Bound<'_, PyType>, name: &Bound<'_, PyString>) -> Option<Place> {
        let class = cls.as_type_ptr();
        // SAFETY: a live class and a name; what is found is borrowed from the class, and nothing runs before it is left.
        unsafe {
            if (*class)
                .tp_getattro
                .is_none_or(|found| !std::ptr::fn_addr_eq(found, ffi::PyObject_GenericGetAttr as ffi::getattrofunc))
            {
                return None;
            }
            let found = _PyType_Lookup(class, name.as_ptr());
            if found.is_null() {
                return value_place(class, name);
            }
            let kind = ffi::Py_TYPE(found);
            if kind == &raw mut ffi::PyMemberDescr_Type {
                let slot = found.cast::<Slot>();
                let member = (*slot).member;
                let is_usual = (*member).kind == OBJECT_OR_MISSING && (*member).flags & !READ_ONLY == 0;
                let is_own = ffi::PyType_IsSubtype(class, (*slot).common.d_type) != 0;
                return (is_usual && is_own).then_some(Place { in_values: false, bytes: (*member).offset });
            }
            // A default stands in the class; the instance goes first, unless the default is a data descriptor. A class
            // that can't be changed does not become one.
            let stays = (*kind).tp_flags & ffi::Py_TPFLAGS_IMMUTABLETYPE != 0;
            if stays && (*kind).tp_descr_set.is_none() { value_place(class, name) } else { None }
        }
    }

    /// # Safety
    /// A live class.
    unsafe fn value_place(class: *mut ffi::PyTypeObject, name: &Bound<'_, PyString>) -> Option<Place> {
        // SAFETY: the promise of the caller; a class with the flag was made by Python and has such keys.
        unsafe {
            if (*class).tp_flags & HAS_VALUES == 0 || (*class).tp_flags & ffi::Py_TPFLAGS_HEAPTYPE == 0 {
                return None;
            }
            let keys: *const c_void = (*class.cast::<ffi::PyHeapTypeObject>()).ht_cached_keys;
            let index = shared_key(keys, crate::ffi::raw(name))?;
            Some(Place { in_values: true, bytes: (index * size_of::<Option<Raw>>()).cast_signed() })
        }
    }

    /// The row of an instance's values; null where they lie in a dict of its own.
    ///
    /// # Safety
    /// A live instance of a class with the flag.
    #[inline]
    pub(super) unsafe fn values(object: Raw) -> *const c_void {
        let object = object.as_ptr();
        // SAFETY: the promise of the caller, and the layout was checked when the module was loaded.
        unsafe {
            #[cfg(not(Py_3_12))]
            {
                *object.cast::<*const c_void>().sub(4)
            }
            // The row or the dict: the address of a row is marked by its lowest bit, and is one less than the row's.
            #[cfg(all(Py_3_12, not(Py_3_13)))]
            {
                let marked = *object.cast::<*const c_void>().sub(3);
                if marked.addr() & 1 == 1 { marked.byte_add(1) } else { std::ptr::null() }
            }
            // Behind the instance: four bytes, of which the last says whether it is in use, and the row.
            #[cfg(Py_3_13)]
            {
                let head = object.byte_offset((*ffi::Py_TYPE(object)).tp_basicsize).cast::<[u8; 8]>();
                if (*head)[3] == 1 { head.add(1).cast() } else { std::ptr::null() }
            }
        }
    }
}

#[cfg(not(all(Py_3_11, not(Py_3_15), not(Py_GIL_DISABLED), target_pointer_width = "64")))]
mod layout {
    use std::ffi::c_void;

    use pyo3::ffi;
    use pyo3::prelude::*;
    use pyo3::types::{PyString, PyType};

    use super::Place;
    use crate::ffi::Raw;

    pub(super) fn version(_class: *mut ffi::PyTypeObject) -> u32 {
        0
    }

    pub(super) fn place_of(_cls: &Bound<'_, PyType>, _name: &Bound<'_, PyString>) -> Option<Place> {
        None
    }

    #[expect(clippy::missing_safety_doc, reason = "it reads nothing")]
    pub(super) unsafe fn values(_object: Raw) -> *const c_void {
        std::ptr::null()
    }
}

/// Compares the attributes of some instances as we read them with what Python says of them; reading them in place is left
/// alone where they differ.
pub(crate) fn check_fields(py: Python<'_>) -> PyResult<()> {
    let samples = py.eval(
        c"(lambda plain, slots: [
            (plain(a=[0], b=[1], c=[2]), 'a', 'b', 'c'), (plain(a=[0], b=[1], c=[2], d=[3]), 'd', 'b', 'a'),
            (slots(b=[0], a=[1]), 'a', 'b')])(
            *(lambda make: (type('Plain', (), {'__init__': make, 'c': 0}),
                            type('Slots', (), {'__init__': make, '__slots__': ('b', 'a')})))(
                lambda self, **fields: [setattr(self, *field) for field in fields.items()] and None))",
        None,
        None,
    )?;
    IS_KNOWN.store(true, Ordering::Relaxed);
    for sample in samples.try_iter()? {
        let sample = sample?.cast_into::<PyTuple>()?;
        let object = sample.get_item(0)?;
        let mut names = Vec::new();
        for name in sample.iter().skip(1) {
            names.push(super::name_of(py, name.cast::<PyString>()?.to_str()?)?.unbind());
        }
        let fields = FieldPlaces::find(&object.get_type(), &names)?;
        let mut found = Vec::with_capacity(names.len());
        let is_read = fields.read(super::raw(&object), &mut found);
        let mut expected = Vec::new();
        for name in &names {
            expected.push(Some(super::raw(&object.getattr(name.bind(py))?)));
        }
        if !is_read || found != expected {
            IS_KNOWN.store(false, Ordering::Relaxed);
            return Ok(());
        }
    }
    Ok(())
}
