"""`trace`: a function of a list of tensors becomes a graph that runs by position or by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from lazy_runtime import LazyRuntime, OtherRuntime, OtherTensor, tensor

import clika_pytree as crt
from clika_pytree.boundary import Graph
from clika_pytree.runtimes import register_runtime, unregister_runtime


@pytest.fixture
def lazy() -> Iterator[LazyRuntime]:
    runtime = register_runtime(LazyRuntime())
    yield runtime
    unregister_runtime("lazy")


class StandIn:
    """A shape and a dtype."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype


def layer(tensors: list[Any]) -> list[Any]:
    x, w = tensors
    return [np.maximum(x @ w, 0), x.sum() / x.shape[0]]


X = np.arange(6, dtype="f4").reshape(2, 3)
W = np.ones((3, 2), "f4")
TABLE = np.full(2, 0.5, "f4")


def check(graph: Any, x: Any = X, w: Any = W) -> None:
    for results in (graph(x, w), graph(x, w=w), graph(w=w, x=x)):
        for result, wanted in zip(results, layer([x, w]), strict=True):
            assert result.dtype == wanted.dtype
            assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    "stand_ins",
    [
        [X, W],
        (X, W),
        [StandIn((1, 3), "float32"), StandIn((3, 2), np.dtype("f4"))],
        [np.broadcast_to(np.float32(0), (5, 3)), np.broadcast_to(np.float32(1), (3, 2))],
        iter([X, W]),
    ],
    ids=["arrays", "tuple", "shapes", "zero strides", "iterator"],
)
def test_a_graph_runs_by_position_and_by_name(stand_ins: Any) -> None:
    graph = crt.trace(layer, stand_ins, names=["x", "w"], outputs=["y", "mean"])
    assert isinstance(graph, Graph)
    assert (graph.inputs, graph.outputs) == (("x", "w"), ("y", "mean"))
    check(graph)
    check(graph, np.ones((7, 3), "f4"))
    check(graph, np.ones((1, 3), "f4"), np.ones((3, 9), "f4"))
    assert repr(graph) == "<graph layer(x, w) -> (y, mean)>"
    assert "def graph" in graph.text()


def test_names_that_were_not_given() -> None:
    graph = crt.trace(layer, [X, W])
    assert (graph.inputs, graph.outputs) == (("x0", "x1"), ("result[0]", "result[1]"))
    assert graph(X, x1=W)[0].tolist() == layer([X, W])[0].tolist()
    assert repr(crt.trace(lambda xs: [], [])) == "<graph() -> ()>"
    assert crt.trace(lambda xs: [], [])() == []


def test_the_function_runs_once_and_writes_into_nothing_of_the_caller() -> None:
    runs: list[int] = []

    def f(xs: list[Any]) -> list[Any]:
        runs.append(1)
        xs[0] += 1
        return [xs[0]]

    x = np.zeros(3)
    graph = crt.trace(f, [x])
    assert x.tolist() == [0, 0, 0]
    for _ in range(3):
        assert graph(np.ones(3))[0].tolist() == [2, 2, 2]
    assert runs == [1]


def test_plain_values_and_sizes_among_the_results() -> None:
    graph = crt.trace(lambda xs: (xs[0], xs[0].shape[0], None, "text", 2.5), [X])
    for x in (X, X[:1], np.ones((5, 3), "f4")):
        got = graph(x)
        assert got[0] is x
        assert got[1:] == [len(x), None, "text", 2.5]


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((X,), {}, "layer takes x, w: got no w"),
        ((), {"w": W}, "layer takes x, w: got no x"),
        ((X, W, X), {}, "layer takes x, w: expected 2 tensors, got 3"),
        (([X, W],), {}, "layer takes x, w: got a list; pass its tensors one by one, as in graph(*tensors)"),
        ((X,), {"x": X}, "layer takes x, w: got x by position and by name"),
        ((X,), {"W": W}, "layer takes x, w: there is no input named 'W'"),
        ((X.astype("f8"), W), {}, "traced for ndarray of float32 with 2 axes as x, got ndarray of float64"),
        ((X, W[0]), {}, "with 2 axes as w, got ndarray of float32 with shape (2,)"),
        ((X, 3), {}, "as w, got an object of class int"),
    ],
)
def test_a_wrong_call_names_the_input(args: Any, kwargs: Any, words: str) -> None:
    graph = crt.trace(layer, [X, W], names=["x", "w"])
    with pytest.raises(TypeError) as caught:
        graph(*args, **kwargs)
    assert words in str(caught.value)
    check(graph)


