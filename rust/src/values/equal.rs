//! Equality of keys and contexts.

use hashbrown::{DefaultHashBuilder, HashMap};
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use super::hash::{Hashes, hash_remembering};
use super::parts::{Parts, Unusable, parts};
use crate::errors::no_memory;
use crate::ffi;
use crate::limits::{Grow, Interrupts, Nested, check_memory, gathered};

/// Whether two values are equal by exact type and bits; runs the equality of the objects they hold.
pub(crate) fn equal(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> Result<bool, Unusable> {
    if are_tuples_of_the_same(left, right) {
        return Ok(true);
    }
    equal_remembering(left, right, &mut Hashes::default(), 0)
}

/// Whether both are tuples of the very same objects: the contexts of most dataclasses are.
fn are_tuples_of_the_same(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> bool {
    match (left.cast_exact::<PyTuple>(), right.cast_exact::<PyTuple>()) {
        (Ok(left), Ok(right)) if left.len() == right.len() => {
            left.iter_borrowed().zip(right.iter_borrowed()).all(|(left, right)| left.is(&*right))
        }
        _ => false,
    }
}

fn equal_remembering<'py>(
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
    known: &mut Hashes<'py>,
    collisions_around: u32,
) -> Result<bool, Unusable> {
    let _nested = Nested::enter()?;
    let mut pairs = vec![(left.clone(), right.clone())];
    // A pair that comes by again (common parts, or values that contain themselves) needs no second look. Pairs are held,
    // so that no other value gets their address.
    let mut seen: HashMap<(usize, usize), Pair<'_>, DefaultHashBuilder> = HashMap::default();
    let mut interrupts = Interrupts::new();
    while let Some((left, right)) = pairs.pop() {
        interrupts.after(left.py(), 1)?;
        if left.is(&right) {
            continue;
        }
        if !left.get_type().is(right.get_type()) {
            return Ok(false);
        }
        if ffi::type_address(ffi::raw(&left)) == ffi::str_address() {
            if ffi::str_equal(ffi::raw(&left), ffi::raw(&right)) {
                continue;
            }
            return Ok(false);
        }
        let same = match (parts(&left)?, parts(&right)?) {
            (Parts::Bits(a, b), Parts::Bits(c, d)) => (a, b) == (c, d),
            (Parts::Sequence(ours), Parts::Sequence(theirs)) => {
                let same_length = ours.len() == theirs.len();
                let pair = (left.as_ptr() as usize, right.as_ptr() as usize);
                check_memory(seen.len())?;
                seen.try_reserve(1).map_err(no_memory)?;
                if same_length && seen.insert(pair, (left, right)).is_none() {
                    pairs.grow_by(ours.into_iter().zip(theirs).rev())?;
                }
                same_length
            }
            (Parts::Unordered(ours), Parts::Unordered(theirs)) => {
                pair_members(ours, theirs, &mut pairs, known, collisions_around)?
            }
            _ => own_equality(&left, &right)?,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

type Pair<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// How deep members of one hash may lie in members of one hash, before it is not worth going on.
const MOST_COLLISIONS: u32 = 64;

/// Pairs the members of two sets by their hashes, to be compared; `false` where they can't be the same.
fn pair_members<'py>(
    mut ours: Vec<Bound<'py, PyAny>>,
    mut theirs: Vec<Bound<'py, PyAny>>,
    pairs: &mut Vec<Pair<'py>>,
    known: &mut Hashes<'py>,
    collisions_around: u32,
) -> Result<bool, Unusable> {
    if ours.len() != theirs.len() {
        return Ok(false);
    }
    if ours.len() == 1 {
        pairs.extend(ours.pop().zip(theirs.pop()));
        return Ok(true);
    }
    let (ours, theirs) = (by_hash(ours, known)?, by_hash(theirs, known)?);
    if !ours.iter().map(|(hash, _)| hash).eq(theirs.iter().map(|(hash, _)| hash)) {
        return Ok(false);
    }
    let mut start = 0;
    for group in ours.chunk_by(|(left, _), (right, _)| left == right) {
        let others = &theirs[start..start + group.len()];
        start += group.len();
        if let ([(_, member)], [(_, other)]) = (group, others) {
            pairs.grow((member.clone(), other.clone()))?;
        } else if !same_group(group, others, known, collisions_around)? {
            return Ok(false);
        }
    }
    Ok(true)
}

type Hashed<'py> = (u64, Bound<'py, PyAny>);

fn by_hash<'py>(members: Vec<Bound<'py, PyAny>>, known: &mut Hashes<'py>) -> Result<Vec<Hashed<'py>>, Unusable> {
    let mut hashed = Vec::new();
    let mut interrupts = Interrupts::new();
    for member in members {
        interrupts.after(member.py(), 1)?;
        hashed.grow((hash_remembering(&member, known, None)?, member))?;
    }
    hashed.sort_unstable_by_key(|(hash, _)| *hash);
    Ok(hashed)
}

/// Whether each member of a group of one hash has an equal one of its own among the others.
fn same_group<'py>(
    group: &[Hashed<'py>],
    others: &[Hashed<'py>],
    known: &mut Hashes<'py>,
    collisions_around: u32,
) -> Result<bool, Unusable> {
    let mut taken = gathered(std::iter::repeat_n(false, others.len()))?;
    for (_, member) in group {
        if collisions_around == MOST_COLLISIONS {
            return Err(Unusable::new(member, "has the hash of too many others"));
        }
        let mut found = false;
        for (index, (_, other)) in others.iter().enumerate() {
            if !taken[index] && equal_remembering(member, other, known, collisions_around + 1)? {
                (taken[index], found) = (true, true);
                break;
            }
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The objects' own `==`, which has to give a bool.
pub(super) fn own_equality(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> Result<bool, Unusable> {
    match left.rich_compare(right, CompareOp::Eq) {
        Ok(answer) => match answer.cast_exact::<PyBool>() {
            Ok(answer) => Ok(answer.is_true()),
            Err(_) => Err(Unusable::new(left, "has an == that does not give a bool")),
        },
        Err(error) if error.is_instance_of::<PyTypeError>(left.py()) => Err(Unusable::new(left, "has no usable ==")),
        Err(error) => Err(Unusable::Raised(error)),
    }
}
