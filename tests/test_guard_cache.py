"""The native guard cache: which calls are one."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import math
import operator
from typing import Any

import numpy as np
import pytest
from guarding import Guards, Plain, Valued, are_one, array, cache_of, get, put, resolve, resolver

import clika_pytree as cp


@pytest.fixture(autouse=True)
def runtimes():
    with resolver(resolve):
        yield


class Slotted:
    __slots__ = ("a", "b")


@dataclasses.dataclass
class Config:
    rate: float
    names: list[str] = dataclasses.field(default_factory=list)
    note: str = dataclasses.field(default="", compare=False)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


Point = collections.namedtuple("Point", "x y")


# --- which calls are one ----------------------------------------------------------------------------------------------

A, B, C = array(2), array(2), array(2)
NAN = math.nan

APART: list[tuple[Any, Any]] = [
    (([A], B), ([A, B],)),
    ([A], (A,)),
    ([[A, B], C], [[A], B, C]),
    ({"a": A, "b": B}, {"b": B, "a": A}),
    ({1: A}, {True: A}),
    ({-1: A}, {-2: A}),
    (collections.OrderedDict(a=A), {"a": A}),
    (collections.deque([A]), collections.deque([A], maxlen=3)),
    (collections.defaultdict(int, a=A), collections.defaultdict(list, a=A)),
    (Point(A, B), (A, B)),
    (True, 1),
    (1, 1.0),
    (0.0, -0.0),
    (1j, 1 + 1j),
    ("a", b"a"),
    (None, A),
    (None, 0),
    (0, A),
    (A, [A]),
    (Color.RED, Color.BLUE),
    (Color.RED, 1),
    (Level.LOW, 1),
    (int, float),
    (len, abs),
    (operator, math),
    (Valued(1), Valued(2)),
    (Plain().__init__, Plain().__init__),
    (Valued(1).method, Valued(2).method),
    (Plain(), Plain()),
    (Config(1.0), Config(-1.0)),
    (Config(0.0), Config(-0.0)),
    (Config(1.0, ["a"]), Config(1.0, ["b"])),
    (frozenset({1}), frozenset({True})),
    (range(3), range(4)),
    (np.float32, np.float64),
    (np.dtype("f4"), np.dtype("f8")),
    (functools.partial(len), functools.partial(len)),
]

ONE: list[tuple[Any, Any]] = [
    (A, B),
    ([A, [B]], [B, [C]]),
    ({"a": A}, {"a": B}),
    (None, None),
    (NAN, NAN),
    (NAN, float("nan")),
    (10**30, 10**30 + 0),
    ("key" * 5, "".join(["key"] * 5)),
    (Valued("v"), Valued("v")),
    (Valued("v").method, Valued("v").method),
    (Config(0.5, ["a"]), Config(0.5, ["a"])),
    (Config(0.5, note="a"), Config(0.5, note="b")),
    (frozenset("ab"), frozenset("ba")),
    (range(0), range(1, 1)),
    (np.dtype(">f4"), np.dtype(">f4").newbyteorder("S").newbyteorder("S")),
]


@pytest.mark.parametrize(("first", "second"), APART)
def test_what_differs_is_apart(first: Any, second: Any) -> None:
    assert not are_one(first, second)


@pytest.mark.parametrize(("first", "second"), ONE)
def test_what_is_the_same_is_one(first: Any, second: Any) -> None:
    assert are_one(first, second)


def test_one_object_is_one_as_long_as_it_holds_what_it_held() -> None:
    config, slotted, dataclass = Plain(rate=0.5, names=["a"]), Slotted(), Config(0.5, ["a"])
    valued, bound = Valued(["x"][0]), Valued(1).method
    part = functools.partial(len, "abc")
    for thing in (config, slotted, dataclass, valued, bound, part):
        assert are_one(thing, thing)
    assert are_one(bound.__self__.method, bound.__self__.method)
    changes: list[tuple[Any, Any]] = [
        (config, lambda: setattr(config, "rate", -0.5)),
        (config, lambda: config.names.append("b")),
        (config, lambda: setattr(config, "new", 1)),
        (config, lambda: delattr(config, "new")),
        (slotted, lambda: setattr(slotted, "a", 1)),
        (slotted, lambda: setattr(slotted, "a", True)),
        (dataclass, lambda: setattr(dataclass, "rate", 1)),
        (dataclass, lambda: dataclass.names.append("b")),
        (valued, lambda: setattr(valued, "value", "y")),
        (bound, lambda: setattr(bound.__self__, "value", 2)),
    ]
    for thing, change in changes:
        cache = cache_of(lambda x: x)
        put(cache, "before", thing)
        assert get(cache, thing) == "before"
        change()
        assert get(cache, thing) is None
        put(cache, "after", thing)
        assert get(cache, thing) == "after"


def test_an_attribute_with_an_equality_may_be_exchanged_for_an_equal_one() -> None:
    config, cache = Plain(path=Valued("a"), inner=Plain()), cache_of(lambda x: x)
    put(cache, 1, config)
    config.path = Valued("a")
    assert get(cache, config) == 1
    config.inner = Plain()
    assert get(cache, config) is None


def test_none_is_a_leaf_and_dicts_keep_their_order_everywhere() -> None:
    cache = cache_of(lambda x: x)
    with cp.dict_insertion_ordered(False):
        call = cache.bind(({"b": A, "a": None},), {})
        cache.insert(call, 1, guards=Guards(1))
        assert get(cache, {"b": B, "a": None}) == 1
        assert get(cache, {"a": None, "b": B}) is None
    assert call.names == ("x['b']", "x['a']")
    assert get(cache, {"b": B, "a": None}) == 1


def test_a_registered_class_is_a_node_as_it_is_registered() -> None:
    class Box:
        def __init__(self, content: Any, mode: str = "") -> None:
            self.content, self.mode = content, mode

    def register() -> None:
        cp.register_pytree_node(Box, lambda box: ((box.content,), box.mode), lambda mode, content: Box(*content, mode))

    register()
    cache = cache_of(lambda x: x)
    put(cache, "first", Box(A, "a"))
    assert get(cache, Box(B, "a")) == "first"
    assert get(cache, Box(B, "b")) is None
    cp.unregister_pytree_node(Box)
    register()
    assert get(cache, Box(B, "a")) is None
    put(cache, "second", Box(A, "a"))
    assert get(cache, Box(B, "a")) == "second"
    cp.unregister_pytree_node(Box)
    assert get(cache, Box(B, "a")) is None
    with pytest.raises(cp.UnregisteredNodeError):
        cache.bind((Box(A),), {})


def test_a_namedtuple_class_that_is_registered_is_another_node() -> None:
    Pair = collections.namedtuple("Pair", "a b")
    cache = cache_of(lambda x: x)
    put(cache, 1, Pair(A, B))
    assert get(cache, Pair(B, A)) == 1
    cp.register_pytree_node(Pair, lambda pair: (tuple(pair), None), lambda _, children: Pair(*children))
    assert get(cache, Pair(B, A)) is None
    cp.unregister_pytree_node(Pair)
    assert get(cache, Pair(B, A)) == 1


def test_registrations_of_a_namespace_count_for_caches_of_it() -> None:
    class Held:
        def __init__(self, content: Any) -> None:
            self.content = content

    cp.register_pytree_node(
        Held, lambda held: ((held.content,), None), lambda _, content: Held(*content), namespace="guards"
    )
    inside = cache_of(lambda x: x, namespace="guards")
    assert inside.bind((Held(A),), {}).mask == (True,)
    with pytest.raises(cp.UnregisteredNodeError):
        cache_of(lambda x: x).bind((Held(A),), {})
    cp.unregister_pytree_node(Held, namespace="guards")
