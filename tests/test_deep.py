"""No operation has a limit to depth or needs the native stack: every one of them on chains of containers."""

from __future__ import annotations

import copy
import dataclasses
import gc
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from classes import Pair, Tagged
from deep import ENTRY, FULL_DEPTH, HALF_WAY, RECURSIVELY_FREED, WRAP, Chain, One
from helpers import SMALL_STACK, notes, run_in_thread

import clika_pytree as cp

KINDS = ["list", "tuple", "dict", "ordereddict", "namedtuple", "custom", "dataclass"]
CHAINS = [
    *[pytest.param((kind, HALF_WAY), id=f"{kind} {HALF_WAY}") for kind in KINDS],
    *[pytest.param((kind, RECURSIVELY_FREED), id=f"{kind} {RECURSIVELY_FREED}") for kind in ("deque", "defaultdict")],
    *[pytest.param((kind, FULL_DEPTH), id=f"{kind} {FULL_DEPTH}", marks=pytest.mark.slow) for kind in KINDS],
]


@pytest.fixture(scope="module", params=CHAINS)
def chain(request: pytest.FixtureRequest) -> Iterator[Chain]:
    # One chain lives at a time. Walking a million objects in every collection would only cost time.
    made = Chain(*request.param)
    gc.disable()
    yield made
    made.tree = None
    gc.enable()


# --- trees ------------------------------------------------------------------------------------------------------------


def check_reading(chain: Chain) -> cp.TreeSpec:
    leaves, spec = cp.tree_flatten(chain.tree)
    assert len(leaves) == 1
    assert leaves[0] is chain.leaf
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (1, chain.depth + 1, 1)
    assert spec.kind == chain.kind
    assert cp.tree_leaves(chain.tree) == [chain.leaf]
    assert list(cp.tree_iter(chain.tree)) == [chain.leaf]
    assert cp.tree_structure(chain.tree) == spec
    return spec


def check_rebuilding(chain: Chain, spec: cp.TreeSpec) -> list:
    leaf = object()
    trees = [spec.unflatten([leaf]), cp.tree_unflatten([leaf], spec), cp.tree_map(lambda _: leaf, chain.tree)]
    assert all(chain.has_leaf(tree, leaf) for tree in trees)
    return trees


def test_flatten(chain):
    check_reading(chain)


def test_is_leaf_is_asked_all_the_way_down(chain):
    asked = 0

    def count(obj: Any) -> bool:
        nonlocal asked
        asked += 1
        return False

    cp.tree_leaves(chain.tree, is_leaf=count)
    assert asked == chain.depth + 1
    assert cp.tree_leaves(chain.tree, none_is_leaf=False) == [chain.leaf]


def test_sorted_keys(chain):
    with cp.dict_insertion_ordered(False):
        leaves, spec = cp.tree_flatten(chain.tree)
    assert leaves == [chain.leaf]
    assert spec == cp.tree_structure(chain.tree)


def test_unflatten_and_map(chain):
    check_rebuilding(chain, cp.tree_structure(chain.tree))


def test_map_over_several_trees_and_for_effect(chain):
    mapped = cp.tree_map(lambda x, y: (x, y), chain.tree, chain.tree, is_leaf=None)
    depth, end = chain.end_of(mapped)
    # A tuple chain goes on into the tuple that the function made.
    assert (depth, end) in [(chain.depth, (1, 1)), (chain.depth + 1, 1)]
    seen: list = []
    assert cp.tree_map_(lambda *leaves: seen.append(leaves), chain.tree, chain.tree) is chain.tree
    assert seen == [(1, 1)]
    token = object()
    assert chain.has_leaf(cp.tree_map_only(int, lambda _: token, chain.tree), token)
    assert cp.tree_map_only_(str, seen.append, chain.tree) is chain.tree


