"""What `load` is asked for: a likeness, a part, a runtime, a device, unknown classes, progress; and `inspect`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import classes
import numpy as np
import pytest
from helpers import run_python
from tensor_files import same_tree

import clika_pytree as cp


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.safetensors"


def model(layers: int = 3, width: int = 4, dtype: str = "f4") -> dict:
    return {
        "emb": np.ones((2, width), dtype),
        "layers": [{"w": np.full((width, width), n, dtype), "b": None} for n in range(layers)],
        "step": 3,
    }


# --- like -------------------------------------------------------------------------------------------------------------


def test_a_tree_like_the_file_lets_it_through(path):
    cp.save(model(), path)
    for like in (
        model(),
        cp.tree_map(lambda x: SimpleNamespace(shape=x.shape, dtype=x.dtype) if hasattr(x, "shape") else x, model()),
    ):
        assert same_tree(cp.load(path, like=like), model())
    state = {"b": np.ones(2), "a": np.zeros(1), "n": 4}
    cp.save(state, path)
    assert same_tree(cp.load(path, like=state), state)


def test_every_difference_is_listed(path):
    cp.save(model(2, 4), path)
    with pytest.raises(cp.StructureError) as caught:
        cp.load(path, like=model(3, 4, "f8") | {"emb": np.ones((2, 5), "f4")})
    text = str(caught.value)
    assert text.splitlines()[0] == f"{path} does not fit like (5 differences):"
    assert "  ['layers'][2]['w']: not in the file" in text
    assert "  ['layers'][2]['b']: not in the file" in text
    assert "  ['emb']: file float32[2, 4], like float32[2, 5]" in text
    assert "  ['layers'][1]['w']: file float32[4, 4], like float64[4, 4]" in text


@pytest.mark.parametrize(
    "like",
    [
        model() | {"layers": tuple(model()["layers"])},
        dict(reversed(model().items())),
        model() | {"more": None},
        {key: value for key, value in model().items() if key != "step"},
        model() | {"emb": 3},
        model() | {"step": np.ones(1)},
        [],
        None,
    ],
    ids=[
        "another container",
        "another order",
        "more",
        "less",
        "a value for a tensor",
        "a tensor for a value",
        "[]",
        "a leaf",
    ],
)
def test_another_structure_does_not_fit(like, path):
    if like is None:
        like = np.ones(2)
    cp.save(model(), path)
    with pytest.raises(cp.StructureError, match="does not fit like"):
        cp.load(path, like=like)


def test_a_flat_dict_may_have_another_order_than_like(path):
    cp.save({"b": np.ones(2), "a": np.zeros(1)}, path)
    with pytest.raises(cp.StructureError, match=r"\['c'\]|c: not in the file"):
        cp.load(path, like={"a": np.zeros(1), "b": np.ones(2), "c": np.ones(1)})
    assert [*cp.load(path, like={"a": np.zeros(1), "b": np.ones(2)})] == ["b", "a"]


# --- only -------------------------------------------------------------------------------------------------------------


def test_a_part_of_a_tree(path):
    cp.save(model(11), path)
    for only in ("['layers'][1]", (cp.MappingKey("layers"), cp.SequenceKey(1)), lambda name: "[1]" in name):
        back = cp.load(path, only=only)
        assert back["layers"][1]["w"].sum() == 16
        assert back["step"] == 3
        rest = [leaf for leaf in cp.tree_leaves(back) if isinstance(leaf, cp.boundary.NotLoaded)]
        assert len(rest) == 11  # the tenth layer is none below [1]
        assert repr(back["emb"]) == "<not loaded: float32[2, 4]>"
        assert (back["emb"].name, back["emb"].shape, back["emb"].nbytes) == ("['emb']", (2, 4), 32)
    with pytest.raises(cp.PyTreeTypeError, match="a NotLoaded"):
        cp.save(back, path)


def test_a_part_of_a_flat_dict(path):
    state = {"a.w": np.ones(1), "a.b": np.ones(2), "ab": np.ones(3), "step": 1}
    cp.save(state, path)
    assert [*cp.load(path, only="a")] == ["a.w", "a.b"]
    assert [*cp.load(path, only="a.")] == ["a.w", "a.b"]
    assert [*cp.load(path, only="ab")] == ["ab"]
    assert [*cp.load(path, only=lambda name: name.endswith("b"))] == ["a.b", "ab"]


def test_a_part_that_is_not_there(path):
    cp.save(model(), path)
    with pytest.raises(cp.PyTreeValueError, match=r"nothing to load: none begins with 'x'; its tensors are"):
        cp.load(path, only="x")
    with pytest.raises(cp.PyTreeTypeError, match="the beginning of a key path"):
        cp.load(path, only=3)


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="counts what is read from /proc")
def test_a_part_is_all_that_is_read(path):
    cp.save({"a": np.ones(1 << 20), "b": np.ones(8)}, path)
    source = f"""
