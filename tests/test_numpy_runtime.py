"""numpy as a runtime: traced graphs that name their inputs, refuse other tensors, and take any memory layout."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from recorded import same

from clika_pytree import PyTreeTypeError, PyTreeValueError
from clika_pytree.runtimes.numpy.runtime import runtime


class StandIn(NamedTuple):
    shape: tuple[Any, ...]
    dtype: Any


def layer(tensors):
    x, w = tensors
    return [np.maximum(x @ w - 1, 0) * 2, x.sum(), x.shape[0]]


STAND_INS = (StandIn((4, 3), "float32"), StandIn((3, 2), np.float32))


def traced(function=layer, stand_ins=STAND_INS, names=("x", "w")):
    return runtime.trace(function, stand_ins, names, None)


def test_a_traced_graph_is_right_for_every_size_and_layout():
    graph = traced()
    assert (graph.inputs, graph.outputs) == (["x", "w"], ["result[0]", "result[1]", "result[2]"])
    full = np.random.default_rng(0).standard_normal((60_000, 6)).astype("f4")
    w = full[:3, :2].copy()
    for x in (full[:, :3].copy(), full[:, :3], full[::-1, ::2], np.asfortranarray(full[:, 3:]), full[:0, :3]):
        assert same(graph.run([x, w]), layer([x, w]))
        assert same(graph.run([x, np.asfortranarray(w)]), layer([x, np.asfortranarray(w)]))


def test_the_source_of_a_traced_graph_speaks_of_its_names():
    text = runtime.trace(layer, [np.ones((4, 3)), np.ones((3, 2))], ["x", "w"], ["y", "total", "rows"]).text()
    numbers, _, functions = text.partition("\n\n\n")
    assert all(line.startswith("n") and " = np.array(" in line for line in numbers.splitlines())
    assert functions.startswith(
        "def graph(tensors):\n    x, w = tensors\n"
        "    if x.size < 49152 or not in_rows(x, w):\n        return plain(x, w)\n"
    )
    assert text.endswith("    return [v0, v1, x.shape[0]]  # y, total, rows\n")


@pytest.mark.parametrize("name", ["len", "lambda", "a b", "v0", "np", "k", "give", "x_k", "c0", "", "x1", "exp", "é"])
def test_every_name_of_an_input_will_do(name):
    table = np.arange(3.0)
    graph = runtime.trace(lambda t: [np.exp(t[0]) + table, t[1] * len(t)], [np.ones(3), np.ones(2)], [name, "x0"], None)
    assert same(graph.run([np.zeros(3), np.ones(2)]), [1 + table, np.full(2, 2.0)])
    assert graph.inputs == [name, "x0"]


def test_tensors_that_a_graph_is_not_for_are_refused():
    graph = traced()
    x, w = np.ones((2, 3), "f4"), np.ones((3, 2), "f4")
    for tensors, message in (
        ([x], r"the graph takes 2 tensors \(x, w\), got 1"),
        ([x, w.astype("f8")], "traced for ndarray of float32 with 2 axes as w, got ndarray of float64 with shape"),
        ([x[0], w], r"traced for ndarray of float32 with 2 axes as x, got ndarray of float32 with shape \(3,\)"),
        ([x, [1.0]], "as w, got an object of class list; trace the function again for such"),
    ):
        with pytest.raises(PyTreeTypeError, match=message):
            graph.run(tensors)
    with pytest.raises(PyTreeValueError, match=r"used x\.shape\[0\] as a number, which was 3 when .* and is 2 here"):
        traced(lambda t: [t[0] + np.zeros(t[0].shape[0])], [np.ones(3)], ["x"]).run([np.ones(2)])
    with pytest.raises(
        PyTreeValueError, match=r"used \(x\.shape\[0\] > 2\) when it was traced, which was True and is F"
    ):
        traced(lambda t: [t[0] if t[0].shape[0] > 2 else t[0] + 1], [np.ones(3)], ["x"]).run([np.ones(2)])


def test_what_stands_for_a_tensor():
    for shape, dtype, message in (
        ((None, 3), "f4", r"needs a shape of numbers, got \(None, 3\)"),
        ((-1, 3), "f4", r"needs a shape of numbers, got \(-1, 3\)"),
        ((2, 3), "float33", "numpy has no dtype 'float33'"),
    ):
        with pytest.raises(PyTreeTypeError, match=message):
            traced(stand_ins=[StandIn(shape, dtype), np.ones((3, 2))])
    x = np.ones((2, 3))
    graph = traced(lambda t: [t[0].__iadd__(1)], [x], ["x"])
    assert x.sum() == 6
    assert graph.run([x])[0] is x
    assert x.sum() == 12
    assert runtime.describe(StandIn((2, 3), "f4")) == ("float32", (2, 3), "cpu", None)


def bytes_of(host):
    return bytes(memoryview(host.buffer).cast("B"))


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", ">f4", ">i2"])
def test_elements_go_out_and_come_back(dtype):
    full = (np.arange(24).reshape(4, 6) % 7).astype(dtype)
    for x in (full, full.T, full[::-2, 1::2], np.broadcast_to(full[0], (3, 6)), full[:0], full[0, 0], full[1, 1:2]):
        host = runtime.to_host(x)
        assert bytes_of(host) == np.asarray(x).astype(full.dtype.newbyteorder("<")).tobytes("C")
        back = runtime.from_host(host, "cpu")
        assert (back.shape, back.dtype) == (x.shape, full.dtype.newbyteorder("<"))
        assert back.tolist() == x.tolist()
    whole = np.ones(3)
    assert np.shares_memory(runtime.from_host(runtime.to_host(whole), "cpu"), whole)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_small_floats_go_out_and_come_back(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(6).reshape(2, 3).astype(getattr(ml_dtypes, name)).T
    host = runtime.to_host(x)
    assert same(runtime.from_host(host, "cpu"), np.ascontiguousarray(x))


def test_what_no_file_has_is_refused():
    for x in (np.array(["a"]), np.array([1], "M8[D]"), np.array([{}]), np.ones(2, "c16"), np.zeros(2, "i4,f4")):
        with pytest.raises(PyTreeTypeError, match="can't hand out arrays of dtype"):
            runtime.to_host(x)
    with pytest.raises(PyTreeTypeError, match="arrays of class MaskedArray, which have a mask,"):
        runtime.to_host(np.ma.masked_array([1.0, 2], [0, 1]))
    host = runtime.to_host(np.ones(2))
    with pytest.raises(PyTreeValueError, match="on the device \"cpu\" only, not on 'cuda'"):
        runtime.from_host(host, "cuda")
    with pytest.raises(PyTreeValueError, match="numpy has no dtype for F4"):
        runtime.from_host(host._replace(dtype="F4"), "cpu")


def test_tensors_of_the_same_memory():
    x = np.ones((4, 3))
    same_memory = runtime.same_memory
    assert same_memory(x) == same_memory(x[:]) == same_memory(x.T.T) is not None
    others = [x[1:], x.T, x.reshape(-1), x[:, ::-1], x.view("i8"), x.copy(), x[:3]]
    assert len({same_memory(x), *map(same_memory, others)}) == 8
    assert same_memory(x[:0]) is same_memory(x[0, 0]) is None
    assert runtime.module_state(x) is None
    assert runtime.wait([x]) is None
