//! Owned references in plain memory.

use std::collections::TryReserveError;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::{Borrowed, PyClass, ffi};

use super::free::give_back;
use crate::errors::no_memory;
use crate::limits::{Interrupts, check_reserve};

/// So few pointers are copied faster one by one than by a call.
const FEW: usize = 8;

/// A pointer to a live object; it owns nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Raw(NonNull<ffi::PyObject>);

// SAFETY: the pointer is only followed with the GIL held.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

impl std::hash::Hash for Raw {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write_usize(self.0.as_ptr() as usize);
    }
}

impl Raw {
    /// # Safety
    /// `pointer` is that of a live object.
    #[inline]
    pub(crate) unsafe fn new_unchecked(pointer: *mut ffi::PyObject) -> Self {
        // SAFETY: objects have no null address.
        Self(unsafe { NonNull::new_unchecked(pointer) })
    }

    #[inline]
    pub(crate) fn new(pointer: *mut ffi::PyObject) -> Option<Self> {
        NonNull::new(pointer).map(Self)
    }

    #[inline]
    pub(crate) fn as_ptr(self) -> *mut ffi::PyObject {
        self.0.as_ptr()
    }
}

/// What lies in an object of ours.
///
/// # Safety
/// `object` is an instance of `T`, and stays alive as long as what is lent is in use.
#[inline]
pub(crate) unsafe fn content<T: PyClass<Frozen = True> + Sync>(py: Python<'_>, object: Raw) -> &T {
    // SAFETY: the promise of the caller; a frozen object lends its content for as long as it lives.
    unsafe { &*std::ptr::from_ref(Borrowed::from_ptr(py, object.as_ptr()).cast_unchecked::<T>().get()) }
}

/// A stack of owned references (or gaps), whose memory is asked for fallibly.
#[derive(Default)]
pub(crate) struct RefVec {
    items: Vec<Option<Raw>>,
}

// SAFETY: the references are only touched with the GIL held.
unsafe impl Send for RefVec {}
// SAFETY: as above.
unsafe impl Sync for RefVec {}

impl RefVec {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn with_room(count: usize) -> PyResult<Self> {
        let mut refs = Self::default();
        refs.reserve(count)?;
        Ok(refs)
    }

