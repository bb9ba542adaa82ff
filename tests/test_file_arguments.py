"""What `save`, `load` and `inspect` are given: odd paths, switches, parts and likenesses, and what they say to them."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import classes
import numpy as np
import pytest
from helpers import run_python
from tensor_files import names_in, same_tree

import clika_pytree as cp
from clika_pytree.runtimes.protocol import Runtime, TensorSpec

STATE = {"a.w": np.ones(1), "a.lr": 0.5, "b": np.zeros(2), "a.n": None}
TREE = {"layers": [{"w": np.ones(2), "b": None}, {"w": np.zeros(3), "b": 1}], "step": 3}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.safetensors"


# --- paths ------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have paths of characters, not of bytes")
@pytest.mark.parametrize("most", [None, 8])
def test_a_path_that_is_no_text(most, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\xe9.safetensors"
    cp.save(TREE, path, max_shard_bytes=most)
    assert same_tree(cp.load(path), TREE)
    assert same_tree(cp.load(os.fsdecode(path), mmap=False), TREE)
    assert str(cp.inspect(path)).startswith(rf"{tmp_path}/\udcff\udce9.safetensors")
    cp.save(TREE, path)
    assert same_tree(cp.load(path), TREE)
    with open(path, "ab") as file:
        file.write(b"more")
    with pytest.raises(cp.FileFormatError, match=r"\\udcff\\udce9\.safetensors: 4 bytes behind the last tensor"):
        cp.load(path)
    with pytest.raises(FileNotFoundError, match=r"\\udcfe"):
        cp.load(os.fsencode(tmp_path) + b"/\xfe")


def test_a_path_in_the_place_of_the_object(path):
    with pytest.raises(cp.PyTreeTypeError, match=r"expects a path, got a dict; the order is save\(obj, path\)$"):
        cp.save(path, TREE)
    assert not path.exists()


@pytest.mark.parametrize("path", ["", b"", "a\0b", b"a\0b", 3, None, ["a"], bytearray(b"a")], ids=repr)
def test_what_is_no_path(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    error = cp.PyTreeValueError if isinstance(path, (str, bytes)) else cp.PyTreeTypeError
    with pytest.raises(error, match=r"save\(\) expects a path"):
        cp.save(STATE, path)
    with pytest.raises(error, match=r"load\(\) expects a path"):
        cp.load(path)
    with pytest.raises(error, match=r"inspect\(\) expects a path"):
        cp.inspect(path)
    assert names_in(tmp_path) == []


def test_folders_that_are_none_are_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for path, words in (("no/such/a", "the folder {}/no/such does not exist"), ("file/a", "{}/file is no folder")):
        with pytest.raises(OSError, match=words.format(tmp_path)) as caught:
            cp.save(STATE, tmp_path / path)
        assert caught.value.filename == str(tmp_path / path)
    (tmp_path / "link").symlink_to("no/a")
    with pytest.raises(FileNotFoundError, match=f"the folder {tmp_path}/no does not exist"):
        cp.save(STATE, tmp_path / "link")
    assert names_in(tmp_path) == ["file", "link"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_waiting_for_the_reader_of_a_pipe_can_be_ended(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    source = f"""
import signal, numpy as np, clika_pytree as cp
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.5)
try:
    cp.save({{"a": np.ones(1)}}, {str(tmp_path / "pipe")!r})
except KeyboardInterrupt:
    print("ended")
