from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from inspect import Signature
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, final, overload

from typing_extensions import Self, disjoint_base

from .shapes import Leaf, LeafDict, LeafList, Nest, Unseen
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
    "flatten_in_order",
    "forget_runtimes",
    "has_tensors",
    "is_registered",
    "keystr",
    "leaf_names",
    "leaves_in_order",
    "lookup",
    "register",
    "registered",
    "runtime_of",
    "set_adopted",
    "set_runtime_resolver",
    "structure_in_order",
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
_K = TypeVar("_K")
_V = TypeVar("_V")
_V2 = TypeVar("_V2")
_V3 = TypeVar("_V3")
_R = TypeVar("_R")
_T_co = TypeVar("_T_co", covariant=True)
_Leaf = TypeVar("_Leaf", bound=Leaf)
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

@overload
def tree_flatten(
    tree: Nest[Unseen], is_leaf: None = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> tuple[list[Any], TreeSpec]:
    """The leaves and the structure of a tree: `(list of leaves, TreeSpec)`.

    Leaves come depth first, from left to right. Lists, tuples, dicts, `OrderedDicts`, defaultdicts, deques, namedtuples and
    instances of registered classes are nodes, by exact type; all else is a leaf, None too.

    Args:
        tree: any object.
        `is_leaf`: asked of every object before it is opened; a truthy answer makes it a leaf.
        `none_is_leaf`: False makes None a node without children.
        namespace: a name, or a tuple of names searched in order, whose registrations count before the global ones.

    Raises `CircularTreeError` for a tree that contains itself, `NodeError` or `StructureError` for what a flatten
    function should not return. Exceptions of user code pass, with a note that names the path.

    >>> import clika_pytree as crt
    >>> crt.tree_flatten({"a": [1, (2, None)], "b": 3})
    ([1, 2, None, 3], TreeSpec({'a': [*, (*, *)], 'b': *}))
    """

@overload
def tree_flatten(
    tree: Nest[_Leaf], is_leaf: None = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> tuple[list[_Leaf], TreeSpec]: ...
@overload
def tree_flatten(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> tuple[list[Any], TreeSpec]: ...
@overload
def tree_leaves(
    tree: Nest[Unseen], is_leaf: None = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[Any]:
    """The leaves of a tree, as a list. Arguments and exceptions are those of `tree_flatten`.

    >>> import clika_pytree as crt
    >>> crt.tree_leaves({"a": [1, (2, None)], "b": 3})
    [1, 2, None, 3]
    """

@overload
def tree_leaves(
    tree: Nest[_Leaf], is_leaf: None = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[_Leaf]: ...
@overload
def tree_leaves(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[Any]: ...
def tree_structure(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> TreeSpec:
    """The structure of a tree. Arguments and exceptions are those of `tree_flatten`.

    >>> import clika_pytree as crt
    >>> crt.tree_structure({"a": [1, (2, None)], "b": 3})
    TreeSpec({'a': [*, (*, *)], 'b': *})
    """

@overload
def tree_iter(
    tree: Nest[Unseen], is_leaf: None = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> TreeIter[Any]:
    """An iterator over the leaves of a tree, which is walked as far as it is asked for.

    Arguments and exceptions are those of `tree_flatten`; a `StopIteration` of user code becomes a `RuntimeError`.

    >>> import clika_pytree as crt
    >>> next(crt.tree_iter({"a": [1, 2]}))
    1
    """

@overload
def tree_iter(
    tree: Nest[_Leaf], is_leaf: None = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> TreeIter[_Leaf]: ...
@overload
def tree_iter(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> TreeIter[Any]: ...
def tree_paths(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[tuple[Any, ...]]:
    """The path of every leaf of a tree as a tuple of entries: indices, keys and names as they are.

    Arguments and exceptions are those of `tree_flatten`.

    >>> import clika_pytree as crt
    >>> crt.tree_paths({"a": [1, 2], "b": 3})
    [('a', 0), ('a', 1), ('b',)]
    """

@overload
def tree_flatten_with_path(
    tree: Nest[Unseen], is_leaf: None = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves, each with its key path, and the structure of a tree: `([(path, leaf), ...], TreeSpec)`.

    A path is a tuple of keys; `keystr` writes it as the expression that reaches the leaf.

    Arguments and exceptions are those of `tree_flatten`.

    >>> import clika_pytree as crt
    >>> pairs, spec = crt.tree_flatten_with_path({"a": [1, 2]})
    >>> [(crt.keystr(path), leaf) for path, leaf in pairs]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """

@overload
def tree_flatten_with_path(
    tree: Nest[_Leaf], is_leaf: None = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> tuple[list[tuple[KeyPath, _Leaf]], TreeSpec]: ...
@overload
def tree_flatten_with_path(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]: ...
@overload
def tree_leaves_with_path(
    tree: Nest[Unseen], is_leaf: None = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each with its key path: `[(path, leaf), ...]`.

    Arguments and exceptions are those of `tree_flatten`.

    >>> import clika_pytree as crt
    >>> crt.tree_leaves_with_path([7])
    [((SequenceKey(idx=0),), 7)]
    """

@overload
def tree_leaves_with_path(
    tree: Nest[_Leaf], is_leaf: None = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[tuple[KeyPath, _Leaf]]: ...
@overload
def tree_leaves_with_path(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[tuple[KeyPath, Any]]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any], Any],
    tree: Unseen | OrderedDict[Any, Any] | defaultdict[Any, Any],
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    """A tree with `fn(path, leaf)` in the place of every leaf.

    Arguments and exceptions are those of `tree_map`.

    >>> import clika_pytree as crt
    >>> crt.tree_map_with_path(lambda path, x: f"{crt.keystr(path)} is {x}", {"a": [1, 2]})
    {'a': ["['a'][0] is 1", "['a'][1] is 2"]}
    """

@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any], Any],
    tree: dict[_K, Unseen],
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> dict[_K, Any]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any], Any], tree: list[Unseen], /, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[Any]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, _V], _R], tree: LeafDict[_K, Leaf, _V], /, *, namespace: Namespace = ""
) -> dict[_K, _R]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, _V], _R], tree: LeafList[Leaf, _V], /, *, namespace: Namespace = ""
) -> list[_R]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any], Any], tree: dict[_K, _V], /, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> dict[_K, Any]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any], Any], tree: list[_V], /, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[Any]: ...
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
    tree: Unseen | OrderedDict[Any, Any] | defaultdict[Any, Any],
    rest: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any, Any], Any],
    tree: dict[_K, Unseen],
    rest: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> dict[_K, Any]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any, Any], Any],
    tree: list[Unseen],
    rest: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> list[Any]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, _V, _V2], _R],
    tree: LeafDict[_K, Leaf, _V],
    rest: LeafDict[Any, Leaf, _V2],
    /,
    *,
    namespace: Namespace = "",
) -> dict[_K, _R]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, _V, _V2], _R],
    tree: LeafList[Leaf, _V],
    rest: LeafList[Leaf, _V2],
    /,
    *,
    namespace: Namespace = "",
) -> list[_R]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any, Any], Any],
    tree: dict[_K, _V],
    rest: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> dict[_K, Any]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any, Any], Any],
    tree: list[_V],
    rest: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> list[Any]: ...
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
    tree: Unseen | OrderedDict[Any, Any] | defaultdict[Any, Any],
    rest_1: Any,
    rest_2: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any, Any, Any], Any],
    tree: dict[_K, Unseen],
    rest_1: Any,
    rest_2: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> dict[_K, Any]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any, Any, Any], Any],
    tree: list[Unseen],
    rest_1: Any,
    rest_2: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> list[Any]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, _V, _V2, _V3], _R],
    tree: LeafDict[_K, Leaf, _V],
    rest_1: LeafDict[Any, Leaf, _V2],
    rest_2: LeafDict[Any, Leaf, _V3],
    /,
    *,
    namespace: Namespace = "",
) -> dict[_K, _R]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, _V, _V2, _V3], _R],
    tree: LeafList[Leaf, _V],
    rest_1: LeafList[Leaf, _V2],
    rest_2: LeafList[Leaf, _V3],
    /,
    *,
    namespace: Namespace = "",
) -> list[_R]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any, Any, Any], Any],
    tree: dict[_K, _V],
    rest_1: Any,
    rest_2: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> dict[_K, Any]: ...
