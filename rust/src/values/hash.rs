//! The hash that goes with [`equal`](super::equal).

use hashbrown::{HashMap, HashSet};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyTuple};

use super::parts::{OwnHash, Parts, Unusable, own_objects, parts};
use crate::errors::no_memory;
use crate::ffi::{self, AddressHash, Raw};
use crate::limits::{Grow, Interrupts, Nested, check_memory};
use crate::structure::Mixer;

const STR: u64 = 0x5354_5200;
const INT: u64 = 0x494E_5400;
const BOOL: u64 = 0x424F_4F00;
const FLOAT: u64 = 0x464C_5400;
const NONE: u64 = 0x4E4F_4E00;
/// The hash of `()`.
pub(crate) const EMPTY: u64 = 0x454D_5000;

/// The hash of an exact str.
#[inline]
pub(crate) fn text_hash(text: Raw) -> u64 {
    ffi::str_hash(text) ^ STR
}

/// The hash of a value whose hash is cheap and runs no Python code: an exact str, int, bool, float, None or ().
#[inline]
pub(crate) fn quick_hash(py: Python<'_>, value: Raw) -> Option<u64> {
    if ffi::type_address(value) == ffi::str_address() {
        return Some(text_hash(value));
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
    if value.cast_exact::<PyTuple>().is_ok_and(pyo3::types::PyTupleMethods::is_empty) {
        return Some(EMPTY);
    }
    value.cast_exact::<PyFloat>().ok().map(|number| number.value().to_bits() ^ FLOAT)
}

/// A value whose parts are being hashed.
struct Open<'py> {
    value: Bound<'py, PyAny>,
    items: Vec<Bound<'py, PyAny>>,
    next: usize,
    /// The order of the items does not count: their hashes are summed up.
    unordered: bool,
    /// It is an object of this library, which keeps its hash.
    is_own: bool,
    mixer: Mixer,
    sum: u64,
}

/// The hash of a value; runs the hash functions of the objects it holds.
pub(crate) fn hash(value: &Bound<'_, PyAny>) -> Result<u64, Unusable> {
    hash_remembering(value, &mut Hashes::default(), None)
}

/// The hash of a value that an object at this address holds, which may not hold it in turn.
pub(crate) fn hash_within(value: &Bound<'_, PyAny>, owner: usize) -> Result<u64, Unusable> {
    hash_remembering(value, &mut Hashes::default(), Some(owner))
}

/// The hashes of values with parts, by address. The values are held, so that no other one gets their address.
pub(super) type Hashes<'py> = HashMap<usize, (u64, Bound<'py, PyAny>), AddressHash>;

/// The same, for several values with common parts.
pub(super) fn hash_remembering<'py>(
    value: &Bound<'py, PyAny>,
    known: &mut Hashes<'py>,
    owner: Option<usize>,
) -> Result<u64, Unusable> {
    let _nested = Nested::enter()?;
    let mut stack: Vec<Open<'_>> = Vec::new();
    let mut around: HashSet<usize, AddressHash> = owner.into_iter().collect();
    let mut current = value.clone();
    let mut interrupts = Interrupts::new();
    loop {
        interrupts.after(value.py(), 1)?;
        check_memory(stack.len())?;
        around.try_reserve(1).map_err(no_memory)?;
        let mut done = hash_or_open(current, known, &mut stack)?;
        if let (None, Some(opened)) = (done, stack.last())
            && !around.insert(opened.value.as_ptr() as usize)
        {
            return Err(Unusable::new(&opened.value, "contains itself"));
        }
        loop {
            let Some(open) = stack.last_mut() else {
                return Ok(done.unwrap_or_default());
            };
            if let Some(hash) = done.take() {
                if open.unordered {
                    open.sum = open.sum.wrapping_add(Mixer::new(hash).finish());
                } else {
                    open.mixer.add(hash);
                }
            }
            if let Some(item) = open.items.get(open.next) {
                open.next += 1;
                current = item.clone();
                break;
            }
            let hash = finished(open.mixer, open.sum);
            done = Some(hash);
            if let Some(Open { value, is_own, .. }) = stack.pop() {
                if let (true, Some(own_objects)) = (is_own, own_objects(value.py())) {
                    (own_objects.remember)(&value, hash);
                }
                let address = value.as_ptr() as usize;
                around.remove(&address);
                known.try_reserve(1).map_err(no_memory)?;
                known.insert(address, (hash, value));
            }
        }
    }
}

/// The hash of a value without parts; a value with parts goes on the stack.
fn hash_or_open<'py>(
    value: Bound<'py, PyAny>,
    known: &Hashes<'py>,
    stack: &mut Vec<Open<'py>>,
) -> Result<Option<u64>, Unusable> {
    if let Some(hash) = quick_hash(value.py(), ffi::raw(&value)) {
        return Ok(Some(hash));
    }
    if let Some((hash, _)) = known.get(&(value.as_ptr() as usize)) {
        return Ok(Some(*hash));
    }
    if let Some(own_objects) = own_objects(value.py()) {
        match (own_objects.hash)(&value)? {
            Some(OwnHash::Known(hash)) => return Ok(Some(hash)),
            Some(OwnHash::Open { seed, items }) => {
                let mixer = Mixer::new(seed);
                stack.grow(Open { value, items, next: 0, unordered: false, is_own: true, mixer, sum: 0 })?;
                return Ok(None);
            }
            None => {}
        }
    }
    let mut mixer = Mixer::new(ffi::address_of(&value.get_type()) as u64);
    let (items, unordered) = match parts(&value)? {
        Parts::Sequence(items) => (items, false),
        Parts::Unordered(items) => (items, true),
        Parts::Bits(first, second) => {
            mixer.add(first);
            mixer.add(second);
            return Ok(Some(mixer.finish()));
        }
        Parts::Plain => {
            mixer.add(own_hash(&value)?);
            return Ok(Some(mixer.finish()));
        }
        Parts::Opaque => {
            mixer.add(own_hash(&value)?);
            check_equality(&value)?;
            return Ok(Some(mixer.finish()));
        }
    };
    mixer.add(items.len() as u64);
    stack.grow(Open { value, items, next: 0, unordered, is_own: false, mixer, sum: 0 })?;
    Ok(None)
}

/// The hash of a value whose parts have been mixed in.
pub(crate) fn finished(mut mixer: Mixer, sum: u64) -> u64 {
    mixer.add(sum);
    mixer.finish()
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
