"""Large trees, and every operation that takes long on some of them."""

from __future__ import annotations

import operator
from collections import OrderedDict, deque
from collections.abc import Callable
from functools import partial
from typing import Any

from classes import Cell, Pair, Tagged

import clika_pytree as cp
from clika_pytree import _native

Work = Callable[[], Any]
Prepare = Callable[[Any, Any], Work]


def nested(depth: int) -> Any:
    tree: Any = 0
    for _ in range(depth):
        tree = [tree]
    return tree


def context(count: int) -> Any:
    """A value of tuples, lists and a set, as deep as it is wide."""
    value: Any = 0
    for number in range(count // 5):
        value = (number, value)
    return [value, [(number,) for number in range(count // 5)], {*range(count // 5)}]


TREES: dict[str, Callable[[int], Any]] = {
    "leaves": lambda n: [*range(n)],
    "containers": lambda n: [({"k": i}, [], i) for i in range(n // 4)],
    "keys": lambda n: {f"key {i}": i for i in range(n)},
    "odd keys": lambda n: {(i, "odd key"): i for i in range(n)},
    "ordered": lambda n: OrderedDict((f"key {i}", i) for i in range(n)),
    "deque": lambda n: deque(range(n)),
    "registered": lambda n: [Pair(i, Cell(i, i)) for i in range(n // 4)],
    "chain": nested,
    "context": lambda n: Tagged(0, 0, context(n)),
}
"""By name, what makes a tree of about so many nodes and leaves, or a context of so many values."""


def of_structure(deed: Callable[..., Any], *arguments: Any) -> Prepare:
    """What is done with the structure of a tree."""
    return lambda tree, _: partial(deed, cp.tree_structure(tree), *arguments)


def of_two_structures(deed: Callable[[cp.TreeSpec, cp.TreeSpec], Any]) -> Prepare:
    return lambda tree, twin: partial(deed, cp.tree_structure(tree), cp.tree_structure(twin))


def of_leaves(deed: Callable[..., Any], *arguments: Any) -> Prepare:
    """What is done with the structure and the leaves of a tree."""

    def prepare(tree: Any, _: Any) -> Work:
        leaves, spec = cp.tree_flatten(tree)
        return partial(deed, spec, leaves, *arguments)

    return prepare


def unflatten_again(tree: Any, _: Any) -> Work:
    leaves, spec = cp.tree_flatten(tree)
    spec.unflatten(leaves)
    return partial(spec.unflatten, leaves)


def of_tree(deed: Callable[..., Any], *functions: Any) -> Prepare:
    return lambda tree, _: partial(deed, *functions, tree)


def sorted_keys(tree: Any) -> Any:
    with cp.dict_insertion_ordered(False):
        return cp.tree_flatten(tree)


def loads(tree: Any, _: Any) -> Work:
    return partial(cp.treespec_loads, cp.treespec_dumps(cp.tree_structure(tree)))


def unpickle(tree: Any, _: Any) -> Work:
    make, state = cp.tree_structure(tree).__reduce__()
    return partial(make, *state)


OPERATIONS: dict[str, Prepare] = {
    "flatten": of_tree(cp.tree_flatten),
    "flatten with is_leaf": lambda tree, _: partial(cp.tree_flatten, tree, callable),
    "flatten by sorted key": of_tree(sorted_keys),
    "leaves": of_tree(cp.tree_leaves),
    "iter": lambda tree, _: partial(deque, cp.tree_iter(tree), 0),
    "structure": of_tree(cp.tree_structure),
    "map": of_tree(cp.tree_map, operator.not_),
    "map for effect": of_tree(cp.tree_map_, operator.not_),
    "map of two trees": lambda tree, twin: partial(cp.tree_map, operator.is_, tree, twin),
    "map with path": of_tree(cp.tree_map_with_path, operator.is_),
    "map some": of_tree(cp.tree_map_only, int, operator.not_),
    "flatten with path": of_tree(cp.tree_flatten_with_path),
    "paths": of_tree(cp.tree_paths),
    "unflatten": of_leaves(cp.TreeSpec.unflatten),
    "unflatten again": unflatten_again,
    "unflatten from an iterator": lambda tree, _: partial(cp.tree_structure(tree).unflatten, cp.tree_iter(tree)),
    "walk": of_leaves(cp.TreeSpec.walk, "{.__name__}".format, operator.not_),
    "hash": of_structure(hash),
    "print": of_structure(repr),
    "fingerprint": of_structure(cp.TreeSpec.fingerprint),
    "pickle": of_structure(cp.TreeSpec.__reduce__),
    "unpickle": unpickle,
    "dumps": of_structure(cp.treespec_dumps),
    "loads": loads,
    "children": of_structure(cp.TreeSpec.children),
    "leaf names": of_structure(_native.leaf_names),
    "namespace": of_structure(operator.attrgetter("namespace")),
    "transform": of_structure(cp.TreeSpec.transform, cp.TreeSpec.__copy__, cp.TreeSpec.__copy__),
    "compose": of_structure(cp.TreeSpec.compose, cp.tree_structure([0, [1]])),
    "equality": of_two_structures(operator.eq),
    "prefix": of_two_structures(operator.le),
    "broadcast": of_two_structures(cp.TreeSpec.broadcast),
    "flatten up to": lambda tree, twin: partial(cp.tree_structure(tree).flatten_up_to, twin),
    "sum": of_tree(cp.tree_sum),
    "any": lambda tree, _: partial(cp.tree_any, operator.not_, cp.tree_map(bool, tree)),
    "diff": lambda tree, twin: partial(cp.tree_diff, tree, twin, leaves=True),
    "summary": of_tree(cp.tree_summary),
    "partition": of_tree(cp.tree_partition, operator.not_),
    "combine": lambda tree, _: partial(cp.tree_combine, *cp.tree_partition(operator.not_, tree)),
    "ravel": of_tree(cp.tree_ravel),
    "transpose": lambda tree, twin: partial(
        cp.tree_transpose, cp.tree_structure([0, 0]), cp.tree_structure(tree), [tree, twin]
    ),
}
"""By name, what makes an operation of a tree and its twin: to be called once, since a structure remembers answers.

Functions that the operations call are written in C: so only the library itself looks at signals.
"""

NOT_FOR = {"context": ("loads", "dumps", "print")}
"""Operations that refuse a tree: contexts of lists and sets are no JSON, and Python's own printing recurses."""

IN_PYTHON = {"dumps", "loads", "diff", "summary", "ravel", "flatten by sorted key"}
