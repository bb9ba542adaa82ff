"""What stands for tensors while a function is recorded never gets out: not into results, not into what is outside."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import clika_pytree as crt
from clika_pytree.runtimes.numpy import RecordingError, record

X = np.arange(3.0)
KEPT: list[Any] = []


class Box:
    def __init__(self, held: Any) -> None:
        self.held = held

    def get(self) -> Any:
        return self.held


class Layer:
    last: Any = None

    def remember(self, x: Any) -> Any:
        self.last = x + 1
        return x


class Slots:
    __slots__ = ("last",)


class Named(dict[str, Any]):
    """A leaf: subclasses of containers are none."""


@crt.register_dataclass
@dataclass
class Out:
    y: Any
    n: Any = field(metadata={"static": True})


class Tagged:
    def __init__(self, y: Any, tag: Any) -> None:
        self.y, self.tag = y, tag


crt.register_pytree_node(Tagged, lambda t: ((t.y,), t.tag), lambda children, tag: Tagged(children[0], tag))


def in_a_global(x: Any) -> Any:
    global FOUND
    FOUND = x * 2
    return x


def in_a_closure(x: Any) -> Any:
    y = x + 1
    return lambda: y


def in_a_generator(x: Any) -> Any:
    def numbers() -> Any:
        yield x
        yield x + 1

    made = numbers()
    next(made)
    KEPT.append(made)
    return x


def in_a_slot(x: Any) -> Any:
    kept = Slots()
    kept.last = x
    KEPT.append(kept)
    return x


def in_an_attribute_of_a_class(x: Any) -> Any:
    Box.last = x  # type: ignore[attr-defined]
    return x


LAYER = Layer()


@pytest.fixture(autouse=True)
def _nothing_kept() -> Any:
    yield
    KEPT.clear()
    LAYER.last = None
    globals().pop("FOUND", None)
    if hasattr(Box, "last"):
        del Box.last


@pytest.mark.usefixtures("whole_heap")
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    ("function", "where"),
    [
        (in_a_global, f"in the global FOUND of {__name__}: the result of *, at "),
        (lambda x: KEPT.append(x) or x, f"in the global KEPT of {__name__}: the argument x0: "),
        (lambda x: KEPT.append({"k": [(x + 1,)]}) or x, f"in the global KEPT of {__name__}: the result of +"),
        (LAYER.remember, "in the attribute .last of Layer: the result of +, at "),
        (in_an_attribute_of_a_class, "in the attribute .last of Box: the argument x0"),
        (in_a_slot, "in an object of class Slots: the argument x0"),
        (in_a_generator, "in the generator in_a_generator.<locals>.numbers(): the argument x0"),
        (in_a_closure, "in the closure of in_a_closure.<locals>.<lambda>(): the result of +, at "),
        (lambda x: Box([Box(x)]), "in the attribute .held of Box: the argument x0"),
        (lambda x: Box(x).get, "in the attribute .held of Box: the argument x0"),
        (lambda x: {"a": x + 1}.values(), "in its result, where it is no leaf: the result of +, at "),
        (lambda x: Tagged(x, Box(x)), "in the attribute .held of Box: the argument x0"),
    ],
    ids=[
        "global",
        "list",
        "deep",
        "self",
        "class",
        "slot",
        "generator",
        "closure",
        "object",
        "method",
        "view",
        "static",
    ],
)
def test_a_tensor_that_outlives_its_recording_is_refused(
    function: Callable[[Any], Any], where: str, dynamic: bool
) -> None:
    compiled = crt.compile(lambda x: function(x), dynamic=dynamic)
    with pytest.raises(RecordingError) as caught:
        compiled(X)
    if where.startswith("in the generator") and sys.version_info < (3, 11):
        where = ""  # the collector sees its frame, which does not lead to it
    assert str(caught.value).startswith("The recorded function keeps a tensor beyond its end")
    assert where in str(caught.value)
    assert "later calls run a graph, which keeps nothing" in str(caught.value)
    assert not where.endswith(", at ") or f"at {__file__}:" in str(caught.value)
    assert compiled.cache_info().currsize == 0


@pytest.mark.parametrize(
    ("function", "path", "part"),
    [
        (lambda x: Box(x), "result", ".held."),
        (lambda x: functools.partial(np.add, x), "result", ".args."),
        (lambda x: x.sum, "result", ".__self__."),
        (lambda x: [{"a": Box([x])}], "result[0]['a']", ".held."),
        (lambda x: Named(w=x, b=1), "result", "['w']."),
    ],
    ids=["an object", "a partial", "a method of it", "an object in a list", "a subclass"],
)
def test_an_object_among_the_results_that_holds_a_tensor_is_refused(
    function: Callable[[Any], Any], path: str, part: str
) -> None:
    with pytest.raises(crt.PyTreeTypeError) as caught:
        crt.compile(function)(X)
    assert f"at {path}, whose class is not registered" in str(caught.value)
    assert f"but it holds tensors: {part} Register the class" in str(caught.value)
    assert caught.value.path == path


def test_what_an_object_holds_is_looked_at_in_the_namespace() -> None:
    def function(x: Any) -> Any:
        slots = Slots()
        slots.last = Box(x)
        return slots

    crt.register_pytree_node(Box, lambda box: ((box.held,), None), lambda held, _: Box(*held), namespace="held")
    try:
        with pytest.raises(crt.PyTreeTypeError, match=r"it holds tensors: \.last\. Register"):
            crt.compile(function, namespace="held")(X)
        with pytest.raises(RecordingError, match="keeps a tensor beyond its end"):
            crt.compile(function)(X)
        assert crt.compile(lambda x: Box(x), namespace="held")(X).held is X
    finally:
        crt.unregister_pytree_node(Box, "held")


def test_what_is_kept_in_a_circle_of_garbage_is_not_kept() -> None:
    def recursive(x: Any) -> Any:
        def power(n: int) -> Any:
            return x if n == 1 else x * power(n - 1)

        return power(3)

    gc.disable()
    try:
        compiled = crt.compile(recursive)
        for x in (X, X + 1):
            assert np.array_equal(compiled(x), x * (x * x))
    finally:
        gc.enable()


def test_state_of_a_registered_object_is_that_of_the_call() -> None:
    @crt.register_dataclass
    @dataclass
    class Model:
        last: Any

        def step(self, x: Any) -> Any:
            self.last = self.last + x
            return self.last

    compiled = crt.compile(Model.step)
    for x in (X, X + 1):
        assert np.array_equal(compiled(Model(X), x), X + x)


@pytest.mark.usefixtures("whole_heap")
def test_a_size_that_outlives_its_recording_is_refused() -> None:
    for function in (lambda x: KEPT.append(x.shape[0]) or x, lambda x: (lambda n: lambda: n)(x.shape[0])):
        with pytest.raises(RecordingError, match=r"keeps a size of a tensor beyond its end, in the .* with int\(\)"):
            crt.compile(function, dynamic=True)(X)
    compiled = crt.compile(lambda x: KEPT.append(int(x.shape[0])) or x, dynamic=True)
    compiled(X)
    assert KEPT[-1] == 3


# --- objects that hold tensors by numpy's means -----------------------------------------------------------------------


def array_of_tensors(x: Any) -> Any:
    array = np.empty(2, object)
    array[0], array[1] = x, [x + 1]
    return array


@pytest.mark.parametrize(
    "function",
    [
        array_of_tensors,
        lambda x: array_of_tensors(x)[::-1],
        lambda x: x[0] + np.frompyfunc(lambda v: v + x[0], 1, 1)(np.ones(2)),
        lambda x: np.frompyfunc(lambda v: v + x[0], 1, 1)(np.ones(2)),
    ],
    ids=["results", "a view", "an operand", "made by a function"],
)
def test_an_array_of_objects_that_holds_tensors_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(RecordingError, match="An array of objects that holds tensors is not recorded, at "):
        crt.compile(function)(X)


def test_an_array_of_objects_without_tensors_is_right() -> None:
    compiled = crt.compile(lambda x, y: (np.frompyfunc(lambda a, b: a + b, 2, 1)(x, y), np.array([None, "a"])))
    for x in (X, X + 1):
        results = compiled(x, X)
        assert results[0].tolist() == [*(x + X)]
        assert results[1].tolist() == [None, "a"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: np.frompyfunc(lambda v: v + w, 1, 1)(x),
        lambda x, w: np.piecewise(x, [x < 1], [lambda v: v + w.sum(), 0]),
        lambda x, w: np.apply_along_axis(lambda v: v + w.sum(), 0, x),
    ],
    ids=["frompyfunc", "piecewise", "apply_along_axis"],
)
def test_a_function_called_by_numpy_gets_no_tensor_of_the_recording(function: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(RecordingError, match=r"A function that .* calls used a tensor of the recorded function, at "):
        crt.compile(function)(X, X)


class Wrapper:
    """An array of another library, which hands numpy's functions on in its own way."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return Wrapper(ufunc(*(value.inner if isinstance(value, Wrapper) else value for value in inputs), **kwargs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return "joined"


