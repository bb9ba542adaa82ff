"""What a compiled function writes to: arguments that overlap as numpy does, and never the results of another call."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from guarded import alike

import clika_pytree as cp

# Arrays of the second size are computed in blocks, and in memory that is used again.
SIZES = [4, 3000]


def numbers(rows: int) -> Any:
    return np.random.default_rng(rows).standard_normal((rows, 3))


PAIRS: dict[str, Callable[[int], tuple[Any, Any]]] = {
    "apart": lambda rows: (numbers(rows), numbers(rows) * 2),
    "the same": lambda rows: (numbers(rows),) * 2,
    "reversed": lambda rows: (lambda a: (a, a[::-1]))(numbers(rows)),
    "shifted": lambda rows: (lambda a: (a[1:], a[:-1]))(numbers(rows + 1)),
    "every second": lambda rows: (lambda a: (a[::2], a[1::2]))(numbers(2 * rows)),
}


def adds(x: Any, y: Any) -> Any:
    x += 1
    return x * 2 + y


def copies_backwards(x: Any, y: Any) -> Any:
    y[...] = x[::-1] * 2
    return x + y


def by_out(x: Any, y: Any) -> Any:
    np.add(x, y, out=x)
    np.tanh(x, out=y)
    return x - y


def writes_then_changes(x: Any, y: Any) -> Any:
    z = x * 2 + 1
    x[...] = z - y
    z += y
    return z, x


def clears(x: Any, y: Any) -> Any:
    z = np.sqrt(x * x) + y
    y *= 0
    return z + y


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function", [adds, copies_backwards, by_out, writes_then_changes, clears])
def test_arguments_that_overlap_are_left_as_numpy_leaves_them(function, dynamic):
    for rows, first in itertools.product(SIZES, PAIRS):
        compiled = cp.compile(function, dynamic=dynamic)
        for kind in (first, *PAIRS):
            given, wanted = PAIRS[kind](rows), PAIRS[kind](rows)
            results = compiled(*given), given
            assert alike(results, (function(*wanted), wanted)), (first, kind, rows)


def many_results(x: Any, w: Any) -> Any:
    """Views of what is computed on the way, among others."""
    y = np.exp(-np.square(2 * x + 1))
    z = (y * x + y - 0.5 * x) @ w
    a = np.tanh(z) * 2 + z
    return {"views": (a.T, a[::2]), "y": y, "sums": [z.sum(0), a.mean()]}


def calls() -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    w = rng.standard_normal((64, 32), np.float32)
    return [(rng.standard_normal((rows, 64), np.float32), w) for rows in (100, 1000, 3000, 50, 1000, 2000)]


def test_results_are_not_touched_by_later_calls():
    compiled = cp.compile(many_results, dynamic=True)
    results = [compiled(*call) for call in calls()]
    for result, call in zip(results, calls(), strict=True):
        assert alike(result, many_results(*call))
    arrays = [[leaf for leaf in cp.tree_leaves(result) if isinstance(leaf, np.ndarray)] for result in results]
    for one, other in itertools.combinations(arrays, 2):
        assert not any(np.shares_memory(a, b) for a in one for b in other)


def test_threads_that_run_one_graph_do_not_share_memory():
    compiled = cp.compile(many_results, dynamic=True)
    wanted = [many_results(*call) for call in calls()]
    wrong: list[Any] = []

    def body(number: int) -> None:
        given = calls()
        places = np.random.default_rng(number).integers(0, len(given), 15).tolist()
        wrong.extend(place for place in places if not alike(compiled(*given[place]), wanted[place]))

    threads = [threading.Thread(target=body, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert compiled.cache_info().currsize == 1


def test_a_result_is_the_caller_s_to_write_to():
    """Arrays that a function makes without any tensor are constants of the graph, and new ones in each result."""
    table = np.arange(3.0)

    def function(x: Any) -> Any:
        zeros = np.zeros(3)
        made = {"zeros": zeros, "view": zeros[1:], "again": np.reshape(np.ones(4), (x.shape[0], -1))}
        return x + table, table * 2, made, np.asfortranarray(np.eye(2))

    compiled = cp.compile(function, dynamic=True)
    for rows in (2, 2, 1, 4):
        results = compiled(np.ones((rows, 3)))
        assert alike(results, function(np.ones((rows, 3))))
        for leaf in cp.tree_leaves(results):
            leaf += 7


def test_a_captured_array_comes_back_as_itself():
    table = np.arange(3.0)
    compiled = cp.compile(lambda x: (x + table, table, table[1:]))
    for _ in range(3):
        _, whole, part = compiled(np.zeros(3))
        assert whole is table
        assert np.shares_memory(part, table)
