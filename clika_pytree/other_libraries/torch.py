"""Classes told to PyTorch: to `torch.utils._pytree`, which hands them to `torch.utils._cxx_pytree`."""

from __future__ import annotations

import sys

from clika_pytree._native import FlattenedIndexKey, MappingKey, SequenceKey
from clika_pytree.namedtuples import is_namedtuple_class
from clika_pytree.registration import described
from clika_pytree.spec_builder import key_of_entry
from clika_pytree.typing import TYPE_CHECKING

from . import optree

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree._native import Registration

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
    if is_namedtuple_class(registration.cls):
        return "PyTorch makes plain namedtuples of all namedtuple classes, registered or not"
    name = registration.serialized_type_name
    names: dict[Any, Any] = getattr(sys.modules.get(module), "SERIALIZED_TYPE_TO_PYTHON_TYPE", {})
    if name is not None and names.get(name, registration.cls) is not registration.cls:
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
