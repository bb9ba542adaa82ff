"""Trees that contain themselves are found out and the place is named; a tree that unfolds for ever can be stopped."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from typing import Any

import pytest
from classes import Bag, Box, Pair, Point, Sample
from helpers import run_python
from test_walking import READERS

import clika_pytree as cp

any_reader = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


def circles() -> dict[str, tuple[Any, str]]:
    """Trees that contain themselves, and the path at which each meets itself again."""
    own: list = [1]
    own.append(own)
    alone: list = []
    alone.append(alone)
    mapping: dict = {"x": 0}
    mapping["p"] = Pair(1, {"d": mapping})
    bag = Bag({"a": 1})
    bag.items["b"] = (0, [bag])
    ordered: OrderedDict = OrderedDict(z=1)
    ordered["me"] = ordered
    factory: defaultdict = defaultdict(list)
    factory["me"] = [factory]
    queue: deque = deque([0])
    queue.append(Point(1, queue))
    sample = Sample(1, 2, "name")
    sample.bias = {"again": sample}
    box = Box(None)
    box.item = box
    below: list = []
    below.append(below)
    return {
        "list": (own, "[1]"),
        "lone list": (alone, "[0]"),
        "dict and class": (mapping, "['p'][<flat index 1>]['d']"),
        "class with entries": (bag, ".b[1][0]"),
        "ordereddict": (ordered, "['me']"),
        "defaultdict": (factory, "['me'][0]"),
        "deque and namedtuple": (queue, "[1].y"),
        "dataclass": (sample, ".bias['again']"),
        "class": (box, "[<flat index 0>]"),
        "below": ({"layers": [1, (2, below)]}, "['layers'][1][1][0]"),
    }


@any_reader
@pytest.mark.parametrize("name", circles())
def test_a_tree_that_contains_itself_is_an_error_naming_where_the_circle_closes(reader, name):
    tree, path = circles()[name]
    with pytest.raises(ValueError, match=r".") as caught:
        reader(tree)
    assert isinstance(caught.value, cp.CircularTreeError)
    assert caught.value.path == path
    assert path in str(caught.value)


SIDE_DEPTHS = [0, 1, 2, 3, 5, 9, 17, 65, 300]


@pytest.mark.parametrize("read", [cp.tree_flatten, cp.tree_leaves, cp.tree_structure, cp.tree_iter])
@pytest.mark.parametrize("depth", SIDE_DEPTHS)
def test_a_circle_is_found_beside_branches_that_go_deep(read, depth):
    side: Any = 0
    for _ in range(depth):
        side = [side]
    calls = iter(range(300_000))

    def guard(obj: Any) -> bool:
        # Ends a walk that goes round for ever before it eats all memory.
        return next(calls) is None

    lists: list = [side]
    lists.append(lists)
    mixed: dict = {"side": side}
    mixed["k"] = [side, (mixed, side)]
    box = Pair(side, None)
    box.b = [box, side]
    for tree, path in [(lists, "[1]"), (mixed, "['k'][1][0]"), (box, "[<flat index 1>][0]")]:
        with pytest.raises(cp.CircularTreeError) as caught:
            list(read(tree, is_leaf=guard))
        assert caught.value.path == path


@pytest.mark.parametrize("read", [cp.tree_flatten, cp.tree_leaves, cp.tree_structure, cp.tree_iter])
@pytest.mark.parametrize("shape", ["below", "before", "behind", "three deep", "wide"])
def test_a_circle_beside_a_very_deep_branch_is_found_soon(read, shape):
    def branch() -> list:
        side: Any = 0
        for _ in range(100_000):
            side = [side]
        return side

    circle: list = []
    circle.append(circle)
    tree: Any = [branch(), circle]
    if shape == "below":
        tree = [branch()]
        tree.append(tree)
    elif shape == "behind":
        tree = []
        tree.extend([tree, branch()])
    elif shape == "three deep":
        tree = [branch(), {"k": (branch(),)}]
        tree.append(Pair(branch(), {"t": tree}))
    elif shape == "wide":
        tree = [branch(), *([0] * 100_000)]
        tree.append(tree)
    visits = 0

    def count(obj: Any) -> bool:
        nonlocal visits
        visits += 1
        return visits > 1_500_000

    with pytest.raises(cp.CircularTreeError):
        list(read(tree, is_leaf=count))
    assert visits < 1_000_000
    if shape != "before":
        tree.clear()
    circle.clear()


def test_flatten_up_to_ends_where_the_structure_ends():
    tree: list = [1]
    tree.append(tree)
    assert cp.tree_structure([0, [0, 0]]).flatten_up_to(tree)[2] is tree


def test_is_leaf_may_keep_out_of_a_circle():
    tree: list = [1]
    tree.append(tree)
    asked = iter([False, False, True])
    assert cp.tree_leaves(tree, is_leaf=lambda x: next(asked))[1] is tree


def test_equal_containers_inside_each_other_are_no_circle():
    inner: list = []
    tree = [[inner], [[inner]], {"a": [inner]}]
    assert cp.tree_leaves(tree) == []
    same = (1,)
    for _ in range(300):
        same = (same, 1)
    assert cp.tree_sum(same) == 301


def test_a_class_that_unfolds_for_ever_can_be_interrupted():
    done = run_python(
        "import signal, threading, time, clika_pytree as cp\n"
        "class Endless: pass\n"
        "cp.register_pytree_node(Endless, lambda e: ((Endless(),), None), lambda c, x: Endless())\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell starts what is in the background without
        "threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()\n"
        "try: cp.tree_leaves(Endless())\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    assert done.stdout == "interrupted\n"
