"""A structure is small: at most 24 bytes for a container, 8 for a leaf and 8 for a key or field, and what one takes."""

import sys
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import clika_pytree as cp

Point = namedtuple("Point", ["x", "y"])
ALONE = 256


def keys_in(tree: object) -> int:
    """All keys of dicts and fields of namedtuples in a tree of built-in containers."""
    if isinstance(tree, dict):
        return len(tree) + sum(map(keys_in, tree.values()))
    if isinstance(tree, Point):
        return 2 + sum(map(keys_in, tree))
    return sum(map(keys_in, tree)) if isinstance(tree, (list, tuple, deque)) else 0


def block(i: int) -> dict:
    return {f"w{i}": {"q": 0, "k": [1, 2, 3]}, "b": (4, {"m": 5})}


TREES = {
    "a leaf": 0,
    "nothing": [],
    "a list": list(range(10_000)),
    "a dict": dict.fromkeys(range(10_000), 0),
    "an OrderedDict": OrderedDict.fromkeys(range(10_000), 0),
    "a defaultdict": defaultdict(list, dict.fromkeys(range(10_000), 0)),
    "a deque": deque(range(10_000), maxlen=20_000),
    "lists of one": [[i] for i in range(5_000)],
    "empty containers": [[[], (), {}] for _ in range(2_000)],
    "lists with leaves between": [x for i in range(5_000) for x in ([], i)],
    "dicts of one key": [{"x": i} for i in range(5_000)],
    "wide dicts": [{f"k{i}": i for i in range(100)} for _ in range(100)],
    "namedtuples": [Point(i, [i]) for i in range(3_000)],
    "blocks": [block(i) for i in range(500)],
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_a_structure_takes_24_bytes_a_container_and_8_a_leaf_and_key(tree):
    leaves, spec = cp.tree_flatten(tree)
    allowed = 24 * (spec.num_nodes - len(leaves)) + 8 * (len(leaves) + keys_in(tree)) + ALONE
    assert sys.getsizeof(spec) <= allowed
    # As much as it says, and no more after it was compared and hashed.
    twin = cp.tree_structure(tree)
    assert spec == twin
    assert hash(spec) == hash(twin)
    assert sys.getsizeof(spec) <= allowed


@pytest.mark.parametrize("name", ["a list", "a dict"])
def test_leaves_side_by_side_cost_nothing(name):
    tree = TREES[name]
    assert sys.getsizeof(cp.tree_structure(tree)) <= 8 * keys_in(tree) + ALONE


def test_a_deep_structure_is_no_larger_by_node():
    tree = 0
    for _ in range(100_000):
        tree = [tree]
    assert sys.getsizeof(cp.tree_structure(tree)) <= 24 * 100_000 + ALONE
