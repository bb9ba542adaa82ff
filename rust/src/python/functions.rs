//! The tree functions.

#![expect(clippy::doc_link_with_quotes, reason = "docstrings for Python")]

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::arguments::Optional;
use crate::errors::{quote, type_error};
use crate::ffi::pair;
use crate::spec::TreeSpec;
use crate::walk::{self, Filter, Rules, TreeIter};

/// The leaves and the structure of a tree: `(list of leaves, TreeSpec)`.
///
/// Leaves come depth first, from left to right. Lists, tuples, dicts, `OrderedDicts`, defaultdicts, deques, namedtuples and
/// instances of registered classes are nodes, by exact type; all else is a leaf, None too.
///
/// Args:
///     tree: any object.
///     `is_leaf`: asked of every object before it is opened; a truthy answer makes it a leaf.
///     `none_is_leaf`: False makes None a node without children.
///     namespace: a name, or a tuple of names searched in order, whose registrations count before the global ones.
///
/// Raises `CircularTreeError` for a tree that contains itself, `NodeError` or `StructureError` for what a flatten
/// function should not return. Exceptions of user code pass, with a note that names the path.
///
/// >>> import clika_pytree as crt
/// >>> crt.tree_flatten({"a": [1, (2, None)], "b": 3})
/// ([1, 2, None, 3], TreeSpec({'a': [*, (*, *)], 'b': *}))
#[pyfunction(signature = (tree, is_leaf=None, *, none_is_leaf=Optional(None), namespace=None),
    text_signature = "(tree, is_leaf=None, *, none_is_leaf=True, namespace='')")]
pub(crate) fn tree_flatten<'py>(
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: Optional<'_, '_>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let rules = Rules::new(tree.py(), is_leaf, none_is_leaf.flag("none_is_leaf", true)?, namespace)?;
    let (leaves, structure) = walk::flatten(tree, rules)?;
    pair(leaves, structure.into_spec(tree.py())?)
}

/// The leaves of a tree, as a list. Arguments and exceptions are those of `tree_flatten`.
///
/// >>> import clika_pytree as crt
/// >>> crt.tree_leaves({"a": [1, (2, None)], "b": 3})
/// [1, 2, None, 3]
#[pyfunction(signature = (tree, is_leaf=None, *, none_is_leaf=Optional(None), namespace=None),
    text_signature = "(tree, is_leaf=None, *, none_is_leaf=True, namespace='')")]
pub(crate) fn tree_leaves<'py>(
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: Optional<'_, '_>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    walk::leaves(tree, Rules::new(tree.py(), is_leaf, none_is_leaf.flag("none_is_leaf", true)?, namespace)?)
}

/// The structure of a tree. Arguments and exceptions are those of `tree_flatten`.
///
/// >>> import clika_pytree as crt
/// >>> crt.tree_structure({"a": [1, (2, None)], "b": 3})
/// TreeSpec({'a': [*, (*, *)], 'b': *})
#[pyfunction(signature = (tree, is_leaf=None, *, none_is_leaf=Optional(None), namespace=None),
    text_signature = "(tree, is_leaf=None, *, none_is_leaf=True, namespace='')")]
pub(crate) fn tree_structure<'py>(
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: Optional<'_, '_>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, TreeSpec>> {
    walk::structure(tree, Rules::new(tree.py(), is_leaf, none_is_leaf.flag("none_is_leaf", true)?, namespace)?)?
        .into_spec(tree.py())
}

/// An iterator over the leaves of a tree, which is walked as far as it is asked for.
///
/// Arguments and exceptions are those of `tree_flatten`; a `StopIteration` of user code becomes a `RuntimeError`.
///
/// >>> import clika_pytree as crt
/// >>> next(crt.tree_iter({"a": [1, 2]}))
/// 1
#[pyfunction(signature = (tree, is_leaf=None, *, none_is_leaf=Optional(None), namespace=None),
    text_signature = "(tree, is_leaf=None, *, none_is_leaf=True, namespace='')")]
pub(crate) fn tree_iter<'py>(
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: Optional<'_, '_>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<TreeIter> {
    TreeIter::new(tree, Rules::new(tree.py(), is_leaf, none_is_leaf.flag("none_is_leaf", true)?, namespace)?)
}

/// The tree of a structure with these leaves. Either order of the two arguments is taken.
///
/// Args:
///     treespec: a TreeSpec.
///     leaves: an iterable of as many leaves as it has; not a str, bytes, dict or set.
///
/// Raises `LeafCountError` for another number of leaves, `TypeError` where not exactly one argument is a TreeSpec.
///
/// >>> import clika_pytree as crt
/// >>> leaves, spec = crt.tree_flatten({"a": [1, 2]})
/// >>> crt.tree_unflatten(spec, [10, 20])
/// {'a': [10, 20]}
#[pyfunction(signature = (*arguments, treespec=None, leaves=None), text_signature = "(treespec, leaves)")]
pub(crate) fn tree_unflatten<'py>(
    arguments: &Bound<'py, PyTuple>,
    treespec: Option<Bound<'py, PyAny>>,
    leaves: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (spec, leaves) = match (arguments.len(), treespec, leaves) {
        (2, None, None) => in_order(arguments.get_item(0)?, arguments.get_item(1)?)?,
        (0, Some(spec), Some(leaves)) => (spec, leaves),
        (1, None, Some(leaves)) => (arguments.get_item(0)?, leaves),
        (1, Some(spec), None) => (spec, arguments.get_item(0)?),
        _ => {
            let message = "tree_unflatten takes two arguments, a TreeSpec and its leaves";
            return Err(type_error(arguments.py(), message));
        }
    };
    let Ok(spec) = spec.cast::<TreeSpec>() else {
        return Err(type_error(spec.py(), &format!("treespec must be a TreeSpec, got {}", quote(&spec))));
    };
    walk::unflatten(&spec.get().0, &leaves)
}

