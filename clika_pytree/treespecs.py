"""Structures made from the structures of their children, without a tree."""

from __future__ import annotations

from ._native import PyTreeTypeError, PyTreeValueError, TreeSpec, keystr, tree_flatten, tree_structure
from .arguments import check_callable
from .namedtuples import is_namedtuple_instance
from .typing import TYPE_CHECKING
from .wording import described, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from .typing import Namespace

    Specs = Iterable[TreeSpec]
    SpecMapping = Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]]

__all__ = [
    "treespec_defaultdict",
    "treespec_deque",
    "treespec_dict",
    "treespec_from_collection",
    "treespec_leaf",
    "treespec_list",
    "treespec_namedtuple",
    "treespec_none",
    "treespec_ordereddict",
    "treespec_tuple",
]


def treespec_leaf(*, none_is_leaf: bool = True) -> TreeSpec:
    """The structure of a leaf.

    Args:
        none_is_leaf: Whether None is a leaf, or a node without children, in the trees that this is for.

    Returns:
        The structure.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.treespec_leaf()
        TreeSpec(*)
    """
    return tree_structure(0, none_is_leaf=none_is_leaf)


def treespec_none(*, none_is_leaf: bool = True) -> TreeSpec:
    """The structure of None: a leaf, or with `none_is_leaf=False` a node without children.

    Args:
        none_is_leaf: Which of the two.

    Returns:
        The structure.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.treespec_none(), pytree.treespec_none(none_is_leaf=False)
        (TreeSpec(*), TreeSpec(None, none_is_leaf=False))
    """
    return tree_structure(None, none_is_leaf=none_is_leaf)


def treespec_list(children: Specs = (), *, none_is_leaf: bool | None = None) -> TreeSpec:
    """The structure of a list.

    Args:
        children: The structures of its items.
        none_is_leaf: Whether None is a leaf. Left out, that of the children, and True where there are none.

    Returns:
        The structure.

    Raises:
        PyTreeTypeError: (a `TypeError`) a child is not a TreeSpec, or `children` is no iterable.
        StructureError: Structures that read None in two ways.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.treespec_list([pytree.treespec_leaf(), pytree.tree_structure((1, 2))])
        TreeSpec([*, (*, *)])
    """
    return grafted("treespec_list()", listed("treespec_list()", children), none_is_leaf)


def treespec_tuple(children: Specs = (), *, none_is_leaf: bool | None = None) -> TreeSpec:
    """The structure of a tuple.

    Args:
        children: The structures of its items.
        none_is_leaf: See `treespec_list`.

    Returns:
        The structure.

    Raises:
        PyTreeTypeError: (a `TypeError`) a child is not a TreeSpec, or `children` is no iterable.
        StructureError: Structures that read None in two ways.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.treespec_tuple([pytree.treespec_leaf()] * 2)
        TreeSpec((*, *))
    """
    return grafted("treespec_tuple()", tuple(listed("treespec_tuple()", children)), none_is_leaf)


def treespec_dict(mapping: SpecMapping = (), /, *, none_is_leaf: bool | None = None, **kwargs: TreeSpec) -> TreeSpec:
    """The structure of a dict.

    Args:
        mapping: Keys and the structures of their values, as `dict` takes them.
        none_is_leaf: See `treespec_list`.
        kwargs: More of them.

    Returns:
        The structure.

    Raises:
        PyTreeTypeError: (a `TypeError`) a child is not a TreeSpec, or `mapping` is none and holds no pairs.
        StructureError: Structures that read None in two ways.

    Example:
        >>> from clika_pytree import pytree
        >>> leaf = pytree.treespec_leaf()
        >>> pytree.treespec_dict({1: leaf}, b=leaf)
        TreeSpec({1: *, 'b': *})
    """
    return grafted("treespec_dict()", paired("treespec_dict()", mapping, kwargs), none_is_leaf)


def treespec_ordereddict(
    mapping: SpecMapping = (), /, *, none_is_leaf: bool | None = None, **kwargs: TreeSpec
) -> TreeSpec:
    """The structure of an OrderedDict.

    Args:
        mapping: Keys and the structures of their values, as `dict` takes them.
        none_is_leaf: See `treespec_list`.
        kwargs: More of them.

    Returns:
        The structure.

    Raises:
        PyTreeTypeError: (a `TypeError`) a child is not a TreeSpec, or `mapping` is none and holds no pairs.
        StructureError: Structures that read None in two ways.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.treespec_ordereddict(a=pytree.treespec_leaf())
        TreeSpec(OrderedDict({'a': *}))
    """
    from collections import OrderedDict

    made = OrderedDict(paired("treespec_ordereddict()", mapping, kwargs))
    return grafted("treespec_ordereddict()", made, none_is_leaf)


def treespec_defaultdict(
    default_factory: Callable[[], Any] | None = None,
    mapping: SpecMapping = (),
    /,
    *,
    none_is_leaf: bool | None = None,
    **kwargs: TreeSpec,
) -> TreeSpec:
    """The structure of a defaultdict.

    Args:
        default_factory: Its factory, or None.
        mapping: Keys and the structures of their values, as `dict` takes them.
        none_is_leaf: See `treespec_list`.
        kwargs: More of them.

    Returns:
        The structure.

    Raises:
        PyTreeTypeError: A child is not a TreeSpec, or `default_factory` is not a function.
        StructureError: Structures that read None in two ways.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.treespec_defaultdict(list, {"a": pytree.treespec_leaf()})
        TreeSpec(defaultdict(<class 'list'>, {'a': *}))
    """
    from collections import defaultdict

    if default_factory is not None:
        check_callable("treespec_defaultdict()", "default_factory", default_factory)
    made = defaultdict(default_factory, paired("treespec_defaultdict()", mapping, kwargs))
    return grafted("treespec_defaultdict()", made, none_is_leaf)