def test_a_graph_of_a_function_without_a_name() -> None:
    graph = crt.trace(lambda xs: [xs[0] + xs[1]], [X, X])
    assert repr(graph) == "<graph(x0, x1) -> (result[0])>"
    with pytest.raises(crt.PyTreeTypeError, match=r"^the graph takes x0, x1: got no x1$"):
        graph(X)


def test_a_function_of_other_arguments_is_refused_before_it_runs() -> None:
    def two(x: Any, w: Any) -> Any:
        raise AssertionError("it ran")

    for function in (two, lambda: None, lambda xs, *, w: xs):
        with pytest.raises(crt.PyTreeTypeError, match="with one argument, the list of tensors, and it takes"):
            crt.trace(function, [X, W])
    assert crt.trace(lambda *lists: [lists[0][0]], [X])(X)[0] is X


def test_a_size_used_as_a_number_is_held_to() -> None:
    graph = crt.trace(lambda xs: [np.zeros(xs[0].shape[0]) + xs[0].sum(1)], [X], names=["x"])
    assert graph(X + 1)[0].tolist() == (X + 1).sum(1).tolist()
    with pytest.raises(crt.PyTreeValueError, match=r"x\.shape\[0\] as a number, which was 2 .* and is 1"):
        graph(X[:1])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: crt.trace(3, []), "expects a function, got 3"),  # type: ignore[arg-type]
        (lambda: crt.trace(layer, X), "got one tensor; put it in a list"),
        (lambda: crt.trace(layer, {"x": X}), "expects a list of stand-ins, got a dict"),
        (lambda: crt.trace(layer, None), "expects a list of stand-ins, got None"),  # type: ignore[arg-type]
        (lambda: crt.trace(layer, [X, 3]), "as stand-ins, got 3 as x1"),
        (lambda: crt.trace(layer, [X, W], names=["x"]), "got 1 name for 2 stand-ins"),
        (lambda: crt.trace(layer, [X, W], names=["x", "x"]), "different names as names, got 'x' twice"),
        (lambda: crt.trace(layer, [X, W], names="xw"), "expects a list of str as names, got 'xw'"),
        (lambda: crt.trace(layer, [X, W], names=["x", 1]), "expects names that are str and not empty, got 1"),  # type: ignore[list-item]
        (lambda: crt.trace(layer, [X, W], outputs=["y"]), "got 1 name as outputs, and layer() returned 2"),
        (lambda: crt.trace(lambda xs: xs[0], [X]), "to return a list of tensors, got one tensor"),
        (lambda: crt.trace(lambda xs: {"y": xs[0]}, [X]), "to return a list of tensors, got a dict"),
        (lambda: crt.trace(lambda xs: [xs], [X]), "to return a list of tensors, got a list as result[0]"),
        (lambda: crt.trace(lambda xs: None, [X]), "to return a list of tensors, got None"),  # type: ignore[arg-type,return-value]
        (lambda: crt.trace(layer, [X, W], runtime="nope"), "trace() expects the name of a runtime, got 'nope'"),
    ],
)
def test_what_cannot_be_traced_is_refused(call: Any, words: str) -> None:
    with pytest.raises(crt.PyTreeError) as caught:
        call()
    assert words in str(caught.value)


def test_what_cannot_be_recorded_names_the_line() -> None:
    with pytest.raises(crt.RecordingError, match=r"test_trace\.py:\d+"):
        crt.trace(lambda xs: [xs[0]] if xs[0].sum() > 0 else [], [X])


def test_another_runtime_traces(lazy: LazyRuntime, tmp_path: Any) -> None:
    graph = crt.trace(lambda xs: [xs[0] * xs[1] + 1, xs[1]], [tensor(1), np.ones(1)], names=["a", "b"])
    (product, same) = graph(b=tensor(3, 4), a=tensor(5, 6))
    assert product.compute() == [16, 25]
    assert same.compute() == [3, 4]
    assert (graph.inputs, graph.outputs) == (("a", "b"), ("result[0]", "result[1]"))
    graph.save(tmp_path / "graph")
    assert (tmp_path / "graph").read_text() == graph.text() == "2 lazy results"
    asked = crt.trace(lambda xs: [xs[0] * 2], [StandIn((2,), "float")], runtime="lazy")
    assert asked(tensor(1, 2))[0].compute() == [2, 4]


def test_tensors_of_two_runtimes_are_refused(lazy: LazyRuntime) -> None:
    register_runtime(OtherRuntime())
    try:
        with pytest.raises(crt.PyTreeTypeError, match="two runtimes: a of lazy, and c of other"):
            crt.trace(lambda xs: xs, [tensor(1), X, OtherTensor([1.0], 1)], names=["a", "b", "c"])
    finally:
        unregister_runtime("other")


