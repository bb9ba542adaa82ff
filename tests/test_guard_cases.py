"""Calls that have to be told apart, and calls that are one: containers, values, order, parameters, sizes."""

from __future__ import annotations

import enum
import functools
from typing import Any

import numpy as np
import pytest
from classes import Color, Config, Tagged
from guarded import agree, graphs, vector
from recorded import same

import clika_pytree as cp

# --- G1: containers ---------------------------------------------------------------------------------------------------

A, B, C = vector(1), vector(2), vector(3)


def contents(tree: Any) -> Any:
    """What depends on where the containers begin and end."""
    if isinstance(tree, np.ndarray):
        return tree
    total = sum((contents(item) * (place + 1) for place, item in enumerate(tree)), np.zeros(1))
    return total * 10 + (1 if isinstance(tree, list) else 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([[A], B], [[A, B]]),
        ([A], (A,)),
        ([[A, B], C], [[A], B, C]),
        ([A, []], [A]),
        ([A, []], [A, ()]),
        ([[], [A]], [[A], []]),
    ],
    ids=repr,
)
def test_g1_containers_that_begin_or_end_elsewhere_make_two_graphs(one, other):
    agree(contents, (one,), (other,), (one,), number=2)


def test_g1_a_list_that_takes_in_the_next_argument_is_another_call():
    agree(lambda items, *more: contents([*items, list(more)]), ([A], B), ([A, B],), number=2)


# --- G2: values by type and bits --------------------------------------------------------------------------------------


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Sized(enum.Enum):
    SMALL = 1
    ALSO_SMALL = 1.5


def shown(x: Any, value: Any) -> Any:
    return x + 1, repr(value)


DIFFERENT = [
    [True, 1, 1.0, Level.LOW, 1 + 0j],
    [0.0, -0.0, 0, False],
    [complex(0.0, 0.0), complex(-0.0, 0.0), complex(0.0, -0.0)],
    [Color.RED, Color.GREEN],
    [Level.LOW, Level.HIGH],
    [Sized.SMALL, Sized.ALSO_SMALL],
    ["1", b"1", 1],
    [None, False, 0, ""],
    [range(3), range(3), range(0, 3, 2)],
    [frozenset({1}), frozenset({True}), frozenset({1.0})],
    [int, float, np.float32],
    [np.dtype("f4"), np.dtype(">f4")],
    [slice(1), slice(True), slice(0, 1)],
]


@pytest.mark.parametrize("values", DIFFERENT, ids=repr)
def test_g2_values_that_differ_in_type_or_bits_make_a_graph_each(values):
    values = values if values[0] != range(3) else values[1:]  # range(3) is range(0, 3)
    calls = [(vector(), value) for value in values]
    agree(shown, *calls, *calls, number=len(values))


def test_g2_equal_values_are_one_graph():
    for value, again in [
        (float("nan"), float("nan")),
        (complex(float("nan"), 0.0), complex(float("nan"), 0.0)),
        (10**30, 10**30 + 0),
        ("ab" * 9, "".join(["ab"] * 9)),
        (range(3), range(3)),
        (frozenset({1, "a"}), frozenset({"a", 1})),
    ]:
        agree(lambda x, value: x + 1, (vector(), value), (vector(), again), number=1)


def test_g2_keys_of_dicts_are_compared_like_values():
    calls = [({key: vector()},) for key in (-1, -2, 1, True, 1.0, 0.0, -0.0, Color.RED, Color.BLUE)]
    agree(lambda tree: [(value * 2, repr(key)) for key, value in tree.items()], *calls, number=9)


def test_g2_contexts_are_compared_like_values():
    calls = [(Tagged(vector(), None, tag),) for tag in (1, True, 1.0, (1,), [1], {1}, {"a": 1}, {"a": 1.0})]
    agree(lambda tagged: (tagged.left + 1, repr(tagged.tag)), *calls, *calls, number=8)


def test_g2_static_nodes_ride_along_by_value():
    calls = [(vector(), Config(width)) for width in (1, 1.0, True, float("nan"), float("nan"))]
    agree(lambda x, config: (x + 1, repr(config.width)), *calls, number=4)