def test_reductions(chain):
    assert cp.tree_sum(chain.tree) == cp.tree_max(chain.tree) == cp.tree_min(chain.tree) == 1
    assert cp.tree_all(chain.tree) is cp.tree_any(chain.tree) is True
    assert cp.tree_reduce(lambda a, b: a + b, chain.tree, 10) == 11


def test_errors_at_the_bottom(chain):
    def fail(leaf: Any) -> None:
        raise LookupError("deep down")

    with pytest.raises(LookupError) as caught:
        cp.tree_map(fail, chain.tree)
    assert 0 < len(notes(caught.value)) < 1000

    other = Chain(chain.kind, chain.depth, leaf=WRAP["list" if chain.kind != "list" else "dict"](0))
    with pytest.raises(cp.StructureError) as caught:
        cp.tree_map(lambda x, y: None, chain.tree, other.tree)
    assert len(str(caught.value)) < 1000
    one_step = {"k": "['k']", "item": ".item", "value": ".value"}.get(ENTRY.get(chain.kind, 0))
    step = one_step or ("[<flat index 0>]" if chain.kind == "custom" else "[0]")
    assert caught.value.path == step * chain.depth


# --- specs ------------------------------------------------------------------------------------------------------------


def test_equality_and_hash(chain):
    first, second = cp.tree_structure(chain.tree), cp.tree_structure(chain.tree)
    assert first == second
    assert hash(first) == hash(second)
    longer = cp.tree_structure(WRAP[chain.kind](chain.tree))
    ends_otherwise = first.compose(cp.tree_structure([0, 0]))
    for other in (longer, ends_otherwise, cp.tree_structure(WRAP[chain.kind](1))):
        assert first != other
        assert hash(first) != hash(other)


def test_prefix_and_flatten_up_to(chain):
    spec = cp.tree_structure(chain.tree)
    longer = spec.compose(cp.tree_structure([0, 0]))
    assert spec.is_prefix(spec)
    assert spec.is_prefix(longer)
    assert not longer.is_prefix(spec)
    assert spec.flatten_up_to(chain.tree) == [chain.leaf]
    with pytest.raises(cp.StructureError) as caught:
        longer.flatten_up_to(chain.tree)
    assert len(str(caught.value)) < 1000


def test_compose(chain):
    spec = cp.tree_structure(chain.tree)
    doubled = spec.compose(spec)
    assert doubled.num_nodes == 2 * chain.depth + 1
    assert spec.compose(cp.tree_structure(0)) == spec
    assert cp.tree_structure([0, 0]).compose(spec).num_nodes == 2 * chain.depth + 3


def test_parts(chain):
    spec = cp.tree_structure(chain.tree)
    entry = ENTRY.get(chain.kind, 0)
    assert spec.entries() == [entry]
    (path,) = spec.paths()
    assert path == (entry,) * chain.depth
    assert spec.child(0) == spec.children()[0]
    assert spec.child(0).num_nodes == chain.depth
    assert spec.child(0).is_prefix(spec.child(0))


def test_printing(chain):
    text = repr(cp.tree_structure(chain.tree))
    assert text.count("*") == 1
    assert text.startswith("TreeSpec(")
    assert len(text) >= 2 * chain.depth


def test_pickle_and_copies(chain):
    spec = cp.tree_structure(chain.tree)
    loaded = pickle.loads(pickle.dumps(spec))
    assert loaded == spec
    assert hash(loaded) == hash(spec)
    assert copy.deepcopy(spec) is spec