def test_a_graph_in_a_file(tmp_path: Any) -> None:
    table = np.arange(3, dtype="f4")
    graph = crt.trace(lambda xs: [*layer(xs), xs[0] + table], [X, W], names=["x", "w"], outputs=["y", "m", "t"])
    for path in (tmp_path / "graph", str(tmp_path / "other")):
        graph.save(path)
        back = Graph.load(path)
        assert (back.inputs, back.outputs) == (("x", "w"), ("y", "m", "t"))
        assert [a.tolist() for a in back(w=W, x=X + 1)] == [a.tolist() for a in graph(X + 1, W)]
    (tmp_path / "text").write_text("no graph")
    with pytest.raises(crt.PyTreeValueError, match="text"):
        Graph.load(tmp_path / "text")


def test_a_graph_without_a_form_for_files_says_so(lazy: LazyRuntime, tmp_path: Any) -> None:
    class Formless:
        inputs = outputs = ("x",)
        run = text = list

    lazy.trace = lambda *args: Formless()  # type: ignore[assignment,return-value,method-assign]
    with pytest.raises(crt.PyTreeTypeError, match=r"no form for graphs in files; text\(\) is the program"):
        crt.trace(lambda xs: xs, [tensor(1)]).save(tmp_path / "graph")
    with pytest.raises(crt.PyTreeTypeError, match="the runtime 'lazy' can't read graphs"):
        Graph.load(tmp_path / "graph", runtime="lazy")


def test_a_compiled_function_and_a_trace_inside_one() -> None:
    inner = crt.compile(lambda x, k: {"y": x * k})
    graph = crt.trace(lambda xs: [inner(xs[0], 3)["y"] + 1], [X])
    assert graph(X)[0].tolist() == (X * 3 + 1).tolist()
    assert inner.cache_info().currsize == 0

    @crt.compile
    def outer(x: Any) -> Any:
        return x + crt.trace(lambda xs: [xs[0] * 2], [W])(W)[0].sum()

    assert outer(X).tolist() == (X + 12).tolist()


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_graph_called_inside_another_function_is_a_part_of_its_graph(dynamic: bool, tmp_path: Any) -> None:
    def update(tensors: list[Any]) -> list[Any]:
        x, w = tensors
        with np.errstate(divide="ignore"):
            y = np.tanh(x @ w) / x.shape[0]
        y += TABLE
        return [y, x, 2.5]

    graph = crt.trace(update, [X, W], names=["x", "w"])
    graph.save(tmp_path / "graph")
    for held in (graph, Graph.load(tmp_path / "graph")):
        compiled = crt.compile(lambda x, w, held=held: held(x * 2, w=w)[0] * 3, dynamic=dynamic)
        outer = crt.trace(lambda xs, held=held: [xs[0], *held(*xs)[:1]], [X, W])
        for x in (X, X + 1, np.ones((5, 3), "f4"), np.ones((40_000, 3), "f4")):
            assert compiled(x, W).tobytes() == (graph(x * 2, W)[0] * 3).tobytes()
            assert outer(x, W)[1].tobytes() == graph(x, W)[0].tobytes()
        assert compiled.cache_info().currsize == (1 if dynamic else 3)


def test_a_graph_called_inside_another_function_is_held_to_its_guards() -> None:
    graph = crt.trace(lambda xs: [xs[0] + np.zeros(xs[0].shape[0])], [np.ones(3)], names=["x"])
    compiled = crt.compile(lambda x: graph(x)[0] + 1, dynamic=True)
    assert compiled(np.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(crt.PyTreeValueError, match=r"x\.shape\[0\] as a number, which was 3 .* and is 2"):
        compiled(np.ones(2))
    with pytest.raises(crt.PyTreeTypeError, match="as x, got ndarray of float32"):
        compiled(np.ones(3, "f4"))


def test_a_trace_inside_a_compiled_function_takes_its_tensors_as_stand_ins() -> None:
    @crt.compile(dynamic=True)
    def step(x: Any) -> Any:
        inner = crt.trace(lambda xs: [np.exp(xs[0]) * 2], [x])
        return inner(x)[0] + inner(x + 1)[0]

    for x in (X, X + 1, X[:1]):
        assert step(x).tobytes() == (np.exp(x) * 2 + np.exp(x + 1) * 2).tobytes()
    assert step.cache_info().currsize == 1
