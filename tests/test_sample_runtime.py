"""The sample runtime of examples/clika_runtime: what its author gets for what is written there."""

from __future__ import annotations

import re
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from guard_table import ROWS, Numpy, check
from helpers import notes
from sample import EXAMPLES, sample_runtime

import clika_pytree as cp

FILES = sorted((EXAMPLES / "clika_runtime").glob("*.py"))
X = np.arange(6.0, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def crt() -> Iterator[Any]:
    with sample_runtime() as module:
        yield module


# --- what is written --------------------------------------------------------------------------------------------------


def test_it_is_short_and_uses_public_names_only() -> None:
    texts = [path.read_text() for path in FILES]
    assert sum(len(text.splitlines()) for text in texts) < 450
    for text in texts:
        for module, names in re.findall(r"^from (clika_pytree\S*) import (.+)$", text, re.M):
            assert module in ("clika_pytree", "clika_pytree.runtimes.protocol")
            found = sys.modules[module] if module in sys.modules else __import__(module, fromlist=["_"])
            public = getattr(found, "__all__", [])
            for name in names.split(", "):
                assert name in public or name in dir(cp), name
                assert not name.startswith("_")
        assert not re.search(r"clika_pytree\._|clika_pytree\.\w+\._", text)


def test_trees_are_those_of_this_package(crt: Any) -> None:
    assert crt.pytree is cp.pytree
    assert (crt.compile, crt.eval, crt.save, crt.trace) == (cp.compile, cp.eval, cp.save, cp.trace)


# --- tensors ----------------------------------------------------------------------------------------------------------


def test_operators_give_tensors_before_they_are_computed(crt: Any) -> None:
    computed: list[str] = []
    slow = crt.tensor.__globals__["Operator"]("slow", lambda a: computed.append("slow") or a + 1, lambda shape: shape)
    x = slow(crt.tensor(X))
    computed.clear()  # one element was computed, for the dtype
    tree = {"a": x, "b": [x * 2, None, "text"], "c": (crt.relu(x - 3),)}
    assert (tree["b"][0].shape, str(tree["b"][0].dtype)) == ((2, 3), "float32")
    assert not tree["a"].is_computed
    assert repr(tree["a"]) == "<tensor float32[2, 3], not computed>"
    assert cp.eval(tree, crt.abs(x)) is None
    assert computed == ["slow"]
    assert tree["a"].is_computed
    assert np.array_equal(tree["c"][0].numpy(), np.maximum(X - 2, 0))
    assert computed == ["slow"]


def test_operators_compute_what_numpy_does(crt: Any) -> None:
    t = crt.tensor(X)
    for got, wanted in (
        (t + 1, X + 1),
        (1 - t, 1 - X),
        (X * t, X * X),
        (t / 2, X / 2),
        (-t, -X),
        (t > 2, X > 2),
        (t @ X.T, X @ X.T),
        (t @ X[0], X @ X[0]),
        (crt.maximum(t, 2), np.maximum(X, 2)),
        (crt.log(crt.exp(t)), np.log(np.exp(X))),
        (crt.tanh(t), np.tanh(X)),
        (t.sum(), X.sum()),
        (t.sum(0), X.sum(0)),
        (t.mean([0, 1], keepdim=True), X.mean((0, 1), keepdims=True)),
        (crt.argmax(t, dims=[1]), X.argmax(1)),
        (crt.softmax(t, dim=0), np.exp(X - X.max(0)) / np.exp(X - X.max(0)).sum(0)),
    ):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        assert np.array_equal(got.numpy(), wanted)
    for wrong in (lambda: t @ t, lambda: t + np.ones(2), lambda: t.sum(2)):
        with pytest.raises(ValueError, match=r"multiply|broadcast|over"):
            wrong()


def test_a_long_chain_is_computed_without_recursion(crt: Any) -> None:
    total = crt.tensor(0.0)
    for _ in range(20_000):
        total = total + 1
    cp.eval([total])
    assert total.numpy() == 20_000


def test_a_computation_that_fails_is_named(crt: Any) -> None:
    def fail(array: Any) -> Any:
        if array.size > 1:
            raise ArithmeticError("no luck")
        return array

    failing = crt.tensor.__globals__["Operator"]("failing", fail, lambda shape: shape)
    good, bad = crt.tensor(X) * 2, failing(crt.tensor(X))
    with pytest.raises(ArithmeticError, match="no luck") as caught:
        cp.eval({"layers": [good, bad + 1]}, {"loss": bad, "after": crt.tensor(X) - 1})
    assert notes(caught.value) == "clika_pytree: eval() waited for trees[0]['layers'][1] (and 1 more)"
    assert good.is_computed


# --- compile and trace ------------------------------------------------------------------------------------------------


class Sample(Numpy):
    """A size that is read as a number makes a graph for each."""

    name = "clika_runtime"
    graphs: ClassVar[dict[str, int]] = {"batch_sizes": 5, "a_size_that_decides": 5}

    def __init__(self, crt: Any) -> None:
        self.crt = crt

    def tensor(self, *values: float, rows: int | None = None) -> Any:
        return self.crt.tensor(super().tensor(*values, rows=rows))

    def same(self, a: Any, b: Any) -> bool:
        return super().same(a.numpy(), b.numpy())

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.crt.Tensor)