def treespec_deque(children: Specs = (), maxlen: int | None = None, *, none_is_leaf: bool | None = None) -> TreeSpec:
    """The structure of a deque.

    Args:
        children: The structures of its items.
        maxlen: How many items it holds at most; None for any number.
        none_is_leaf: See `treespec_list`.

    Returns:
        The structure.

    Raises:
        PyTreeTypeError: (a `TypeError`) a child is not a TreeSpec, or `maxlen` is no number of items.
        PyTreeValueError: (a `ValueError`) a `maxlen` below 0, or more children than that.
        StructureError: Structures that read None in two ways.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.treespec_deque([pytree.treespec_leaf()], maxlen=3)
        TreeSpec(deque([*], maxlen=3))
    """
    from collections import deque

    items = listed("treespec_deque()", children)
    check_maxlen(maxlen)
    made = deque(items, maxlen)
    if len(made) < len(items):
        raise PyTreeValueError(f"treespec_deque() got {len(items)} children for a deque of at most {maxlen}")
    return grafted("treespec_deque()", made, none_is_leaf)


def treespec_namedtuple(namedtuple: Any, /, *, none_is_leaf: bool | None = None, namespace: Namespace = "") -> TreeSpec:
    """The structure of a namedtuple.

    Args:
        namedtuple: An instance that holds the structures of its fields.
        none_is_leaf: See `treespec_list`.
        namespace: The name, or tuple of names, in which a registration of the class is looked up before the global
            ones.

    Returns:
        The structure.

    Raises:
        PyTreeTypeError: Not a namedtuple, or a child is not a TreeSpec.
        StructureError: Structures that read None in two ways.

    Example:
        >>> from collections import namedtuple
        >>> from clika_pytree import pytree
        >>> Point = namedtuple("Point", "x y")
        >>> pytree.treespec_namedtuple(Point(pytree.treespec_leaf(), pytree.treespec_list()))
        TreeSpec(Point(x=*, y=[]))
    """
    if not is_namedtuple_instance(namedtuple):
        raise PyTreeTypeError(
            f"treespec_namedtuple() expects a namedtuple that holds specs, got {described(namedtuple)}"
        )
    return grafted("treespec_namedtuple()", namedtuple, none_is_leaf, namespace)


def treespec_from_collection(
    collection: Any, *, none_is_leaf: bool | None = None, namespace: Namespace = ""
) -> TreeSpec:
    """The structure of a container, or of a whole tree, that holds structures where others hold leaves.

    Args:
        collection: Any tree whose leaves are TreeSpecs; each of them is put in its place.
        none_is_leaf: See `treespec_list`.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        The structure.

    Raises:
        PyTreeTypeError: A leaf is not a TreeSpec; the message names the place.
        StructureError: Structures that read None in two ways.

    Example:
        >>> from clika_pytree import pytree
        >>> pair = pytree.tree_structure((0, 0))
        >>> pytree.treespec_from_collection({"a": pair, "b": [pair, pytree.treespec_leaf()]})
        TreeSpec({'a': (*, *), 'b': [(*, *), *]})
    """
    return grafted("treespec_from_collection()", collection, none_is_leaf, namespace)


def check_maxlen(maxlen: object) -> None:
    if maxlen is None:
        return
    expected = f"treespec_deque() expects a number from 0 on or None as maxlen, got {described(maxlen)}"
    if not isinstance(maxlen, int):
        raise PyTreeTypeError(expected)
    if maxlen < 0:
        raise PyTreeValueError(expected)


def listed(caller: str, children: Any) -> list[Any]:
    if not hasattr(children, "__iter__"):
        raise PyTreeTypeError(
            f"{caller} expects an iterable of TreeSpecs, one for each child, got {described(children)}"
        )
    return list(children)


def paired(caller: str, mapping: Any, more: Mapping[str, Any]) -> dict[Any, Any]:
    """What `dict` makes of them; an exception of the mapping's own methods passes."""
    if hasattr(mapping, "keys"):
        made = dict(mapping, **more)
        # An OrderedDict takes a StopIteration of a key's hash or `==` for its end.
        if issubclass(type(mapping), dict) and len(made) < len(mapping):
            raise RuntimeError(
                f"clika_pytree: {caller} was given {described(mapping)}, which ended before its last key"
            )
        return made
    pairs = list(mapping) if hasattr(mapping, "__iter__") else [mapping]
    if not all(issubclass(type(pair), (tuple, list)) and len(pair) == 2 for pair in pairs):
        raise PyTreeTypeError(f"{caller} expects a mapping, or pairs of a key and a TreeSpec, got {described(mapping)}")
    return dict(pairs, **more)


def grafted(caller: str, tree: Any, none_is_leaf: bool | None, namespace: Namespace = "") -> TreeSpec:
    """The structure of a tree of specs, with each of them at its place."""
    specs, outer = tree_flatten(tree, none_is_leaf=none_is_leaf is not False, namespace=namespace)
    for index, spec in enumerate(specs):
        if not isinstance(spec, TreeSpec):
            path = outer.key_paths()[index]
            error = PyTreeTypeError(
                f"{caller} expects a TreeSpec for each child, got {described(spec)} {place(path)}; "
                "treespec_leaf() is that of a leaf"
            )
            error.path = keystr(path)
            raise error
    if none_is_leaf is None and specs and not specs[0].none_is_leaf:
        return grafted(caller, tree, False, namespace)
    children = iter(specs)
    return outer.transform(None, lambda _: next(children))
