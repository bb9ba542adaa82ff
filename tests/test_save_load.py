"""What `save` writes, `load` gives back, and other readers see the same."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import OrderedDict, defaultdict, deque
from pathlib import Path

import classes
import numpy as np
import pytest
from helpers import run_python
from tensor_files import content, entry, header_of, same_array, same_tree

import clika_pytree as cp

safetensors_numpy = pytest.importorskip("safetensors.numpy")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.safetensors"


def round_trip(tree: object, path: Path, **options: object) -> object:
    cp.save(tree, path)
    return cp.load(path, **options)


ARRAYS = {
    "contiguous": np.arange(6.0).reshape(2, 3),
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "fortran": np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
    "strided": np.arange(20)[::3],
    "reversed": np.arange(5.0)[::-1],
    "broadcast": np.broadcast_to(np.float32([1, 2]), (3, 2)),
    "0-d": np.array(2.5),
    "a scalar": np.float32(2.5),
    "empty": np.zeros((2, 0, 3), np.int16),
    "big-endian": np.arange(4, dtype=">f4"),
    "big-endian, strided": np.arange(8, dtype=">i8").reshape(2, 4).T,
    "read-only": np.frombuffer(b"abcd", np.uint8),
    "a subclass": np.ones((2, 2)).view(np.recarray),
    "not a number": np.array([np.nan, -0.0, np.inf, -np.nan]),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS.keys())
@pytest.mark.parametrize("mmap", [True, False])
def test_arrays_of_every_layout_come_back(array, mmap, path):
    for tree in (array, {"w": array}, [array]):
        back = round_trip(tree, path, mmap=mmap)
        (leaf,) = cp.tree_leaves(back)
        assert type(leaf) is np.ndarray
        assert same_array(leaf, array)
        assert leaf.flags.writeable
        assert leaf.flags.aligned


@pytest.mark.parametrize("name", ["bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8"])
def test_dtypes_of_numpy(name, path):
    array = np.arange(6).astype(name).reshape(2, 3)
    assert same_array(round_trip({"w": array}, path)["w"], array)
    assert same_array(safetensors_numpy.load_file(path)["w"], array)


@pytest.mark.parametrize(
    "name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float8_e4m3fnuz", "float8_e5m2fnuz"]
)
@pytest.mark.parametrize("mmap", [True, False])
def test_dtypes_of_ml_dtypes(name, mmap, path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.arange(1, 7).astype(getattr(ml_dtypes, name)).reshape(2, 3)
    back = round_trip({"w": array, "t": array.T, "s": array[0, 0]}, path, mmap=mmap)
    assert same_array(back["w"], array)
    assert same_array(back["t"], array.T)
    assert same_array(back["s"], array[0, 0])


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(2, complex),
        np.zeros(2, np.longdouble),
        np.array(["a"]),
        np.array([None]),
        np.zeros(2, "M8[s]"),
        np.zeros(2, "i4,f4"),
        np.zeros(2, "V3"),
    ],
    ids=lambda array: str(array.dtype),
)
def test_other_dtypes_are_refused(array, path):
    with pytest.raises(
        cp.PyTreeTypeError, match=r"can't write the tensor at \['a'\]\[0\]: its dtype is .* can't hold"
    ) as caught:
        cp.save({"a": [array]}, path)
    assert caught.value.path == "['a'][0]"
    assert not path.exists()
    assert f"its dtype is {array.dtype}," in str(caught.value)
    assert "cast it to one that the format has" not in str(caught.value)


def test_unaligned_tensors_are_copied(path):
    tree = {"a": np.arange(3, dtype=np.int8), "b": np.arange(4, dtype=np.float32), "c": np.arange(2.0)}
    back = round_trip(tree, path)
    assert same_tree(back, tree)
    assert all(array.flags.aligned for array in back.values())


# --- flat dicts -------------------------------------------------------------------------------------------------------


def test_a_flat_dict_has_its_own_keys_in_its_own_order(path):
    state = {"z": np.ones(2, np.float32), "a.b": np.zeros(3, np.int8), "m": np.arange(2.0), "": np.array(True)}
    back = round_trip(state, path)
    assert [*header_of(path)] == [*state]
    assert type(back) is dict
    assert [*back] == [*state]
    assert same_tree(back, state)
    others = safetensors_numpy.load_file(path)
    assert [*others] == [*state]
    assert all(same_array(others[key], state[key]) for key in state)


def test_an_ordered_dict_is_flat_too(path):
    state = OrderedDict(b=np.ones(2), a=np.zeros(1))
    back = round_trip(state, path)
    assert type(back) is dict
    assert [*back] == ["b", "a"]
    assert "__metadata__" not in header_of(path)


def test_the_order_is_that_of_insertion_in_every_mode(path):
    with cp.dict_insertion_ordered(False):
        back = round_trip({"b": np.ones(1), "a": {"d": np.ones(1), "c": None}}, path)
    assert [*back] == ["b", "a"]
    assert [*back["a"]] == ["d", "c"]


def test_an_empty_dict(path):
    assert round_trip({}, path) == {}
    assert safetensors_numpy.load_file(path) == {}


def test_plain_values_of_a_flat_dict_have_their_place(path):
    state = {"epoch": 3, "w": np.ones(2), "lr": 1e-3, "none": None, "b": np.zeros(1), "name": "x", "raw": b"\x00"}
    back = round_trip(state, path)
    assert [*back] == [*state]
    assert same_tree(back, state)
    assert [*safetensors_numpy.load_file(path)] == ["w", "b"]


STRANGE_KEYS = ["x.y", "", "[", "']['", "'\"", "a\nb", "😀", "\0", "é", "__metadata", " ", "\\", "\u2028", "\x7f"]


def test_strange_keys_of_a_flat_dict(path):
    state = {key: np.full(1, place) for place, key in enumerate(STRANGE_KEYS)}
    assert same_tree(round_trip(state, path), state)
    assert [*safetensors_numpy.load_file(path)] == [*state]


def test_a_dot_in_a_key_is_no_step_of_a_path(path):
    tree = {"x.y": np.ones(1), "x": {"y": np.zeros(1)}, "x['y']": np.full(1, 2.0)}
    cp.save(tree, path)
    assert len(header_of(path)) == 4
    assert same_tree(cp.load(path), tree)


@pytest.mark.parametrize(("key", "words"), [("__metadata__", "keeps it for itself"), ("a\ud800", "surrogate")])
def test_keys_that_no_file_can_have(key, words, path):
    with pytest.raises(cp.PyTreeValueError, match=words) as caught:
        cp.save({"a": np.ones(1), key: np.ones(1)}, path)
    assert caught.value.path == cp.keystr((cp.MappingKey(key),))
    assert not path.exists()
    deeper = {"x": {key: np.ones(1)}}
    assert same_tree(round_trip(deeper, path), deeper)


# --- trees ------------------------------------------------------------------------------------------------------------

TREES = {
    "a tensor": np.arange(3.0),
    "a plain value": 3,
    "None": None,
    "strange keys": {"x.y": np.ones(1), "x": {key: np.full(1, 7) for key in STRANGE_KEYS}},
    "keys of all types": {0: np.ones(1), -1: 1, None: np.zeros(2), True: 2, (1, "a"): np.ones(3), 1.5: None, b"k": 1},
    "empty containers": {"a": {}, "b": [], "c": (), "d": None, "e": [[], {}]},
    "kinds": [
        (np.ones(1), [2]),
        OrderedDict(b=np.ones(2), a=[1]),
        defaultdict(list, {"a": np.ones(1), "b": [0]}),
        deque([np.ones(1), 2], maxlen=4),
        classes.Point(np.ones(1), classes.Point(1, np.zeros(2))),
    ],
    "registered classes": [
        classes.Pair(np.ones(1), [1]),
        classes.Tagged(np.ones(2), 1, "tag"),
        classes.Sample(np.ones(3), np.zeros(1), "name"),
        classes.Cell(4, np.ones(1)),
        classes.Config(2, "adam"),
    ],
    "plain leaves": [None, True, 1, 2**70, 1.5, float("nan"), float("-inf"), -0.0, 1j, "text\ud800", b"\xff"],
}


def trees() -> list:
    return [pytest.param(tree, id=name) for name, tree in TREES.items()]


@pytest.mark.parametrize("tree", trees())
@pytest.mark.parametrize("mmap", [True, False])
def test_trees_come_back(tree, mmap, path):
    back = round_trip(tree, path, mmap=mmap)
    assert same_tree(back, tree)
    leaves = [leaf for leaf in cp.tree_leaves(tree) if isinstance(leaf, np.ndarray)]
    others = safetensors_numpy.load_file(path)
    assert all(same_array(a, b) for a, b in zip(others.values(), leaves, strict=True))


def test_the_leaves_of_a_tree_are_named_by_their_paths(path):
    tree = {"layers": [{"w": np.ones(1)}], "p": classes.Point(np.ones(1), 2)}
    cp.save(tree, path)
    header = header_of(path)
    assert [*header] == ["__metadata__", "['layers'][0]['w']", "['p'].x"]
    assert [*header["__metadata__"]] == ["clika_pytree", "format"]
    assert header["__metadata__"]["format"] == "pt"
    cp.save(np.ones(1), path)
    assert [*header_of(path)] == ["__metadata__", "tensor"]


def test_a_file_that_another_library_wrote_again_has_the_same_tree(path):
    tree = {"b": [np.ones(2), np.arange(3, dtype=np.int8)], "a": (np.zeros(1),)}
    cp.save(tree, path)
    metadata = header_of(path)["__metadata__"]
    safetensors_numpy.save_file(safetensors_numpy.load_file(path), path, metadata=metadata)
    assert same_tree(cp.load(path), tree)


def test_leaves_that_print_alike_are_refused(path):
    class Key:
        def __repr__(self):
            return "key"

    with pytest.raises(cp.PyTreeValueError, match="print alike"):
        cp.save({Key(): np.ones(1), Key(): np.ones(1)}, path)


@pytest.mark.parametrize(
    "leaf", [object(), {1, 2}, range(3), NotImplemented, np.dtype("f4")], ids=lambda x: type(x).__name__
)
def test_other_leaves_are_refused(leaf, path):
    with pytest.raises(cp.PyTreeTypeError, match=r"can't write the leaf at \['a'\]\[1\]: it is") as caught:
        cp.save({"a": [np.ones(1), leaf]}, path)
    assert caught.value.path == "['a'][1]"
    assert not path.exists()


# --- ties -------------------------------------------------------------------------------------------------------------


def test_ties_of_a_tree_are_written_once(path):
    w = np.ones(1000)
    tree = {"a": [w, w[:]], "b": w[::-1], "c": w[:500], "d": {"e": w}, "f": w.view(np.int64)}
    back = round_trip(tree, path)
    assert same_tree(back, tree)
    assert back["a"][0] is back["a"][1] is back["d"]["e"]
    assert len({id(leaf) for leaf in cp.tree_leaves(back)}) == 4
    assert [*header_of(path)][1:] == ["['a'][0]", "['b']", "['c']", "['f']"]


def test_arrays_of_other_classes_are_tied_to_plain_ones_in_the_same_memory(path, tmp_path):
    class Own(np.ndarray):
        pass

    mapped = np.memmap(tmp_path / "memory", "f4", "w+", shape=(3, 4))
    mapped[:] = 7
    w = np.ones((2, 3))
    for first, second in [
        (w, w.view(Own)),
        (w.view(Own), w),
        (mapped, mapped.view(np.ndarray)),
        (w[:1], w[:1].view(Own)),
    ]:
        for tree in ({"a": first, "b": second}, [first, second]):
            cp.save(tree, path)
            one, other = cp.tree_leaves(cp.load(path))
            assert one is other
            assert np.array_equal(one, first)


def test_views_of_another_shape_are_tensors_of_their_own(path):
    w = np.arange(6.0)
    views = [w, w.reshape(2, 3), w[:3], w[::2], w.view("i8"), w[3:]]
    cp.save(views, path)
    back = cp.load(path)
    assert len({*map(id, back)}) == len(views)
    assert same_tree(back, views)


def test_ties_of_a_flat_dict_have_both_names(path):
    w = np.arange(4.0)
    state = {"emb": w, "b": np.ones(1), "head": w[:]}
    back = round_trip(state, path)
    assert same_tree(back, state)
    assert back["emb"] is back["head"]
    assert [*safetensors_numpy.load_file(path)] == ["emb", "b", "head"]


def test_a_tie_that_another_program_undid_is_none(path):
    w = np.arange(4.0)
    cp.save({"emb": w, "head": w}, path)
    metadata = header_of(path)["__metadata__"]
    state = {"emb": w, "head": w + 1}
    safetensors_numpy.save_file(state, path, metadata=metadata)
    for mmap in (True, False):
        assert same_tree(cp.load(path, mmap=mmap), state)


def test_empty_arrays_and_scalars_are_no_ties(path):
    back = round_trip({"a": np.zeros(0), "b": np.zeros(0), "c": np.float32(1), "d": np.float32(1)}, path)
    assert back["a"] is not back["b"]
    assert "__metadata__" not in header_of(path)


# --- the bytes --------------------------------------------------------------------------------------------------------


def test_the_data_begins_at_a_multiple_of_64(path):
    for length in range(70):
        cp.save({"k" * length: np.ones(1)}, path)
        assert (path.stat().st_size - 8) % 64 == 0


SAVES = """
import sys, numpy as np, clika_pytree as cp, classes
w = np.arange(6.0).reshape(2, 3)
cp.save({"b": [w, w, {1, 2}.pop()], "a": classes.Point(w.T, "x"), "s": {"z": None}}, sys.argv[1])
"""


def test_the_same_tree_gives_the_same_bytes_in_every_process(tmp_path):
    digests = set()
    for seed in range(4):
        file = tmp_path / f"{seed}.safetensors"
        source = SAVES.replace("sys.argv[1]", repr(str(file)))
        run_python(source, PYTHONHASHSEED=str(seed))
        digests.add(hashlib.sha256(file.read_bytes()).hexdigest())
    assert len(digests) == 1


def test_files_of_the_other_writer_load_in_their_own_order(path):
    state = {"z": np.ones(2, np.float32), "a": np.zeros(3, np.int8), "m": np.arange(2.0)}
    safetensors_numpy.save_file(state, path, metadata={"made": "elsewhere"})
    back = cp.load(path)
    assert [*back] == [name for name in header_of(path) if name != "__metadata__"]
    assert all(same_array(back[key], state[key]) for key in state)


def test_a_header_may_have_another_order_than_the_data(path):
    path.write_bytes(content({"b": entry(3, 5), "a": entry(0, 3)}, b"12345"))
    back = cp.load(path)
    assert [*back] == ["b", "a"]
    assert back["b"].tobytes() == b"45"


# --- mapped files -----------------------------------------------------------------------------------------------------


def test_a_loaded_tree_can_be_changed_and_saved_over_its_file(path):
    cp.save({"a": np.zeros(100_000), "b": np.ones(3)}, path)
    back = cp.load(path)
    back["b"][0] = 7
    cp.save(back, path)
    again = cp.load(path)
    assert again["b"].tolist() == [7, 1, 1]
    assert not again["a"].any()
    again["a"][:] = 1
    assert not cp.load(path)["a"].any()


def test_arrays_outlive_everything_that_led_to_them(path):
    array = round_trip({"a": np.arange(1000.0)}, path)["a"]
    path.unlink()
    assert array.sum() == 499500


def test_a_path_of_bytes_and_a_relative_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cp.save({"a": np.ones(1)}, "r.safetensors")
    cp.save({"a": np.ones(1)}, b"b.safetensors")
    assert cp.load("b.safetensors")["a"] == 1
    assert cp.load(b"r.safetensors")["a"] == 1


def test_importing_the_package_imports_no_file_code():
    source = "import sys, clika_pytree; print([m for m in sys.modules if 'boundary.files' in m or m == 'numpy'])"
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    assert done.stdout.strip() == "[]"