def test_an_array_of_another_library_keeps_its_say() -> None:
    compiled = crt.compile(lambda x, y: (np.add(x, Wrapper(y)).inner, np.concatenate([x, Wrapper(y)])))
    for x in (X, X + 1):
        total, joined = compiled(x, X)
        assert np.array_equal(total, x + X)
        assert joined == "joined"


# --- threads ----------------------------------------------------------------------------------------------------------


def in_a_pool(x: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: x + 1).result()


def in_a_pool_that_nobody_asks(x: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: x.fill(3))
    return x


def in_a_pool_whose_errors_are_caught(x: Any) -> Any:
    try:
        return in_a_pool(x)
    except TypeError:
        return x


def in_a_pool_and_then_fails(x: Any) -> Any:
    in_a_pool_that_nobody_asks(x)
    raise KeyError("no result")


@pytest.mark.parametrize(
    "function",
    [in_a_pool, in_a_pool_that_nobody_asks, in_a_pool_whose_errors_are_caught, in_a_pool_and_then_fails],
    ids=["asked", "not asked", "caught", "fails"],
)
def test_a_tensor_in_another_thread_is_refused(function: Callable[[Any], Any]) -> None:
    compiled = crt.compile(function)
    with pytest.raises(RecordingError, match=r"was used in another thread, '.*', and a .* at .*test_numpy"):
        compiled(X.copy())
    assert compiled.cache_info().currsize == 0


