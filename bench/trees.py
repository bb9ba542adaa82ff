"""The trees that are measured: each a shape that programs have, or the extreme of one kind of node.

The leaves are plain objects. None of the libraries looks at a leaf beyond its type, so arrays would measure the same.
"""

import dataclasses
from collections import namedtuple
from collections.abc import Callable
from typing import Any

Tree = Any


class Leaf:
    """No library knows this class."""


Moments = namedtuple("Moments", ["first", "second"])


@dataclasses.dataclass
class Linear:
    """Registered by each library that has dataclasses, see compare.py. `name` is no child."""

    weight: Any
    bias: Any
    name: str = dataclasses.field(default="linear", metadata={"static": True})


def linear() -> dict[str, Tree]:
    return {"weight": Leaf(), "bias": Leaf()}


def block() -> dict[str, Tree]:
    """A transformer's layer: 16 leaves, three levels deep."""
    return {
        "norm_1": {"gain": Leaf(), "shift": Leaf()},
        "attention": {name: linear() for name in ("query", "key", "value", "out")},
        "norm_2": {"gain": Leaf(), "shift": Leaf()},
        "mlp": {"up": linear(), "down": linear()},
    }


def transformer() -> Tree:
    return {"tokens": Leaf(), "positions": Leaf(), "blocks": [block() for _ in range(12)], "head": linear()}


def call() -> Tree:
    """The arguments of one call: a state and a batch."""
    batch = {"ids": Leaf(), "mask": Leaf(), "labels": (Leaf(), Leaf())}
    return ([linear(), linear()], batch, Leaf())


def optimizer() -> Tree:
    """What Adam keeps: two moments for each of 100 parameters, as namedtuples."""
    return {"step": Leaf(), "moments": {f"parameter_{i}": Moments(Leaf(), Leaf()) for i in range(100)}}


def modules() -> Tree:
    return [[Linear(Leaf(), Leaf()) for _ in range(4)] for _ in range(25)]


def deep(levels: int = 200) -> Tree:
    tree: Tree = Leaf()
    for level in range(levels):
        tree = {"inner": tree} if level % 2 else [tree]
    return tree


TREES: dict[str, Callable[[], Tree]] = {
    "leaf": Leaf,
    "call": call,
    "transformer": transformer,
    "optimizer": optimizer,
    "modules": modules,
    "pairs": lambda: tuple((Leaf(), Leaf()) for _ in range(500)),
    "dict": lambda: {f"key_{i}": Leaf() for i in range(1000)},
    "list": lambda: [Leaf() for _ in range(10000)],
    "deep": deep,
}
