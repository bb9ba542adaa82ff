"""Trees in other shapes, as optree makes them."""

from __future__ import annotations

import clika_pytree
from clika_pytree import PyTreeValueError, TreeSpec
from clika_pytree.compat.reading import flatten_up_to, results_of
from clika_pytree.typing import TYPE_CHECKING

from .order import as_in
from .trees import columns, tree_flatten, tree_leaves, tree_structure

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clika_pytree.typing import IsLeaf


def tree_partition(
    predicate: Callable[[Any], object],
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    fillvalue: Any = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> tuple[Any, Any]:
    """Two trees of the structure: the leaves for which a function is true, and the others."""
    leaves, treespec = tree_flatten(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    answers = [bool(answer) for answer in results_of(predicate, treespec, [leaves])]
    left = [leaf if answer else fillvalue for leaf, answer in zip(leaves, answers, strict=True)]
    right = [fillvalue if answer else leaf for leaf, answer in zip(leaves, answers, strict=True)]
    return treespec.unflatten(left), treespec.unflatten(right)


def tree_transpose(outer_treespec: TreeSpec, inner_treespec: TreeSpec, tree: Any, /, is_leaf: IsLeaf = None) -> Any:
    """A tree of trees turned inside out."""
    namespace = inner_treespec.namespace
    with as_in(namespace if isinstance(namespace, str) else ""):
        return clika_pytree.tree_transpose(outer_treespec, inner_treespec, tree, is_leaf)


def turned(outer: TreeSpec, inner: TreeSpec | None, results: list[Any], options: dict[str, Any]) -> Any:
    if inner is None:
        if not results:
            raise PyTreeValueError("a tree without leaves can't be transposed without inner_treespec=")
        inner = tree_structure(results[0], **options)
    with as_in(options["namespace"]):
        rows = [flatten_up_to(inner, result) for result in results]
    trees = [outer.unflatten(row[place] for row in rows) for place in range(inner.num_leaves)]
    return inner.unflatten(trees)


def tree_transpose_map(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    inner_treespec: TreeSpec | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Map a function that gives trees, and turn the result inside out."""
    treespec, parts = columns(tree, rests, is_leaf, none_is_leaf, namespace)
    options: dict[str, Any] = {"is_leaf": is_leaf, "none_is_leaf": none_is_leaf, "namespace": namespace}
    return turned(treespec, inner_treespec, results_of(func, treespec, parts), options)


def tree_transpose_map_with_path(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    inner_treespec: TreeSpec | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """As `tree_transpose_map`; the function gets the path first."""
    treespec, parts = columns(tree, rests, is_leaf, none_is_leaf, namespace)
    options: dict[str, Any] = {"is_leaf": is_leaf, "none_is_leaf": none_is_leaf, "namespace": namespace}
    return turned(treespec, inner_treespec, results_of(func, treespec, [treespec.paths(), *parts]), options)


def tree_broadcast_prefix(
    prefix_tree: Any, full_tree: Any, /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = ""
) -> Any:
    """A tree that ends earlier, its leaves repeated to the leaves of the other."""
    with as_in(namespace):
        return clika_pytree.tree_broadcast_prefix(
            prefix_tree, full_tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace
        )


def broadcast_prefix(
    prefix_tree: Any, full_tree: Any, /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = ""
) -> list[Any]:
    """The leaves of `tree_broadcast_prefix`."""
    options: Any = {"none_is_leaf": none_is_leaf, "namespace": namespace}
    parts = tree_broadcast_prefix(prefix_tree, full_tree, is_leaf, **options)
    return tree_structure(full_tree, is_leaf, **options).flatten_up_to(parts)


def tree_broadcast_common(
    tree: Any, other_tree: Any, /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = ""
) -> tuple[Any, Any]:
    """Two trees made equally deep."""
    with as_in(namespace):
        return clika_pytree.tree_broadcast_common(
            tree, other_tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace
        )


def broadcast_common(
    tree: Any, other_tree: Any, /, is_leaf: IsLeaf = None, *, none_is_leaf: bool = False, namespace: str = ""
) -> tuple[list[Any], list[Any]]:
    """The leaves of `tree_broadcast_common`."""
    pairs = tree_broadcast_map(
        lambda *pair: Group(pair), tree, other_tree, is_leaf=is_leaf, none_is_leaf=none_is_leaf, namespace=namespace
    )
    groups = tree_leaves(pairs, none_is_leaf=none_is_leaf, namespace=namespace)
    return [group.leaves[0] for group in groups], [group.leaves[1] for group in groups]


class Group:
    """Leaves of several trees in one place, as one leaf."""

    def __init__(self, leaves: tuple[Any, ...]) -> None:
        self.leaves = leaves


def groups_of(
    trees: tuple[Any, ...], is_leaf: IsLeaf, none_is_leaf: bool, namespace: str
) -> tuple[TreeSpec, list[list[Any]]]:
    with as_in(namespace):
        tree = clika_pytree.tree_broadcast_map(
            lambda *leaves: Group(leaves), *trees, is_leaf=is_leaf, none_is_leaf=none_is_leaf, namespace=namespace
        )
        groups, treespec = clika_pytree.tree_flatten(tree, none_is_leaf=none_is_leaf, namespace=namespace)
    return treespec, [[group.leaves[place] for group in groups] for place in range(len(trees))]


def tree_broadcast_map(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """Map a function over trees of which some end earlier."""
    treespec, parts = groups_of((tree, *rests), is_leaf, none_is_leaf, namespace)
    return treespec.unflatten(results_of(func, treespec, parts))


def tree_broadcast_map_with_path(
    func: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> Any:
    """As `tree_broadcast_map`; the function gets the path first."""
    treespec, parts = groups_of((tree, *rests), is_leaf, none_is_leaf, namespace)
    return treespec.unflatten(results_of(func, treespec, [treespec.paths(), *parts]))
