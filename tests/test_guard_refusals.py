"""What cannot be compiled is an error at the first call: values that are no guards, hidden tensors, random numbers."""

from __future__ import annotations

import dataclasses
import functools
import io
import random
import re
from random import uniform
from typing import Any

import numpy as np
import pytest
from classes import Sample
from guarded import agree, refused, vector
from helpers import registered

import clika_pytree as cp

# --- G7: what cannot be a guard ---------------------------------------------------------------------------------------


WAY_OUT = (
    "so a later call can't be held against it. Pass something hashable in its place (a frozenset for a set, a frozen "
    "dataclass for an object), or register its class as a node"
)


class NoEquality:
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("never ask")


class Unhashable:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Grid:
    def __init__(self, value: Any, grid: Any) -> None:
        self.value, self.grid = value, grid


def test_g7_a_set():
    text = refused(lambda p: p["x"], {"x": vector(), "cfg": [{"w"}]}, error=cp.GuardError, path="p['cfg'][0]")
    assert text == f"p['cfg'][0] is a set, which can't be a guard: it can change, and has no hash, {WAY_OUT}"


def test_g7_a_value_whose_equality_raises():
    text = refused(lambda x, cfg: x, vector(), cfg=NoEquality(), error=cp.GuardError, path="cfg")
    assert text == f"cfg is a NoEquality, which can't be a guard: its hash or == raises a RuntimeError, {WAY_OUT}"


def test_g7_a_value_without_a_hash():
    text = refused(lambda x, cfg: x, vector(), Unhashable(), error=cp.GuardError, path="cfg")
    assert text == f"cfg is an Unhashable, which can't be a guard: it has no usable hash, {WAY_OUT}"


def test_g7_what_is_used_up():
    reason = (
        "which can't be a guard: it gives another item each time it is asked for one, so a later call can't be held "
        "against it. Pass a list or a tuple of its items"
    )
    text = refused(lambda x, items: x + next(items), vector(), iter([1, 2]), error=cp.GuardError, path="items")
    assert text == f"items is a list_iterator, {reason}"
    for value in [(k for k in "ab"), enumerate("ab"), io.StringIO("ab"), map(len, "ab")]:
        refused(lambda x, items: x, vector(), value, error=cp.GuardError, path="items")


def test_g7_an_array_in_a_context():
    grid = Grid(vector(), np.ones(3))
    with registered(Grid, lambda obj: ((obj.value,), obj.grid), lambda kids, grid: Grid(*kids, grid)):
        text = refused(lambda p: p["m"].value, {"m": grid}, error=cp.ContextError, path="p['m']")
    assert text == (
        "the context of Grid at p['m'] can't be hashed: it holds a numpy.ndarray, which has no usable "
        "hash. Make it a data field (a child), or put a hashable stand-in there"
    )


# --- G8: tensors that nobody would see --------------------------------------------------------------------------------


@dataclasses.dataclass
class State:
    step: int
    w: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    w: Any


class Plain:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class SampleBelow(Sample):
    """Its base is registered, it is not."""


class Layer:
    def __init__(self, w: Any) -> None:
        self.w = w

    def __call__(self, x: Any) -> Any:
        return x @ self.w


def test_g8_a_dataclass():
    text = refused(lambda x, s: x, vector(), {"s": State(3, vector())}, error=cp.UnregisteredNodeError, path="s['s']")
    assert text == (
        "s['s'] is a State, a dataclass that is not registered: it counts as one leaf, and the tensors that it holds "
        "at .w would be constants of the graph. Register the class, so that they are inputs: "
        "clika_pytree.register_dataclass(State)"
    )


