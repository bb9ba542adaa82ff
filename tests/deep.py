"""Trees that are one long chain of containers, built and compared in loops, since Python's own recursion ends early."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from classes import Box, Cell

FULL_DEPTH = 1_000_000
HALF_WAY = 100_000
RECURSIVELY_FREED = 50_000
"""CPython frees these containers recursively, so none of them can be nested much deeper."""


class One(NamedTuple):
    item: Any


WRAP: dict[str, Callable[[Any], Any]] = {
    "list": lambda below: [below],
    "tuple": lambda below: (below,),
    "dict": lambda below: {"k": below},
    "ordereddict": lambda below: OrderedDict(k=below),
    "namedtuple": One,
    "custom": Box,
    "dataclass": lambda below: Cell(0, below),
    "deque": lambda below: deque((below,), 1),
    "defaultdict": lambda below: defaultdict(None, k=below),
}
UNWRAP: dict[type, Callable[[Any], Any]] = {
    list: lambda node: node[0],
    tuple: lambda node: node[0],
    dict: lambda node: node["k"],
    OrderedDict: lambda node: node["k"],
    One: lambda node: node.item,
    Box: lambda node: node.item,
    Cell: lambda node: node.value,
    deque: lambda node: node[0],
    defaultdict: lambda node: node["k"],
}
TYPES: dict[str, type] = {
    "list": list,
    "tuple": tuple,
    "dict": dict,
    "ordereddict": OrderedDict,
    "namedtuple": One,
    "custom": Box,
    "dataclass": Cell,
    "deque": deque,
    "defaultdict": defaultdict,
}
ENTRY = {"dict": "k", "ordereddict": "k", "defaultdict": "k", "namedtuple": "item", "dataclass": "value"}


class Chain:
    """A leaf under `depth` containers of one kind. It prints as a few words, whatever it holds."""

    def __init__(self, kind: str, depth: int, leaf: Any = 1) -> None:
        self.kind, self.depth, self.leaf = kind, depth, leaf
        wrap = WRAP[kind]
        tree = leaf
        for _ in range(depth):
            tree = wrap(tree)
        self.tree = tree

    def __repr__(self) -> str:
        return f"<{self.depth} times {self.kind}>"

    def end_of(self, tree: Any) -> tuple[int, Any]:
        """How many containers of this chain's kind `tree` is, and what stands below them."""
        cls, unwrap, depth = TYPES[self.kind], UNWRAP[TYPES[self.kind]], 0
        while type(tree) is cls and depth <= self.depth:
            tree = unwrap(tree)
            depth += 1
        return depth, tree

    def has_leaf(self, tree: Any, leaf: Any) -> bool:
        """Whether `tree` is this chain around `leaf`; an answer that fails does not print the tree."""
        depth, end = self.end_of(tree)
        return depth == self.depth and end is leaf
