//! Memory that one walk hands on to the next.

use pyo3::Python;

use super::GilCell;

/// Keeps the empty but allocated state of one finished walk. A walk within a walk finds none and makes its own.
pub(crate) struct Pool<T>(GilCell<Option<T>>);

impl<T: Default> Pool<T> {
    pub(crate) const fn new() -> Self {
        Self(GilCell::new(None))
    }

    #[inline]
    pub(crate) fn take(&self, py: Python<'_>) -> T {
        self.0.with(py, Option::take).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn give_back(&self, py: Python<'_>, memory: T) {
        let unused = self.0.with(py, |kept| kept.replace(memory));
        drop(unused);
    }
}

/// Memory is kept up to this many entries.
pub(crate) const LARGEST_KEPT: usize = 1 << 20;
