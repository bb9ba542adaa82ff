from collections.abc import Callable, Iterable
from inspect import Signature
from types import TracebackType
from typing import Any, Literal, TypeVar, final, overload

from typing_extensions import Self, disjoint_base

from .typing import ContextFn, Filter, FlattenFn, FlattenWithKeysFn, IsLeaf, KeyPath, Namespace, UnflattenFn

__all__ = [
    "ArrayFacts",
    "CircularTreeError",
    "ContextError",
    "DataclassKey",
    "Dispatcher",
    "FileFormatError",
    "FileWriter",
    "FlattenedIndexKey",
    "GetAttrKey",
    "GuardCache",
    "GuardCall",
    "GuardEntry",
    "GuardError",
    "KeyOrderError",
    "LeafCountError",
    "MappedFile",
    "MappingKey",
    "NodeError",
    "PyTreeError",
    "PyTreeTypeError",
    "PyTreeValueError",
    "Registration",
    "RegistrationError",
    "Replay",
    "SequenceKey",
    "StructureError",
    "TensorFile",
    "TreeIter",
    "TreeSpec",
    "UnregisteredNodeError",
    "__version__",
    "array_facts",
    "build_profile",
    "dict_insertion_ordered",
    "encode_header",
    "forget_runtimes",
    "has_tensors",
    "is_registered",
    "keystr",
    "leaf_names",
    "lookup",
    "register",
    "registered",
    "runtime_of",
    "set_adopted",
    "set_runtime_resolver",
    "tensor_parts",
    "tracked_instances",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_paths",
    "tree_structure",
    "tree_unflatten",
    "treespec_from_state",
    "treespec_state",
    "unregister",
]

