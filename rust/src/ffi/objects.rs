//! Reading and making Python's own containers.

use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use super::{Raw, RefVec};
use crate::errors::no_memory;

/// The address of a class: what a walk compares. Only good while some instance of it is alive.
pub(crate) type TypeAddress = usize;

#[inline]
pub(crate) fn type_address(object: Raw) -> TypeAddress {
    // SAFETY: a `Raw` points to a live object.
    unsafe { ffi::Py_TYPE(object.as_ptr()) as usize }
}

pub(crate) fn address_of(cls: &Bound<'_, PyType>) -> TypeAddress {
    cls.as_type_ptr() as usize
}

#[inline]
pub(crate) fn list_address() -> TypeAddress {
    &raw const ffi::PyList_Type as usize
}

#[inline]
pub(crate) fn tuple_address() -> TypeAddress {
    &raw const ffi::PyTuple_Type as usize
}

#[inline]
pub(crate) fn dict_address() -> TypeAddress {
    &raw const ffi::PyDict_Type as usize
}

#[inline]
pub(crate) fn str_address() -> TypeAddress {
    &raw const ffi::PyUnicode_Type as usize
}

/// Whether the object has an address in memory that its class's instances get from the heap: such a class can die.
pub(crate) fn is_heap_type(cls: &Bound<'_, PyType>) -> bool {
    // SAFETY: the class is alive.
    unsafe { (*cls.as_type_ptr()).tp_flags & ffi::Py_TPFLAGS_HEAPTYPE != 0 }
}

/// The class of a live object, borrowed from it.
#[inline]
pub(crate) fn class_of(object: Raw) -> Raw {
    // SAFETY: a `Raw` points to a live object, which has a class.
    unsafe { Raw::new_unchecked(ffi::Py_TYPE(object.as_ptr()).cast()) }
}

/// Whether the garbage collector looks at instances of an object's class.
#[inline]
pub(crate) fn is_collected(object: Raw) -> bool {
    // SAFETY: a `Raw` points to a live object, which has a class.
    unsafe { (*ffi::Py_TYPE(object.as_ptr())).tp_flags & ffi::Py_TPFLAGS_HAVE_GC != 0 }
}

/// How many references there are to an object, as far as the interpreter counts them.
pub(crate) fn references(object: &Bound<'_, PyAny>) -> isize {
    // SAFETY: a live object.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) }
}

/// The items of an exact list or of a tuple.
///
/// # Safety
/// As for [`list_items`] and [`tuple_items`].
#[inline]
pub(crate) unsafe fn items_of<'a>(sequence: Raw, is_list: bool) -> &'a [Raw] {
    // SAFETY: the promise of the caller.
    unsafe { if is_list { list_items(sequence) } else { tuple_items(sequence) } }
}

