"""What instructions.py counts: `python bench/counted.py` runs each operation n and then 2n times.

A call of os.getppid stands before and after each series, where callgrind writes down its counts. As little as possible
is imported, since under valgrind an import takes fifty times as long.
"""

import contextlib
import dataclasses
import gc
import itertools
import os
import sys

from floor import build_floor

import clika_pytree as cp

OURS, FLOOR = "clika_pytree", "floor"


class Leaf:
    """No container, and nothing that the library knows."""


def make_list(leaves=200):
    return [Leaf() for _ in range(leaves)]


def make_dict(leaves=200):
    return {f"key_{i}": Leaf() for i in range(leaves)}


def linear():
    return {"w": Leaf(), "b": Leaf()}


def norm():
    return {"g": Leaf(), "b": Leaf()}


def make_gpt12():
    """The tree of that name in trees.py, which imports numpy."""
    attention = ["q", "k", "v", "o"]
    blocks = [
        {
            "attn": {name: linear() for name in attention},
            "ln1": norm(),
            "ln2": norm(),
            "mlp": {"fc1": linear(), "fc2": linear()},
        }
        for _ in range(12)
    ]
    return {"wte": Leaf(), "wpe": Leaf(), "h": blocks, "lnf": norm()}


def make_dataclasses():
    layers = [
        cp.register_dataclass(dataclasses.make_dataclass(f"Layer{i}", ["weight", "bias"], slots=i % 2 == 0))
        for i in range(10)
    ]
    return [layer(Leaf(), Leaf()) for _ in range(10) for layer in layers]


# The long ones tell whether a leaf costs the same in a large tree.
SHAPES = {
    "list": make_list,
    "dict": make_dict,
    "gpt12": make_gpt12,
    "gpt12 sorted": make_gpt12,
    "dataclasses": make_dataclasses,
    "list 20000": lambda: make_list(20_000),
    "dict 20000": lambda: make_dict(20_000),
}
# Those that are counted inside `dict_insertion_ordered(False)`.
SORTED = {"gpt12 sorted"}


def operations(tree):
    leaves, spec = cp.tree_flatten(tree)
    # As in engines.py: no structure is remembered from one call to the next.
    upcoming = itertools.cycle([{f"variant{i}": tree} for i in range(64)]).__next__
    return {
        "flatten": lambda: cp.tree_flatten(upcoming()),
        "flatten_again": lambda: cp.tree_flatten(tree),
        "leaves": lambda: cp.tree_leaves(tree),
        "flatten_up_to": lambda: spec.flatten_up_to(tree),
        "unflatten": lambda: spec.unflatten(leaves),
        # A function written in C, so that little of the figure is the interpreter's.
        "map": lambda: cp.tree_map(callable, tree),
        "map_anew": lambda: cp.tree_map(callable, upcoming()),
    }


def operations_of_floor(floor, tree):
    leaves, spec = floor.flatten(tree)
    upcoming = itertools.cycle([{f"variant{i}": tree} for i in range(64)]).__next__
    return {
        "flatten": lambda: floor.flatten(upcoming()),
        "flatten_up_to": lambda: floor.match(spec, tree),
        "unflatten": lambda: floor.unflatten(spec, leaves),
        "map": lambda: floor.map(callable, tree),
    }


def series():
    """Each series to be counted: engine, shape, operation, number of leaves, runs and the call."""
    floor = build_floor()
    for shape, make in SHAPES.items():
        with cp.dict_insertion_ordered(False) if shape in SORTED else contextlib.nullcontext():
            yield from series_of(shape, make(), floor)


def series_of(shape, tree, floor):
    leaves = len(cp.tree_leaves(tree))
    runs = max(2, 4000 // leaves)
    engines = {OURS: operations(tree)}
    # The floor knows neither classes nor sorted keys, nor why a leaf would cost more in a large tree.
    if floor and leaves < 1000 and shape in ("list", "dict", "gpt12"):
        engines[FLOOR] = operations_of_floor(floor, tree)
    for engine, calls in engines.items():
        for operation, call in calls.items():
            yield engine, shape, operation, leaves, runs, call
            yield engine, shape, operation, leaves, 2 * runs, call


if __name__ == "__main__":
    gc.disable()  # it would run when it pleases
    for *_, runs, call in series():
        for _ in range(4):
            call()  # what is made once and used again is made here
        os.getppid()
        for _ in range(runs):
            call()
        os.getppid()
    sys.stdout.write("counted\n")