import clika_pytree as cp
def count(): return int(open("/proc/self/io").read().split()[1])
cp.load({str(path)!r}, only="b", mmap=False)
before = count()
assert cp.load({str(path)!r}, only="b", mmap=False)["b"].sum() == 8
print(count() - before)
"""
    assert int(run_python(source).stdout) < 20_000


# --- runtimes, devices, classes ---------------------------------------------------------------------------------------


def test_devices_and_runtimes_that_are_not_there(path):
    cp.save(model(), path)
    assert same_tree(cp.load(path, "cpu", runtime="numpy"), model())
    with pytest.raises(cp.PyTreeValueError, match="\"cpu\" only, not on 'cuda:0'"):
        cp.load(path, "cuda:0")
    with pytest.raises(cp.PyTreeValueError, match="the name of a runtime"):
        cp.load(path, runtime="none such")
    with pytest.raises(cp.PyTreeTypeError, match="the name of a device"):
        cp.load(path, 0)


def test_a_dtype_that_numpy_lacks_alone(path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    cp.save({"w": np.ones(2, ml_dtypes.bfloat16)}, path)
    source = f"""
import sys
sys.modules["ml_dtypes"] = None
import clika_pytree as cp
try:
    cp.load({str(path)!r})
except cp.PyTreeValueError as error:
    print(error)
"""
    text = run_python(source).stdout
    assert (
        "the tensor 'w' can't be loaded: numpy has the dtype bfloat16 from the package ml_dtypes only: install it"
        in text
    )


class Known(NamedTuple):
    mu: object
    nu: object


def test_classes_that_this_process_does_not_have(path):
    tree = {
        "s": classes.Sample(np.ones(2), [1], "n"),
        "p": classes.Point(np.ones(1), 2),
        "t": classes.Tagged(3, 4, "t"),
    }
    cp.save(tree, path)
    source = f"""
import clika_pytree as cp
try:
    cp.load({str(path)!r})
except cp.FileFormatError as error:
    print(error, error.path)
back = cp.load({str(path)!r}, unknown="dict")
print(back)
print(cp.inspect({str(path)!r}).structure)
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, cwd="/")
    error, back, structure = done.stdout.splitlines()
    assert "can't be rebuilt" in error
    assert "no class is registered under the name 'tests.Sample'" in error
    assert 'unknown="dict"' in error
    assert error.endswith(" ['s']")
    assert back.startswith("{'s': {'weight': array([1., 1.]), 'bias': [1]}, 'p': {'x': array([1.]), 'y': 2}, 't': {")
    assert structure.startswith("TreeSpec({'s': {'weight': *, 'bias': [*]}, 'p': {'x': *, 'y': *}")
    with pytest.raises(cp.PyTreeTypeError, match='"error" or "dict"'):
        cp.load(path, unknown="ignore")


# --- progress ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mmap", [True, False])
def test_progress_is_told_in_bytes(mmap, path):
    tree = [np.ones(1000), np.ones(10), None]
    said: list[tuple[int, int]] = []
    cp.save(tree, path, progress=lambda done, total: said.append((done, total)))
    assert said[-1] == (8080, 8080)
    said.clear()
    cp.load(path, mmap=mmap, progress=lambda done, total: said.append((done, total)))
    assert said == [(8000, 8080), (8080, 8080)]
    cp.save(tree, path, progress=False)
    with pytest.raises(cp.PyTreeTypeError, match="as progress, got 3"):
        cp.save(tree, path, progress=3)


# --- inspect ----------------------------------------------------------------------------------------------------------


def test_a_summary_prints_as_a_table(path):
    w = np.ones((4, 4), "f4")
    cp.save({"layers": [{"w": np.ones((4, 4), "f4"), "b": None} for _ in range(4)], "tied": [w, w]}, path)
    found = cp.inspect(path)
    assert found.kind == "tree"
    assert found.file_bytes == path.stat().st_size
    assert found.ties == {"['tied'][1]": "['tied'][0]"}
    assert found.metadata == {"format": "pt"}
    assert [tensor.name for tensor in found.tensors][-1] == "['tied'][0]"
    assert found.structure == cp.tree_structure(cp.load(path))
    lines = repr(found).splitlines()
    assert lines[0] == f"{path}: a tree, {path.stat().st_size / 1024:.1f} KiB"
    assert lines[1].split() == ["path", "leaves", "type", "shape", "dtype", "bytes"]
    assert lines[2].split() == ["['layers'][0…3]['w']", "4", "tensor", "(4,", "4)", "float32", "256", "B"]
    assert "5 arrays of 80 elements, 320 B" in repr(found)
    assert lines[-1] == "an array that stands in several places is counted once (1 more place)"
    assert found._repr_html_().startswith(f"<p>{lines[0]}</p><table>")


def test_a_summary_of_a_flat_dict(path):
    w = np.ones(3)
    cp.save({"a": w, "n": 3, "b": w}, path)
    found = cp.inspect(path, max_rows=1)
    assert (found.kind, found.ties, len(found.table.rows)) == ("dict", {"b": "a"}, 1)
    assert found.structure == cp.tree_structure({"a": 0, "n": 0, "b": 0})
