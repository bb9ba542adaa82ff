"""Waiting for arrays of JAX, their elements, and files of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from jax_settings import sixty_four_bits

import clika_pytree as crt
from clika_pytree.runtimes import runtime_named
from clika_pytree.runtimes.protocol import Failed, Host

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

DTYPES = [
    *("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "bfloat16", "complex64"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
]


@pytest.fixture
def runtime():
    return runtime_named("test", "jax")


class State(NamedTuple):
    count: object
    mean: object


# --- waiting ----------------------------------------------------------------------------------------------------------


def test_all_arrays_are_waited_for_at_once(monkeypatch):
    waited = []
    wait = jax.block_until_ready
    monkeypatch.setattr(jax, "block_until_ready", lambda arrays: waited.append(len(arrays)) or wait(arrays))
    x = jnp.ones(3)
    crt.eval({"x": x, "rest": [x + 1, None, "text", np.ones(2)]}, State(x, jax.random.key(0)))
    assert waited == [3]


def test_an_array_that_was_deleted_is_named():
    x = jnp.ones(2)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted") as caught:
        crt.eval([jnp.ones(2), x])
    assert any("trees[0][1]" in note for note in caught.value.__notes__)


def test_waiting_inside_a_transformation_is_refused():
    with pytest.raises(crt.RecordingError, match="inside a function that JAX is tracing"):
        jax.jit(lambda x: crt.eval({"x": x}))(jnp.ones(2))
    compiled = crt.compile(lambda x: crt.eval(x))
    with pytest.raises(crt.RecordingError, match="was called inside"):
        compiled(jnp.ones(2))


def test_failures_have_their_place(runtime):
    x = jnp.ones(2)
    x.delete()
    with pytest.raises(Failed) as caught:
        runtime.wait([jnp.ones(1), x, jnp.ones(1)])
    assert caught.value.index == 1
    assert isinstance(caught.value.error, RuntimeError)


# --- elements ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 2)])
def test_elements_there_and_back(runtime, dtype, shape):
    size = int(np.prod(shape))
    x = jnp.asarray(np.arange(size).reshape(shape) % 2 + 1).astype(dtype)
    host = runtime.to_host(x)
    assert len(bytes(host.buffer)) == x.nbytes
    assert (host.dtype, tuple(host.shape)) == runtime.stored_as(x)
    again = runtime.from_host(host, "cpu")
    assert isinstance(again, jax.Array)
    assert (again.dtype, again.shape) == (x.dtype, x.shape)
    assert np.asarray(again).tobytes() == np.asarray(x).tobytes()


@pytest.mark.parametrize("code", ["F64", "I64", "U64"])
def test_elements_that_would_lose_bits_are_refused(runtime, code):
    with pytest.raises(crt.PyTreeValueError, match="jax_enable_x64"):
        runtime.from_host(Host(code, (1,), bytes(8)), "cpu")
    with sixty_four_bits():
        assert runtime.from_host(Host(code, (1,), bytes(8)), "cpu").dtype.itemsize == 8


def test_what_has_no_elements_is_refused(runtime):
    with pytest.raises(crt.PyTreeTypeError, match=r"jax\.random\.key_data"):
        runtime.to_host(jax.random.key(0))
    with pytest.raises(crt.PyTreeTypeError, match="int4"):
        runtime.to_host(jnp.ones(2, jnp.int4))
    with pytest.raises(crt.PyTreeTypeError, match="JAX is tracing"):
        jax.jit(runtime.to_host)(jnp.ones(2))
    for device in ("tpu", "cpu:7", "nonsense"):
        with pytest.raises(crt.PyTreeValueError, match=f"no device '{device}'"):
            runtime.from_host(Host("F32", (1,), bytes(4)), device)


def test_the_same_memory(runtime):
    x, other = jnp.arange(4.0), jnp.arange(4.0)
    assert runtime.same_memory(x) == runtime.same_memory(jax.device_put(x))
    assert runtime.same_memory(x) != runtime.same_memory(other)
    for nothing in (jnp.ones(0), jax.random.key(0), jax.ShapeDtypeStruct((2,), jnp.float32)):
        assert runtime.same_memory(nothing) is None


def test_facts(runtime):
    assert str(runtime.describe(jnp.ones((2, 3), jnp.bfloat16))) == "bfloat16[2, 3]"
    assert runtime.describe(jnp.asarray(1.0)).extra == "weak_type"
    assert str(runtime.describe(jax.random.key(0))).startswith("key<")
    assert str(runtime.describe(jax.ShapeDtypeStruct((2,), "float32"))) == "float32[2]"
    with pytest.raises(crt.PyTreeTypeError, match="JAX has no dtype"):
        crt.trace(lambda xs: xs, [type("Odd", (), {"shape": (2,), "dtype": "odd"})()], runtime="jax")


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_tree_of_arrays_is_saved_and_loaded(tmp_path):
    tree = {
        "params": {"w": jnp.arange(6.0).reshape(2, 3), "half": jnp.ones(2, jnp.bfloat16), "none": None},
        "state": State(jnp.asarray(3, jnp.int32), [jnp.zeros((0, 2)), np.ones(2, np.float32)]),
    }
    crt.save(tree, tmp_path / "tree.safetensors")
    like = crt.tree_map(lambda leaf: leaf, tree)
    loaded = crt.load(tmp_path / "tree.safetensors", like=like)
    assert crt.tree_structure(loaded) == crt.tree_structure(tree)
    for one, other in zip(crt.tree_leaves(loaded), crt.tree_leaves(tree), strict=True):
        if other is None:
            assert one is None
        else:
            assert (str(one.dtype), one.shape) == (str(other.dtype), other.shape)
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


def test_arrays_that_share_memory_are_tied_in_a_file(tmp_path):
    w = jnp.arange(4.0)
    crt.save({"in": {"w": w}, "out": {"w": w}}, tmp_path / "tied.safetensors")
    loaded = crt.load(tmp_path / "tied.safetensors")
    assert loaded["in"]["w"] is loaded["out"]["w"]
