"""Random programs of numpy calls: what a graph computes equals what numpy computes, bit by bit."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorded import check, copies

from clika_pytree.runtimes.numpy import blocks, record, scratch

DTYPES = ["float64", "float32", "int64", "int32", "uint8", "bool", "complex128", ">f8", "float16"]
UNARY = [np.exp, np.negative, np.sqrt, np.abs, np.sin, np.floor, np.square, np.tanh, np.logical_not, np.isnan]
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
BINARY += [operator.lt, operator.eq, operator.matmul, np.maximum, np.minimum, np.hypot, np.arctan2, np.fmod, np.add]
IN_PLACE = [operator.iadd, operator.imul, operator.isub, operator.itruediv]
SCALARS = [2, 0.5, -1, True, 3.0, np.float32(1.5), 1]
REDUCTIONS = ["sum", "max", "mean", "prod", "argmax", "any", "std", "min"]


def step(pool: list[Any], kind: str, a: int, b: int, c: int) -> Any:
    """One instruction on the values there are so far."""
    x, y = pool[a % len(pool)], pool[b % len(pool)]
    scalar = SCALARS[b % len(SCALARS)]
    axis = (None, 0, -1)[b % 3]
    if kind == "unary":
        return UNARY[c % len(UNARY)](x)
    if kind == "binary":
        return BINARY[c % len(BINARY)](x, y)
    if kind == "scalar":
        return BINARY[c % len(BINARY)](x, scalar)
    if kind == "swapped":
        return BINARY[c % len(BINARY)](scalar, x)
    if kind == "in place":
        return IN_PLACE[c % len(IN_PLACE)](x, y if c % 2 else scalar)
    if kind == "reduce":
        return getattr(x, REDUCTIONS[c % len(REDUCTIONS)])(axis=axis, keepdims=bool(a % 2))
    if kind == "view":
        return (x.T, x[::-1], x[1:], x[..., :1], x.reshape(-1), x.real, x[::2], x.ravel(), x[None], x.squeeze(0))[
            c % 10
        ]
    if kind == "make":
        makers = (
            lambda: np.where(x > 1, x, y),
            lambda: np.concatenate([x, y]),
            lambda: np.stack([x, x]),
            lambda: x.astype("float32"),
            lambda: np.cumsum(x, axis=axis),
            lambda: np.sort(x, axis=-1),
            lambda: x.copy(),
            lambda: np.clip(x, 0, 2),
            lambda: x / x.shape[0],
            lambda: x.reshape(x.shape[0], -1),
            lambda: np.zeros_like(x),
            lambda: x.copy("F"),
            lambda: np.copy(x, "F"),
            lambda: np.zeros_like(x, order="F"),
            lambda: x.astype("f8", "F"),
            lambda: np.concatenate([x, x], axis=-1),
            lambda: np.add(x, y, out=np.empty_like(x)),
        )
        return makers[c % len(makers)]()
    target = (x, x[0], x[..., 0])[c % 3]
    target[...] = y if c % 2 else scalar
    return None


def program(steps: list[Any], skipped: set[int]) -> Any:
    """A function of arrays that does the steps that are not skipped, and gives the values that are left."""

    def function(*arrays: Any) -> list[Any]:
        pool = list(arrays)
        for index, (kind, a, b, c) in enumerate(steps):
            if index not in skipped:
                made = step(pool, kind, a, b, c)
                if made is not None:
                    pool.append(made)
        return [*pool[-3:], pool[0]]

    return function


def runs(function: Any, arrays: list[Any]) -> bool:
    try:
        function(*copies(arrays))
    except (ValueError, TypeError, IndexError, OverflowError):
        return False
    return True


def possible(steps: list[Any], arrays: list[Any]) -> Any:
    """The program of the steps that can be done with these arrays."""
    skipped = set(range(len(steps)))
    for index in range(len(steps)):
        if runs(program(steps, skipped - {index}), arrays):
            skipped.remove(index)
    return program(steps, skipped)


KINDS = ["unary", "binary", "scalar", "swapped", "in place", "reduce", "view", "make", "store"]
numbers = st.integers(0, 60)
steps_of = st.lists(
    st.tuples(st.sampled_from([*KINDS, "binary", "scalar", "unary"]), numbers, numbers, numbers), max_size=12
)


@st.composite
def layouts(draw: Any) -> Any:
    return draw(st.sampled_from(["C", "C", "C", "F", "strided", "negative", "part"]))


def array(seed: int, shape: tuple[int, ...], dtype: str, layout: str) -> Any:
    """Numbers in a memory layout."""
    rng = np.random.default_rng(seed)
    grown = {"strided": 2, "part": 1}.get(layout, 1)
    full = (rng.standard_normal([size * grown + (layout == "part") for size in shape]) * 3).astype(dtype)
    if layout == "F":
        return np.asfortranarray(full)
    cut = {"strided": slice(None, None, 2), "negative": slice(None, None, -1), "part": slice(1, None)}.get(layout)
    return full if cut is None else full[(cut,) * len(shape)]


@pytest.fixture(params=[1 << 17, 16])
def block(request, monkeypatch):
    """Blocks of the real size, and tiny ones, so that small arrays run by blocks too."""
    monkeypatch.setattr(blocks, "BLOCK", request.param)
    monkeypatch.setattr(scratch, "SMALLEST", request.param)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)
@given(st.data())
def test_a_graph_computes_the_bits_of_numpy(block, data):
    steps = data.draw(steps_of)
    width = data.draw(st.integers(1, 4))
    kinds = [(data.draw(st.sampled_from(DTYPES)), data.draw(layouts())) for _ in range(2)]
    shapes = data.draw(
        st.sampled_from([("nw", "nw"), ("nw", "w"), ("nw", "n1"), ("nw", "1w"), ("n", "n"), ("nww", "nw"), ("nw", "")])
    )

    def call(rows: int) -> list[Any]:
        sizes = {"n": rows, "w": width, "1": 1}
        return [
            array(rows + k, tuple(sizes[letter] for letter in letters), *kind)
            for k, (letters, kind) in enumerate(zip(shapes, kinds, strict=True))
        ]

    first, *others = (
        call(rows) for rows in data.draw(st.lists(st.sampled_from([5, 2, 1, 7, 0, 9]), min_size=2, max_size=3))
    )
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, about NaN and complex numbers
        function = possible(steps, first)
        graph = record(lambda arrays: function(*arrays), copies(first))[1]
        check(function, first, *(call for call in others if runs(function, call) and graph.guards.hold(call)))
