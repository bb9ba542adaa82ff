//! The keys that lead from a container to a child, and how a path of them is written.
//!
//! A key is an immutable value. Keys of dicts compare as values do, by exact type and bits; all of them are matched by
//! `match` statements and carry the attribute names of PyTorch.

mod classes;
mod text;

pub(crate) use classes::{DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey, key_of_entry};
pub(crate) use text::{is_identifier, keystr, text_of_key, text_of_value};
