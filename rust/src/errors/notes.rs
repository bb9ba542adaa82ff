//! Notes on exceptions of user code: who raised them, and where in a tree.

use pyo3::exceptions::PyMemoryError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::{KeyPath, has_room, left_out, text_of};

/// Far more than a note takes while it is made.
const ROOM_FOR_WORDS: usize = 1 << 16;
/// How many notes an exception gets that passes through calls inside calls, as one does that ends a recursion.
const MOST_NOTES: usize = 8;

/// The attributes of exceptions that notes are about.
///
/// `CPython`'s cache of look-ups keeps each str that it is asked for, and knows it by its address: a new one for each
/// look-up would fill it.
struct Names<'a, 'py> {
    notes: &'a Bound<'py, PyString>,
    add_note: &'a Bound<'py, PyString>,
    context: &'a Bound<'py, PyString>,
}

impl<'py> Names<'_, 'py> {
    fn get(py: Python<'py>) -> Self {
        Self { notes: intern!(py, "__notes__"), add_note: intern!(py, "add_note"), context: intern!(py, "__context__") }
    }
}

/// Makes what a note takes: an exception may be about memory.
pub(super) fn prepare(py: Python<'_>) {
    Names::get(py);
}

/// Notes on an exception who raised it and where, and gives it back; what interrupted the writing, as Ctrl-C, in its place.
///
/// The words follow on "raised". Those that are there already are not said again.
#[cold]
pub(crate) fn noted(
    py: Python<'_>,
    raised: PyErr,
    path: impl FnOnce() -> KeyPath,
    words: impl FnOnce(&KeyPath) -> String,
) -> PyErr {
    if raised.is_instance_of::<PyMemoryError>(py) && !has_room(ROOM_FOR_WORDS) {
        return raised;
    }
    if notes_of(raised.value(py)).is_some_and(|notes| notes.len() >= MOST_NOTES) {
        return raised;
    }
    let path = path();
    let written = path.interrupt(py).map_or_else(
        // A class may refuse attributes or shadow `add_note`: the exception itself matters more than its note.
        || {
            attach(raised.value(py), &format!("clika_pytree: raised {}", words(&path)))
                .or_else(|failure| left_out(py, failure))
        },
        Err,
    );
    match written {
        Ok(()) => raised,
        Err(interrupt) => {
            let _ = interrupt.value(py).setattr(Names::get(py).context, raised.value(py));
            interrupt
        }
    }
}

fn notes_of<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyList>> {
    let notes = value.getattr(Names::get(value.py()).notes).ok()?;
    notes.cast_into_exact::<PyList>().ok()
}

fn attach(value: &Bound<'_, PyAny>, note: &str) -> PyResult<()> {
    let py = value.py();
    let is_last =
        |notes: Bound<'_, PyList>| notes.iter().next_back().is_some_and(|last| last.eq(note).unwrap_or(false));
    if notes_of(value).is_some_and(is_last) {
        return Ok(());
    }
    let names = Names::get(py);
    if value.hasattr(names.add_note)? {
        value.call_method1(names.add_note, (text_of(py, note)?,))?;
        return Ok(());
    }
    // Python 3.10 has no `add_note`; tools that print notes read `__notes__`.
    match value.getattr(names.notes) {
        Ok(notes) => notes.cast::<PyList>()?.append(text_of(py, note)?),
        Err(_) => value.setattr(names.notes, PyList::new(py, [text_of(py, note)?])?),
    }
}
