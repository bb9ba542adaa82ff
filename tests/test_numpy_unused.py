"""Operations whose results nobody uses: those that can raise are part of a graph, others are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from recorded import same

import clika_pytree as crt

CALLS = [np.eye(2), -np.eye(2) * 5, np.zeros((2, 2)), np.full((2, 2), 2.0)]


def stored(x: Any, value: Any) -> None:
    made = x * 1
    made[x[0].astype(int)] = value


CHECKS: dict[str, Callable[[Any], Any]] = {
    "cholesky": np.linalg.cholesky,
    "inverse": np.linalg.inv,
    "solve": lambda x: np.linalg.solve(x, x[0]).sum(),
    "index": lambda x: x[x[0].astype(int)],
    "store": lambda x: stored(x, 3),
    "take": lambda x: np.take(x, x.astype(int)),
    "take method": lambda x: x.take(x.astype(int)),
    "choose": lambda x: np.choose(x.astype(int), [x, x]),
    "bincount": lambda x: np.bincount(x[0].astype(int)),
    "repeat": lambda x: np.repeat(x, x.astype(int).ravel()),
    "power of integers": lambda x: x.astype(int) ** x.astype(int),
    "ravel_multi_index": lambda x: np.ravel_multi_index((x[0].astype(int), x[1].astype(int)), (3, 3)),
    "at": lambda x: np.add.at(np.zeros_like(x), x[0].astype(int), 1),
    "objects": lambda x: np.frompyfunc(lambda v: 1 // int(v), 1, 1)(x),
    "text": lambda x: np.strings.replace(x.astype("U4"), "-5.0", "no").astype(float),
    "asked for": lambda x: raised_at_zero(x),
}


def raised_at_zero(x: Any) -> Any:
    with np.errstate(divide="raise"):
        return 1 / x.sum()


def result_of(function: Callable[[Any], Any], x: Any) -> Any:
    try:
        return function(x.copy())
    except Exception as error:
        return repr(error)


# Earlier numpy looks at the elements of an array for these functions.
if np.lib.NumpyVersion(np.__version__) < "2.3.0":
    del CHECKS["text"]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CHECKS)
def test_what_can_raise_raises_though_nobody_uses_it(name: str, dynamic: bool) -> None:
    def function(x: Any) -> Any:
        CHECKS[name](x)
        return x * 2

    outcomes = set()
    for first in CALLS:
        eager = result_of(function, first)
        compiled = crt.compile(function, dynamic=dynamic)
        assert same(result_of(compiled, first), eager)
        if isinstance(eager, str):
            continue
        for x in CALLS:
            expected = result_of(function, x)
            outcomes.add(type(expected))
            assert same(result_of(compiled, x), expected)
        assert compiled.cache_info().currsize == 1
    assert outcomes == {np.ndarray, str}


@pytest.mark.parametrize(
    "unused",
    [
        np.exp,
        np.transpose,
        lambda x: x[::-1] * 3 + 1,
        lambda x: x.sum(axis=0, keepdims=True),
        lambda x: np.where(x > 1, x, 0),
        lambda x: np.stack([x, x]),
        lambda x: x[x > 1],
        lambda x: x @ x,
        lambda x: x[np.array([1, 0])],
        lambda x: x.astype("f4").copy(),
        lambda x: np.add(x, 1, out=np.empty_like(x)),
    ],
    ids=range(11),
)
def test_what_cannot_raise_is_left_out(unused: Callable[[Any], Any]) -> None:
    def function(x: Any) -> Any:
        unused(x)
        return x * 2

    compiled = crt.compile(function)
    compiled(CALLS[0])
    assert [row.nodes for row in compiled.graphs()] == [1]


def test_a_function_made_while_errors_are_raised_keeps_what_can_have_one() -> None:
    def function(x: Any) -> Any:
        np.log(x)
        return x * 2

    compiled = crt.compile(function)
    with np.errstate(all="raise"):
        compiled(CALLS[3])
        with pytest.raises(FloatingPointError, match="divide by zero encountered in log"):
            compiled(CALLS[2])


def test_shapes_that_do_not_fit_raise_though_nobody_uses_the_result() -> None:
    def function(x: Any) -> Any:
        x + np.ones(3)
        x @ np.ones(3)
        x.reshape(3, 1)
        return x * 2

    compiled = crt.compile(function, dynamic=True)
    for size in (3, 1, 2, 4):
        assert same(result_of(compiled, np.ones(size)), result_of(function, np.ones(size)))
    assert compiled.cache_info().currsize == 1
