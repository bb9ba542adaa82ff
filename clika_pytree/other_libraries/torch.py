"""Classes told to PyTorch, and those it has, in `torch.utils._pytree`. That hands them to `torch.utils._cxx_pytree`."""

from __future__ import annotations

import sys

from clika_pytree._native import FlattenedIndexKey, MappingKey, Registration, SequenceKey
from clika_pytree.namedtuples import is_namedtuple_class
from clika_pytree.plain_values import exactly
from clika_pytree.spec_builder import key_of_entry
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

from . import optree
from .parts import entry_of_index, entry_of_name, mark_adopted

if TYPE_CHECKING:
    from typing import Any

    from .parts import Parts

__all__: list[str] = []

title = "PyTorch"
module = "torch.utils._pytree"
has_namespaces = False
way_back = "PyTorch has no public way to take a registration back"


def is_registered(cls: type, namespace: str) -> bool:
    if cls in sys.modules[module].SUPPORTED_NODES:
        return True
    # Where its second implementation is in use, PyTorch would find the class there when it has half registered it.
    return "torch.utils._cxx_pytree" in sys.modules and optree.is_registered(cls, "torch")


def refusal(registration: Registration) -> str:
    """Why a class that is not registered there can't be."""
    cls: Any = registration.cls
    if is_namedtuple_class(cls):
        return "PyTorch makes plain namedtuples of all namedtuple classes, registered or not"
    name = registration.serialized_type_name
    names: dict[Any, Any] = getattr(sys.modules.get(module), "SERIALIZED_TYPE_TO_PYTHON_TYPE", {})
    if name is not None and names.get(name, cls) is not cls:
        return f"another class has the serialized_type_name {described(name)} there; choose another"
    return ""


def tell(parts: Parts) -> None:
    pytree: Any = sys.modules[module]
    take, registration = parts.take, parts.registration
    to_dumpable, from_dumpable = registration.to_dumpable_context, registration.from_dumpable_context
    if registration.kind == "dataclass" and to_dumpable is None:
        to_dumpable, from_dumpable = list, tuple

    def key_of(entry: Any) -> Any:
        key = key_of_entry(entry)
        value = getattr(key, key.__match_args__[0])
        if isinstance(key, (SequenceKey, FlattenedIndexKey)):
            return pytree.SequenceKey(value)
        return (pytree.MappingKey if isinstance(key, MappingKey) else pytree.GetAttrKey)(value)

    def flatten(obj: Any) -> Any:
        children, context, _ = take(obj)
        return children, context

    def flatten_with_keys(obj: Any) -> Any:
        children, context, entries = take(obj)
        names = map(FlattenedIndexKey, range(len(children))) if entries is None else entries
        return list(zip(map(key_of, names), children, strict=True)), context

    pytree.register_pytree_node(
        parts.cls,
        parts.marked(flatten),
        parts.put,
        serialized_type_name=registration.serialized_type_name,
        to_dumpable_context=to_dumpable,
        from_dumpable_context=from_dumpable,
        flatten_with_keys_fn=flatten_with_keys,
    )


def table() -> dict[Any, Any] | None:
    """The dict that gets an entry when a class is registered."""
    entries: dict[Any, Any] = sys.modules[module].SUPPORTED_NODES
    return entries


def entry_of(cls: type, namespace: str) -> Any:
    """How PyTorch registers a class, or None."""
    return sys.modules[module].SUPPORTED_NODES.get(cls)


def adopted(cls: type, namespace: str, entry: Any) -> Registration:
    """The same as a registration here, with its name in documents."""
    pytree: Any = sys.modules[module]
    named = pytree.SUPPORTED_SERIALIZED_TYPES.get(cls)
    name, to_dumpable, from_dumpable = None, None, None
    if named is not None and named.serialized_type_name != pytree.NO_SERIALIZED_TYPE_NAME_FOUND:
        name, to_dumpable, from_dumpable = named[1:]
    flatten, unflatten, with_keys = entry.flatten_fn, entry.unflatten_fn, entry.flatten_with_keys_fn

    def entry_from(key: Any) -> Any:
        if isinstance(key, pytree.SequenceKey):
            return entry_of_index(key.idx)
        if isinstance(key, pytree.GetAttrKey):
            return entry_of_name(key.name)
        return MappingKey(key.key) if isinstance(key, pytree.MappingKey) else key

    def take(obj: Any) -> Any:
        children, context = flatten(obj)
        children = tuple(children)
        return children, context, names_in(context, len(children))

    def take_with_keys(obj: Any) -> Any:
        # PyTorch takes no notice of this function's context, which may be another one.
        children, context = flatten(obj)
        names = [entry_from(key) for key, _ in with_keys(obj)[0]]
        return children, context, names

    def put(children: Any, context: Any) -> Any:
        return unflatten(list(children), context)

    taking = mark_adopted(take if with_keys is None else take_with_keys, title)
    return Registration.function(cls, namespace, taking, put, None, name, to_dumpable, from_dumpable)


def names_in(context: Any, count: int) -> Any:
    """What children are called that have no keys: a context that is one str for each, as a dict would have it."""
    if exactly(context, list, tuple) and len(context) == count and all(exactly(name, str) for name in context):
        return [MappingKey(name) for name in context]
    return None


def class_named(name: str) -> type | None:
    """The class that a name stands for in documents."""
    found: type | None = sys.modules[module].SERIALIZED_TYPE_TO_PYTHON_TYPE.get(name)
    return found
