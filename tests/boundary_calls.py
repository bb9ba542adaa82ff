"""Calls where a runtime meets a tree, for those who look at what a call keeps: compile, trace, eval, save, load."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from guarding import Guards
from lazy_runtime import LazyRuntime, tensor

import clika_pytree as cp
from clika_pytree import _native
from clika_pytree.boundary import Graph
from clika_pytree.runtimes.numpy.host import READY

W = np.ones((3, 4))
X = np.ones(4)
FLAT = {"w": W, "v": np.zeros(2)}
TREE = {"layers": [{"w": W, "n": 3}, {"w": W}], 7: (np.zeros(2, "f4"),)}
PARAMS = {"w": W, "rate": 0.5}
SIGNATURE = inspect.signature(lambda x, y=1: None)
NUMBERS = itertools.count()


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other


class Holder:
    """A leaf with a tensor in it."""

    def __init__(self) -> None:
        self.w = W


class Scale:
    @cp.compile
    def of(self, x: Any) -> Any:
        return x * 2


SCALE = Scale()


def step(params: Any, x: Any) -> Any:
    return {"y": np.tanh(params["w"] @ x) * params["rate"], "x": x, "made": [len(params)]}


def fails(params: Any, x: Any) -> Any:
    raise LookupError("injected")


def layer(tensors: Any) -> Any:
    return [tensors[0] @ tensors[1], tensors[1]]


class Boundaries:
    """Files to be read and written, and compiled functions with a graph or two."""

    def __init__(self, folder: Path) -> None:
        names = ("flat", "tree", "cut", "new", "several", "graph")
        paths = (str(folder / f"{name}.safetensors") for name in names)
        self.flat, self.tree, self.cut, self.new, self.several, self.graph = paths
        cp.save(FLAT, self.flat)
        cp.save(TREE, self.tree)
        cp.save(FLAT, self.several, max_shard_bytes=50)
        Path(self.cut).write_bytes(Path(self.tree).read_bytes()[:-5])
        self.step, self.any_size = cp.compile(step), cp.compile(step, dynamic=True)
        self.ready = cp.compile(step)
        self.ready(PARAMS, X)
        self.ready.on_miss = "error"
        self.few = cp.compile(step, max_graphs=2)
        self.cache = _native.GuardCache(SIGNATURE, 2)
        self.traced = cp.trace(layer, [W, X], names=["w", "x"])
        self.traced.save(self.graph)


def guarded(b: Boundaries) -> Any:
    """Looked for, made, found, compared, and in the end thrown out."""
    call = b.cache.bind((TREE, next(NUMBERS)), {})
    assert b.cache.lookup((TREE,), {"y": -1}) is None
    b.cache.insert(call, "value", guards=Guards(len(call.tensors)))
    return b.cache.explain(call), [entry.guards for entry in b.cache.entries()]


def runtimes(b: Boundaries) -> None:
    cp.register_runtime(LazyRuntime())
    cp.eval([tensor(1), {"x": tensor(2) + tensor(3)}])
    cp.unregister_runtime("lazy")


def evaluation_fails(b: Boundaries) -> None:
    cp.register_runtime(LazyRuntime())
    try:
        cp.eval([tensor(1), {"x": tensor(0).log()}])
    finally:
        cp.unregister_runtime("lazy")


CALLS: dict[str, Callable[[Boundaries], Any]] = {
    "compile": lambda b: cp.compile(step),
    "compiled, hit": lambda b: b.step(PARAMS, X),
    "compiled, hit by its hash": lambda b: (b.step(PARAMS, X), b.step(PARAMS, x=X[:, None])),
    "compiled, dynamic, hit": lambda b: b.any_size({"w": W[: 1 + next(NUMBERS) % 3], "rate": 2}, X),
    "compiled, method": lambda b: SCALE.of(X),
    "compiled, cache_info": lambda b: (b.step.cache_info(), repr(b.step)),
    "GuardCache": guarded,
    "graph of trace": lambda b: (b.traced(W, X), b.traced(x=X, w=W), b.traced.text()),
    "eval": lambda b: cp.eval(TREE, [X, None]),
    "register_runtime, unregister_runtime, eval": runtimes,
    "facts": lambda b: [*map(_native.array_facts([W, 3, W[1:]], READY).__getitem__, range(3))],
}
COSTLY: dict[str, Callable[[Boundaries], Any]] = {
    "compiled, miss, another goes": lambda b: b.few({**PARAMS, "n": next(NUMBERS)}, X),
    "compiled, miss, other sizes": lambda b: b.few(PARAMS, np.ones((4, next(NUMBERS)))),
    "compiled and forgotten": lambda b: cp.compile(lambda x: step(PARAMS, x))(X),
    "compiled, cleared": lambda b: (cp.compile(step)(PARAMS, X), b.any_size.clear(), b.any_size(PARAMS, X)),
    "compiled, explain": lambda b: str(b.step.explain({"w": X, "rate": 0.25}, [X])),
    "compiled, graphs": lambda b: str(b.few.graphs()),
    "trace": lambda b: cp.trace(layer, [W, X], names=["w", "x"]),
    "trace, in a file": lambda b: (b.traced.save(b.graph), Graph.load(b.graph)(W, X)),
    "save": lambda b: cp.save(FLAT, b.new, fsync=False),
    "save, a tree": lambda b: cp.save(TREE, b.new, fsync=False),
    "save, several files": lambda b: cp.save(FLAT, b.new, max_shard_bytes=50, fsync=False),
    "load": lambda b: cp.load(b.flat),
    "load, a tree": lambda b: cp.load(b.tree),
    "load, read": lambda b: cp.load(b.tree, mmap=False),
    "load, a part": lambda b: cp.load(b.tree, only="[7]"),
    "load, like": lambda b: cp.load(b.tree, like=TREE),
    "load, several files": lambda b: cp.load(b.several),
    "inspect": lambda b: repr(cp.inspect(b.tree)),
}
"""What takes tenths of milliseconds."""

FAILING: dict[str, Callable[[Boundaries], Any]] = {
    "compile, no function": lambda b: cp.compile(3),  # type: ignore[call-overload]
    "compiled, other arguments": lambda b: b.step(PARAMS),  # type: ignore[call-arg]
    "compiled, a leaf without ==": lambda b: b.step(PARAMS, [Unhashable()]),
    "compiled, a leaf with tensors": lambda b: b.step(PARAMS, [Holder()]),
    "compiled, on_miss": lambda b: b.ready(PARAMS, [X]),
    "trace, no list": lambda b: cp.trace(layer, 3),  # type: ignore[arg-type]
    "graph of trace, another size": lambda b: b.traced(X, X),
    "eval, failed": evaluation_fails,
}
FAILING_COSTLY: dict[str, Callable[[Boundaries], Any]] = {
    "compiled, fn raises": lambda b: cp.compile(fails)(PARAMS, X),
    "compiled, a branch on a value": lambda b: cp.compile(lambda x: 1 if x[0] else 2)(X),
    "trace, fn raises": lambda b: cp.trace(lambda tensors: fails(*tensors), [W, X]),
    "trace, no list of tensors": lambda b: cp.trace(lambda tensors: {"x": X}, [W]),  # type: ignore[arg-type,return-value]
    "save, a leaf that is refused": lambda b: cp.save([object()], b.new),
    "save, a name twice": lambda b: _native.array_facts([W, W[1:]], READY).encode(["a", "a"], []),
    "save, no folder": lambda b: cp.save(FLAT, f"{b.new}/x"),
    "load, cut": lambda b: cp.load(b.cut),
    "load, no such runtime": lambda b: cp.load(b.flat, runtime="none"),
    "load, unlike": lambda b: cp.load(b.tree, like=FLAT),
}
