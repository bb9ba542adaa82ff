"""Compiled functions in several threads: a graph is made once, and nobody waits for ever."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import clika_pytree as crt

X = np.arange(6.0).reshape(2, 3)
LONG = 60  # seconds: a test that takes this long has failed


@pytest.fixture(autouse=True)
def _often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(count: int, work: Callable[[int], Any]) -> list[Any]:
    """Start the work in several threads at one moment."""
    start = threading.Barrier(count)

    def begin(number: int) -> Any:
        start.wait(LONG)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return [future.result(LONG) for future in [pool.submit(begin, number) for number in range(count)]]


@pytest.mark.parametrize("dynamic", [False, True])
def test_one_new_key_is_traced_once(dynamic: bool) -> None:
    calls: list[Any] = []
    inside = threading.Event()

    @crt.compile(dynamic=dynamic)
    def step(tree: Any, mode: str) -> Any:
        calls.append(mode)
        inside.wait(0.2)  # the others arrive meanwhile
        return tree["x"].sum(0) / 2

    results = together(6, lambda number: step({"x": X + number}, "train"))
    assert calls == ["train"]
    assert all((result == (X + number).sum(0) / 2).all() for number, result in enumerate(results))
    info = step.cache_info()
    assert info.currsize == 1
    assert info.hits + info.misses >= 6


def test_other_keys_go_on_meanwhile() -> None:
    inside, go_on = threading.Event(), threading.Event()

    @crt.compile
    def step(x: Any, mode: str) -> Any:
        if mode == "slow":
            inside.set()
            assert go_on.wait(LONG)
        return x + 1

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(step, X, "slow")
        assert inside.wait(LONG)
        assert (step(X, "fast") == X + 1).all()
        assert (step(X[:1], "slow2") == X[:1] + 1).all()
        assert not slow.done()
        go_on.set()
        assert (slow.result(LONG) == X + 1).all()


def test_a_trace_that_waits_for_another_thread_with_another_key() -> None:
    pool = ThreadPoolExecutor(1)

    @crt.compile
    def step(x: Any, n: int) -> Any:
        return x + (n if n == 0 else len(pool.submit(step, X, n - 1).result(LONG)))

    assert (step(X, 1) == X + 2).all()
    pool.shutdown()


def test_a_trace_that_fails_lets_the_others_try() -> None:
    failures = [True, True, False]
    lock = threading.Lock()

    @crt.compile
    def step(x: Any) -> Any:
        with lock:
            fails = failures.pop(0) if failures else False
        if fails:
            raise OSError("not now")
        return x * 2

    def work(number: int) -> Any:
        try:
            return step(X)
        except OSError as error:
            return error

    results = together(5, work)
    assert sum(isinstance(result, OSError) for result in results) == 2
    assert step.cache_info().currsize == 1


def test_many_threads_and_keys() -> None:
    made: list[int] = []

    @crt.compile(max_graphs=8)
    def step(x: Any, n: int) -> Any:
        made.append(n)
        return x * n

    def work(number: int) -> None:
        for turn in range(60):
            n = (number + turn) % 6
            assert (step(X, n) == X * n).all()

    together(4, work)
    assert sorted(made) == [0, 1, 2, 3, 4, 5]
    info = step.cache_info()
    assert (info.currsize, info.hits) == (6, 4 * 60 - 6)


def test_clearing_and_evicting_meanwhile() -> None:
    @crt.compile(max_graphs=2)
    def step(x: Any, n: int) -> Any:
        return {"y": x * n, "n": n}

    def work(number: int) -> None:
        for turn in range(80):
            if number == 0 and turn % 9 == 0:
                step.clear()
            n = (number * turn) % 5
            got = step(X, n)
            assert (got["y"] == X * n).all()
            assert got["n"] == n
            step.graphs(), step.explain(X, 77), step.explain([X], 77), step.cache_info()

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", crt.RecompileWarning)
        together(3, work)
    assert step.cache_info().currsize <= 2


def test_a_recording_is_that_of_its_thread_alone() -> None:
    """While one thread traces, another one runs graphs and waits for tensors."""
    inside, go_on = threading.Event(), threading.Event()
    ready = crt.compile(lambda x: x + 1)
    ready(X)

    @crt.compile
    def slow(x: Any) -> Any:
        inside.set()
        assert go_on.wait(LONG)
        return x

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(slow, X)
        assert inside.wait(LONG)
        crt.eval(X)
        assert (ready(X) == X + 1).all()
        assert ready.cache_info() == (1, 1, 64, 1)
        go_on.set()
        assert future.result(LONG) is X


def test_a_step_in_a_pool_is_refused_at_the_line_that_waits_for_it() -> None:
    """Nobody's line is in the threads of a pool: what they run is a compiled function."""
    double = crt.compile(np.square)

    @crt.compile
    def step(x: Any) -> Any:
        with ThreadPoolExecutor(1, thread_name_prefix="worker") as pool:
            return list(pool.map(double, [x, x + 1]))  # this line

    with pytest.raises(
        crt.RecordingError, match="used in another thread, 'worker_0', and a graph runs in one"
    ) as caught:
        step(X)
    assert f"at {__file__}:" in str(caught.value)
    assert "# this line" in str(caught.value)
    assert double(X).tolist() == (X * X).tolist()


def test_compiled_functions_in_a_pool_while_another_one_is_recorded() -> None:
    double = crt.compile(lambda x: x * 2)

    @crt.compile
    def step(x: Any) -> Any:
        with ThreadPoolExecutor(2) as pool:
            return x + sum(pool.map(double, [X, X + 1, X]))

    assert step(X).tolist() == step(X).tolist() == (X + X * 6 + 2).tolist()
    assert double.cache_info().currsize == 1
