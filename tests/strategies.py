"""Hypothesis strategies: trees of every kind, ways to read them, and the profiles.

`HYPOTHESIS_PROFILE` is few, dev (the default), ci or night.
"""

from __future__ import annotations

import os
import re
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

import reference
from classes import (
    ALPHA,
    BETA,
    AlphaOnly,
    Bag,
    BetaOnly,
    Box,
    Cell,
    Color,
    Config,
    DequeLeaf,
    DictLeaf,
    FieldsLeaf,
    FromRange,
    Labelled,
    ListLeaf,
    Methods,
    Nothing,
    Pair,
    Point,
    Ranged,
    Sample,
    SampleLeaf,
    Switch,
    Tagged,
    TupleLeaf,
)
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# Trees are slow to draw and the first call of a function is slower than the rest: neither says anything here.
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
settings.register_profile("few", max_examples=10, deadline=None, suppress_health_check=QUIET, derandomize=True)
settings.register_profile("dev", max_examples=100, deadline=None, suppress_health_check=QUIET)
settings.register_profile("ci", max_examples=300, deadline=None, suppress_health_check=QUIET, derandomize=True)
settings.register_profile("night", max_examples=5000, deadline=None, suppress_health_check=QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# 1, True and 1.0 are one key to a dict, and three to a structure.
plain_keys = st.one_of(
    st.sampled_from(
        [0, 1, 2, True, 1.0, 0.0, -0.0, None, "a", "b", "", "it's", b"k", Color.RED, Color.GREEN, Color.BLUE]
    ),
    st.integers(-3, 3),
    st.text(max_size=2),
    st.binary(max_size=2),
)
keys = st.one_of(plain_keys, plain_keys, st.tuples(plain_keys), st.tuples(plain_keys, st.integers(0, 1)))
# Keys among which some have no order.
odd_keys = st.one_of(
    keys, st.sampled_from([float("nan"), frozenset({1}), frozenset({2}), 1j, 2j, Point(1, "a"), Point(2, "b")])
)

numbers = st.one_of(st.booleans(), st.integers(-2, 2), st.floats(-1, 1, width=16), st.just(float("nan")), st.just(-0.0))
plain_values = st.one_of(st.none(), numbers, st.text(max_size=2), st.binary(max_size=1), st.sampled_from(list(Color)))
frozen_contexts = st.one_of(
    plain_values, st.tuples(plain_values, plain_values), st.builds(Point, numbers, plain_values)
)
contexts = st.one_of(
    frozen_contexts,
    st.lists(plain_values, max_size=2),
    st.dictionaries(st.sampled_from("ab"), st.lists(numbers, max_size=1), max_size=2),
    st.sets(st.integers(0, 2), max_size=1),
    st.builds(slice, st.integers(0, 1), st.integers(0, 1)),
    st.builds(Config, numbers),
)

leaves: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    numbers,
    st.text(max_size=2),
    st.builds(object),
    st.sampled_from([int, len, range(3), {1, 2}, {}.keys(), frozenset(), b"", Ellipsis, os.stat(os.curdir)]),
    st.builds(ListLeaf, st.just([1])),
    st.builds(TupleLeaf, st.just([1, None])),
    st.builds(FieldsLeaf, st.just([1])),
    st.builds(DictLeaf, st.just({"a": 1})),
    st.builds(Counter, st.just("ab")),
    st.builds(DequeLeaf, st.just([1])),
    st.builds(SampleLeaf, st.none(), st.just(1), st.just("s")),
)


