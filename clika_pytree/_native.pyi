from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Literal, TypeVar, final, overload

from .typing import ContextFn, Filter, FlattenFn, FlattenWithKeysFn, IsLeaf, Namespace, UnflattenFn

__all__ = [
    "CircularTreeError",
    "ContextError",
    "KeyOrderError",
    "LeafCountError",
    "NodeError",
    "PyTreeError",
    "PyTreeTypeError",
    "PyTreeValueError",
    "Registration",
    "RegistrationError",
    "StructureError",
    "TreeIter",
    "TreeSpec",
    "__version__",
    "build_profile",
    "dict_insertion_ordered",
    "is_registered",
    "lookup",
    "register",
    "registered",
    "tree_flatten",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_structure",
    "tree_unflatten",
    "treespec_from_state",
    "unregister",
]

_T = TypeVar("_T")
_Kind = Literal[
    "leaf",
    "none",
    "list",
    "tuple",
    "dict",
    "ordereddict",
    "defaultdict",
    "deque",
    "namedtuple",
    "custom",
    "dataclass",
    "static",
]

__version__: str
build_profile: Literal["release", "debug"]

def tree_flatten(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> tuple[list[Any], TreeSpec]: ...
def tree_leaves(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[Any]: ...
def tree_structure(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> TreeSpec: ...
def tree_iter(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> TreeIter: ...

@final
class TreeIter:
    def __iter__(self) -> TreeIter: ...
    def __next__(self) -> Any: ...

@overload
def tree_unflatten(treespec: TreeSpec, leaves: Iterable[Any]) -> Any: ...
@overload
def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec, /) -> Any: ...
@overload
def tree_map(
    fn: Callable[[Any], Any],
    tree: Any,
    /,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map(
    fn: Callable[[Any, Any], Any],
    tree: Any,
    rest: Any,
    /,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map(
    fn: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map_(
    fn: Callable[[Any], Any],
    tree: _T,
    /,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> _T: ...
@overload
def tree_map_(
    fn: Callable[[Any, Any], Any],
    tree: _T,
    rest: Any,
    /,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> _T: ...
@overload
def tree_map_(
    fn: Callable[..., Any],
    tree: _T,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> _T: ...
def tree_map_only(
    filter: Filter,
    fn: Callable[[Any], Any],
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
def tree_map_only_(
    filter: Filter,
    fn: Callable[[Any], Any],
    tree: _T,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> _T: ...

@final
class dict_insertion_ordered:
    def __new__(cls, mode: bool) -> dict_insertion_ordered: ...
    def __enter__(self) -> dict_insertion_ordered: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

def register(registration: Registration) -> None: ...
def unregister(cls: type, namespace: str = "") -> Registration: ...
def lookup(cls: type, namespace: Namespace | None = None) -> Registration | None: ...
def registered(cls: type, namespace: str) -> Registration: ...
def is_registered(cls: type, namespace: Namespace = "") -> bool: ...

@final
class TreeSpec:
    @property
    def num_leaves(self) -> int: ...
    @property
    def num_nodes(self) -> int: ...
    @property
    def num_children(self) -> int: ...
    @property
    def kind(self) -> _Kind: ...
    @property
    def type(self) -> type[Any] | None: ...
    @property
    def context(self) -> Any: ...
    @property
    def none_is_leaf(self) -> bool: ...
    @property
    def namespace(self) -> Namespace: ...
    def entries(self) -> list[Any]: ...
    def paths(self) -> list[tuple[Any, ...]]: ...
    def children(self) -> list[TreeSpec]: ...
    def child(self, index: int) -> TreeSpec: ...
    def is_leaf(self) -> bool: ...
    def unflatten(self, leaves: Iterable[Any]) -> Any: ...
    def flatten_up_to(self, tree: Any) -> list[Any]: ...
    def compose(self, inner: TreeSpec) -> TreeSpec: ...
    def is_prefix(self, other: TreeSpec) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...
    def __copy__(self) -> TreeSpec: ...
    def __deepcopy__(self, memo: object, /) -> TreeSpec: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def treespec_from_state(state: tuple[Any, ...]) -> TreeSpec: ...

@final
class Registration:
    @staticmethod
    def function(
        cls: type[_T],  # pyright: ignore[reportSelfClsParameterName]
        namespace: str,
        flatten_fn: FlattenFn[_T],
        unflatten_fn: UnflattenFn[_T],
        flatten_with_keys_fn: FlattenWithKeysFn[_T] | None = None,
        serialized_type_name: str | None = None,
        to_dumpable_context: ContextFn | None = None,
        from_dumpable_context: ContextFn | None = None,
    ) -> Registration: ...
    @staticmethod
    def dataclass(
        cls: type,  # pyright: ignore[reportSelfClsParameterName]
        namespace: str,
        data_fields: tuple[str, ...],
        meta_fields: tuple[str, ...],
        defaults: tuple[tuple[str, object, bool], ...],
        init: bool,
        serialized_type_name: str | None = None,
        to_dumpable_context: ContextFn | None = None,
        from_dumpable_context: ContextFn | None = None,
    ) -> Registration: ...
    @staticmethod
    def static(
        cls: type,  # pyright: ignore[reportSelfClsParameterName]
        namespace: str,
        serialized_type_name: str | None = None,
        to_dumpable_context: ContextFn | None = None,
        from_dumpable_context: ContextFn | None = None,
    ) -> Registration: ...
    @property
    def cls(self) -> type: ...
    @property
    def namespace(self) -> str: ...
    @property
    def kind(self) -> Literal["custom", "dataclass", "static"]: ...
    @property
    def flatten_fn(self) -> Callable[..., Any] | None: ...
    @property
    def unflatten_fn(self) -> Callable[..., Any] | None: ...
    @property
    def flatten_with_keys_fn(self) -> Callable[..., Any] | None: ...
    @property
    def data_fields(self) -> tuple[str, ...]: ...
    @property
    def meta_fields(self) -> tuple[str, ...]: ...
    @property
    def serialized_type_name(self) -> str | None: ...
    @property
    def to_dumpable_context(self) -> ContextFn | None: ...
    @property
    def from_dumpable_context(self) -> ContextFn | None: ...

class PyTreeError(Exception):
    path: str | None

class PyTreeValueError(PyTreeError, ValueError): ...
class PyTreeTypeError(PyTreeError, TypeError): ...
class StructureError(PyTreeValueError): ...
class LeafCountError(StructureError): ...
class CircularTreeError(PyTreeValueError): ...
class KeyOrderError(PyTreeValueError): ...
class RegistrationError(PyTreeValueError): ...
class NodeError(PyTreeTypeError): ...
class ContextError(PyTreeTypeError): ...