def test_calls_need_no_more_than_a_small_stack(chain):
    kept: list = []  # freeing a deep tree is CPython's work and needs a large stack: that of this thread

    def work() -> None:
        spec = check_reading(chain)
        kept.extend(check_rebuilding(chain, spec))
        kept.append(cp.tree_map(lambda x, y: x, chain.tree, chain.tree))
        cp.tree_map_(lambda x: None, chain.tree)
        assert spec.flatten_up_to(chain.tree) == [chain.leaf]
        assert hash(spec) == hash(pickle.loads(pickle.dumps(spec)))
        assert spec.compose(spec).num_nodes == 2 * chain.depth + 1
        assert spec.is_prefix(cp.tree_structure(chain.tree))
        assert len(spec.paths()[0]) == chain.depth
        assert spec.child(0).num_nodes == chain.depth
        assert repr(spec).count("*") == 1
        assert cp.tree_sum(chain.tree) == 1

    run_in_thread(work, SMALL_STACK)
    assert len(kept) == 4


# --- other shapes -----------------------------------------------------------------------------------------------------


def test_a_million_lists_deep():
    chain = Chain("list", FULL_DEPTH)
    spec = check_reading(chain)
    check_rebuilding(chain, spec)
    assert hash(spec) == hash(cp.tree_structure(chain.tree))
    assert len(repr(spec)) == len("TreeSpec(*)") + 2 * FULL_DEPTH


def test_a_circle_far_down_is_found_and_named():
    bottom: list = []
    tree: Any = bottom
    for _ in range(HALF_WAY):
        tree = [tree]
    bottom.append(tree)
    for function in (cp.tree_flatten, cp.tree_leaves, cp.tree_structure, lambda t: list(cp.tree_iter(t))):
        with pytest.raises(cp.CircularTreeError) as caught:
            function(tree)
        assert caught.value.path == "[0]" * (HALF_WAY + 1)
        assert len(str(caught.value)) < 1000
    bottom.clear()


@dataclasses.dataclass
class Held:
    value: Any


def nest(value: Any, depth: int, wrap: Any) -> Any:
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize(
    "wrap",
    [
        lambda v: (v,),
        lambda v: [v],
        lambda v: {"k": v},
        lambda v: (0, [{"k": v}]),
        lambda v: frozenset({v}),
        One,
        Held,
        slice,
    ],
    ids=["tuple", "list", "dict", "mixed", "frozenset", "namedtuple", "dataclass", "slice"],
)
def test_deep_contexts_are_compared_hashed_and_copied_without_recursion(wrap):
    trees = [[Tagged(0, 0, nest(end, HALF_WAY, wrap))] for end in (1, 1, True)]
    kept = []

    def work() -> None:
        one, again, other = map(cp.tree_structure, trees)
        assert hash(one) == hash(again)
        assert (one == again) is True
        assert (one == other) is False
        kept.extend([one, again, other, one.child(0).context, one.unflatten([0, 0])])

    run_in_thread(work, SMALL_STACK)
    assert len(kept) == 5


def test_a_chain_of_all_kinds():
    wraps = [WRAP[kind] for kind in KINDS]
    tree: Any = 1
    for i in range(HALF_WAY):
        tree = wraps[i % len(wraps)](tree)
    leaves, spec = cp.tree_flatten(tree)
    assert leaves == [1]
    assert spec == cp.tree_structure(cp.tree_map(str, tree))
    assert len(spec.paths()[0]) == HALF_WAY


def test_a_deep_comb_with_a_leaf_at_every_tooth():
    tree: Any = 0
    for i in range(HALF_WAY):
        tree = [i, tree] if i % 2 else Pair(tree, i)
    leaves, spec = cp.tree_flatten(tree)
    assert len(leaves) == HALF_WAY + 1
    assert cp.tree_sum(tree) == sum(range(HALF_WAY))
    again, same = cp.tree_flatten(spec.unflatten(leaves))
    assert again == leaves
    assert same == spec
    assert hash(same) == hash(spec)


def test_an_iterator_left_in_the_middle_is_freed():
    chain = Chain("list", HALF_WAY)
    leaves = cp.tree_iter([0, chain.tree])
    assert next(leaves) == 0
    del leaves
    leaves = cp.tree_iter([chain.tree, 0])
    assert next(leaves) == 1
    del leaves
    assert cp.tree_leaves(chain.tree) == [1]
