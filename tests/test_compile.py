"""`compile`: what a compiled function takes and gives, and when it makes a graph."""

from __future__ import annotations

import collections
import dataclasses
import gc
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest
from guarded import counts, equal

import clika_pytree as crt


class Point(NamedTuple):
    x: Any
    y: Any


@crt.register_dataclass
@dataclasses.dataclass
class Layer:
    w: Any
    b: Any = None
    name: str = dataclasses.field(default="layer", metadata={"static": True})


X = np.arange(6.0).reshape(2, 3)


# --- results ----------------------------------------------------------------------------------------------------------


def outputs(x: Any) -> dict[str, Any]:
    return {
        "plain": x * 2,
        "list": [x.sum(0), (x + 1, None), []],
        "point": Point(x.max(), "text"),
        "layer": Layer(x - 1, {"deep": x / 2}, "named"),
        "ordered": collections.OrderedDict(b=x, a=1.5),
        "default": collections.defaultdict(list, {3: x, True: 2}),
        "deque": collections.deque([x, 1], maxlen=4),
        "scalar": np.sum(x),
        "empty": (),
    }


def test_any_tree_comes_out() -> None:
    compiled = crt.compile(outputs)
    for _ in range(3):
        assert equal(compiled(X), outputs(X))
        assert equal(compiled(X + 1), outputs(X + 1))
    assert counts(compiled) == (5, 1)
    assert compiled(X)["default"].default_factory is list
    assert compiled(X)["deque"].maxlen == 4


@pytest.mark.parametrize("result", [None, 3, "text", (), [], {"a": 1}, float("nan"), Point(1, 2), print])
def test_a_result_without_tensors(result: Any) -> None:
    compiled = crt.compile(lambda x: result)
    for _ in range(2):
        got = compiled(X)
        assert got is result or (type(got) is type(result) and got == result)


def test_what_is_mutable_is_new_at_each_call() -> None:
    compiled = crt.compile(lambda x: {"a": [x], "n": [1]})
    first = compiled(X)
    first["n"].append(2)
    first["a"].clear()
    second = compiled(X)
    assert second["n"] == [1]
    assert len(second["a"]) == 1


def test_an_input_comes_back_as_the_same_object() -> None:
    compiled = crt.compile(lambda x, y: [y, x, y])
    for _ in range(2):
        x, y = X.copy(), np.float32(2)
        got = compiled(x, y)
        assert got[0] is got[2] is y
        assert got[1] is x


def test_sizes_in_the_result_are_those_of_the_call() -> None:
    compiled = crt.compile(lambda x: {"n": x.shape[0], "half": x.shape[0] / 2, "all": x.size, "mean": x.sum() / len(x)})
    dynamic = crt.compile(lambda x: {"n": x.shape[0], "half": x.shape[0] / 2, "all": x.size}, dynamic=True)
    for size in (2, 5, 1, 7, 0, 3):
        x = np.ones((size, 3))
        if size:
            assert compiled(x) == {"n": size, "half": size / 2, "all": 3 * size, "mean": 3.0}
        assert dynamic(x) == {"n": size, "half": size / 2, "all": 3 * size}
        assert type(dynamic(x)["n"]) is int
    assert dynamic.cache_info().currsize == 1


def test_captured_arrays_are_constants() -> None:
    table = np.arange(3.0)
    compiled = crt.compile(lambda x: {"sum": x + table, "table": table})
    assert compiled(X)["table"] is table
    assert compiled(X)["table"] is table
    table[:] = 7
    assert equal(compiled(X)["sum"], X + np.arange(3.0))
    assert compiled(X)["table"] is table


def test_an_argument_written_into_is_as_without_compile() -> None:
    def step(x: Any, y: Any) -> Any:
        x += y
        x[0] = 5
        return x * 2

    compiled = crt.compile(step)
    for _ in range(3):
        a, b = X.copy(), X.copy()
        assert equal(compiled(a, X), step(b, X))
        assert equal(a, b)


@dataclasses.dataclass
class Unregistered:
    w: Any
    n: int = 0


class Slotted:
    __slots__ = ("__hidden", "w")

    def __init__(self, w: Any) -> None:
        self.w = self.__hidden = w


class Bag(dict[str, Any]):
    pass


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x: {"out": Unregistered(x)}, ["an Unregistered at result['out']", "holds tensors: .w."]),
        (lambda x: [1, Slotted([x])], ["a Slotted at result[1]", "holds tensors: ._Slotted__hidden, .w."]),
        (lambda x: Bag(k={"deep": x}), ["a Bag at result,", "holds tensors: ['k']"]),
        (lambda x: {"s": {1, 2}, "g": (i for i in [1])}, ["at result['g']", "return a list or a tuple"]),
        (lambda x: map(abs, [1]), ["at result", "return a list or a tuple"]),
    ],
)
def test_a_result_that_would_keep_tensors_of_the_recording(make: Any, words: list[str]) -> None:
    compiled = crt.compile(make)
    for _ in range(2):
        with pytest.raises(crt.PyTreeTypeError) as caught:
            compiled(X)
        assert all(word in str(caught.value) for word in words), caught.value
    assert compiled.cache_info().currsize == 0