@pytest.mark.parametrize("row", ROWS)
def test_the_guard_table(row: str, crt: Any) -> None:
    check(Sample(crt), row)


def test_a_compiled_function_finds_its_graph_again(crt: Any) -> None:
    calls = []

    @crt.compile
    def predict(params: Any, batch: Any, activation: str = "tanh") -> Any:
        calls.append(activation)
        hidden = batch["x"] @ params["w"] + 1
        hidden = crt.tanh(hidden) if activation == "tanh" else crt.relu(hidden)
        return {"mean": hidden.mean(0), "x": batch["x"], "activation": activation, "constant": crt.tensor(1.0)}

    params = {"w": crt.tensor(np.ones((3, 2), np.float32))}
    for factor in (1, 2, 3):
        batch = {"x": crt.tensor(X * factor)}
        out = predict(params, batch)
        assert not out["mean"].is_computed
        assert np.allclose(out["mean"].numpy(), np.tanh(X * factor @ np.ones((3, 2)) + 1).mean(0))
        assert out["x"] is batch["x"]
        assert (out["activation"], float(out["constant"].numpy())) == ("tanh", 1.0)
    predict(params, {"x": X}, "relu")  # an array of numpy is an input, too
    assert calls == ["tanh", "relu"]
    assert predict.cache_info()[:2] == (2, 2)
    assert [row.nodes for row in predict.graphs()] == [4, 4]
    assert predict.graphs()[1].program.text().splitlines() == [
        "%0 = matmul(batch['x'], params['w'])",
        "%1 = add(%0, 1)",
        "%2 = tanh(%1)",
        "%3 = mean(dims=(0,))(%2)",
        "return %3, batch['x'], tensor[]",
    ]
    (change,) = predict.explain(params, {"x": crt.tensor(X[:1])}).changes
    assert change[:3] == ("batch['x']", "float32[2, 3]", "float32[1, 3]")


def test_one_graph_for_all_batches_with_results_of_each(crt: Any) -> None:
    @crt.compile(dynamic=True)
    def layer(w: Any, x: Any) -> Any:
        return [crt.relu(x @ w), crt.argmax(x @ w, dims=[1]), (x @ w).mean()]

    w = np.ones((3, 2), np.float32)
    for rows in (2, 5, 1, 7, 0):
        x = np.ones((rows, 3), np.float32)
        with np.errstate(all="ignore"), pytest.warns() if not rows else threading.Lock():
            y, best, mean = layer(crt.tensor(w), crt.tensor(x))
            assert (y.shape, best.shape, mean.shape) == ((rows, 2), (rows,), ())
            assert np.array_equal(y.numpy(), x @ w)
            assert np.array_equal(mean.numpy(), (x @ w).mean(), equal_nan=True)
    assert layer.cache_info().currsize == 1


def test_compiled_functions_and_graphs_in_one_another(crt: Any) -> None:
    inner = crt.compile(lambda x, k: x * k)
    graph = crt.trace(lambda xs: [xs[0] + 1, 5], [crt.tensor(X)])
    outer = crt.compile(lambda x: inner(x, 2) + graph(x)[0])
    inner(crt.tensor(X), 2)
    for _ in range(2):
        assert np.array_equal(outer(crt.tensor(X)).numpy(), X * 2 + X + 1)
    assert outer.graphs()[0].nodes is not None
    assert graph(crt.tensor(X))[1] == 5


