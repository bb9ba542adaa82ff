"""What checkers say functions give; `make lint` reads this file, nothing runs it.

Both checkers have to find exactly the type that is asserted. A line with an ignore is one that they must refuse.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from typing_extensions import assert_type

import clika_pytree as crt
from clika_pytree import DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey, TreeSpec, pytree
from clika_pytree.boundary import Change, Explanation, FileSummary, Graph, GraphRow, GraphTable
from clika_pytree.boundary.compiled import CacheInfo, Compiled
from clika_pytree.inspection import Difference, NodeReport, SummaryRow, TreeDiff, TreeSummary
from clika_pytree.typing import KeyPath, Namespace


class Array:
    shape: tuple[int, ...] = ()


class Point(NamedTuple):
    x: Array
    y: Array


Tree = dict[str, list[Array]]


def flattening(tree: Tree, spec: TreeSpec) -> None:
    assert_type(pytree.tree_flatten(tree), tuple[list[Any], TreeSpec])
    assert_type(pytree.tree_flatten_with_path(tree), tuple[list[tuple[KeyPath, Any]], TreeSpec])
    assert_type(pytree.tree_flatten_one_level(tree), tuple[list[Any], TreeSpec])
    assert_type(pytree.tree_leaves(tree), list[Any])
    assert_type(pytree.tree_leaves_with_path(tree), list[tuple[KeyPath, Any]])
    assert_type(pytree.tree_paths(tree), list[tuple[Any, ...]])
    assert_type(pytree.tree_structure(tree), TreeSpec)
    assert_type(pytree.tree_unflatten(spec, [1, 2]), Any)
    assert_type(pytree.tree_unflatten((1, 2), spec), Any)
    assert_type(next(pytree.tree_iter(tree)), Any)
    assert_type(pytree.arg_tree_leaves(tree, mask=tree), list[Any])
    assert_type(pytree.tree_is_leaf(tree), bool)
    assert_type(pytree.all_leaves([tree]), bool)
    pytree.tree_unflatten(tree, tree)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]


def one(x: Any) -> int:
    return 1


def two(x: Any, y: Any) -> int:
    return 2


def three(x: Any, y: Any, z: Any) -> int:
    return 3


def mapping(tree: Tree, trees: list[Tree], unknown: Callable[..., Any]) -> None:
    assert_type(pytree.tree_map(one, tree), dict[str, Any])
    assert_type(pytree.tree_map(three, tree, tree, tree, is_leaf=None), Any)
    assert_type(pytree.tree_map_(one, tree), Tree)
    assert_type(pytree.tree_map_(two, tree, tree), Tree)
    assert_type(pytree.tree_map_(lambda *leaves: leaves, tree, *trees), Tree)
    pytree.tree_map(max, tree, tree, tree, tree, tree)
    pytree.tree_map(two, tree, *trees)
    pytree.tree_map(unknown, *trees, none_is_leaf=False)
    pytree.tree_map(two, tree)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pytree.tree_map(one, tree, tree)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pytree.tree_map_(two, tree, tree, tree)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pytree.tree_map_with_path(lambda path, x: (pytree.keystr(path), x), tree)
    pytree.tree_map_with_path(lambda path, x, y: (path[0], x, y), tree, tree)
    pytree.tree_map_with_path(one, tree)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def mapping_some(tree: Tree) -> None:
    pytree.tree_map_only(Array, lambda x: x.shape, tree)
    pytree.tree_map_only((int, str), lambda x: x * 2, tree)
    pytree.tree_map_only(int | None, lambda x: x + 1, tree)
    pytree.tree_map_only(callable, lambda x: x(), tree)
    assert_type(pytree.tree_map_only_(Array, lambda x: x.shape, tree), Tree)
    assert_type(pytree.tree_map_only_(lambda x: x is None, one, tree), Tree)
    pytree.tree_map_only(Array, lambda x: x.size, tree)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownLambdaType]


def folding(tree: Tree) -> None:
    assert_type(pytree.tree_all(tree), bool)
    assert_type(pytree.tree_any(one, tree), bool)
    assert_type(pytree.tree_all_only(Array, one, tree), bool)
    assert_type(pytree.tree_any_only(int | str, one, tree), bool)
    assert_type(pytree.tree_reduce(two, tree), Any)
    assert_type(pytree.tree_reduce(lambda n, x: n + len(x.shape), tree, 0), int)
    assert_type(pytree.tree_reduce(lambda names, x: [*names, str(x)], tree, initial=["a"]), list[str])
    assert_type(pytree.tree_sum(tree), Any)
    assert_type(pytree.tree_max(tree, key=id, default=None), Any)


def shaping(tree: Tree, spec: TreeSpec) -> None:
    assert_type(pytree.tree_transpose(spec, spec, tree), Any)
    assert_type(pytree.tree_transpose_map(two, tree, tree, inner=spec), Any)
    assert_type(pytree.tree_broadcast_map(two, tree, tree), Any)
    assert_type(pytree.tree_broadcast_prefix(tree, tree), Any)
    assert_type(pytree.tree_broadcast_common(tree, tree), tuple[Any, Any])
    assert_type(pytree.tree_partition(Array, tree), tuple[dict[str, Any], dict[str, Any]])
    assert_type(pytree.tree_combine(tree, tree), dict[str, Any])
    assert_type(pytree.tree_replace_nones(0, tree), Any)
    assert_type(pytree.tree_ravel(tree), tuple[Any, Callable[[Any], Any]])


def paths(tree: Tree, path: KeyPath) -> None:
    key = path[0]
    assert_type(key, SequenceKey | MappingKey | GetAttrKey | DataclassKey | FlattenedIndexKey)
    match key:
        case SequenceKey(index):
            assert_type(index, int)
        case MappingKey(of_mapping):
            assert_type(of_mapping, Any)
        case GetAttrKey(name) | DataclassKey(name):
            assert_type(name, str)
        case FlattenedIndexKey(number):
            assert_type(number, int)
    assert_type(pytree.keystr(path, simple=True, separator="/"), str)
    assert_type(pytree.parse_keystr("['a'][0]"), KeyPath)
    assert_type(pytree.key_get(tree, path), Any)
    assert_type(key.get(tree), Any)


def structures(spec: TreeSpec, other: TreeSpec) -> None:
    assert_type([spec.num_leaves, spec.num_nodes, spec.num_children], list[int])
    assert_type(spec.type, type[Any] | None)
    assert_type(spec.context, Any)
    assert_type(spec.none_is_leaf, bool)
    assert_type(spec.namespace, Namespace)
    assert_type(spec.entries(), list[Any])
    assert_type(spec.paths(), list[tuple[Any, ...]])
    assert_type(spec.key_paths(), list[KeyPath])
    assert_type(spec.children(), list[TreeSpec])
    assert_type([spec.child(0), spec.compose(other), spec.broadcast(other)], list[TreeSpec])
    assert_type(spec.transform(lambda node: node, None), TreeSpec)
    assert_type(spec.walk([1], lambda cls, context, children: children, one), Any)
    assert_type(spec.unflatten([1]), Any)
    assert_type(spec.flatten_up_to([1]), list[Any])
    assert_type([spec.is_leaf(), spec.is_prefix(other), spec <= other, spec > other, spec == other], list[bool])
    assert_type(spec.fingerprint(), str)
    assert_type(pytree.treespec_loads(pytree.treespec_dumps(spec)), TreeSpec)
    assert_type(pytree.treespec_from_torch(pytree.treespec_to_torch(spec)), TreeSpec)
    assert_type(pytree.treespec_namedtuple(Point(Array(), Array())), TreeSpec)
    spec.num_leaves = 3  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def predicates(found: object, either: Point | list[int], cls: type[Point] | int) -> None:
    if pytree.is_namedtuple_instance(found):
        assert_type(found._fields, tuple[str, ...])
    if pytree.is_namedtuple_instance(either):
        assert_type(either, Point)
    else:
        assert_type(either, list[int])
    if pytree.is_namedtuple_class(cls):
        assert_type(cls, type[Point])
    else:
        assert_type(cls, int)
    if not pytree.is_namedtuple(either):
        assert_type(either, list[int])
    assert_type(pytree.is_registered(Point, ("a", "b")), bool)


def looking(tree: Tree) -> None:
    differences = pytree.tree_diff(tree, tree, leaves=True)
    assert_type(differences, TreeDiff)
    assert_type(differences[0], Difference)
    assert_type(differences[0].path, KeyPath)
    assert_type(differences[0].a, str | None)
    summary = pytree.tree_summary(tree, max_rows=None)
    assert_type(summary, TreeSummary)
    assert_type(summary.rows, tuple[SummaryRow, ...])
    assert_type(summary.rows[0].shape, tuple[int | str, ...] | None)
    assert_type([summary.num_leaves, summary.num_elements, summary.nbytes], list[int])
    report = pytree.check_node(Point, Point(Array(), Array()))
    assert_type(report, NodeReport)
    assert_type([problem.change for problem in report.problems], list[str])


class Net:
    @crt.compile
    def forward(self, x: Array, *, train: bool = False) -> list[Array]:
        return [x]


def scale(x: Array, by: float = 1.0) -> Array:
    return x


def compiling(net: Net, x: Array, path: Path) -> None:
    compiled = crt.compile(scale)
    assert_type(compiled(x, by=2.0), Array)
    compiled(x, by="2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(crt.compile(dynamic=True)(scale)(x), Array)
    assert_type(crt.compile(net.forward)(x, train=True), list[Array])
    assert_type(crt.compile(functools.partial(scale, by=3.0))(x), Array)
    assert_type(net.forward(x, train=True), list[Array])
    net.forward(x, True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert_type(net.forward.cache_info(), CacheInfo)
    assert_type(compiled.explain(x), Explanation)
    compiled.explain(x, b=1.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert_type(compiled.explain(x).changes, tuple[Change, ...])
    assert_type(compiled.graphs(), GraphTable)
    assert_type(compiled.graphs()[0], GraphRow)
    assert_type(compiled.graphs()[0].spec, TreeSpec)
    assert_type(compiled.on_miss, Literal["compile", "error"])
    compiled.clear()
    generic: Compiled[..., Any] = compiled
    graph = crt.trace(lambda xs: xs, [x])
    assert_type(graph, Graph)
    assert_type(graph(x), list[Any])
    assert_type(graph.inputs, tuple[str, ...])
    assert_type(Graph.load(path), Graph)
    crt.eval(generic, x)


def files(tree: Tree, path: Path) -> None:
    crt.save(tree, path)
    assert_type(crt.load(path, like=tree), Any)
    found = crt.inspect(path)
    assert_type(found, FileSummary)
    assert_type(found.structure, TreeSpec)
    assert_type(found.table, TreeSummary)
    assert_type(found.metadata, dict[str, str])
    assert_type(found.tensors[0].shape, tuple[int, ...])


def of_point(point: Point) -> tuple[tuple[Array, Array], None]:
    return (point.x, point.y), None


def registered() -> None:
    class Box:
        def __init__(self, item: object) -> None:
            self.item = item

    pytree.register_pytree_node(Box, lambda box: ((box.item,), None), lambda children, context: Box(children[0]))
    pytree.register_pytree_node(Box, of_point, lambda children, context: Box(children[0]))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pytree.unregister_pytree_node(Box)
    assert_type(pytree.register_static(Box), type[Box])
    assert_type(pytree.Partial(scale)(Array()), Any)
