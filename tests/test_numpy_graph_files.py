"""Graphs of numpy as files: read back they compute the same, and no file makes more than a graph or an error."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import zipfile
from typing import Any

import numpy as np
import pytest
from recorded import same

from clika_pytree import PyTreeTypeError, PyTreeValueError
from clika_pytree.runtimes.numpy.files import load
from clika_pytree.runtimes.numpy.runtime import runtime

TABLE = np.asfortranarray(np.arange(6.0).reshape(3, 2))


def program(tensors):
    x, w = tensors
    y = np.tanh(x @ w) + TABLE.sum() - np.float32(3)
    y[:, 0] = x.shape[0] * 2
    y += TABLE[0]
    _, s, _ = np.linalg.svd(y, full_matrices=False)
    part = np.add.reduce(y, axis=1).astype("i4")
    if x.shape[0] * 2 > 3:
        part = part * 2
    with np.errstate(divide="ignore", invalid="ignore"):
        z = 1 / (x - x)
    filled = np.where(x > 0, x, float("nan"))
    return [y, s, part, x @ TABLE, y.T[::-1, None], filled, z, np.einsum("ij->j", y), x.sum(dtype=np.float32), x, 1.5]


FIRST = (np.ones((4, 3)), np.ones((3, 2)))


def stored(path, function=program, tensors=FIRST, outputs=None) -> Any:
    graph = runtime.trace(function, tensors, ["x", "w"][: len(tensors)], outputs)
    graph.save(path)
    return graph


@pytest.mark.parametrize("rows", [2, 7, 60_000])
def test_a_graph_that_was_read_computes_the_same(tmp_path, rows):
    graph = stored(tmp_path / "a")
    read = load(tmp_path / "a")
    rng = np.random.default_rng(rows)
    tensors = [rng.standard_normal((rows, 3)), rng.standard_normal((3, 2))]
    results = read.run(tensors)
    assert same(results, graph.run(tensors))
    assert results[-2] is tensors[0]
    assert (read.text(), read.inputs, read.outputs) == (graph.text(), graph.inputs, graph.outputs)
    read.save(tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "b"]


def test_what_was_forced_is_kept(tmp_path):
    stored(tmp_path / "a")
    with pytest.raises(PyTreeValueError, match=r"used \(\(x\.shape\[0\] \* 2\) > 3\) when it was traced"):
        load(tmp_path / "a").run([np.ones((1, 3)), np.ones((3, 2))])
    stored(tmp_path / "a", lambda t: [np.zeros(len(t[0])) + t[0]], [np.ones(3)], ["y"])
    assert load(tmp_path / "a").outputs == ["y"]
    with pytest.raises(PyTreeValueError, match=r"used x\.shape\[0\] as a number, which was 3"):
        load(tmp_path / "a").run([np.ones(2)])


def test_scipys_ufuncs_can_be_saved(tmp_path):
    special = pytest.importorskip("scipy.special")
    graph = stored(tmp_path / "a", lambda t: [special.expit(t[0]) + 1, np.add.outer(t[0], t[0])], [np.ones(3)])
    assert same(load(tmp_path / "a").run([np.arange(5.0)]), graph.run([np.arange(5.0)]))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: [np.apply_along_axis(np.sort, 0, t[0])], "np.apply_along_axis at test_numpy_graph_files.py:"),
        (lambda t: [np.frompyfunc(abs, 1, 1)(t[0])], "is no function of numpy's that a file can name"),
        (lambda t: [t[0].astype([("a", "f8")])], "it works on arrays of dtype"),
        (lambda t: [t[0].view(np.matrix)], "it works on arrays of class matrix"),
    ],
)
def test_what_a_file_cannot_hold_is_refused(tmp_path, function, message):
    with pytest.raises(PyTreeTypeError, match=message):
        stored(tmp_path / "a", function, [np.ones((3, 3))])
    assert list(tmp_path.iterdir()) == []


def edited(path, edit) -> None:
    """The file with its description changed."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    body = json.loads(members["graph.json"])
    edit(body)
    members["graph.json"] = json.dumps(body).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def operation(**changes: Any) -> Any:
    return lambda body: body["operations"][0].update(changes)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda body: body.update(version=2), "another format or version"),
        (operation(kind="function", name="np.fromfile", args=["/etc/passwd"]), "calls 'np.fromfile', which is no"),
        (operation(kind="function", name="np.save", args=["file", 1]), "calls 'np.save', which is no"),
        (operation(kind="function", name="os.system", args=["true"]), "calls 'os.system', which is no"),
        (operation(kind="function", name="np.lib.npyio.load", args=["x"]), "which is no function"),
        (operation(kind="ufunc", name="np.add); import os; (", args=[1, 2]), "which is no function"),
        (operation(kind="ufunc", name="os.path.join", args=[1, 2]), "which is no function"),
        (operation(kind="method", name="tofile", args=[{"input": 0}, "file"]), "which is no function"),
        (operation(kind="attribute", name="__class__", args=[{"input": 0}]), "which is no function"),
        (operation(kind="method", name="sum", kwargs={"axis=0); x = (1": 0}), "which is no function"),
        (operation(args=[{"input": 99}, 1]), "speaks of number 99 of 2"),
        (operation(args=[{"made": 0}, 1]), "speaks of number 0 of 0"),
        (operation(errors={"divide": "call"}), "handles errors by"),
        (operation(args=[{"size": {"sign": "; import os;", "of": [1, 2]}}, 1]), "computes a size with '; import os;'"),
        (operation(args=[{"size": {"axis": 7, "input": 0}}, 1]), "speaks of number 7 of 2"),
        (lambda body: body["tensors"][0].update(dtype="O"), "an array of dtype O"),
        (lambda body: body["tensors"][0].update(shape=[-1, 2]), r"an array of shape \[-1, 2\]"),
        (lambda body: body["constants"].append({"class": "memmap"}), "has a class 'memmap'"),
        (lambda body: body["inputs"].append("z"), "not as many names as inputs"),
        (lambda body: body.pop("operations"), "has None in the place of list"),
    ],
)
def test_forged_files_are_errors(tmp_path, edit, message):
    stored(tmp_path / "a")
    edited(tmp_path / "a", edit)
    with pytest.raises(PyTreeValueError, match=message) as caught:
        load(tmp_path / "a")
    assert str(caught.value).startswith(f"{tmp_path / 'a'} holds no graph that can be read: ")


