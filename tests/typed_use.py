"""How the package looks to type checkers; `make lint` reads this file, nothing runs it.

A line with an ignore is one that a checker must refuse: mypy reports the ignore where it does not.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import clika_pytree as crt
from clika_pytree import PyTree, TreeSpec, pytree
from clika_pytree.runtimes.protocol import Runtime, TensorSpec
from clika_pytree.typing import KeyPath


class Array: ...


class Point(NamedTuple):
    x: Array
    y: Array


@pytree.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: Array


@pytree.register_dataclass(rebuild="init", namespace="typed")
@dataclasses.dataclass
class Model:
    layers: list[Layer]


@pytree.register_pytree_node_class
class Pair:
    def __init__(self, a: Array, b: Array) -> None:
        self.a, self.b = a, b

    def __tree_flatten__(self) -> tuple[tuple[Array, Array], None]:
        return (self.a, self.b), None

    @classmethod
    def __tree_unflatten__(cls, context: None, children: tuple[Any, Any]) -> Pair:
        return cls(*children)


@pytree.register_static(namespace="typed")
class Config:
    heads = 8


class Box:
    def __init__(self, item: object) -> None:
        self.item = item


def count(tree: PyTree[Array]) -> int:
    return len(pytree.tree_leaves(tree))


def trees_of_arrays(
    array: Array,
    mapping: dict[str, Array],
    nested: dict[str, list[tuple[Array, dict[int, Array]]]],
    ordered: collections.OrderedDict[str, Array],
    defaults: collections.defaultdict[str, list[Array]],
    recent: collections.deque[Array],
    whole: tuple[Array, ...],
) -> None:
    for tree in (array, mapping, nested, ordered, defaults, recent, whole):
        count(tree)
    count([array, {"a": (array, [array])}])
    count(Point(array, array))
    count([Layer(array), Model([Layer(array)]), Pair(array, array)])


def no_trees_of_arrays(names: list[str], numbers: dict[str, int], missing: dict[str, Array | None]) -> None:
    count("text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    count(names)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    count(numbers)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    count(missing)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def optional_leaves(tree: PyTree[Array | None], anything: PyTree[Any]) -> None:
    optional_leaves({"cache": None, "x": Array()}, Box(3))


def results(tree: dict[str, Array]) -> None:
    leaves, spec = pytree.tree_flatten(tree, lambda x: isinstance(x, list), none_is_leaf=False, namespace=("a", "b"))
    known_leaves: list[Any] = leaves
    known_spec: TreeSpec = spec
    one_way: object = pytree.tree_unflatten(known_spec, known_leaves)
    other_way: object = pytree.tree_unflatten(known_leaves, known_spec)
    by_name: object = pytree.tree_unflatten(leaves=iter([one_way, other_way]), treespec=known_spec)
    same: dict[str, Array] = pytree.tree_map_(print, tree)
    also: dict[str, Array] = pytree.tree_map_only_(Array, print, same)
    lazily: Iterator[Any] = pytree.tree_iter([also, by_name])
    total: object = pytree.tree_sum(pytree.tree_map_only(int | None, str, lazily))
    with pytree.dict_insertion_ordered(False):
        pytree.tree_map(lambda x, y: (x, y), total, total)


def shapes(tree: dict[str, Array], spec: TreeSpec) -> None:
    first, second = pytree.tree_partition(Array, tree, lambda x: x is None, fillvalue=0)
    joined: object = pytree.tree_combine(first, second, fillvalue=0)
    spread: object = pytree.tree_broadcast_map(max, first, joined, is_leaf=None)
    turned: object = pytree.tree_transpose(spec, pytree.treespec_list([spec]), spread)
    pytree.tree_transpose_map(max, turned, turned, inner=pytree.treespec_dict({1: spec}, a=spec))
    flat, back = pytree.tree_ravel(tree, dtype="float32")
    children, top = pytree.tree_flatten_one_level(back(flat), namespace=("a", "b"))
    known: list[Any] = pytree.arg_tree_leaves(*children, top=top)
    call: functools.partial[Any] = pytree.Partial(max, *known, key=None)
    answer: bool = pytree.all_leaves([call]) or pytree.tree_is_leaf(call)
    pytree.treespec_deque([spec], 3 if answer else None)
    pytree.treespec_tuple([1])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def registrations() -> None:
    layer: type[Layer] = pytree.register_dataclass(Layer, ["weight"], [], drop_fields=())
    pytree.register_pytree_node(Box, lambda box: ((box.item,), None, ("item",)), lambda children, _: Box(*children))
    pytree.register_dataclass(layer, rebuild="new")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    pytree.register_static(Config())  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    config: int = Config().heads
    pytree.tree_all([config])
    pytree.tree_all(tree=[config])
    pytree.tree_all(callable, [config], None)
    pytree.tree_any_only((int, str), bool, config, is_leaf=None)


@crt.compile
def step(model: Model, x: Array, *, scale: float = 1.0) -> dict[str, Array]:
    return {"y": x}


@crt.compile(dynamic=True, runtime="numpy", max_graphs=8, on_miss="compile", namespace=("a", "b"))
def other_step(x: Array) -> list[Array]:
    return [x]


class Trainer:
    @crt.compile
    def advance(self, x: Array, count: int = 1) -> Array:
        return x

    @crt.compile(dynamic=True)
    def measure(self, x: Array) -> float:
        return 0.0


def compiled(model: Model, x: Array, trainer: Trainer) -> None:
    out: dict[str, Array] = step(model, x, scale=2.0)
    step(model, "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    step(model, x, scal=2.0)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    more: list[Array] = other_step(out["y"])
    same: Array = trainer.advance(x, count=2)
    trainer.advance(x, 2, 3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Trainer.advance(trainer, same)
    number: float = trainer.measure(x)
    changes: list[str] = [change.path for change in step.explain(model, x, scale=number).changes]
    trainer.advance.explain(x).num_graphs.bit_length()
    rows: list[int] = [row.hits for row in step.graphs()]
    step.on_miss = "error"
    step.on_miss = "never"  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    crt.compile(step, on_miss="error").cache_info().hits.bit_length()
    crt.compile(3)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    graph = crt.trace(lambda xs: [xs[0]], [x], names=["x"], outputs=iter(["y"]))
    results: list[Any] = graph(x, *more, *changes, *rows) + graph(x=x)
    crt.eval(results, {"graph": graph.inputs}, namespace="a")


def files(model: Model, tree: dict[str, Array], path: Path, paths: list[KeyPath]) -> None:
    crt.save(tree, path)
    crt.save(model, b"a", fsync=False, max_shard_bytes=1 << 30, progress=True, namespace=("a", "b"))
    crt.save(tree, "a", progress=lambda done, total: print(done / total))
    crt.save(tree, "a", progress=lambda done: None)  # type: ignore[arg-type, misc]  # pyright: ignore[reportArgumentType]
    crt.save(tree)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    whole: Model = crt.load(path, "cuda:0", like=model, runtime="torch", unknown="dict")
    part: dict[str, Array] = crt.load("a", only=paths[0], mmap=False) | crt.load(b"a", only="['layers']")
    crt.load(path, only=lambda name: name.endswith("w"), progress=None, runtime=runtime)
    crt.load(path, only=["a"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    crt.load(path, unknown="ignore")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    summary = crt.inspect(path, max_rows=None)
    spec: TreeSpec = summary.structure
    sizes: list[int] = [tensor.nbytes + len(tensor.shape) for tensor in summary.tensors]
    names: list[str] = [tensor.name + tensor.dtype for tensor in summary.tensors] + [*summary.ties, summary.kind]
    rows: list[str] = [row.path for row in summary.table.rows]
    crt.eval(whole, part, spec, sizes, names, rows, summary.metadata["format"], summary.file_bytes + summary.files)


class BoxRuntime(Runtime):
    name, modules, lazy = "boxes", ("boxes",), True

    def is_tensor_type(self, cls: type[Any], /) -> bool:
        return cls is Box

    def describe(self, x: Any, /) -> TensorSpec:
        return TensorSpec("box", ())


runtime: BoxRuntime = crt.register_runtime(BoxRuntime())
crt.register_runtime(BoxRuntime)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
