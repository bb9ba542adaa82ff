"""Operations where a runtime meets the tree of a world: compile, trace, eval, save, load."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hook_classes import hook
from hook_runtime import HookRuntime
from hook_world import World

import clika_pytree as cp

FOLDER = tempfile.TemporaryDirectory(prefix="hooks-")
KEPT = Path(FOLDER.name, "kept.safetensors")


class Holder:
    """Not registered, and so a leaf."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


def comparable(w: World) -> Any:
    """The tree without the node whose children are others each time."""
    return {name: node for name, node in w.tree.items() if name != "fresh"}


def compiled_by(w: World, **options: Any) -> Any:
    # Not the method, whose object would be an argument.
    return cp.compile(lambda tree, x: w.compute(tree, x), **options)


def calls(w: World, **options: Any) -> Any:
    """Calls that need a graph, find it, find another one, and find it by its hash."""
    compiled = compiled_by(w, **options)
    tree, x = comparable(w), w.tensor
    results = [compiled(tree, x), compiled(tree, x), compiled(x, x), compiled(tree, x)]
    return results, compiled.cache_info()


def explained(w: World) -> Any:
    compiled = compiled_by(w)
    tree, x = comparable(w), w.tensor
    compiled(tree, x)
    others = [({**tree, "last": [x, tree["list"]]}, x), ({**tree, "strange": 1}, x + x)]
    explanations = [str(compiled.explain(*other)) for other in others]
    return explanations, [row.key for row in compiled.graphs()]


def refused(w: World, other: Callable[[Any, Any], Any]) -> Any:
    compiled = compiled_by(w)
    tree, x = comparable(w), w.tensor
    compiled(tree, x)
    compiled.on_miss = "error"
    return compiled(*other(tree, x))


def traced(w: World) -> Any:
    x = w.tensor
    graph = cp.trace(w.layer, [x, x], names=["x", "y"], outputs=["sum", "first"])
    return graph(x, y=x), graph.text(), graph.inputs, graph.outputs


def written(obj: Any, **options: Any) -> Any:
    # A folder of its own: a deed may save, too.
    with tempfile.TemporaryDirectory(dir=FOLDER.name) as folder:
        cp.save(obj, Path(folder, "tree.safetensors"), fsync=False, **options)
        return [path.read_bytes() for path in sorted(Path(folder).glob("*.safetensors"))]


def kept(w: World) -> Path:
    """A file of what an undisturbed world has to save."""
    if not KEPT.exists():
        cp.save(w.savable, KEPT)
    return KEPT


def progress(done: int, total: int) -> None:
    hook("progress")


def wanted(name: str) -> bool:
    hook("only")
    return True


class PassingRuntime(HookRuntime):
    """Each has a name of its own: a call within a call registers a second one."""

    modules = ("passing_tensors",)
    numbers = itertools.count()

    def __init__(self) -> None:
        self.name = f"passing {next(self.numbers)}"


def register_runtime(w: World) -> Any:
    """Another one that comes and goes; what is remembered of all classes goes with it."""
    runtime = PassingRuntime()
    try:
        cp.register_runtime(runtime)
        cp.eval(w.savable)
    finally:
        with contextlib.suppress(cp.RegistrationError):
            cp.unregister_runtime(runtime)
    return cp.tree_leaves(w.savable)


BOUNDARIES: dict[str, Callable[[World], Any]] = {
    "compile": calls,
    "compile, dynamic": lambda w: calls(w, dynamic=True),
    "compile, evicting": lambda w: calls(w, max_graphs=1, runtime="hooked"),
    "compile, explain": explained,
    "compile, refused": lambda w: refused(w, lambda tree, x: ({**tree, "last": tree["list"]}, x)),
    "compile, unregistered": lambda w: refused(w, lambda tree, x: ({**tree, "last": Holder(x)}, x)),
    "trace": traced,
    "eval": lambda w: cp.eval(w.tree, [w.tensor, {"sum": w.tensor + w.tensor}]),
    "save": lambda w: written(w.savable, progress=progress),
    "save, flat": lambda w: written({"x": w.tensor, "sum": w.tensor + w.tensor, "n": 3}),
    "save, shards": lambda w: written(w.savable, max_shard_bytes=8),
    "load": lambda w: cp.load(kept(w), runtime="hooked"),
    "load, like": lambda w: cp.load(kept(w), like=w.savable, only=wanted),
    "load, read": lambda w: cp.load(kept(w), runtime="hooked", mmap=False, progress=progress),
    "inspect": lambda w: repr(cp.inspect(kept(w))),
    "register_runtime, unregister_runtime": register_runtime,
}
