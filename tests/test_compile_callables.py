"""What can be compiled: functions, methods, objects, partials, functions written in C; and as a decorator."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from typing import Any

import numpy as np
import pytest
from guarded import equal

import clika_pytree as crt

X = np.arange(6.0).reshape(2, 3)


@crt.register_dataclass
@dataclasses.dataclass
class Model:
    w: Any
    scale: float = dataclasses.field(default=1.0, metadata={"static": True})

    def __call__(self, x: Any) -> Any:
        return x @ self.w * self.scale

    def plain(self, x: Any, k: int = 1) -> Any:
        return x @ self.w * k

    @crt.compile
    def decorated(self, x: Any, *, k: int = 1) -> Any:
        """A method."""
        return x @ self.w * k

    @crt.compile(dynamic=True)
    def dynamic(self, x: Any) -> Any:
        return x.sum(0) / x.shape[0]

    @classmethod
    @crt.compile
    def of_class(cls, x: Any) -> Any:
        return x * len(cls.__name__)

    @staticmethod
    @crt.compile
    def static(x: Any) -> Any:
        return x * 3


class Sub(Model):
    pass


crt.register_dataclass(Sub)


@pytest.fixture(autouse=True)
def _clear() -> None:
    for name in ("decorated", "dynamic"):
        vars(Model)[name].clear()


def test_a_method_takes_its_object_as_an_argument() -> None:
    for _ in range(2):
        for model in (Model(np.eye(3)), Model(np.ones((3, 3)))):
            assert equal(model.decorated(X, k=2), X @ model.w * 2)
    model.w = np.zeros((3, 3))
    assert equal(model.decorated(X, k=2), X * 0)
    assert Model.decorated.cache_info() == (4, 1, 64, 1)
    assert equal(Model.decorated(model, X), X * 0)
    assert equal(Model(np.eye(3), 2.0).decorated(X), X)  # a static field is another
    assert equal(Sub(np.eye(3)).decorated(X), X)
    assert Model.decorated.cache_info().currsize == 4


def test_a_bound_method_tells_what_the_function_tells() -> None:
    model = Model(np.eye(3))
    bound = model.decorated
    bound(X)
    assert bound.cache_info() == Model.decorated.cache_info() == (0, 1, 64, 1)
    assert bound.graphs() == Model.decorated.graphs()
    assert not bound.explain(X).needs_graph
    explanation = bound.explain(X, k=3)
    assert explanation.needs_graph
    assert explanation.changes[0].path == "k"
    assert (bound.__self__, bound.__func__) == (model, vars(Model)["decorated"])
    assert (bound.__name__, bound.__doc__) == ("decorated", "A method.")
    assert repr(bound) == "<bound <compiled function decorated, 1 graph> of a Model>"
    bound.clear()
    assert Model.decorated.cache_info().currsize == 0


def test_other_kinds_of_methods() -> None:
    model = Model(np.eye(3))
    for size in (2, 5):
        assert equal(model.dynamic(np.ones((size, 3))), np.ones(3))
    assert model.dynamic.cache_info().currsize == 1
    assert equal(Model.of_class(X), X * 5)
    assert equal(Sub.of_class(X), X * 3)
    assert equal(model.static(X), X * 3)
    assert equal(Model.static(X), X * 3)


def test_a_bound_method_compiled() -> None:
    model = Model(np.eye(3))
    compiled = crt.compile(model.plain)
    for _ in range(2):
        assert equal(compiled(X, 2), X @ model.w * 2)
        assert equal(compiled(X, k=2), X @ model.w * 2)
    model.w = np.ones((3, 3))
    assert equal(compiled(X, 2), X @ model.w * 2)
    assert compiled.cache_info() == (4, 1, 64, 1)
    assert compiled.explain(X, 3).changes[0].path == "k"
    model.w = np.ones((3, 2))
    assert compiled.explain(X, 2).changes[0].path == "self.w"


def test_an_object_with_call() -> None:
    model = Model(np.eye(3), 2.0)
    compiled = crt.compile(model)
    for w in (np.eye(3), np.ones((3, 3))):
        model.w = w
        assert equal(compiled(X), X @ w * 2)
    model.scale = 3.0
    assert equal(compiled(X), X @ model.w * 3)
    assert compiled.cache_info() == (1, 2, 64, 2)
    assert repr(compiled) == "<compiled function Model, 2 graphs>"

    class Opaque:
        def __init__(self) -> None:
            self.w = X

        def __call__(self, x: Any) -> Any:
            return x + self.w

    with pytest.raises(crt.UnregisteredNodeError) as caught:
        crt.compile(Opaque())(X)
    assert caught.value.path == "self"


def test_arguments_of_a_partial_are_arguments() -> None:
    def f(p: Any, x: Any, k: int = 1, *, b: Any = 0) -> Any:
        return x @ p["w"] * k + b

    p = {"w": np.eye(3)}
    held = functools.partial(f, p, b=np.ones(3))
    compiled = crt.compile(held)
    assert equal(compiled(X, 2), f(p, X, 2, b=1.0))
    p["w"] = np.ones((3, 3))  # read at each call, as it is an input
    assert equal(compiled(X, k=2), f(p, X, 2, b=1.0))
    held.keywords["b"] = np.zeros(3)
    assert equal(compiled(X, k=2), f(p, X, 2))
    assert equal(compiled(X, 2, b=np.ones(3)), f(p, X, 2, b=1.0))
    assert compiled.cache_info() == (3, 1, 64, 1)
    outer = crt.compile(functools.partial(functools.partial(held, X), k=5))
    assert equal(outer(), f(p, X, 5))
    assert equal(outer(k=2), f(p, X, 2))
    assert outer.__name__ == "f"


def test_a_partial_of_a_method_and_of_a_compiled_function() -> None:
    model = Model(np.eye(3))
    compiled = crt.compile(functools.partial(model.plain, k=4))
    assert equal(compiled(X), X * 4)
    again = crt.compile(compiled, dynamic=True)
    assert equal(again(X), X * 4)
    assert again.__wrapped__ is Model.plain
    bound = crt.compile(model.decorated)
    assert equal(bound(X, k=2), X * 2)
    assert bound.__wrapped__ is Model.decorated.__wrapped__
    assert crt.compile(crt.Partial(model.plain, k=3))(X).tolist() == (X * 3).tolist()


def test_signatures_are_those_of_what_was_compiled() -> None:
    model = Model(np.eye(3))
    for given in (model.plain, model, functools.partial(Model.plain, model, k=3), Model.plain):
        assert inspect.signature(crt.compile(given)) == inspect.signature(given)
    assert str(inspect.signature(model.decorated)) == "(x: 'Any', *, k: 'int' = 1) -> 'Any'"


def test_functions_written_in_c() -> None:
    assert equal(crt.compile(np.add)(X, X), X + X)
    assert equal(crt.compile(np.sum)(X, axis=0), X.sum(0))
    assert crt.compile(math.sqrt)(4.0) == 2.0
    assert crt.compile(max)(3, 5) == 5
    assert crt.compile(len)([X, X]) == 2


def test_a_wrapped_function_has_the_signature_of_what_it_wraps() -> None:
    def f(x: Any, k: int = 2) -> Any:
        return x * k

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs) + 1

    compiled = crt.compile(wrapper)
    for call in (compiled(X), compiled(X, 2), compiled(x=X, k=2)):
        assert equal(call, X * 2 + 1)
    assert compiled.cache_info().currsize == 1


def test_all_kinds_of_parameters() -> None:
    def f(a: Any, /, b: Any, *rest: Any, c: Any, **more: Any) -> Any:
        return {"a": a, "b": b, "rest": rest, "c": c, "more": more}

    compiled = crt.compile(f)
    for _ in range(2):
        assert equal(compiled(X, 1, 2, X, c=3, d=X, a=4), f(X, 1, 2, X, c=3, d=X, a=4))
        assert equal(compiled(X, b=1, c=[X]), f(X, b=1, c=[X]))
    assert compiled.cache_info().currsize == 2
    assert compiled(X, 1, c=2, z=1, y=2)["more"] == {"z": 1, "y": 2}
    assert [*compiled(X, 1, c=2, y=2, z=1)["more"]] == ["y", "z"]
    names = [*compiled.graphs()[-1].key]
    assert {"a", "b", "rest[1]", "c", "more['d']", "more['a']"} <= set(names) | {*compiled.graphs()[-2].key}


async def coroutine(x: Any) -> Any:
    return x


def generator(x: Any) -> Any:
    yield x


async def asynchronous(x: Any) -> Any:
    yield x


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, "expects a function, got 3"),
        (None.__class__, "got the class NoneType"),
        (Model, "got the class Model; compile a method of it"),
        (coroutine, "got a coroutine function; compile what it calls"),
        (functools.partial(coroutine, 1), "got a coroutine function"),
        (generator, "got a generator; return a list"),
        (asynchronous, "got an asynchronous generator"),
        (staticmethod(len), "put @staticmethod above @compile"),
        (classmethod(len), "put @classmethod above @compile"),  # type: ignore[arg-type]
        (property(len), "expects a function, got a property"),
    ],
)
def test_what_is_no_function_is_refused(given: Any, words: str) -> None:
    with pytest.raises(crt.PyTreeTypeError) as caught:
        crt.compile(given)
    assert words in str(caught.value)
    assert str(caught.value).startswith("compile() expects a function")
    with pytest.raises(crt.PyTreeTypeError):
        crt.compile(dynamic=True)(given)
