"""Numbers of the program as arrays of the graph: the same bits, and only where numpy would make the same array."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest
from recorded import check, copies

from clika_pytree import compile

OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge),
    *(operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift),
    *(np.maximum, np.minimum, np.fmax, np.fmin, np.hypot, np.arctan2, np.copysign, np.fmod, np.add, np.multiply),
    *(np.ldexp, np.float_power, np.logaddexp, np.nextafter, np.logical_and, np.heaviside, np.power),
]
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.iand]
NUMBERS = [0, 1, -1, 3, 100, 300, 2**31, 2**53 + 1, 2**63, True, 0.0, -0.0, 0.1, -2.5, 1e-300, 1e30, 1e300]
NUMBERS += [5e-324, 6e-8, 65504.0, 65520.0, float("inf"), float("nan"), 2j, 16777217, 10**400]
DTYPES = ["bool", "int8", "uint8", "int32", "uint64", "int64", "float16", "float32", "float64"]
DTYPES += ["complex64", "complex128", ">f4", ">i2", "m8[s]"]


def values(dtype: str) -> Any:
    """An array with the odd values of its dtype."""
    if dtype == "bool":
        return np.array([[True, False, True]])
    numbers = [0, 1, -1, 2, 5, 100, -7] if np.dtype(dtype).kind != "u" else [0, 1, 255, 2, 5, 100, 7]
    array = np.array([numbers]).astype(dtype)
    if np.dtype(dtype).kind in "fc":
        array[0, :5] = [np.nan, np.inf, -np.inf, -0.0, np.finfo(dtype).max]
    return array


def made(function: Any, x: Any, number: Any) -> Any:
    """The results of both orders, or nothing where numpy refuses one, or warns of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            with np.errstate(all="ignore"):
                return [function(x, number), function(number, x)]
        except (TypeError, OverflowError, ValueError, Warning):
            return None


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_have_the_bits_of_numpy_for_each_number_and_operator(dtype):
    x = values(dtype)
    for number in NUMBERS:
        usable = [function for function in OPERATORS if made(function, x, number) is not None]

        def function(x, number=number, usable=usable):
            return [result for function in usable for result in (function(x, number), function(number, x))]

        with np.errstate(all="ignore"):
            check(function, [x], [x[:, ::2].copy()])


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_written_in_place_has_them_too(dtype):
    x = values(dtype)
    for number in NUMBERS:

        def usable(function, number=number):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("error")
                try:
                    function(copies([x])[0], number)
                except (TypeError, OverflowError, ValueError, Warning):
                    return False
                return True

        steps = [step for step in IN_PLACE if usable(step)]

        def function(x, number=number, steps=steps):
            for step in steps:
                x = step(x, number)
            return [x]

        with np.errstate(all="ignore"):
            check(function, [x], [x[:, ::2].copy()])


def test_a_number_is_made_once_for_each_dtype_and_named_after_its_value():
    def function(x, y):
        return [(x + 1) * 0.5 - -2.5e-7, y * 0.5, 1 / y, y**2, x[0] + 1]

    text = check(function, [np.ones((2, 3), np.float32), np.ones(3)]).text()
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        lines = [line for line in text.splitlines() if line.startswith("n")]
        assert lines == [
            "n1 = np.array(1, 'float32')",
            "n0_5 = np.array(0.5, 'float32')",
            "n_2_5e_07 = np.array(-2.5e-07, 'float32')",
            "n0_5_1 = np.array(0.5, 'float64')",
            "n1_1 = np.array(1, 'float64')",
        ]
    assert "x1 ** 2" in text


SIMILAR = [0, 0.1, 0.2, 1, 1.1, 1.5, 1e-08, -1, -1.5, 2, 2.1, -2, 10, 1.0, 0.0, -0.0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_whose_names_are_alike_are_told_apart(dtype):
    x = np.arange(1, 4).astype(dtype)
    y = x.astype("float16")
    for order in (SIMILAR, SIMILAR[::-1]):
        for first in order:
            numbers = [first, *order]
            check(lambda x, y, numbers=numbers: [z * number for number in numbers for z in (x, y)], [x, y])
        text = check(lambda x, order=order: [x * number for number in order], [x]).text()
        made = [line.split(" = ")[0] for line in text.splitlines() if line.startswith("n")]
        assert len(made) == len(set(made)) == len(SIMILAR) * (np.lib.NumpyVersion(np.__version__) >= "2.0.0")


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float16", "float32"])
def test_one_item_is_computed_as_numpy_does(dtype):
    """numpy has other loops where a result of one item takes the place of an operand."""
    rng = np.random.default_rng(0)

    def values(*shape):
        numbers = rng.standard_normal(shape)
        return (numbers + 1j * rng.standard_normal(shape)).astype(dtype) if "c" in dtype else numbers.astype(dtype)

    def long(x):
        t = x + 1
        u = t * t
        return [((u - 2) * t) / 3]

    def beside(x, w):
        t = 1 - w
        u = t * t
        return [x * (u * u)]

    n = (1 << 18) // np.dtype(dtype).itemsize
    with np.errstate(all="ignore"):
        for _ in range(4):
            check(long, [values(3 * n + 1)], [values(1)])
            check(beside, [values(400, 1, 900), values(1, 1, 1)])
            check(beside, [values(3 * n, 1), values(1, 1)])


def test_where_numpy_warns_of_a_number_it_does_so_at_each_call():
    x = np.ones(3, np.float32)
    with np.errstate(all="ignore"):
        graph = check(lambda x: [x * 1e40], [x])
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in cast"):
        graph.run([x])


def test_dtypes_with_padding_compute_with_numbers():
    x = np.array([[-1, 2, np.nan]], np.longdouble)
    result = compile(lambda x: np.maximum(x * 2, 0) + 1)(x)
    assert result.dtype == np.longdouble
    assert repr(result) == repr(np.maximum(x * 2, 0) + 1)


def test_numbers_stay_numbers_where_an_array_has_no_axes():
    text = check(lambda x, y: [x.sum() + 1, y + 2], [np.ones(3), np.array(4.0)]).text()
    assert "+ 1" in text
    assert "+ 2" in text
