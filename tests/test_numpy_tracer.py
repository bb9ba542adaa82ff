"""Recording numpy functions: results, symbolic sizes, writing, aliases, and the source that is made."""

from __future__ import annotations

import copy
import re
import warnings
from typing import Any

import numpy as np
import pytest
from recorded import check, same

from clika_pytree.runtimes.numpy import record


def rows(*counts: int, width: int = 4, dtype: Any = float) -> list[list[Any]]:
    """Calls with one array of so many rows each."""
    return [[(np.arange(float(count * width)).reshape(count, width) / 3 - 1).astype(dtype)] for count in counts]


def test_an_array_is_an_array_while_it_is_recorded():
    seen = []

    def function(x):
        total = x.sum()
        seen.extend(
            [isinstance(x, np.ndarray), isinstance(total, np.floating), isinstance(total, float), x.dtype, x.ndim]
        )
        seen.extend([isinstance(x.shape[0], int), len(x.shape)])
        return [total]

    check(function, *rows(2, 3))
    assert seen[:7] == [True, True, True, np.dtype(float), 2, True, 2]


@pytest.mark.parametrize("size", [3, 200])
def test_an_array_beside_its_transpose_has_the_sizes_of_both(size):
    def square(n: int) -> list[Any]:
        return [np.arange(float(n * n)).reshape(n, n), np.linspace(0, 1, n * n).reshape(n, n)]

    check(lambda x, y: [x + x.T, (x + y.T) * y - x.T], square(size), square(1), square(0), square(size + 1))
    check(lambda x, y: [x + x.T], [np.ones((1, 4)), np.ones(2)], square(size))


@pytest.mark.parametrize("split", [np.split, np.array_split, np.vsplit])
def test_a_size_that_says_how_many_results_there_are_is_a_guard(split):
    graph = check(lambda x: split(x, x.shape[0]), *rows(3))
    assert list(graph.guards.sizes) == [(0, 0)]
    check(lambda x: split(x, 2), *rows(2, 4, 6))


def test_a_copy_lies_in_memory_as_numpy_copies_it():
    rows = np.arange(12.0).reshape(3, 4)
    check(lambda x: [copy.copy(x), copy.deepcopy(x), x.copy()], [rows], [rows.T], [rows[::-1, ::2]])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [x.sum(0) / x.shape[0]],
        lambda x: [x.reshape(x.shape[0] * 2, -1), x.reshape(-1), x.T, x[::-1, 1:], x[x > 0], x[[0, 1]], x[..., None]],
        lambda x: list(np.linalg.svd(x)),
        lambda x: [*np.linalg.eigh(x.T @ x), np.linalg.norm(x, axis=1), np.linalg.solve(x.T @ x + np.eye(4), x[0])],
        lambda x: [np.einsum("ij,kj->ik", x, x), np.einsum("ij->j", x), np.tensordot(x, x, ([0], [0]))],
        lambda x: [np.where(x > 0, x, -x), np.concatenate([x, x[:1]]), np.stack([x, x], axis=1), np.clip(x, 0, 1)],
        lambda x: [*np.modf(x), *np.frexp(x), *divmod(x, 2), *np.divmod(3, x * 0 + 2)],
        lambda x: [np.add.reduce(x, axis=1), np.multiply.accumulate(x), np.subtract.outer(x[0], x[1]), abs(x), +x],
        lambda x: [
            np.add.reduceat(x, [0, 2], axis=1),
            x.max(axis=(0, 1)),
            x.mean(keepdims=True),
            x.std(0),
            x.argmax(1),
        ],
        lambda x: [
            x.astype("f4") + 1,
            x.astype("i8") // 2,
            x.astype("i8") << 1,
            ~(x > 0),
            (x > 0) & (x < 1),
            x**2,
            2**x,
        ],
        lambda x: [x.shape[0], x.shape, x.size, x.shape[0] / 2, -x.shape[1], x.nbytes, [x.shape[0] > 3][:0]],
        lambda x: [x.sum(), x.sum() + 1, x.sum() ** 2, np.float32(2) * x.mean(), x.sum() * x, x[0, 0], x.any()],
        lambda x: [np.split(x, 2, axis=1)[1], np.nonzero(x)[0], np.unique(x), np.sort(x, axis=0), np.cumsum(x)],
        lambda x: [
            np.ones(x.shape, like=x) + 1,
            np.ones_like(x),
            np.full_like(x, 3),
            np.full((2, *x.shape), 1, like=x),
        ],
        lambda x: [np.shape(x), np.ndim(x), np.size(x), np.size(x, 0), np.result_type(x, np.float32)],
        lambda x: [x, 5, "text", None, x.T.T, np.atleast_1d(x), x.astype(x.dtype, copy=False)],
        lambda x: [
            x.dot(x.T),
            x.trace(),
            x.swapaxes(0, 1),
            x.ravel(),
            x.flatten(),
            x.take([0, 1], axis=1),
            x.copy().real,
        ],
        lambda x: [
            x[(x.shape[0] - 1)],
            x[: x.shape[0] // 2],
            x.repeat(2, 0),
            np.tile(x, 2),
            np.pad(x, 1),
            np.nan_to_num(x),
        ],
        lambda x: [np.array([1.0, 2, 3, 4]) * x, np.array([1.0, 2, 3, 4]) @ x.T, [1.0, 2, 3, 4] * x, x == [0, 1, 2, 3]],
    ],
)
def test_results_are_those_of_numpy(function):
    check(function, *rows(2, 5, 3))
    check(function, *([call[0][::-1]] for call in rows(4, 2)))
    check(function, *([np.asfortranarray(call[0])] for call in rows(3, 7)))


