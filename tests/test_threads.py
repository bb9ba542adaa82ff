"""Many threads at once get the results of one, and none of them gets a turn in the middle of a walk."""

from __future__ import annotations

import gc
import itertools
import operator
import pickle
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from classes import every_kind
from helpers import registered

import clika_pytree as cp

THREADS = 16


def own_class(number: int) -> type:
    return type(f"Own{number}", (), {"__init__": lambda self, *items: setattr(self, "items", items)})


def work(number: int, cls: type) -> list:
    """What a thread does in one round, and sees."""
    tree = {"shared": every_kind(), "own": [cls(number, [cls(1, 2)]), number]}
    before = cp.tree_leaves(tree["own"])
    seen: list[Any] = [before[0] is tree["own"][0], len(before)]
    with registered(cls, lambda obj: (obj.items, number), lambda items, _: cls(*items)):
        leaves, spec = cp.tree_flatten(tree)
        doubled = cp.tree_map(lambda leaf: [leaf, leaf], tree)
        again = pickle.loads(pickle.dumps(cp.tree_structure(tree["shared"])))
        seen += [
            [repr(leaf) for leaf in leaves],
            repr(spec),
            len(cp.tree_leaves(doubled)),
            spec == cp.tree_structure(spec.unflatten(leaves)),
            again == cp.tree_structure(every_kind()),
            hash(again) == hash(cp.tree_structure(every_kind())),
            cp.tree_structure(tree["own"]).paths(),
            spec.num_nodes,
        ]
        with cp.dict_insertion_ordered(number % 2 == 0):
            seen.append(cp.tree_leaves({"b": 1, "a": 2}))
    seen.append(cp.is_registered(cls))
    return seen


@pytest.mark.usefixtures("taking_turns")
def test_sixteen_threads_get_the_results_of_one():
    classes = [own_class(number) for number in range(THREADS)]
    expected = [work(number, cls) for number, cls in enumerate(classes)]
    wrong: list[Any] = []
    start = threading.Barrier(THREADS)

    def body(number: int) -> None:
        try:
            start.wait()
            for _ in range(10):
                seen = work(number, classes[number])
                if seen != expected[number]:
                    wrong.append((number, seen))
        except BaseException as error:
            wrong.append((number, error))

    threads = [threading.Thread(target=body, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.usefixtures("taking_turns")
def test_one_of_many_threads_registers_a_class():
    cls = own_class(0)
    outcomes: list[str] = []
    start = threading.Barrier(THREADS)

    def body() -> None:
        start.wait()
        try:
            cp.register_pytree_node(cls, lambda obj: (obj.items, None), lambda items, _: cls(*items))
            outcomes.append("registered")
        except cp.RegistrationError:
            outcomes.append("refused")

    threads = [threading.Thread(target=body) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cp.unregister_pytree_node(cls)
    assert sorted(outcomes) == ["refused"] * (THREADS - 1) + ["registered"]


@pytest.fixture(scope="module")
def walks() -> dict[str, Callable[[], Any]]:
    tree, other = ([{"k": i, "pair": (i, [i])} for i in range(50_000)] for _ in range(2))
    leaves, spec = cp.tree_flatten(tree)
    # The mapped functions are written in C: the interpreter lets no other thread run in them.
    return {
        "flatten": partial(cp.tree_flatten, tree),
        "leaves": partial(cp.tree_leaves, tree),
        "structure": partial(cp.tree_structure, tree),
        "map": partial(cp.tree_map, operator.not_, tree),
        "map of two trees": partial(cp.tree_map, operator.is_, tree, tree),
        "unflatten": partial(spec.unflatten, leaves),
        "flatten up to": partial(spec.flatten_up_to, tree),
        "prefix": partial(spec.is_prefix, cp.tree_structure(other)),
        "print": partial(repr, spec),
        "pickle": spec.__reduce__,
    }


def longest_share(*works: Callable[[], Any]) -> float:
    """The longest part of the work, of all of its processor time, in which no other thread had a turn."""
    turns: list[float] = []
    clock = time.pthread_getcpuclockid(threading.get_ident())
    stop = threading.Event()

    def body() -> None:
        while not stop.is_set():
            turns.append(time.clock_gettime(clock))

    def wait_for_a_turn() -> None:
        had = len(turns)
        while len(turns) == had:
            time.sleep(0.0001)

    thread = threading.Thread(target=body)
    thread.start()
    # A collection calls what is in gc.callbacks, where hypothesis has a function of its own: Python code has turns.
    gc.disable()
    try:
        wait_for_a_turn()
        before = time.thread_time()
        # What a work makes is freed when the time is over: that is not a part of it.
        made = []
        for work in works:
            made.append(work())
            wait_for_a_turn()
        after = time.thread_time()
    finally:
        gc.enable()
        stop.set()
        thread.join()
    moments = [before, *(turn for turn in turns if before < turn < after), after]
    return max(b - a for a, b in itertools.pairwise(moments)) / (after - before)


WALKS = ("flatten", "leaves", "structure", "map", "map of two trees", "unflatten", "flatten up to", "prefix", "print")


@pytest.mark.usefixtures("taking_turns")
@pytest.mark.parametrize("name", [*WALKS, "pickle"])
def test_no_other_thread_gets_a_turn_in_the_middle_of_a_walk(name, walks):
    assert any(longest_share(walks[name]) > 0.9 for _ in range(5))


@pytest.mark.usefixtures("taking_turns")
def test_a_turn_in_the_middle_would_be_seen(walks):
    assert not any(longest_share(walks["flatten"], walks["flatten"]) > 0.9 for _ in range(5))