def nodes(children: st.SearchStrategy, key_strategy: st.SearchStrategy = keys) -> st.SearchStrategy:
    """One node of any kind around `children`."""
    several = st.lists(children, max_size=3)
    mapping = st.dictionaries(key_strategy, children, max_size=3)
    return st.one_of(
        several,
        several.map(tuple),
        mapping,
        mapping,
        mapping.map(OrderedDict),
        st.builds(defaultdict, st.sampled_from([None, list, int, dict]), mapping),
        st.builds(deque, several, st.sampled_from([None, 3, 7])),
        st.builds(Point, children, children),
        st.builds(Labelled, children, children),
        st.builds(lambda pair: tuple.__new__(FromRange, pair), st.tuples(children, children)),
        st.builds(Nothing),
        children.map(lambda child: [child, (child, child)]),  # one object in three places
        st.builds(Box, children),
        st.builds(Pair, children, children),
        st.builds(Tagged, children, children, contexts),
        st.builds(Bag, st.dictionaries(st.sampled_from(["a", "b", "not a name", 3]), children, max_size=3)),
        st.builds(Methods, several, contexts),
        st.builds(Sample, children, children, contexts),
        st.builds(Cell, contexts, children),
        st.builds(Config, frozen_contexts, frozen_contexts),
        st.builds(Switch, frozen_contexts, children),
        st.builds(AlphaOnly, children, children),
        st.builds(Ranged, frozen_contexts, children),
        st.builds(BetaOnly, children, contexts),
    )


trees = st.recursive(leaves, nodes, max_leaves=12)
odd_trees = st.recursive(leaves, lambda children: nodes(children, odd_keys), max_leaves=8)

# Few shapes, so that two of them are often the same or nearly so.
small_leaves = st.sampled_from([0, None])
small_keys = st.sampled_from([1, True, 1.0, "a", "b"])
small_trees = st.recursive(
    small_leaves,
    lambda children: st.one_of(
        st.lists(children, max_size=2),
        st.lists(children, max_size=2).map(tuple),
        st.dictionaries(small_keys, children, max_size=2),
        st.dictionaries(small_keys, children, max_size=2).map(OrderedDict),
        st.builds(defaultdict, st.sampled_from([list, int]), st.dictionaries(small_keys, children, max_size=1)),
        st.builds(deque, st.lists(children, max_size=1), st.sampled_from([None, 1])),
        st.builds(Point, children, children),
        st.builds(Labelled, children, children),
        st.builds(Box, children),
        st.builds(Tagged, children, children, st.sampled_from([0, False, 0.0, -0.0, [0], (0,)])),
        st.builds(Switch, st.just(0), children),
        st.builds(Cell, st.sampled_from([0, False, [0]]), children),
        st.builds(Config, st.sampled_from([0, 0.0, float("nan")])),
    ),
    max_leaves=4,
)


def any_list(obj: Any) -> bool:
    return type(obj) is list


def match_or_none(obj: Any) -> re.Match | None:
    """A predicate that answers with something else than a bool."""
    return re.match("list|Point|Box|dict", type(obj).__name__)


def how_many(obj: Any) -> int:
    return len(obj) - 1 if isinstance(obj, (tuple, dict)) else 0


NODE_TYPES = [
    list,
    tuple,
    dict,
    OrderedDict,
    defaultdict,
    deque,
    Point,
    Pair,
    Tagged,
    Sample,
    Cell,
    Config,
    int,
    type(None),
]
predicates = st.one_of(
    st.none(),
    st.none(),
    st.sampled_from([any_list, match_or_none, how_many, lambda obj: obj is None, lambda obj: True, lambda obj: []]),
    st.sets(st.sampled_from(NODE_TYPES), max_size=4).map(lambda types: lambda obj: type(obj) in types),
)
namespaces = st.sampled_from(["", "", ALPHA, BETA, (ALPHA, BETA), (BETA, ALPHA), "tests.unknown", ()])
modes = st.builds(reference.Mode, predicates, st.booleans(), namespaces, st.booleans())
"""How a tree is read: is_leaf, None, namespace, and whether dicts are read by sorted key."""

whole_modes = st.builds(reference.Mode, st.none(), st.booleans(), namespaces, st.booleans())
"""The same without a predicate, so that a tree rebuilt reads as the first one did."""

small_modes = st.builds(reference.Mode, st.none(), st.booleans(), st.sampled_from(["", ALPHA]), st.booleans())
