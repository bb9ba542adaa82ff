"""In the place of `jax.tree_util`: `import clika_pytree.compat.jax as tree_util`.

None is a node without children, dicts flatten by sorted key, `unflatten` functions take the context first, further
trees of `tree_map` may go deeper than the first. JAX is not imported, and knows nothing of what is registered here.

What differs:
    - A dict is rebuilt in the order of the dict that was flattened; JAX rebuilds it sorted.
    - A deque is a node; JAX has it as a leaf unless it is registered there.
    - Structures compare by exact type and value: `{1: x}` and `{True: x}` are two. They are `TreeSpec`s, print as such,
      and have their methods. Call `treedef.flatten_up_to(tree)` inside `clika_pytree.dict_insertion_ordered(False)`:
      outside of it the tree's dicts must have their keys in sorted order.
    - Keys that have no common order are sorted by the name of their type first; in JAX they are an error.
    - `DictKey` is `clika_pytree.MappingKey`; a dataclass has `DataclassKey`s, with the `name` of a `GetAttrKey`.
    - What does not fit is a `StructureError`, a ValueError, where `tree_transpose` of JAX raises a TypeError.
    - Registering a class twice is a ValueError here as there, also where it was registered with `clika_pytree` itself:
      registrations made here are those of the whole library.
    - There are no `is_leaf_takes_path`, `default_registry`, `flatten_one_level_with_keys` and `is_tree_node`.

Example:
    >>> import clika_pytree.compat.jax as tree_util
    >>> tree_util.tree_leaves({"b": None, "a": [1, 2]})
    [1, 2]
    >>> tree_util.tree_map(lambda x, y: (x, y), {"b": 1, "a": 2}, {"a": [3], "b": 4})
    {'b': (1, 4), 'a': (2, [3])}
"""

from __future__ import annotations

import dataclasses
from functools import reduce
from operator import methodcaller

import clika_pytree
from clika_pytree import (
    FlattenedIndexKey,
    GetAttrKey,
    Partial,
    SequenceKey,
    TreeSpec,
    dict_insertion_ordered,
    register_static,
)
from clika_pytree import MappingKey as DictKey
from clika_pytree import TreeSpec as PyTreeDef
from clika_pytree._native import flatten_in_order, leaves_in_order, structure_in_order
from clika_pytree.compat.reading import results_of
from clika_pytree.typing import TYPE_CHECKING, KeyEntry, KeyPath

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeVar

    from clika_pytree.typing import IsLeaf

    C = TypeVar("C", bound=type[Any])

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "flatten_one_level",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

MISSING: Any = object()
# One block for all calls, of all threads.
SORTED = dict_insertion_ordered(False)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A key path as text."""
    return clika_pytree.keystr(keys, simple=simple, separator=separator)


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree and its structure."""
    return flatten_in_order(tree, is_leaf, False, "", True)


def tree_unflatten(treedef: TreeSpec, leaves: Iterable[Any]) -> Any:
    """The tree of a structure with these leaves."""
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree."""
    return leaves_in_order(tree, is_leaf, False, "", True)


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return structure_in_order(tree, is_leaf, False, "", True)


def columns(tree: Any, rest: tuple[Any, ...], is_leaf: IsLeaf) -> tuple[TreeSpec, list[list[Any]]]:
    """The structure of the first tree, and of each tree what stands at its leaves."""
    leaves, treedef = tree_flatten(tree, is_leaf)
    if not rest:
        return treedef, [leaves]
    with SORTED:
        return treedef, [leaves, *map(treedef.flatten_up_to, rest)]


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """A tree of what a function gives for each leaf, and for what stands at its place in the further trees."""
    treedef, parts = columns(tree, rest, is_leaf)
    return treedef.unflatten(results_of(f, treedef, parts))


def tree_map_with_path(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """As `tree_map`; the function gets the key path first."""
    treedef, parts = columns(tree, rest, is_leaf)
    return treedef.unflatten(results_of(f, treedef, [treedef.key_paths(), *parts]))


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves of a tree, each with its key path, and the structure."""
    with SORTED:
        return clika_pytree.tree_flatten_with_path(tree, is_leaf, none_is_leaf=False)


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each with its key path."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_reduce(
    function: Callable[[Any, Any], Any], tree: Any, initializer: Any = MISSING, is_leaf: IsLeaf = None
) -> Any:
    """The leaves folded from left to right."""
    leaves = tree_leaves(tree, is_leaf)
    return reduce(function, leaves) if initializer is MISSING else reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any], tree: Any, *, identity: Any = MISSING, is_leaf: IsLeaf = None
) -> Any:
    """The leaves folded in pairs, the results in pairs, and so on."""
    values = tree_leaves(tree, is_leaf)
    if not values:
        if identity is MISSING:
            raise TypeError("tree_reduce_associative() got a tree without leaves, and no identity")
        return identity
    while len(values) > 1:
        odd = values[len(values) & ~1 :]
        values = [*map(operation, values[::2], values[1::2]), *odd]
    return values[0]


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether all leaves are true."""
    return all(tree_leaves(tree, is_leaf))


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """A tree that ends earlier, its leaves repeated to the leaves of the other."""
    with SORTED:
        return clika_pytree.tree_broadcast_prefix(prefix_tree, full_tree, is_leaf, none_is_leaf=False)


def tree_transpose(outer_treedef: TreeSpec, inner_treedef: TreeSpec | None, pytree_to_transpose: Any) -> Any:
    """A tree of trees turned inside out; without an inner structure, it is that of the first tree inside."""
    with SORTED:
        if inner_treedef is None:
            inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
        return clika_pytree.tree_transpose(outer_treedef, inner_treedef, pytree_to_transpose)


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every object of an iterable is a leaf."""
    return clika_pytree.all_leaves(iterable, is_leaf, none_is_leaf=False)


