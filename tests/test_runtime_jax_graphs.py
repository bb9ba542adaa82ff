"""Traced functions of JAX: names, sizes, refusals and files."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

import clika_pytree as crt
from clika_pytree.boundary import Graph

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


def layer(tensors):
    x, w = tensors
    return [jnp.maximum(x @ w, 0), x.sum(axis=0), "text", None]


@pytest.fixture
def graph():
    stand_ins = [jnp.ones((5, 3)), jnp.ones((3, 2))]
    return crt.trace(layer, stand_ins, names=["x", "w"], outputs=["y", "total", "kind", "none"])


def check(graph, count):
    x, w = jnp.arange(3.0 * count).reshape(count, 3), jnp.ones((3, 2))
    y, total, kind, none = graph(x, w=w)
    np.testing.assert_allclose(y, np.asarray(x) @ np.ones((3, 2)), rtol=1e-6)
    np.testing.assert_allclose(total, np.asarray(x).sum(0), rtol=1e-6)
    assert (kind, none) == ("text", None)


def test_a_graph_runs_by_position_and_by_name_for_all_sizes(graph):
    assert repr(graph) == "<graph layer(x, w) -> (y, total, kind, none)>"
    for count in (5, 2, 1, 0):
        check(graph, count)


def test_its_text_names_inputs_and_results_and_has_the_program(graph):
    head, _, program = graph.text().partition("\n")
    assert head == "(x: float32[n5 - 1, 3], w: float32[3, 2]) -> (y, total, kind, none)"
    assert "dot_general" in program


def test_shapes_and_dtypes_are_enough():
    shapes = [jax.ShapeDtypeStruct((5, 3), jnp.float32), jax.ShapeDtypeStruct((3, 2), "float32")]
    check(crt.trace(layer, shapes, names=["x", "w"], runtime="jax"), 4)


def test_symbols_of_the_callers_are_kept():
    from jax import export

    (rows,) = export.symbolic_shape("rows", constraints=["rows >= 4"])
    shapes = [jax.ShapeDtypeStruct((rows, 3), jnp.float32), jax.ShapeDtypeStruct((3, 2), jnp.float32)]
    graph = crt.trace(layer, shapes, names=["x", "w"], runtime="jax")
    assert "x: float32[rows, 3]" in graph.text()
    check(graph, 4)
    with pytest.raises(ValueError, match="rows"):
        check(graph, 3)


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        (jnp.ones((2, 4)), ValueError, r"for float32\[\*, 3\] as x, got float32\[2, 4\]; trace the function again"),
        (jnp.ones(3), TypeError, r"for float32\[\*, 3\] as x, got float32\[3\]"),
        (jnp.ones((2, 3), jnp.int32), TypeError, r"for float32\[\*, 3\] as x, got int32\[2, 3\]"),
        ("text", TypeError, r"for float32\[\*, 3\] as x, got an object of class str"),
    ],
    ids=["size", "axes", "dtype", "text"],
)
def test_what_it_was_not_traced_for_is_refused_by_name(graph, x, error, words):
    with pytest.raises(error, match=words):
        graph(x, jnp.ones((3, 2)))


def test_sizes_that_belong_together_are_named():
    graph = crt.trace(lambda xs: [xs[0] + xs[1]], [jnp.ones(5), jnp.ones(5)], names=["a", "b"])
    np.testing.assert_array_equal(graph(jnp.ones(2), jnp.ones(2))[0], [2, 2])
    with pytest.raises(ValueError, match=r"for a.shape\[0\] and b.shape\[0\] as one size, got 2 and 3"):
        graph(jnp.ones(2), jnp.ones(3))


def test_a_value_that_is_needed_is_named():
    with pytest.raises(crt.RecordingError, match="needs the value of x while JAX traces it"):
        crt.trace(lambda xs: [xs[0] if xs[0].sum() else xs[0] * 2], [jnp.ones(2)], names=["x"])


def test_an_array_of_numpy_that_is_returned_is_a_part_of_the_graph(tmp_path):
    pytest.importorskip("flatbuffers", reason="JAX writes its graphs with flatbuffers")
    graph = crt.trace(lambda xs: [xs[0] + 1, np.arange(3, dtype=np.int32)], [jnp.ones(2)])
    graph.save(tmp_path / "g")
    for one in (graph, Graph.load(tmp_path / "g", runtime="jax")):
        np.testing.assert_array_equal(one(jnp.ones(4))[1], [0, 1, 2])


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def path(graph, tmp_path):
    pytest.importorskip("flatbuffers", reason="JAX writes its graphs with flatbuffers")
    graph.save(tmp_path / "layer.graph")
    return tmp_path / "layer.graph"


def test_a_file_gives_the_same_graph(graph, path):
    loaded = Graph.load(path, runtime="jax")
    assert (loaded.inputs, loaded.outputs) == (graph.inputs, graph.outputs)
    assert loaded.text() == graph.text()
    for count in (4, 1, 0):
        check(loaded, count)
    with pytest.raises(ValueError, match=r"as x, got float32\[2, 4\]"):
        loaded(jnp.ones((2, 4)), jnp.ones((3, 2)))


def test_constants_keep_their_types(tmp_path):
    pytest.importorskip("flatbuffers", reason="JAX writes its graphs with flatbuffers")
    values = [1, True, 1.0, -0.0, "ä", b"\x00", None, 2**70, 1j]
    crt.trace(lambda xs: [*values, xs[0] * 2], [jnp.ones(2)]).save(tmp_path / "g")
    found = Graph.load(tmp_path / "g", runtime="jax")(jnp.ones(2))
    assert [repr(value) for value in found[:-1]] == [repr(value) for value in values]


def rewrite(path, change):
    """The file with its head changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    head = json.loads(members["graph.json"])
    change(head, members)
    members["graph.json"] = json.dumps(head).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    "change",
    [
        lambda head, members: head.update(version=99),
        lambda head, members: head.update(format="clika_pytree numpy graph"),
        lambda head, members: head.update(inputs=["x"]),
        lambda head, members: head.update(outputs=[1, 2, 3, 4]),
        lambda head, members: head.update(results=[[7], [1], ["text"], [None]]),
        lambda head, members: head.update(constant=[False]),
        lambda head, members: head.update(constant=[1, 1, 1, 1]),
        lambda head, members: head.pop("results"),
        lambda head, members: members.pop("exported.bin"),
        lambda head, members: members.pop("program.txt"),
    ],
    ids=["version", "format", "inputs", "outputs", "results", "constant", "marks", "no results", "bytes", "program"],
)
def test_damaged_files_are_refused(path, change):
    rewrite(path, change)
    with pytest.raises(crt.PyTreeValueError, match=r"layer\.graph holds no graph that can be read"):
        Graph.load(path, runtime="jax")


def test_a_graph_of_another_runtime_is_refused(path, tmp_path):
    with pytest.raises(crt.PyTreeValueError, match="another format"):
        Graph.load(path, runtime="numpy")
    path.write_bytes(b"no archive")
    with pytest.raises(crt.PyTreeValueError, match="holds no graph"):
        Graph.load(path, runtime="jax")
    with pytest.raises(FileNotFoundError):
        Graph.load(tmp_path / "none", runtime="jax")
