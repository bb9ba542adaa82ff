"""Trees split in two and put together again, and trees without None."""

from __future__ import annotations

from ._native import PyTreeTypeError, tree_flatten, tree_map
from .algebra import called
from .one_level import class_of, tree_is_leaf
from .reductions import picker
from .typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections import OrderedDict, defaultdict
    from collections.abc import Callable
    from typing import Any, TypeVar

    from .shapes import Unseen
    from .typing import Filter, IsLeaf, Namespace

    K = TypeVar("K")
    V = TypeVar("V")

__all__ = ["tree_combine", "tree_partition", "tree_replace_nones"]


@overload
def tree_partition(
    predicate: Filter,
    tree: Unseen | OrderedDict[Any, Any] | defaultdict[Any, Any],
    *,
    fillvalue: Any = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> tuple[Any, Any]: ...
@overload
def tree_partition(
    predicate: Filter,
    tree: dict[K, V],
    *,
    fillvalue: Any = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> tuple[dict[K, Any], dict[K, Any]]: ...
@overload
def tree_partition(
    predicate: Filter,
    tree: list[V],
    *,
    fillvalue: Any = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> tuple[list[Any], list[Any]]: ...
@overload
def tree_partition(
    predicate: Filter,
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    fillvalue: Any = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> tuple[Any, Any]: ...


def tree_partition(
    predicate: Filter,
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    fillvalue: Any = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> tuple[Any, Any]:
    """Split a tree in two of the same structure: one with the leaves that are picked, one with the others.

    `tree_combine` puts them together again.

    Args:
        predicate: A function of a leaf, or, as in `tree_map_only`, a type, a tuple of types, or a union.
        tree: The tree.
        is_leaf: Called with every object; where it gives a true value, the object is a leaf.
        fillvalue: What stands in each tree where the leaf is in the other one.
        none_is_leaf: Whether None is a leaf, or a node without children.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        The tree of the leaves that are picked, and the tree of the others.

    Raises:
        PyTreeTypeError: `predicate` is none of these.

    Example:
        >>> from clika_pytree import pytree
        >>> floats, others = pytree.tree_partition(float, {"w": [0.5, 2.5], "step": 3})
        >>> floats, others
        ({'w': [0.5, 2.5], 'step': None}, {'w': [None, None], 'step': 3})
        >>> pytree.tree_combine(floats, others)
        {'w': [0.5, 2.5], 'step': 3}
    """
    picks = picker("tree_partition()", predicate)
    leaves, spec = tree_flatten(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)

    def is_picked(leaf: Any) -> bool:
        return bool(picks(leaf))

    picked = called(is_picked, "the predicate", spec, [leaves])

    def half(wanted: bool) -> Any:
        return spec.unflatten([leaf if yes is wanted else fillvalue for leaf, yes in zip(leaves, picked, strict=True)])

    return half(True), half(False)


@overload
def tree_combine(
    *trees: Unseen | OrderedDict[Any, Any] | defaultdict[Any, Any],
    fillvalue: Any = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_combine(
    *trees: dict[K, V], fillvalue: Any = None, none_is_leaf: bool = True, namespace: Namespace = ""
) -> dict[K, Any]: ...
@overload
def tree_combine(
    *trees: list[V], fillvalue: Any = None, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[Any]: ...
@overload
def tree_combine(
    *trees: Any,
    fillvalue: Any = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
def tree_combine(
    *trees: Any,
    fillvalue: Any = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    """Put trees together that have holes: at each place the first leaf that is no hole. Undoes `tree_partition`.

    Args:
        trees: One or more trees of the same structure. Where several have a leaf, the earlier one goes before.
        fillvalue: What counts as a hole: this very object, or a number or text of the same type and value.
        is_leaf: See `tree_partition`, as for the following ones; pass what was passed there.
        none_is_leaf: Whether None is a leaf.
        namespace: Where registrations are looked up.

    Returns:
        A tree of this structure; where all trees have a hole, the result has one.

    Raises:
        StructureError: The trees do not have one structure; the message names the place.
        PyTreeTypeError: There is no tree.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_combine({"a": 1, "b": None}, {"a": None, "b": 2})
        {'a': 1, 'b': 2}
        >>> pytree.tree_combine([1, -1, -1], [7, 2, -1], fillvalue=-1)
        [1, 2, -1]
    """
    if not trees:
        raise PyTreeTypeError("tree_combine() expects one or more trees, got none")
    hole = hole_test(fillvalue)

    def first_filled(*leaves: Any) -> Any:
        for leaf in leaves:
            if not hole(leaf):
                return leaf
        return leaves[0]

    def stops(obj: Any) -> object:
        return hole(obj) or (is_leaf is not None and is_leaf(obj))

    # A hole that reads as a node, such as None with none_is_leaf=False, must not be walked into.
    hole_is_leaf = tree_is_leaf(fillvalue, none_is_leaf=none_is_leaf, namespace=namespace)
    return tree_map(
        first_filled, *trees, is_leaf=is_leaf if hole_is_leaf else stops, none_is_leaf=none_is_leaf, namespace=namespace
    )


def tree_replace_nones(sentinel: Any, tree: Any, is_leaf: IsLeaf = None, *, namespace: Namespace = "") -> Any:
    """Put something else in the place of every None.

    Args:
        sentinel: What to put there.
        tree: The tree.
        is_leaf: Called with every object; where it gives a true value, the object is a leaf.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        The tree without None.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_replace_nones(0, {"a": 1, "b": None, "c": (2, None)})
        {'a': 1, 'b': 0, 'c': (2, 0)}
    """
    leaves, spec = tree_flatten(tree, is_leaf, namespace=namespace)
    return spec.unflatten([sentinel if leaf is None else leaf for leaf in leaves])


def hole_test(fillvalue: Any) -> Callable[[Any], bool]:
    """The function that says whether a leaf is a hole."""
    cls = class_of(fillvalue)
    if cls is float:
        # By value and sign; NaN does not equal itself.
        text = fillvalue.hex()
        return lambda leaf: type(leaf) is float and leaf.hex() == text
    if cls in (int, bool, str, bytes):
        return lambda leaf: type(leaf) is cls and bool(leaf == fillvalue)
    return lambda leaf: leaf is fillvalue
