"""Random calls: the native guard cache finds what a slow one in Python finds."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from typing import Any

import numpy as np
import reference_guards
from guarding import Condition, Plain, Valued
from hypothesis import given, settings
from hypothesis import strategies as st

import clika_pytree as cp
from clika_pytree._native import GuardCache


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any
    name: Any = dataclasses.field(default="", metadata={"static": True})


@dataclasses.dataclass(frozen=True)
class Frozen:
    rate: Any


@dataclasses.dataclass
class Changing:
    rate: Any
    note: Any = dataclasses.field(default="", compare=False)


class Color(enum.Enum):
    RED = 1


cp.register_dataclass(Layer)

CONFIGS = [Plain(rate=1), Plain(rate=1, names=["a"]), Changing(1), Changing(1, "other")]
ARRAYS = [
    np.zeros(2, np.float32),
    np.zeros(3, np.float32),
    np.zeros((2, 3), np.float32),
    np.zeros((3, 2), np.float32).T,
    np.zeros(2, np.int8),
    np.zeros(2, ">f4"),
    np.zeros(0, np.float32),
    np.float32(1),
]
VALUES = [None, True, 1, 1.0, 0.0, -0.0, float("nan"), "a", b"a", Frozen(0.0), Frozen(-0.0), Frozen(0), len, int]
VALUES += [Color.RED, Valued(1).method, Valued(2).method, {1}, Plain(w=np.zeros(1)), Frozen(np.zeros(1))]
leaves = st.sampled_from([*ARRAYS, *VALUES, *CONFIGS, Valued(1), Valued(1), Valued(2)])


def containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(["a", "b", 1, True])
    return st.one_of(
        st.lists(children, max_size=2),
        st.tuples(children),
        st.dictionaries(keys, children, max_size=2),
        st.builds(Layer, children, children, st.sampled_from(["x", "y"])),
    )


trees = st.recursive(leaves, containers, max_leaves=4)
calls = st.tuples(
    st.lists(trees, min_size=1, max_size=3).map(tuple), st.dictionaries(st.sampled_from("xkyz"), trees, max_size=2)
)


class Fact:
    def __init__(self, tensor: Any, layout: str | None) -> None:
        self.type, self.dtype, self.ndim, self.layout = type(tensor), tensor.dtype, tensor.ndim, layout

    def holds(self, tensor: Any) -> bool:
        return layout_of(tensor) == self.layout


def layout_of(tensor: Any) -> str:
    if type(tensor) is not np.ndarray:
        return "other"
    return "C" if tensor.flags.c_contiguous else "F" if tensor.flags.f_contiguous else "other"


class Guards:
    def __init__(self, tensors: list[Any], data: st.DataObject) -> None:
        used = [index for index in range(len(tensors)) if data.draw(st.booleans())]
        layouts = {index: data.draw(st.booleans()) for index in used}
        self.facts = {i: Fact(tensors[i], layout_of(tensors[i]) if layouts[i] else None) for i in used}
        axes = [(index, axis) for index in used for axis in range(tensors[index].ndim)]
        self.sizes = {place: tensors[place[0]].shape[place[1]] for place in axes if data.draw(st.booleans())}
        self.conditions = []
        if axes and data.draw(st.booleans()):
            index, axis = axes[0]
            is_large = tensors[index].shape[axis] > 2
            self.conditions = [Condition(lambda xs: xs[index].shape[axis] > 2, is_large)]


def fn(x: Any, k: Any = 2, *args: Any, y: Any = None, **kw: Any) -> None: ...


def attempt(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except TypeError as error:
        return type(error).__name__ if isinstance(error, cp.PyTreeError) else "TypeError"


@settings(max_examples=150, deadline=None)
@given(st.lists(calls, min_size=1, max_size=8), st.booleans(), st.integers(1, 4), st.data())
def test_random_calls_find_what_the_slow_cache_finds(
    given_calls: list[Any], dynamic: bool, maxsize: int, data: st.DataObject
) -> None:
    for config in CONFIGS:
        config.rate = 1
    signature = inspect.signature(fn)
    ours = GuardCache(signature, maxsize, dynamic=dynamic, name="fn")
    slow = reference_guards.GuardCache(signature, maxsize, dynamic=dynamic)
    for number in range(2 * len(given_calls)):
        args, kwargs = data.draw(st.sampled_from(given_calls))
        if data.draw(st.integers(0, 9)) == 0:
            config = data.draw(st.sampled_from(CONFIGS))
            config.rate = data.draw(st.sampled_from([1, True, 1.0, "1"]))
        bound, expected = attempt(ours.bind, args, kwargs), attempt(slow.bind, args, kwargs)
        if isinstance(expected, str):
            assert bound == expected
            continue
        assert (bound.spec, bound.mask, bound.names) == (expected.spec, expected.mask, expected.names)
        found, wanted = ours.lookup(args, kwargs), slow.lookup(args, kwargs)
        assert (found is None) == (wanted is None), (args, kwargs)
        assert bool(ours.explain(bound)) == (found is None and bool(ours.entries()))
        if found is not None and wanted is not None:
            assert found[0] == wanted[0]
            assert list(map(id, found[1])) == list(map(id, wanted[1]))
        elif data.draw(st.integers(0, 3)):
            guards = Guards(expected.tensors, data) if data.draw(st.integers(0, 4)) else None
            ours.insert(bound, number, guards=guards)
            slow.insert(expected, number, guards=guards)
        assert [entry.value for entry in ours.entries()] == [entry.value for entry in slow.entries()]
        assert [entry.hits for entry in ours.entries()] == [entry.hits for entry in slow.entries()]
    assert ours.cache_info() == slow.cache_info()
    assert ours.evictions == slow.evictions
