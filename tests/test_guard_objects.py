"""Objects as arguments, how long they and the graphs live, and the memory layout of arrays."""

from __future__ import annotations

import collections
import dataclasses
import gc
import inspect
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from guarded import alike, graphs, vector
from recorded import same

import clika_pytree as cp

# --- G9: objects ------------------------------------------------------------------------------------------------------


@cp.register_dataclass
@dataclasses.dataclass
class Model:
    w: Any
    name: str = dataclasses.field(default="m", metadata={"static": True})

    @cp.compile
    def forward(self, x: Any) -> Any:
        return x * self.w, self.name

    def scaled(self, x: Any, k: float) -> Any:
        return x * self.w * k


def test_g9_self_is_an_input():
    Model.forward.clear()
    for w in (2.0, 3.0):
        model = Model(np.array(w))
        assert same(model.forward(vector())[0], vector() * w)
        model.w = np.array(7.0)
        assert same(model.forward(vector())[0], vector() * 7)
        assert same(cp.compile(model.scaled)(vector(), 2.0), vector() * 14)
    assert graphs(Model.forward) == 1
    assert Model(np.array(1.0), "other").forward(vector())[1] == "other"
    assert graphs(Model.forward) == 2


def test_g9_a_bound_method_that_was_compiled_reads_its_object_at_each_call():
    model = Model(np.array(2.0))
    compiled = cp.compile(model.scaled)
    assert same(compiled(vector(), 1.0), vector() * 2)
    model.w = np.array(5.0)
    assert same(compiled(vector(), 1.0), vector() * 5)
    assert graphs(compiled) == 1


def test_g9_a_function_made_anew_each_time_is_said():
    def apply(x: Any, activation: Any) -> Any:
        return activation(x)

    compiled = cp.compile(apply)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(10):
            compiled(vector(), lambda x: x + 1)
    assert [warning.category for warning in caught] == [cp.RecompileWarning]
    message = str(caught[0].message)
    assert message.startswith("apply() has made 8 graphs: what changed each time is activation (<function test_g9_")
    assert "A function or object made anew for each call is a new value." in message
    assert caught[0].filename == __file__


class Options:
    extra: Any

    def __init__(self, scale: float) -> None:
        self.scale = scale


def test_g9_an_attribute_that_is_set_makes_a_new_graph():
    options = Options(2.0)
    compiled = cp.compile(lambda x, options: x * options.scale)
    assert same(compiled(vector(), options), vector() * 2)
    options.scale = 3.0
    assert same(compiled(vector(), options), vector() * 3)
    options.scale = 3
    assert same(compiled(vector(), options), vector() * 3)
    assert graphs(compiled) == 3
    assert same(compiled(vector(), Options(3)), vector() * 3), "another object, which may become another value"
    assert graphs(compiled) == 4


class Words(dict[str, Any]):
    """A dict of the user's."""


class Row(list[Any]):
    """A list of the user's."""


CONTAINERS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], str]] = {
    "an OrderedDict": (
        lambda: collections.OrderedDict(a=1, b=[2]),
        lambda found: found.update(a=3),
        "was (('a', 1), ('b', [2])), now OrderedDict(",
    ),
    "the order of an OrderedDict": (
        lambda: collections.OrderedDict(a=1, b=2),
        lambda found: found.move_to_end("a"),
        "was (('a', 1), ('b', 2)), now OrderedDict(",
    ),
    "a list in an OrderedDict": (
        lambda: collections.OrderedDict(a=[1]),
        lambda found: found["a"].append(2),
        "was (('a', [1]),), now OrderedDict(",
    ),
    "a defaultdict": (lambda: collections.defaultdict(int, a=1), lambda found: found["z"], "was (('a', 1),), now "),
    "a Counter": (lambda: collections.Counter("ab"), lambda found: found.update("a"), "was (('a', 1), ('b', 1)), now "),
    "a dict of a class": (lambda: Words(a=1), lambda found: found.clear(), "was (('a', 1),), now {}"),
    "a list of a class": (lambda: Row([1]), lambda found: found.append(2), "was (1,), now [1, 2]"),
    "a deque": (lambda: collections.deque([1, 2]), lambda found: found.rotate(), "was (1, 2), now deque([2, 1])"),
    "a bytearray": (lambda: bytearray(b"a"), lambda found: found.append(98), "was (b'a',), now bytearray(b'ab')"),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_g9_a_change_in_a_container_behind_an_attribute_makes_a_new_graph(kind: str) -> None:
    make, change, text = CONTAINERS[kind]
    options = Options(2.0)
    options.extra = make()
    compiled = cp.compile(lambda x, options: x + hash(repr(options.extra)) % 1000)
    wanted = vector() + hash(repr(options.extra)) % 1000
    for _ in range(2):
        assert same(compiled(vector(), options), wanted)
    assert compiled.cache_info()[:2] == (1, 1)
    change(options.extra)
    assert f"options.extra: {text}" in str(compiled.explain(vector(), options))
    assert same(compiled(vector(), options), vector() + hash(repr(options.extra)) % 1000)
    assert graphs(compiled) == 2


# --- G10, G11: how long graphs and values live ------------------------------------------------------------------------


class Counted:
    """A value that counts how often it is compared."""

    compared = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return isinstance(other, Counted) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)


