"""The main job of clika_pytree, on the weights of a model.

    python examples/tour.py                      # weights shaped like GPT-2 small, nothing to download
    python examples/tour.py model.safetensors    # the weights in a file

Each step prints what it did and how long that took, and checks what it says: a wrong result ends the tour.
"""

import argparse
import dataclasses
import math
import tempfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import safetensors
from safetensors.numpy import load_file

import clika_pytree as cp

T = TypeVar("T")
Tree = Any


# ---- where the weights come from ----


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file under their dotted names, such as `encoder.layer.0.attention.weight`."""
    with safetensors.safe_open(path, framework="numpy") as file:
        stored = {name: file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118 (it is no dict)
    if not any(dtype == "BF16" or dtype.startswith("F8") for dtype in stored.values()):
        return load_file(path)
    return {name: widen(tensor) for name, tensor in safetensors.deserialize(path.read_bytes())}


def widen(tensor: dict[str, Any]) -> np.ndarray:
    """One stored tensor as an array. numpy has no bfloat16, whose 16 bits are the upper half of a float32."""
    dtype, data = tensor["dtype"], tensor["data"]
    if dtype == "BF16":
        array = (np.frombuffer(data, "<u2").astype(np.uint32) << 16).view(np.float32)
    elif dtype.startswith("F8"):
        array = np.frombuffer(data, np.uint8)  # nothing as simple for eight bits: the bytes as they are
    elif dtype == "BOOL":
        array = np.frombuffer(data, np.bool_)
    else:
        array = np.frombuffer(data, f"<{dtype[0].lower()}{int(dtype[1:]) // 8}")
    return array.reshape(tensor["shape"])


def gpt2_weights(layers: int = 12, width: int = 768) -> dict[str, np.ndarray]:
    """Weights with the names and shapes of GPT-2 small: gains 1, the rest 0, which costs no memory until written."""
    words, positions = 50257, 1024
    shapes: dict[str, tuple[int, ...]] = {"wte.weight": (words, width), "wpe.weight": (positions, width)}
    for layer in range(layers):
        block = f"h.{layer}"
        shapes |= {f"{block}.ln_1.weight": (width,), f"{block}.ln_1.bias": (width,)}
        shapes |= {f"{block}.attn.c_attn.weight": (width, 3 * width), f"{block}.attn.c_attn.bias": (3 * width,)}
        shapes |= {f"{block}.attn.c_proj.weight": (width, width), f"{block}.attn.c_proj.bias": (width,)}
        shapes |= {f"{block}.ln_2.weight": (width,), f"{block}.ln_2.bias": (width,)}
        shapes |= {f"{block}.mlp.c_fc.weight": (width, 4 * width), f"{block}.mlp.c_fc.bias": (4 * width,)}
        shapes |= {f"{block}.mlp.c_proj.weight": (4 * width, width), f"{block}.mlp.c_proj.bias": (width,)}
    shapes |= {"ln_f.weight": (width,), "ln_f.bias": (width,)}
    gains = {name for name in shapes if ".ln_" in f".{name}" and name.endswith("weight")}
    return {name: (np.ones if name in gains else np.zeros)(shape, np.float32) for name, shape in shapes.items()}


def nest(flat: dict[str, np.ndarray]) -> Tree:
    """`{"h.0.w": a, "h.1.w": b}` as `{"h": [{"w": a}, {"w": b}]}`: dots go down, names 0 to n-1 make a list."""
    root: dict[str, Any] = {}
    for name, tensor in flat.items():
        *folders, last = name.split(".")
        place = root
        for folder in folders:
            place = place.setdefault(folder, {})
            if not isinstance(place, dict):
                raise ValueError(f"{name!r} lies below the name of another tensor")
        if last in place:
            raise ValueError(f"{name!r} is the name of a tensor and of a group of tensors")
        place[last] = tensor
    return with_lists(root)


def with_lists(tree: Tree) -> Tree:
    """The same tree with a list for every dict whose keys count from "0"."""
    if not isinstance(tree, dict):
        return tree
    inner = {name: with_lists(value) for name, value in tree.items()}
    numbered = [str(index) for index in range(len(inner))]
    if inner and inner.keys() == set(numbered):
        return [inner[index] for index in numbered]
    return inner


# ---- two classes of our own ----


@cp.register_pytree_node_class(serialized_type_name="tour.Affine")
class Affine:
    """A weight and a bias that belong together: a class says itself what its children are, and its name in files."""

    def __init__(self, weight: Any, bias: Any) -> None:
        self.weight, self.bias = weight, bias

    def __tree_flatten__(self) -> tuple[tuple[Any, Any], None, tuple[str, str]]:
        return (self.weight, self.bias), None, ("weight", "bias")

    @classmethod
    def __tree_unflatten__(cls, context: None, children: tuple[Any, Any]) -> "Affine":
        return cls(*children)


@cp.register_dataclass(serialized_type_name="tour.Checkpoint")
@dataclasses.dataclass
class Checkpoint:
    """A dataclass: `weights` is a child, the field marked static is part of the structure."""

    weights: Tree
    source: str = dataclasses.field(metadata={"static": True})


def is_pair(node: object) -> bool:
    return type(node) is dict and node.keys() == {"weight", "bias"}


# ---- the steps ----


def timed(function: Callable[..., T], *args: Any, repeats: int = 5, **kwargs: Any) -> tuple[T, float]:
    """What `function` returns, and the seconds it takes at best."""
    times: list[float] = []
    while True:
        start = time.perf_counter()
        result = function(*args, **kwargs)
        times.append(time.perf_counter() - start)
        if len(times) >= repeats:
            return result, min(times)


def say(step: str, text: str, seconds: float | None = None) -> None:
    clock = "" if seconds is None else f"{seconds * 1e3:.3f} ms"
    print(f"{step:<11}{text:<57}{clock:>12}".rstrip())


def cut(text: object, width: int = 69) -> str:
    line = str(text)
    return line if len(line) <= width else line[: width - 4] + " ..."


def check(holds: bool, claim: str) -> None:
    if not holds:
        raise SystemExit(f"tour: this does not hold: {claim}")


def load(path: Path | None) -> Tree:
    flat, seconds = timed(read_weights, path, repeats=1) if path else timed(gpt2_weights, repeats=1)
    say("weights", cut(path, 57) if path else "a stand-in with the names and shapes of GPT-2 small", seconds)
    tree, seconds = timed(nest, flat)
    top = ", ".join(tree) if isinstance(tree, dict) else f"{len(tree)} items"
    say("nest", f"{len(flat)} dotted names nest below: {cut(top, 28)}", seconds)
    return tree


def flatten_and_rebuild(tree: Tree) -> cp.TreeSpec:
    (leaves, spec), seconds = timed(cp.tree_flatten, tree)
    say("flatten", f"{spec.num_leaves} leaves and a spec of {spec.num_nodes} nodes", seconds)
    say("", cut(spec))

    rebuilt, seconds = timed(cp.tree_unflatten, spec, leaves)
    check(cp.tree_structure(rebuilt) == spec, "the rebuilt tree has the structure of the first one")
    check(all(a is b for a, b in zip(cp.tree_leaves(rebuilt), leaves, strict=True)), "its leaves are the same arrays")
    check(rebuilt is not tree, "it is a new tree")
    say("rebuild", "a new tree around the very same arrays", seconds)
    return spec


def map_over(tree: Tree) -> None:
    sizes, seconds = timed(cp.tree_map, lambda array: array.nbytes, tree)
    total = cp.tree_sum(sizes)
    check(total == sum(array.nbytes for array in cp.tree_leaves(tree)), "the sizes add up")
    say("map", f"bytes: {total:,} in all, {cp.tree_max(sizes):,} in the largest", seconds)

    same, seconds = timed(cp.tree_map, lambda array, size: array.nbytes == size, tree, sizes)
    check(cp.tree_all(same), "two trees of one structure are walked side by side")
    say("map two", "the tree beside the tree of sizes, leaf by leaf", seconds)

    length, seconds = timed(norm, tree, repeats=1)
    check(math.isfinite(length), "the weights are finite numbers")
    say("reduce", f"the length of all weights as one vector: {length:.3f}", seconds)


def norm(tree: Tree) -> float:
    return math.sqrt(cp.tree_sum(cp.tree_map(squared, tree)))


def squared(array: np.ndarray) -> float:
    """The sum of the squares of a float array; whole numbers, such as positions, are no weights."""
    if array.dtype.kind != "f":
        return 0.0
    wide = array.astype(np.float32, copy=False)  # squares of float16 overflow
    return float(np.vdot(wide, wide))


def compare(tree: Tree, spec: cp.TreeSpec) -> None:
    copy = cp.tree_map(lambda array: array, tree)
    equal, seconds = timed(lambda: cp.tree_structure(copy) == spec)
    check(equal and hash(cp.tree_structure(copy)) == hash(spec), "equal structures are equal and hash alike")
    say("compare", "a mapped copy has an equal structure, with an equal hash", seconds)

    drop_last(copy)
    check(cp.tree_structure(copy) != spec, "a tree with one entry less differs")
    try:
        cp.tree_map(lambda a, b: None, tree, copy)
    except ValueError as error:
        say("", "with one entry less it differs, and walking both raises")
        for line in textwrap.wrap(f"{type(error).__name__}: {error}", 69):
            say("", line)
    else:
        check(False, "walking two trees of different structure raises")


def drop_last(tree: Tree) -> None:
    """Take the last entry out of the innermost dict or list at the end of the tree."""
    last = tree[-1] if isinstance(tree, list) else tree[next(reversed(tree))]
    if isinstance(last, (dict, list)):
        drop_last(last)
    elif isinstance(tree, list):
        tree.pop()
    else:
        tree.popitem()


def register(tree: Tree, source: str) -> Checkpoint:
    typed, seconds = timed(cp.tree_map, pair_to_affine, tree, is_leaf=is_pair)
    pairs = sum(type(leaf) is Affine for leaf in cp.tree_leaves(typed, is_leaf=lambda node: type(node) is Affine))
    before, after = ({id(leaf) for leaf in cp.tree_leaves(each)} for each in (tree, typed))
    check(before == after, "a registered class hides no leaf")
    say("class", f"{pairs} pairs of weight and bias become Affine nodes", seconds)

    checkpoint = Checkpoint(typed, source)
    (leaves, spec), seconds = timed(cp.tree_flatten, checkpoint)
    rebuilt = cp.tree_unflatten(spec, leaves)
    check(type(rebuilt) is Checkpoint and rebuilt.source == source, "a dataclass comes back with its static field")
    check(cp.tree_structure(Checkpoint(typed, "another")) != spec, "a static field is part of the structure")
    say("dataclass", f"{spec.num_leaves} leaves, and source {cut(repr(source), 24)} in the spec", seconds)
    return checkpoint


def pair_to_affine(node: Any) -> Any:
    return Affine(**node) if is_pair(node) else node


def save_and_load(checkpoint: Checkpoint) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "checkpoint.safetensors")
        _, seconds = timed(cp.save, checkpoint, path, fsync=False, repeats=1)  # a demo may be lost with the power
        summary = cp.inspect(path)
        say("save", f"{summary.file_bytes:,} bytes in one file", seconds)

        back, seconds = timed(cp.load, path)
        leaves, spec = cp.tree_flatten(checkpoint)
        check(cp.tree_structure(back) == spec, "a loaded tree has its classes and static fields")
        same = (np.array_equal(a, b) for a, b in zip(leaves, cp.tree_leaves(back), strict=True))
        check(all(same), "the arrays of a file are those that were saved")
        say("load", "the same tree, its file mapped", seconds)

        say("inspect", "what the header of the file says, without its arrays")
        print(summary.table)
        del back


def main() -> None:
    parser = argparse.ArgumentParser(description="A tour of clika_pytree on the weights of a model.")
    parser.add_argument("weights", nargs="?", type=Path, help="a .safetensors file; without one, a stand-in for GPT-2")
    path: Path | None = parser.parse_args().weights
    print(f"clika_pytree {cp.__version__}, numpy {np.__version__}")
    try:
        tree = load(path)
    except (OSError, ValueError, safetensors.SafetensorError) as error:
        parser.error(f"cannot read {path}: {error}")
    spec = flatten_and_rebuild(tree)
    map_over(tree)
    compare(tree, spec)
    save_and_load(register(tree, path.name if path else "stand-in"))
    print("Everything said above was checked.")


if __name__ == "__main__":
    main()