def test_scipys_ufuncs_are_recorded():
    special = pytest.importorskip("scipy.special")
    graph = check(lambda x: [special.expit(x) * 2, special.xlogy(x, x), special.erf(x).sum()], *rows(2, 5, 20_000))
    assert "expit(x0" in graph.text()


def test_one_graph_is_right_for_every_batch():
    with np.errstate(all="ignore"):
        graph = check(lambda x: [x.sum(0) / x.shape[0]], *rows(2, 5, 1, 7, 0))
    assert "x0.shape[0]" in graph.text()
    assert (graph.guards.sizes, graph.guards.conditions) == ({}, [])


@pytest.mark.parametrize(("first", "right", "wrong"), [(2, [0, 1, 3], [4, 9]), (5, [4, 100], [3, 0])])
def test_a_branch_on_a_size_is_a_guard(first, right, wrong):
    graph = check(lambda x: [x * 2 if x.shape[0] > 3 else x + 1], *rows(first, *right))
    assert repr(graph.guards).splitlines()[-1] == f"(x0.shape[0] > 3) == {first > 3}"
    assert not any(graph.guards.hold(call) for call in rows(*wrong))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [np.zeros(len(x))],
        lambda x: [np.zeros(x.shape[0])],
        lambda x: [sum(x)],
        lambda x: [x * float(x.shape[0])],
        lambda x: [(x + 1).shape[0].bit_length()],
        lambda x: [f"{x.shape[0]} rows"],
        lambda x: [x.T[:, :1].squeeze()],
        lambda x: [{3: "three"}.get(x.shape[0])],
    ],
)
def test_a_size_that_is_used_as_a_number_is_a_guard(function):
    graph = check(function, *rows(3, 3))
    assert graph.guards.sizes[0, 0] == 3
    assert not graph.guards.hold(rows(4)[0])


def test_sizes_that_only_look_equal_are_not_taken_for_each_other():
    def function(x, y):
        z = x + y
        return [z / z.shape[0], z.shape, (x * y - x) * 2]

    ones, fives, twos = (rows(count)[0][0] for count in (1, 5, 2))
    check(function, [fives, fives + 1], [ones, fives], [fives, ones], [twos, ones], [ones, ones])


def test_what_is_written_in_place_is_written_in_each_call():
    def function(x, y):
        view = x[1]
        x += 1
        view[0] = y.sum()
        made = x * 2
        part = made[:, 1:]
        made -= y
        part[...] = 0
        made[0, :2] = view[:2]
        np.add.at(made, [0, 0], 1.0)
        np.multiply(made, 2, out=made)
        np.copyto(y, made[0])
        x.sort(axis=1)
        made.fill(3) if made.ndim == 1 else None
        return [view, part, made, x]

    for make in (np.array, np.asfortranarray, lambda x: np.array(x)[:, ::-1]):
        check(function, *([make(rows(count)[0][0]), np.arange(4.0)] for count in (2, 5, 3)))


def test_what_nobody_needs_is_dropped_and_what_writes_stays():
    def function(x):
        np.exp(x)
        dead = x * 3
        dead += 1
        made = x + 1
        view = made.T
        view *= 2
        return [made]

    graph = check(function, *rows(2, 3))
    assert [op.kind for op in graph.nodes] == ["operator", "attribute", "in place"]


