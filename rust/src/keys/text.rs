//! How keys are written.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple};

use super::classes::{DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey};
use crate::limits::{self, Grow};

/// The text of a key as an index expression: `[0]`, `['a']`, `.x`, `[<flat index 0>]`.
pub(crate) fn text_of_key(key: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = key.py();
    if let Ok(key) = key.cast_exact::<MappingKey>() {
        return text_of_value(&key.get().key.bound(py));
    }
    if let Ok(key) = key.cast_exact::<SequenceKey>() {
        return text_of_value(&key.get().idx.bound(py));
    }
    if let Ok(key) = key.cast_exact::<GetAttrKey>() {
        return Ok(format!(".{}", key.get().name.bound(py).str()?.to_string_lossy()));
    }
    if let Ok(key) = key.cast_exact::<DataclassKey>() {
        return Ok(format!(".{}", key.get().name.bound(py).str()?.to_string_lossy()));
    }
    if let Ok(key) = key.cast_exact::<FlattenedIndexKey>() {
        return Ok(format!("[<flat index {}>]", key.get().key.bound(py).str()?.to_string_lossy()));
    }
    // A key of another library, which says itself how it is written.
    Ok(key.str()?.to_string_lossy().into_owned())
}

/// What a key holds, alone: `0`, `a`, `x`.
fn bare_text_of_key(key: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = key.py();
    let name = [intern!(py, "key"), intern!(py, "idx"), intern!(py, "name")];
    for name in name {
        if let Some(value) = key.getattr_opt(name)? {
            return Ok(value.str()?.to_string_lossy().into_owned());
        }
    }
    Ok(key.str()?.to_string_lossy().into_owned())
}

/// A path as text; with `simple` only what the keys hold, with `separator` between them.
pub(crate) fn keystr(path: &Bound<'_, PyAny>, simple: bool, separator: &str) -> PyResult<String> {
    let write = |key: PyResult<Bound<'_, PyAny>>| {
        let key = key?;
        if simple { bare_text_of_key(&key) } else { text_of_key(&key) }
    };
    let mut text = String::new();
    for (number, key) in path.try_iter()?.enumerate() {
        limits::write(&mut text, if number == 0 { "" } else { separator })?;
        limits::write(&mut text, &write(key)?)?;
    }
    Ok(text)
}

/// A value in brackets: plain ones by their repr, others with their class in front.
pub(crate) fn text_of_value(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = value.repr()?;
    if is_plain(value) {
        return Ok(format!("[{}]", text.to_string_lossy()));
    }
    Ok(format!("[<{} {}>]", value.get_type().name()?, text.to_string_lossy()))
}

/// Whether a str can stand behind a dot.
pub(crate) fn is_identifier(text: &Bound<'_, PyAny>) -> bool {
    let py = text.py();
    text.call_method0(intern!(py, "isidentifier")).and_then(|answer| answer.is_truthy()).unwrap_or(false)
}

/// Whether it is None, a bool, number, str or bytes, or a tuple of such values.
fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    let mut left = vec![value.clone()];
    while let Some(value) = left.pop() {
        if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            if left.grow_by(tuple.iter()).is_err() {
                return false;
            }
            continue;
        }
        let plain = value.is_none()
            || value.is_exact_instance_of::<PyString>()
            || value.is_exact_instance_of::<PyInt>()
            || value.is_exact_instance_of::<PyBool>()
            || value.is_exact_instance_of::<PyFloat>()
            || value.is_exact_instance_of::<PyComplex>()
            || value.is_exact_instance_of::<PyBytes>();
        if !plain {
            return false;
        }
    }
    true
}
