//! Values that are compared as bytes.

use super::Raw;
use crate::structure::Node;

/// # Safety
/// The type has no padding, and two of its values are equal just where all their bytes are.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: its fields fill it, none of them is a float, and an enum or a bool has one form for each value.
unsafe impl Plain for Node {}
// SAFETY: a pointer or null.
unsafe impl Plain for Option<Raw> {}

/// Whether two arrays are equal.
#[inline]
pub(crate) fn are_same<T: Plain>(left: &[T], right: &[T]) -> bool {
    bytes_of(left) == bytes_of(right)
}

fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: so many bytes are readable, and all of them are set.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}
