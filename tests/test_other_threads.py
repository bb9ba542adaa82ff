"""Another thread changes a tree while it is read: no crash, no lost reference, no stranger among the leaves.

The result is a sound one, or there is an error that names the path. Each operation is tried for a moment, and for ten
seconds where that is asked for (`-m slow`).
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from classes import Pair, Point, Sample
from helpers import notes, registered

import clika_pytree as cp


class Leaf:
    """What stands in the tree: known by its class, counted by its references."""


class Shelf:
    """Registered with a flatten function in Python, in which threads take turns."""

    def __init__(self, items: list) -> None:
        self.items = items


class Changing:
    """A tree of every kind of container that can change, and the hand that changes it."""

    def __init__(self) -> None:
        self.pool = [Leaf() for _ in range(40)]
        one = iter(self.pool)
        self.dict = {f"k{i}": next(one) for i in range(6)}
        self.list = [next(one) for _ in range(6)]
        self.deque = deque(next(one) for _ in range(6))
        self.ordered = OrderedDict((f"o{i}", next(one)) for i in range(6))
        self.default = defaultdict(list, {f"d{i}": next(one) for i in range(6)})
        self.shelf = Shelf([next(one) for _ in range(4)])
        self.sample = Sample(next(one), next(one), "name")
        self.point = Point([next(one)], {"x": next(one)})
        self.tree = {
            "first": [Pair(self.shelf, self.sample), self.dict],
            "list": self.list,
            "more": (self.deque, self.ordered, self.default),
            "point": self.point,
        }

    def change(self) -> None:
        for of in (self.dict, self.ordered, self.default, self.point.y):
            for key in [*of]:
                of[key] = of.pop(key)
            kept = dict(of)
            of.clear()
            of.update(kept)
        for items in (self.list, self.deque, self.shelf.items, self.point.x):
            items.append(items.pop())
            items.reverse()
            kept = [*items]
            items.clear()
            items.extend(kept)
        self.sample.weight, self.sample.bias = self.sample.bias, self.sample.weight


@contextmanager
def another_thread(work: Callable[[], None]) -> Iterator[None]:
    """Does the work again and again on another thread, which gets its turn as often as can be."""
    stop, failed = threading.Event(), []

    def body() -> None:
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=body)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert failed == []


def stop_never(obj: Any) -> bool:
    return False


def keep(*leaves: Any) -> Any:
    return leaves[-1]


def read_sorted(changing: Changing) -> Any:
    with cp.dict_insertion_ordered(False):
        return cp.tree_leaves(changing.tree, is_leaf=stop_never)


def of_nothing(deed: Callable[[Any], Any]) -> Callable[[Changing], Any]:
    """An operation whose result holds no leaves."""

    def operation(changing: Changing) -> list:
        deed(changing.tree)
        return []

    return operation


OPERATIONS: dict[str, Callable[[Changing], Any]] = {
    "flatten": lambda c: cp.tree_flatten(c.tree)[0],
    "flatten with is_leaf": lambda c: cp.tree_flatten(c.tree, is_leaf=stop_never)[0],
    "flatten by sorted key": read_sorted,
    "leaves": lambda c: cp.tree_leaves(c.tree),
    "iter": lambda c: list(cp.tree_iter(c.tree)),
    "structure": of_nothing(lambda tree: hash(cp.tree_structure(tree))),
    "paths": of_nothing(cp.tree_paths),
    "map": lambda c: cp.tree_map(keep, c.tree),
    "map for effect": lambda c: cp.tree_leaves(cp.tree_map_(keep, c.tree)),
    "map of two trees": lambda c: cp.tree_map(keep, c.tree, c.tree),
    "map for effect of two trees": lambda c: cp.tree_leaves(cp.tree_map_(keep, c.tree, c.tree)),
    "map some": lambda c: cp.tree_map_only(Leaf, keep, c.tree),
    "map with path": lambda c: cp.tree_map_with_path(keep, c.tree),
    "flatten with path": lambda c: [leaf for _, leaf in cp.tree_flatten_with_path(c.tree)[0]],
    "leaves with path": lambda c: [leaf for _, leaf in cp.tree_leaves_with_path(c.tree)],
    "flatten up to": lambda c: cp.tree_structure(c.tree).flatten_up_to(c.tree),
    "unflatten": lambda c: cp.tree_structure([0] * 6).unflatten(c.list),
    "broadcast prefix": lambda c: cp.tree_broadcast_prefix(c.tree, c.tree),
    "broadcast common": lambda c: cp.tree_broadcast_common(c.tree, c.tree),
    "broadcast map": lambda c: cp.tree_broadcast_map(keep, c.tree, c.tree),
    "transpose map": lambda c: cp.tree_leaves(cp.tree_transpose_map(lambda leaf: [leaf], c.tree)),
    "partition and combine": lambda c: cp.tree_combine(*cp.tree_partition(stop_never, c.tree)),
    "reduce": lambda c: [cp.tree_reduce(keep, c.tree)],
    "all": of_nothing(cp.tree_all),
    "one level": lambda c: [leaf for part in c.tree["more"] for leaf in cp.tree_flatten_one_level(part)[0]],
    "diff": of_nothing(lambda tree: cp.tree_diff(tree, [tree], leaves=True)),
    "summary": of_nothing(lambda tree: repr(cp.tree_summary(tree))),
}


def try_for(seconds: float, operation: Callable[[Changing], Any]) -> None:
    changing = Changing()
    gc.collect()
    references = [sys.getrefcount(leaf) for leaf in changing.pool]
    until, tries = time.monotonic() + seconds, 0
    with (
        registered(Shelf, lambda shelf: ([*shelf.items], None), lambda items, _: Shelf([*items])),
        another_thread(changing.change),
    ):
        while time.monotonic() < until or tries < 5:
            tries += 1
            try:
                leaves = operation(changing)
                leaves = leaves if type(leaves) is list else cp.tree_leaves(leaves)
            except (cp.PyTreeError, RuntimeError) as error:
                # A container that changed under its own iterator, or two readings of one tree that differ.
                said = f"{error}\n{notes(error)}"
                assert getattr(error, "path", None) is not None or " at " in said or "expected" in said, said
                del error, said
            else:
                assert {type(leaf) for leaf in leaves} <= {Leaf}
                leaves = None
    gc.collect()
    assert [sys.getrefcount(leaf) for leaf in changing.pool] == references


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_tree_that_another_thread_changes(operation):
    try_for(0.2, operation)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_tree_that_another_thread_changes_for_ten_seconds(operation):
    try_for(10, operation)