    /// These objects, in their order.
    pub(crate) fn of<'py>(py: Python<'py>, objects: impl IntoIterator<Item = Bound<'py, PyAny>>) -> PyResult<Self> {
        let objects = objects.into_iter();
        let mut refs = Self::with_room(objects.size_hint().0)?;
        let mut interrupts = Interrupts::new();
        for object in objects {
            refs.push(object)?;
            interrupts.after(py, 1)?;
        }
        Ok(refs)
    }

    #[inline]
    pub(crate) fn reserve(&mut self, additional: usize) -> PyResult<()> {
        self.items.try_reserve(additional).map_err(no_memory)
    }

    /// Takes over the reference.
    #[expect(clippy::inline_always, reason = "it is in the innermost loops, and a call is half of its cost")]
    #[inline(always)]
    pub(crate) fn push(&mut self, object: Bound<'_, PyAny>) -> PyResult<()> {
        self.reserve(1)?;
        self.items.push(Raw::new(object.into_ptr()));
        Ok(())
    }

    /// Adds a reference to a live object.
    #[inline]
    pub(crate) fn push_new(&mut self, object: Raw) -> PyResult<()> {
        self.reserve(1)?;
        // SAFETY: a `Raw` points to a live object.
        unsafe { ffi::Py_INCREF(object.as_ptr()) };
        self.items.push(Some(object));
        Ok(())
    }

    /// Adds a reference to a live object, where room was reserved.
    #[inline]
    pub(crate) fn push_within(&mut self, object: Raw) {
        let length = self.items.len();
        assert!(length < self.items.capacity());
        // SAFETY: a `Raw` points to a live object, and there is room for one more entry.
        unsafe {
            ffi::Py_INCREF(object.as_ptr());
            self.items.as_mut_ptr().add(length).write(Some(object));
            self.items.set_len(length + 1);
        }
    }

    /// Adds references to `count` live objects, where room for them was reserved, and shows each to `seen`.
    #[inline]
    pub(crate) fn extend_within(
        &mut self,
        count: usize,
        objects: impl Iterator<Item = Raw>,
        mut seen: impl FnMut(Raw),
    ) {
        let length = self.items.len();
        assert!(count <= self.items.capacity() - length);
        let mut added = 0;
        for object in objects.take(count) {
            // SAFETY: a `Raw` points to a live object, and there is room for `count` more entries.
            unsafe {
                ffi::Py_INCREF(object.as_ptr());
                self.items.as_mut_ptr().add(length + added).write(Some(object));
            }
            added += 1;
            seen(object);
        }
        // SAFETY: so many entries were written.
        unsafe { self.items.set_len(length + added) };
    }

    /// Reserves room without saying why not.
    #[inline]
    pub(crate) fn reserve_quietly(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.items.try_reserve(additional)
    }

    /// Takes over a reference that some other owner gave up.
    #[inline]
    pub(crate) fn push_stolen(&mut self, object: Raw) -> PyResult<()> {
        if let Err(error) = self.reserve(1) {
            // SAFETY: the reference is ours, and nobody else gives it back.
            unsafe { ffi::Py_DECREF(object.as_ptr()) };
            return Err(error);
        }
        self.items.push(Some(object));
        Ok(())
    }

    /// Leaves a slot empty.
    pub(crate) fn push_gap(&mut self) -> PyResult<()> {
        self.reserve(1)?;
        self.items.push(None);
        Ok(())
    }

    /// The entries, as `PyO3` knows them.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[Option<Py<PyAny>>] {
        // SAFETY: `Py` is a transparent `NonNull`, and an `Option` of either has the same layout. The references stay
        // ours: a shared slice can't drop them.
        unsafe { &*(std::ptr::from_ref(self.items.as_slice()) as *const [Option<Py<PyAny>>]) }
    }

    #[inline]
    pub(crate) fn raw(&self) -> &[Option<Raw>] {
        &self.items
    }

    /// Gives back the references from `start` on. Finalizers may run; what lies before `start` stays valid.
    #[inline]
    pub(crate) fn truncate(&mut self, _py: Python<'_>, start: usize) {
        while self.items.len() > start {
            if let Some(Some(item)) = self.items.pop() {
                // SAFETY: the reference was ours and has left the stack.
                unsafe { ffi::Py_DECREF(item.as_ptr()) };
            }
        }
    }

    /// Gives back the references that are not wanted; the others move up. Finalizers may run.
    pub(crate) fn keep(&mut self, _py: Python<'_>, mut is_wanted: impl FnMut(usize) -> bool) {
        let mut kept = 0;
        for index in 0..self.items.len() {
            let item = self.items[index].take();
            if is_wanted(index) {
                self.items[kept] = item;
                kept += 1;
            } else if let Some(item) = item {
                // SAFETY: the reference was ours and has left the stack.
                unsafe { ffi::Py_DECREF(item.as_ptr()) };
            }
        }
        self.items.truncate(kept);
    }

    /// Moves the references from `start` on out to `target`, which has room for them; the caller owns them now.
    ///
    /// # Safety
    /// `target` has room for `len() - start` pointers, and none of the entries is a gap.
    #[inline]
    pub(crate) unsafe fn move_out(&mut self, start: usize, target: *mut *mut ffi::PyObject) {
        let count = self.items.len() - start;
        // SAFETY: the caller gives the room; an `Option<NonNull>` has the layout of a pointer. The length is cut, so
        // the references change their owner.
        unsafe {
            let source = self.items.as_ptr().add(start).cast::<*mut ffi::PyObject>();
            if count < FEW {
                for index in 0..count {
                    *target.add(index) = *source.add(index);
                }
            } else {
                std::ptr::copy_nonoverlapping(source, target, count);
            }
            self.items.set_len(start);
        }
    }

    /// Moves `count` entries of `source`, from `start` on, to the end of this one and leaves gaps there.
    #[inline]
    pub(crate) fn move_from(&mut self, source: &mut Self, start: usize, count: usize) -> PyResult<()> {
        self.reserve(count)?;
        for entry in &mut source.items[start..start + count] {
            self.items.push(entry.take());
        }
        Ok(())
    }

    /// Takes the reference out of its slot.
    #[inline]
    pub(crate) fn take<'py>(&mut self, py: Python<'py>, index: usize) -> Option<Bound<'py, PyAny>> {
        // SAFETY: the entry is an owned reference, and it has left its slot.
        self.items.get_mut(index)?.take().map(|item| unsafe { Bound::from_owned_ptr(py, item.as_ptr()) })
    }

    /// Takes the last reference.
    pub(crate) fn pop<'py>(&mut self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        // SAFETY: the entry is an owned reference, and it has left its slot.
        self.items.pop()?.map(|item| unsafe { Bound::from_owned_ptr(py, item.as_ptr()) })
    }

    /// Fills a slot that was emptied.
    #[inline]
    pub(crate) fn put(&mut self, index: usize, object: Bound<'_, PyAny>) {
        debug_assert!(self.items[index].is_none());
        self.items[index] = Raw::new(object.into_ptr());
    }

    /// Takes the references from `start` on; whoever reads them owns them.
    ///
    /// # Safety
    /// All of them are read.
    pub(super) unsafe fn take_from(&mut self, start: usize) -> impl Iterator<Item = Option<Raw>> {
        let end = self.items.len();
        // SAFETY: the entries stay in memory while the iterator holds on to the stack; the length is cut, so that they
        // change their owner.
        unsafe { self.items.set_len(start) };
        let first = self.items.as_ptr();
        // SAFETY: as above.
        (start..end).map(move |index| unsafe { *first.add(index) })
    }

    /// Copies the content into an array of just its size.
    pub(crate) fn drain_to_slots(&mut self) -> PyResult<Slots> {
        let mut exact = Vec::new();
        exact.try_reserve_exact(self.items.len()).map_err(no_memory)?;
        check_reserve()?;
        exact.append(&mut self.items);
        Ok(Slots(exact.into_boxed_slice()))
    }

    /// Takes over references that another owner gave up.
    pub(crate) fn from_owned(items: Vec<Option<Raw>>) -> Self {
        Self { items }
    }

    /// How many more entries fit without asking for memory.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.items.capacity() - self.items.len()
    }

    /// How many entries fit without asking for memory.
    pub(crate) fn capacity(&self) -> usize {
        self.items.capacity()
    }
}

