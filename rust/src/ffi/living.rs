//! Objects that are found again for as long as somebody keeps them alive.

use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use pyo3::pyclass::boolean_struct::True;
use pyo3::{Bound, PyClass, Python, ffi};

type Place = AtomicPtr<ffi::PyObject>;

/// Each hash has one place; of two objects with the same place the later one is found.
const PLACES: usize = 1024;

/// The part of an object by which it leaves its place when it dies. It is dropped before the rest of the object.
#[derive(Default)]
pub(crate) struct Entry(AtomicPtr<Place>);

impl Entry {
    fn set(&self, place: Option<&'static Place>) {
        self.0.store(place.map_or(null_mut(), |place| std::ptr::from_ref(place).cast_mut()), Relaxed);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if let Some(place) = NonNull::new(*self.0.get_mut()) {
            // SAFETY: places are static.
            unsafe { place.as_ref() }.store(null_mut(), Relaxed);
        }
    }
}

/// An object that can be found again.
pub(crate) trait Findable: PyClass<Frozen = True> + Sync {
    fn entry(&self) -> &Entry;
}

/// Where objects of one class are looked up; it keeps none of them alive. All of it happens with the GIL held.
pub(crate) struct Living<T> {
    places: [Place; PLACES],
    class: PhantomData<fn() -> T>,
}

impl<T: Findable> Living<T> {
    pub(crate) const fn new() -> Self {
        Self { places: [const { AtomicPtr::new(null_mut()) }; PLACES], class: PhantomData }
    }

    #[inline]
    fn place(&self, hash: u64) -> &Place {
        #[expect(clippy::cast_possible_truncation, reason = "the lower bits are as good as any")]
        let number = hash as usize % PLACES;
        &self.places[number]
    }

    /// The object in the place of this hash, which may have another one.
    #[inline]
    pub(crate) fn find<'py>(&self, py: Python<'py>, hash: u64) -> Option<Bound<'py, T>> {
        let object = self.place(hash).load(Relaxed);
        if object.is_null() {
            return None;
        }
        // SAFETY: an object leaves its place as the first thing of its end, so this one is alive; only those of the
        // class are entered.
        unsafe { Some(Bound::from_borrowed_ptr(py, object).cast_into_unchecked()) }
    }

    /// Makes an object known under its hash.
    #[inline]
    pub(crate) fn enter(&'static self, object: &Bound<'_, T>, hash: u64) {
        if let Some(other) = self.find(object.py(), hash) {
            other.get().entry().set(None);
        }
        let place = self.place(hash);
        object.get().entry().set(Some(place));
        place.store(object.as_ptr(), Relaxed);
    }
}
