//! Files of tensors: the safetensors format, read strictly and written so that a file is whole or not there.
//!
//! The format is eight bytes with the length of a header, the header, and the tensors one after the other. The header is
//! a JSON object: a name, a dtype, a shape and two offsets for each tensor, and under `__metadata__` texts by name.
//!
//! What only knows bytes stands below; [`TensorFile`] and [`FileWriter`] hand it to Python. While a file is written or
//! read the GIL is released, and nothing but memory that a held buffer pins is touched.

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

pub(crate) use arrays::array_facts;
pub(crate) use mapping::MappedFile;
pub(crate) use reader::TensorFile;
pub(crate) use writer::{FileWriter, encode_header};

/// The longest header, in bytes: that of every reader of the format.
const LONGEST_HEADER: u64 = 100_000_000;
/// The name in a header that is no tensor's.
const METADATA: &str = "__metadata__";

/// What is wrong with a file, without its name.
#[derive(Debug, PartialEq, Eq)]
struct Problem(String);

impl Problem {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}