# --- when a graph is made ---------------------------------------------------------------------------------------------


def test_one_call_in_each_spelling_is_one_graph() -> None:
    def f(x: Any, k: int = 2, *rest: Any, scale: float = 1.0, **more: Any) -> Any:
        return x * k * scale + len(rest) + len(more)

    compiled = crt.compile(f)
    for call in (
        lambda g: g(X),
        lambda g: g(X, 2),
        lambda g: g(X, k=2),
        lambda g: g(x=X, k=2),
        lambda g: g(scale=1.0, k=2, x=X),
    ):
        assert equal(call(compiled), call(f))
    assert counts(compiled) == (4, 1)
    for call in (
        lambda g: g(X, 2, 3),
        lambda g: g(X, 2, 3, 4),
        lambda g: g(X, other=1),
        lambda g: g(X, scale=1.5),
        lambda g: g(X, scale=1),
    ):
        assert equal(call(compiled), call(f))
        assert equal(call(compiled), call(f))
    assert counts(compiled) == (9, 6)


def test_a_wrong_call_is_the_error_of_a_wrong_call() -> None:
    @crt.compile
    def step(x: Any, /, k: int, *, m: int = 1) -> Any:
        return x

    for args, kwargs, words in (
        ((), {}, "'x'"),
        ((X,), {}, "'k'"),
        ((X, 1, 2), {}, "takes 2 positional arguments but 3"),
        ((X, 1), {"z": 1}, "unexpected keyword argument 'z'"),
        ((X, 1), {"k": 1}, "multiple values for argument 'k'"),
    ):
        with pytest.raises(TypeError, match=f"step.*{words}"):
            step(*args, **kwargs)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=f"step.*{words}"):
            step.explain(*args, **kwargs)  # type: ignore[arg-type]
    assert step.cache_info().currsize == 0


def test_a_default_that_is_an_array_is_an_input() -> None:
    default = np.ones(3)

    @crt.compile
    def f(x: Any, bias: Any = default) -> Any:
        return x + bias

    assert equal(f(X), X + 1)
    assert equal(f(X, np.zeros(3)), X)
    assert f.cache_info().currsize == 1


@pytest.mark.filterwarnings("ignore::clika_pytree.RecompileWarning")
def test_structure_statics_and_facts_make_graphs() -> None:
    compiled = crt.compile(lambda tree: crt.tree_map(lambda leaf: leaf, tree))
    trees = [
        [X],
        (X,),
        [X, 1],
        [X, True],
        [X, 1.0],
        [X, 0.0],
        [X, -0.0],
        [X, None],
        [X, X],
        {"a": X, "b": 1},
        {"b": 1, "a": X},
    ]
    for tree in trees:
        assert equal(compiled(tree), tree)
    assert counts(compiled) == (0, len(trees))
    for tree in trees:
        assert equal(compiled(tree), tree)
    assert counts(compiled) == (len(trees), len(trees))


@pytest.mark.filterwarnings("ignore::clika_pytree.RecompileWarning")
def test_dtypes_sizes_and_kinds_of_scalars() -> None:
    compiled = crt.compile(lambda x: x + x)
    values = [X, X.astype("f4"), X[:1], X[0], np.float64(1), np.float32(1), np.array(1.0), np.int64(1)]
    for _ in range(2):
        for value in values:
            assert equal(compiled(value), value + value)
    assert counts(compiled) == (len(values), len(values))


def test_an_input_that_is_only_handed_on_may_be_any_tensor() -> None:
    compiled = crt.compile(lambda x, unused: (x * 2, unused))
    for unused in (X, X[0], X.astype("f4")):
        assert compiled(X, unused)[1] is unused
    assert compiled.cache_info().currsize == 1


def test_graphs_are_bounded() -> None:
    calls: list[int] = []

    def f(x: Any, n: int) -> Any:
        calls.append(n)
        return x + n

    compiled = crt.compile(f, max_graphs=3)
    for n in (1, 2, 3, 1, 4, 1, 2):
        assert equal(compiled(X, n), X + n)
    assert calls == [1, 2, 3, 4, 2]
    assert compiled.cache_info() == (2, 5, 3, 3)
    compiled.clear()
    assert compiled.cache_info() == (0, 0, 3, 0)
    compiled(X, 1)
    assert calls[-1] == 1