REDUCTIONS_OF = [
    ("np.add.reduce(x0, axis=None)", lambda x: x.sum()),
    (
        "np.add.reduce(x0, 1, dtype=np.complex128, keepdims=True)",
        lambda x: x.sum(1, dtype=np.complex128, keepdims=True),
    ),
    ("np.add.reduce(x0, axis=(0, 1))", lambda x: np.sum(x, axis=(0, 1))),
    ("np.multiply.reduce(x0, axis=-1, initial=2)", lambda x: x.prod(axis=-1, initial=2)),
    ("np.maximum.reduce(x0, 0)", lambda x: np.max(x, 0)),
    ("np.minimum.reduce(x0, axis=None, keepdims=True)", lambda x: np.amin(x, keepdims=True)),
]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool", "complex64", ">f8"])
@pytest.mark.parametrize(("text", "function"), REDUCTIONS_OF, ids=[text for text, _ in REDUCTIONS_OF])
def test_a_reduction_is_the_call_that_numpy_s_own_ends_in(text, function, dtype):
    x = (np.arange(12).reshape(3, 4) * 7 % 5 - 2).astype(dtype)
    assert text in check(lambda x: [function(x)], [x], [x[1:, ::-2]]).text()


def test_a_reduction_that_takes_more_than_numbers_stays_as_it_was_written():
    x = np.arange(12.0).reshape(3, 4)
    assert "x0.sum(axis=0, where=x1)" in check(lambda x, mask: [x.sum(axis=0, where=mask)], [x, x > 2]).text()


def test_the_source_can_be_read():
    def function(x, w):
        y = np.exp(-((2 * x + 1) ** 2)) @ w
        return [y - y.max(axis=1, keepdims=True)]

    x, w = np.ones((3, 4)), np.ones((4, 2))
    text = check(function, [x, w], [x[:1] * 2, w]).text()
    line = function.__code__.co_firstlineno + 1
    assert text.startswith(
        "n2 = np.array(2, 'float64')\n"
        "n1 = np.array(1, 'float64')\n"
        "\n"
        "\n"
        "def graph(tensors):\n"
        "    x0, x1 = tensors\n"
        "    if x0.size < 32768:\n"
        "        return plain(x0, x1)\n"
        f"    n = rows(x0)  # test_numpy_tracer.py:{line}\n"
        "    v0 = np.empty((n, *x0.shape[1:]), 'float64')\n"
        "    v1 = take(x0.shape, 'float64')\n"
        "    with collected(n, len(x0)):\n"
        "        for i in range(0, len(x0), n):\n"
        "            k = slice(i, i + n)\n"
        "            x0_k = x0[k]\n"
        "            v1_k = v1[k]\n"
        "            v0_k = v0[:len(x0_k)]\n"
        "            np.multiply(n2, x0_k, out=v0_k)\n"
    )
    assert text.endswith(
        "def plain(x0, x1):\n"
        f"    v0 = n2 * x0  # test_numpy_tracer.py:{line}\n"
        "    v0 = v0 + n1\n"
        "    v0 = v0 ** 2\n"
        "    v0 = -v0\n"
        "    v0 = np.exp(v0)\n"
        "    v0 = v0 @ x1\n"
        f"    v1 = np.maximum.reduce(v0, axis=1, keepdims=True)  # test_numpy_tracer.py:{line + 1}\n"
        "    v1 = v0 - v1\n"
        "    del v0\n"
        "    return [v1]\n"
    )


def test_a_captured_array_is_one_constant():
    table = np.arange(12.0).reshape(3, 4)

    def function(x):
        return [x + table[0], np.take(table, np.array([0, 2]), axis=0) + x[0], x @ table.T, table, table * x[:1]]

    graph = check(function, *rows(1, 3))
    results = graph.run(rows(3)[0])
    assert results[3] is table
    equal = [constant.value for constant in graph.constants if np.array_equal(constant.value, table)]
    assert len(equal) == 2  # the copy that is computed with, and the result
    assert equal[1] is table is not equal[0]


def test_the_array_api_namespace_makes_recorded_arrays():
    def function(x):
        xp = x.__array_namespace__()
        made = xp.zeros(x.shape, dtype=x.dtype)
        made[:, 0] = xp.arange(x.shape[0])
        return [made, xp.asarray(x), xp.asarray(x, copy=True), xp.full((2, x.shape[0]), 7), xp.sum(x, axis=0)]

    graph = record(lambda arrays: function(*arrays), rows(2)[0])[1]
    x = rows(5)[0][0]
    made, same_x, copy, full, total = graph.run([x])
    assert (made[:, 0].tolist(), full.shape, same_x is x, copy is x) == ([0, 1, 2, 3, 4], (2, 5), True, False)
    assert same(total, x.sum(axis=0))