/// A new reference to a live object.
#[inline]
pub(crate) fn own(py: Python<'_>, object: Raw) -> Bound<'_, PyAny> {
    // SAFETY: a `Raw` points to a live object.
    unsafe { Bound::from_borrowed_ptr(py, object.as_ptr()) }
}

/// The items of an exact list.
///
/// # Safety
/// `list` is a live list; no Python code runs while the slice is in use.
#[inline]
pub(crate) unsafe fn list_items<'a>(list: Raw) -> &'a [Raw] {
    let list = list.as_ptr().cast::<ffi::PyListObject>();
    // SAFETY: the items of a list that Python can see are never null, so the array reads as one of `NonNull`; an empty
    // list may have no array at all.
    unsafe {
        let length = ffi::Py_SIZE(list.cast()).cast_unsigned();
        if length == 0 { &[] } else { std::slice::from_raw_parts((*list).ob_item.cast(), length) }
    }
}

/// The items of a tuple or of an instance of a subclass.
///
/// # Safety
/// `tuple` is a live tuple, and it lives as long as the slice is in use.
#[inline]
pub(crate) unsafe fn tuple_items<'a>(tuple: Raw) -> &'a [Raw] {
    let tuple = tuple.as_ptr().cast::<ffi::PyTupleObject>();
    // SAFETY: the items of a tuple that Python can see are never null.
    unsafe {
        let length = ffi::Py_SIZE(tuple.cast()).cast_unsigned();
        std::slice::from_raw_parts((&raw const (*tuple).ob_item).cast(), length)
    }
}

/// Whether an object is an exact tuple of these very objects.
#[inline]
pub(crate) fn is_tuple_of(object: Raw, items: &[Option<Raw>]) -> bool {
    // SAFETY: a live tuple, by its class; nothing else runs meanwhile.
    type_address(object) == tuple_address()
        && unsafe { tuple_items(object) }.iter().copied().map(Some).eq(items.iter().copied())
}

/// The number of entries of a dict or of an instance of a subclass.
#[inline]
pub(crate) fn dict_len(dict: Raw) -> usize {
    // SAFETY: callers hand in a live dict only (checked by its type's address).
    unsafe { ffi::PyDict_Size(dict.as_ptr()).cast_unsigned() }
}

/// Steps through the entries of a dict in insertion order, borrowing them.
pub(crate) struct DictEntries {
    dict: Raw,
    position: ffi::Py_ssize_t,
}

impl DictEntries {
    /// # Safety
    /// `dict` is a live dict; no Python code runs while this is in use.
    #[inline]
    pub(crate) unsafe fn new(dict: Raw) -> Self {
        Self { dict, position: 0 }
    }
}

impl Iterator for DictEntries {
    type Item = (Raw, Raw);

    #[inline]
    fn next(&mut self) -> Option<(Raw, Raw)> {
        let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the promise of `new`; the pointers are set where the call says so.
        unsafe {
            if ffi::PyDict_Next(self.dict.as_ptr(), &raw mut self.position, &raw mut key, &raw mut value) == 0 {
                return None;
            }
            Some((Raw::new_unchecked(key), Raw::new_unchecked(value)))
        }
    }
}

/// The entries of a dict, owned.
pub(crate) fn dict_entries<'py>(dict: &Bound<'py, PyAny>) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let mut owned = Vec::new();
    owned.try_reserve(dict_len(super::raw(dict))).map_err(no_memory)?;
    // SAFETY: callers hand in a dict or an instance of a subclass; the loop only adds references.
    owned.extend(
        unsafe { DictEntries::new(super::raw(dict)) }.map(|(key, value)| (own(dict.py(), key), own(dict.py(), value))),
    );
    Ok(owned)
}

/// The hash of an exact str, which runs no Python code.
#[inline]
pub(crate) fn str_hash(text: Raw) -> u64 {
    // SAFETY: a live exact str begins with these fields; it hashes in C and can't fail.
    unsafe {
        let known = (*text.as_ptr().cast::<ffi::PyASCIIObject>()).hash;
        let hash = if known == -1 { ffi::PyObject_Hash(text.as_ptr()) } else { known };
        hash.cast_unsigned() as u64
    }
}

