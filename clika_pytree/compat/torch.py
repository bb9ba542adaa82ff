"""In the place of `torch.utils._pytree`: `import clika_pytree.compat.torch as pytree`.

Beyond what `clika_pytree.pytree` has in common with that module: further trees of `tree_map` may go deeper than the
first and have other kinds of dicts with their keys in another order, `unflatten_fn` gets a list, a field of a
registered dataclass that is None is part of the structure, and mapped functions can be passed by name. PyTorch is not
imported, and knows nothing of what is registered here; classes that it registers itself (`torch.Size`) are leaves.

What differs:
    - Structures compare by exact type and value: `{1: x}` and `{True: x}` are two. They print as `TreeSpec({'a': *})`,
      have no constructor, and keys of dicts are a tuple in their `context`. The `type` of a namedtuple is its class.
      `treespec.flatten_up_to(tree)` wants the kinds of dicts and the order of keys that the structure has.
    - There is no limit of depth, and a tree that contains itself is a ValueError.
    - `treespec_dumps` writes the text of `clika_pytree`, whatever the protocol; `treespec_loads` reads PyTorch's too.
    - Leaves for `tree_unflatten` are not taken from a str, dict or set.
    - StopIteration from a mapped function is raised.
    - Keys of paths are taken for what they are: `key_get` follows children only, and raises a ValueError.
    - Registering a class twice is a ValueError. A name of a serialized type belongs to one class.
    - `time.struct_time` and its like are leaves, so there is no `is_structseq` and its like. Nor are there the tables
      `SUPPORTED_NODES` and `SUPPORTED_SERIALIZED_TYPES`, `ConstantNode`, `EnumEncoder`, aliases for annotations but
      `PyTree`, `Context` and those of keys, deprecated names but `LeafSpec`, and of those with an underscore all but
      `_broadcast_to_and_flatten` and `_deregister_pytree_node`.

docs/pytorch.md goes through that module name by name.

Example:
    >>> import clika_pytree.compat.torch as pytree
    >>> pytree.tree_map(lambda x, y: (x, y), {"a": 1, "b": None}, {"b": [2], "a": 3})
    {'a': (1, 3), 'b': (None, [2])}
"""

from __future__ import annotations

import dataclasses
from typing import Any

import clika_pytree
from clika_pytree import (
    SERIALIZATION_PROTOCOL as DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL,
)
from clika_pytree import (
    GetAttrKey,
    MappingKey,
    PyTree,
    PyTreeTypeError,
    RegistrationError,
    SequenceKey,
    StructureError,
    TreeSpec,
    arg_tree_leaves,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    key_get,
    keystr,
    tree_all,
    tree_all_only,
    tree_any,
    tree_any_only,
    tree_flatten,
    tree_flatten_with_path,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_leaves_with_path,
    tree_structure,
    tree_unflatten,
    treespec_leaf,
    treespec_loads,
)
from clika_pytree._native import lookup
from clika_pytree.compat.reading import flatten_up_to, results_of
from clika_pytree.typing import TYPE_CHECKING, KeyEntry, KeyPath
from clika_pytree.wording import described

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from clika_pytree.typing import ContextFn, IsLeaf

__all__ = [
    "DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL",
    "Context",
    "DumpableContext",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "PyTreeSpec",
    "SequenceKey",
    "TreeSpec",
    "arg_tree_leaves",
    "is_constant_class",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "key_get",
    "keystr",
    "map_only",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dict",
    "treespec_dumps",
    "treespec_leaf",
    "treespec_loads",
    "treespec_pprint",
    "treespec_tuple",
]

PyTreeSpec = TreeSpec
Context: Any = Any
DumpableContext: Any = Any