def test_errstate_is_kept():
    def function(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            y = 1 / x
        return [y, y * 2]

    graph = check(function, [np.zeros(3)], [np.ones(2)])
    assert "with np.errstate(divide='ignore', invalid='ignore'):" in graph.text()
    graph = record(lambda arrays: [1 / arrays[0]], [np.ones(3)])[1]
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        graph.run([np.zeros(3)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_ufunc_gives_the_bits_of_numpy_by_blocks(dtype):
    x = (np.random.default_rng(1).standard_normal((70_001,)) * 3).astype(dtype)
    y = np.abs(x[::-1].copy()) + dtype(0.5)
    ufuncs = [u for u in vars(np).values() if isinstance(u, np.ufunc) and u.nout == 1 and u.signature is None]
    taken = 0
    for ufunc in dict.fromkeys(ufuncs):
        if not any(f"{'d' if dtype is np.float64 else 'f'}" * ufunc.nin == t.split("->")[0] for t in ufunc.types):
            continue
        taken += 1
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = check(
                lambda *a, u=ufunc: [np.abs(u(*[p + 1 for p in a[: u.nin]])) * 1], [x, y][: max(ufunc.nin, 1)]
            )
        assert "rows(" in graph.text() or ufunc.types[0].endswith("?")
    assert taken > 50


@pytest.mark.parametrize("layout", ["F", "strided", "negative", "C"])
def test_reductions_after_elementwise_steps_keep_the_bits_of_numpy(layout):
    full = np.random.default_rng(2).standard_normal((300, 200)).astype(np.float32)
    made = {"F": np.asfortranarray(full), "strided": full[::2, ::3], "negative": full[::-1, ::-1], "C": full}[layout]

    def function(x):
        y = np.exp(x * 2) - x
        return [y.sum(), y.sum(0), y.sum(1), y.mean(), (y + y.T[:1, :1]).std(), y, y.cumsum()]

    graph = check(function, [made])
    assert ("layout C" in repr(graph.guards)) == (layout == "C")
    assert ("rows(" in graph.text()) == (layout == "C")


def test_outputs_that_are_inputs_are_the_same_objects():
    a, b = np.ones(2), np.zeros(2)
    results, graph = record(lambda t: [t[1], t[0], t[0] + 1], [a, b])
    assert results[0] is b
    assert results[1] is a
    assert [x is y for x, y in zip(graph.run([b, a]), [a, b], strict=False)] == [True, True]
    assert list(graph.guards.facts) == [0]


def test_a_traceback_shows_the_generated_line():
    graph = record(lambda t: [t[0] @ t[1]], [np.ones((2, 3)), np.ones((3, 2))])[1]
    with pytest.raises(ValueError, match="mismatch") as caught:
        graph.run([np.ones((2, 3)), np.ones((4, 2))])
    assert "x0 @ x1" in str(caught.traceback[-1].statement)


def test_a_layer_of_a_network_warns_of_nothing():
    """np.maximum() warns of an output that is given by position."""

    def layer(x, w, b):
        return [np.maximum(x @ w + b, 0)]

    w, b = np.ones((4, 3)), np.arange(3.0)
    graph = check(layer, *([x, w, b] for (x,) in rows(2, 1, 20_000)))
    assert re.search(r"np\.maximum\(v0_k, (0|v1_k), out=v0_k\)", graph.text())
    assert "layout C" in repr(graph.guards)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_numbers_beside_arrays_keep_zeros_and_nan_as_they_are(dtype):
    """In blocks a number is an array of it, for which numpy has other loops."""
    special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1, -1, 1e-7, 0.1, -0.1], dtype)
    x = np.tile(special, 40_001)

    def clamped(x):
        y = -x
        parts = [np.maximum(y, 0), np.maximum(0, y), np.minimum(y, -0.0), np.minimum(0.1, y), np.maximum(y, 1)]
        return [part + 0 if index > 2 else part for index, part in enumerate(parts)]

    with np.errstate(invalid="ignore"):
        check(clamped, [x], [x[: len(special)]])
        check(lambda x: [np.maximum(x * 2, float("nan")), np.minimum(x * 2, float("inf"))], [x])


def test_a_copy_in_another_order_keeps_its_layout():
    def function(x):
        turned = x.copy("F")  # a temporary would be taken for the sum's memory by numpy, layout and all
        return [np.sin(x + turned) * 2, np.sin(x.astype("f4", "F")) + 1]

    graph = check(function, *rows(20_000, 3))
    assert "rows(" not in graph.text()
