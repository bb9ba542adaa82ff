"""Objects that raise, lie or are huge: `tree_diff`, `tree_summary`, `check_node` and the forms for notebooks answer all
the same, in lines that can be printed, of a bounded length."""

from __future__ import annotations

import copy
import enum
import gc
import itertools
import unittest.mock
from collections import OrderedDict, defaultdict, deque
from typing import Any

import numpy as np
import pytest
from arrays import Hostile
from classes import Tagged
from helpers import registered

import clika_pytree as cp


class Raiser:
    """Raises when one of these attributes is asked for."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __getattribute__(self, name: str) -> Any:
        if name in object.__getattribute__(self, "names"):
            raise RuntimeError(name)
        return object.__getattribute__(self, name)


class Says:
    def __init__(self, text: Any) -> None:
        self.text = text

    def __repr__(self) -> str:
        if self.text is None:
            raise RuntimeError("repr")
        return self.text


class Shaped:
    def __init__(self, shape: Any, dtype: Any = "float32", **more: Any) -> None:
        self.shape, self.dtype = shape, dtype
        vars(self).update(more)


class Endless:
    def __iter__(self) -> Any:
        return itertools.count()


class Compared:
    """Its `==` gives something else than a bool, or raises."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __eq__(self, other: object) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    __hash__ = object.__hash__


class Hashed:
    """Its hash raises from the third time on."""

    def __init__(self) -> None:
        self.left = 2

    def __hash__(self) -> int:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("hash")
        return 1


class Meta(type):
    @property
    def __name__(cls) -> str:
        raise RuntimeError("name")

    @property
    def __module__(cls) -> str:
        raise RuntimeError("module")

    def __instancecheck__(cls, instance: object) -> bool:
        raise RuntimeError("instancecheck")

    def __subclasscheck__(cls, subclass: type) -> bool:
        raise RuntimeError("subclasscheck")

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("==")

    def __hash__(cls) -> int:
        raise RuntimeError("hash")


class Tricked(metaclass=Meta):
    pass


class Lying:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("class")


class Bytes(enum.Enum):
    LONE = "\ud800"


class IntSays(int):
    def __repr__(self) -> str:
        return "\x1b[31m" + "line\n" * 1000


class Parts:
    def __init__(self, *children: Any, entries: Any = None, context: Any = None) -> None:
        self.children, self.entries, self.context = children, entries, context


def flatten(parts: Parts) -> Any:
    taken = parts.children, parts.context
    return taken if parts.entries is None else (*taken, parts.entries)


def holding_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def deep_tuple() -> tuple[Any, ...]:
    value: tuple[Any, ...] = ()
    for _ in range(5000):
        value = (value,)
    return value


