"""Thousands of random calls in which user code may change, unregister, collect, raise or call back wherever it runs."""

from __future__ import annotations

import gc
import random
import sys
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest

import clika_pytree as cp

ALLOWED = (cp.PyTreeError, LookupError, RuntimeError)


class Group:
    def __init__(self, items: Any = (), context: Any = None) -> None:
        self.items, self.context = list(items), context


class Other(Group):
    pass


class Chaos:
    """Makes random trees, keeps hold of their containers, and now and then does something to one of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.containers: list[Any] = []
        chaos = self

        class Leaf:
            """Every method that the library may call, or cause to be called, can do harm."""

            def __eq__(self, other: object) -> bool:
                chaos.maybe(0.3)
                return self is other

            def __hash__(self) -> int:
                chaos.maybe(0.1)
                return id(self) >> 4

            def __lt__(self, other: object) -> bool:
                chaos.maybe(0.3)
                return id(self) < id(other)

            def __repr__(self) -> str:
                chaos.maybe(0.3)
                return "leaf"

            def __del__(self) -> None:
                chaos.maybe(0.02, may_raise=False)

        self.make_leaf = Leaf

    def maybe(self, chance: float, may_raise: bool = True) -> bool:
        if self.random.random() < chance:
            try:
                self.harm()
            except ALLOWED:
                if may_raise and self.random.random() < 0.5:
                    raise
        return False

    def harm(self) -> None:
        kind = self.random.random()
        if kind < 0.6 and self.containers:
            self.change(self.random.choice(self.containers))
        elif kind < 0.75:
            self.toggle(self.random.choice([Group, Other]))
        elif kind < 0.8:
            gc.collect(0)
        elif kind < 0.9:
            raise LookupError("harm")
        else:
            cp.tree_leaves(self.tree(2), is_leaf=self.callback)

    def change(self, container: Any) -> None:
        kind = self.random.random()
        if kind < 0.3 and container:
            container.popitem() if isinstance(container, dict) else container.pop()
        elif kind < 0.4:
            container.clear()
        elif isinstance(container, dict):
            container[self.random.choice("abcdef")] = self.tree(2)
        elif len(container) < 8:
            container.append(self.tree(2))

    def toggle(self, cls: type) -> None:
        if cp.is_registered(cls):
            cp.unregister_pytree_node(cls)
        else:
            cp.register_pytree_node(cls, self.flatten, lambda children, context: self.unflatten(cls, children, context))

    def flatten(self, group: Group) -> tuple:
        self.maybe(0.3)
        return self.random.choice([list, iter])(group.items), group.context

    def unflatten(self, cls: type, children: tuple, context: Any) -> Any:
        self.maybe(0.3)
        return cls(children, context)

    def callback(self, *leaves: Any) -> bool:
        return self.maybe(0.3)

    def tree(self, depth: int) -> Any:
        if depth <= 0 or self.random.random() < 0.2:
            return self.random.choice([self.make_leaf(), 1, None, "s"])
        items = [self.tree(depth - 1) for _ in range(self.random.randrange(4))]
        context = self.random.choice([None, 1, [1], self.make_leaf(), (self.make_leaf(),)])
        made = self.random.choice(
            [
                lambda: items,
                lambda: tuple(items),
                lambda: {self.random.choice("abcdef"): item for item in items},
                lambda: OrderedDict((self.random.choice("abcdef"), item) for item in items),
                lambda: defaultdict(int, {self.make_leaf(): item for item in items}),
                lambda: deque(items, 8),
                lambda: Group(items, context),
                lambda: Other(items, context),
            ]
        )()
        if isinstance(made, (list, dict, deque)) and len(self.containers) < 60:
            self.containers.append(made)
        return made

    def step(self) -> None:
        tree = self.tree(4)
        self.random.choice(CALLS)(self, tree)

    def run(self, steps: int) -> None:
        for count in range(steps):
            if count % 50 == 0:
                self.containers.clear()
            try:
                self.step()
            except ALLOWED as error:
                error.__traceback__ = None
        self.containers.clear()

    def end(self) -> None:
        for cls in (Group, Other):
            if cp.is_registered(cls):
                cp.unregister_pytree_node(cls)


def rebuild_from_a_list_that_changes(chaos: Chaos, tree: Any) -> None:
    leaves, spec = cp.tree_flatten(tree)
    chaos.containers.append(leaves)
    spec.unflatten(leaves)


def compare(chaos: Chaos, tree: Any) -> None:
    first, second = cp.tree_structure(tree), cp.tree_structure(chaos.random.choice([tree, chaos.tree(4)]))
    assert (first == second) in (True, False)
    assert len({first, second}) in (1, 2)


def take_apart(chaos: Chaos, tree: Any) -> None:
    spec = cp.tree_structure(tree)
    spec.flatten_up_to(tree)
    assert spec.is_prefix(spec.compose(spec))
    assert len(spec.paths()) == spec.num_leaves
    for child in spec.children():
        repr((child.context, child))
    spec.__reduce_ex__(4)


def read_sorted(chaos: Chaos, tree: Any) -> None:
    with cp.dict_insertion_ordered(False):
        cp.tree_structure(tree)
        cp.tree_map(chaos.callback, tree)


def iterate_a_little(chaos: Chaos, tree: Any) -> None:
    leaves = cp.tree_iter(tree, is_leaf=chaos.callback)
    chaos.containers.append([leaves])
    for _ in range(chaos.random.randrange(5)):
        next(leaves, None)


CALLS: list[Callable[[Chaos, Any], Any]] = [
    rebuild_from_a_list_that_changes,
    compare,
    take_apart,
    read_sorted,
    iterate_a_little,
    lambda chaos, tree: cp.tree_flatten(tree, chaos.callback),
    lambda chaos, tree: list(cp.tree_iter(tree)),
    lambda chaos, tree: cp.tree_map(chaos.callback, tree),
    lambda chaos, tree: cp.tree_map(chaos.callback, tree, tree),
    lambda chaos, tree: cp.tree_map(chaos.callback, tree, chaos.tree(4)),
    lambda chaos, tree: cp.tree_map_(chaos.callback, tree, tree),
    lambda chaos, tree: cp.tree_map_only(chaos.callback, chaos.callback, tree),
    lambda chaos, tree: cp.tree_reduce(chaos.callback, tree, 0),
]


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("seed", range(4))
def test_nothing_that_user_code_does_harms_or_leaks(seed):
    chaos = Chaos(seed)

    def work() -> int:
        chaos.run(2500)
        chaos.end()
        gc.collect()
        return sys.getallocatedblocks()

    work()
    before = work()
    for _ in range(2):
        after = work()
    assert after - before < 200  # the random generator, caches of Python: a leak would be thousands


def test_nothing_that_other_threads_do_harms():
    chaos = Chaos(5)
    unexpected: list[BaseException] = []

    def body() -> None:
        try:
            chaos.run(1000)
        except BaseException as error:
            unexpected.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=body) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
        chaos.end()
    assert unexpected == []