def test_what_needs_elements_is_refused_while_a_function_is_recorded(crt: Any) -> None:
    for function in (
        lambda x: x if x.sum() > 1 else -x,
        lambda x: x + np.asarray(x),
        lambda x: x * float(x.sum().numpy()),
        lambda x: crt.eval(x),
    ):
        with pytest.raises(cp.RecordingError):
            crt.compile(function)(crt.tensor(X))


def test_a_trace_has_names_and_looks_at_what_it_gets(crt: Any, tmp_path: Path) -> None:
    def layer(tensors: list[Any]) -> list[Any]:
        x, w = tensors
        return [crt.relu(x @ w), x.sum(0)]

    stand_in = types.SimpleNamespace(shape=(4, 3), dtype=np.dtype("float32"))
    graph = crt.trace(layer, [stand_in, crt.tensor(X.T)], names=["x", "w"], outputs=["y", "total"])
    assert (graph.inputs, graph.outputs) == (("x", "w"), ("y", "total"))
    for given in (graph(crt.tensor(X), crt.tensor(X.T)), graph(w=crt.tensor(X.T), x=crt.tensor(X))):
        assert [x.numpy().tolist() for x in given] == [(X @ X.T).tolist(), X.sum(0).tolist()]
    assert graph.text().splitlines()[-1] == "return %1, %2"
    for wrong in (X[0], X[:, :2], X.astype(np.float64)):
        with pytest.raises(ValueError, match=r"traced for float32\[\*, 3\] as x, got float"):
            graph(crt.tensor(wrong), crt.tensor(X.T))
    with pytest.raises(TypeError, match="no form for graphs in files"):
        graph.save(tmp_path / "graph")


# --- files and modules ------------------------------------------------------------------------------------------------


def test_a_tree_comes_back_from_a_file(crt: Any, tmp_path: Path) -> None:
    shared = crt.tensor(X) * 2
    tree = {"layers": [{"w": shared, "b": crt.tensor(np.zeros(2, np.int64))}], "tied": shared, "step": 7, "none": None}
    crt.save(tree, tmp_path / "tree.safetensors")
    back = crt.load(tmp_path / "tree.safetensors")
    assert crt.pytree.tree_structure(back) == crt.pytree.tree_structure(tree)
    assert isinstance(back["tied"], crt.Tensor)
    assert back["tied"] is back["layers"][0]["w"]
    assert np.array_equal(back["tied"].numpy(), X * 2)
    assert back["layers"][0]["b"].dtype == np.int64
    assert back["step"] == 7
    assert isinstance(cp.load(tmp_path / "tree.safetensors")["tied"], np.ndarray)
    with pytest.raises(ValueError, match="on the processor, not on 'gpu'"):
        crt.load(tmp_path / "tree.safetensors", device="gpu")


def test_a_module_has_a_state_that_can_be_saved(crt: Any, tmp_path: Path) -> None:
    class Head(crt.nn.Module):
        def __init__(self, seed: int) -> None:
            self.weight = crt.nn.Parameter(np.random.default_rng(seed).normal(size=(3, 2)).astype(np.float32))
            self.scale = crt.tensor(np.float32(seed))

        def forward(self, x: Any) -> Any:
            return x @ self.weight * self.scale

    class Net(crt.nn.Module):
        def __init__(self, seed: int) -> None:
            self.head = Head(seed)

        def forward(self, batch: Any) -> Any:
            return {"y": self.head(batch["x"])}

    one, other = Net(1), Net(2)
    assert [*one.state_dict()] == ["head.weight", "head.scale"]
    crt.save(one.state_dict(), tmp_path / "net.safetensors")
    state = crt.load(tmp_path / "net.safetensors")
    assert [*state] == ["head.weight", "head.scale"]
    compiled = crt.compile(other)
    assert not np.array_equal(compiled({"x": X})["y"].numpy(), one({"x": X})["y"].numpy())
    other.load_state_dict(state)
    assert type(other.head.weight) is crt.nn.Parameter
    assert np.array_equal(compiled({"x": X})["y"].numpy(), one({"x": X})["y"].numpy())
    assert compiled.cache_info().currsize == 1
    with pytest.raises(KeyError, match=r"head\.scale is in the module only"):
        other.load_state_dict({"head.weight": state["head.weight"]})
    with pytest.raises(ValueError, match=r"head\.weight is float32\[3, 2\], got float32\[\]"):
        other.load_state_dict({"head.weight": state["head.scale"], "head.scale": state["head.scale"]})