def test_g2_a_scalar_of_numpy_is_a_tensor():
    calls = [(vector(), np.float64(k)) for k in (1.5, 2.5, 3.5)]
    agree(lambda x, scale: x * scale, *calls, number=1)


# --- G3, G4: None, and the order of dicts -----------------------------------------------------------------------------


def test_g3_a_tensor_where_none_was_is_seen():
    compiled = agree(
        lambda x, bias=None: x if bias is None else x + bias,
        (vector(), None),
        (vector(), vector()),
        (vector(),),
        number=2,
    )
    assert same(compiled(vector(), bias=vector()), vector() * 2)


def test_g4_the_order_of_a_dict_is_seen():
    def function(params: dict) -> Any:
        return functools.reduce(lambda total, value: total * 10 + value, params.values()), list(params)

    agree(function, ({"a": A, "b": B},), ({"b": B, "a": A},), ({"a": A, "b": B},), number=2)
    compiled = cp.compile(lambda **params: function(params))
    assert compiled(a=A, b=B)[0] == 12
    assert compiled(b=B, a=A)[0] == 21
    assert graphs(compiled) == 2


def test_g4_a_block_that_sorts_keys_does_not_reach_a_compiled_call():
    def function(params: dict) -> Any:
        return next(iter(params.values())) * 10

    compiled = cp.compile(function)
    with cp.dict_insertion_ordered(False):
        assert compiled({"b": B, "a": A}) == 20
    assert compiled({"a": A, "b": B}) == 10
    assert compiled({"b": B, "a": A}) == 20
    assert graphs(compiled) == 2


# --- G5: one call, written in several ways ----------------------------------------------------------------------------


def test_g5_a_call_is_bound_to_its_parameters_first():
    @cp.compile
    def function(x: Any, k: int = 2) -> Any:
        return x * k

    x = vector()
    for result in [function(x, 2), function(x, k=2), function(x=x, k=2), function(k=2, x=x), function(x)]:
        assert same(result, x * 2)
    assert graphs(function) == 1
    assert function.cache_info().hits == 4


def test_g5_every_kind_of_parameter():
    @cp.compile
    def function(x: Any, /, k: Any = 2, *rest: Any, flag: bool = False, **more: Any) -> Any:
        total = x * k + sum(rest) + sum(more.values())
        return -total if flag else total

    x = vector()
    assert same(function(x), x * 2)
    assert same(function(x, k=2, flag=False), x * 2)
    assert graphs(function) == 1
    assert same(function(x, 2, x, flag=True), -(x * 3))
    assert same(function(x, 2, x, x), x * 4)
    assert same(function(x, 2, x, x, flag=False, y=x), x * 5)
    assert graphs(function) == 4


def test_g5_a_call_that_does_not_fit_is_the_error_of_a_plain_call():
    function = cp.compile(lambda x, k: x * k)
    for args, kwargs in [((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1, 2), {"no": 3})]:
        with pytest.raises(TypeError, match="argument") as caught:
            function(*args, **kwargs)
        assert not isinstance(caught.value, cp.PyTreeError)
    assert graphs(function) == 0


# --- G6: sizes --------------------------------------------------------------------------------------------------------


def rows(number: int) -> Any:
    return np.arange(number * 3.0).reshape(number, 3)


BATCHES = [(rows(number),) for number in (2, 5, 1, 7, 0, 2)]


def test_g6_one_graph_is_right_for_every_batch_size():
    def function(x: Any) -> Any:
        return x.sum(0) / x.shape[0], x.shape[0], x.reshape(3, x.shape[0]) * len(x.shape)

    with np.errstate(invalid="ignore"):  # 0 / 0
        agree(function, *BATCHES, number=1, dynamic=True)
        agree(function, *BATCHES, number=5)


def test_g6_a_size_that_decides_is_guarded():
    def function(x: Any) -> Any:
        return x.sum(0) if x.shape[0] > 3 else x.max(0, initial=0.0)

    agree(function, *BATCHES, number=2, dynamic=True)


def test_g6_a_size_that_is_taken_as_a_number_is_guarded():
    agree(lambda x: x + np.zeros((int(x.shape[0]), 1)), *BATCHES, number=5, dynamic=True)
