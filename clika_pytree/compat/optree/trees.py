"""Taking apart, mapping and reducing, as optree does."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import clika_pytree
from clika_pytree import TreeSpec
from clika_pytree._native import flatten_in_order, leaves_in_order, structure_in_order
from clika_pytree.compat.reading import flatten_up_to, results_of
from clika_pytree.typing import TYPE_CHECKING

from .order import as_in, in_insertion_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from clika_pytree.typing import IsLeaf

MISSING: Any = object()


def tree_flatten(
    tree: Any, /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = ""
) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree and its structure."""
    return flatten_in_order(tree, is_leaf, none_is_leaf, namespace, not in_insertion_order(namespace))


def tree_flatten_with_path(
    tree: Any, /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = ""
) -> tuple[list[tuple[Any, ...]], list[Any], TreeSpec]:
    """The paths, the leaves and the structure; a path is a tuple of indices, keys and names."""
    leaves, treespec = tree_flatten(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return treespec.paths(), leaves, treespec


def tree_unflatten(treespec: TreeSpec, leaves: Iterable[Any]) -> Any:
    """The tree of a structure with these leaves."""
    return treespec.unflatten(leaves)


def tree_leaves(tree: Any, /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = "") -> list[Any]:
    """The leaves of a tree."""
    return leaves_in_order(tree, is_leaf, none_is_leaf, namespace, not in_insertion_order(namespace))


def tree_iter(
    tree: Any, /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = ""
) -> Iterator[Any]:
    """The leaves of a tree, one after the other; the tree is read at the call."""
    return iter(tree_leaves(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace))


def tree_structure(
    tree: Any, /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = ""
) -> TreeSpec:
    """The structure of a tree."""
    return structure_in_order(tree, is_leaf, none_is_leaf, namespace, not in_insertion_order(namespace))


def tree_paths(
    tree: Any, /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = ""
) -> list[tuple[Any, ...]]:
    """What leads to each leaf."""
    return tree_structure(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace).paths()


def tree_is_leaf(tree: Any, /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = "") -> bool:
    """Whether an object is a leaf."""
    return clika_pytree.tree_is_leaf(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)


def all_leaves(
    iterable: Iterable[Any], /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = ""
) -> bool:
    """Whether every object of an iterable is a leaf."""
    return clika_pytree.all_leaves(iterable, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)


class OneLevel(NamedTuple):
    """A container taken apart: what rebuilds it is `unflatten_func(metadata, children)`."""

    children: list[Any]
    metadata: Any
    entries: tuple[Any, ...]
    unflatten_func: Callable[[Any, Iterable[Any]], Any]


def tree_flatten_one_level(
    tree: Any, /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = ""
) -> OneLevel:
    """Take a container apart, and not what is in it."""
    with as_in(namespace):
        children, root = clika_pytree.tree_flatten_one_level(
            tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace
        )
    metadata, entries = root.context, tuple(root.entries())
    if root.kind in ("dict", "ordereddict"):
        metadata = list(metadata)
    elif root.kind == "defaultdict":
        metadata = (metadata[0], list(metadata[1]))
    elif root.kind == "namedtuple":
        metadata, entries = root.type, tuple(range(root.num_children))

    def rebuilt(_: Any, parts: Iterable[Any]) -> Any:
        return root.unflatten(parts)

    return OneLevel(children, metadata, entries, rebuilt)


def columns(
    tree: Any, rests: tuple[Any, ...], is_leaf: IsLeaf, none_is_leaf: bool, namespace: str
) -> tuple[TreeSpec, list[list[Any]]]:
    """The structure of the first tree, and of each tree what stands at its leaves."""
    leaves, treespec = tree_flatten(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    if not rests:
        return treespec, [leaves]
    with as_in(namespace):
        return treespec, [leaves, *(flatten_up_to(treespec, rest) for rest in rests)]


def tree_map(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """A tree of what a function gives for each leaf, and for what stands at its place in the further trees."""
    treespec, parts = columns(tree, rests, is_leaf, none_is_leaf, namespace)
    return treespec.unflatten(results_of(func, treespec, parts))


def tree_map_(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Call a function as `tree_map` does, and return the first tree itself."""
    treespec, parts = columns(tree, rests, is_leaf, none_is_leaf, namespace)
    results_of(func, treespec, parts)
    return tree


def tree_map_with_path(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """As `tree_map`; the function gets the path first, a tuple of indices, keys and names."""
    treespec, parts = columns(tree, rests, is_leaf, none_is_leaf, namespace)
    return treespec.unflatten(results_of(func, treespec, [treespec.paths(), *parts]))


def tree_map_with_path_(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Call a function as `tree_map_with_path` does, and return the first tree itself."""
    treespec, parts = columns(tree, rests, is_leaf, none_is_leaf, namespace)
    results_of(func, treespec, [treespec.paths(), *parts])
    return tree


def tree_replace_nones(sentinel: Any, tree: Any, /, namespace: str = "") -> Any:
    """The tree with another value in the place of every None."""
    leaves, treespec = tree_flatten(tree, none_is_leaf=True, namespace=namespace)
    return treespec.unflatten(sentinel if leaf is None else leaf for leaf in leaves)


def tree_reduce(
    func: Callable[[Any, Any], Any], tree: Any, /, initial: Any = MISSING, *, is_leaf: IsLeaf = None, **options: Any
) -> Any:
    """The leaves folded from left to right."""
    leaves = tree_leaves(tree, is_leaf, **options)
    return reduce(func, leaves) if initial is MISSING else reduce(func, leaves, initial)


def tree_sum(tree: Any, /, start: Any = 0, *, is_leaf: IsLeaf = None, **options: Any) -> Any:
    """The sum of the leaves; texts are joined where `start` is one."""
    leaves = tree_leaves(tree, is_leaf, **options)
    if isinstance(start, (str, bytes, bytearray)):
        empty: Any = type(start)()
        return empty.join([start, *leaves])
    return sum(leaves, start)


def tree_max(tree: Any, /, *, default: Any = MISSING, key: Any = None, is_leaf: IsLeaf = None, **options: Any) -> Any:
    """The largest leaf."""
    leaves = tree_leaves(tree, is_leaf, **options)
    return max(leaves, key=key) if default is MISSING else max(leaves, key=key, default=default)


def tree_min(tree: Any, /, *, default: Any = MISSING, key: Any = None, is_leaf: IsLeaf = None, **options: Any) -> Any:
    """The smallest leaf."""
    leaves = tree_leaves(tree, is_leaf, **options)
    return min(leaves, key=key) if default is MISSING else min(leaves, key=key, default=default)


def tree_all(tree: Any, /, *, is_leaf: IsLeaf = None, **options: Any) -> bool:
    """Whether all leaves are true."""
    return all(tree_leaves(tree, is_leaf, **options))


def tree_any(tree: Any, /, *, is_leaf: IsLeaf = None, **options: Any) -> bool:
    """Whether one leaf is true."""
    return any(tree_leaves(tree, is_leaf, **options))