SHARED = [1, [2, 3]]
named = cp.GetAttrKey
ODD: dict[str, Any] = {
    "empty": [[], {}, (), deque(), OrderedDict(), defaultdict(int)],
    "nan": [float("nan"), complex("nan"), np.array([np.nan, 1.0])],
    "arrays": [
        np.array([object(), None, [1]], dtype=object), np.zeros(3, dtype=[("a", "i4"), ("b", "f8")]), np.array(["a"]),
        np.array(3), np.ma.array([1, 2], mask=[0, 1]), np.array(["NaT"], dtype="datetime64[D]"), np.void(b"abc"),
        np.lib.stride_tricks.as_strided(np.zeros(1), (10**6, 10**6), (0, 0)),
        np.bool_(True),
    ],
    "reprs": [
        Says(None), Says("x" * 10**6), Says(3), Says("Net(\n  (0): Linear\n)"), Says("\x1b[0m\ud800\r"), IntSays(3),
    ],
    "large": ["x" * 10**6, b"x" * 10**6, bytearray(10**6), 10**10_000],
    "unicode": {"ключ": 1, "鍵": "值", "🔑": "\u202e", "\x1b[0m": 1, "new\nline": 2, "\ud800": "\udfff", 0: Bytes.LONE},
    "shapes": [
        Shaped("round", "color"), Shaped(itertools.count()), Shaped(Endless()), Shaped(None), Shaped(3),
        Shaped((-1, 2)),
        Shaped((10**30, 10**30)), Shaped((1.5, 2)), Shaped((True, 2)), Shaped([1, 2]), Shaped(((1, 2), 3)),
        Shaped((Says(None),)), Shaped((Says("a\nb" * 100),)), Shaped((1,) * 10_000), Shaped((1,), None),
        Shaped((1,), Says(None)), Shaped((1,), "a\nb" * 100), Shaped((1,), nbytes="many"), Shaped((1,), nbytes=-5),
        Shaped((1,), nbytes=float("nan")), unittest.mock.MagicMock(), unittest.mock.Mock(shape=(1, 2), dtype="f4"),
    ],
    "attributes": [Raiser("shape"), Raiser("dtype", "shape"), Raiser("__class__", "__dict__"), Hostile(), Lying()],
    "classes": [Tricked(), Tricked, type("a\nb", (), {})(), type("list", (), {"__len__": lambda _: 1 / 0})(), int, len],
    "comparisons": [Compared(RuntimeError("==")), Compared(np.array([True, False])), Compared("yes"), Hashed()],
    "shared": [SHARED, SHARED, {"a": SHARED}, cp.tree_structure(SHARED)],
    "huge": {number: number for number in range(20_000)},
    "contexts": [
        Tagged(1, 2, context) for context in (
            np.zeros(2), [1, np.zeros(2)], Compared(RuntimeError("==")), Hashed(), Says(None), Says("x" * 10**6),
            Tricked(), Raiser("__hash__"), holding_itself(), deep_tuple(),
        )
    ],
    "entries": [
        Parts(1, 2, entries=entries) for entries in (
            ("a", "a"), (None, (1,)), ([1], {2}), (Says(None), Compared(np.zeros(2))), (Says("x" * 10**6), "y" * 10**6),
            (Compared(RuntimeError("==")), Compared(RuntimeError("=="))), (named("\ud800"), named("a\nb")),
            (Hashed(), 1),
        )
    ],
    "keys": [
        {Says(None): 1, Says(None): 2}, {Compared(RuntimeError("==")): 1}, {Compared(np.zeros(2)): 1}, {Tricked(): 1},
        {Hashed(): 1}, {float("nan"): 1, float("nan"): 2}, {"x" * 10**6: 1}, {deep_tuple(): 1}, {IntSays(3): 1},
    ],
    "others": [deque([1], 10**9), defaultdict(Says), defaultdict(Tricked), slice(1, 2), ..., {1}.__iter__(), {}.keys()],
}  # fmt: skip


def check(text: str) -> None:
    assert all(line.isprintable() for line in text.splitlines()), ascii(text)[:500]
    assert len(text) < 20_000


def cases() -> list[Any]:
    """Each group as a whole, and each of its objects on its own."""
    found = []
    for name, group in ODD.items():
        found.append(pytest.param(group, id=name))
        if type(group) is list:
            found += [pytest.param(item, id=f"{name} {number}") for number, item in enumerate(group)]
    return found


@pytest.mark.parametrize("tree", cases())
def test_it_is_looked_at_all_the_same(tree: Any) -> None:
    # A collection at the limit of recursion, where deepcopy ends, would fail in the callbacks of others.
    gc.disable()
    try:
        twin = copy.deepcopy(tree)
    except Exception:
        twin = tree
    finally:
        gc.enable()
    with registered(Parts, flatten, lambda children, context: Parts(*children, context=context)):
        summary = cp.tree_summary({"k": tree})
        assert summary.num_leaves == len(cp.tree_leaves(tree))
        check(str(summary))
        summary._repr_html_().encode()
        cp.tree_structure(tree)._repr_html_().encode()
        for other in (twin, 1, [tree], {"k": 1}, Tagged(1, 2, 3), np.zeros(3)):
            for pair in ((tree, other), ([other], [tree])):
                for leaves in (False, True):
                    check(str(cp.tree_diff(*pair, leaves=leaves)))
        check(str(cp.check_node(tree)))


@pytest.mark.parametrize("name", ODD)
def test_a_tree_does_not_differ_from_itself(name: str) -> None:
    with registered(Parts, flatten, lambda children, context: Parts(*children, context=context)):
        assert not cp.tree_diff(ODD[name], ODD[name], leaves=True)
