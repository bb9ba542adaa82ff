//! The hash that goes with [`equal`](super::equal).

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};

use super::parts::{Parts, Unusable, parts};
use crate::ffi::{self, Raw};
use crate::structure::Mixer;

const STR: u64 = 0x5354_5200;
const INT: u64 = 0x494E_5400;
const BOOL: u64 = 0x424F_4F00;
const FLOAT: u64 = 0x464C_5400;
const NONE: u64 = 0x4E4F_4E00;

/// The hash of a value whose hash is cheap and runs no Python code: an exact str, int, bool, float, or None.
#[inline]
pub(crate) fn quick_hash(py: Python<'_>, value: Raw) -> Option<u64> {
    if ffi::type_address(value) == ffi::str_address() {
        return Some(ffi::str_hash(value) ^ STR);
    }
    quick_hash_of_others(&ffi::own(py, value))
}

#[cold]
fn quick_hash_of_others(value: &Bound<'_, PyAny>) -> Option<u64> {
    let bits = |hash: isize| hash.cast_unsigned() as u64;
    if value.is_none() {
        return Some(NONE);
    }
    if value.is_exact_instance_of::<PyInt>() {
        return value.hash().ok().map(|hash| bits(hash).wrapping_mul(3) ^ INT);
    }
    if value.is_exact_instance_of::<PyBool>() {
        return value.hash().ok().map(|hash| bits(hash) ^ BOOL);
    }
    value.cast_exact::<PyFloat>().ok().map(|number| number.value().to_bits() ^ FLOAT)
}

/// How deep sets may lie in sets: their members are hashed by calls of calls, all else by a list of what is left.
pub(super) const DEEPEST_SETS: u32 = 100;

/// The hash of a value; runs the hash functions of the objects it holds.
pub(crate) fn hash(value: &Bound<'_, PyAny>) -> Result<u64, Unusable> {
    hash_within(value, 0)
}

fn hash_within(value: &Bound<'_, PyAny>, sets_around: u32) -> Result<u64, Unusable> {
    let mut mixer = Mixer::new(0);
    let mut left = vec![value.clone()];
    while let Some(value) = left.pop() {
        if let Some(hash) = quick_hash(value.py(), ffi::raw(&value)) {
            mixer.add(hash);
            continue;
        }
        mixer.add(ffi::address_of(&value.get_type()) as u64);
        match parts(&value)? {
            Parts::Bits(first, second) => {
                mixer.add(first);
                mixer.add(second);
            }
            Parts::Plain => mixer.add(own_hash(&value)?),
            Parts::Sequence(items) => {
                mixer.add(items.len() as u64);
                left.extend(items.into_iter().rev());
            }
            Parts::Unordered(members) => {
                if sets_around == DEEPEST_SETS {
                    return Err(Unusable::new(&value, "it has sets in sets too deep to compare"));
                }
                mixer.add(members.len() as u64);
                let mut sum = 0u64;
                for member in &members {
                    sum = sum.wrapping_add(hash_within(member, sets_around + 1)?);
                }
                mixer.add(sum);
            }
            Parts::Opaque => {
                mixer.add(own_hash(&value)?);
                check_equality(&value)?;
            }
        }
    }
    Ok(mixer.finish())
}

/// The object's own hash; one that says it has none is a verdict, any other exception is the object's.
fn own_hash(value: &Bound<'_, PyAny>) -> Result<u64, Unusable> {
    match value.hash() {
        Ok(hash) => Ok(hash.cast_unsigned() as u64),
        Err(error) if error.is_instance_of::<PyTypeError>(value.py()) => {
            Err(Unusable::new(value, "has no usable hash"))
        }
        Err(error) => Err(Unusable::Raised(error)),
    }
}

/// Finds out at the first hash whether `==` gives a bool, so that it is not left to a collision.
fn check_equality(value: &Bound<'_, PyAny>) -> Result<(), Unusable> {
    super::equal::own_equality(value, value).map(|_| ())
}
