"""Classes told to JAX."""

from __future__ import annotations

import sys

from clika_pytree._native import DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey
from clika_pytree.namedtuples import is_namedtuple_class
from clika_pytree.spec_builder import key_of_entry
from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree._native import Registration

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