/// Which of two arguments is the structure: exactly one must be.
fn in_order<'py>(
    first: Bound<'py, PyAny>,
    second: Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    match (first.is_instance_of::<TreeSpec>(), second.is_instance_of::<TreeSpec>()) {
        (true, false) => Ok((first, second)),
        (false, true) => Ok((second, first)),
        (true, true) => Err(type_error(
            first.py(),
            "tree_unflatten got two TreeSpecs: one argument must be the leaves (where the only leaf is a TreeSpec, a list \
             of it)",
        )),
        (false, false) => Err(type_error(
            first.py(),
            &format!("tree_unflatten takes a TreeSpec and its leaves, got {} and {}", quote(&first), quote(&second)),
        )),
    }
}

/// A tree with `fn(leaf)` in the place of every leaf.
///
/// Args:
///     fn: called with a leaf of `tree` and the leaves of the further trees in the same place.
///     tree: any object.
///     *rests: trees of the same structure. Where `tree` has a leaf they must have one too, except where `is_leaf` stopped
///         at a container: there anything may stand.
///     `is_leaf`, `none_is_leaf`, namespace: as for `tree_flatten`.
///
/// Raises `StructureError` naming the first path at which a further tree differs. An exception of `fn` passes, with a note
/// that names the path.
///
/// >>> import clika_pytree as crt
/// >>> crt.tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
/// {'a': 11, 'b': [22]}
#[pyfunction(signature = (r#fn, tree, /, *rests, is_leaf=None, none_is_leaf=Optional(None), namespace=None),
    text_signature = "(fn, tree, /, *rests, is_leaf=None, none_is_leaf=True, namespace='')")]
pub(crate) fn tree_map<'py>(
    r#fn: &Bound<'py, PyAny>,
    tree: &Bound<'py, PyAny>,
    rests: &Bound<'py, PyTuple>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: Optional<'_, '_>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let rules = Rules::new(tree.py(), is_leaf, none_is_leaf.flag("none_is_leaf", true)?, namespace)?;
    walk::map(r#fn, tree, rests, Filter::All, rules)
}

/// Calls `fn` on every leaf for its effect and returns the very tree it was given. Arguments are those of `tree_map`.
///
/// >>> import clika_pytree as crt
/// >>> seen = []
/// >>> crt.tree_map_(seen.append, {"a": 1, "b": [2]})
/// {'a': 1, 'b': [2]}
/// >>> seen
/// [1, 2]
#[pyfunction(signature = (r#fn, tree, /, *rests, is_leaf=None, none_is_leaf=Optional(None), namespace=None),
    text_signature = "(fn, tree, /, *rests, is_leaf=None, none_is_leaf=True, namespace='')")]
pub(crate) fn tree_map_<'py>(
    r#fn: &Bound<'py, PyAny>,
    tree: &Bound<'py, PyAny>,
    rests: &Bound<'py, PyTuple>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: Optional<'_, '_>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let rules = Rules::new(tree.py(), is_leaf, none_is_leaf.flag("none_is_leaf", true)?, namespace)?;
    walk::for_each(r#fn, tree, rests, Filter::All, rules)?;
    Ok(tree.clone())
}

/// A tree with `fn(leaf)` in the place of those leaves that the filter takes; the others stay.
///
/// Args:
///     filter: a class, a tuple of classes, a union (`int | float`, `Optional[int]`), or a predicate of a leaf.
///     fn: called with each leaf that the filter takes.
///     tree, `is_leaf`, `none_is_leaf`, namespace: as for `tree_map`.
///
/// Raises `TypeError` for a filter that is none of these.
///
/// >>> import clika_pytree as crt
/// >>> crt.tree_map_only(int, lambda x: x + 1, {"a": 1, "b": "text", "c": [2, None, 2.5]})
/// {'a': 2, 'b': 'text', 'c': [3, None, 2.5]}
#[pyfunction(signature = (filter, r#fn, tree, /, is_leaf=None, *, none_is_leaf=Optional(None), namespace=None),
    text_signature = "(filter, fn, tree, /, is_leaf=None, *, none_is_leaf=True, namespace='')")]
pub(crate) fn tree_map_only<'py>(
    filter: &Bound<'py, PyAny>,
    r#fn: &Bound<'py, PyAny>,
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: Optional<'_, '_>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = tree.py();
    let rules = Rules::new(py, is_leaf, none_is_leaf.flag("none_is_leaf", true)?, namespace)?;
    walk::map(r#fn, tree, &PyTuple::empty(py), Filter::of(filter)?, rules)
}

/// Calls `fn` on those leaves that the filter takes and returns the very tree it was given.
///
/// Arguments are those of `tree_map_only`.
///
/// >>> import clika_pytree as crt
/// >>> seen = []
/// >>> _ = crt.tree_map_only_(str, seen.append, {"a": 1, "b": "text"})
/// >>> seen
/// ['text']
#[pyfunction(signature = (filter, r#fn, tree, /, is_leaf=None, *, none_is_leaf=Optional(None), namespace=None),
    text_signature = "(filter, fn, tree, /, is_leaf=None, *, none_is_leaf=True, namespace='')")]
pub(crate) fn tree_map_only_<'py>(
    filter: &Bound<'py, PyAny>,
    r#fn: &Bound<'py, PyAny>,
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: Optional<'_, '_>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = tree.py();
    let rules = Rules::new(py, is_leaf, none_is_leaf.flag("none_is_leaf", true)?, namespace)?;
    walk::for_each(r#fn, tree, &PyTuple::empty(py), Filter::of(filter)?, rules)?;
    Ok(tree.clone())
}
