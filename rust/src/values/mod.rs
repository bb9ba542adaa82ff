//! Keys and contexts as values: equal by exact type and bits, hashed alike, kept safe from later changes.
//!
//! `1`, `True` and `1.0` differ; floats compare by their bits; numpy scalars by dtype and bytes. The comparison looks
//! into tuples, lists, dicts, sets, slices, namedtuples and dataclasses; other objects compare by their own `==`.

mod bytes;
mod equal;
mod freeze;
mod hash;
mod parts;

pub(crate) use bytes::{NoBytes, Writer};
pub(crate) use equal::equal;
pub(crate) use freeze::{freeze, is_small_and_plain, is_surely_frozen, thaw};
pub(crate) use hash::{EMPTY, finished, hash, hash_within, quick_hash, text_hash};
pub(crate) use parts::{OwnHash, OwnObjects, Parts, Unusable, is_namedtuple_class, parts, set_own_objects};