@overload
def tree_map_with_path(
    fn: Callable[[KeyPath, Any, Any, Any], Any],
    tree: list[_V],
    rest_1: Any,
    rest_2: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> list[Any]: ...
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
def keystr(path: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """A key path as text: the expression that reaches the leaf, or with `simple` only what the keys hold.

    Args:
        path: an iterable of keys.
        simple: write `a`, `0`, `x` instead of `['a']`, `[0]`, `.x`. Such text does not lead back to one path.
        separator: what stands between two keys.

    Keys that are no plain values (None, bool, numbers, str, bytes, tuples of those) are written as `[<Type repr>]`.

    >>> import clika_pytree as crt
    >>> path = (crt.MappingKey("a"), crt.SequenceKey(0), crt.GetAttrKey("x"))
    >>> crt.keystr(path), crt.keystr(path, simple=True, separator="/")
    ("['a'][0].x", 'a/0/x')
    """

@final
class TreeIter(Generic[_T_co]):
    def __iter__(self) -> Self: ...
    def __next__(self) -> _T_co: ...
    def note(self, raised: BaseException, who: str) -> None:
        """Notes on an exception who raised it at the leaf that came last.

        Where the walk itself has failed or is done, that is the walk's to say.
        """

@overload
def tree_unflatten(treespec: TreeSpec, leaves: Iterable[Any]) -> Any:
    """The tree of a structure with these leaves. Either order of the two arguments is taken.

    Args:
        treespec: a TreeSpec.
        leaves: an iterable of as many leaves as it has; not a str, bytes, dict or set.

    Raises `LeafCountError` for another number of leaves, `TypeError` where not exactly one argument is a TreeSpec.

    >>> import clika_pytree as crt
    >>> leaves, spec = crt.tree_flatten({"a": [1, 2]})
    >>> crt.tree_unflatten(spec, [10, 20])
    {'a': [10, 20]}
    """

@overload
def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec, /) -> Any: ...
@overload
def tree_map(
    fn: Callable[[Any], Any],
    tree: Unseen | OrderedDict[Any, Any] | defaultdict[Any, Any],
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    """A tree with `fn(leaf)` in the place of every leaf.

    Args:
        fn: called with a leaf of `tree` and the leaves of the further trees in the same place.
        tree: any object.
        *rests: trees of the same structure. Where `tree` has a leaf they must have one too, except where `is_leaf` stopped
            at a container: there anything may stand.
        `is_leaf`, `none_is_leaf`, namespace: as for `tree_flatten`.

    Raises `StructureError` naming the first path at which a further tree differs. An exception of `fn` passes, with a note
    that names the path.

    >>> import clika_pytree as crt
    >>> crt.tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """

@overload
def tree_map(
    fn: Callable[[Any], Any], tree: dict[_K, Unseen], /, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> dict[_K, Any]: ...
@overload
def tree_map(
    fn: Callable[[Any], Any], tree: list[Unseen], /, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[Any]: ...
@overload
def tree_map(fn: Callable[[_V], _R], tree: LeafDict[_K, Leaf, _V], /, *, namespace: Namespace = "") -> dict[_K, _R]: ...
@overload
def tree_map(fn: Callable[[_V], _R], tree: LeafList[Leaf, _V], /, *, namespace: Namespace = "") -> list[_R]: ...
@overload
def tree_map(
    fn: Callable[[Any], Any], tree: dict[_K, _V], /, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> dict[_K, Any]: ...
@overload
def tree_map(
    fn: Callable[[Any], Any], tree: list[_V], /, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[Any]: ...
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
    tree: Unseen | OrderedDict[Any, Any] | defaultdict[Any, Any],
    rest: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map(
    fn: Callable[[Any, Any], Any],
    tree: dict[_K, Unseen],
    rest: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> dict[_K, Any]: ...
@overload
def tree_map(
    fn: Callable[[Any, Any], Any],
    tree: list[Unseen],
    rest: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> list[Any]: ...
@overload
def tree_map(
    fn: Callable[[_V, _V2], _R],
    tree: LeafDict[_K, Leaf, _V],
    rest: LeafDict[Any, Leaf, _V2],
    /,
    *,
    namespace: Namespace = "",
) -> dict[_K, _R]: ...
@overload
def tree_map(
    fn: Callable[[_V, _V2], _R], tree: LeafList[Leaf, _V], rest: LeafList[Leaf, _V2], /, *, namespace: Namespace = ""
) -> list[_R]: ...
@overload
def tree_map(
    fn: Callable[[Any, Any], Any],
    tree: dict[_K, _V],
    rest: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> dict[_K, Any]: ...
@overload
def tree_map(
    fn: Callable[[Any, Any], Any], tree: list[_V], rest: Any, /, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[Any]: ...
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
    tree: Unseen | OrderedDict[Any, Any] | defaultdict[Any, Any],
    rest_1: Any,
    rest_2: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map(
    fn: Callable[[Any, Any, Any], Any],
    tree: dict[_K, Unseen],
    rest_1: Any,
    rest_2: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> dict[_K, Any]: ...
@overload
def tree_map(
    fn: Callable[[Any, Any, Any], Any],
    tree: list[Unseen],
    rest_1: Any,
    rest_2: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> list[Any]: ...
@overload
def tree_map(
    fn: Callable[[_V, _V2, _V3], _R],
    tree: LeafDict[_K, Leaf, _V],
    rest_1: LeafDict[Any, Leaf, _V2],
    rest_2: LeafDict[Any, Leaf, _V3],
    /,
    *,
    namespace: Namespace = "",
) -> dict[_K, _R]: ...
@overload
def tree_map(
    fn: Callable[[_V, _V2, _V3], _R],
    tree: LeafList[Leaf, _V],
    rest_1: LeafList[Leaf, _V2],
    rest_2: LeafList[Leaf, _V3],
    /,
    *,
    namespace: Namespace = "",
) -> list[_R]: ...
@overload
def tree_map(
    fn: Callable[[Any, Any, Any], Any],
    tree: dict[_K, _V],
    rest_1: Any,
    rest_2: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> dict[_K, Any]: ...
@overload
def tree_map(
    fn: Callable[[Any, Any, Any], Any],
    tree: list[_V],
    rest_1: Any,
    rest_2: Any,
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> list[Any]: ...
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
) -> _T:
    """Calls `fn` on every leaf for its effect and returns the very tree it was given. Arguments are those of `tree_map`.

    >>> import clika_pytree as crt
    >>> seen = []
    >>> crt.tree_map_(seen.append, {"a": 1, "b": [2]})
    {'a': 1, 'b': [2]}
    >>> seen
    [1, 2]
    """

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
    tree: Unseen | OrderedDict[Any, Any] | defaultdict[Any, Any],
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    """A tree with `fn(leaf)` in the place of those leaves that the filter takes; the others stay.

    Args:
        filter: a class, a tuple of classes, a union (`int | float`, `Optional[int]`), or a predicate of a leaf.
        fn: called with each leaf that the filter takes.
        tree, `is_leaf`, `none_is_leaf`, namespace: as for `tree_map`.

    Raises `TypeError` for a filter that is none of these.

    >>> import clika_pytree as crt
    >>> crt.tree_map_only(int, lambda x: x + 1, {"a": 1, "b": "text", "c": [2, None, 2.5]})
    {'a': 2, 'b': 'text', 'c': [3, None, 2.5]}
    """

@overload
def tree_map_only(
    filter: type[_L] | tuple[type[_L], ...],
    fn: Callable[[_L], Any],
    tree: dict[_K, _V],
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> dict[_K, Any]: ...
@overload
def tree_map_only(
    filter: type[_L] | tuple[type[_L], ...],
    fn: Callable[[_L], Any],
    tree: list[_V],
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> list[Any]: ...
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
    tree: Unseen | OrderedDict[Any, Any] | defaultdict[Any, Any],
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map_only(
    filter: Callable[[Any], object],
    fn: Callable[[Any], Any],
    tree: dict[_K, _V],
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> dict[_K, Any]: ...
@overload
def tree_map_only(
    filter: Callable[[Any], object],
    fn: Callable[[Any], Any],
    tree: list[_V],
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> list[Any]: ...
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
    tree: Unseen | OrderedDict[Any, Any] | defaultdict[Any, Any],
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any: ...
@overload
def tree_map_only(
    filter: Filter,
    fn: Callable[[Any], Any],
    tree: dict[_K, _V],
    /,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> dict[_K, Any]: ...
@overload
def tree_map_only(
    filter: Filter, fn: Callable[[Any], Any], tree: list[_V], /, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[Any]: ...
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
) -> _T:
    """Calls `fn` on those leaves that the filter takes and returns the very tree it was given.

    Arguments are those of `tree_map_only`.

    >>> import clika_pytree as crt
    >>> seen = []
    >>> _ = crt.tree_map_only_(str, seen.append, {"a": 1, "b": "text"})
    >>> seen
    ['text']
    """

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
    """A block in which the order of plain dicts and defaultdicts is, or is not, part of the structure.

    Inside `with dict_insertion_ordered(False):` they are flattened by sorted key, so that two dicts with the same keys
    have one structure; a dict is still rebuilt in the order it had. The innermost open block of the thread or async
    task counts. Keys that can't be compared with each other are sorted by the name of their class first; Enum members
    by their definition. An `OrderedDict` keeps its order always.

    Inside such a block, flattening raises `KeyOrderError` where keys of one class have no order, as NaN and sets do not.

    >>> import clika_pytree as crt
    >>> with crt.dict_insertion_ordered(False):
    ...     crt.tree_leaves({"b": 1, "a": 2})
    [2, 1]
    """

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
def is_registered(cls: type, namespace: Namespace = "") -> bool:
    """Whether instances of a class are nodes because it is a built-in container or registered.

    `namespace` is a name or a tuple of names, searched in order; the global registrations come last. A namedtuple class
    is a node without being registered, so it counts only where it is.

    Raises `TypeError` if `cls` is not a class.

    >>> import clika_pytree as crt
    >>> crt.is_registered(dict), crt.is_registered(set)
    (True, False)
    """

@final
class TreeSpec:
    """The structure of a tree: an immutable value, equal and hashed by structure.

    Made by `tree_flatten`, `tree_structure` and the operations on specs. Two specs are equal where kinds, arities,
    classes, keys (in their order) and contexts are, by exact type and value.

    >>> import clika_pytree as crt
    >>> spec = crt.tree_structure({"a": [1, 2], "b": None})
    >>> spec, spec.num_leaves, spec.num_nodes
    (TreeSpec({'a': [*, *], 'b': *}), 3, 5)
    >>> spec == crt.tree_structure({"a": ["x", "y"], "b": 0})
    True
    """

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
    @property
    def num_nodes(self) -> int:
        """The number of nodes, containers and leaves alike."""
    @property
    def num_children(self) -> int:
        """The number of children of the root."""
    @property
    def kind(self) -> _Kind:
        """What the root is: 'leaf', 'none', 'list', 'tuple', 'dict', 'ordereddict', 'defaultdict', 'deque', 'namedtuple',
        'custom', 'dataclass' or 'static'.
        """
    @property
    def type(self) -> type[Any] | None:
        """The class of the root; None for a leaf."""
    @property
    def context(self) -> Any:
        """What the root carries besides its children: the keys of a dict or OrderedDict as a tuple, `(factory, keys)` of a
        defaultdict, `maxlen` of a deque, the meta values of a dataclass, a static object, what a flatten function gave;
        else None. Lists, dicts and sets come as copies.
        """
    @property
    def none_is_leaf(self) -> bool:
        """Whether None is a leaf in it."""
    @property
    def namespace(self) -> Namespace:
        """The namespace whose registrations its nodes used: `''`, a name, or a tuple of names."""
    def entries(self) -> list[Any]:
        """The entries of the root's children: indices, keys, field names, or what a flatten function called them.

        >>> import clika_pytree as crt
        >>> crt.tree_structure({"a": 1, "b": 2}).entries()
        ['a', 'b']
        """
    def paths(self) -> list[tuple[Any, ...]]:
        """The path of every leaf as a tuple of entries, in the order of the leaves.

        >>> import clika_pytree as crt
        >>> crt.tree_structure({"a": [1, 2], "b": 3}).paths()
        [('a', 0), ('a', 1), ('b',)]
        """
    def key_paths(self) -> list[KeyPath]:
        """The path of every leaf as a tuple of keys, in the order of the leaves; `keystr` writes one as text.

        >>> import clika_pytree as crt
        >>> [crt.keystr(path) for path in crt.tree_structure({"a": [1, 2], "b": 3}).key_paths()]
        ["['a'][0]", "['a'][1]", "['b']"]
        """
    def children(self) -> list[TreeSpec]:
        """The structures of the root's children.

        >>> import clika_pytree as crt
        >>> crt.tree_structure([1, (2, 3)]).children()
        [TreeSpec(*), TreeSpec((*, *))]
        """
    def child(self, index: int) -> TreeSpec:
        """The structure of one child; a negative index counts from the end.

        Raises `IndexError` where there is no such child.

        >>> import clika_pytree as crt
        >>> crt.tree_structure([1, (2, 3)]).child(-1)
        TreeSpec((*, *))
        """
    def is_leaf(self) -> bool:
        """Whether it is the structure of a single leaf.

        >>> import clika_pytree as crt
        >>> crt.tree_structure(1).is_leaf(), crt.tree_structure(()).is_leaf()
        (True, False)
        """
    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves, any iterable of them but a str, bytes, dict or set.

        Raises `LeafCountError` for another number of leaves.

        >>> import clika_pytree as crt
        >>> crt.tree_structure({"a": [1, 2]}).unflatten([10, 20])
        {'a': [10, 20]}
        """
    def flatten_up_to(self, tree: Any) -> list[Any]:
        """What a tree has in the places of this structure's leaves, as a list.

        The tree must have the same classes, keys in the same order, and contexts, down to the leaves of this structure;
        below them it may have anything. Raises `StructureError` naming the first path at which it differs.

        >>> import clika_pytree as crt
        >>> crt.tree_structure([1, (2, 3)]).flatten_up_to([10, (20, {"x": 30})])
        [10, 20, {'x': 30}]
        """
    def compose(self, inner: TreeSpec) -> TreeSpec:
        """This structure with another one in the place of every leaf.

        Raises `StructureError` for a spec made with the other `none_is_leaf`.

        >>> import clika_pytree as crt
        >>> crt.tree_structure([1, 2]).compose(crt.tree_structure((1, 2)))
        TreeSpec([(*, *), (*, *)])
        """
    def is_prefix(self, other: TreeSpec) -> bool:
        """Whether another structure has this one at its top: where this one has a leaf, the other may have anything.

        Raises `StructureError` for a spec made with the other `none_is_leaf`.

        >>> import clika_pytree as crt
        >>> short, deep = crt.tree_structure([1, 2]), crt.tree_structure([1, (2, 3)])
        >>> short.is_prefix(deep), deep.is_prefix(short)
        (True, False)
        """
    def is_suffix(self, other: TreeSpec) -> bool:
        """Whether this structure has another one at its top: `other.is_prefix(self)`.

        >>> import clika_pytree as crt
        >>> crt.tree_structure([1, (2, 3)]).is_suffix(crt.tree_structure([1, 2]))
        True
        """
    def broadcast(self, other: TreeSpec) -> TreeSpec:
        """The structure in which two structures agree: where one has a leaf, it has what the other has there.

        Raises `StructureError`, naming the path, where both have containers that differ.

        >>> import clika_pytree as crt
        >>> crt.tree_structure([1, (2, 3)]).broadcast(crt.tree_structure([{"x": 1}, 2]))
        TreeSpec([{'x': *}, (*, *)])
        """
    def transform(
        self,
        f_node: Callable[[TreeSpec], TreeSpec] | None = None,
        f_leaf: Callable[[TreeSpec], TreeSpec] | None = None,
    ) -> TreeSpec:
        """The structure with other nodes or leaves.

        Args:
            f_node: called with the spec of each container, a leaf for every child; returns such a spec of as many leaves.
            f_leaf: called with the spec of a leaf; returns any spec, which is put in its place.

        Either may be None, which changes nothing. Raises `StructureError` for a result that does not fit.

        >>> import clika_pytree as crt
        >>> pair = crt.tree_structure((0, 0))
        >>> crt.tree_structure([1, {"a": 2}]).transform(None, lambda leaf: pair)
        TreeSpec([(*, *), {'a': (*, *)}])
        """
    def walk(
        self,
        leaves: Iterable[Any],
        f_node: Callable[[Any, Any, tuple[Any, ...]], Any] | None = None,
        f_leaf: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Folds the structure from the leaves up.

        Args:
            leaves: an iterable of as many leaves as it has.
            f_node: called with class, context and the tuple of the children's results; None rebuilds the container.
            f_leaf: called with each leaf first; None takes it as it is.

        Raises `LeafCountError` for another number of leaves.

        >>> import clika_pytree as crt
        >>> spec = crt.tree_structure([1, (2, 3)])
        >>> spec.walk([1, 2, 3], lambda cls, context, children: sum(children))
        6
        """
    def fingerprint(self) -> str:
        """A digest of the structure, 32 hexadecimal digits: the same in every process, on every machine and Python version.

        For plain keys and contexts, two specs have the same digest just where they are equal. A class counts by its
        `serialized_type_name`, else by module and qualified name; a namedtuple or dataclass by the names of its fields too.
        Raises `PyTreeValueError`, naming class and path, for a local class, a name that does not lead back to the class,
        or a context that is not plain and has no `to_dumpable_context`.

        >>> import clika_pytree as crt
        >>> crt.tree_structure({"a": [1, 2]}).fingerprint() == crt.tree_structure({"a": [3, 4]}).fingerprint()
        True
        """
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

def flatten_in_order(
    tree: Any, is_leaf: IsLeaf, none_is_leaf: bool, namespace: Namespace, sort_keys: bool, /
) -> tuple[list[Any], TreeSpec]: ...
def leaves_in_order(
    tree: Any, is_leaf: IsLeaf, none_is_leaf: bool, namespace: Namespace, sort_keys: bool, /
) -> list[Any]: ...
def structure_in_order(
    tree: Any, is_leaf: IsLeaf, none_is_leaf: bool, namespace: Namespace, sort_keys: bool, /
) -> TreeSpec: ...
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
    """The place of a child in a list, tuple or deque: `[0]`.

    >>> import clika_pytree as crt
    >>> str(crt.SequenceKey(0)), crt.SequenceKey(1).get(['a', 'b'])
    ('[0]', 'b')
    """

    __match_args__ = ("idx",)
    def __new__(cls, idx: int) -> SequenceKey: ...
    @property
    def idx(self) -> int:
        """The index."""
    def get(self, parent: Any) -> Any:
        """The child of a container that the key leads to."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class MappingKey:
    """The key of a child in a dict: `['a']`.

    >>> import clika_pytree as crt
    >>> str(crt.MappingKey('a')), crt.MappingKey(1) == crt.MappingKey(True)
    ("['a']", False)
    """

    __match_args__ = ("key",)
    def __new__(cls, key: Any) -> MappingKey: ...
    @property
    def key(self) -> Any:
        """The key."""
    def get(self, parent: Any) -> Any:
        """The child of a container that the key leads to."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class GetAttrKey:
    """The attribute that holds a child, of a namedtuple or a registered class: `.x`.

    >>> import clika_pytree as crt
    >>> str(crt.GetAttrKey('x')), crt.GetAttrKey('real').get(2.5)
    ('.x', 2.5)
    """

    __match_args__ = ("name",)
    def __new__(cls, name: str) -> GetAttrKey: ...
    @property
    def name(self) -> str:
        """The name of the attribute."""
    def get(self, parent: Any) -> Any:
        """The child of a container that the key leads to."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class DataclassKey:
    """The field of a registered dataclass that holds a child: `.x`.

    >>> import clika_pytree as crt
    >>> str(crt.DataclassKey('x'))
    '.x'
    """

    __match_args__ = ("name",)
    def __new__(cls, name: str) -> DataclassKey: ...
    @property
    def name(self) -> str:
        """The name of the field."""
    def get(self, parent: Any) -> Any:
        """The child of a container that the key leads to."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class FlattenedIndexKey:
    """The number of a child that its flatten function gave no name: `[<flat index 0>]`.

    >>> import clika_pytree as crt
    >>> str(crt.FlattenedIndexKey(0))
    '[<flat index 0>]'
    """

    __match_args__ = ("key",)
    def __new__(cls, key: int) -> FlattenedIndexKey: ...
    @property
    def key(self) -> int:
        """The number of the child."""
    def get(self, parent: Any) -> Any:
        """The child of a container that the key leads to."""
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
    """What was made for calls of a function, found again by the calls that it is right for.

    A call is bound to the signature first, so that it does not matter how an argument is passed. Two calls are one where
    the structure of their arguments is the same, each leaf that is no tensor has the same value, by exact type and bits, and
    each tensor has the facts that the entry's guards name.

    Args:
        signature: an `inspect.Signature`.
        maxsize: how many entries are kept; beyond it, the one used longest ago goes.
        namespace: as for `tree_flatten`.
        dynamic: True guards those sizes only that `insert` is told to; False every size of a tensor with a fact.
        name: what errors call the function.

    Raises `TypeError` for what is no signature, `ValueError` for another `maxsize`.

    >>> import inspect, clika_pytree
    >>> def step(x, mode="train"): ...
    >>> cache = clika_pytree.GuardCache(inspect.signature(step), 64, name="step")
    >>> cache.insert(cache.bind(({"lr": 0.5},), {}), "what was made for it")
    >>> cache.lookup(({"lr": 0.5}, "train"), {})
    ('what was made for it', [])
    >>> cache.explain(({"lr": 0.5},), {"mode": "eval"})
    [('mode', "'train'", "'eval'", 'static')]
    """

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
    def evictions(self) -> int:
        """How many entries went because there were too many."""
    def lookup(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]] | None:
        """What was inserted for a call that this one is the same as, with the tensors of this one; None where nothing was.

        Raises `TypeError` for arguments that the signature does not take.
        """
    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> GuardCall:
        """The call, taken apart, for something to be made for it.

        Raises `GuardError` for a leaf that can't be compared with that of another call, `UnregisteredNodeError` for one that
        holds tensors, `ContextError` for a context that can't be compared, `TypeError` for arguments that the signature does
        not take.
        """
    def unbind(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call, `(args, kwargs)`, whose parameters have the values of a tuple."""
    def insert(self, call: GuardCall, value: Any, *, guards: Any = None) -> None:
        """Keeps what was made for a call.

        Args:
            call: what `bind` gave.
            value: what `lookup` is to give.
            guards: None where the tensors may be any of their classes; else an object with `facts` (a dict by the number of a
                tensor, of objects with a `layout`), `sizes` (a dict by number and axis) and `conditions` (objects with a
                `function` of the list of tensors, and its `value`). A tensor without a fact may be any of its class. Where
                `is_checked` is true, what runs refuses tensors that do not fit, and those that were right last are not
                looked at here.
        """
    def entries(self) -> list[GuardEntry]:
        """The entries, those used last first."""
    @overload
    def explain(self, call: GuardCall) -> list[tuple[str, str | None, str | None, str]]:
        """How a call differs from the entry closest to it: tuples of path, what was there, what is there now, and the kind of
        the difference. Empty where some entry is right for it, or there is none.

        Runs no code of the user's but `repr`, and the hash and equality of values that have their own.
        """
    @overload
    def explain(
        self, call: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> list[tuple[str, str | None, str | None, str]]: ...
    def cache_info(self) -> Any:
        """The counts as `functools.lru_cache` has them: `(hits, misses, maxsize, currsize)`."""
    @property
    def reads_facts(self) -> bool:
        """Whether tensors are told by their dtypes and sizes also where their runtime has guards of its own."""
    def read_facts(self, keep_entries: bool) -> None:
        """Tells all tensors by their facts from now on. The entries stay where that is asked for and they were made with facts."""
    def clear(self) -> None:
        """Drops all entries and sets the counts back."""

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
    """Base of every error of this library.

    `path` is the key path at which it happened, as text (`"['layers'][3].w"`, `""` for the root), or None.
    """

    path: str | None

class PyTreeValueError(PyTreeError, ValueError):
    """A PyTreeError that is a ValueError."""

class PyTreeTypeError(PyTreeError, TypeError):
    """A PyTreeError that is a TypeError."""

class StructureError(PyTreeValueError):
    """Trees or specs that do not fit together."""

class LeafCountError(StructureError):
    """A number of leaves that a structure has no place for."""

class CircularTreeError(PyTreeValueError):
    """A tree that contains itself."""

class KeyOrderError(PyTreeValueError):
    """Dict keys that can't be sorted, inside dict_insertion_ordered(False)."""

class RegistrationError(PyTreeValueError):
    """A registration that was refused; nothing of it is left behind."""

class NodeError(PyTreeTypeError):
    """A flatten function that returned something other than (children, context) or (children, context, entries)."""

class ContextError(PyTreeTypeError):
    """A context that has no usable == or hash, so its structure can't be compared or hashed."""

class FileFormatError(PyTreeValueError):
    """A file that is not what `load` reads: damaged, cut short, of another kind, or of a newer version."""

class GuardError(PyTreeTypeError):
    """An argument of a compiled function that no guard can be made of, so that a later call can't be held against it."""

class UnregisteredNodeError(GuardError):
    """An argument that holds tensors and whose class is not registered, so that they would be constants of the graph."""
