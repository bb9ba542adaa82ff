"""Functions of trees compiled by JAX."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from guard_table import RUNTIMES, equal
from jax_settings import sixty_four_bits

import clika_pytree as crt

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

PARAMS = {"w": jnp.arange(12.0).reshape(3, 4), "b": jnp.ones(4)}


def layer(params, x):
    return {"sum": x.sum(0), "y": jnp.tanh(x @ params["w"] + params["b"])}  # sorted, as JAX sorts keys


def same(one, other):
    return equal(RUNTIMES["jax"], one, other)


# --- what goes in and comes out ---------------------------------------------------------------------------------------


def test_the_first_call_and_later_ones_give_what_the_function_gives():
    compiled = crt.compile(layer)
    for x in (jnp.ones((2, 3)), jnp.zeros((2, 3))):
        assert same(compiled(PARAMS, x), layer(PARAMS, x))
    assert compiled.cache_info()[:2] == (1, 1)


def test_numpy_arrays_and_scalars_beside_those_of_jax_are_inputs():
    calls = []

    @crt.compile
    def scaled(params, batch, factor):
        calls.append(type(batch["x"]))
        return batch["x"] @ params["w"] * factor

    for factor in (1, 2):
        batch = {"x": np.full((2, 3), factor, np.float32)}
        result = scaled(PARAMS, batch, np.float32(factor))
        assert isinstance(result, jax.Array)
        np.testing.assert_allclose(result, factor**2 * np.ones((2, 3)) @ np.asarray(PARAMS["w"]))
    assert len(calls) == 1
    assert issubclass(calls[0], jax.core.Tracer)


def test_only_numpy_arrays_are_computed_by_jax_where_it_is_asked_for():
    compiled = crt.compile(lambda x: jnp.sin(x), runtime="jax")
    assert isinstance(compiled(np.ones(3, np.float32)), jax.Array)


def test_an_input_comes_back_as_itself_and_one_result_in_two_places_as_one():
    @crt.compile
    def function(x, host):
        y = x + 1
        return {"x": x, "host": host, "twice": [y, y], "text": "t", "none": None}

    x, host = jnp.ones(3), np.ones(2)
    for _ in range(2):
        result = function(x, host)
        assert result["x"] is x
        assert result["host"] is host
        assert result["twice"][0] is result["twice"][1]
        assert (result["text"], result["none"]) == ("t", None)


def test_what_was_there_before_comes_back_as_it_is():
    table, array = np.arange(3), jnp.arange(3)
    compiled = crt.compile(lambda x: [x * 2, table, array, np.float32(2)])
    first, second = compiled(jnp.ones(2)), compiled(jnp.ones(2))
    assert first[2] is array
    assert type(first[3]) is np.float32
    first[1][0] = 7  # an array of numpy is the caller's own
    np.testing.assert_array_equal(second[1], [0, 1, 2])
    np.testing.assert_array_equal(table, [0, 1, 2])


@crt.register_dataclass
@dataclasses.dataclass(frozen=True)
class Validated:
    """A class that refuses what is no array."""

    x: object
    tag: str = dataclasses.field(default="t", metadata={"static": True})

    def __post_init__(self):
        assert hasattr(self.x, "dtype"), f"{self.x} is no array"


def test_jax_never_sees_a_class_of_the_users():
    compiled = crt.compile(lambda node: Validated(node.x * 2, node.tag))
    with pytest.raises(TypeError):
        jax.jit(lambda node: node.x)(Validated(jnp.ones(2)))  # JAX does not know it
    for tag in ("t", "u", "t"):
        result = compiled(Validated(jnp.ones(2), tag))
        assert (result.tag, float(result.x[0])) == (tag, 2.0)
    assert compiled.cache_info().currsize == 2


def test_classes_alike_in_all_but_their_name_have_graphs_of_their_own():
    # JAX's own structures of two such dataclasses are equal, and one would run for the other.
    classes = [crt.register_dataclass(dataclasses.make_dataclass(name, ["x"])) for name in "AB"]
    compiled = crt.compile(lambda node: (type(node).__name__, node.x))
    for _ in range(3):
        assert [compiled(cls(jnp.ones(1)))[0] for cls in classes] == ["A", "B"]
    assert compiled.cache_info().currsize == 2


def test_random_keys_are_inputs():
    @crt.compile
    def drawn(key, x):
        key, other = jax.random.split(key)
        return {"x": x + jax.random.normal(other, x.shape), "key": key}

    key, x = jax.random.key(3), jnp.ones(4)
    first = drawn(key, x)
    assert same(drawn(first["key"], x)["x"], drawn.__wrapped__(first["key"], x)["x"])
    assert jax.dtypes.issubdtype(first["key"].dtype, jax.dtypes.prng_key)
    assert drawn.cache_info()[:2] == (1, 1)
    assert "key<" in str(drawn.graphs())


# --- what is guarded --------------------------------------------------------------------------------------------------


def test_weak_types_are_another_graph():
    compiled = crt.compile(lambda x, scale: x * scale)
    x = jnp.ones(2, jnp.bfloat16)
    weak, strong = jnp.asarray(2.0), jnp.asarray(2.0, jnp.float32)
    assert weak.weak_type
    assert not strong.weak_type
    for _ in range(2):
        assert compiled(x, weak).dtype == jnp.bfloat16
        assert compiled(x, strong).dtype == jnp.float32
    assert compiled.cache_info().currsize == 2
    assert "weak_type" in str(compiled.graphs())


@pytest.mark.parametrize("dynamic", [False, True])
def test_weak_types_of_results_are_those_of_the_function(dynamic):
    compiled = crt.compile(lambda x, scale: (x * scale, scale + 1, x + 1), dynamic=dynamic)
    for scale in (jnp.asarray(2.0), jnp.asarray(2.0, jnp.float32)):
        for rows in (2, 3):
            x = jnp.ones((rows, 2), jnp.bfloat16)
            assert same(compiled(x, scale), compiled.__wrapped__(x, scale))


def test_settings_of_jax_are_guarded_by_jax():
    compiled = crt.compile(lambda x: (x.astype(float), x + 1))
    x = jnp.ones(2, jnp.float32)
    for _ in range(2):
        assert compiled(x)[0].dtype == jnp.float32
        with sixty_four_bits():
            assert compiled(x)[0].dtype == jnp.float64
        with jax.disable_jit():
            assert compiled(x)[0] is x
    assert compiled.cache_info().currsize == 1


def test_a_new_size_is_a_new_graph_that_explain_and_on_miss_know_of():
    compiled = crt.compile(layer)
    compiled(PARAMS, jnp.ones((2, 3)))
    explanation = compiled.explain(PARAMS, jnp.ones((5, 3)))
    assert str(explanation.changes[0]) == "x: was float32[2, 3], now float32[5, 3]"
    compiled.on_miss = "error"
    with pytest.raises(crt.MissError, match=r"x: was float32\[2, 3\], now float32\[5, 3\]"):
        compiled(PARAMS, jnp.ones((5, 3)))


def test_the_graphs_of_a_function_are_bounded():
    compiled = crt.compile(lambda x: x + 1, max_graphs=2)
    for size in (1, 2, 3):
        compiled(jnp.ones(size))
    assert compiled.cache_info().currsize == 2


def test_an_object_that_holds_arrays_is_refused():
    class State:
        def __init__(self):
            self.w = jnp.ones(2)

    with pytest.raises(crt.UnregisteredNodeError) as caught:
        crt.compile(lambda p: p["s"].w)({"s": State()})
    assert caught.value.path == "p['s']"


# --- what a trace does not have ---------------------------------------------------------------------------------------


def branch(p, x):
    if x["v"].max() > 1:
        return x["v"]
    return p


@pytest.mark.parametrize(
    ("function", "path"),
    [
        (branch, "x['v']"),
        (lambda p, x: float(p) + x["v"], "p"),
        (lambda p, x: x["v"] + np.asarray(p), "p"),
        (lambda p, x: range(p)[0] + x["v"], "p"),
    ],
    ids=["bool", "float", "array", "index"],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_value_that_is_needed_is_an_error_with_key_path_and_line(function, path, dynamic):
    compiled = crt.compile(function, dynamic=dynamic)
    with pytest.raises(crt.RecordingError) as caught:
        compiled(jnp.asarray(1, jnp.int32), {"v": jnp.ones(3)})
    assert caught.value.path == path
    assert f"needs the value of {path} while JAX traces it" in str(caught.value)
    assert __file__ in str(caught.value)
    assert isinstance(caught.value.__cause__, jax.errors.JAXTypeError)
    assert compiled.cache_info().currsize == 0


def test_other_errors_are_left_as_they_are():
    def function(x):
        jax.random.key(0)[3]

    for call in (function, lambda x: x @ jnp.ones(5), lambda x: {}[3]):
        with pytest.raises(Exception, match=r"\S") as wanted:
            jax.jit(call)(jnp.ones(2))
        with pytest.raises(type(wanted.value)) as found:
            crt.compile(call)(jnp.ones(2))
        assert str(found.value) == str(wanted.value)


# --- inside JAX's own transformations ---------------------------------------------------------------------------------


@pytest.fixture
def compiled_layer():
    return crt.compile(layer)


def test_compiled_functions_work_inside_jit(compiled_layer):
    x = jnp.ones((2, 3))
    assert same(jax.jit(lambda x: compiled_layer(PARAMS, x))(x), layer(PARAMS, x))
    assert same(jax.jit(compiled_layer)(PARAMS, x), layer(PARAMS, x))
    assert compiled_layer.cache_info().currsize == 0


def test_a_graph_that_there_is_works_inside_jit_with_arrays_from_outside(compiled_layer):
    x = jnp.ones((2, 3))
    compiled_layer(PARAMS, x)
    result = jax.jit(lambda k: compiled_layer(PARAMS, x)["y"] * k)(2.0)
    assert same(result, layer(PARAMS, x)["y"] * 2)


def test_compiled_functions_have_gradients(compiled_layer):
    x = jnp.ones((2, 3))

    def loss(function):
        return lambda params: function(params, x)["y"].sum()

    wanted = jax.grad(loss(layer))(PARAMS)
    for gradient in (jax.grad(loss(compiled_layer)), jax.jit(jax.grad(loss(compiled_layer)))):
        assert same(gradient(PARAMS), wanted)
    inside = crt.compile(lambda params: jax.grad(loss(compiled_layer))(params))
    assert same(inside(PARAMS), wanted)


def test_compiled_functions_are_mapped_over(compiled_layer):
    xs = jnp.arange(24.0).reshape(4, 2, 3)
    wanted = [layer(PARAMS, x) for x in xs]
    found = jax.vmap(compiled_layer, in_axes=(None, 0))(PARAMS, xs)
    assert all(same(crt.tree_map(lambda leaf, i=i: leaf[i], found), one) for i, one in enumerate(wanted))


def test_compiled_functions_say_their_shapes(compiled_layer):
    shapes = jax.eval_shape(compiled_layer, PARAMS, jax.ShapeDtypeStruct((2, 3), jnp.float32))
    assert shapes["y"].shape == (2, 4)


def test_loops_take_compiled_functions():
    step = crt.compile(lambda carry, x: (carry + x, carry))
    total, seen = jax.lax.scan(step, jnp.float32(0), jnp.arange(4.0))
    assert float(total) == 6
    np.testing.assert_array_equal(seen, [0, 0, 1, 3])


def test_devices_and_shardings():
    script = Path(__file__).with_name("jax_devices.py")
    done = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


# --- threads, memory, imports -----------------------------------------------------------------------------------------


def test_threads_with_one_new_call_trace_once():
    traces = []

    @crt.compile
    def function(x):
        traces.append(threading.get_ident())
        return x * 2

    x, results = jnp.ones(4), []
    threads = [threading.Thread(target=lambda: results.append(function(x))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(traces) == 1
    assert len(results) == 6
    assert all(same(result, x * 2) for result in results)


def test_nothing_is_imported_before_an_array_turns_up():
    code = (
        "import sys, clika_pytree as crt, numpy as np\n"
        "crt.compile(lambda x: x + 1)(np.ones(2)); crt.eval({'a': np.ones(2)})\n"
        "assert not any(name.partition('.')[0] in ('jax', 'jaxlib') for name in sys.modules)\n"
        "assert 'clika_pytree.runtimes.jax' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)


def test_a_missing_jax_is_named():
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "import clika_pytree as crt\n"
        "try: crt.compile(len, runtime='jax')\n"
        "except crt.PyTreeValueError as error: assert \"pip install 'clika-pytree[jax]'\" in str(error), error\n"
        "else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
