"""Whoever looks at all objects while a call runs sees whole containers only.

Up to Python 3.11 any new container may start a collection, and a collection runs Python code (finalizers, callbacks). A
list that is filled one item at a time is on the collector's list meanwhile, with nothing where the other items will be.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from classes import Bag, Box, Cell, Color, Config, Pair, Point, Sample, Tagged

import clika_pytree as cp


@pytest.fixture
def half_filled(small_heap) -> Iterator[list]:
    """Collects at every second container, and looks at all of them each time."""
    seen: list = []
    looking = [False]

    def look(phase: str, info: dict) -> None:
        # Python's own `zip` and `tuple(...)` do it, too: what counts is what native code does that is called from here.
        if phase == "stop" or looking[0] or sys._getframe(1).f_code.co_filename != __file__:
            return
        looking[0] = True
        found = [
            (type(obj), len(obj), len(gc.get_referents(obj))) for obj in gc.get_objects() if type(obj) in (list, tuple)
        ]
        seen.extend(each for each in found if each[1] != each[2])
        looking[0] = False

    thresholds = gc.get_threshold()
    gc.callbacks.append(look)
    gc.set_threshold(1)
    try:
        yield seen
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(look)


def make_tree() -> Any:
    wide = [[i] for i in range(10)]
    return {
        **{f"k{i}": {"z": i, "a": (i,)} for i in range(10)},
        Color.RED: [OrderedDict({i: [i] for i in range(10)}), defaultdict(list, {i: [i] for i in range(10)})],
        "deque": deque(wide, 10),
        "points": [Point(i, [i]) for i in range(10)],
        "bag": Bag({f"b{i}": [i] for i in range(10)}),
        "others": (Tagged(1, 2, (wide, {"k": wide})), Sample(1, [2], wide), Cell((1, 2), 3), Config(1), Pair(1, 2)),
        "box": Box(wide),
    }


def in_key_order(function: Callable) -> Callable:
    def operation(tree: Any, spec: Any, leaves: list) -> Any:
        del tree["k0"], tree[Color.RED]  # what is left are strs
        with cp.dict_insertion_ordered(False):
            return function(cp.tree_structure(tree))

    return operation


OPERATIONS: dict[str, Callable[[Any, Any, list], Any]] = {
    "flatten": lambda tree, spec, leaves: cp.tree_flatten(tree),
    "leaves": lambda tree, spec, leaves: cp.tree_leaves(tree),
    "iter": lambda tree, spec, leaves: list(cp.tree_iter(tree)),
    "paths": lambda tree, spec, leaves: cp.tree_paths(tree),
    "leaves with path": lambda tree, spec, leaves: cp.tree_leaves_with_path(tree),
    "flatten with path": lambda tree, spec, leaves: cp.tree_flatten_with_path(tree),
    "map": lambda tree, spec, leaves: cp.tree_map(lambda leaf: [leaf], tree),
    "map two": lambda tree, spec, leaves: cp.tree_map(lambda *pair: [pair], tree, tree),
    "map with path": lambda tree, spec, leaves: cp.tree_map_with_path(lambda *pair: [pair], tree),
    "unflatten": lambda tree, spec, leaves: spec.unflatten([[leaf] for leaf in leaves]),
    "unflatten what is handed out": lambda tree, spec, leaves: spec.unflatten([leaf] for leaf in leaves),
    "flatten_up_to": lambda tree, spec, leaves: spec.flatten_up_to(tree),
    "children": lambda tree, spec, leaves: [child.children() for child in spec.children()],
    "context": lambda tree, spec, leaves: [(child.context, child.entries()) for child in spec.children()],
    "key paths": lambda tree, spec, leaves: spec.key_paths(),
    "compose": lambda tree, spec, leaves: spec.compose(cp.tree_structure([1, [2]])),
    "transform": lambda tree, spec, leaves: spec.transform(lambda node: node, lambda leaf: leaf),
    "walk": lambda tree, spec, leaves: spec.walk(leaves, lambda cls, context, children: [children]),
    "equal": lambda tree, spec, leaves: spec == cp.tree_structure(tree),
    "repr": lambda tree, spec, leaves: repr(spec),
    "state": lambda tree, spec, leaves: spec.__reduce_ex__(4),
    "state of sorted dicts": in_key_order(lambda spec: spec.__reduce_ex__(4)),
    "dumps": lambda tree, spec, leaves: cp.treespec_loads(cp.treespec_dumps(cp.tree_structure([*tree.values()][:20]))),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_nobody_sees_a_half_filled_container(operation, half_filled):
    tree = make_tree()
    leaves, spec = cp.tree_flatten(tree)
    half_filled.clear()
    for _ in range(2):
        operation(dict(tree), spec, leaves)
    assert half_filled == []


def test_a_half_filled_list_would_be_seen(half_filled):
    new, put = ctypes.pythonapi.PyList_New, ctypes.pythonapi.PyList_SetItem
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_ssize_t]
    put.argtypes = [ctypes.py_object, ctypes.c_ssize_t, ctypes.py_object]
    made = new(50)
    gc.collect()
    for i in range(50):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(i))  # which PyList_SetItem takes
        put(made, i, i)
    assert (list, 50, 0) in half_filled
