"""Programs of PyTorch for all sizes."""

from __future__ import annotations

import pytest
from guard_table import RUNTIMES, equal
from torch_settings import backend

import clika_pytree as crt

torch = pytest.importorskip("torch", reason="`make test-torch` installs PyTorch and runs this")

BATCHES = (2, 5, 1, 7, 0)
PARAMS = {"w": torch.arange(12.0).reshape(3, 4) / 10, "b": torch.ones(4)}


@pytest.fixture(autouse=True)
def cheap():
    with backend():
        yield


def same(one, other):
    return equal(RUNTIMES["torch"], one, other)


def rows(count, width=3):
    return torch.arange(float(count * width)).reshape(count, width) / 10


def graphs_of(function, calls):
    """The number of graphs that some calls need, whose results must be those of the function."""
    compiled = crt.compile(function, dynamic=True)
    for call in calls:
        assert same(compiled(*call), function(*call))
    return compiled.cache_info().currsize


# Functions for which one graph does for all batches.
CARRIED = {
    "share": lambda p, x: x.sum(0) / (x.shape[0] + 1),
    "mean": lambda p, x: {"mean": x.mean(1), "count": x.shape[0]},
    "layer": lambda p, x: {"x": x, "y": torch.tanh(x @ p["w"] + p["b"])},
    "flat": lambda p, x: x.reshape(x.shape[0] * 3),
    "made": lambda p, x: (torch.zeros(x.shape), torch.arange(x.shape[0]), torch.ones_like(x)),
    "joined": lambda p, x: torch.cat([x, x, torch.zeros(2, 3)]),
    "softmax": lambda p, x: torch.softmax(x @ p["w"], -1),
    "none": lambda p, x: [None, "text", x * 2],
}


@pytest.mark.parametrize("name", CARRIED)
def test_one_graph_for_all_batches(name):
    assert graphs_of(CARRIED[name], [(PARAMS, rows(count)) for count in BATCHES]) == 1


def test_one_graph_for_all_batches_with_generated_code():
    with backend("inductor"):
        assert graphs_of(CARRIED["layer"], [(PARAMS, rows(count)) for count in BATCHES]) == 1


def test_pytorch_compiles_once():
    compiled = crt.compile(lambda x: x * x.shape[0], dynamic=True)
    with torch.compiler.set_stance("default"):
        compiled(rows(2))
    for count in BATCHES:
        with torch.compiler.set_stance("fail_on_recompile"):
            assert same(compiled(rows(count)), rows(count) * count)


def test_sizes_that_belong_together_must_be_equal():
    compiled = crt.compile(lambda x, y: x.sum(1) + y, dynamic=True)
    for count in BATCHES:
        assert same(compiled(rows(count), torch.ones(count)), rows(count).sum(1) + 1)
    assert compiled.cache_info().currsize == 1
    assert compiled.graphs()[0].key["where"] == "x.shape[0] == y.shape[0]"
    assert same(compiled(rows(4), torch.ones(1)), rows(4).sum(1) + 1)  # a graph of its own
    assert compiled.cache_info().currsize == 2
    with pytest.raises(RuntimeError, match="broadcast"):
        compiled(rows(4), torch.ones(2))


def test_one_row_beside_several_is_repeated():
    calls = [(rows(5), rows(1)), (rows(3), rows(1)), (rows(3), rows(3))]
    assert graphs_of(lambda x, y: x + y, calls) <= 3


def test_two_batches_of_different_sizes():
    calls = [(rows(a), rows(b)) for a, b in ((2, 5), (7, 4), (0, 6), (1, 2))]
    assert graphs_of(lambda x, y: x @ y.T, calls) == 1


def test_a_size_that_decides_is_a_graph_for_each_and_explain_says_where():
    def function(x):
        return x * 2 if x.shape[0] > 3 else x - 1

    compiled = crt.compile(function, dynamic=True)
    for count in BATCHES:
        assert same(compiled(rows(count)), function(rows(count)))
    assert compiled.cache_info().currsize == len(BATCHES)
    text = str(compiled.explain(rows(9)))
    assert "now float32[9, 3]" in text
    line = function.__code__.co_firstlineno + 1
    assert f"x.shape[0] is used as a number at {__file__}:{line}" in " ".join(text.split())


def test_a_size_that_a_function_returns_is_that_of_the_call():
    compiled = crt.compile(lambda x: (x.shape[0], x.shape[1], {"twice": 2 * x.shape[0]}), dynamic=True)
    whole = crt.compile(lambda x: x.shape, dynamic=True)
    for count in BATCHES:
        assert compiled(rows(count)) == (count, 3, {"twice": 2 * count})
        assert whole(rows(count)) == (count, 3)
    assert compiled.cache_info().currsize == 1


def test_an_empty_batch_that_is_an_error_is_one():
    compiled = crt.compile(lambda x: x.max(0).values, dynamic=True)
    for count in (2, 5, 1, 7):
        assert same(compiled(rows(count)), rows(count).max(0).values)
    with pytest.raises(IndexError, match="non-zero size"):
        compiled(rows(0))


def test_no_mark_is_left_on_a_tensor():
    x = rows(4)
    crt.compile(lambda x: x + 1, dynamic=True)(x)
    assert not vars(x)
