"""Traced functions of PyTorch: names, sizes, refusals and files."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

import clika_pytree as crt
from clika_pytree.boundary import Graph

torch = pytest.importorskip("torch", reason="`make test-torch` installs PyTorch and runs this")


def layer(tensors):
    x, w = tensors
    return [torch.relu(x @ w), x.sum(0), "text", None]


@pytest.fixture(scope="module")
def graph():
    stand_ins = [torch.ones(5, 3), torch.ones(3, 2)]
    return crt.trace(layer, stand_ins, names=["x['in']", "w"], outputs=["y", "total", "kind", "none"])


def check(graph, count):
    x, w = torch.arange(3.0 * count).reshape(count, 3), torch.ones(3, 2)
    y, total, kind, none = graph(x, w=w)
    assert torch.allclose(y, x @ w)
    assert torch.allclose(total, x.sum(0))
    assert (kind, none) == ("text", None)


def test_a_graph_runs_by_position_and_by_name_for_all_sizes(graph):
    assert repr(graph) == "<graph layer(x['in'], w) -> (y, total, kind, none)>"
    for count in (5, 2, 1, 0):
        check(graph, count)


def test_its_text_names_inputs_and_results_and_has_the_program(graph):
    head, _, program = graph.text().partition("\n")
    assert head == "(x['in']: float32[*, 3], w: float32[3, 2]) -> (y, total, kind, none)"
    assert "torch.ops.aten.matmul" in program
    assert "x__in__" in program


def test_shapes_and_dtypes_are_enough():
    stand_ins = [
        SimpleNamespace(shape=(1, 3), dtype=np.dtype("float32")),
        SimpleNamespace(shape=(3, 2), dtype=torch.float32),
    ]
    check(crt.trace(layer, stand_ins, names=["x", "w"], runtime="torch"), 4)


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        (torch.ones(2, 4), ValueError, r"as x\['in'\], got float32\[2, 4\]; trace the function again"),
        (torch.ones(3), TypeError, r"for float32\[\*, 3\] as x\['in'\], got float32\[3\]"),
        (torch.ones(2, 3, dtype=torch.int32), TypeError, r"got int32\[2, 3\]"),
        ("text", TypeError, r"got an object of class str"),
    ],
    ids=["size", "axes", "dtype", "text"],
)
def test_what_it_was_not_traced_for_is_refused_by_name(graph, x, error, words):
    with pytest.raises(error, match=words):
        graph(x, torch.ones(3, 2))


def test_a_size_that_decides_is_fixed():
    graph = crt.trace(lambda xs: [xs[0] * (2 if xs[0].shape[0] == 4 else 3)], [torch.ones(4)], names=["x"])
    assert torch.equal(graph(torch.ones(4))[0], torch.full((4,), 2.0))
    with pytest.raises(ValueError, match=r"other sizes \(x.size\(\)\[0\] == 4\); trace the function again"):
        graph(torch.ones(5))


def test_a_value_that_is_needed_is_named():
    with pytest.raises(crt.RecordingError, match="needs the value of a tensor while PyTorch traces it"):
        crt.trace(lambda xs: [xs[0] if xs[0].sum() > 0 else xs[0] * 2], [torch.ones(2)], names=["x"])


def test_the_tensors_of_a_module_are_a_part_of_the_graph():
    model = torch.nn.Linear(3, 2)
    graph = crt.trace(lambda xs: [model(xs[0])], [torch.ones(2, 3)], names=["x"])
    assert torch.allclose(graph(torch.ones(4, 3))[0], model(torch.ones(4, 3)))


def test_a_file_is_read_by_pytorch_and_not_by_us(graph, tmp_path):
    path = tmp_path / "layer.pt2"
    graph.save(path)
    extra = {"clika_pytree.json": ""}
    exported = torch.export.load(path, extra_files=extra)
    assert json.loads(extra["clika_pytree.json"])["inputs"] == ["x['in']", "w"]
    y, _ = exported.module()(torch.ones(7, 3), torch.ones(3, 2))
    assert torch.allclose(y, torch.full((7, 2), 3.0))
    with pytest.raises(crt.PyTreeTypeError, match=r"with pickle.*torch\.export\.load\("):
        Graph.load(path, runtime="torch")
