"""Trees as one vector and back: values, dtypes and shapes exactly, or an error that names the leaf."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from classes import Box, Point, Sample
from helpers import run_python
from hypothesis import given
from hypothesis import strategies as st

import clika_pytree as cp

INF, NAN = float("inf"), float("nan")


def same_leaf(a: Any, b: Any) -> bool:
    """The same class, dtype, shape and bits."""
    if type(a) is not type(b):
        return False
    x, y = np.asarray(a), np.asarray(b)
    return (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())


def check_round_trip(tree: Any, **options: Any) -> np.ndarray:
    flat, back = cp.tree_ravel(tree, **options)
    made = back(flat)
    assert cp.tree_structure(made) == cp.tree_structure(tree)
    for before, after in zip(cp.tree_leaves(tree), cp.tree_leaves(made), strict=True):
        assert same_leaf(before, after), (before, after)
    return flat


def test_values_lie_in_the_order_of_the_leaves():
    tree = {"w": np.arange(6.0).reshape(2, 3).T, "b": Box(7.0), "p": Point(np.float64(8), np.array(9.0))}
    flat, back = cp.tree_ravel(tree)
    assert flat.tolist() == [0, 3, 1, 4, 2, 5, 7, 8, 9]
    made = back(flat + 1)
    assert made["w"].tolist() == [[1, 4], [2, 5], [3, 6]]
    assert (made["b"].item, made["p"].x, made["p"].y.shape) == (8.0, 9.0, ())
    assert [type(leaf) for leaf in (made["b"].item, made["p"].x, made["p"].y)] == [float, np.float64, np.ndarray]


@pytest.mark.parametrize(
    ("leaves", "dtype"),
    [
        ([], np.float64),
        ([np.zeros((0, 3), np.float16)], np.float16),
        ([True, np.array([False])], np.bool_),
        ([True, 2**62 + 1], np.int64),
        ([np.uint8(200), np.int16(-3)], np.int16),
        ([np.int32(2**31 - 1), 0.5], np.float64),
        ([np.int16(2**15 - 1), np.float32(0.1)], np.float32),
        ([np.int8(-128), np.float16(0.1)], np.float16),
        ([np.float32(0.1), 0.1, 1j], np.complex128),
        ([np.uint32(2**32 - 1), np.complex128(1)], np.complex128),
        ([np.array([1, 2], ">i4")], np.dtype(">i4")),
        ([np.array([1.5, -0.0], ">f4"), np.array([NAN, INF], "<f4")], np.float32),
        ([2**63], np.uint64),
    ],
)
def test_every_leaf_comes_back_exactly(leaves, dtype):
    assert check_round_trip(leaves).dtype == dtype


@pytest.mark.parametrize(
    "leaves",
    [
        [np.float32(1), 3],
        [np.float64(1), np.int64(1)],
        [np.uint64(1), np.int64(1)],
        [np.uint64(1), -1],
        [1j, np.int64(3)],
    ],
    ids=repr,
)
def test_dtypes_that_none_holds_exactly_are_refused(leaves):
    with pytest.raises(ValueError, match="no dtype that holds all leaves exactly: there are") as caught:
        cp.tree_ravel({"a": leaves[0], "b": [leaves[1]]})
    assert "at ['a']" in str(caught.value)
    assert "at ['b'][0]" in str(caught.value)
    assert "pass dtype=" in str(caught.value)
    flat, back = cp.tree_ravel({"a": leaves[0], "b": [leaves[1]]}, dtype=complex)
    assert flat.dtype == complex
    assert same_leaf(back(flat)["b"][0], leaves[1])


@given(st.lists(st.sampled_from("?bhilBHILefdgFDG"), min_size=1, max_size=4), st.data())
def test_whatever_is_accepted_comes_back(codes, data):
    def some(code: str) -> np.ndarray:
        raw = data.draw(st.binary(min_size=32, max_size=32))
        if code in "?gG":  # not every pattern of bits is one of their values
            return np.frombuffer(raw, np.uint8).astype(code)
        return np.frombuffer(raw, code).copy()

    arrays = [some(code) for code in codes]
    try:
        flat, back = cp.tree_ravel(arrays)
    except cp.PyTreeValueError:
        assert len(set(codes)) > 1
        return
    for before, after in zip(arrays, back(flat), strict=True):
        assert (before.dtype, before.shape) == (after.dtype, after.shape)
        with np.errstate(invalid="ignore"):  # comparing a signalling NaN warns
            assert np.array_equal(before, after, equal_nan=before.dtype.kind in "fc")


def test_bfloat16_and_its_like():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    half = np.array([1.5, -2], ml_dtypes.bfloat16)
    assert check_round_trip([half]).dtype == half.dtype
    assert check_round_trip({"a": half, "b": np.float32(0.1)}).dtype == np.float32
    with pytest.raises(cp.PyTreeValueError, match=r"bfloat16 at \[0\], int64 at \[1\]"):
        cp.tree_ravel([half, np.int64(1)])
    try:
        common = np.result_type(half.dtype, np.float16)
    except TypeError:  # before ml_dtypes 0.7
        with pytest.raises(cp.PyTreeValueError, match=r"bfloat16 at \[0\], float16 at \[1\]"):
            cp.tree_ravel([half, np.float16(1)])
    else:
        assert check_round_trip([half, np.float16(1)]).dtype == common


@pytest.mark.parametrize(
    ("leaf", "words"),
    [
        (None, "got None at ['a'][1]; none_is_leaf=False leaves None out"),
        ("text", "got 'text' at"),
        (object(), "got an object at ['a'][1]; tree_partition()"),
        (2**70, "an int of more than 64 bits"),
        (np.array(["x"]), "an array of dtype <U1"),
        (np.array([object()]), "an array of dtype object"),
        (np.zeros(2, "f4,i4"), "an array of dtype [("),
        (np.array("2020", "M8[Y]"), "an array of dtype datetime64[Y]"),
        (np.ma.masked_array([1.0], [True]), "got a MaskedArray"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_leaves_are_refused_by_name(leaf, words):
    with pytest.raises(cp.PyTreeTypeError, match=re.escape(words)) as caught:
        cp.tree_ravel({"a": [1.0, leaf]})
    assert caught.value.path == "['a'][1]"


@pytest.mark.parametrize("module", ["jaxlib._jax", "jax.numpy", "torch", "mlx.core"])
def test_tensors_of_other_runtimes_are_refused_with_a_way_out(module):
    tensor = type("Tensor", (), {"__module__": module})
    own = type("Own", (tensor,), {})
    with pytest.raises(
        cp.PyTreeTypeError, match=r"a Tensor at \['w'\]; make numpy arrays of those of JAX, .*numpy\.asarray"
    ):
        cp.tree_ravel({"w": tensor()})
    with pytest.raises(cp.PyTreeTypeError, match=r"an Own at \['w'\]; make numpy arrays of those of JAX"):
        cp.tree_ravel({"w": own()})


@pytest.mark.parametrize("dynamic", [False, True])
def test_in_a_compiled_function(dynamic):
    def step(params, gradients):
        flat, back = cp.tree_ravel(params)
        return back(flat - cp.tree_ravel(gradients, dtype=np.float32)[0] / 2), flat.sum()

    compiled = cp.compile(step, dynamic=dynamic)
    for rows in (2, 5, 2):
        tree = {"w": np.full((rows, 3), 0.1), "b": [np.arange(3, dtype="f4"), np.float32(2), np.array(1.5)]}
        wanted, found = step(tree, tree), compiled(tree, tree)
        for ours, theirs in zip(cp.tree_leaves(wanted), cp.tree_leaves(found), strict=True):
            assert (type(ours), ours.dtype, ours.tobytes()) == (type(theirs), theirs.dtype, theirs.tobytes())
    with pytest.raises(cp.RecordingError, match=r"test_ravel\.py:\d+"):
        cp.compile(lambda tree: cp.tree_ravel(tree)[1](cp.tree_ravel(tree)[0] + 0.5))({"w": np.ones(2), "n": 3.5})


def test_nones_can_be_left_out():
    flat, back = cp.tree_ravel({"a": None, "b": 1.5}, none_is_leaf=False)
    assert (flat.tolist(), back([2.5])) == ([1.5], {"a": None, "b": 2.5})


def test_a_vector_of_another_dtype_is_rounded_or_refused():
    _, back = cp.tree_ravel({"w": np.zeros(2, np.float32), "n": np.int8(0), "on": True, "z": 0j}, dtype=complex)
    made = back(np.array([0.1, 1e300, 5, 0, 2]))
    assert made["w"].tolist() == [np.float32(0.1), INF]
    assert (made["n"], made["on"], made["z"]) == (5, False, 2 + 0j)
    for place, value in [(2, 5.5), (2, 200), (2, NAN), (3, 2), (0, 1j), (2, 1j)]:
        vector = np.zeros(5, complex)
        vector[place] = value
        with pytest.raises(ValueError, match="dtype complex128 for the leaf at") as caught:
            back(vector)
        assert caught.value.path == ["['w']", None, "['n']", "['on']"][place]


@pytest.mark.parametrize("vector", [np.zeros(3), np.zeros((2, 1)), 1.0, []], ids=repr)
def test_a_vector_of_another_shape_is_refused(vector):
    _, back = cp.tree_ravel([1.0, 2.0])
    with pytest.raises(ValueError, match=r"expected a vector of 2 numbers, got an array of shape \("):
        back(vector)


def test_nothing_is_shared():
    array = np.zeros(2)
    flat, back = cp.tree_ravel([array])
    (made,) = back(flat)
    flat[:] = 7
    assert array.tolist() == made.tolist() == [0, 0]
    made[0] = 1
    assert flat.tolist() == [7, 7]


def test_the_way_back_can_be_pickled_and_printed():
    flat, back = cp.tree_ravel(Sample(np.ones(2, np.float32), 2.5, "name"))
    made = pickle.loads(pickle.dumps(back))(flat)
    assert (made.weight.tolist(), made.bias, made.name) == ([1, 1], 2.5, "name")
    assert repr(back) == "<the function that makes a tree of 2 leaves of 3 numbers>"


def test_options():
    flat, _ = cp.tree_ravel([(1.0, 2.0)], dtype="f4")
    assert flat.dtype == np.float32
    with pytest.raises(cp.PyTreeTypeError, match="a dtype of numbers, got object"):
        cp.tree_ravel([1.0], dtype=object)
    with pytest.raises(cp.PyTreeTypeError, match=r"got a list at \[0\]"):
        cp.tree_ravel([[1.0]], lambda obj: obj == [1.0])


def test_numpy_is_imported_when_it_is_used():
    run_python(
        "import sys, clika_pytree as cp\n"
        "assert 'numpy' not in sys.modules\n"
        "cp.tree_ravel([1.0])\n"
        "assert 'numpy' in sys.modules\n"
    )
