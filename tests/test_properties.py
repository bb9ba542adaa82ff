"""Flatten, rebuild, map and reduce against the reference, and the laws that hold whatever the tree is."""

from __future__ import annotations

from typing import Any

import pytest
import reference
from classes import ALPHA
from helpers import Recorder, attempt, check_spec, identical, keywords, notes, read, reading, structure, tokens
from hypothesis import given, reject
from hypothesis import strategies as st
from reference import Mode, same_tree
from strategies import modes, odd_trees, small_modes, small_trees, trees, whole_modes

import clika_pytree as cp

# --- flatten ----------------------------------------------------------------------------------------------------------


@given(trees, modes)
def test_flatten_agrees_with_the_reference(tree, mode):
    leaves, expected = read(tree, mode)
    with reading(mode):
        found, spec = cp.tree_flatten(tree, **keywords(mode))
    assert type(found) is list
    assert identical(found, leaves)
    check_spec(spec, expected.root, mode.none_is_leaf)


@given(trees, modes)
def test_leaves_iter_and_structure_are_the_halves_of_flatten(tree, mode):
    read(tree, mode)
    with reading(mode):
        leaves, spec = cp.tree_flatten(tree, **keywords(mode))
        assert identical(cp.tree_leaves(tree, **keywords(mode)), leaves)
        assert identical(cp.tree_iter(tree, **keywords(mode)), leaves)
        again = cp.tree_structure(tree, **keywords(mode))
    assert again == spec
    assert hash(again) == hash(spec)
    assert len(leaves) == len(spec.paths()) == spec.num_leaves


@given(trees, modes)
def test_is_leaf_is_asked_about_the_same_objects_in_the_same_order(tree, mode):
    asked: list = []
    expected: list = []

    def watched(seen: list) -> Mode:
        inner = mode.is_leaf or (lambda obj: False)
        return Mode(lambda obj: seen.append(obj) or inner(obj), mode.none_is_leaf, mode.namespace, mode.sort)

    read(tree, mode)
    reference.flatten(tree, watched(expected))
    with reading(mode):
        cp.tree_leaves(tree, **keywords(watched(asked)))
    assert identical(asked, expected)


@given(odd_trees, st.sampled_from(["", ALPHA]))
def test_sorted_keys_agree_with_the_reference_or_are_refused(tree, namespace):
    mode = Mode(namespace=namespace, sort=True)
    leaves, expected = read(tree, mode)
    with reading(mode):
        found, spec = cp.tree_flatten(tree, **keywords(mode))
    assert identical(found, leaves)
    check_spec(spec, expected.root, True)
    assert same_tree(spec.unflatten(found), tree, namespace)


# --- rebuild ----------------------------------------------------------------------------------------------------------


@given(trees, modes)
def test_unflatten_agrees_with_the_reference(tree, mode):
    _, expected = read(tree, mode)
    spec = structure(tree, mode)
    fresh = tokens(spec.num_leaves)
    rebuilt = reference.unflatten(expected, fresh)
    assert same_tree(cp.tree_unflatten(spec, fresh), rebuilt, mode.namespace)
    assert same_tree(cp.tree_unflatten(tuple(fresh), spec), rebuilt, mode.namespace)
    assert same_tree(spec.unflatten(iter(fresh)), rebuilt, mode.namespace)


@given(trees, modes)
def test_round_trip(tree, mode):
    read(tree, mode)
    with reading(mode):
        leaves, spec = cp.tree_flatten(tree, **keywords(mode))
    assert same_tree(spec.unflatten(leaves), tree, mode.namespace)


@given(trees, modes, st.integers(1, 3))
def test_a_wrong_number_of_leaves_is_refused(tree, mode, too_many):
    read(tree, mode)
    spec = structure(tree, mode)
    for count in {spec.num_leaves + too_many, max(spec.num_leaves - too_many, 0)} - {spec.num_leaves}:
        with pytest.raises(cp.LeafCountError, match=rf"expected {spec.num_leaves} lea\w+, got {count}"):
            spec.unflatten(tokens(count))


# --- map --------------------------------------------------------------------------------------------------------------


@given(trees, modes)
def test_map_agrees_with_the_reference(tree, mode):
    leaves, expected = read(tree, mode)
    fresh = tokens(len(leaves))
    fn = Recorder(fresh)
    with reading(mode):
        mapped = cp.tree_map(fn, tree, **keywords(mode))
    assert identical([leaf for (leaf,) in fn.calls], leaves)
    assert same_tree(mapped, reference.unflatten(expected, fresh), mode.namespace)