_T = TypeVar("_T")
_L = TypeVar("_L")
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
def tree_paths(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[tuple[Any, ...]]: ...
def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]: ...
def tree_leaves_with_path(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[tuple[KeyPath, Any]]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any], Any],
    tree: Any,
    /,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any, Any], Any],
    tree: Any,
    rest: Any,
    /,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any, Any, Any], Any],
    tree: Any,
    rest_1: Any,
    rest_2: Any,
    /,
    *,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map_with_path(
    fn: Callable[..., Any],
    tree: Any,
    rest_1: Any,
    rest_2: Any,
    rest_3: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
def keystr(path: Iterable[Any], *, simple: bool = False, separator: str = "") -> str: ...

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
    fn: Callable[[Any, Any, Any], Any],
    tree: Any,
    rest_1: Any,
    rest_2: Any,
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
    rest_1: Any,
    rest_2: Any,
    rest_3: Any,
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
    fn: Callable[[Any, Any, Any], Any],
    tree: _T,
    rest_1: Any,
    rest_2: Any,
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
    rest_1: Any,
    rest_2: Any,
    rest_3: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> _T: ...
@overload
def tree_map_only(
    filter: type[_L] | tuple[type[_L], ...],
    fn: Callable[[_L], Any],
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map_only(
    filter: Callable[[Any], object],
    fn: Callable[[Any], Any],
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
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
@overload
def tree_map_only_(
    filter: type[_L] | tuple[type[_L], ...],
    fn: Callable[[_L], Any],
    tree: _T,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> _T: ...
@overload
def tree_map_only_(
    filter: Callable[[Any], object],
    fn: Callable[[Any], Any],
    tree: _T,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> _T: ...
@overload
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
        self,
        exc_type: type[BaseException] | None = None,
        exc: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> None: ...

def register(registration: Registration) -> None: ...
def unregister(cls: type, namespace: str = "") -> Registration: ...
def set_adopted(
    resolver: Callable[[type, str], Registration | None] | None, tables: tuple[dict[Any, Any], ...]
) -> None: ...
def lookup(cls: type, namespace: Namespace | None = None) -> Registration | None: ...
def registered(
    cls: type,
    namespace: str,
    data_fields: tuple[str, ...] | None = None,
    meta_fields: tuple[str, ...] | None = None,
) -> Registration: ...
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
    def key_paths(self) -> list[KeyPath]: ...
    def children(self) -> list[TreeSpec]: ...
    def child(self, index: int) -> TreeSpec: ...
    def is_leaf(self) -> bool: ...
    def unflatten(self, leaves: Iterable[Any]) -> Any: ...
    def flatten_up_to(self, tree: Any) -> list[Any]: ...
    def compose(self, inner: TreeSpec) -> TreeSpec: ...
    def is_prefix(self, other: TreeSpec) -> bool: ...
    def is_suffix(self, other: TreeSpec) -> bool: ...
    def broadcast(self, other: TreeSpec) -> TreeSpec: ...
    def transform(
        self,
        f_node: Callable[[TreeSpec], TreeSpec] | None = None,
        f_leaf: Callable[[TreeSpec], TreeSpec] | None = None,
    ) -> TreeSpec: ...
    def walk(
        self,
        leaves: Iterable[Any],
        f_node: Callable[[Any, Any, tuple[Any, ...]], Any] | None = None,
        f_leaf: Callable[[Any], Any] | None = None,
    ) -> Any: ...
    def fingerprint(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None: ...
    def __le__(self, other: TreeSpec, /) -> bool: ...
    def __lt__(self, other: TreeSpec, /) -> bool: ...
    def __ge__(self, other: TreeSpec, /) -> bool: ...
    def __gt__(self, other: TreeSpec, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...
    def __copy__(self) -> TreeSpec: ...
    def __deepcopy__(self, memo: object, /) -> TreeSpec: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def treespec_state(treespec: TreeSpec) -> tuple[Any, ...]: ...
def treespec_from_state(state: tuple[Any, ...], fields: tuple[Any, ...] | None = None) -> TreeSpec: ...

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
    def rebuild(self) -> Literal["fields", "init"] | None: ...
    @property
    def serialized_type_name(self) -> str | None: ...
    @property
    def to_dumpable_context(self) -> ContextFn | None: ...
    @property
    def from_dumpable_context(self) -> ContextFn | None: ...

@final
class SequenceKey:
    __match_args__ = ("idx",)
    def __new__(cls, idx: int) -> SequenceKey: ...
    @property
    def idx(self) -> int: ...
    def get(self, parent: Any) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class MappingKey:
    __match_args__ = ("key",)
    def __new__(cls, key: Any) -> MappingKey: ...
    @property
    def key(self) -> Any: ...
    def get(self, parent: Any) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class GetAttrKey:
    __match_args__ = ("name",)
    def __new__(cls, name: str) -> GetAttrKey: ...
    @property
    def name(self) -> str: ...
    def get(self, parent: Any) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class DataclassKey:
    __match_args__ = ("name",)
    def __new__(cls, name: str) -> DataclassKey: ...
    @property
    def name(self) -> str: ...
    def get(self, parent: Any) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class FlattenedIndexKey:
    __match_args__ = ("key",)
    def __new__(cls, key: int) -> FlattenedIndexKey: ...
    @property
    def key(self) -> int: ...
    def get(self, parent: Any) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def set_runtime_resolver(
    resolver: Callable[[type[Any]], Any], modules: Callable[[type[Any]], Any] | None = None
) -> None: ...
def forget_runtimes() -> None: ...
def runtime_of(obj: Any) -> Any: ...
def tensor_parts(leaf: Any, namespace: Namespace) -> list[str]: ...
def has_tensors(tree: Any, namespace: Namespace) -> bool: ...
def tracked_instances(classes: tuple[type[Any], ...]) -> list[Any]: ...

@final
class TensorFile:
    def __new__(cls, path: str, name: str) -> TensorFile: ...
    @property
    def size(self) -> int: ...
    def entries(self) -> list[tuple[str, str, tuple[int, ...], int, int]]: ...
    def metadata(self) -> dict[str, str]: ...
    def read_into(self, memory: Any, start: int, name: str) -> None: ...
    def map(self, name: str) -> MappedFile: ...

@final
class MappedFile: ...

@final
class FileWriter:
    def __new__(cls, path: str, name: str, size: int) -> FileWriter: ...
    def write(self, parts: list[Any], report: Callable[[int], object] | None = None) -> None: ...
    def commit(self, sync: bool) -> None: ...
    def discard(self) -> None: ...

@final
class ArrayFacts:
    @property
    def are_ready(self) -> bool: ...
    def __getitem__(self, index: int, /) -> tuple[str, tuple[int, ...], bool, int] | None: ...
    def encode(self, names: list[str], metadata: list[tuple[str, str]]) -> tuple[bytes, int]: ...

def array_facts(leaves: list[Any], codes: dict[Any, str]) -> ArrayFacts: ...
def leaf_names(spec: TreeSpec) -> list[str]: ...
def encode_header(entries: list[Any], metadata: list[tuple[str, str]]) -> tuple[bytes, int]: ...

@final
class GuardCache:
    def __new__(
        cls,
        signature: Signature,
        maxsize: int,
        *,
        namespace: Namespace = "",
        dynamic: bool = False,
        name: str = "function",
    ) -> GuardCache: ...
    @property
    def evictions(self) -> int: ...
    def lookup(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]] | None: ...
    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> GuardCall: ...
    def unbind(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]: ...
    def insert(self, call: GuardCall, value: Any, *, guards: Any = None) -> None: ...
    def entries(self) -> list[GuardEntry]: ...
    @overload
    def explain(self, call: GuardCall) -> list[tuple[str, str | None, str | None, str]]: ...
    @overload
    def explain(
        self, call: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> list[tuple[str, str | None, str | None, str]]: ...
    def cache_info(self) -> Any: ...
    @property
    def reads_facts(self) -> bool: ...
    def read_facts(self, keep_entries: bool) -> None: ...
    def clear(self) -> None: ...

@disjoint_base
class Dispatcher:
    def __new__(cls, cache: GuardCache) -> Self: ...
    @property
    def _cache(self) -> GuardCache: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@disjoint_base
class Replay:
    def __new__(
        cls, run: Callable[[list[Any]], Iterable[Any]], spec: TreeSpec, leaves: Iterable[Any], places: Iterable[int]
    ) -> Self: ...
    def __call__(self, tensors: list[Any]) -> Any: ...

@final
class GuardCall:
    @property
    def spec(self) -> TreeSpec: ...
    @property
    def leaves(self) -> list[Any]: ...
    @property
    def tensors(self) -> list[Any]: ...
    @property
    def mask(self) -> tuple[bool, ...]: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def runtimes(self) -> tuple[Any, ...]: ...
    @property
    def modules(self) -> tuple[tuple[int, Any, tuple[str, ...]], ...]: ...

@final
class GuardEntry:
    @property
    def value(self) -> Any: ...
    @property
    def hits(self) -> int: ...
    @property
    def spec(self) -> TreeSpec: ...
    @property
    def statics(self) -> list[Any]: ...
    @property
    def guards(self) -> list[str]: ...

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
class FileFormatError(PyTreeValueError): ...
class GuardError(PyTreeTypeError): ...
class UnregisteredNodeError(GuardError): ...