class OfLeaves(type):
    """What makes a structure of a leaf an instance of `LeafSpec`."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return treespec_leaf()


class LeafSpec(metaclass=OfLeaves):
    """The structure of a leaf: `LeafSpec()`, and `isinstance(spec, LeafSpec)`."""


def columns(tree: Any, rests: tuple[Any, ...], is_leaf: IsLeaf) -> tuple[TreeSpec, list[list[Any]]]:
    """The structure of the first tree, and of each tree what stands at its leaves."""
    leaves, treespec = tree_flatten(tree, is_leaf)
    return treespec, [leaves, *(flatten_up_to(treespec, rest) for rest in rests)]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """A tree of what a function gives for each leaf, and for what stands at its place in the further trees."""
    if not rests:
        return clika_pytree.tree_map(func, tree, is_leaf=is_leaf)
    treespec, parts = columns(tree, rests, is_leaf)
    return treespec.unflatten(results_of(func, treespec, parts))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call a function as `tree_map` does, and return the first tree itself."""
    treespec, parts = columns(tree, rests, is_leaf)
    results_of(func, treespec, parts)
    return tree


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """As `tree_map`; the function gets the key path first."""
    treespec, parts = columns(tree, rests, is_leaf)
    return treespec.unflatten(results_of(func, treespec, [treespec.key_paths(), *parts]))


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """A tree of what a function gives for the leaves of some types, or that another function picks."""
    return clika_pytree.tree_map_only(type_or_types_or_pred, func, tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Call a function as `tree_map_only` does, and return the tree itself."""
    return clika_pytree.tree_map_only_(type_or_types_or_pred, func, tree, is_leaf=is_leaf)


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Make of a function one that leaves everything as it is but instances of some types, or what a function picks."""

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda leaf: tree_map_only(type_or_types_or_pred, func, leaf, is_leaf=lambda _: True)

    return decorate


def broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """A tree that ends earlier, its leaves repeated for a structure; None where it does not fit."""
    places = treespec.unflatten(range(treespec.num_leaves))
    try:
        return treespec.flatten_up_to(clika_pytree.tree_broadcast_prefix(tree, places, is_leaf))
    except StructureError:
        return None


def register_pytree_node(
    cls: type[Any],
    flatten_fn: Callable[[Any], Any],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    flatten_with_keys_fn: Callable[[Any], Any] | None = None,
) -> None:
    """Make the instances of a class nodes; `unflatten_fn(children, context)` gets a list."""
    clika_pytree.register_pytree_node(
        cls,
        flatten_fn,
        lambda children, context: unflatten_fn(list(children), context),
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


def register_dataclass(
    cls: type[Any],
    *,
    field_names: Sequence[str] | None = None,
    drop_field_names: Sequence[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Register a class by the fields that its constructor takes. One that is None belongs to the structure."""
    names = tuple(fields_of(cls, field_names, drop_field_names or ()))

    def flatten(obj: Any) -> tuple[list[Any], tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...]]:
        values = {name: getattr(obj, name) for name in names}
        present = tuple(name for name, value in values.items() if value is not None)
        absent = tuple(name for name, value in values.items() if value is None)
        return [values[name] for name in present], (present, absent), present

    def unflatten(children: tuple[Any, ...], context: Any) -> Any:
        present, absent = context
        return cls(**dict(zip(present, children, strict=True)), **dict.fromkeys(absent))

    clika_pytree.register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name)


def fields_of(cls: type[Any], names: Sequence[str] | None, dropped: Sequence[str]) -> Sequence[str]:
    if not dataclasses.is_dataclass(cls):
        if names is None:
            raise RegistrationError(
                f"register_dataclass() needs field_names for {described(cls)}, which is no dataclass"
            )
        return names
    taken = [field.name for field in dataclasses.fields(cls) if field.init]
    if names is None:
        return taken
    if set(names) != set(taken) - set(dropped):
        raise RegistrationError(
            f"register_dataclass() expects each field that the constructor takes in field_names or drop_field_names, "
            f"{', '.join(taken)}; got {', '.join(names)} and {', '.join(dropped) or 'none'}"
        )
    return names


def register_constant(cls: type[Any]) -> None:
    """Make the instances of a class part of the structure; they need an `==` and a hash of their own."""
    if getattr(cls, "__eq__", None) is object.__eq__ or getattr(cls, "__hash__", None) is None:
        raise PyTreeTypeError(
            f"register_constant() expects a class with an == and a hash of its own, got {described(cls)}"
        )
    clika_pytree.register_static(cls)


def is_constant_class(cls: type[Any]) -> bool:
    """Whether a class was registered with `register_constant`."""
    registration = lookup(cls)
    return registration is not None and registration.kind == "static"


def deregister_pytree_node(cls: type[Any]) -> None:
    """Make the instances of a class leaves again."""
    clika_pytree.unregister_pytree_node(cls)


_broadcast_to_and_flatten = broadcast_to_and_flatten
_deregister_pytree_node = deregister_pytree_node


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple."""
    return clika_pytree.treespec_tuple(iterable)


def treespec_dict(
    mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (), /, **kwargs: TreeSpec
) -> TreeSpec:
    """The structure of a dict."""
    return clika_pytree.treespec_dict(dict(mapping, **kwargs))


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as text; there is one protocol, whatever is asked for."""
    return clika_pytree.treespec_dumps(treespec)


def treespec_pprint(treespec: TreeSpec) -> str:
    """The shape of a structure, as its text has it."""
    return str(treespec).removeprefix("TreeSpec(").removesuffix(")")