def test_another_thread_that_uses_no_tensor_is_right() -> None:
    def function(x: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return x + pool.submit(lambda: np.arange(3.0)).result()

    compiled = crt.compile(function)
    for x in (X, X + 1):
        assert np.array_equal(compiled(x), x + np.arange(3.0))


# --- texts, and after the end -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [str, repr, lambda x: f"{x}", lambda x: f"{x.sum():.3}", lambda x: "%s" % [x], lambda x: print(x), "{}".format],
    ids=["str", "repr", "f-string", "format", "percent", "print", "method"],
)
def test_a_text_of_a_tensor_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(RecordingError, match="needs the value of a tensor"):
        crt.compile(lambda x: (x, function(x)))(X)


def test_facts_have_texts() -> None:
    compiled = crt.compile(lambda x: f"{x.shape} {x.dtype} {x.ndim}", dynamic=True)
    for size in (3, 4):
        assert compiled(np.ones(size)) == f"({size},) float64 1"


USES: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: x + 1,
    "function": np.sum,
    "method": lambda x: x.sum(),
    "item": lambda x: x[0],
    "text": lambda x: f"{x}",
    "array": np.asarray,
    "number": float,
    "branch": bool,
    "len": len,
    "shape": lambda x: x.shape,
    "dtype": lambda x: x.dtype,
    "ndim": lambda x: x.ndim,
    "flags": lambda x: x.flags,
    "write": lambda x: x.fill(0),
}


@pytest.mark.parametrize("use", USES)
def test_a_tensor_used_after_its_recording_says_what_happened(use: str) -> None:
    with pytest.raises(RecordingError):
        record(lambda arrays: [KEPT.append(arrays[0]) or arrays[0]], [X])
    with pytest.raises(RecordingError, match="a recorded function was used after that function had ended, at "):
        USES[use](KEPT[0])
    assert repr(KEPT[0]) == "<an array of float64, shape (3,), of a recording that has ended>"
    with pytest.raises(RecordingError, match="another recording was used"):
        record(lambda arrays: [arrays[0] + KEPT[0]], [X])


def test_a_size_used_after_its_recording_says_what_happened() -> None:
    with pytest.raises(RecordingError):
        record(lambda arrays: [KEPT.append(arrays[0].shape[0]) or arrays[0]], [X])
    for use in (int, float, bool, repr, "{}".format, hash, lambda n: [0] * n, lambda n: n == 3 and 1):
        with pytest.raises(RecordingError, match="used after that function had ended"):
            use(KEPT[0])


# --- the structure of results -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "path"),
    [
        (lambda x: Out(x, x.sum()), "result"),
        (lambda x: [1, {"a": Out(x, (1, [x]))}], "result[1]['a']"),
        (lambda x: {"a": x, "b": Tagged(x, {"k": x})}, "result['b']"),
        (lambda x: (x, Tagged(x, X)), "result[1]"),
    ],
    ids=["static field", "deep", "context", "an array that is no argument"],
)
def test_a_tensor_in_the_structure_of_a_result_is_refused(function: Callable[[Any], Any], path: str) -> None:
    with pytest.raises(crt.PyTreeTypeError, match="with a tensor in its context") as caught:
        crt.compile(function)(X)
    assert caught.value.path == path


@pytest.mark.parametrize(
    "function",
    [
        lambda x: {x.shape[0]: x},
        lambda x: Out(x, x.shape[0]),
        lambda x: Out(x, (x.shape[0] * 2, [x.shape[0] / 2, slice(x.shape[0])])),
        lambda x: [Tagged(x, {"n": x.shape[0], x.shape[0]: {1}})],
        lambda x: (x, {x.shape[0]}, frozenset([x.shape[0] + 1])),
        lambda x: [Out(x, x.shape[0] > 2)],
    ],
    ids=["key", "static field", "in containers", "context", "sets", "comparison"],
)
def test_a_size_in_the_structure_of_a_result_is_a_number(function: Callable[[Any], Any]) -> None:
    compiled = crt.compile(function, dynamic=True)
    for size in (2, 5, 2, 3):
        result, eager = compiled(np.ones(size)), function(np.ones(size))
        assert crt.tree_structure(result) == crt.tree_structure(eager)
        for leaf, wanted in zip(crt.tree_leaves(result), crt.tree_leaves(eager), strict=True):
            assert type(leaf) is type(wanted)
            assert np.array_equal(leaf, wanted)
            assert type(wanted) not in (set, frozenset) or [type(n) for n in leaf] == [int]
