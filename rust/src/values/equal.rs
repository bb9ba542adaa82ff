//! Equality of keys and contexts.

use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBool;

use super::hash::{DEEPEST_SETS, hash};
use super::parts::{Parts, Unusable, parts};
use crate::ffi;

/// Whether two values are equal by exact type and bits; runs the equality of the objects they hold.
pub(crate) fn equal(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> Result<bool, Unusable> {
    equal_within(left, right, 0)
}

fn equal_within(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>, sets_around: u32) -> Result<bool, Unusable> {
    let mut pairs = vec![(left.clone(), right.clone())];
    while let Some((left, right)) = pairs.pop() {
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
                if same_length {
                    pairs.extend(ours.into_iter().zip(theirs).rev());
                }
                same_length
            }
            (Parts::Unordered(ours), Parts::Unordered(theirs)) => {
                if sets_around == DEEPEST_SETS {
                    return Err(Unusable::new(&left, "it has sets in sets too deep to compare"));
                }
                same_members(&ours, theirs, sets_around + 1)?
            }
            _ => own_equality(&left, &right)?,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two collections have the same members; of each hash there are few.
fn same_members<'py>(
    ours: &[Bound<'py, PyAny>],
    theirs: Vec<Bound<'py, PyAny>>,
    sets_around: u32,
) -> Result<bool, Unusable> {
    if ours.len() != theirs.len() {
        return Ok(false);
    }
    let mut unmatched: Vec<(u64, Bound<'py, PyAny>)> = Vec::with_capacity(theirs.len());
    for member in theirs {
        unmatched.push((hash(&member)?, member));
    }
    unmatched.sort_by_key(|(hash, _)| *hash);
    let mut taken = vec![false; unmatched.len()];
    for member in ours {
        let wanted = hash(member)?;
        let mut index = unmatched.partition_point(|(hash, _)| *hash < wanted);
        loop {
            match unmatched.get(index) {
                Some((hash, other)) if *hash == wanted => {
                    if !taken[index] && equal_within(member, other, sets_around)? {
                        taken[index] = true;
                        break;
                    }
                    index += 1;
                }
                _ => return Ok(false),
            }
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