/// The one str of this text that names are kept as, so that equal ones are the same object; any other object as it is.
pub(crate) fn interned(value: Bound<'_, PyAny>) -> Bound<'_, PyAny> {
    // 3.12 keeps what was interned for ever.
    if cfg!(all(Py_3_12, not(Py_3_13))) || type_address(super::raw(&value)) != str_address() {
        return value;
    }
    let py = value.py();
    let mut text = value.into_ptr();
    // SAFETY: an exact str, whose reference is exchanged for that of an equal one.
    unsafe {
        ffi::PyUnicode_InternInPlace(&raw mut text);
        Bound::from_owned_ptr(py, text)
    }
}

/// Whether the garbage collector may track an object, by its class.
#[inline]
pub(crate) fn may_be_tracked(object: Raw) -> bool {
    // SAFETY: a live object.
    unsafe { ffi::PyType_IS_GC(ffi::Py_TYPE(object.as_ptr())) != 0 }
}

/// Whether two objects are exact strs of the same text.
#[inline]
pub(crate) fn are_equal_texts(left: Raw, right: Raw) -> bool {
    type_address(left) == str_address() && type_address(right) == str_address() && str_equal(left, right)
}

/// The order of two exact strs; comparing them runs no Python code.
#[inline]
pub(crate) fn compare_texts(left: Raw, right: Raw) -> std::cmp::Ordering {
    const ONE_BYTE: std::ffi::c_uint = 1;
    // SAFETY: both are live exact strs. Where both say that their characters are of one byte, as many bytes of each are
    // readable as it is long. Only one of a kind that CPython 3.12 has no more can fail, for want of memory.
    unsafe {
        let is_short = |text: Raw| ffi::PyUnicode_KIND(text.as_ptr()) == ONE_BYTE;
        if is_short(left) && is_short(right) {
            let bytes_of = |text: Raw| {
                let length = ffi::PyUnicode_GET_LENGTH(text.as_ptr()).cast_unsigned();
                std::slice::from_raw_parts(ffi::PyUnicode_DATA(text.as_ptr()).cast::<u8>(), length)
            };
            return bytes_of(left).cmp(bytes_of(right));
        }
        let order = ffi::PyUnicode_Compare(left.as_ptr(), right.as_ptr());
        if order == -1 && !ffi::PyErr_Occurred().is_null() {
            ffi::PyErr_Clear();
            return std::cmp::Ordering::Equal;
        }
        order.cmp(&0)
    }
}

/// Whether two exact strs have the same text.
#[inline]
pub(crate) fn str_equal(left: Raw, right: Raw) -> bool {
    if left == right {
        return true;
    }
    let (left, right) = (left.as_ptr(), right.as_ptr());
    // SAFETY: both are live exact strs; comparing them runs no Python code and can't fail. Where both say of what width
    // their characters are, so many bytes of each are readable.
    unsafe {
        let length = ffi::PyUnicode_GET_LENGTH(left);
        if length != ffi::PyUnicode_GET_LENGTH(right) {
            return false;
        }
        let width = ffi::PyUnicode_KIND(left);
        if width == 0 || width != ffi::PyUnicode_KIND(right) {
            return ffi::PyUnicode_Compare(left, right) == 0;
        }
        let bytes = length.cast_unsigned() * width as usize;
        let bytes_of = |text| std::slice::from_raw_parts(ffi::PyUnicode_DATA(text).cast::<u8>(), bytes);
        bytes_of(left) == bytes_of(right)
    }
}

/// An instance of a tuple subclass with the references from `start` on, made without the class's `__new__`.
pub(crate) fn tuple_instance_from<'py>(
    cls: &Bound<'py, PyType>,
    items: &mut RefVec,
    start: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let count = (items.len() - start).cast_signed();
    let cls_ptr = cls.as_type_ptr();
    // SAFETY: callers hand in subclasses of tuple only (checked when the slot was filled), so `tp_alloc` gives an
    // object with room for `count` items, which are set before any Python code runs.
    unsafe {
        let Some(alloc) = (*cls_ptr).tp_alloc else {
            return Err(PyRuntimeError::new_err("a tuple class without an allocator"));
        };
        let instance = Bound::from_owned_ptr_or_err(cls.py(), alloc(cls_ptr, count))?;
        #[cfg(Py_3_14)]
        {
            // Not hashed yet: an allocator leaves zero there, which would count as the hash.
            (*instance.as_ptr().cast::<ffi::PyTupleObject>()).ob_hash = -1;
        }
        items.move_out(start, (&raw mut (*instance.as_ptr().cast::<ffi::PyTupleObject>()).ob_item).cast());
        Ok(instance)
    }
}

/// The slot functions of classes that write `__new__` and `__setattr__` in Python.
struct PythonSlots {
    new: usize,
    set_attribute: usize,
}

static PYTHON_SLOTS: PyOnceLock<PythonSlots> = PyOnceLock::new();

fn python_slots(py: Python<'_>) -> PyResult<&PythonSlots> {
    PYTHON_SLOTS.get_or_try_init(py, || {
        let attributes = PyDict::new(py);
        let any_function = py.import("builtins")?.getattr("id")?;
        attributes.set_item("__new__", &any_function)?;
        attributes.set_item("__setattr__", any_function)?;
        let cls = py.get_type::<PyType>().call1(("probe", (py.get_type::<PyAny>(),), attributes))?;
        let cls = cls.cast_into::<PyType>()?;
        // SAFETY: the class is alive.
        let (new, set_attribute) = unsafe { ((*cls.as_type_ptr()).tp_new, (*cls.as_type_ptr()).tp_setattro) };
        Ok(PythonSlots {
            new: new.map_or(0, |new| new as usize),
            set_attribute: set_attribute.map_or(0, |set| set as usize),
        })
    })
}

