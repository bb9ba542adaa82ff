"""The types in the signatures of this package, for annotations: `from clika_pytree.typing import KeyPath`.

Only `typing.py` hands them on, and at run time not before somebody asks: importing this module loads `typing`.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias, TypeVar

from ._native import DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey

__all__ = [
    "ContextFn",
    "Filter",
    "FlattenFn",
    "FlattenWithKeysFn",
    "IsLeaf",
    "KeyEntry",
    "KeyPath",
    "Library",
    "Namespace",
    "UnflattenFn",
]

T = TypeVar("T")

IsLeaf: TypeAlias = Callable[[Any], object] | None
Namespace: TypeAlias = str | tuple[str, ...]
Filter: TypeAlias = Any  # a type, a tuple of types, a union or a predicate: unions have no static type on 3.10
FlattenFn: TypeAlias = Callable[[T], tuple[Iterable[Any], Any] | tuple[Iterable[Any], Any, Iterable[Any]]]
FlattenWithKeysFn: TypeAlias = Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]]
UnflattenFn: TypeAlias = Callable[[Any, Any], T]
ContextFn: TypeAlias = Callable[[Any], Any]
KeyEntry: TypeAlias = SequenceKey | MappingKey | GetAttrKey | DataclassKey | FlattenedIndexKey
KeyPath: TypeAlias = tuple[KeyEntry, ...]
Library: TypeAlias = Literal["torch", "jax", "optree"]  # those that classes can be mirrored in and adopted from
