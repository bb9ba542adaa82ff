//! The tree functions that name every leaf by its key path.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::arguments::Optional;
use crate::errors::text_of;
use crate::ffi::{RefVec, list_from, list_of, pair};
use crate::keys;
use crate::limits::Interrupts;
use crate::spec::{Graph, Structure, TreeSpec};
use crate::walk::{self, Rules};

/// Each leaf beside its path.
fn pairs<'py>(graph: &Graph, leaves: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyList>> {
    let py = leaves.py();
    let paths = graph.key_paths(py)?.bind(py);
    let mut interrupts = Interrupts::new();
    let mut pairs = RefVec::with_room(leaves.len())?;
    for (path, leaf) in paths.iter().zip(leaves.iter()) {
        interrupts.after(py, 1)?;
        pairs.push(pair(path, leaf)?.into_any())?;
    }
    list_from(py, &mut pairs, 0)
}

/// The leaves, each with its key path, and the structure of a tree: `([(path, leaf), ...], TreeSpec)`.
///
/// A path is a tuple of keys; `keystr` writes it as the expression that reaches the leaf.
///
/// Arguments and exceptions are those of `tree_flatten`.
///
/// >>> import clika_pytree as crt
/// >>> pairs, spec = crt.tree_flatten_with_path({"a": [1, 2]})
/// >>> [(crt.keystr(path), leaf) for path, leaf in pairs]
/// [("['a'][0]", 1), ("['a'][1]", 2)]
#[pyfunction(signature = (tree, is_leaf=None, *, none_is_leaf=Optional(None), namespace=None),
    text_signature = "(tree, is_leaf=None, *, none_is_leaf=True, namespace='')")]
pub(crate) fn tree_flatten_with_path<'py>(
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: Optional<'_, '_>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyTuple>> {
    let (pairs, structure) =
        flatten_with_path(tree, Rules::new(tree.py(), is_leaf, none_is_leaf.flag("none_is_leaf", true)?, namespace)?)?;
    pair(pairs, structure.into_spec(tree.py())?)
}

fn flatten_with_path<'py>(tree: &Bound<'py, PyAny>, rules: Rules) -> PyResult<(Bound<'py, PyList>, Structure<'py>)> {
    let (leaves, structure) = walk::flatten(tree, rules)?;
    Ok((pairs(&structure, &leaves)?, structure))
}

/// The leaves of a tree, each with its key path: `[(path, leaf), ...]`.
///
/// Arguments and exceptions are those of `tree_flatten`.
///
/// >>> import clika_pytree as crt
/// >>> crt.tree_leaves_with_path([7])
/// [((SequenceKey(idx=0),), 7)]
#[pyfunction(signature = (tree, is_leaf=None, *, none_is_leaf=Optional(None), namespace=None),
    text_signature = "(tree, is_leaf=None, *, none_is_leaf=True, namespace='')")]
pub(crate) fn tree_leaves_with_path<'py>(
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: Optional<'_, '_>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let (pairs, _) =
        flatten_with_path(tree, Rules::new(tree.py(), is_leaf, none_is_leaf.flag("none_is_leaf", true)?, namespace)?)?;
    Ok(pairs)
}

/// The path of every leaf of a tree as a tuple of entries: indices, keys and names as they are.
///
/// Arguments and exceptions are those of `tree_flatten`.
///
/// >>> import clika_pytree as crt
/// >>> crt.tree_paths({"a": [1, 2], "b": 3})
/// [('a', 0), ('a', 1), ('b',)]
#[pyfunction(signature = (tree, is_leaf=None, *, none_is_leaf=Optional(None), namespace=None),
    text_signature = "(tree, is_leaf=None, *, none_is_leaf=True, namespace='')")]
pub(crate) fn tree_paths<'py>(
    tree: &Bound<'py, PyAny>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: Optional<'_, '_>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let py = tree.py();
    let graph = walk::structure(tree, Rules::new(py, is_leaf, none_is_leaf.flag("none_is_leaf", true)?, namespace)?)?;
    list_of(py, graph.paths(py)?.bind(py).iter())
}

/// A tree with `fn(path, leaf)` in the place of every leaf.
///
/// Arguments and exceptions are those of `tree_map`.
///
/// >>> import clika_pytree as crt
/// >>> crt.tree_map_with_path(lambda path, x: f"{crt.keystr(path)} is {x}", {"a": [1, 2]})
/// {'a': ["['a'][0] is 1", "['a'][1] is 2"]}
#[pyfunction(signature = (r#fn, tree, /, *rests, is_leaf=None, none_is_leaf=Optional(None), namespace=None),
    text_signature = "(fn, tree, /, *rests, is_leaf=None, none_is_leaf=True, namespace='')")]
pub(crate) fn tree_map_with_path<'py>(
    r#fn: &Bound<'py, PyAny>,
    tree: &Bound<'py, PyAny>,
    rests: &Bound<'py, PyTuple>,
    is_leaf: Option<&Bound<'py, PyAny>>,
    none_is_leaf: Optional<'_, '_>,
    namespace: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    walk::map_with_path(
        r#fn,
        tree,
        rests,
        Rules::new(tree.py(), is_leaf, none_is_leaf.flag("none_is_leaf", true)?, namespace)?,
    )
}

/// A key path as text: the expression that reaches the leaf, or with `simple` only what the keys hold.
///
/// Args:
///     path: an iterable of keys.
///     simple: write `a`, `0`, `x` instead of `['a']`, `[0]`, `.x`. Such text does not lead back to one path.
///     separator: what stands between two keys.
///
/// Keys that are no plain values (None, bool, numbers, str, bytes, tuples of those) are written as `[<Type repr>]`.
///
/// >>> import clika_pytree as crt
/// >>> path = (crt.MappingKey("a"), crt.SequenceKey(0), crt.GetAttrKey("x"))
/// >>> crt.keystr(path), crt.keystr(path, simple=True, separator="/")
/// ("['a'][0].x", 'a/0/x')
#[pyfunction(signature = (path, *, simple=Optional(None), separator=Optional(None)),
    text_signature = "(path, *, simple=False, separator='')")]
pub(crate) fn keystr<'py>(
    path: &Bound<'py, PyAny>,
    simple: Optional<'_, '_>,
    separator: Optional<'_, '_>,
) -> PyResult<Bound<'py, PyString>> {
    let (simple, separator) = (simple.flag("simple", false)?, separator.text("separator", "")?);
    text_of(path.py(), &keys::keystr(path, simple, &separator)?)
}

/// The path of every leaf of a structure, as `keystr` writes it.
#[pyfunction]
pub(crate) fn leaf_names<'py>(spec: &Bound<'py, TreeSpec>) -> PyResult<Bound<'py, PyList>> {
    spec.get().0.leaf_names(spec.py())
}