/// A new instance of a class, by the first `__new__` among its bases that is not written in Python: the one that knows
/// the layout of the instances.
pub(crate) fn new_instance<'py>(cls: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
    let py = cls.py();
    let python_new = python_slots(py)?.new;
    let cls_ptr = cls.as_type_ptr();
    // SAFETY: the class is alive and keeps its bases alive. A `tp_new` that is not Python's makes instances of the
    // subclasses of its class as well: CPython's own rule for calling `base.__new__(cls)`.
    unsafe {
        let mut base = cls_ptr;
        while (*base).tp_new.is_some_and(|new| new as usize == python_new) && !(*base).tp_base.is_null() {
            base = (*base).tp_base;
        }
        let Some(new) = (*base).tp_new else {
            return Err(crate::errors::type_error(py, "a class without __new__ can't be rebuilt from its fields"));
        };
        let no_arguments = PyTuple::empty(py);
        Bound::from_owned_ptr_or_err(py, new(cls_ptr, no_arguments.as_ptr(), std::ptr::null_mut()))
    }
}

/// Sets a field past a frozen class's own `__setattr__`, into slots and `__dict__`: by the first `__setattr__` among the
/// bases that is not written in Python, as `object.__setattr__(instance, name, value)` does for most classes.
pub(crate) fn set_field(
    instance: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = instance.py();
    let python_set = python_slots(py)?.set_attribute;
    // SAFETY: three live objects; the slot of a base sets attributes of the instances of its subclasses as well.
    let status = unsafe {
        let mut base = ffi::Py_TYPE(instance.as_ptr());
        while (*base).tp_setattro.is_some_and(|set| set as usize == python_set) && !(*base).tp_base.is_null() {
            base = (*base).tp_base;
        }
        match (*base).tp_setattro {
            Some(set) => set(instance.as_ptr(), name.as_ptr(), value.as_ptr()),
            None => ffi::PyObject_GenericSetAttr(instance.as_ptr(), name.as_ptr(), value.as_ptr()),
        }
    };
    if status == 0 { Ok(()) } else { Err(PyErr::fetch(py)) }
}

/// `callable(argument)` without building a tuple.
#[inline]
pub(crate) fn call_one<'py>(callable: &Bound<'py, PyAny>, argument: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: two live objects; the result is a new reference or an exception is set.
    unsafe {
        Bound::from_owned_ptr_or_err(callable.py(), ffi::PyObject_CallOneArg(callable.as_ptr(), argument.as_ptr()))
    }
}

/// Calls with the references from `start` on as arguments, and gives them back.
pub(crate) fn call_with<'py>(
    callable: &Bound<'py, PyAny>,
    arguments: &mut RefVec,
    start: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = callable.py();
    let result = {
        let arguments = &arguments.as_slice()[start..];
        // SAFETY: the references are owned by the stack during the call, none is a gap, and their layout is that of
        // pointers.
        unsafe {
            Bound::from_owned_ptr_or_err(
                py,
                ffi::PyObject_Vectorcall(
                    callable.as_ptr(),
                    arguments.as_ptr().cast(),
                    arguments.len(),
                    std::ptr::null_mut(),
                ),
            )
        }
    };
    arguments.truncate(py, start);
    result
}

/// `dict[key] = value`; for keys other than exact strs this may run their hash and equality.
#[inline]
pub(crate) fn dict_set(dict: &Bound<'_, PyAny>, key: &Py<PyAny>, value: &Py<PyAny>) -> PyResult<()> {
    // SAFETY: callers hand in a dict or an instance of a built-in subclass, and own key and value.
    let status = unsafe { ffi::PyDict_SetItem(dict.as_ptr(), key.as_ptr(), value.as_ptr()) };
    if status == 0 { Ok(()) } else { Err(PyErr::fetch(dict.py())) }
}
