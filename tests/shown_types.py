"""What editors show for results: `.ci/shown_types.py` holds each comment against both checkers, nothing runs this.

A comment says what both reveal, and after `mypy:` what mypy does where it sees less: a lambda has the type Any for it
while it chooses an overload.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict, deque
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import reveal_type

import clika_pytree as crt
from clika_pytree import TreeSpec, pytree


class Array:
    shape: tuple[int, ...] = ()
    dtype: str = ""

    def __array__(self) -> object:
        return None

    def __mul__(self, other: float) -> Array:
        return self

    def __sub__(self, other: Array) -> Array:
        return self


class Box:
    """Perhaps registered: no checker sees that."""


class Point(NamedTuple):
    x: Array
    y: Array


Layers = dict[str, list[tuple[Array, Array]]]


def text(x: float) -> str:
    return ""


def pair(x: float, y: str) -> bytes:
    return b""


def triple(x: float, y: str, z: Array) -> int:
    return 1


def anything(x: Any) -> str:
    return ""


def mapping(weights: dict[str, Array], boxes: dict[str, Box], either: dict[str, float | list[float]]) -> None:
    reveal_type(pytree.tree_map(text, {"a": 1.5}))  # dict[str, str]
    reveal_type(pytree.tree_map(text, [1, 2]))  # list[str]
    reveal_type(pytree.tree_map(abs, [1.5, 2.5]))  # list[float]
    reveal_type(pytree.tree_map(lambda w: w.shape, weights))  # dict[str, tuple[int, ...]]; mypy: Any
    reveal_type(pytree.tree_map(lambda n: n + 1, {"a": 1}))  # dict[str, int]; mypy: Any
    reveal_type(pytree.tree_map(anything, {"a": [1], "b": [2]}))  # dict[str, Any]
    reveal_type(pytree.tree_map(anything, {"a": 1, "b": [2]}))  # dict[str, Any]
    reveal_type(pytree.tree_map(anything, boxes))  # dict[str, Any]
    reveal_type(pytree.tree_map(anything, either))  # dict[str, Any]
    reveal_type(pytree.tree_map(text, {"a": 1.5}, none_is_leaf=False))  # dict[str, Any]
    reveal_type(pytree.tree_map(text, {"a": 1.5}, is_leaf=callable))  # Any
    reveal_type(pytree.tree_map(anything, (1, "b")))  # Any


def mapping_several(weights: dict[str, Array], layers: Layers, boxes: list[Box], tree: Any) -> None:
    reveal_type(pytree.tree_map(pair, {"a": 1.5}, {"a": "x"}))  # dict[str, bytes]
    reveal_type(pytree.tree_map(pair, [1.5], ["x"]))  # list[bytes]
    reveal_type(pytree.tree_map(max, [1, 2], [3, 4]))  # list[int]
    reveal_type(pytree.tree_map(lambda w, g: w - g * 0.1, weights, weights))  # dict[str, Array]; mypy: Any
    reveal_type(pytree.tree_map(lambda w, n: (w, n), weights, {"a": 1}))  # dict[str, tuple[Array, int]]; mypy: Any
    reveal_type(pytree.tree_map(triple, {"a": 1.5}, {"a": "x"}, weights))  # dict[str, int]
    reveal_type(pytree.tree_map(lambda a, b, c: a + b + c, [1], [2], [3]))  # list[int]; mypy: Any
    reveal_type(pytree.tree_map(lambda a, b: (a, b), layers, layers))  # dict[str, Any]
    reveal_type(pytree.tree_map(lambda a, b: (a, b), boxes, tree))  # list[Any]
    reveal_type(pytree.tree_map(max, [1], [2], [3], [4]))  # Any
    reveal_type(pytree.tree_map(max, *boxes))  # Any


def unknown(tree: Any, values: dict[str, Any], items: list[Any]) -> None:
    reveal_type(pytree.tree_map(anything, tree))  # Any
    reveal_type(pytree.tree_map(pair, tree, tree))  # Any
    reveal_type(pytree.tree_map(anything, values))  # dict[str, Any]; mypy: Any
    reveal_type(pytree.tree_map(anything, {"a": tree}))  # dict[str, Any]; mypy: Any
    reveal_type(pytree.tree_map(pair, items, items))  # list[Any]; mypy: Any
    reveal_type(pytree.tree_leaves(tree))  # list[Any]
    reveal_type(pytree.tree_leaves(values))  # list[Any]
    reveal_type(pytree.tree_partition(callable, tree))  # tuple[Any, Any]; mypy: tuple[Any, ...]
    reveal_type(pytree.tree_combine(tree, tree))  # Any


def kept_apart(state: OrderedDict[str, Array], groups: defaultdict[str, Array], recent: deque[int], p: Point) -> None:
    reveal_type(pytree.tree_map(anything, state))  # Any
    reveal_type(pytree.tree_map(anything, groups))  # Any
    reveal_type(pytree.tree_map(anything, recent))  # Any
    reveal_type(pytree.tree_map(anything, p))  # Any
    reveal_type(pytree.tree_map_only(Array, anything, state))  # Any
    reveal_type(pytree.tree_combine(state, state))  # Any


def mapping_some(weights: dict[str, Array], boxes: list[Box]) -> None:
    reveal_type(pytree.tree_map_only(Array, lambda w: w.shape, weights))  # dict[str, Any]; mypy: Any
    reveal_type(pytree.tree_map_only((Array, int), anything, boxes))  # list[Any]; mypy: Any
    reveal_type(pytree.tree_map_only(int | None, anything, weights))  # dict[str, Any]
    reveal_type(pytree.tree_map_only(callable, anything, Box()))  # Any
    reveal_type(pytree.tree_map_(anything, boxes))  # list[Box]
    reveal_type(pytree.tree_map_with_path(lambda path, n: (len(path), n), [1]))  # list[tuple[int, int]]; mypy: Any
    reveal_type(pytree.tree_map_with_path(lambda path, w, n: w * n, weights, {"a": 2}))  # dict[str, Array]; mypy: Any
    reveal_type(pytree.tree_map_with_path(lambda path, box: box, boxes))  # list[Any]


def leaves(
    layers: Layers, boxes: list[Box], state: OrderedDict[str, Array | None], numbers: dict[str, NDArray[np.int8]]
) -> None:
    reveal_type(pytree.tree_leaves(layers))  # list[Array]
    reveal_type(pytree.tree_leaves(state))  # list[Array | None]
    reveal_type(pytree.tree_leaves(boxes))  # list[Any]
    reveal_type(pytree.tree_leaves(layers, callable))  # list[Any]
    reveal_type(pytree.tree_leaves(numbers)[0].shape)  # tuple[Any, ...]
    reveal_type(pytree.tree_leaves(Point(Array(), Array())))  # list[Array]
    reveal_type(pytree.tree_flatten(layers))  # tuple[list[Array], TreeSpec]
    reveal_type(pytree.tree_flatten([1, {"a": (2, 3)}]))  # tuple[list[int], TreeSpec]
    reveal_type(pytree.tree_flatten_with_path(layers)[0][0][1])  # Array
    reveal_type(pytree.tree_leaves_with_path(layers)[0][1])  # Array
    reveal_type(next(pytree.tree_iter(layers)))  # Array


def parts(weights: dict[str, Array], boxes: list[Box], spec: TreeSpec) -> None:
    reveal_type(pytree.tree_partition(Array, weights))  # tuple[dict[str, Any], dict[str, Any]]
    reveal_type(pytree.tree_partition(callable, boxes))  # tuple[list[Any], list[Any]]
    reveal_type(pytree.tree_partition(callable, boxes, callable))  # tuple[Any, Any]
    reveal_type(pytree.tree_combine(weights, weights))  # dict[str, Any]
    reveal_type(pytree.tree_combine(boxes, boxes))  # list[Any]
    # What a TreeSpec builds is in its value, not in its type.
    reveal_type(pytree.tree_unflatten(spec, [1]))  # Any
    reveal_type(pytree.tree_transpose(spec, spec, weights))  # Any


def norm(x: Array, p: int = 2) -> float:
    return 1.0


def compiled(x: Array) -> None:
    step = crt.compile(norm)
    reveal_type(step)  # Compiled[(x: Array, p: int = 2), float]; mypy: Compiled[[x: Array, p: int =], float]
    reveal_type(step(x, p=1))  # float
    reveal_type(crt.compile(dynamic=True)(norm)(x))  # float
    reveal_type(crt.compile(functools.partial(norm, p=3))(x))  # float
    reveal_type(crt.trace(lambda xs: xs, [x]))  # Graph
    reveal_type(crt.trace(lambda xs: xs, [x])(x))  # list[Any]


def predicates(found: object, either: Point | list[int]) -> None:
    if pytree.is_namedtuple_instance(found):
        reveal_type(found._fields)  # tuple[str, ...]
    if not pytree.is_namedtuple_instance(either):
        reveal_type(either)  # list[int]
