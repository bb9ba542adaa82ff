//! A cell for state that the GIL guards.

use std::cell::RefCell;

use pyo3::Python;

/// Shared state that is only touched with the GIL held, in closures that run no Python code.
pub(crate) struct GilCell<T>(RefCell<T>);

// SAFETY: every access asks for a `Python` token, so only the thread that holds the GIL gets at the content, and the
// module declares itself in need of the GIL.
unsafe impl<T: Send> Sync for GilCell<T> {}

impl<T> GilCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(RefCell::new(value))
    }

    /// Runs `access` on the content. It must run no Python code, dropping references included: hand those out.
    #[inline]
    pub(crate) fn with<R>(&self, _py: Python<'_>, access: impl FnOnce(&mut T) -> R) -> R {
        access(&mut self.0.borrow_mut())
    }

    /// Looks at the content for the garbage collector, which holds the GIL and hands out no token.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        self.0.try_borrow().ok().map(|content| look(&content))
    }
}
