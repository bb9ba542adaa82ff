//! The contexts that the instances of a dataclass often have.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::ffi::{self, Raw};
use crate::values;

/// Most classes have instances with a handful of different meta fields.
const MOST: usize = 4;

/// The last few contexts of a class, so that an instance with the same meta fields needs no tuple of its own.
///
/// Plain values alone are kept: nothing whose life somebody may watch.
#[derive(Default)]
pub(crate) struct Contexts {
    kept: [Option<Py<PyTuple>>; MOST],
    next: usize,
}

impl Contexts {
    /// The context that holds the very same objects.
    #[inline]
    pub(super) fn find(&self, py: Python<'_>, meta: &[Option<Raw>]) -> Option<Raw> {
        let kept = self.kept.iter().map_while(|context| Some(context.as_ref()?.bind(py)));
        kept.map(|context| ffi::raw(context.as_any())).find(|context| ffi::is_tuple_of(*context, meta))
    }

    /// Keeps a context, in place of the one that is handed back.
    pub(super) fn keep(&mut self, context: Py<PyTuple>) -> Option<Py<PyTuple>> {
        let before = self.kept[self.next].replace(context);
        self.next = (self.next + 1) % MOST;
        before
    }

    pub(super) fn is_worth_keeping(context: &Bound<'_, PyTuple>) -> bool {
        !context.is_empty() && values::is_small_and_plain(context)
    }
}