"""
    assert run_python(source).stdout == "ended\n"


# --- switches ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, 1, None, "yes", np.True_], ids=repr)
def test_switches_are_true_or_false(value, path):
    with pytest.raises(cp.PyTreeTypeError, match=r"save\(\) expects True or False as fsync, got"):
        cp.save(STATE, path, fsync=value)
    assert names_in(path.parent) == []
    cp.save(STATE, path)
    with pytest.raises(cp.PyTreeTypeError, match=r"load\(\) expects True or False as mmap, got"):
        cp.load(path, mmap=value)


@pytest.mark.parametrize("rows", [-1, "x", 1.5, True], ids=repr)
def test_a_number_of_lines_is_one(rows, path):
    error = cp.PyTreeValueError if rows == -1 else cp.PyTreeTypeError
    with pytest.raises(error, match=r"inspect\(\) expects a number from 0 on or None as max_rows, got"):
        cp.inspect(path, max_rows=rows)


# --- classes ---------------------------------------------------------------------------------------------------------


def test_a_class_that_is_not_here_far_down(path):
    tree = classes.Tagged(np.ones(1), 2, "tag")
    for _ in range(10_000):
        tree = [tree]
    cp.save(tree, path)
    source = f"""
import tracemalloc, clika_pytree as cp
tracemalloc.start()
back = cp.load({str(path)!r}, unknown="dict")
print(tracemalloc.get_traced_memory()[1] < 40_000_000)
for _ in range(10_000):
    back = back[0]
