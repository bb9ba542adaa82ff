"""Functions of structures, as optree has them."""

from __future__ import annotations

import clika_pytree
from clika_pytree import TreeSpec
from clika_pytree.typing import TYPE_CHECKING

from .order import as_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    Specs = Iterable[TreeSpec]
    SpecMapping = Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]]


def treespec_paths(treespec: TreeSpec, /) -> list[tuple[Any, ...]]:
    """What leads to each leaf."""
    return treespec.paths()


def treespec_entries(treespec: TreeSpec, /) -> list[Any]:
    """What leads from the root to each child."""
    return treespec.entries()


def treespec_entry(treespec: TreeSpec, index: int, /) -> Any:
    """What leads from the root to one child."""
    return treespec.entries()[index]


def treespec_children(treespec: TreeSpec, /) -> list[TreeSpec]:
    """The structures of the children."""
    return treespec.children()


def treespec_child(treespec: TreeSpec, index: int, /) -> TreeSpec:
    """The structure of one child."""
    return treespec.child(index)


def treespec_one_level(treespec: TreeSpec, /) -> TreeSpec | None:
    """The root with a leaf for each child; None for a leaf."""
    nodes: list[TreeSpec] = []

    def note(node: TreeSpec) -> TreeSpec:
        nodes.append(node)
        return node

    treespec.transform(note)
    return nodes[0] if nodes else None


def treespec_transform(
    treespec: TreeSpec,
    /,
    f_node: Callable[[TreeSpec], TreeSpec] | None = None,
    f_leaf: Callable[[TreeSpec], TreeSpec] | None = None,
) -> TreeSpec:
    """The structure with other containers and leaves."""
    return treespec.transform(f_node, f_leaf)


def treespec_is_leaf(treespec: TreeSpec, /, *, strict: bool = True) -> bool:
    """Whether it is that of a leaf; if not `strict`, of None or of an empty container, too."""
    return treespec.is_leaf() if strict else treespec.num_nodes == 1


def treespec_is_strict_leaf(treespec: TreeSpec, /) -> bool:
    """Whether it is that of a leaf."""
    return treespec.is_leaf()


def treespec_is_one_level(treespec: TreeSpec, /) -> bool:
    """Whether it is that of a container of leaves."""
    return not treespec.is_leaf() and treespec.num_nodes == treespec.num_children + 1 == treespec.num_leaves + 1


def treespec_is_prefix(treespec: TreeSpec, other_treespec: TreeSpec, /, *, strict: bool = False) -> bool:
    """Whether the other one is this one with more below its leaves; if `strict`, below one of them at least."""
    return treespec < other_treespec if strict else treespec.is_prefix(other_treespec)


def treespec_is_suffix(treespec: TreeSpec, other_treespec: TreeSpec, /, *, strict: bool = False) -> bool:
    """The same the other way round."""
    return treespec_is_prefix(other_treespec, treespec, strict=strict)


def treespec_leaf(*, none_is_leaf: bool = False, namespace: str = "") -> TreeSpec:
    """The structure of a leaf."""
    return clika_pytree.treespec_leaf(none_is_leaf=none_is_leaf)


def treespec_none(*, none_is_leaf: bool = False, namespace: str = "") -> TreeSpec:
    """The structure of None."""
    return clika_pytree.treespec_none(none_is_leaf=none_is_leaf)


def treespec_tuple(iterable: Specs = (), /, *, none_is_leaf: bool = False, namespace: str = "") -> TreeSpec:
    """The structure of a tuple."""
    return clika_pytree.treespec_tuple(iterable, none_is_leaf=none_is_leaf)


def treespec_list(iterable: Specs = (), /, *, none_is_leaf: bool = False, namespace: str = "") -> TreeSpec:
    """The structure of a list."""
    return clika_pytree.treespec_list(iterable, none_is_leaf=none_is_leaf)


def treespec_dict(
    mapping: SpecMapping = (), /, *, none_is_leaf: bool = False, namespace: str = "", **kwargs: TreeSpec
) -> TreeSpec:
    """The structure of a dict."""
    return treespec_from_collection(dict(mapping, **kwargs), none_is_leaf=none_is_leaf, namespace=namespace)


def treespec_ordereddict(
    mapping: SpecMapping = (), /, *, none_is_leaf: bool = False, namespace: str = "", **kwargs: TreeSpec
) -> TreeSpec:
    """The structure of an OrderedDict."""
    return clika_pytree.treespec_ordereddict(mapping, none_is_leaf=none_is_leaf, **kwargs)


def treespec_defaultdict(
    default_factory: Callable[[], Any] | None = None,
    mapping: SpecMapping = (),
    /,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
    **kwargs: TreeSpec,
) -> TreeSpec:
    """The structure of a defaultdict."""
    with as_in(namespace):
        return clika_pytree.treespec_defaultdict(default_factory, mapping, none_is_leaf=none_is_leaf, **kwargs)


def treespec_deque(
    iterable: Specs = (), /, maxlen: int | None = None, *, none_is_leaf: bool = False, namespace: str = ""
) -> TreeSpec:
    """The structure of a deque."""
    return clika_pytree.treespec_deque(iterable, maxlen, none_is_leaf=none_is_leaf)


def treespec_namedtuple(namedtuple: Any, /, *, none_is_leaf: bool = False, namespace: str = "") -> TreeSpec:
    """The structure of a namedtuple."""
    return clika_pytree.treespec_namedtuple(namedtuple, none_is_leaf=none_is_leaf, namespace=namespace)


def treespec_from_collection(collection: Any, /, *, none_is_leaf: bool = False, namespace: str = "") -> TreeSpec:
    """The structure of a container that holds structures."""
    with as_in(namespace):
        return clika_pytree.treespec_from_collection(collection, none_is_leaf=none_is_leaf, namespace=namespace)
