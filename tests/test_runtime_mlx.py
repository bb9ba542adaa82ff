"""Functions of trees compiled by MLX, and its arrays waited for, saved and traced."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import types
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guard_table import RUNTIMES, equal
from helpers import notes

import clika_pytree as crt
from clika_pytree.boundary import Graph

mx = pytest.importorskip("mlx.core")

PARAMS = {"w": mx.arange(12.0).reshape(3, 4), "b": mx.ones(4)}


def layer(params: Any, x: Any) -> Any:
    return {"y": mx.tanh(x @ params["w"] + params["b"]), "sum": x.sum(0)}


def same(one: Any, other: Any) -> bool:
    return equal(RUNTIMES["mlx"], one, other)


# --- compile ----------------------------------------------------------------------------------------------------------


def test_the_first_call_and_later_ones_give_what_the_function_gives() -> None:
    compiled = crt.compile(layer)
    for x in (mx.ones((2, 3)), mx.zeros((2, 3))):
        assert same(compiled(PARAMS, x), layer(PARAMS, x))
    assert compiled.cache_info()[:2] == (1, 1)
    assert compiled.graphs()[0].program.text() == "mx.compile of layer(params['w'], params['b'], x)"
    assert compiled.graphs()[0].nodes is None


def test_a_function_runs_once_for_each_graph() -> None:
    calls = []

    def doubled(x: Any) -> Any:
        calls.append(x.shape)
        return x * 2

    compiled = crt.compile(doubled)
    for rows in (2, 2, 3, 2, 3, 2):
        assert compiled(mx.ones((rows, 1))).shape == (rows, 1)
    assert calls == [(2, 1), (3, 1)]
    assert compiled.cache_info().misses == 2
    assert compiled(mx.ones((2, 1), mx.int32)).dtype == mx.int32
    (change,) = compiled.explain(mx.ones((5, 1))).changes
    assert change.path == "x"
    assert change.new is not None
    assert change.new.endswith("float32[5, 1]")
    compiled.on_miss = "error"
    with pytest.raises(crt.MissError, match="none fits this call: x: was"):
        compiled(mx.ones((5, 1)))


@pytest.mark.parametrize("dynamic", [True, False])
def test_batches_of_all_sizes(dynamic: bool) -> None:
    mean = crt.compile(lambda p, x: (x @ p["w"]).sum(0) / (x.shape[0] + 1), dynamic=dynamic)
    sizes = crt.compile(lambda x: {"n": x.shape[0], "rows": [x[i] for i in range(x.shape[0])]}, dynamic=dynamic)
    for rows in (2, 5, 1, 7, 0, 2):
        x = mx.arange(3 * rows).reshape(rows, 3).astype(mx.float32)
        if rows:  # a sum over no rows does not always end in MLX 0.32
            assert same(mean(PARAMS, x), (x @ PARAMS["w"]).sum(0) / (rows + 1))
        result = sizes(x)
        assert (result["n"], len(result["rows"])) == (rows, rows)
    assert mean.cache_info().currsize == (1 if dynamic else 4)


def test_what_goes_in_comes_out_as_itself() -> None:
    @crt.compile
    def function(x: Any, host: Any) -> Any:
        y = x + mx.array(host)
        return {"x": x, "host": host, "twice": [y, y], "text": "t", "none": None, "made": np.ones(2)}

    for _ in range(2):
        x, host = mx.ones(3), np.ones(3, np.float32)
        result = function(x, host)
        assert result["x"] is x
        assert result["host"] is host
        assert result["twice"][0] is result["twice"][1]
        assert (result["text"], result["none"], result["made"].tolist()) == ("t", None, [1, 1])
        result["made"][0] = 7


def test_arrays_of_numpy_beside_those_of_mlx_are_inputs() -> None:
    compiled = crt.compile(lambda x, y: x * mx.array(y))
    for factor in (2, 3):
        assert compiled(mx.ones(2), np.full(2, factor, np.float32)).tolist() == [factor, factor]
    assert compiled.cache_info()[:2] == (1, 1)
    assert isinstance(crt.compile(mx.exp, runtime="mlx")(np.ones(2, np.float32)), mx.array)


def test_elements_and_random_numbers_are_refused() -> None:
    for function in (lambda x: x if x.sum() > 1 else -x, lambda x: x * x.sum().item(), lambda x: x + np.array(x)):
        with pytest.raises(crt.RecordingError, match=rf"needs the elements of an array .* at {__file__}:\d+: a graph"):
            crt.compile(function)(mx.ones(3))
    mx.random.seed(5)
    wanted = mx.random.normal((2,)).tolist()
    mx.random.seed(5)
    with pytest.raises(crt.RecordingError, match=r"draws random numbers of mx\.random"):
        crt.compile(lambda x: x + mx.random.normal(x.shape))(mx.ones(3))
    assert mx.random.normal((2,)).tolist() == wanted
    keyed = crt.compile(lambda x, key: x + mx.random.normal(x.shape, key=key))
    assert keyed(mx.ones(3), mx.random.key(1)).tolist() != keyed(mx.ones(3), mx.random.key(2)).tolist()


def test_errors_of_the_function_are_its_own() -> None:
    class Own(Exception):
        pass

    def failing(x: Any) -> Any:
        raise Own

    with pytest.raises(Own):
        crt.compile(failing)(mx.ones(2))
    with pytest.raises(ValueError, match="matmul"):
        crt.compile(lambda x: x @ x)(mx.ones((2, 3)))


def test_inside_transformations_of_mlx() -> None:
    compiled = crt.compile(lambda w, x: (w * x).sum())
    assert mx.grad(compiled)(mx.ones(3), mx.arange(3.0)).tolist() == [0, 1, 2]
    assert mx.vmap(crt.compile(lambda x: x * 2))(mx.ones((2, 3))).tolist() == [[2.0] * 3] * 2
    assert mx.compile(lambda x: compiled(x, x))(mx.ones(3)).item() == 3
    assert compiled(mx.ones(3), mx.ones(3)).item() == 3


def test_modules_are_inputs() -> None:
    nn: Any = pytest.importorskip("mlx.nn")

    class Net(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(3, 4), nn.Linear(4, 2)]
            self.dropout = nn.Dropout(0.0)
            self.scale = 2.0

        def __call__(self, batch: Any) -> Any:
            x = batch["x"]
            for one in self.layers:
                x = nn.relu(one(x))
            return self.dropout(x) * self.scale

    net, batch = Net(), {"x": mx.ones((2, 3))}
    compiled = crt.compile(net)
    for _ in range(3):
        assert same(compiled(batch), net(batch))
        net.layers[0].weight = net.layers[0].weight + 1
    assert compiled.cache_info()[:2] == (2, 1)
    assert "self.layers.1.bias" in compiled.graphs()[0].key
    net.scale = 3.0
    assert same(compiled(batch), net(batch))
    net.eval()
    (change, *_) = compiled.explain(batch).changes
    assert change[:3] == ("self._training", "True", "False")
    assert all(isinstance(x, mx.array) for x in net.layers[1].parameters().values())


def test_graphs_and_arrays_go_when_nobody_holds_them() -> None:
    class Held:
        scale = 2.0

    def use(held: Any) -> Any:
        compiled = crt.compile(lambda x: x * held.scale)
        assert compiled(mx.ones(2)).tolist() == compiled(mx.ones(2)).tolist() == [2, 2]
        return weakref.ref(held)

    alive = use(Held())
    gc.collect()
    assert alive() is None


# --- eval and files ---------------------------------------------------------------------------------------------------


def test_eval_computes_on_the_calling_thread_and_names_what_fails() -> None:
    results: list[Any] = []

    def work() -> None:
        x = mx.ones(3) * 2
        crt.eval({"x": [x, None, "text"]})
        results.append(x.tolist())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == [[2, 2, 2]]
    singular = mx.linalg.inv(mx.zeros((2, 2)), stream=mx.cpu)
    with pytest.raises(RuntimeError, match="LU factorization failed") as caught:
        crt.eval({"a": [None, singular]})
    assert notes(caught.value) == "clika_pytree: eval() waited for trees[0]['a'][1]"
    with pytest.raises(crt.RecordingError, match=r"eval\(\) was called inside a function that MLX is tracing"):
        mx.compile(lambda x: crt.eval(x))(mx.ones(2))


DTYPES = ["bool_", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "bfloat16"]
DTYPES += ["float32", "complex64"]


@pytest.mark.parametrize("name", DTYPES)
def test_elements_of_every_dtype_come_back(name: str, tmp_path: Path) -> None:
    dtype = getattr(mx, name)
    values = mx.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    tree = {"w": [values, values.T, mx.zeros((0, 3), dtype), values[0, 1]], "tied": values}
    crt.save(tree, tmp_path / "a.safetensors")
    back = crt.load(tmp_path / "a.safetensors", like=tree)
    assert same(back, tree)
    assert back["tied"] is back["w"][0]
    flat = {"w": values}
    crt.save(flat, tmp_path / "b.safetensors")
    assert mx.array_equal(mx.load(str(tmp_path / "b.safetensors"))["w"], values)


def test_what_mlx_has_no_dtype_or_device_for_is_refused(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    crt.save({"w": np.ones(2, ml_dtypes.float8_e5m2)}, tmp_path / "a.safetensors")
    with pytest.raises(crt.PyTreeTypeError, match="MLX has no dtype for F8_E5M2"):
        crt.load(tmp_path / "a.safetensors", runtime="mlx")
    crt.save({"w": np.ones(2)}, tmp_path / "b.safetensors")
    assert crt.load(tmp_path / "b.safetensors", runtime="mlx")["w"].dtype == mx.float64
    with pytest.raises(crt.PyTreeValueError, match="no device 'tpu'"):
        crt.load(tmp_path / "b.safetensors", "tpu", runtime="mlx")


# --- trace ------------------------------------------------------------------------------------------------------------


def test_a_graph_has_names_and_can_be_written(tmp_path: Path) -> None:
    traced = []

    def linear(tensors: list[Any]) -> list[Any]:
        traced.append(len(tensors))
        x, w = tensors
        return [x @ w, 5, x.sum(0), x]

    stand_in = types.SimpleNamespace(shape=(2, 3), dtype=np.dtype("float32"))
    names = {"names": ["x", "w"], "outputs": ["y", "five", "total", "same"]}
    graph = crt.trace(linear, [stand_in, mx.ones((3, 2))], **names)
    graph.save(tmp_path / "linear.graph")
    x, w = mx.arange(6.0).reshape(2, 3), mx.ones((3, 2))
    for one in (graph, Graph.load(tmp_path / "linear.graph", runtime="mlx")):
        assert (one.inputs, one.outputs) == (("x", "w"), ("y", "five", "total", "same"))
        assert same(one(x, w), [x @ w, 5, x.sum(0), x])
        assert same(one(w=w, x=x)[0], x @ w)
        lines = one.text().splitlines()
        assert lines[0] == "(x: float32[2, 3], w: float32[3, 2]) -> (y, five, total, same)"
        assert any("Matmul(" in line for line in lines)
        with pytest.raises(
            ValueError, match=r"traced for float32\[2, 3\] as x, got float32\[4, 3\]; trace the function"
        ):
            one(mx.ones((4, 3)), w)
    assert traced == [2]
    (tmp_path / "linear.graph").write_bytes((tmp_path / "linear.graph").read_bytes()[:100])
    with pytest.raises(crt.PyTreeValueError, match="holds no graph that can be read"):
        Graph.load(tmp_path / "linear.graph", runtime="mlx")


def test_mlx_is_not_imported_before_it_is_needed() -> None:
    code = (
        "import sys, numpy, clika_pytree as c; c.compile(lambda x: x)(numpy.ones(2)); assert 'mlx' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