print(sorted(back))
print(cp.inspect({str(path)!r}).tensors[0].name.endswith("[0][0].left"))
"""
    assert run_python(source).stdout == "True\n['left', 'right']\nTrue\n"


# --- parts ------------------------------------------------------------------------------------------------------------


def test_plain_values_of_a_flat_dict_are_parts_of_it(path):
    cp.save(STATE, path)
    assert [*cp.load(path)] == [*STATE]
    assert [*cp.load(path, only="a")] == ["a.w", "a.lr", "a.n"]
    assert cp.load(path, only="a.lr") == {"a.lr": 0.5}
    assert [*cp.load(path, only="b")] == ["b"]
    assert [*cp.load(path, only=lambda name: name != "a.w")] == ["a.lr", "b", "a.n"]


def test_a_part_by_the_keys_of_a_path(path):
    cp.save(STATE, path)
    assert [*cp.load(path, only=(cp.MappingKey("b"),))] == ["b"]
    cp.save(TREE, path)
    back = cp.load(path, only=(cp.MappingKey("layers"), cp.SequenceKey(0)))
    assert [type(layer["w"]) for layer in back["layers"]] == [np.ndarray, cp.boundary.NotLoaded]
    with pytest.raises(
        cp.PyTreeTypeError, match=r"such as \(MappingKey\('layers'\), .* there is 'layers' in the tuple"
    ):
        cp.load(path, only=("layers", 0))
    with pytest.raises(cp.PyTreeValueError, match=r"none begins with \"\['layers'\]\[2\]\"; its tensors are"):
        cp.load(path, only=(cp.MappingKey("layers"), cp.SequenceKey(2)))


# --- likenesses -------------------------------------------------------------------------------------------------------


def test_the_differences_have_the_order_of_the_trees(path):
    cp.save(TREE, path)
    with pytest.raises(cp.StructureError) as caught:
        cp.load(path, like={"more": 1})
    found = [line.strip().partition(":")[0] for line in str(caught.value).splitlines()[1:]]
    assert found == ["['more']", *(cp.keystr(path) for path, _ in cp.tree_leaves_with_path(TREE))]


@pytest.mark.parametrize(
    ("like", "words"),
    [
        (TREE | {"layers": tuple(TREE["layers"])}, "['layers']: the file has a list of 2, like has a tuple of 2"),
        ([{"b": 1, "a": 2}], "[0]: the keys come in another order: the file has ['a'], ['b']; like has ['b'], ['a']"),
    ],
    ids=["another container", "another order"],
)
def test_a_difference_names_the_file_and_like(like, words, path):
    cp.save(TREE if "layers" in like else [{"a": 1, "b": 2}], path)
    with pytest.raises(cp.StructureError) as caught:
        cp.load(path, like=like)
    assert str(caught.value) == f"{path} does not fit like (1 difference):\n  {words}"


# --- dtypes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("array", "way_out"),
    [
        (np.zeros(2, "M8[D]"), "save w.view('int64')"),
        (np.zeros(2, "m8[s]"), "save w.view('int64')"),
        (np.zeros(2, "i4,f4"), "save each of its fields, or w.view('uint8')"),
        (np.rec.array(np.zeros(2, "i4,f4")), "save each of its fields, or w.view('uint8')"),
        (np.array(["a"]), "keep the texts as str, which may be leaves"),
        (np.array([b"a"]), "keep them as bytes, which may be leaves"),
        (np.zeros(2, complex), "save w.view('float64'), or cast it to complex64"),
        (np.zeros(2, np.longdouble), "cast it to float64"),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_a_dtype_that_no_file_has_and_the_way_out(array, way_out, path):
    with pytest.raises(cp.PyTreeTypeError) as caught:
        cp.save({"w": array}, path)
    assert str(caught.value).endswith(f"which a safetensors file can't hold; {way_out}")
    if "view" in way_out:
        cp.save({"w": array.view(way_out.split("'")[1])}, path)
        assert cp.load(path)["w"].view(array.dtype).tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("tree", "like", "words"),
    [
        (TREE, np.ones(2), "the file has a dict with 2 keys, like has a leaf"),
        ([1, 2], {}, "the file has a list of 2, like has an empty dict"),
        ([], (np.ones(2), 3), "the file has an empty list, like has a tuple of 2"),
        (np.ones(2), {"w": np.ones(2)}, "the file has a leaf, like has a dict with 1 key"),
    ],
    ids=["a tensor", "nothing", "beside nothing", "beside a tensor"],
)
def test_a_whole_tree_is_one_difference(tree, like, words, path):
    cp.save(tree, path)
    with pytest.raises(cp.StructureError) as caught:
        cp.load(path, like=like)
    assert str(caught.value) == f"{path} does not fit like (1 difference):\n  the root: {words}"
    assert type(cp.load(path, like=tree)) is type(tree)


# --- tensors without elements -----------------------------------------------------------------------------------------


class Late:
    """A runtime's tensor whose elements can't be had, which shows when they are asked for."""

    dtype, shape = "float32", (2,)


Late.__module__ = "late_tensors"


class LateRuntime(Runtime):
    name, modules = "late", ("late_tensors",)

    def is_tensor_type(self, cls, /):
        return cls is Late

    def describe(self, x, /):
        return TensorSpec(x.dtype, x.shape)


@pytest.mark.parametrize("most", [None, 8], ids=["one file", "several"])
@pytest.mark.parametrize(
    ("tree", "where"),
    [({"a": np.ones(1), "b": Late()}, "['b']"), ([np.ones(1), {"b.c": Late()}], "[1]['b.c']"), (Late(), "")],
    ids=["dict", "tree", "root"],
)
def test_what_only_shows_when_it_is_written_leaves_nothing(tree, where, most, path, tmp_path):
    cp.register_runtime(LateRuntime())
    try:
        words = f"can't write the tensor at {where or 'the root'}: the runtime 'late' can't hand out the elements"
        with pytest.raises(cp.PyTreeTypeError, match=re.escape(words)) as caught:
            cp.save(tree, path, max_shard_bytes=most)
    finally:
        cp.unregister_runtime("late")
    assert caught.value.path == where
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("tree", [lambda x: {"a": np.ones(1), "b": x}, lambda x: [{"a": np.ones(1)}, x]])
def test_what_has_no_elements_is_refused_before_anything_is_written(tree, path, tmp_path):
    masked = np.ma.masked_array([1.0, 2.0], [0, 1])
    with pytest.raises(
        cp.PyTreeTypeError, match=r"is float64 with a mask, .* save numpy\.ma\.getmaskarray\(w\)"
    ) as caught:
        cp.save(tree(masked), path)
    assert caught.value.path in ("['b']", "[1]")

    @cp.compile
    def keep(x):
        cp.save(tree(x), path)

    with pytest.raises(
        cp.RecordingError, match=r"it stands for one inside keep\(\), .*test_file_arguments\.py:\d+\. Return"
    ):
        keep(np.ones(2))
    assert not [*tmp_path.iterdir()]
