//! Sorting the keys of dicts.

use std::cmp::Ordering;

use hashbrown::HashMap;
use pyo3::basic::CompareOp;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyType};

use super::order_block;
use crate::errors::{self, Family, KeyPath, error, no_memory, show};
use crate::ffi::{self, AddressHash};
use crate::limits::{Grow, Interrupts, gathered, gathered_from};

/// Gets hold of what belongs to other modules: none can be loaded any more while the interpreter ends, when finalizers run.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    enum_class(py)?;
    order_block::innermost(py).map(|_| ())
}

/// A look at a key takes some steps' time.
const PER_KEY: usize = 4;

/// Nobody can interrupt the sorting of so many strs, which takes some milliseconds.
pub(super) const MOST_AT_ONCE: usize = 1 << 14;

/// How one key sorts among those that can't all be compared: by the name of its class, then by place or by value.
struct Rank<'py> {
    class: String,
    /// The place of an Enum member in its definition.
    place: Option<usize>,
    key: Bound<'py, PyAny>,
}

/// The numbers of the keys in sorted order.
///
/// `here` gives the path of the dict, for the error about keys that have no order.
pub(super) fn sorted_places<'py>(
    py: Python<'py>,
    keys: &[Bound<'py, PyAny>],
    here: &dyn Fn() -> KeyPath,
) -> PyResult<Vec<usize>> {
    let mut order = gathered(0..keys.len())?;
    if keys.iter().all(|key| ffi::type_address(ffi::raw(key)) == ffi::str_address()) {
        if keys.len() <= MOST_AT_ONCE {
            order.sort_by(|a, b| ffi::compare_texts(ffi::raw(&keys[*a]), ffi::raw(&keys[*b])));
        } else {
            let is_less = |a: usize, b: usize| ffi::compare_texts(ffi::raw(&keys[a]), ffi::raw(&keys[b])).is_lt();
            sort(py, &mut order, &mut |a, b| Ok(is_less(a, b)))?;
        }
        return Ok(order);
    }
    if keys.iter().all(pyo3::types::PyAnyMethods::is_exact_instance_of::<PyInt>) || !any_enum(keys)? {
        let mut directly = gathered(0..keys.len())?;
        match sort(py, &mut directly, &mut |a, b| less(&keys[a], &keys[b])) {
            Ok(()) => return checked(directly, &mut |a, b| less(&keys[a], &keys[b]), keys, here),
            Err(raised) if raised.is_instance_of::<PyTypeError>(py) => {}
            Err(raised) => return Err(noted(py, raised, here)),
        }
    }
    let ranks = ranks_of(py, keys).map_err(|raised| noted(py, raised, here))?;
    let mut before = |a: usize, b: usize| ranks[a].is_before(&ranks[b]);
    match sort(py, &mut order, &mut before) {
        Ok(()) => checked(order, &mut before, keys, here),
        Err(raised) if raised.is_instance_of::<PyTypeError>(py) => checked(order, &mut before, keys, here),
        Err(raised) => Err(noted(py, raised, here)),
    }
}

fn noted(py: Python<'_>, raised: PyErr, here: &dyn Fn() -> KeyPath) -> PyErr {
    errors::noted(py, raised, here, |path| format!("by comparing the keys of the dict {}", path.place()))
}

fn less(left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) -> PyResult<bool> {
    left.rich_compare(right, CompareOp::Lt)?.is_truthy()
}

