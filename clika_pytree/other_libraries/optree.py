"""Classes told to optree, in the namespace they have here."""

from __future__ import annotations

import sys

from clika_pytree.plain_values import exactly, is_key
from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree._native import Registration

    from .parts import Parts

__all__: list[str] = []

title = "optree"
module = "optree.registry"
has_namespaces = True
way_back = "optree.unregister_pytree_node() takes the registration there back"
# What optree registers its own classes under, which stands for the namespace "" of its look-ups.
GLOBAL = "__GLOBAL_NAMESPACE"


def is_registered(cls: type, namespace: str) -> bool:
    entry = sys.modules[module].register_pytree_node.get(cls, namespace=namespace)
    return entry is not None and entry.type is cls and entry.namespace == namespace


def refusal(registration: Registration) -> str:
    """Why a class that is not registered there can't be."""
    if registration.namespace or module not in sys.modules or hasattr(sys.modules[module], GLOBAL):
        return ""
    return "this optree registers classes in namespaces only; register it in one here, too"


def tell(parts: Parts) -> None:
    registry: Any = sys.modules[module]
    take, put = parts.take, parts.put

    def flatten(obj: Any) -> Any:
        children, context, entries = take(obj)
        return children, context, None if entries is None else tuple(map(plain_entry, entries))

    def unflatten(context: Any, children: Any) -> Any:
        return put(children, context)

    registry.register_pytree_node(
        parts.cls,
        parts.marked(flatten),
        unflatten,
        path_entry_type=entry_class(),
        namespace=parts.registration.namespace or getattr(registry, GLOBAL),
    )


def plain_entry(entry: Any) -> Any:
    """An entry as optree writes it: what a key object of ours is made of."""
    return getattr(entry, entry.__match_args__[0]) if is_key(entry) else entry


def entry_class() -> Any:
    """The class of what leads to a child: an attribute where its entry is a name, else what optree finds itself."""
    accessors: Any = sys.modules["optree.accessors"]

    class Entry(accessors.PyTreeEntry):  # type: ignore[misc]
        def __new__(cls, entry: Any, type: type, kind: Any) -> Any:
            is_name = exactly(entry, str) and entry.isidentifier() and not hasattr(type, "__getitem__")
            made = accessors.GetAttrEntry if is_name else accessors.AutoEntry
            return made(entry, type, kind)

    return Entry
