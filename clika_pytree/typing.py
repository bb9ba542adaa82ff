"""Types for annotations.

Nothing of the standard library is loaded here at run time: `import clika_pytree` must stay a matter of milliseconds.
"""

from __future__ import annotations

__all__ = ["PyTree"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar
    from typing import overload as overload

    from ._native import DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey

    T = TypeVar("T")
    T_co = TypeVar("T_co", covariant=True)

    # Checkers read `list` as invariant, so list[Array] would be no list[PyTree[Array]]. This sees lists and deques
    # covariantly, and leaves out str, which as a Sequence[str] would pass for a tree of anything.
    class ListLike(Protocol[T_co]):
        def __len__(self) -> int: ...
        def __iter__(self) -> Iterator[T_co]: ...
        def __getitem__(self, index: int, /) -> T_co: ...
        def reverse(self) -> None: ...

    # A checker cannot see registrations: dataclasses and classes with the method pair count as nodes.
    class DataclassNode(Protocol):
        __dataclass_fields__: ClassVar[dict[str, Any]]

    class SelfFlattening(Protocol):
        def __tree_flatten__(self) -> Any: ...

    PyTree: TypeAlias = (
        "T | tuple[PyTree[T], ...] | ListLike[PyTree[T]] | Mapping[Any, PyTree[T]] | DataclassNode | SelfFlattening"
    )

    # For the signatures of this package; they do not exist at run time.
    IsLeaf: TypeAlias = Callable[[Any], object] | None
    Namespace: TypeAlias = str | tuple[str, ...]
    Filter: TypeAlias = Any  # a type, a tuple of types, a union or a predicate: unions have no static type on 3.10
    FlattenFn: TypeAlias = Callable[[T], tuple[Iterable[Any], Any] | tuple[Iterable[Any], Any, Iterable[Any]]]
    FlattenWithKeysFn: TypeAlias = Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]]
    UnflattenFn: TypeAlias = Callable[[Any, Any], T]
    ContextFn: TypeAlias = Callable[[Any], Any]
    KeyEntry: TypeAlias = SequenceKey | MappingKey | GetAttrKey | DataclassKey | FlattenedIndexKey
    KeyPath: TypeAlias = tuple[KeyEntry, ...]
else:

    def overload(fn):
        return fn

    class _EveryObject(type):
        # A single leaf is a tree too, so a run-time checker that looks at the bare class finds every object right.
        def __instancecheck__(cls, obj):
            return True

    class PyTree(metaclass=_EveryObject):
        """The type of a tree whose leaves are of one type, for annotations: `PyTree[T]`.

        To a type checker it is `T`, or a list, tuple, namedtuple, deque, dict, dataclass or class with
        `__tree_flatten__`, as deep as one likes. Registrations made by function cannot be seen by a checker: use
        `PyTree[Any]` where such classes occur. At run time it is a class that only carries its argument; nothing is
        checked.

        Example:
            >>> from clika_pytree.typing import PyTree
            >>> def total(tree: PyTree[int]) -> int: ...
            >>> PyTree[int]
            clika_pytree.typing.PyTree[int]
        """

        __class_getitem__ = classmethod(type(list[int]))

        def __new__(cls, *args, **kwargs):
            raise TypeError("PyTree is for annotations and has no instances; any object can be a tree")
