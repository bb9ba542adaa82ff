"""Programs of JAX for all sizes."""

from __future__ import annotations

import numpy as np
import pytest
from guard_table import RUNTIMES, equal

import clika_pytree as crt

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

BATCHES = (2, 5, 1, 7, 0)
PARAMS = {"w": jnp.arange(12.0).reshape(3, 4) / 10, "b": jnp.ones(4)}


def same(one, other):
    return equal(RUNTIMES["jax"], one, other)


def rows(count, width=3):
    return jnp.arange(float(count * width)).reshape(count, width) / 10


def graphs_of(function, calls):
    """The number of graphs that some calls need, whose results must be those of the function."""
    compiled = crt.compile(function, dynamic=True)
    for call in calls:
        assert same(compiled(*call), function(*call))
    return compiled.cache_info().currsize


# Functions for which one graph does for all batches.
CARRIED = {
    "share": lambda p, x: x.sum(0) / (x.shape[0] + 1),
    "mean": lambda p, x: {"mean": x.mean(1), "count": jnp.asarray(x.shape[0])},
    "layer": lambda p, x: {"x": x, "y": jnp.tanh(x @ p["w"] + p["b"])},
    "row for row": lambda p, x: jax.vmap(lambda row: row @ p["w"])(x),
    "flat": lambda p, x: x.reshape(x.shape[0] * 3),
    "made": lambda p, x: (jnp.zeros(x.shape), jnp.arange(x.shape[0]), jnp.ones_like(x)),
    "joined": lambda p, x: jnp.concatenate([x, x, jnp.zeros((2, 3))]),
    "softmax": lambda p, x: jax.nn.softmax(x @ p["w"]),
    "gradient": lambda p, x: jax.grad(lambda p: (x @ p["w"]).sum())(p),
    "loop": lambda p, x: jax.lax.fori_loop(0, 3, lambda _, y: y * 2, x),
    "none": lambda p, x: [None, "text", x * 2],
}


@pytest.mark.parametrize("name", CARRIED)
def test_one_graph_for_all_batches(name):
    assert graphs_of(CARRIED[name], [(PARAMS, rows(count)) for count in BATCHES]) == 1


def test_the_function_is_traced_once():
    traces = []

    @crt.compile(dynamic=True)
    def function(x):
        traces.append(x.shape)
        return x * x.shape[0]

    for count in BATCHES:
        assert same(function(rows(count)), rows(count) * count)
    assert len(traces) == 1


def test_a_batch_that_must_not_be_empty_has_a_graph_for_all_others():
    compiled = crt.compile(lambda x: x.max(0), dynamic=True)
    for count in (2, 5, 1, 7):
        assert same(compiled(rows(count)), rows(count).max(0))
    assert compiled.cache_info().currsize == 1
    assert compiled.graphs()[0].key == {"x": "float32[*, 3]", "where": "x.shape[0] > 0"}
    with pytest.raises(ValueError, match="zero-size array"):
        compiled(rows(0))


def test_a_loop_over_an_empty_batch_is_a_graph_of_its_own():
    def function(x):
        return jax.lax.scan(lambda total, row: (total + row.sum(), row), jnp.float32(0), x)

    assert graphs_of(function, [(rows(count),) for count in BATCHES]) == 2


def test_sizes_that_belong_together_must_be_equal():
    compiled = crt.compile(lambda x, y: x.sum(1) + y, dynamic=True)
    for count in BATCHES:
        assert same(compiled(rows(count), jnp.ones(count)), rows(count).sum(1) + 1)
    assert compiled.cache_info().currsize == 1
    assert compiled.graphs()[0].key["where"] == "x.shape[0] == y.shape[0]"
    assert same(compiled(rows(4), jnp.ones(1)), rows(4).sum(1) + 1)  # a graph of its own
    assert compiled.cache_info().currsize == 2
    with pytest.raises(TypeError, match="incompatible shapes"):
        compiled(rows(4), jnp.ones(2))


def test_two_batches_of_different_sizes():
    def function(x, y):
        return x @ y.T

    assert graphs_of(function, [(rows(a), rows(b)) for a, b in ((2, 5), (7, 4), (0, 6), (1, 2))]) == 1


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


def test_a_parameter_whose_size_is_that_of_a_feature_stays_as_it_is():
    compiled = crt.compile(CARRIED["layer"], dynamic=True)
    compiled(PARAMS, rows(5))
    key = compiled.graphs()[0].key
    assert key == {"p['w']": "float32[3, 4]", "p['b']": "float32[4]", "x": "float32[*, 3]"}


def test_a_batch_as_large_as_a_feature_has_a_graph_of_its_own():
    assert graphs_of(CARRIED["layer"], [(PARAMS, rows(count)) for count in (3, 5, 4, 7, 3)]) == 2


def test_a_table_and_what_is_looked_up_in_it():
    def function(table, tokens):
        return table[tokens].sum(1)

    calls = [(jnp.arange(80.0).reshape(20, 4), jnp.arange(3 * n).reshape(n, 3)) for n in (2, 5, 1)]
    assert graphs_of(function, calls) == 1


def test_arrays_of_numpy_carry_their_sizes_too():
    compiled = crt.compile(CARRIED["layer"], dynamic=True)
    for count in BATCHES:
        batch = np.asarray(rows(count))
        assert same(compiled(PARAMS, batch)["y"], compiled.__wrapped__(PARAMS, batch)["y"])
    assert compiled.cache_info().currsize == 1


def test_random_keys_beside_a_batch():
    def function(key, x):
        return x + jax.random.normal(key, x.shape[1:])

    assert graphs_of(function, [(jax.random.key(n), rows(n)) for n in BATCHES]) == 1


def test_other_dtypes_and_other_axes_are_other_graphs():
    compiled = crt.compile(lambda x: x + 1, dynamic=True)
    for x in (rows(2), rows(2).astype(jnp.bfloat16), jnp.ones(2), jnp.ones((2, 4)), rows(3)):
        assert same(compiled(x), x + 1)
    assert compiled.cache_info().currsize == 4


def test_a_compiled_function_within_one_is_a_part_of_it():
    inner = crt.compile(lambda x: x * 2, dynamic=True)
    outer = crt.compile(lambda x: inner(x) + 1, dynamic=True)
    for count in BATCHES:
        assert same(outer(rows(count)), rows(count) * 2 + 1)
    assert (outer.cache_info().currsize, inner.cache_info().currsize) == (1, 0)


def test_an_error_of_the_function_is_its_own():
    @crt.compile(dynamic=True)
    def function(x):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        function(rows(2))
    assert function.cache_info().currsize == 0
