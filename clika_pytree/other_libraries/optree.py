"""Classes told to optree, and those it has, in the namespace of the same name."""

from __future__ import annotations

import sys

from clika_pytree._native import MappingKey, Registration
from clika_pytree.plain_values import exactly, is_key
from clika_pytree.typing import TYPE_CHECKING

from .parts import mark_adopted

if TYPE_CHECKING:
    from typing import Any

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


def table() -> dict[Any, Any] | None:
    """The dict that gets an entry when a class is registered, or None where there is none."""
    return getattr(sys.modules[module], "_NODETYPE_REGISTRY", None)


def entry_of(cls: type, namespace: str) -> Any:
    """How optree registers a class, or None."""
    registry: Any = sys.modules[module]
    entry = registry.register_pytree_node.get(cls, namespace=namespace)
    return entry if entry is not None and entry.type is cls and entry.namespace == namespace else None


def adopted(cls: type, namespace: str, entry: Any) -> Registration:
    """The same as a registration here."""
    named = naming(cls, entry.path_entry_type)

    def take(obj: Any) -> Any:
        children, context, *rest = entry.flatten_func(obj)
        children = tuple(children)
        return children, context, named(rest[0] if rest else None, len(children))

    def put(children: Any, context: Any) -> Any:
        return entry.unflatten_func(context, children)

    return Registration.function(cls, namespace, mark_adopted(take, title), put)


def naming(cls: type, entry_type: Any) -> Any:
    """What makes entries here of those of a class."""
    accessors: Any = sys.modules["optree.accessors"]
    finds_itself = entry_type is accessors.AutoEntry
    is_sequence = issubclass(entry_type, accessors.SequenceEntry) or (finds_itself and is_a("Sequence", cls))
    is_mapping = issubclass(entry_type, accessors.MappingEntry) or (finds_itself and is_a("Mapping", cls))

    def named(entries: Any, count: int) -> Any:
        if entries is None:
            return range(count) if is_sequence else None
        return [MappingKey(entry) for entry in entries] if is_mapping else entries

    return named


def is_a(name: str, cls: type) -> bool:
    return issubclass(cls, getattr(sys.modules["collections.abc"], name))


def class_named(name: str) -> type | None:
    """The class that a name stands for in documents: optree has no such names."""
    return None