def test_arguments_are_let_go() -> None:
    class Config:
        pass

    compiled = crt.compile(lambda x, config: (x * 2, [x, config.n]), max_graphs=1)
    x, config = X.copy(), Config()
    config.n = 3  # type: ignore[attr-defined]
    kept = weakref.ref(x), weakref.ref(config)
    compiled(x, config)
    compiled(x, config)
    del x
    gc.collect()
    assert kept[0]() is None
    del config
    assert kept[1]() is not None  # part of the key of a graph
    compiled.clear()
    gc.collect()
    assert kept[1]() is None


def test_the_order_of_dicts_is_theirs_in_every_block() -> None:
    compiled = crt.compile(lambda tree: (crt.tree_leaves(tree), tree))
    for tree in ({"b": X, "a": X[0]}, {"a": X, "b": X[0]}):
        for mode in (True, False):
            with crt.dict_insertion_ordered(mode):
                leaves, same = compiled(tree)
            assert [leaf.shape for leaf in leaves] == [X.shape, X[0].shape]
            assert [*same] == [*tree]
    assert counts(compiled) == (2, 2)


# --- errors while a graph is made -------------------------------------------------------------------------------------


def test_an_exception_leaves_nothing_behind() -> None:
    fails = [True]

    @crt.compile
    def step(x: Any, n: int) -> Any:
        if fails[0]:
            raise KeyError("from the function")
        return x + n

    for _ in range(3):
        with pytest.raises(KeyError, match="from the function"):
            step(X, 1)
    assert step.cache_info() == (0, 3, 64, 0)
    fails[0] = False
    assert equal(step(X, 1), X + 1)
    assert step.cache_info() == (0, 4, 64, 1)


def test_what_cannot_be_recorded_names_the_line() -> None:
    @crt.compile
    def step(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    with pytest.raises(crt.RecordingError, match=r"test_compile\.py:\d+:\n    return x if x\.sum\(\) > 0 else -x"):
        step(X)
    assert step.cache_info().currsize == 0


def test_an_unregistered_object_with_tensors_is_refused() -> None:
    compiled = crt.compile(lambda batch: batch["state"].w)
    with pytest.raises(crt.UnregisteredNodeError) as caught:
        compiled({"state": Unregistered(X)})
    assert isinstance(caught.value, crt.GuardError)
    assert caught.value.path == "batch['state']"
    assert "batch['state']" in str(caught.value)


def test_a_leaf_that_is_no_guard_is_refused() -> None:
    compiled = crt.compile(lambda x, **kw: x)
    for _ in range(2):
        with pytest.raises(crt.GuardError) as caught:
            compiled(X, tags=[{"a"}])
        assert caught.value.path == "kw['tags'][0]"
    assert compiled.cache_info().currsize == 0


# --- inside one another -----------------------------------------------------------------------------------------------


def test_a_compiled_function_inside_another_is_traced_through() -> None:
    @crt.compile
    def inner(x: Any, k: int) -> Any:
        return {"y": np.tanh(x) * k}

    @crt.compile
    def outer(x: Any) -> Any:
        return inner(x, 2)["y"] + inner(x * 2, k=3)["y"]

    for x in (X, X + 1):
        assert equal(outer(x), np.tanh(x) * 2 + np.tanh(x * 2) * 3)
    assert inner.cache_info().currsize == 0
    assert len(outer.graphs()[0].program.text().split("tanh")) >= 3
    assert equal(inner(X, 2)["y"], np.tanh(X) * 2)
    assert equal(outer(X.astype("f4")), np.tanh(X.astype("f4")) * 2 + np.tanh(X.astype("f4") * 2) * 3)


def test_a_size_handed_to_a_compiled_function_stays_a_size() -> None:
    inner = crt.compile(lambda x, n: x.sum(0) / n)
    inner(X, 2)
    outer = crt.compile(lambda x: inner(x, x.shape[0]), dynamic=True)
    for size in (2, 5, 3):
        x = np.arange(size * 3.0).reshape(size, 3)
        assert equal(outer(x), x.sum(0) / size)
    assert outer.cache_info().currsize == 1


def test_recursion_is_traced_through() -> None:
    @crt.compile
    def power(x: Any, n: int) -> Any:
        return x if n == 1 else x * power(x, n - 1)

    assert equal(power(X, 4), X * (X * (X * X)))
    assert power.cache_info().currsize == 1


def test_a_compiled_function_of_constants_inside_another() -> None:
    inner = crt.compile(lambda n: np.arange(3.0) * n)
    inner(2)
    outer = crt.compile(lambda x: x + inner(2))
    assert equal(outer(X), X + np.arange(3.0) * 2)
    assert equal(outer(X), X + np.arange(3.0) * 2)
