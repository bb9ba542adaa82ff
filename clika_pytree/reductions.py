"""Reducing the leaves of a tree to one value. Leaves are read one by one; nothing is rebuilt."""

from __future__ import annotations

from ._native import PyTreeTypeError, PyTreeValueError, tree_iter
from .arguments import check_callable
from .typing import TYPE_CHECKING, overload
from .wording import described

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from ._native import TreeIter
    from .typing import Filter, IsLeaf, Namespace

    T = TypeVar("T")

__all__ = ["tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_max", "tree_min", "tree_reduce", "tree_sum"]


class _Missing:
    """Stands for an argument that was not given, where None could be one."""

    def __repr__(self) -> str:
        return "<missing>"


MISSING: Any = _Missing()


@overload
def tree_all(tree: Any, /, *, is_leaf: IsLeaf = None, none_is_leaf: bool = True, namespace: Namespace = "") -> bool: ...
@overload
def tree_all(*, tree: Any, is_leaf: IsLeaf = None, none_is_leaf: bool = True, namespace: Namespace = "") -> bool: ...
@overload
def tree_all(
    pred: Callable[[Any], object],
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> bool: ...
def tree_all(
    pred: Any = MISSING,
    tree: Any = MISSING,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> bool:
    """Whether all leaves are true: `tree_all(tree)`, or `tree_all(pred, tree)` to ask a function of each.

    Stops at the first leaf that is not; True for a tree without leaves.

    Args:
        pred: A function of a leaf; left out, the leaves themselves are tested.
        tree: The tree; where it stands alone, it is the first argument.
        is_leaf: Called with every object; where it gives a true value, the object is a leaf.
        none_is_leaf: Whether None is a leaf, or a node without children.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        True or False.

    Raises:
        PyTreeTypeError: No tree, or a first argument that is no function where there are two.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_all({"a": True, "b": [1, 2]})
        True
        >>> pytree.tree_all(lambda x: x > 1, {"a": 1, "b": [2, 3]})
        False
    """
    pred, tree = predicate_and_tree("tree_all()", pred, tree)
    leaves = tree_iter(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return not occurs(False, leaves, pred)


@overload
def tree_any(tree: Any, /, *, is_leaf: IsLeaf = None, none_is_leaf: bool = True, namespace: Namespace = "") -> bool: ...
@overload
def tree_any(*, tree: Any, is_leaf: IsLeaf = None, none_is_leaf: bool = True, namespace: Namespace = "") -> bool: ...
@overload
def tree_any(
    pred: Callable[[Any], object],
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> bool: ...
def tree_any(
    pred: Any = MISSING,
    tree: Any = MISSING,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> bool:
    """Whether any leaf is true: `tree_any(tree)`, or `tree_any(pred, tree)` to ask a function of each.

    Stops at the first leaf that is; False for a tree without leaves.

    Args:
        pred: A function of a leaf; left out, the leaves themselves are tested.
        tree: The tree; where it stands alone, it is the first argument.
        is_leaf: See `tree_all`, as for the following ones.
        none_is_leaf: Whether None is a leaf.
        namespace: Where registrations are looked up.

    Returns:
        True or False.

    Raises:
        PyTreeTypeError: No tree, or a first argument that is no function where there are two.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_any([0, None, {"a": ""}])
        False
        >>> pytree.tree_any(lambda x: x is None, {"cache": None, "x": 1})
        True
    """
    pred, tree = predicate_and_tree("tree_any()", pred, tree)
    leaves = tree_iter(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return occurs(True, leaves, pred)


def tree_all_only(
    filter: Filter,
    /,
    pred: Callable[[Any], object],
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> bool:
    """Whether a function holds for all leaves of some types; the other leaves are not asked.

    Args:
        filter: A type, a tuple of types, a union (`int | None`, `Optional[int]`), or a function that picks leaves.
        pred: A function of a leaf.
        tree: The tree.
        is_leaf: See `tree_all`, as for the following ones.
        none_is_leaf: Whether None is a leaf.
        namespace: Where registrations are looked up.

    Returns:
        True or False; True where no leaf is picked.

    Raises:
        PyTreeTypeError: `filter` is none of these, or `pred` is not a function.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_all_only(int, lambda n: n > 0, {"n": 1, "name": "x", "k": [2, 3]})
        True
    """
    picks = picker("tree_all_only()", filter)
    check_callable("tree_all_only()", "pred", pred)
    leaves = tree_iter(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return not occurs(False, leaves, pred, picks)


def tree_any_only(
    filter: Filter,
    /,
    pred: Callable[[Any], object],
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> bool:
    """Whether a function holds for any leaf of some types; the other leaves are not asked.

    Args:
        filter: A type, a tuple of types, a union (`int | None`, `Optional[int]`), or a function that picks leaves.
        pred: A function of a leaf.
        tree: The tree.
        is_leaf: See `tree_all`, as for the following ones.
        none_is_leaf: Whether None is a leaf.
        namespace: Where registrations are looked up.

    Returns:
        True or False; False where no leaf is picked.

    Raises:
        PyTreeTypeError: `filter` is none of these, or `pred` is not a function.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_any_only(str, str.isupper, {"a": "x", "b": ["Y", 3]})
        True
    """
    picks = picker("tree_any_only()", filter)
    check_callable("tree_any_only()", "pred", pred)
    leaves = tree_iter(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return occurs(True, leaves, pred, picks)


@overload
def tree_reduce(
    fn: Callable[[Any, Any], Any],
    tree: Any,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_reduce(
    fn: Callable[[T, Any], T],
    tree: Any,
    initial: T,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> T: ...
def tree_reduce(
    fn: Callable[[Any, Any], Any],
    tree: Any,
    initial: Any = MISSING,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    """Fold the leaves into one value, from the left, as `functools.reduce` does.

    Args:
        fn: Called with the value so far and the next leaf.
        tree: The tree.
        initial: What to start from; left out, the first leaf.
        is_leaf: See `tree_all`, as for the following ones.
        none_is_leaf: Whether None is a leaf.
        namespace: Where registrations are looked up.

    Returns:
        The last value.

    Raises:
        PyTreeTypeError: (a `TypeError`, as from `functools.reduce`) there is neither a leaf nor an `initial`.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_reduce(lambda x, y: x * y, {"a": 2, "b": [3, 4]})
        24
        >>> pytree.tree_reduce(lambda n, leaf: n + len(leaf), ["ab", ("c",)], 0)
        3
    """
    check_callable("tree_reduce()", "fn", fn)
    leaves = tree_iter(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    value = next(leaves, MISSING) if initial is MISSING else initial
    if value is MISSING:
        raise PyTreeTypeError("tree_reduce() got a tree without leaves and no initial value; pass initial=...")
    try:
        for leaf in leaves:
            value = fn(value, leaf)
    except BaseException as raised:
        leaves.note(raised, "fn")
        raise
    return value


def tree_sum(
    tree: Any, start: Any = 0, *, is_leaf: IsLeaf = None, none_is_leaf: bool = True, namespace: Namespace = ""
) -> Any:
    """Add the leaves up, as `sum` does.

    Args:
        tree: The tree.
        start: What to add them to.
        is_leaf: See `tree_all`, as for the following ones.
        none_is_leaf: Whether None is a leaf.
        namespace: Where registrations are looked up.

    Returns:
        The sum; `start` for a tree without leaves.

    Raises:
        TypeError: Leaves that cannot be added, None among them unless `none_is_leaf=False`.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_sum({"a": 1, "b": [2, 3]})
        6
        >>> pytree.tree_sum({"a": 1, "b": None}, none_is_leaf=False)
        1
    """
    leaves = tree_iter(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    try:
        return sum(leaves, start)
    except BaseException as raised:
        leaves.note(raised, "adding the leaf")
        raise


def tree_max(
    tree: Any,
    *,
    default: Any = MISSING,
    key: Callable[[Any], Any] | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    """The largest leaf, the first of equal ones, as `max` finds it.

    Args:
        tree: The tree.
        default: The result for a tree without leaves.
        key: A function of a leaf whose results are compared in place of the leaves.
        is_leaf: See `tree_all`, as for the following ones.
        none_is_leaf: Whether None is a leaf.
        namespace: Where registrations are looked up.

    Returns:
        The leaf, or `default`.

    Raises:
        PyTreeValueError: (a `ValueError`, as from `max`) there is neither a leaf nor a `default`.
        PyTreeTypeError: (a `TypeError`) `key` is no function.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_max({"a": 1, "b": [5, 3]})
        5
        >>> pytree.tree_max([], default=0)
        0
    """
    if key is not None:
        check_callable("tree_max()", "key", key)
    leaves = tree_iter(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return extreme("tree_max()", max, leaves, key, default)


def tree_min(
    tree: Any,
    *,
    default: Any = MISSING,
    key: Callable[[Any], Any] | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    """The smallest leaf, the first of equal ones, as `min` finds it.

    Args:
        tree: The tree.
        default: The result for a tree without leaves.
        key: A function of a leaf whose results are compared in place of the leaves.
        is_leaf: See `tree_all`, as for the following ones.
        none_is_leaf: Whether None is a leaf.
        namespace: Where registrations are looked up.

    Returns:
        The leaf, or `default`.

    Raises:
        PyTreeValueError: (a `ValueError`, as from `min`) there is neither a leaf nor a `default`.
        PyTreeTypeError: (a `TypeError`) `key` is no function.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_min({"a": "pear", "b": ["fig", "apple"]}, key=len)
        'fig'
    """
    if key is not None:
        check_callable("tree_min()", "key", key)
    leaves = tree_iter(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return extreme("tree_min()", min, leaves, key, default)


def occurs(
    wanted: bool,
    leaves: TreeIter[Any],
    pred: Callable[[Any], object],
    picks: Callable[[Any], object] | None = None,
) -> bool:
    """Whether the predicate comes out as wanted for some leaf; of the leaves picked, where there is a choice."""
    # Not `any(...)` of a generator or a map: a StopIteration from the predicate would change its type there, or end it.
    asked = who = "the truth of the leaf" if pred is bool else "pred"
    try:
        for leaf in leaves:
            if picks is not None:
                asked = "the filter"
                if not picks(leaf):
                    continue
                asked = who
            if bool(pred(leaf)) is wanted:
                return True
    except BaseException as raised:
        leaves.note(raised, asked)
        raise
    return False


def extreme(
    caller: str, choose: Callable[..., Any], leaves: TreeIter[Any], key: Callable[[Any], Any] | None, default: Any
) -> Any:
    """What `max` or `min` chooses of the leaves."""
    try:
        best = choose(leaves, default=default, key=key)
    except BaseException as raised:
        leaves.note(raised, "comparing the leaf")
        raise
    if best is MISSING:
        raise PyTreeValueError(f"{caller} got a tree without leaves and no default; pass default=...")
    return best


def predicate_and_tree(caller: str, pred: Any, tree: Any) -> tuple[Any, Any]:
    """Tell `(tree)` from PyTorch's `(pred, tree)`: a single argument is the tree."""
    if tree is MISSING:
        if pred is MISSING:
            raise PyTreeTypeError(f"{caller} expects a tree, or a function and a tree, got neither")
        return bool, pred
    if pred is MISSING:
        return bool, tree
    if not callable(pred):
        raise PyTreeTypeError(
            f"{caller} with two arguments expects a function and a tree, got {described(pred)} first; "
            "a tree alone is one argument, with is_leaf=... by keyword"
        )
    return pred, tree


def picker(caller: str, filter: Any) -> Callable[[Any], object]:
    """The function that says which leaves a filter picks."""
    if is_predicate(filter):
        return filter  # type: ignore[no-any-return]
    try:
        isinstance(MISSING, filter)
    except TypeError as error:
        raise PyTreeTypeError(
            f"{caller} expects a type, a tuple of types, a union or a function that picks leaves, got "
            f"{described(filter)}; {error}"
        ) from None
    return lambda leaf: isinstance(leaf, filter)


def is_predicate(filter: Any) -> bool:
    # `Optional[int]` and `list[int]` are callable: what has type arguments is a union for `isinstance`, or an error.
    return callable(filter) and not isinstance(filter, type) and not hasattr(filter, "__args__")
