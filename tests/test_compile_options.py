"""What `compile` is told, and what a compiled function looks like."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from guarded import counts, equal

import clika_pytree as crt

X = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dynamic": 1}, "True or False as dynamic, got 1"),
        ({"max_graphs": 0}, "from 1 on as max_graphs, got 0"),
        ({"max_graphs": True}, "from 1 on as max_graphs, got True"),
        ({"on_miss": "warn"}, "as on_miss, got 'warn'"),
        ({"runtime": "nope"}, "name of a runtime, got 'nope'"),
        ({"namespace": 3}, "namespace"),
    ],
)
def test_wrong_options_are_refused(options: Any, words: str) -> None:
    with pytest.raises(crt.PyTreeError, match=words):
        crt.compile(len, **options)
    with pytest.raises(crt.PyTreeError, match=words):
        crt.compile(**options)


def test_a_number_out_of_range_is_a_value_error() -> None:
    for number, error in ((0, crt.PyTreeValueError), (-1, crt.PyTreeValueError), (2.0, crt.PyTreeTypeError)):
        with pytest.raises(error):
            crt.compile(max_graphs=number)


def test_no_new_graphs_on_demand() -> None:
    @crt.compile
    def step(x: Any, mode: str) -> Any:
        return x * 2

    step(X, "train")
    step.on_miss = "error"
    assert step.on_miss == "error"
    assert equal(step(X, "train"), X * 2)
    with pytest.raises(crt.MissError, match=r"mode.*'train'.*'eval'") as caught:
        step(X, "eval")
    assert isinstance(caught.value, ValueError)
    assert caught.value.path == "mode"
    with pytest.raises(crt.PyTreeValueError, match="got 'never'"):
        step.on_miss = "never"  # type: ignore[assignment]
    step.on_miss = "compile"
    assert equal(step(X, "eval"), X * 2)
    with pytest.raises(crt.MissError, match="has no graph yet"):
        crt.compile(lambda x: x, on_miss="error")(X)


def test_what_is_set_on_a_bound_method_is_the_functions() -> None:
    @crt.register_dataclass
    @dataclass
    class Layer:
        w: Any

        @crt.compile
        def scaled(self, factor: int) -> Any:
            return self.w * factor

    layer = Layer(X)
    layer.scaled(1)
    layer.scaled.on_miss = "error"
    assert layer.scaled.on_miss == Layer.scaled.on_miss == Layer(X).scaled.on_miss == "error"
    with pytest.raises(crt.MissError):
        layer.scaled(2)
    with pytest.raises(crt.PyTreeValueError, match="got 'never'"):
        layer.scaled.on_miss = "never"  # type: ignore[assignment]
    with pytest.raises(
        AttributeError, match=r"no attributes of its own: set note on the function, such as Layer\.scaled"
    ):
        layer.scaled.note = "kept"  # type: ignore[attr-defined]


def test_registrations_of_a_namespace_are_seen() -> None:
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    crt.register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda c, _: Pair(*c), namespace="compile-test")
    try:
        with pytest.raises(crt.UnregisteredNodeError, match="pair"):
            crt.compile(lambda pair: pair.a)(Pair(X, 1))
        compiled = crt.compile(lambda pair: Pair(pair.b, pair.a * 2), namespace="compile-test")
        for _ in range(2):
            got = compiled(Pair(X, 1))
            assert (type(got), got.a) == (Pair, 1)
            assert equal(got.b, X * 2)
        assert counts(compiled) == (1, 1)
    finally:
        crt.unregister_pytree_node(Pair, namespace="compile-test")


def test_it_looks_like_the_function() -> None:
    def step(x: int, *, k: float = 1.0) -> int:
        """One step."""
        return x

    compiled = crt.compile(step)
    assert compiled.__wrapped__ is step
    assert (compiled.__name__, compiled.__doc__, compiled.__module__) == ("step", "One step.", __name__)
    assert repr(compiled) == "<compiled function step, 0 graphs>"
    compiled(1)
    assert repr(compiled) == "<compiled function step, 1 graph>"
    assert copy.copy(compiled) is copy.deepcopy(compiled) is compiled
    import inspect

    assert inspect.signature(compiled) == inspect.signature(step)


@crt.compile
def importable(x: Any) -> Any:
    return x * 2


def test_a_decorated_function_is_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(importable)) is importable
    with pytest.raises(Exception, match=r"local|attribute|not the same"):
        pickle.dumps(crt.compile(lambda x: x))


def test_nothing_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(7):
            importable(np.ones(n))
    importable.clear()


def test_a_deep_copy_of_a_compiled_method_belongs_to_the_copy_of_its_object():
    class Linear:
        def __init__(self) -> None:
            self.w = np.ones(2)
            self.forward = crt.compile(self.apply)

        def apply(self, x: Any) -> Any:
            return x * self.w

        @crt.compile
        def method(self, x: Any) -> Any:
            return x * self.w

    crt.register_pytree_node(
        Linear, lambda linear: ((linear.w,), None, ("w",)), lambda children, _: rebuilt(Linear, children)
    )

    def rebuilt(cls: Any, children: Any) -> Any:
        linear = cls.__new__(cls)
        linear.w = children[0]
        return linear

    try:
        linear, x = Linear(), np.arange(2.0)
        linear.forward(x)
        for twin in (copy.deepcopy(linear), copy.deepcopy([linear.forward, linear])[1]):
            twin.w = np.full(2, 10.0)
            assert twin.forward(x)[1] == twin.method(x)[1] == 10
            assert linear.forward(x)[1] == linear.method(x)[1] == 1
        bound = linear.method
        assert copy.copy(bound).__self__ is linear
        assert copy.copy(bound)(x)[1] == 1
        twin = copy.deepcopy(bound)
        assert twin.__self__ is not linear
        assert twin.__func__ is bound.__func__
        assert twin(x)[1] == 1
    finally:
        crt.unregister_pytree_node(Linear)