def flatten_one_level(tree: Any) -> tuple[list[Any], Any]:
    """The children of a container, and its context."""
    with SORTED:
        children, treedef = clika_pytree.tree_flatten_one_level(tree, none_is_leaf=False)
    return children, treedef.context


def treedef_children(treedef: TreeSpec) -> list[TreeSpec]:
    """The structures below the root."""
    return treedef.children()


def treedef_is_leaf(treedef: TreeSpec) -> bool:
    """Whether a structure is a single node: a leaf, None, or an empty container."""
    return treedef.num_nodes == 1


def treedef_tuple(treedefs: Iterable[TreeSpec]) -> TreeSpec:
    """The structure of a tuple of trees of these structures."""
    return clika_pytree.treespec_tuple(treedefs, none_is_leaf=False)


def register_pytree_node(
    nodetype: type[Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make the instances of a class nodes; `unflatten_func(context, children)`."""
    clika_pytree.register_pytree_node(
        nodetype,
        flatten_func,
        lambda children, context: unflatten_func(context, children),
        flatten_with_keys_fn=flatten_with_keys_func,
    )


def register_pytree_node_class(cls: C) -> C:
    """Register a class with a method `tree_flatten` and a class method `tree_unflatten(context, children)`."""
    register_pytree_node(cls, methodcaller("tree_flatten"), cls.tree_unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type[Any],
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """As `register_pytree_node`, for a function that gives pairs of a key and a child."""

    def without_keys(node: Any) -> tuple[list[Any], Any]:
        pairs, context = flatten_with_keys(node)
        return [child for _, child in pairs], context

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: C) -> C:
    """Register a class with methods `tree_flatten_with_keys` and `tree_unflatten`, and maybe `tree_flatten`."""
    flatten = methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, methodcaller("tree_flatten_with_keys"), cls.tree_unflatten, flatten)
    return cls


def register_dataclass(
    nodetype: C,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> C:
    """Register a dataclass by its fields, or another class by the names of attributes that its constructor takes.

    As in JAX, an instance is rebuilt by calling the class; fields that the constructor does not take are left to it.
    """
    cls: Any = nodetype
    if not dataclasses.is_dataclass(cls):
        register_by_attributes(nodetype, tuple(data_fields or ()), tuple(meta_fields or ()))
        return nodetype
    fields = dataclasses.fields(cls)
    if data_fields is None and meta_fields is None:
        kept = [field for field in fields if field.init and field.name not in drop_fields]
        data_fields = [field.name for field in kept if not field.metadata.get("static")]
        meta_fields = [field.name for field in kept if field.metadata.get("static")]
    left = [field.name for field in fields if not field.init and field.name not in drop_fields]
    clika_pytree.register_dataclass(
        nodetype, data_fields, meta_fields, drop_fields=[*drop_fields, *left], rebuild="init"
    )
    return nodetype


def register_by_attributes(cls: type[Any], data: tuple[str, ...], meta: tuple[str, ...]) -> None:
    def flatten(node: Any) -> tuple[list[Any], tuple[Any, ...], tuple[str, ...]]:
        return [getattr(node, name) for name in data], tuple(getattr(node, name) for name in meta), data

    def unflatten(children: tuple[Any, ...], context: Any) -> Any:
        return cls(**dict(zip(data, children, strict=True)), **dict(zip(meta, context, strict=True)))

    clika_pytree.register_pytree_node(cls, flatten, unflatten)