def test_g10_graphs_are_bounded():
    compiled = cp.compile(lambda x, k: x, max_graphs=3)
    x = vector()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(500):
            assert compiled(x, k) is x
    info = compiled.cache_info()
    assert (info.hits, info.misses, info.maxsize, info.currsize) == (0, 500, 3, 3)
    assert [warning.category for warning in caught] == [cp.RecompileWarning]


MANY = 10_000


def test_g10_a_call_compares_with_few_of_many_graphs():
    cache = cp.GuardCache(inspect.signature(lambda x, k: x), MANY)
    x = vector()
    for k in range(MANY):
        assert cache.lookup((x, Counted(k)), {}) is None
        cache.insert(cache.bind((x, Counted(k)), {}), k)
    Counted.compared = 0
    for k in range(0, MANY, 100):
        assert cache.lookup((x, Counted(k)), {}) == (k, [x])
        assert cache.lookup((x, Counted(-1)), {}) is None
    assert cache.cache_info() == (100, MANY + 100, MANY, MANY)
    assert Counted.compared <= 5 * 200, "a handful for each call"


def test_g10_the_graph_used_longest_ago_goes_first():
    compiled = cp.compile(lambda x, k: x * k, max_graphs=2)
    for k in (1, 2, 1, 3, 1):
        compiled(vector(), k)
    assert compiled.cache_info()[:2] == (2, 3)
    compiled(vector(), 2)
    assert compiled.cache_info().misses == 4


class Token:
    """A value with a weak reference."""


@pytest.mark.parametrize("dynamic", [False, True])
def test_g11_tensors_of_a_call_are_not_kept(dynamic):
    compiled = cp.compile(lambda tree, y: (tree["x"] * 2 + y, tree["n"]), dynamic=dynamic)
    for _ in range(2):  # the call that makes the graph, and one that finds it
        x, y = vector(), vector()
        ends = [weakref.ref(x), weakref.ref(y)]
        compiled({"x": x, "n": 1}, y)
        del x, y
        gc.collect()
        assert [end() for end in ends] == [None, None]


def test_g11_a_tensor_that_was_returned_or_not_used_is_not_kept():
    compiled = cp.compile(lambda x, unused: x)
    x, unused = vector(), vector()
    ends = [weakref.ref(x), weakref.ref(unused)]
    assert compiled(x, unused) is x
    del x, unused
    gc.collect()
    assert [end() for end in ends] == [None, None]


def test_g11_a_value_is_kept_as_long_as_its_graph():
    compiled = cp.compile(lambda x, token: x * 2, max_graphs=2)
    tokens = [Token() for _ in range(3)]
    ends = [weakref.ref(token) for token in tokens]
    for token in tokens:
        compiled(vector(), token)
    del token
    tokens.clear()
    gc.collect()
    assert [end() is None for end in ends] == [True, False, False]
    compiled.clear()
    gc.collect()
    assert [end() for end in ends] == [None, None, None]


def test_g11_a_refused_call_keeps_nothing():
    compiled = cp.compile(lambda x, token, names: x)
    token, x = Token(), vector()
    ends = [weakref.ref(token), weakref.ref(x)]
    for _ in range(2):
        with pytest.raises(cp.GuardError):
            compiled(x, token, {1})
    del token, x
    gc.collect()
    assert [end() for end in ends] == [None, None]


def test_g11_a_compiled_function_in_a_circle_is_collected():
    class Owner:
        pass

    owner = Owner()
    owner.compiled = cp.compile(lambda x, o=owner: x * 2)
    owner.compiled(vector())
    end = weakref.ref(owner)
    del owner
    gc.collect()
    assert end() is None


# --- G14: the memory layout of what is reduced ------------------------------------------------------------------------

LAYOUTS = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "negative": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "rows backwards": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
    "part": lambda a: np.pad(a, 1)[1:-1, 1:-1],
}
REDUCTIONS = {
    "sum": lambda y: y.sum(),
    "sum of rows": lambda y: y.sum(0),
    "sum of columns": lambda y: y.sum(1, keepdims=True),
    "mean": lambda y: y.mean(-1),
    "std": lambda y: y.std(0),
    "prod": lambda y: (y / 3 + 1).prod(1),
    "norm": lambda y: np.linalg.norm(y),
    "einsum": lambda y: np.einsum("ij,kj->ik", y, y[:3]),
    "dot": lambda y: y.T @ y,
    "cumsum": lambda y: np.cumsum(y),
    "logaddexp": lambda y: np.logaddexp.reduce(y, axis=0),
    "ravel": lambda y: y.ravel("K")[:50],
}


@pytest.fixture(scope="module")
def numbers() -> Any:
    return np.random.default_rng(3).standard_normal((230, 200)).astype(np.float32)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_g14_reductions_have_the_bits_of_numpy_in_every_layout(numbers, reduction, dynamic):
    def function(x: Any, y: Any) -> Any:
        steps = np.exp(-(x * x)) + np.tanh(y) * 0.5
        return REDUCTIONS[reduction](steps), REDUCTIONS[reduction](x - 1)

    for first in (LAYOUTS["C"], LAYOUTS["F"], LAYOUTS["negative"]):
        compiled = cp.compile(function, dynamic=dynamic)
        compiled(first(numbers), first(numbers))
        for again in LAYOUTS.values():
            x, y = again(numbers), first(numbers)
            assert alike(compiled(x, y), function(x, y))
