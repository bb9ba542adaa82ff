"""Models and optimizers written for JAX: compiled, waited for, saved and loaded."""

from __future__ import annotations

import numpy as np
import pytest
from guard_table import RUNTIMES, equal

import clika_pytree as crt

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


def same(one, other):
    return equal(RUNTIMES["jax"], one, other)


def check_saved(tree, path):
    """What is loaded has the structure and the bytes of what was saved."""
    crt.save(tree, path)
    loaded = crt.load(path, like=tree)
    assert crt.tree_structure(loaded) == crt.tree_structure(tree)
    for one, other in zip(crt.tree_leaves(loaded), crt.tree_leaves(tree), strict=True):
        if isinstance(other, jax.Array):
            assert isinstance(one, jax.Array)
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


@pytest.fixture
def data():
    rows = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
    return {"x": rows, "y": rows.sum(1, keepdims=True)}


def test_an_optax_optimizer(data, tmp_path):
    optax = pytest.importorskip("optax", reason="Optax is not installed")
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))
    params = {"b": jnp.zeros(1), "w": jnp.zeros((3, 1))}  # sorted, as JAX's own maps sort them

    def step(params, state, batch):
        def loss(params):
            return jnp.mean((batch["x"] @ params["w"] + params["b"] - batch["y"]) ** 2)

        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradients, state, params)
        return value, optax.apply_updates(params, updates), state

    traces = []
    compiled, jitted = crt.compile(step), jax.jit(lambda *args: traces.append(1) or step(*args))
    ours, theirs = (params, optimizer.init(params)), (params, optimizer.init(params))
    losses = []
    for _ in range(4):
        loss, *ours = compiled(*ours, data)
        wanted, *theirs = jitted(*theirs, data)
        losses.append(float(loss))
        assert same(loss, wanted)
        assert same(ours, theirs)
    assert losses == sorted(losses, reverse=True)
    assert compiled.cache_info().currsize == len(traces) == 1
    crt.eval(ours)
    check_saved(ours, tmp_path / "state.safetensors")


def test_an_equinox_module(data, tmp_path):
    eqx = pytest.importorskip("equinox", reason="Equinox is not installed")
    crt.register_dataclass(eqx.nn.MLP)
    crt.register_dataclass(eqx.nn.Linear)
    try:
        model = eqx.nn.MLP(3, 1, 4, 2, key=jax.random.key(0))

        def loss(model, batch):
            return jnp.mean((jax.vmap(model)(batch["x"]) - batch["y"]) ** 2)

        compiled = crt.compile(loss)
        for _ in range(2):
            assert same(compiled(model, data), loss(model, data))
        assert compiled.cache_info()[:2] == (1, 1)
        larger = crt.tree_map_only(jax.Array, lambda leaf: leaf * 2, model)
        assert type(larger) is eqx.nn.MLP
        assert same(compiled(larger, data), loss(larger, data))
        gradients = crt.compile(lambda model, batch: eqx.filter_grad(loss)(model, batch))(model, data)
        assert same(gradients.layers[0].weight, eqx.filter_grad(loss)(model, data).layers[0].weight)
        crt.eval(model, gradients)
        arrays, _ = crt.tree_partition(lambda leaf: isinstance(leaf, jax.Array), model)
        check_saved(crt.tree_leaves(arrays), tmp_path / "model.safetensors")
    finally:
        crt.unregister_pytree_node(eqx.nn.MLP)
        crt.unregister_pytree_node(eqx.nn.Linear)


WITHOUT_FLAX = "Flax is not installed: `pip install flax`"


def test_a_linen_module_of_flax(data, tmp_path):
    """The module is an argument that is no tensor: a module like it has the same graph, another one has another."""
    nn = pytest.importorskip("flax.linen", reason=WITHOUT_FLAX)

    class Network(nn.Module):
        hidden: int

        @nn.compact
        def __call__(self, x):
            return nn.Dense(1)(nn.relu(nn.Dense(self.hidden)(x)))

    model = Network(4)
    params = model.init(jax.random.key(0), data["x"])

    def loss(model, params, batch):
        return jnp.mean((model.apply(params, batch["x"]) - batch["y"]) ** 2)

    compiled = crt.compile(loss)
    for module in (model, Network(4), Network(5)):
        weights = module.init(jax.random.key(1), data["x"])
        assert same(compiled(module, weights, data), jax.jit(loss, static_argnums=0)(module, weights, data))
    assert compiled.cache_info()[:2] == (1, 2)
    gradients = crt.compile(jax.grad(loss, argnums=1))(model, params, data)
    assert same(gradients, jax.jit(jax.grad(loss, argnums=1), static_argnums=0)(model, params, data))
    crt.eval(params, gradients)
    check_saved(params, tmp_path / "params.safetensors")


def test_an_nnx_module_of_flax(data, tmp_path):
    """Its classes are nodes while JAX is adopted."""
    nnx = pytest.importorskip("flax.nnx", reason=WITHOUT_FLAX)

    class Network(nnx.Module):
        def __init__(self, rngs):
            self.first, self.last = nnx.Linear(3, 4, rngs=rngs), nnx.Linear(4, 1, rngs=rngs)

        def __call__(self, x):
            return self.last(nnx.relu(self.first(x)))

    model = Network(nnx.Rngs(0))
    with crt.adopt("jax"):
        assert jax.tree.structure(model) == crt.treespec_to_jax(crt.tree_structure(model))
        compiled = crt.compile(lambda model, x: model(x))
        larger = crt.tree_map(lambda leaf: leaf * 2, model)
        assert type(larger) is Network
        for module in (model, larger):
            assert same(compiled(module, data["x"]), jax.jit(lambda model, x: model(x))(module, data["x"]))
        assert compiled.cache_info()[:2] == (1, 1)
        crt.eval(model)
        check_saved(crt.tree_leaves(model), tmp_path / "model.safetensors")


def test_an_equinox_module_of_an_adopted_jax(data):
    eqx = pytest.importorskip("equinox", reason="Equinox is not installed")
    model = eqx.nn.MLP(3, 1, 4, 2, key=jax.random.key(0))
    with crt.adopt("jax"):
        forward = lambda model, x: jax.vmap(model)(x)  # noqa: E731
        compiled = crt.compile(forward)
        for _ in range(2):
            assert same(compiled(model, data["x"]), eqx.filter_jit(forward)(model, data["x"]))
        assert compiled.cache_info()[:2] == (1, 1)