static ENUM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The class of all Enums; nothing before somebody has loaded `enum`.
fn enum_class(py: Python<'_>) -> PyResult<Option<&Bound<'_, PyAny>>> {
    if ENUM.get(py).is_none()
        && let Some(class) = ffi::loaded(intern!(py, "enum"), intern!(py, "Enum"))?
    {
        let _ = ENUM.set(py, class.unbind());
    }
    Ok(ENUM.get(py).map(|class| class.bind(py)))
}

fn is_member(key: &Bound<'_, PyAny>) -> PyResult<bool> {
    enum_class(key.py())?.map_or(Ok(false), |class| key.is_instance(class))
}

fn any_enum(keys: &[Bound<'_, PyAny>]) -> PyResult<bool> {
    let mut interrupts = Interrupts::new();
    for key in keys {
        interrupts.after(key.py(), PER_KEY)?;
        if is_member(key)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn ranks_of<'py>(py: Python<'py>, keys: &[Bound<'py, PyAny>]) -> PyResult<Vec<Rank<'py>>> {
    let mut interrupts = Interrupts::new();
    let mut ranks = Vec::new();
    let mut members = Members::default();
    for key in keys {
        ranks.grow(rank(key, &mut members)?)?;
        interrupts.after(py, PER_KEY)?;
    }
    Ok(ranks)
}

/// The places of the members of Enum classes in their definitions, by the addresses of class and member.
type Members<'py> = HashMap<usize, HashMap<usize, (usize, Bound<'py, PyAny>), AddressHash>, AddressHash>;

fn rank<'py>(key: &Bound<'py, PyAny>, members: &mut Members<'py>) -> PyResult<Rank<'py>> {
    let cls = key.get_type();
    let class = format!("{}.{}", cls.module()?, cls.qualname()?);
    let place = if is_member(key)? { place_in_definition(&cls, key, members)? } else { None };
    Ok(Rank { class, place, key: key.clone() })
}

/// The place of a member among those its class gives, which a metaclass may give without an end.
fn place_in_definition<'py>(
    cls: &Bound<'py, PyType>,
    key: &Bound<'py, PyAny>,
    members: &mut Members<'py>,
) -> PyResult<Option<usize>> {
    let class = ffi::address_of(cls);
    if !members.contains_key(&class) {
        let mut places = HashMap::default();
        for (place, member) in gathered_from(cls)?.into_iter().enumerate() {
            places.try_reserve(1).map_err(no_memory)?;
            places.entry(member.as_ptr() as usize).or_insert((place, member));
        }
        members.try_reserve(1).map_err(no_memory)?;
        members.insert(class, places);
    }
    Ok(members.get(&class).and_then(|places| places.get(&(key.as_ptr() as usize))).map(|(place, _)| *place))
}

impl Rank<'_> {
    fn is_before(&self, other: &Self) -> PyResult<bool> {
        match self.class.cmp(&other.class) {
            Ordering::Less => Ok(true),
            Ordering::Greater => Ok(false),
            Ordering::Equal => match (self.place, other.place) {
                (Some(ours), Some(theirs)) => Ok(ours < theirs),
                _ => less(&self.key, &other.key),
            },
        }
    }
}

/// Refuses an order in which some key is not before the next one.
fn checked(
    order: Vec<usize>,
    before: &mut dyn FnMut(usize, usize) -> PyResult<bool>,
    keys: &[Bound<'_, PyAny>],
    here: &dyn Fn() -> KeyPath,
) -> PyResult<Vec<usize>> {
    let mut interrupts = Interrupts::new();
    for pair in order.windows(2) {
        interrupts.after(keys[0].py(), 1)?;
        let in_order = match before(pair[0], pair[1]) {
            Ok(in_order) => in_order,
            // Keys that can't be compared at all have no order either.
            Err(raised) if raised.is_instance_of::<PyTypeError>(keys[0].py()) => false,
            Err(raised) => return Err(noted(keys[0].py(), raised, here)),
        };
        if !in_order {
            let (left, right) = (&keys[pair[0]], &keys[pair[1]]);
            let path = here();
            let message = format!(
                "the dict {} has keys without an order, {} and {}: use keys of one class that can be sorted, or an \
                 OrderedDict, or flatten outside dict_insertion_ordered(False)",
                path.place(),
                show(left)?,
                show(right)?
            );
            return Err(error(left.py(), Family::KeyOrder, Some(&path), &message));
        }
    }
    Ok(order)
}

/// A stable merge sort whose comparison may fail.
fn sort(
    py: Python<'_>,
    order: &mut Vec<usize>,
    before: &mut dyn FnMut(usize, usize) -> PyResult<bool>,
) -> PyResult<()> {
    let mut interrupts = Interrupts::new();
    let mut width = 1;
    while width < order.len() {
        let mut merged = Vec::new();
        merged.try_reserve_exact(order.len()).map_err(no_memory)?;
        for chunk in order.chunks(2 * width) {
            let (mut left, mut right) = (&chunk[..width.min(chunk.len())], &chunk[width.min(chunk.len())..]);
            while let (Some(&first), Some(&second)) = (left.first(), right.first()) {
                // The right one goes first only where it must: equal keys keep their places.
                interrupts.after(py, 1)?;
                if before(second, first)? {
                    merged.push(second);
                    right = &right[1..];
                } else {
                    merged.push(first);
                    left = &left[1..];
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        *order = merged;
        width *= 2;
    }
    Ok(())
}