impl Drop for RefVec {
    fn drop(&mut self) {
        if !self.items.is_empty() {
            give_back(std::mem::take(&mut self.items).into_iter().flatten());
        }
    }
}

/// The Python objects of a structure. One structure owns them: it alone shows them to the garbage collector.
#[derive(Default)]
pub(crate) struct Slots(Box<[Option<Raw>]>);

// SAFETY: the references are only touched with the GIL held.
unsafe impl Send for Slots {}
// SAFETY: as above.
unsafe impl Sync for Slots {}

impl Slots {
    /// Further references to the same objects.
    pub(crate) fn shared(&self, py: Python<'_>) -> PyResult<Self> {
        let mut refs = RefVec::with_room(self.0.len())?;
        refs.items.extend(self.as_slice().iter().map(|slot| Raw::new(slot.as_ref()?.clone_ref(py).into_ptr())));
        refs.drain_to_slots()
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[Option<Py<PyAny>>] {
        // SAFETY: the layouts are the same (see `RefVec::as_slice`), and a shared slice can't drop the references.
        unsafe { &*(std::ptr::from_ref(&*self.0) as *const [Option<Py<PyAny>>]) }
    }

    #[inline]
    pub(crate) fn raw(&self) -> &[Option<Raw>] {
        &self.0
    }

    pub(crate) fn get<'a, 'py>(&'a self, py: Python<'py>, index: usize) -> Option<Borrowed<'a, 'py, PyAny>> {
        Some(self.as_slice().get(index)?.as_ref()?.bind_borrowed(py))
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            give_back(std::mem::take(&mut self.0).into_iter().flatten());
        }
    }
}

/// The pointer of a live object.
#[inline]
pub(crate) fn raw(object: &Bound<'_, PyAny>) -> Raw {
    // SAFETY: a bound object is never null.
    unsafe { Raw::new_unchecked(object.as_ptr()) }
}

/// Gives up the reference of an object to whoever takes the pointer.
#[inline]
pub(crate) fn into_raw(object: Bound<'_, PyAny>) -> Raw {
    let object = ManuallyDrop::new(object);
    raw(&object)
}
