//! How keys are written.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple};

use super::classes::{DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey};
use crate::errors::{LONGEST_ESCAPE, no_memory, quote, type_error, write_code};
use crate::limits::{self, Grow, Nested};

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
        return limits::joined(&[".", &key.get().name.bound(py).str()?.to_string_lossy()]);
    }
    if let Ok(key) = key.cast_exact::<DataclassKey>() {
        return limits::joined(&[".", &key.get().name.bound(py).str()?.to_string_lossy()]);
    }
    if let Ok(key) = key.cast_exact::<FlattenedIndexKey>() {
        return limits::joined(&["[<flat index ", &key.get().key.bound(py).str()?.to_string_lossy(), ">]"]);
    }
    // A key of another library, which says itself how it is written.
    limits::joined(&[&key.str()?.to_string_lossy()])
}

/// What a key holds, alone: `0`, `a`, `x`.
fn bare_text_of_key(key: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = key.py();
    let name = [intern!(py, "key"), intern!(py, "idx"), intern!(py, "name")];
    for name in name {
        if let Some(value) = key.getattr_opt(name)? {
            return limits::joined(&[&value.str()?.to_string_lossy()]);
        }
    }
    limits::joined(&[&key.str()?.to_string_lossy()])
}

/// A path as text; with `simple` only what the keys hold, with `separator` between them.
pub(crate) fn keystr(path: &Bound<'_, PyAny>, simple: bool, separator: &str) -> PyResult<String> {
    let write = |key: PyResult<Bound<'_, PyAny>>| {
        let key = key?;
        if simple { bare_text_of_key(&key) } else { text_of_key(&key) }
    };
    let mut text = String::new();
    let expected =
        || type_error(path.py(), &format!("keystr() expects a path, which is a tuple of keys, got {}", quote(path)));
    if path.is_instance_of::<PyString>() || path.is_instance_of::<PyBytes>() {
        return Err(expected());
    }
    let keys = path.try_iter().map_err(|raised| {
        // An exception of its own `__iter__` passes.
        if !raised.is_instance_of::<PyTypeError>(path.py())
            || path.hasattr(intern!(path.py(), "__iter__")).unwrap_or(true)
        {
            return raised;
        }
        expected()
    });
    for (number, key) in keys?.enumerate() {
        limits::write(&mut text, if number == 0 { "" } else { separator })?;
        limits::write(&mut text, &write(key)?)?;
    }
    Ok(text)
}

/// A value in brackets: plain ones as Python writes them, others by their repr with their class in front.
pub(crate) fn text_of_value(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_exact_instance_of::<PyString>() || is_plain(value) {
        let mut text = String::from("[");
        write_plain(value, &mut text)?;
        limits::write(&mut text, "]")?;
        return Ok(text);
    }
    let _nested = Nested::enter()?;
    let (class, repr) = (value.get_type().name()?, value.repr()?);
    limits::joined(&["[<", &class.to_string_lossy(), " ", &repr.to_string_lossy(), ">]"])
}

/// Whether a str can stand behind a dot.
pub(crate) fn is_identifier(text: &Bound<'_, PyAny>) -> bool {
    if let Ok(Ok(text)) = text.cast::<PyString>().map(|text| text.to_str())
        && text.is_ascii()
    {
        let is_letter = |byte: u8| byte == b'_' || byte.is_ascii_alphabetic();
        let mut bytes = text.bytes();
        return bytes.next().is_some_and(is_letter) && bytes.all(|byte| is_letter(byte) || byte.is_ascii_digit());
    }
    let py = text.py();
    text.call_method0(intern!(py, "isidentifier")).and_then(|answer| answer.is_truthy()).unwrap_or(false)
}

/// Writes None, a bool, number, str or bytes, or a tuple of such values. Texts are not left to `repr`: which characters
/// it escapes depends on the version of Python, and what one process writes has to be read by another.
fn write_plain(value: &Bound<'_, PyAny>, text: &mut String) -> PyResult<()> {
    let mut value = value.clone();
    // The tuples that are open, each with the place of the item that comes next.
    let mut open: Vec<(Bound<'_, PyTuple>, usize)> = Vec::new();
    loop {
        if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            limits::write(text, "(")?;
            open.grow((tuple.clone(), 0))?;
        } else if let Ok(string) = value.cast_exact::<PyString>() {
            write_str(string, text)?;
        } else {
            limits::write(text, &value.repr()?.to_string_lossy())?;
        }
        loop {
            let Some((tuple, next)) = open.last_mut() else { return Ok(()) };
            if let Ok(item) = tuple.get_item(*next) {
                if *next > 0 {
                    limits::write(text, ", ")?;
                }
                *next += 1;
                value = item;
                break;
            }
            limits::write(text, if *next == 1 { ",)" } else { ")" })?;
            open.pop();
        }
    }
}

/// Writes a str in quotes, as Python does.
fn write_str(string: &Bound<'_, PyString>, text: &mut String) -> PyResult<()> {
    if let Ok(string) = string.to_str() {
        if string.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'\'' && byte != b'\\') {
            return ["'", string, "'"].into_iter().try_for_each(|part| limits::write(text, part));
        }
        return write_codes(string.chars().map(u32::from), text);
    }
    // Lone surrogates.
    let bytes = string.call_method1(intern!(string.py(), "encode"), ("utf-32-le", "surrogatepass"))?;
    let codes = bytes.cast::<PyBytes>()?.as_bytes().chunks_exact(4);
    write_codes(codes.map(|code| u32::from_le_bytes([code[0], code[1], code[2], code[3]])), text)
}

fn write_codes(codes: impl Iterator<Item = u32> + Clone, text: &mut String) -> PyResult<()> {
    let has = |quote: char| codes.clone().any(|code| code == u32::from(quote));
    let quote = if has('\'') && !has('"') { '"' } else { '\'' };
    text.try_reserve(2).map_err(no_memory)?;
    text.push(quote);
    for code in codes {
        text.try_reserve(LONGEST_ESCAPE + 1).map_err(no_memory)?;
        match char::from_u32(code) {
            Some(char) if char == quote || char == '\\' => text.extend(['\\', char]),
            _ => write_code(text, code),
        }
    }
    text.push(quote);
    Ok(())
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
