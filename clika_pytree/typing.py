"""Types for annotations: `PyTree`, and the types in the signatures of this package, such as `KeyPath` and `FlattenFn`.

Nothing of the standard library is loaded here at run time: `import clika_pytree` must stay a matter of milliseconds.
"""

from __future__ import annotations

__all__ = ["PyTree"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar
    from typing import overload as overload

    from .aliases import ContextFn as ContextFn
    from .aliases import Filter as Filter
    from .aliases import FlattenFn as FlattenFn
    from .aliases import FlattenWithKeysFn as FlattenWithKeysFn
    from .aliases import IsLeaf as IsLeaf
    from .aliases import KeyEntry as KeyEntry
    from .aliases import KeyPath as KeyPath
    from .aliases import Library as Library
    from .aliases import Namespace as Namespace
    from .aliases import UnflattenFn as UnflattenFn

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
else:

    def overload(fn):
        return fn

    def __getattr__(name):
        if not name.startswith("_"):  # the import system asks for __path__
            from . import aliases

            if name in aliases.__all__:
                return getattr(aliases, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)

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
