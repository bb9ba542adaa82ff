"""Ctrl-C is answered soon, whatever the library is doing, and leaves nothing half-done."""

from __future__ import annotations

import ctypes
import gc
import itertools
import operator
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers import SLOWDOWN
from large import IN_PYTHON, NOT_FOR, OPERATIONS, TREES

import clika_pytree as cp

QUICK = 0.05 * SLOWDOWN
SOON = 0.2 * SLOWDOWN


@pytest.fixture(autouse=True)
def no_collections() -> Iterator[None]:
    """A collection of all objects takes its time, too, and comes when it likes."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def press_ctrl_c_before(operation: Callable[[], Any]) -> bool:
    """Whether the operation saw that Ctrl-C was pressed right before it.

    Both are called from C, so that the interpreter itself has no time to look.
    """
    press = ctypes.pythonapi.PyErr_SetInterrupt
    press.restype = None
    results: list = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        results.extend(map(operator.methodcaller("__call__"), [press, operation]))
        for _ in range(10):  # at a jump back the interpreter looks
            pass
    except KeyboardInterrupt:
        return len(results) == 1
    finally:
        signal.signal(signal.SIGINT, before)
    raise AssertionError("nobody looked at the signal")


def counts(tree: Any) -> list[int]:
    """How many references there are to the tree and to some objects in it."""
    seen = [tree, *gc.get_referents(tree)[:5]]
    seen += [below for each in seen[1:] for below in gc.get_referents(each)[:5]]
    return [sys.getrefcount(each) for each in seen if not isinstance(each, (int, type))]


NOT_EVERY_TIME = ("odd keys", "ordered", "deque", "chain")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in NOT_EVERY_TIME else ()) for name in TREES]
)
def test_every_operation_looks_at_signals_on_its_way(name):
    tree, twin = TREES[name](150_000), TREES[name](150_000)
    missed = []
    for operation, prepare in OPERATIONS.items():
        if operation in NOT_FOR.get(name, ()):
            continue
        before = counts(tree)
        work = prepare(tree, twin)
        start = time.process_time()
        if not press_ctrl_c_before(work) and time.process_time() - start > QUICK:
            missed.append(operation)
        del work
        assert counts(tree) == before, operation
    assert missed == []
    assert cp.tree_flatten(tree) == cp.tree_flatten(twin)


def longest_wait(work: Callable[[], Any]) -> float:
    """How long a signal had to wait at most, of many that came one after the other. In processor time."""
    answers = [time.process_time()]
    before = signal.signal(signal.SIGPROF, lambda number, frame: answers.append(time.process_time()))
    signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
    try:
        result = work()
        answers.append(time.process_time())  # freeing the result is CPython's work
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    del result
    return max(after - before for before, after in itertools.pairwise(answers))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", TREES)
def test_every_operation_answers_soon(name, operation):
    size = 10_000_000 if name in ("leaves", "deque") else 1_000_000
    if operation in NOT_FOR.get(name, ()):
        with pytest.raises((cp.PyTreeError, RecursionError)):
            OPERATIONS[operation](TREES[name](size), None)()
        return
    if operation in IN_PYTHON:
        size //= 20
    tree, twin = TREES[name](size), TREES[name](size)
    assert longest_wait(OPERATIONS[operation](tree, twin)) < SOON


def time_until_given_up(work: Callable[[], Any]) -> float:
    """In processor time, from Ctrl-C on."""
    start = time.process_time()
    assert press_ctrl_c_before(work)
    return time.process_time() - start


@pytest.mark.parametrize("operation", ["map", "map of two trees", "iter", "paths", "print"])
def test_an_operation_on_ten_million_leaves_is_given_up_soon(operation):
    leaves = [0] * 10_000_000
    # The first to touch 80 MB waits for the system to give them, which a busy machine does slowly: CPython's own loop.
    attempts = (time_until_given_up(OPERATIONS[operation](leaves, leaves)) for _ in range(3))
    assert any(took < SOON for took in attempts)
