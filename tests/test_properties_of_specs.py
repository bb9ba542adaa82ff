"""Structures as values against the reference: equality, order, composition, parts and copies."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest
import reference
from classes import Pair, Tagged
from helpers import attempt, check_spec, identical, read, reading, structure, tokens
from hypothesis import assume, given
from reference import Spec, same_tree, structure_key, value_key
from strategies import contexts, modes, odd_keys, small_modes, small_trees, trees

import clika_pytree as cp


@given(small_trees, small_trees, small_modes, small_modes)
def test_specs_are_equal_where_the_reference_says_so(a, b, mode_a, mode_b):
    (_, ref_a), (_, ref_b) = read(a, mode_a), read(b, mode_b)
    spec_a, spec_b = structure(a, mode_a), structure(b, mode_b)
    same = structure_key(ref_a) == structure_key(ref_b)
    assert (spec_a == spec_b) is (spec_b == spec_a) is same
    assert (spec_a != spec_b) is (not same)
    assert hash(spec_a) == hash(spec_b) or not same
    assert len({spec_a, spec_b}) == 2 - same


@given(trees, modes)
def test_a_tree_with_other_leaves_has_an_equal_spec(tree, mode):
    mode = dataclasses.replace(mode, is_leaf=None)
    _, expected = read(tree, mode)
    twin = reference.unflatten(expected, tokens(reference.num_leaves(expected.root)))
    assert structure(tree, mode) == structure(twin, mode)
    assert hash(structure(tree, mode)) == hash(structure(twin, mode))


@given(contexts, contexts)
def test_contexts_compare_by_exact_type_and_bits(a, b):
    first, second = cp.tree_structure(Tagged(0, 0, a)), cp.tree_structure(Tagged(0, 0, b))
    same = value_key(a) == value_key(b)
    assert (first == second) is (second == first) is same
    assert hash(first) == hash(second) or not same
    assert first == cp.tree_structure(Tagged(1, 1, copy.deepcopy(a)))


@given(odd_keys, odd_keys)
def test_keys_compare_by_exact_type_and_bits(a, b):
    first, second = cp.tree_structure({a: 0}), cp.tree_structure({b: 0})
    same = value_key(a) == value_key(b)
    assert (first == second) is (second == first) is same
    assert hash(first) == hash(second) or not same


@given(small_trees, small_trees, small_modes)
def test_is_prefix_agrees_with_the_reference_and_is_a_partial_order(a, b, mode):
    (_, ref_a), (_, ref_b) = read(a, mode), read(b, mode)
    spec_a, spec_b = structure(a, mode), structure(b, mode)
    assert spec_a.is_prefix(spec_b) is reference.is_prefix(ref_a.root, ref_b.root)
    assert spec_a.is_prefix(spec_a) is True
    assert (spec_a.is_prefix(spec_b) and spec_b.is_prefix(spec_a)) is (spec_a == spec_b)
    assert cp.tree_structure(0, none_is_leaf=mode.none_is_leaf).is_prefix(spec_a) is True


@given(small_trees, small_trees, small_trees, small_modes)
def test_what_is_composed_on_is_a_prefix_and_prefixes_chain(a, b, c, mode):
    _ = read(a, mode), read(b, mode), read(c, mode)
    first, second, third = (structure(tree, mode) for tree in (a, b, c))
    two = first.compose(second)
    three = two.compose(third)
    assert first.is_prefix(two)
    assert two.is_prefix(three)
    assert first.is_prefix(three)
    assert three == first.compose(second.compose(third))
    assert hash(three) == hash(first.compose(second.compose(third)))


@given(small_trees, small_trees, small_modes)
def test_flatten_up_to_agrees_with_the_reference(a, b, mode):
    _, expected = read(a, mode)
    read(b, mode)
    spec = structure(a, mode)
    column, path = attempt(reference.flatten_up_to, expected, b, mode.sort)
    with reading(mode):
        if path is None:
            assert identical(spec.flatten_up_to(b), column)
        else:
            with pytest.raises(cp.StructureError) as caught:
                spec.flatten_up_to(b)
            assert caught.value.path == path


@given(trees, modes)
def test_flatten_up_to_the_own_structure_gives_the_leaves(tree, mode):
    leaves, _ = read(tree, mode)
    spec = structure(tree, mode)
    with reading(mode):
        assert identical(spec.flatten_up_to(tree), leaves)


@given(trees, trees, modes)
def test_compose_agrees_with_the_reference(a, b, mode):
    (_, ref_a), (_, ref_b) = read(a, mode), read(b, mode)
    outer, inner = structure(a, mode), structure(b, mode)
    assume(outer.num_leaves * inner.num_nodes < 500)
    composed = outer.compose(inner)
    expected = reference.compose(ref_a.root, ref_b.root)
    check_spec(composed, expected, mode.none_is_leaf)
    assert composed.num_leaves == outer.num_leaves * inner.num_leaves
    assert composed.num_nodes == outer.num_nodes + outer.num_leaves * (inner.num_nodes - 1)
    fresh = tokens(composed.num_leaves)
    assert same_tree(composed.unflatten(fresh), reference.unflatten(Spec(expected), fresh), mode.namespace)


@given(trees, modes)
def test_composing_with_a_leaf_changes_nothing(tree, mode):
    read(tree, mode)
    spec = structure(tree, mode)
    leaf = cp.tree_structure(0, none_is_leaf=mode.none_is_leaf)
    assert spec.compose(leaf) == leaf.compose(spec) == spec
    assert hash(spec.compose(leaf)) == hash(leaf.compose(spec)) == hash(spec)


@given(trees, modes)
def test_children_are_specs_of_the_parts(tree, mode):
    read(tree, mode)
    spec = structure(tree, mode)
    children = spec.children()
    assert len(children) == spec.num_children == len(spec.entries())
    for index, child in enumerate(children):
        assert spec.child(index) == spec.child(index - len(children)) == child
        assert hash(spec.child(index)) == hash(child)
    for index in (len(children), -len(children) - 1):
        with pytest.raises(IndexError):
            spec.child(index)
    if spec.is_leaf():
        return
    assert spec.num_leaves == sum(child.num_leaves for child in children)
    assert spec.num_nodes == 1 + sum(child.num_nodes for child in children)
    pairs = list(zip(spec.entries(), children, strict=True))
    assert value_key(spec.paths()) == value_key([(entry, *path) for entry, child in pairs for path in child.paths()])


@given(trees, modes)
def test_copies_and_pickles_are_equal(tree, mode):
    _, expected = read(tree, mode)
    spec = structure(tree, mode)
    assert copy.copy(spec) is spec
    assert copy.deepcopy(spec) is spec
    assert bool(spec) is True
    fresh = tokens(spec.num_leaves)
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        loaded = pickle.loads(pickle.dumps(spec, protocol))
        assert loaded == spec
        assert hash(loaded) == hash(spec)
        check_spec(loaded, expected.root, mode.none_is_leaf)
        assert same_tree(loaded.unflatten(fresh), reference.unflatten(expected, fresh), mode.namespace)


@given(trees, trees, modes)
def test_mixing_the_two_readings_of_none_is_refused(a, b, mode):
    read(a, mode)
    spec = structure(a, mode)
    other = cp.tree_structure(Pair(0, b), none_is_leaf=not mode.none_is_leaf)
    assert spec != other
    for operation in (spec.compose, spec.is_prefix):
        with pytest.raises(cp.StructureError, match=r"(?s)none_is_leaf.*(True.*False|False.*True)"):
            operation(other)
