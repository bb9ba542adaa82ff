"""Compiled functions in the hands of many threads: traces side by side, graphs that go while others look for them."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clika_pytree as cp

THREADS = 8


def together(*bodies: Callable[[], Any]) -> list[Any]:
    """What each returns or raises, all of them running at once."""
    outcomes: list[Any] = [None] * len(bodies)
    start = threading.Barrier(len(bodies))

    def run(number: int) -> None:
        try:
            start.wait()
            outcomes[number] = bodies[number]()
        except BaseException as error:
            outcomes[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(bodies))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_calls_with_different_keys_are_traced_at_the_same_time():
    both = threading.Barrier(2)

    @cp.compile
    def function(x: Any, k: int) -> Any:
        both.wait(timeout=60)  # broken where one trace has to wait for the other
        return x + k

    one, two = together(lambda: function(np.zeros(2), 1), lambda: function(np.zeros(2), 2))
    assert (one == 1).all()
    assert (two == 2).all()


def test_two_functions_are_traced_at_the_same_time():
    both = threading.Barrier(2)

    def function(x: Any) -> Any:
        both.wait(timeout=60)
        return np.exp(x)

    functions = [cp.compile(function), cp.compile(function)]
    for outcome in together(*[lambda f=f: f(np.zeros(2)) for f in functions]):
        assert (outcome == 1).all()


def test_a_function_that_calls_itself_compiled_while_it_is_traced():
    @cp.compile
    def function(x: Any, depth: int) -> Any:
        return x if depth == 0 else function(x + 1, depth - 1)

    for outcome in together(*[lambda: function(np.zeros(2), 3)] * THREADS):
        assert (outcome == 3).all()


def hammer(compiled: Any, number: int, rounds: int) -> Callable[[], None]:
    """Calls in a random order, each held against what it has to give."""
    order = np.random.default_rng(number).integers(0, 12, rounds)

    def body() -> None:
        for k in order.tolist():
            x = np.full(k % 3 + 1, float(number))
            result, names = compiled({"x": x, "k": k}, bias=None if k % 2 else x)
            assert names == ["k", k]
            assert (result == x * k + (0 if k % 2 else x)).all()

    return body


def target(tree: dict, *, bias: Any = None) -> Any:
    result = tree["x"] * tree["k"]
    return (result if bias is None else result + bias), ["k", tree["k"]]


@pytest.mark.usefixtures("taking_turns")
@pytest.mark.parametrize("dynamic", [False, True])
def test_finding_making_and_throwing_away(dynamic):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cp.RecompileWarning)
        compiled = cp.compile(target, dynamic=dynamic, max_graphs=5)
        outcomes = together(*[hammer(compiled, number, 100) for number in range(THREADS)])
    assert outcomes == [None] * THREADS
    info = compiled.cache_info()
    assert info.currsize == 5
    assert info.hits + info.misses >= THREADS * 100
    assert info.misses >= 12


@pytest.mark.usefixtures("taking_turns")
def test_a_thread_that_forgets_all_graphs_meanwhile():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cp.RecompileWarning)
        compiled = cp.compile(target, max_graphs=5)
        ended = threading.Event()

        def forget() -> None:
            while not ended.wait(0.001):
                compiled.clear()
                compiled.graphs()
                str(compiled.explain({"x": np.ones(7), "k": 3}, bias=None))

        def work() -> list[Any]:
            try:
                return together(*[hammer(compiled, number, 50) for number in range(THREADS - 1)])
            finally:
                ended.set()

        forgot, worked = together(forget, work)
    assert forgot is None
    assert worked == [None] * (THREADS - 1)
    assert compiled.cache_info().currsize <= 5


class Slow:
    """A value whose comparison lets the other threads run."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        time.sleep(0)
        return isinstance(other, Slow) and self.number == other.number

    def __hash__(self) -> int:
        time.sleep(0)
        return 1  # all of them have to be compared


@pytest.mark.usefixtures("taking_turns")
def test_values_whose_comparison_lets_other_threads_run():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cp.RecompileWarning)
        compiled = cp.compile(lambda x, k: (x + k.number, k.number), max_graphs=3)

        def body(number: int) -> None:
            for k in np.random.default_rng(number).integers(0, 6, 40).tolist():
                result, found = compiled(np.zeros(1), Slow(k))
                assert (found, result[0]) == (k, k)

        outcomes = together(*[lambda n=n: body(n) for n in range(THREADS)])
    assert outcomes == [None] * THREADS
    assert compiled.cache_info().currsize == 3