@given(trees, modes)
def test_map_over_several_trees_pairs_their_leaves(tree, mode):
    leaves, expected = read(tree, mode)
    second, third, fresh = tokens(len(leaves)), tokens(len(leaves)), tokens(len(leaves))
    rests = [reference.unflatten(expected, second), reference.unflatten(expected, third)]
    fn = Recorder(fresh)
    with reading(mode):
        mapped = cp.tree_map(fn, tree, *rests, **keywords(mode))
    for found, given_leaves in zip(zip(*fn.calls, strict=True), (leaves, second, third), strict=False):
        assert identical(found, given_leaves)
    assert len(fn.calls) == len(leaves)
    assert same_tree(mapped, reference.unflatten(expected, fresh), mode.namespace)


@given(small_trees, small_trees, small_modes)
def test_map_refuses_the_trees_the_reference_refuses(tree, rest, mode):
    leaves, expected = read(tree, mode)
    read(rest, mode)
    fn = Recorder(tokens(len(leaves)))
    column, path = attempt(reference.pair_up, expected, rest, mode)
    with reading(mode):
        if path is None:
            cp.tree_map(fn, tree, rest, **keywords(mode))
            assert identical([pair[1] for pair in fn.calls], column)
        else:
            with pytest.raises(cp.StructureError) as caught:
                cp.tree_map(fn, tree, rest, **keywords(mode))
            assert caught.value.path == path


@given(trees, modes)
def test_map_for_effect_returns_the_tree_it_was_given(tree, mode):
    leaves, _ = read(tree, mode)
    fn = Recorder(tokens(len(leaves)))
    with reading(mode):
        assert cp.tree_map_(fn, tree, tree, **keywords(mode)) is tree
    assert identical([pair[0] for pair in fn.calls], leaves)
    assert identical([pair[1] for pair in fn.calls], leaves)


filters = st.sampled_from(
    [int, float, (int, str), (), int | None, str | list, lambda leaf: leaf is None, lambda leaf: [leaf]]
)


@given(trees, modes, filters)
def test_map_only_maps_what_the_filter_takes(tree, mode, chosen):
    leaves, expected = read(tree, mode)
    takes = (lambda leaf: isinstance(leaf, chosen)) if isinstance(chosen, (type, tuple, type(int | None))) else chosen
    taken = [leaf for leaf in leaves if takes(leaf)]
    fn, fn_ = Recorder(tokens(len(taken))), Recorder(tokens(len(taken)))
    with reading(mode):
        mapped = cp.tree_map_only(chosen, fn, tree, **keywords(mode))
        assert cp.tree_map_only_(chosen, fn_, tree, **keywords(mode)) is tree
    results = iter(fn.results)
    assert same_tree(
        mapped, reference.unflatten(expected, [next(results) if takes(x) else x for x in leaves]), mode.namespace
    )
    assert identical([leaf for (leaf,) in fn.calls], taken)
    assert identical([leaf for (leaf,) in fn_.calls], taken)


@given(trees, whole_modes)
def test_flatten_of_map_is_map_of_flatten(tree, mode):
    leaves, _ = read(tree, mode)
    fresh = tokens(len(leaves))
    with reading(mode):
        mapped = cp.tree_map(Recorder(fresh), tree, **keywords(mode))
        found, spec = cp.tree_flatten(mapped, **keywords(mode))
    assert identical(found, fresh)
    assert spec == structure(tree, mode)


@given(trees, modes, st.data())
def test_an_exception_of_the_function_says_where(tree, mode, data):
    leaves, expected = read(tree, mode)
    if not leaves:
        reject()
    index = data.draw(st.integers(0, len(leaves) - 1))
    calls: list = []

    def fn(leaf: Any) -> Any:
        calls.append(leaf)
        if len(calls) > index:
            raise LookupError("mine")
        return leaf

    with reading(mode), pytest.raises(LookupError, match="mine") as caught:
        cp.tree_map(fn, tree, **keywords(mode))
    assert type(caught.value) is LookupError
    assert len(reference.paths(expected.root)[index]) > 8 or reference.path_texts(expected.root)[index] in notes(
        caught.value
    )


@given(trees, modes)
def test_reductions_read_the_leaves_in_order(tree, mode):
    leaves, _ = read(tree, mode)
    places = {id(leaf): place for place, leaf in enumerate(leaves)}
    with reading(mode):
        joined = cp.tree_reduce(lambda done, leaf: [*done, leaf], tree, [], **keywords(mode))
        last = cp.tree_max(tree, key=lambda leaf: places[id(leaf)], default=None, **keywords(mode))
        first = cp.tree_min(tree, key=lambda leaf: places[id(leaf)], default=None, **keywords(mode))
        all_there = cp.tree_all(lambda leaf: leaf is not None, tree, **keywords(mode))
        any_missing = cp.tree_any(lambda leaf: leaf is None, tree, **keywords(mode))
    assert identical(joined, leaves)
    assert last is (max(leaves, key=lambda leaf: places[id(leaf)]) if leaves else None)
    assert first is (min(leaves, key=lambda leaf: places[id(leaf)]) if leaves else None)
    assert all_there is (not any_missing) is all(leaf is not None for leaf in leaves)
