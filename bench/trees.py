"""The trees that are measured: each a shape that programs have, or the extreme of one kind of node."""

import dataclasses
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

Tree = Any

moments = namedtuple("moments", ["m", "v"])


def leaf() -> Tree:
    return np.zeros(1, np.float32)


def linear() -> Tree:
    return {"w": leaf(), "b": leaf()}


def norm() -> Tree:
    return {"g": leaf(), "b": leaf()}


def args() -> Tree:
    """The arguments of one call."""
    return ((leaf(), {"ids": leaf(), "mask": leaf()}), {"cache": None})


def block() -> Tree:
    """A transformer's layer: 16 leaves, three levels deep."""
    attention = {name: linear() for name in "qkvo"}
    return {"attn": attention, "ln1": norm(), "ln2": norm(), "mlp": {"fc1": linear(), "fc2": linear()}}


def gpt12() -> Tree:
    return {"wte": leaf(), "wpe": leaf(), "h": [block() for _ in range(12)], "lnf": norm()}


def deep(levels: int = 100) -> Tree:
    tree = leaf()
    for level in range(levels):
        tree = [tree] if level % 2 else {"x": tree}
    return tree


def adam() -> Tree:
    """What an optimizer keeps: two moments for each of 100 parameters, as namedtuples."""
    return {"step": leaf(), "state": [moments(leaf(), leaf()) for _ in range(100)]}


HERE = {"__module__": __name__}
DATACLASSES = [dataclasses.make_dataclass(f"Layer{i}", ["weight", "bias"], namespace=HERE) for i in range(100)]


class Pair:
    def __init__(self, first: Tree, second: Tree) -> None:
        self.first, self.second = first, second

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]


PAIRS = [type(f"Pair{i}", (Pair,), {}) for i in range(100)]
# Where pickle looks for them.
globals().update({made.__name__: made for made in DATACLASSES + PAIRS})


def flatten_pair(pair: Pair) -> tuple[tuple[Tree, Tree], None]:
    """What is registered for each class of PAIRS, with every engine."""
    return (pair.first, pair.second), None


TREES: dict[str, Callable[[], Tree]] = {
    "leaf": leaf,
    "args": args,
    "mlp8": lambda: {f"layer{i}": linear() for i in range(8)},
    "gpt12": gpt12,
    "dict1000": lambda: {f"k{i}": leaf() for i in range(1000)},
    "list10000": lambda: [leaf() for _ in range(10000)],
    "deep100": deep,
    "adam": adam,
    "dataclasses100": lambda: [made(leaf(), leaf()) for made in DATACLASSES],
    "classes100": lambda: [made(leaf(), leaf()) for made in PAIRS],
}

VARIANTS = 64


def variants(tree: Tree) -> list[Tree]:
    """The tree under 64 keys: as many structures, so that none that is remembered helps."""
    return [{f"variant{i}": tree} for i in range(VARIANTS)]


def growing(leaves: int) -> Tree:
    """A model of blocks with ten leaves in four containers each. The leaves are plain objects: 10 million arrays would
    take more memory than many machines have."""

    def unit() -> Tree:
        attention = {"q": object(), "k": object(), "v": object(), "o": object()}
        return {"attn": attention, "norm": (object(), object()), "mlp": [object() for _ in range(4)]}

    return [unit() for _ in range(leaves // 10)]
