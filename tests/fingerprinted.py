"""Structures whose fingerprints stand in `fingerprints.json` and hold for ever. Run, it prints those it finds."""

from __future__ import annotations

import json
import math
import struct
from collections import OrderedDict, defaultdict, deque
from pathlib import Path
from typing import Any

from classes import (
    ALPHA,
    BETA,
    AlphaOnly,
    Bag,
    BetaOnly,
    Box,
    Cell,
    Config,
    FromRange,
    Labelled,
    Methods,
    Nothing,
    Pair,
    Point,
    Ranged,
    Sample,
    Switch,
    Tagged,
)
from deep import Chain, One

import clika_pytree as cp

KEPT = Path(__file__).with_name("fingerprints.json")


class Unnamed(Box):
    """Counts by its module and its qualified name."""


class Outer:
    class Inner(Box):
        pass


def module_function() -> None:
    """Stands in structures as the factory of a defaultdict."""


for cls in (Unnamed, Outer.Inner):
    cp.register_pytree_node(cls, lambda box: ((box.item,), None), lambda children, _: Box(*children))

(OTHER_NAN,) = struct.unpack(">d", bytes.fromhex("7ff8000000000001"))

TREES: dict[str, Any] = {
    "leaf": 0,
    "list": [],
    "list of three": [0, 0, 0],
    "lists": [0, [0, [0]], []],
    "tuple": (0,),
    "dict": {"a": 0, "b": 0},
    "dict in another order": {"b": 0, "a": 0},
    "ordereddict": OrderedDict(a=0, b=0),
    "defaultdict": defaultdict(None, a=0, b=0),
    "defaultdict of lists": defaultdict(list, a=0, b=0),
    "defaultdict of ordereddicts": defaultdict(OrderedDict),
    "defaultdict with a function": defaultdict(module_function),
    "deque": deque([0]),
    "deque of one": deque([0], 1),
    "namedtuple": Point(0, Labelled(0, Nothing())),
    "namedtuple with another constructor": FromRange(range(2)),
    "namedtuple of another module": One(0),
    "custom": Pair(0, [0]),
    "custom with entries": Tagged(0, 0, "t"),
    "custom by qualified name": Unnamed(0),
    "custom by nested name": Outer.Inner(0),
    "names": Bag({"n": 0, "not a name": 0, 3: 0}),
    "dataclass": Sample(0, (0,), "s"),
    "dataclass with slots": Cell(("s", 1), 0),
    "static": Config(1, "fast"),
    "static of nothing": Config(None),
    "wide": {f"layer{number}": [0] * number for number in range(50)},
    "deep": Chain("tuple", 5000).tree,
    "all": {"a": [0, (Point(0, 0), deque())], 1: Sample({"k": 0}, 0, None), (1, "k"): Config(2), None: Box([])},
}

# Kept by number: new ones go to the end.
KEYS: list[Any] = [
    0, 1, -1, True, False, 0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, math.inf, math.nan, OTHER_NAN, 1j, -1j, complex(-0.0, 1),
    None, "", "a", "ü", "\ud800", "\ud800\udc00", "\U0001f600", "\0", "a" * 1000, b"", b"a", b"\xff", 2**53, -(2**63),
    2**64, 10**5000, (), (1,), (True,), ((),), (1, ("a", (b"b", None))), tuple(range(100)), ..., frozenset(),
    frozenset({1, "a", b"a", None}), frozenset({frozenset({"a"}), frozenset({"b"})}),
]  # fmt: skip

CONTEXTS: list[Any] = [
    [], {}, set(), [1], (1, [2]), {"a": 1, "b": [2]}, {"b": [2], "a": 1}, {1}, {True}, {1.0}, {"x", "y", "z", 1, None},
    [[]] * 50, ["a" * 40], [0, [1, [2, [3, [4, [5, [6, [7, [8, [9]]]]]]]]]], {(1, 2): {frozenset({3, "4"}): {5: {6}}}},
    [*range(100)], {str(number): {number} for number in range(30)}, {*range(9000), *map(str, range(1000))},
]  # fmt: skip


def sorted_dicts() -> cp.TreeSpec:
    with cp.dict_insertion_ordered(False):
        return cp.tree_structure({"b": 0, "a": defaultdict(list, d=0, c=0)})


def structures() -> dict[str, cp.TreeSpec]:
    made: dict[str, cp.TreeSpec] = {name: cp.tree_structure(tree) for name, tree in TREES.items()}
    for number, key in enumerate(KEYS):
        made[f"key {number}"] = cp.tree_structure({key: 0})
        made[f"key {number} as context"] = cp.tree_structure(Methods([0], key))
    for number, context in enumerate(CONTEXTS):
        made[f"context {number}"] = cp.tree_structure(Methods([0], context))
    made["none"] = cp.tree_structure(None, none_is_leaf=False)
    made["nones"] = cp.tree_structure({"a": [None, 0]}, none_is_leaf=False)
    made["leaf where none is none"] = cp.tree_structure(0, none_is_leaf=False)
    made["sorted dicts"] = sorted_dicts()
    tree = [Switch(0, 0), AlphaOnly(0, 0), Ranged(0, 0), BetaOnly(0, "m")]
    for name, namespace in {"": "", " in alpha": ALPHA, " in beta": BETA, " in both": (ALPHA, BETA)}.items():
        made[f"namespaces{name}"] = cp.tree_structure(tree, namespace=namespace)
    return made


def fingerprints() -> dict[str, str]:
    return {name: spec.fingerprint() for name, spec in structures().items()}


if __name__ == "__main__":
    import fingerprinted  # by the name that its classes have in every process

    print(json.dumps(fingerprinted.fingerprints(), indent=1))
