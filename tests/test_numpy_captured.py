"""Arrays that a function did not get as arguments are constants of its graph: what they held when it was recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recorded import same

import clika_pytree as crt
from clika_pytree.runtimes.numpy import RecordingError, record
from clika_pytree.runtimes.numpy.captured import twin

X = np.ones(3)
TABLE = np.zeros(3)
BIG = np.random.default_rng(0).standard_normal((40, 80))


@pytest.fixture(autouse=True)
def _zeros() -> Any:
    yield
    TABLE[:] = 0


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_written_into_a_captured_array_is_not_seen(dynamic: bool) -> None:
    held = np.arange(3.0)

    def function(x: Any) -> Any:
        return x * TABLE + (TABLE + 1), np.take(held, [0, 1]) + x[:1], TABLE.sum() * x, TABLE

    compiled = crt.compile(function, dynamic=dynamic)
    first = compiled(X)
    assert same(list(first), list(function(X)))
    TABLE[:], held[:] = 5, 7
    again = compiled(X)
    assert same(again[:3], first[:3])
    assert again[3] is TABLE


def test_a_captured_array_that_nobody_writes_into_is_not_copied() -> None:
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    view = fixed[1:]
    _, graph = record(lambda arrays: [arrays[0] + fixed, arrays[0][1:] + view], [X])
    assert [constant.value is array for constant, array in zip(graph.constants, (fixed, view), strict=True)] == [
        *(True, False)
    ]


def strided() -> dict[str, Any]:
    return {
        "rows": BIG,
        "columns": np.asfortranarray(BIG),
        "gaps": BIG[1::2, 3::7],
        "backwards": BIG[::-1, ::-2],
        "a column": BIG[:, 3],
        "repeated": np.broadcast_to(BIG[0], (3, 80)),
        "unaligned": np.frombuffer(b"\0" + BIG.tobytes(), np.uint8)[1:].view(float)[::3],
        "none": BIG[:0, ::2],
        "no axes": np.array(3.0),
        "swapped": BIG.astype(">f8")[::2],
        "fields": np.ones(4, [("a", "i4"), ("b", "f8")])["b"],
        "objects": np.array([None, [1]], object)[::-1],
        "matrix": BIG[:3, ::2].view(np.matrix),
        "masked": np.ma.array([1.0, 2], mask=[0, 1]),
    }


@pytest.mark.parametrize("kind", strided())
def test_a_copy_has_the_strides_of_the_array(kind: str) -> None:
    array = strided()[kind]
    copied = twin(array)
    assert not np.shares_memory(array, copied)
    assert (type(copied), copied.dtype, copied.shape) == (type(array), array.dtype, array.shape)
    assert copied.tolist() == array.tolist()
    if type(array) is np.ndarray and array.size and array.dtype != object:
        assert copied.strides == array.strides
        assert copied.flags.aligned == array.flags.aligned or array.flags.forc
    if kind == "masked":
        array[0] = np.ma.masked
        assert copied.mask.tolist() == [False, True]


def test_products_with_captured_arrays_have_numpy_s_bits() -> None:
    parts = [BIG[::-1, ::2], BIG[:, 40:].T, BIG[:, ::2].T, np.asfortranarray(BIG)[:, 1::2]]

    def function(x: Any) -> Any:
        return [part @ x for part in parts] + [part[3] @ x for part in parts] + [x.sum() * part for part in parts]

    compiled = crt.compile(function)
    for seed in (1, 2):
        x = np.random.default_rng(seed).standard_normal((40, 40))
        assert same(compiled(x), function(x))


def test_a_captured_table_is_read_at_an_index_as_the_refusal_advises() -> None:
    table = np.arange(10.0) * 2
    with pytest.raises(RecordingError, match=r"np\.take_along_axis\(table, index, 0\)"):
        crt.compile(lambda index: np.take(table, index))(np.array([1, 2]))
    compiled = crt.compile(lambda index, given: (np.take_along_axis(table, index, 0), given[index]))
    for index in (np.array([1, 2]), np.array([9, 0])):
        assert same(compiled(index, table), (table[index], table[index]))


# --- writing ----------------------------------------------------------------------------------------------------------


def counts(x: Any) -> Any:
    TABLE[0] += 1
    return x * 2


def changes_after_use(x: Any) -> Any:
    made = np.zeros(3)
    y = x + made
    made[1] = 5
    return y * made


def changes_captured_after_use(x: Any) -> Any:
    y = x + TABLE
    TABLE.sort()
    TABLE[:] = 3
    return y


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (counts, "changed an array of float64 with shape (3,) that is no argument, which a graph would not do again"),
        (changes_after_use, "changed after it had been used, which a graph would not do, at "),
        (changes_captured_after_use, "changed after it had been used, which a graph would not do, at "),
    ],
    ids=["never used", "made", "captured"],
)
def test_a_function_that_changes_an_array_which_is_no_argument_is_refused(function: Any, message: str) -> None:
    with pytest.raises(RecordingError) as caught:
        crt.compile(function)(X)
    assert message in str(caught.value)
    assert "pass the array as an argument" in str(caught.value)


def test_an_array_that_is_complete_before_it_is_used_is_right() -> None:
    def function(x: Any) -> Any:
        made = np.zeros(3)
        made[1] = 5
        return x * made, x + made[::-1]

    compiled = crt.compile(function)
    for x in (X, X + 1):
        assert same(compiled(x), function(x))


def test_an_argument_that_is_captured_too_is_written_into_only_where_it_is_no_constant() -> None:
    def both(x: Any) -> Any:
        before = x * 2 + TABLE
        x += 1
        return before

    with pytest.raises(RecordingError, match="lies in the memory of one that is written into"):
        crt.compile(both)(TABLE)
    with pytest.raises(RecordingError, match="lies in the memory of one that is written into"):
        crt.compile(both)(TABLE[::-1])
    compiled = crt.compile(both)
    assert same(compiled(X.copy()), X * 2 + TABLE)

    def one(x: Any) -> Any:
        x += 1
        return x * len(TABLE)

    TABLE[:] = 0
    compiled = crt.compile(one)
    for count in (1, 2, 3):
        assert compiled(TABLE).tolist() == [3.0 * count] * 3


def test_a_result_in_the_memory_of_a_constant_is_a_copy() -> None:
    compiled = crt.compile(lambda x: np.broadcast_arrays(x, TABLE[:, None]))
    for _ in range(2):
        x = np.arange(3.0)
        first, second = compiled(x)
        assert np.shares_memory(first, x)
        assert not np.shares_memory(second, TABLE)
        assert same(second.tolist(), [[0.0] * 3] * 3)
        second[...] = 7


def test_views_of_arguments_beside_captured_views_of_the_same_array_stay_views() -> None:
    whole = np.arange(8.0)
    odd = whole[1::2]
    compiled = crt.compile(lambda x: (x, x[1:], x + odd))
    for _ in range(2):
        even = whole[::2]
        same_array, view, _ = compiled(even)
        assert same_array is even
        assert np.shares_memory(view, whole)
