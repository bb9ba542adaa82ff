//! Files of tensors: the safetensors format, read strictly and written so that a file is whole or not there.
//!
//! The format is eight bytes with the length of a header, the header, and the tensors one after the other. The header is
//! a JSON object: a name, a dtype, a shape and two offsets for each tensor, and under `__metadata__` texts by name.
//!
//! What only knows bytes stands below; [`TensorFile`] and [`FileWriter`] hand it to Python. While a file is written or
//! read the GIL is released, and nothing but memory that a held buffer pins is touched.

use std::collections::TryReserveError;

use pyo3::prelude::*;

use crate::errors::{Family, error, no_memory};

mod arrays;
mod buffers;
mod dtype;
mod encode;
mod header;
mod mapping;
mod output;
mod reader;
mod recognise;
mod scanner;
mod target;
mod writer;

pub(crate) use arrays::{ArrayFacts, array_facts};
pub(crate) use mapping::MappedFile;
pub(crate) use reader::TensorFile;
pub(crate) use writer::{FileWriter, encode_header};

/// The longest header, in bytes: that of every reader of the format.
const LONGEST_HEADER: u64 = 100_000_000;
/// The name in a header that is no tensor's.
const METADATA: &str = "__metadata__";

/// What is wrong with a file, without its name; or that there was no memory to find out.
#[derive(Debug, PartialEq, Eq)]
enum Problem {
    Content(String),
    NoMemory,
}

impl Problem {
    fn new(text: impl Into<String>) -> Self {
        Self::Content(text.into())
    }

    /// The exception for it; `before` stands before what is wrong.
    fn into_error(self, py: Python<'_>, family: Family, before: &str) -> PyErr {
        match self {
            Self::Content(text) => error(py, family, None, &format!("{before}{text}")),
            Self::NoMemory => no_memory(()),
        }
    }
}

impl From<TryReserveError> for Problem {
    fn from(_refused: TryReserveError) -> Self {
        Self::NoMemory
    }
}

/// Adds to a text; where there is no memory for it, that is the result.
fn push(text: &mut String, part: &str) -> Result<(), TryReserveError> {
    text.try_reserve(part.len())?;
    text.push_str(part);
    Ok(())
}