@pytest.mark.parametrize(
    ("value", "field"),
    [
        (Slotted(vector()), "w"),
        (Plain(mode="train", kernel=vector()), "kernel"),
        (Plain(parts=[1, {"deep": vector()}]), "parts"),
        (SampleBelow(vector(), None, "s"), "weight"),
        (Layer(np.eye(3)), "w"),
        (functools.partial(np.add, vector()), "args"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_g8_an_object_that_is_no_node_and_holds_tensors(value, field):
    text = refused(lambda x, s: x, vector(), s=value, error=cp.UnregisteredNodeError, path="s")
    assert re.search(rf"\b{field}\b", text), text
    assert "regist" in text


def test_g8_a_subclass_is_told_of_its_base():
    text = refused(
        lambda x, s: x, vector(), s=SampleBelow(vector(), None, "s"), error=cp.UnregisteredNodeError, path="s"
    )
    assert text == (
        "s is a SampleBelow, a dataclass that is not registered: it counts as one leaf, and the tensors that it holds "
        "at .weight would be constants of the graph. Its base Sample is a node, but that holds for instances of Sample "
        "itself only. Register the class, so that they are inputs: clika_pytree.register_dataclass(SampleBelow)"
    )


def test_g8_attrs():
    attrs = pytest.importorskip("attrs")
    made = attrs.make_class("Made", ["w", "name"])
    text = refused(lambda x, s: x, vector(), s=made(vector(), "m"), error=cp.UnregisteredNodeError, path="s")
    assert "Made" in text


def test_g8_holding_tensors_is_said_before_all_else_where_there_are_graphs_already():
    @dataclasses.dataclass
    class State:
        w: Any

    compiled = cp.compile(lambda x, s: x + 1)
    compiled(vector(), None)
    with pytest.raises(cp.UnregisteredNodeError, match=r"^s is a State, .* at \.w would be constants"):
        compiled(vector(), State(vector()))


def test_a_tensor_of_a_library_without_a_runtime_is_said_to_need_one():
    class Tensor:
        shape, dtype, __hash__ = (3,), "float32", None

        def __eq__(self, other: object) -> Any:
            return [True]

    text = refused(lambda x, s: x, vector(), s=Tensor(), error=cp.GuardError, path="s")
    assert text.endswith(
        "If it is a tensor, tell clika_pytree.register_runtime() of its library; else pass something "
        "hashable in its place"
    )


def test_g8_the_compiled_callable_itself():
    with pytest.raises(cp.UnregisteredNodeError, match="Layer"):
        cp.compile(Layer(np.eye(3)))(vector())


# --- G13: random numbers ----------------------------------------------------------------------------------------------

GENERATOR = np.random.default_rng(1)
OTHER = np.random.default_rng(2)
STATE = np.random.RandomState(1)
BITS = np.random.PCG64(1)
DRAW = np.random.default_rng(1).normal
PYTHON = random.Random(1)
SHUFFLE = random.Random(1).random


class Noise:
    generator = np.random.default_rng(1)

    def __init__(self) -> None:
        self.own = np.random.default_rng(1)


NOISE = Noise()
CAPTURED = {"rng": [np.random.default_rng(1)]}

DRAWN = {
    "np.random.rand": lambda x: x + np.random.rand(3),
    "np.random.normal": lambda x: x + np.random.normal(size=3),
    "np.random.permutation": lambda x: x + np.random.permutation(3),
    "np.random.choice": lambda x: x + np.random.choice([1.0, 2.0]),
    "a Generator": lambda x: x + GENERATOR.normal(size=3),
    "its array": lambda x: x + GENERATOR.random(out=np.empty(3)),
    "its integers": lambda x: x + GENERATOR.integers(3),
    "its spawn": lambda x: x + GENERATOR.spawn(1)[0].normal(size=3),
    "a RandomState": lambda x: x + STATE.randn(3),
    "a BitGenerator": lambda x: x + BITS.random_raw() % 7,
    "a Generator around it": lambda x: x + np.random.Generator(BITS).random(),
    "a default": lambda x, rng=OTHER: x + rng.normal(),
    "an attribute": lambda x: x + NOISE.own.normal(),
    "an attribute of a class": lambda x: x + Noise.generator.normal(),
    "a container": lambda x: x + CAPTURED["rng"][0].normal(),
    "a method of a Generator": lambda x: x + DRAW(),
    "Python's random": lambda x: x + random.random(),
    "Python's gauss": lambda x: x + random.gauss(0, 1),
    "a function of it": lambda x: x + uniform(0, 1),
    "a generator of Python": lambda x: x * PYTHON.choice([1.0, 2.0]),
    "its method": lambda x: x * SHUFFLE(),
    "no seed": lambda x: x + np.random.default_rng().normal(),
    "a RandomState without a seed": lambda x: x + np.random.RandomState().randn(),
}


@pytest.mark.parametrize("way", DRAWN)
def test_g13_random_numbers_would_be_frozen(way):
    text = refused(DRAWN[way], vector(), error=cp.RecordingError)
    assert "random" in text
    assert f"{__file__}:" in text
    assert text.endswith(
        "a graph would give the same numbers at each call: draw them outside and pass them as an argument"
    )


def test_g13_the_whole_message():
    compiled = cp.compile(lambda x: x + np.random.rand(3))
    with pytest.raises(cp.RecordingError) as caught:
        compiled(vector())
    line = test_g13_the_whole_message.__code__.co_firstlineno + 1
    assert str(caught.value) == (
        f"The recorded function drew random numbers from numpy's global generator, noticed at {__file__}:{line}:\n"
        "    compiled = cp.compile(lambda x: x + np.random.rand(3))\n"
        "a graph would give the same numbers at each call: draw them outside and pass them as an argument"
    )


def test_g13_seeding_the_global_generator_is_no_way_around():
    def function(x: Any) -> Any:
        np.random.seed(1)
        return x + np.random.rand(3)

    np.random.seed(2)
    with pytest.raises(cp.RecordingError, match="drew random numbers from numpy's global generator"):
        cp.compile(function)(vector())


def test_g13_a_generator_that_is_an_argument():
    generator = np.random.default_rng(1)
    refused(lambda x, rng: x + rng.normal(), vector(), generator, error=cp.RecordingError)
    refused(lambda x, rng: x + rng.random(), vector(), random.Random(1), error=cp.RecordingError)
    held = {"rng": generator}
    refused(lambda x, tools: x + tools["rng"].normal(), vector(), held, error=cp.RecordingError)


def test_g13_a_generator_that_is_not_used_is_no_trouble():
    agree(lambda x, rng: x * 2, *[(vector(), GENERATOR)] * 3, number=1)


def test_g13_numbers_with_a_seed_of_the_function_s_own_are_the_same_at_each_call():
    agree(lambda x: x + np.random.default_rng(7).normal(size=3), *[(vector(),)] * 3, number=1)


def test_g13_the_generator_of_the_program_goes_on_as_before():
    """Compiling draws no number itself."""
    np.random.seed(5)
    before = np.random.get_state()[1].copy()
    cp.compile(lambda x: x * 2)(vector())
    assert (np.random.get_state()[1] == before).all()
