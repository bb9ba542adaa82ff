"""Classes told to JAX, and those it has."""

from __future__ import annotations

import sys

from clika_pytree._native import (
    DataclassKey,
    FlattenedIndexKey,
    GetAttrKey,
    MappingKey,
    Registration,
    SequenceKey,
)
from clika_pytree.namedtuples import is_namedtuple_class
from clika_pytree.spec_builder import key_of_entry
from clika_pytree.typing import TYPE_CHECKING

from .parts import entry_of_index, entry_of_name, mark_adopted

if TYPE_CHECKING:
    from typing import Any

    from .parts import Parts

__all__: list[str] = []

title = "JAX"
module = "jax.tree_util"
has_namespaces = False
way_back = "JAX keeps what was registered for good"
# By the class of one of our keys, the name of JAX's.
KEYS: dict[type, str] = {
    SequenceKey: "SequenceKey",
    MappingKey: "DictKey",
    GetAttrKey: "GetAttrKey",
    DataclassKey: "GetAttrKey",
    FlattenedIndexKey: "FlattenedIndexKey",
}


def registry() -> dict[type, Any]:
    """How JAX registers each class. Nothing public lists them."""
    entries: dict[type, Any] = getattr(sys.modules.get("jax._src.tree_util"), "_registry", {})
    return entries


def is_registered(cls: type, namespace: str) -> bool:
    is_node: Any = getattr(sys.modules[module], "is_tree_node", None)
    return cls in registry() or (is_node is not None and not is_namedtuple_class(cls) and is_node(cls))


def refusal(registration: Registration) -> str:
    """Why a class that is not registered there can't be."""
    return ""


def tell(parts: Parts) -> None:
    tree_util: Any = sys.modules[module]
    take, put = parts.take, parts.put
    keys = {ours: getattr(tree_util, theirs) for ours, theirs in KEYS.items()}

    def key_of(entry: Any) -> Any:
        key = key_of_entry(entry)
        return keys[type(key)](getattr(key, key.__match_args__[0]))

    def flatten(obj: Any) -> Any:
        children, context, _ = take(obj)
        return children, context

    def flatten_with_keys(obj: Any) -> Any:
        children, context, entries = take(obj)
        names = map(FlattenedIndexKey, range(len(children))) if entries is None else entries
        return tuple(zip(map(key_of, names), children, strict=True)), context

    def unflatten(context: Any, children: Any) -> Any:
        return put(children, context)

    tree_util.register_pytree_with_keys(parts.cls, flatten_with_keys, unflatten, parts.marked(flatten))


def table() -> dict[Any, Any] | None:
    """The dict that gets an entry when a class is registered, or None where there is none."""
    return registry() or None


def entry_of(cls: type, namespace: str) -> Any:
    """How JAX registers a class, or None."""
    return registry().get(cls)


def adopted(cls: type, namespace: str, entry: Any) -> Registration:
    """The same as a registration here."""
    tree_util: Any = sys.modules[module]
    take_apart: Any = tree_util.default_registry.flatten_one_level_with_keys
    unnamed: Any = tree_util.FlattenedIndexKey

    def entry_from(key: Any) -> Any:
        if isinstance(key, tree_util.SequenceKey):
            return entry_of_index(key.idx)
        if isinstance(key, tree_util.GetAttrKey):
            return entry_of_name(key.name)
        if isinstance(key, tree_util.DictKey):
            return MappingKey(key.key)
        return FlattenedIndexKey(key.key) if isinstance(key, unnamed) else key

    def take(obj: Any) -> Any:
        pairs, context = take_apart(obj)
        pairs = tuple(pairs)
        names: Any = None
        if not all(type(key) is unnamed for key, _ in pairs):
            names = [entry_from(key) for key, _ in pairs]
        return [child for _, child in pairs], context, names

    def put(children: Any, context: Any) -> Any:
        return entry.from_iter(context, children)

    return Registration.function(cls, namespace, mark_adopted(take, title), put)


def class_named(name: str) -> type | None:
    """The class that a name stands for in documents: JAX has no such names."""
    return None
