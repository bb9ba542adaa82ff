"""Compiled functions: what is called, beside what, and what has to come out of it."""

import functools
import inspect
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from figures import OURS
from trees import TREES

import clika_pytree as cp

EAGER, FEW = "numpy", "10 graphs"
MANY_GRAPHS, FEW_GRAPHS = 10_000, 10


@dataclass
class Subject:
    """The same call for each engine, and whether what it gave is right."""

    calls: dict[str, Callable[[], Any]]
    check: Callable[[Any], bool]


def call(name: str, with_jax: bool) -> Subject:
    """A call with a tree, of which one leaf comes back. JAX gets arrays of its own: others it copies at each call."""
    tree = TREES[name]()
    leaf = cp.tree_leaves(tree)[0]
    compiled = cp.compile(lambda tree: cp.tree_leaves(tree)[0])
    calls: dict[str, Callable[[], Any]] = {OURS: lambda: compiled(tree)}
    if with_jax:
        import jax

        own = jax.tree_util.tree_map(jax.numpy.asarray, tree)
        jitted = jax.jit(lambda tree: jax.tree_util.tree_leaves(tree)[0])
        calls["jaxlib"] = lambda: jitted(own)
    return Subject(calls, lambda result: result is leaf or np.array_equal(result, leaf))


def layers(count: int, make: Callable[[], Any]) -> dict[str, dict[str, Any]]:
    """That many tensors in dicts of up to ten each."""
    names = [(f"layer{number // 10}", f"w{number % 10}") for number in range(count)]
    return {
        layer: {name: make() for of, name in names if of == layer} for layer in dict.fromkeys(of for of, _ in names)
    }


def jax_step(name: str, with_jax: bool) -> Subject:
    """A function that adds 1 to each array of a nested dict, compiled by JAX for us and by JAX alone."""
    if not with_jax:
        return Subject({}, lambda result: True)
    import jax

    return step_beside("jaxlib", jax.jit, layers(number_in(name), lambda: jax.numpy.ones(2)))


def mlx_step(name: str, _with_jax: bool) -> Subject:
    """The same, compiled by MLX for us and by MLX alone; what is computed is not waited for."""
    if find_spec("mlx") is None:
        return Subject({}, lambda result: True)
    from mlx import core as mx

    return step_beside("mlx", mx.compile, layers(number_in(name), lambda: mx.ones(2)))


def torch_step(name: str, _with_jax: bool) -> Subject:
    """The same, compiled by PyTorch for us and by PyTorch alone."""
    if find_spec("torch") is None:
        return Subject({}, lambda result: True)
    import torch

    compiled = functools.partial(torch.compile, fullgraph=True, dynamic=False)
    return step_beside("torch", compiled, layers(number_in(name), lambda: torch.ones(2)))


def number_in(name: str) -> int:
    return int(name.removeprefix("tensors"))


def step_beside(engine: str, compile: Callable[[Any], Any], tree: Any) -> Subject:
    step = lambda tree: {layer: {key: w + 1 for key, w in ws.items()} for layer, ws in tree.items()}  # noqa: E731
    ours, theirs = cp.compile(step), compile(step)
    check = lambda result: all(bool((leaf == 2).all()) for leaf in cp.tree_leaves(result))  # noqa: E731
    return Subject({OURS: lambda: ours(tree), engine: lambda: theirs(tree)}, check)


def cache_of(graphs: int) -> tuple[cp.GuardCache, list[tuple[Any, int]]]:
    """A cache in which that many calls have their graph, and these calls."""
    cache = cp.GuardCache(inspect.signature(lambda x, k: None), graphs)
    x = np.zeros(1, np.float32)
    calls = [(x, k) for k in range(graphs)]
    for args in calls:
        cache.insert(cache.bind(args, {}), args)
    return cache, calls


def other_graph(_name: str, _with_jax: bool) -> Subject:
    """A call whose graph is another one than that of the call before: it is found by its hash."""

    def looking(graphs: int) -> Callable[[], Any]:
        cache, calls = cache_of(graphs)
        # As many in either cache, spread over all of it: that memory is cold is not what is asked.
        upcoming = itertools.cycle(calls[:: graphs // FEW_GRAPHS]).__next__
        return lambda: cache.lookup(upcoming(), {})

    return Subject({OURS: looking(MANY_GRAPHS), FEW: looking(FEW_GRAPHS)}, lambda found: found[0][1] < MANY_GRAPHS)


def no_graph(_name: str, _with_jax: bool) -> Subject:
    """A call that has no graph."""

    def looking(graphs: int) -> Callable[[], Any]:
        cache, calls = cache_of(graphs)
        strange = [(calls[0][0], -1 - k) for k in range(1000)]
        upcoming = itertools.cycle(strange).__next__
        return lambda: cache.lookup(upcoming(), {})

    return Subject({OURS: looking(MANY_GRAPHS), FEW: looking(FEW_GRAPHS)}, lambda found: found is None)


def network(params: dict[str, Any], x: Any) -> Any:
    """64 -> 256 -> 10 and a softmax."""
    hidden = np.maximum(x @ params["w1"] + params["b1"], 0)
    logits = hidden @ params["w2"] + params["b2"]
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def mlp(name: str, _with_jax: bool) -> Subject:
    """The network on a batch, compiled for batches of all sizes."""
    rng = np.random.default_rng(0)
    numbers = lambda *shape: rng.standard_normal(shape, np.float32)  # noqa: E731
    params = {"w1": numbers(64, 256) / 8, "b1": numbers(256), "w2": numbers(256, 10) / 16, "b2": numbers(10)}
    x = numbers(int(name.removeprefix("batch")), 64)
    compiled = cp.compile(network, dynamic=True)
    compiled(params, numbers(5, 64))  # the graph is that of another size
    return beside_eager(lambda: compiled(params, x), lambda: network(params, x))


def nine_steps(x: Any) -> Any:
    y = np.exp(-np.square(2 * x + 1))
    return y * x + y - 0.5 * x


def chain(name: str, _with_jax: bool) -> Subject:
    """Nine ufuncs over four million numbers."""
    x = np.random.default_rng(0).standard_normal(4_000_000).astype(name)
    compiled = cp.compile(nine_steps, dynamic=True)
    return beside_eager(lambda: compiled(x), lambda: nine_steps(x))


def beside_eager(compiled: Callable[[], Any], eager: Callable[[], Any]) -> Subject:
    wanted = eager()
    same = lambda result: result.dtype == wanted.dtype and result.tobytes() == wanted.tobytes()  # noqa: E731
    return Subject({OURS: compiled, EAGER: eager}, same)


# operation -> what it is done on, and who makes it
SUBJECTS: dict[str, tuple[list[str], Callable[[str, bool], Subject]]] = {
    "call": (["leaf", "args", "gpt12", "dict1000"], call),
    "other_graph": ([f"graphs{MANY_GRAPHS}"], other_graph),
    "no_graph": ([f"graphs{MANY_GRAPHS}"], no_graph),
    "jax_step": (["tensors1", "tensors10", "tensors100", "tensors1000"], jax_step),
    "mlx_step": (["tensors1", "tensors10", "tensors100", "tensors1000"], mlx_step),
    "torch_step": (["tensors1", "tensors10", "tensors100", "tensors1000"], torch_step),
    "mlp": (["batch1", "batch64", "batch1024", "batch16384"], mlp),
    "chain": (["float32", "float64"], chain),
}
NAMES = list(dict.fromkeys(name for names, _ in SUBJECTS.values() for name in names))
