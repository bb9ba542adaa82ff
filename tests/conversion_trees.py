"""Classes that other libraries know, too, and trees of what two libraries have in common.

Registrations with JAX last as long as the process, so these classes are for the tests of conversions alone.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from classes import Labelled, Point
from hypothesis import strategies as st

import clika_pytree as cp

SPACE = "tests.conversion"


class Open:
    """Whether code of the classes below may run."""

    now = True


def check_open() -> None:
    assert Open.now, "a conversion runs code of a class"


class Scaled:
    """Registered with functions."""

    def __init__(self, value: Any, unit: Any) -> None:
        check_open()
        self.value, self.unit = value, unit

    def __repr__(self) -> str:
        return f"Scaled({self.value!r}, {self.unit!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is Scaled and (self.value, self.unit) == (other.value, other.unit)

    def __hash__(self) -> int:
        return hash(self.unit)


def take_apart(scaled: Scaled) -> tuple:
    check_open()
    return (scaled.value,), scaled.unit


def take_apart_with_entries(scaled: Scaled) -> tuple:
    return (*take_apart(scaled), ("value",))


def put_together(children: Any, unit: Any) -> Scaled:
    return Scaled(*children, unit)


@dataclasses.dataclass
class Record:
    """Two data fields and two meta fields, not in that order."""

    name: Any = dataclasses.field(metadata={"static": True, "pytree_node": False})
    weight: Any
    size: Any = dataclasses.field(metadata={"static": True, "pytree_node": False})
    bias: Any

    def __post_init__(self) -> None:
        check_open()


@dataclasses.dataclass
class Weights:
    """Data fields only."""

    weight: Any
    bias: Any

    def __post_init__(self) -> None:
        check_open()


@dataclasses.dataclass(frozen=True)
class Options:
    """Registered as static."""

    depth: int

    def __post_init__(self) -> None:
        check_open()


cp.register_pytree_node(Scaled, take_apart_with_entries, put_together)
cp.register_dataclass(Record)
cp.register_dataclass(Weights)
cp.register_static(Options)

contexts = st.one_of(st.none(), st.integers(0, 3), st.text(max_size=2), st.tuples(st.booleans(), st.text(max_size=1)))
leaves = st.one_of(st.integers(0, 9), st.text(max_size=1))


def dicts_of_one_order(children: st.SearchStrategy) -> st.SearchStrategy:
    """Dicts whose keys every library sorts, and in the same way."""
    return st.one_of(
        st.dictionaries(st.text("abcxyz", max_size=2), children, max_size=3),
        st.dictionaries(st.integers(-5, 5), children, max_size=3),
    )


def nodes(children: st.SearchStrategy, *others: Callable[[st.SearchStrategy], st.SearchStrategy]) -> st.SearchStrategy:
    """One node that every library has, or one of `others`."""
    several = st.lists(children, max_size=3)
    mapping = dicts_of_one_order(children)
    return st.one_of(
        several,
        several.map(tuple),
        mapping,
        mapping,
        mapping.map(OrderedDict),
        st.builds(defaultdict, st.sampled_from([None, list, int]), mapping),
        st.builds(Point, children, children),
        st.builds(Labelled, children, children),
        st.builds(Scaled, children, contexts),
        st.builds(Options, st.integers(0, 2)),
        *(other(children) for other in others),
    )


def deques(children: st.SearchStrategy) -> st.SearchStrategy:
    return st.builds(deque, st.lists(children, max_size=3), st.sampled_from([None, 3, 7]))


def records(children: st.SearchStrategy) -> st.SearchStrategy:
    return st.builds(Record, contexts, children, contexts, children)


def weights(children: st.SearchStrategy) -> st.SearchStrategy:
    return st.builds(Weights, children, children)


def trees(*others: Callable[[st.SearchStrategy], st.SearchStrategy], leaf: Any = leaves) -> st.SearchStrategy:
    return st.recursive(leaf, lambda children: nodes(children, *others), max_leaves=12)


def every_kind(**more: Any) -> dict:
    """Nodes of nearly all kinds, with keys in the order in which they are sorted."""
    tree = {
        "a": [1, (2, ()), {}],
        "d": defaultdict(list, {1: 1, 3: 2}),
        "o": OrderedDict(z=1, a=[2]),
        "p": Point(1, [2]),
        "s": Scaled([1], ("m", 2)),
        "t": Options(3),
        "w": Weights(1, {"x": 2}),
        **more,
    }
    return dict(sorted(tree.items()))


def nested(depth: int) -> list:
    tree: list = []
    for _ in range(depth):
        tree = [tree, 0]
    return tree
