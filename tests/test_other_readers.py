"""Other libraries see what `save` wrote as it is, and what they write loads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from other_libraries import LIBRARIES, Facts, Library, facts
from real_model import fetch
from write_saved import saved

import clika_pytree as cp

FOLDER = Path(__file__).parent
SAVED = FOLDER / "saved_v1"
FOREIGN = FOLDER / "saved_elsewhere"
ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed, from which numpy has the other floats")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.safetensors"


@pytest.fixture(params=[*LIBRARIES])
def library(request: pytest.FixtureRequest) -> Library:
    found = LIBRARIES[request.param]
    found.require()
    return found


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def arrays_of(dtype: str) -> dict[str, np.ndarray]:
    """Arrays of every layout, in an order of no alphabet."""
    values = np.arange(24).reshape(2, 3, 4).astype(dtype_of(dtype))
    return {
        "z": values,
        "a.turned": values.T,
        "m": values[:, ::-1, 1],
        "scalar": values[1, 1, 1],
        "none": values[:, :0],
        "b": np.broadcast_to(values[0, 0], (3, 4)),
    }


def check(library: Library, path: Path, expected: dict[str, Facts]) -> None:
    found = library.read(path)
    if library.in_order:
        assert [*found] == [*expected]
    assert found == expected


# --- what we write ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for name, library in LIBRARIES.items() for dtype in library.dtypes]
)
def test_every_dtype_that_a_library_takes(name, dtype, path):
    library = LIBRARIES[name]
    library.require()
    arrays = arrays_of(dtype)
    cp.save(arrays, path)
    check(library, path, {name: library.as_read(facts(array)) for name, array in arrays.items()})


def test_a_dict_of_all_dtypes_has_the_order_it_was_given(library, path):
    arrays = {f"{len(dtype) % 5}.{dtype}": np.arange(5).astype(dtype_of(dtype)) for dtype in library.dtypes}
    cp.save(arrays, path)
    check(library, path, {name: library.as_read(facts(array)) for name, array in arrays.items()})


KEYS = ["x.y", "x", "", "[", "']['", "'\"", "a\nb", "😀", "é", "__metadata", " ", "\\", "\u2028", "\x7f", "k" * 5000]


def test_every_key_is_read_as_it_is(library, path):
    state = {key: np.full(2, place, np.float32) for place, key in enumerate(KEYS)}
    cp.save(state, path)
    check(library, path, {key: facts(array) for key, array in state.items()})


def test_the_tensors_of_a_tree_have_the_texts_of_their_paths(library, path):
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    cp.save({"layers": [{"w": w.T, "b": None, "n": 3}, (w, w)], 0: w + 1, "step": np.int32(4)}, path)
    expected = {"['layers'][0]['w']": w.T, "['layers'][1][0]": w, "[0]": w + 1, "['step']": np.int32(4)}
    check(library, path, {name: facts(np.asarray(array)) for name, array in expected.items()})


def test_a_tie_and_plain_values_of_a_flat_dict_disturb_nobody(library, path):
    w = np.arange(6, dtype=np.float32)
    cp.save({"step": 3, "emb": w, "none": None, "head": w[:]}, path)
    check(library, path, {"emb": facts(w), "head": facts(w)})


@pytest.mark.parametrize("tree", [{}, [], None, 3], ids=repr)
def test_a_file_without_tensors(library, tree, path):
    cp.save(tree, path)
    check(library, path, {})


def test_a_file_of_shards_is_a_file(library, tmp_path):
    state = {f"t{number}": np.full(100, number, np.float32) for number in (3, 1, 2)}
    cp.save(state, tmp_path / "model.safetensors", max_shard_bytes=800)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    found: dict[str, Facts] = {}
    for name in dict.fromkeys(index["weight_map"].values()):
        found |= library.read(tmp_path / name)
    assert found == {name: facts(array) for name, array in state.items()}
    assert [*index["weight_map"]] == [*state]


@pytest.mark.parametrize("name", saved())
def test_the_files_of_version_1(library, name):
    summary = cp.inspect(SAVED / f"{name}.safetensors")
    if not {tensor.dtype for tensor in summary.tensors} <= {*library.dtypes}:
        pytest.skip("it does not read all of its dtypes")
    arrays = cp.load(SAVED / f"{name}.safetensors")
    if summary.kind == "tree":
        arrays = {cp.keystr(path) or "tensor": leaf for path, leaf in cp.tree_leaves_with_path(arrays)}
    expected = {tensor.name: facts(arrays[tensor.name]) for tensor in summary.tensors}
    check(library, SAVED / f"{name}.safetensors", expected)


# --- what they write --------------------------------------------------------------------------------------------------


def foreign(library: Library) -> dict[str, np.ndarray]:
    dtypes = [dtype for dtype in library.dtypes if dtype not in library.only_read]
    return {f"w.{dtype}": np.arange(6).reshape(2, 3).astype(dtype_of(dtype)) for dtype in dtypes} | {
        "scalar": np.array(2.5, np.float32),
        "none": np.zeros((2, 0), np.float32),
        "a.b": np.arange(3, dtype=np.int8),
    }


def check_loaded(path: Path, arrays: dict[str, np.ndarray]) -> None:
    for mmap in (True, False):
        back = cp.load(path, mmap=mmap)
        assert [*back] == [tensor.name for tensor in cp.inspect(path).tensors]
        assert {name: facts(array) for name, array in back.items()} == {
            name: facts(array) for name, array in arrays.items()
        }


def test_what_a_library_writes_loads(library, path):
    arrays = foreign(library)
    library.write(arrays, path)
    check_loaded(path, arrays)


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_a_library_once_wrote_loads(name):
    check_loaded(FOREIGN / f"{name}.safetensors", foreign(LIBRARIES[name]))


@pytest.mark.real
@pytest.mark.timeout(900)
def test_a_real_model_is_the_same_here_there_and_written_again(library, path):
    real = fetch(FOLDER.parent / "build" / "real")
    expected = library.read(real)
    state = cp.load(real)
    assert len(state) == 104
    assert {name: facts(array) for name, array in state.items()} == expected
    assert cp.inspect(real).metadata == {"format": "pt"}
    cp.save(state, path)
    check(library, path, {name: expected[name] for name in state})
    assert {name: facts(array) for name, array in cp.load(path, like=state).items()} == expected
