//! Arguments of a call, refused where they are of the wrong sort: by name, with what was given.

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;

use crate::errors::{quote, type_error};

/// Refuses what can't be called in the place of a function.
#[inline]
pub(crate) fn check_function(name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    if value.is_callable() { Ok(()) } else { Err(unfit(name, "a function", value)) }
}

/// True or False, Python's or numpy's; anything else would be taken for the wrong one by somebody.
#[inline]
pub(crate) fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    or_unfit(value.extract(), name, "True or False", value)
}

/// An index; nothing where it is too large for the machine.
pub(crate) fn index(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<isize>> {
    match value.extract::<isize>() {
        Err(raised) if raised.is_instance_of::<PyOverflowError>(value.py()) => Ok(None),
        index => or_unfit(index, name, "an int", value).map(Some),
    }
}

/// What was read from an argument; an exception of user code, such as an `__index__`, passes.
fn or_unfit<T>(read: PyResult<T>, name: &str, expected: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    read.map_err(
        |raised| {
            if raised.is_instance_of::<PyTypeError>(value.py()) { unfit(name, expected, value) } else { raised }
        },
    )
}

#[cold]
fn unfit(name: &str, expected: &str, value: &Bound<'_, PyAny>) -> PyErr {
    type_error(value.py(), &format!("{name} must be {expected}, got {}", quote(value)))
}

/// An argument that may be left out. None is something that was given.
#[derive(Clone, Copy)]
pub(crate) struct Optional<'a, 'py>(pub(crate) Option<Borrowed<'a, 'py, PyAny>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Optional<'a, 'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Some(value)))
    }
}

impl Optional<'_, '_> {
    pub(crate) fn flag(self, name: &str, left_out: bool) -> PyResult<bool> {
        self.0.map_or(Ok(left_out), |value| flag(name, &value))
    }

    pub(crate) fn text(self, name: &str, left_out: &str) -> PyResult<String> {
        self.0.map_or_else(|| Ok(left_out.to_owned()), |value| or_unfit(value.extract(), name, "a str", &value))
    }
}