def test_captured_arrays_hold_no_pickles(tmp_path):
    stored(tmp_path / "a")
    with zipfile.ZipFile(tmp_path / "a", "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("c0.npy", b"\x93NUMPY\x01\x00\x46\x00{'descr': '|O', 'fortran_order': False, 'shape': (), }")
    with pytest.raises(PyTreeValueError, match="holds no graph that can be read"):
        load(tmp_path / "a")


def places(value: Any, path: tuple[Any, ...] = ()) -> Any:
    yield path
    for key, held in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(held, (*path, key))


def test_changed_and_cut_files_are_graphs_or_errors(tmp_path):
    """Whatever is put in the place of a part, reading gives a graph or says that there is none."""
    path = tmp_path / "a"
    stored(path)
    with zipfile.ZipFile(path) as archive:
        body = json.loads(archive.read("graph.json"))
    rng = random.Random(1)
    every = list(places(body))[1:]
    read = 0
    for _ in range(120):
        changed = copy.deepcopy(body)
        *way, last = rng.choice(every)
        held = changed
        for key in way:
            held = held[key]
        held[last] = rng.choice([None, -1, 3, 1.5, "x", [], {}, True, {"input": 0}, {"made": 2}, [[1]], "np.sum"])
        edited(path, lambda found, new=changed: (found.clear(), found.update(new)))
        try:
            load(path)
            read += 1
        except PyTreeValueError:
            pass
    assert read > 3
    stored(path)
    whole = path.read_bytes()
    for end in range(0, len(whole), 997):
        path.write_bytes(whole[:end])
        with pytest.raises(PyTreeValueError):
            load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")
    for place in range(0, len(whole), 41):  # the entries and the directory of the archive, too
        path.write_bytes(whole[:place] + bytes([rng.randrange(256)]) + whole[place + 1 :])
        with contextlib.suppress(PyTreeValueError):
            load(path)


def test_a_graph_that_cannot_be_written_names_the_file_that_was_asked_for(tmp_path):
    target = tmp_path / "none" / "a"
    with pytest.raises(FileNotFoundError, match="there is no folder") as caught:
        stored(target)
    assert caught.value.filename == str(target)
    with pytest.raises(IsADirectoryError) as caught:
        stored(tmp_path)
    assert caught.value.filename == str(tmp_path)
    assert list(tmp_path.iterdir()) == []
