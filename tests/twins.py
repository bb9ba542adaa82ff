"""Hypothesis strategies for pairs that are the same or nearly so: what tells two structures apart is mostly little."""

from __future__ import annotations

import math
import struct
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from classes import (
    ALPHA,
    BETA,
    AlphaOnly,
    Bag,
    BetaOnly,
    Box,
    Cell,
    Config,
    FromRange,
    Labelled,
    Methods,
    Nothing,
    Pair,
    Point,
    Ranged,
    Sample,
    Switch,
    Tagged,
)
from hypothesis import strategies as st
from reference import Mode

(OTHER_NAN,) = struct.unpack(">d", bytes.fromhex("7ff8000000000001"))

# No two of them are the same value, though Python finds many of them equal.
NEAR_KEYS: list[Any] = [
    0, False, 0.0, -0.0, 0j, complex(-0.0, 0.0), complex(0.0, -0.0), None, "", b"", "0", b"0", (), ((),), (0,),
    (False,), (0.0,), (-0.0,), (0, 0), ((0,), 0), (0, (0,)), 1, True, 1.0, "a", "b", "A", b"a", ("a", "b"),
    ("b", "a"), ("ab",), math.nan, OTHER_NAN, 2**64, -(2**64), 1 << 4000, 1 << 4001, "é", "e\u0301", "\ud800", "\x00",
    "\x00\x00", "a" * 40, "a" * 41, tuple(range(40)), (*range(39), 39.0), frozenset(), frozenset({0}),
    frozenset({False}), frozenset({"a", "b"}),
]  # fmt: skip
NEAR_VALUES: list[Any] = [
    *NEAR_KEYS, [], [[]], ([],), {}, set(), [0], [False], [(0,)], [0, 0], {0: 0}, {False: 0}, {0: False}, {0}, {False},
    {0.0}, {"a": 0, "b": 1}, {"b": 1, "a": 0}, {"a": 1, "b": 0}, {"a": {"b": 0}}, [*range(40)], {*range(40)}, ...,
    [[0] * 20] * 2, [[0] * 20, [0] * 19 + [False]],
]  # fmt: skip


def twins_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    """The same value twice, or now and then two."""
    same = values.map(lambda value: (value, value))
    return st.one_of(same, same, same, same, same, st.tuples(values, values))


Make = Callable[[list[Any], list[Any], Any], Any]
"""A node of children, of as many keys, and of a context."""


def padded(children: list[Any], count: int) -> list[Any]:
    return [*children, 0, 0][:count]


MAKERS: list[Make] = [
    lambda children, keys, context: children,
    lambda children, keys, context: tuple(children),
    lambda children, keys, context: dict(zip(keys, children, strict=False)),
    lambda children, keys, context: OrderedDict(zip(keys, children, strict=False)),
    lambda children, keys, context: defaultdict(list, zip(keys, children, strict=False)),
    lambda children, keys, context: defaultdict(None, zip(keys, children, strict=False)),
    lambda children, keys, context: deque(children),
    lambda children, keys, context: deque(children, len(children)),
    lambda children, keys, context: deque(children, 5),
    lambda children, keys, context: Point(*padded(children, 2)),
    lambda children, keys, context: Labelled(*padded(children, 2)),
    lambda children, keys, context: tuple.__new__(FromRange, padded(children, 2)),
    lambda children, keys, context: Nothing(),
    lambda children, keys, context: Ranged(keys[0], *padded(children, 1)),
    lambda children, keys, context: Box(*padded(children, 1)),
    lambda children, keys, context: Pair(*padded(children, 2)),
    lambda children, keys, context: Switch(keys[0], *padded(children, 1)),
    lambda children, keys, context: AlphaOnly(*padded(children, 2)),
    lambda children, keys, context: Tagged(*padded(children, 2), context),
    lambda children, keys, context: Methods(children, context),
    lambda children, keys, context: Bag(dict(zip(keys, children, strict=False))),
    lambda children, keys, context: Sample(*padded(children, 2), context),
    lambda children, keys, context: Cell(context, *padded(children, 1)),
    lambda children, keys, context: BetaOnly(*padded(children, 1), context),
    lambda children, keys, context: Config(keys[0], keys[1]),
]


@st.composite
def twin_nodes(draw: Any, children: st.SearchStrategy[tuple[Any, Any]]) -> tuple[Any, Any]:
    pairs = draw(st.lists(children, max_size=3))
    makers = draw(twins_of(st.sampled_from(MAKERS)))
    keys = draw(twins_of(st.lists(st.sampled_from(NEAR_KEYS), min_size=3, max_size=3, unique=True)))
    contexts = draw(twins_of(st.sampled_from(NEAR_VALUES)))
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    if pairs and draw(st.integers(0, 9)) == 0:
        sides[1].pop()
    first, second = zip(makers, sides, keys, contexts, strict=True)
    return tuple(make(inner, own_keys, context) for make, inner, own_keys, context in (first, second))


twin_trees: st.SearchStrategy[tuple[Any, Any]] = st.recursive(
    twins_of(st.sampled_from([0, None])), twin_nodes, max_leaves=6
)
"""Two trees; the same in about half of the pairs."""

twin_modes: st.SearchStrategy[tuple[Mode, Mode]] = twins_of(
    st.builds(Mode, st.none(), st.booleans(), st.sampled_from(["", ALPHA, (ALPHA, BETA)]), st.just(False))
)
