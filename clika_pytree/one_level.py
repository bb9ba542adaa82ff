"""The top of a tree alone: its children, whether it is a leaf; and the leaves of a call's arguments."""

from __future__ import annotations

from ._native import PyTreeTypeError, PyTreeValueError, TreeSpec, is_registered, tree_flatten, tree_leaves
from .arguments import check_callable
from .namedtuples import is_namedtuple_class
from .typing import TYPE_CHECKING
from .wording import described

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .typing import IsLeaf, Namespace

__all__ = ["all_leaves", "arg_tree_leaves", "tree_flatten_one_level", "tree_is_leaf"]


def tree_flatten_one_level(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> tuple[list[Any], TreeSpec]:
    """Take a container apart, and not what is in it.

    Args:
        tree: A container: a list, dict, namedtuple, an instance of a registered class.
        is_leaf: Called with the container; if it gives a true value, that is a leaf.
        none_is_leaf: Whether None is a leaf, or a node without children.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        The children, and the structure of the container with a leaf for each: its `entries()` name the children, its
        `unflatten(children)` rebuilds it.

    Raises:
        PyTreeValueError: (a `ValueError`) it is a leaf.
        PyTreeTypeError: (a `TypeError`) `is_leaf` is no function.

    Example:
        >>> from clika_pytree import pytree
        >>> children, spec = pytree.tree_flatten_one_level({"a": [1, 2], "b": 3})
        >>> children, spec, spec.entries()
        ([[1, 2], 3], TreeSpec({'a': *, 'b': *}), ['a', 'b'])
    """
    if is_leaf is not None:
        check_callable("tree_flatten_one_level()", "is_leaf", is_leaf)
    # The root is asked about first, and all that is asked about later is below it.
    answers = iter((is_leaf is not None and bool(is_leaf(tree)),))
    children, spec = tree_flatten(tree, lambda _: next(answers, True), none_is_leaf=none_is_leaf, namespace=namespace)
    if spec.is_leaf():
        raise PyTreeValueError(
            f"tree_flatten_one_level() expects a container, got {described(tree)}, which is a leaf; "
            "ask tree_is_leaf() first"
        )
    return children, spec


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = "") -> bool:
    """Whether an object is a leaf. Only its class is looked at, not what it holds.

    Args:
        tree: The object.
        is_leaf: Called with it; where it gives a true value, the object is a leaf.
        none_is_leaf: Whether None is a leaf, or a node without children.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        True or False.

    Raises:
        PyTreeTypeError: (a `TypeError`) `is_leaf` is no function.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_is_leaf(1), pytree.tree_is_leaf([1]), pytree.tree_is_leaf([])
        (True, False, False)
        >>> pytree.tree_is_leaf(None), pytree.tree_is_leaf(None, none_is_leaf=False)
        (True, False)
    """
    if is_leaf is not None:
        check_callable("tree_is_leaf()", "is_leaf", is_leaf)
        if is_leaf(tree):
            return True
    if tree is None:
        return none_is_leaf
    cls = class_of(tree)
    return not is_registered(cls, namespace) and not is_namedtuple_class(cls)


def all_leaves(
    iterable: Iterable[Any], is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> bool:
    """Whether every object of an iterable is a leaf.

    Args:
        iterable: The objects.
        is_leaf: See `tree_is_leaf`, as for the following ones.
        none_is_leaf: Whether None is a leaf.
        namespace: Where registrations are looked up.

    Returns:
        True or False; True for none at all.

    Raises:
        PyTreeTypeError: (a `TypeError`) it can't be iterated over, or `is_leaf` is no function.

    Example:
        >>> from clika_pytree import pytree
        >>> tree = {"a": 1, "b": [2]}
        >>> pytree.all_leaves(pytree.tree_leaves(tree)), pytree.all_leaves(tree.values())
        (True, False)
    """
    if not hasattr(iterable, "__iter__"):
        raise PyTreeTypeError(f"all_leaves() expects an iterable of objects, got {described(iterable)}")
    for obj in iterable:  # noqa: SIM110  (a StopIteration from `is_leaf` would change its type in a generator)
        if not tree_is_leaf(obj, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace):
            return False
    return True


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of all arguments of a call: those of the positional ones, then those of the others in their order.

    Args:
        args: Trees.
        kwargs: More trees, under any names.

    Returns:
        The leaves.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.arg_tree_leaves([1, 2], 3, mask={"rows": 4}, bias=None)
        [1, 2, 3, 4, None]
    """
    return tree_leaves([*args, *kwargs.values()])


def class_of(obj: object) -> type[object]:
    """`type(obj)`, which checkers would narrow `obj` by."""
    return type(obj)
