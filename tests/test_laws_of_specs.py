"""Laws of structures: the order of prefixes, rewriting and folding, and that a spec is itself wherever it is read."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest
import reference
from helpers import check_spec, keywords, read, reading, structure, tokens
from hypothesis import assume, event, given
from hypothesis import strategies as st
from other_process import OtherProcess, attempted
from reference import same_tree, structure_key
from strategies import modes, small_modes, small_trees, trees, whole_modes
from twins import twin_modes, twin_trees

import clika_pytree as cp

# --- the order of prefixes --------------------------------------------------------------------------------------------


def grown(spec: cp.TreeSpec, parts: list[cp.TreeSpec]) -> cp.TreeSpec:
    """The structure with parts in the place of its leaves, as far as there are parts."""
    left = iter(parts)
    return spec.transform(None, lambda leaf: next(left, leaf))


several = st.lists(small_trees, max_size=4)


@given(small_trees, several, several, small_modes)
def test_prefixes_of_prefixes_are_prefixes(tree, parts, more, mode):
    for each in (tree, *parts, *more):
        read(each, mode)
    first = structure(tree, mode)
    second = grown(first, [structure(part, mode) for part in parts])
    third = grown(second, [structure(part, mode) for part in more])
    assert first <= second <= third
    assert first <= third
    assert third >= second >= first
    assert third >= first
    assert (first < third) is (first != third)
    assert (third <= first) is (first == third)


@given(small_trees, small_trees, small_trees, small_modes)
def test_the_order_is_reflexive_antisymmetric_and_transitive(a, b, c, mode):
    for tree in (a, b, c):
        read(tree, mode)
    one, two, three = (structure(tree, mode) for tree in (a, b, c))
    assert one <= one
    assert one >= one
    assert not one < one
    assert (one <= two and two <= one) is (one == two)
    assert not (one <= two and two <= three) or one <= three
    assert not (one < two and two < three) or one < three


@given(twin_trees, small_modes)
def test_the_operators_and_methods_say_the_same(pair, mode):
    for tree in pair:
        read(tree, mode)
    one, two = (structure(tree, mode) for tree in pair)
    assert (one <= two) is one.is_prefix(two) is two.is_suffix(one) is (two >= one)
    assert (two <= one) is two.is_prefix(one) is one.is_suffix(two) is (one >= two)
    assert (one < two) is (two > one) is (one <= two and one != two)
    assert (two < one) is (one > two) is (two <= one and one != two)
    assert (one <= two and two <= one) is (one == two)


@given(twin_trees, several, small_modes)
def test_a_prefix_is_what_trees_are_flattened_up_to_and_broadcast_to(pair, parts, mode):
    for each in (*pair, *parts):
        read(each, mode)
    one, two = (structure(tree, mode) for tree in pair)
    two = grown(two, [structure(part, mode) for part in parts])
    tree = two.unflatten(tokens(two.num_leaves))
    event("prefix" if one <= two else "no prefix")
    with reading(mode):
        columns = fitting(lambda: one.flatten_up_to(tree))
        spread = fitting(
            lambda: cp.tree_broadcast_prefix(one.unflatten(tokens(one.num_leaves)), tree, **keywords(mode))
        )
    together = fitting(lambda: one.broadcast(two))
    assert (one <= two) is bool(columns) is bool(spread) is (together == [two])
    for column, made in zip(columns, spread, strict=True):
        assert grown(one, [structure(part, mode) for part in column]) == two
        assert structure(made, mode) == two


def fitting(call: Any) -> list[Any]:
    """The one result of a call, or nothing where structures do not fit together."""
    try:
        return [call()]
    except cp.StructureError:
        return []


# --- rewriting --------------------------------------------------------------------------------------------------------


@given(trees, modes)
def test_rewriting_with_what_is_there_changes_nothing(tree, mode):
    _, expected = read(tree, mode)
    spec = structure(tree, mode)
    for twin in (spec.transform(), spec.transform(lambda node: node), spec.transform(None, lambda leaf: leaf)):
        assert twin == spec
        assert hash(twin) == hash(spec)
        check_spec(twin, expected.root, mode.none_is_leaf)


@given(trees, trees, modes)
def test_putting_one_structure_at_every_leaf_is_composing(a, b, mode):
    read(a, mode), read(b, mode)
    outer, inner = structure(a, mode), structure(b, mode)
    assume(outer.num_leaves * inner.num_nodes < 500)
    assert outer.transform(None, lambda leaf: inner) == outer.compose(inner)
    assert hash(outer.transform(None, lambda leaf: inner)) == hash(outer.compose(inner))


def to_tuple(node: cp.TreeSpec) -> cp.TreeSpec:
    return cp.treespec_tuple(node.children(), none_is_leaf=node.none_is_leaf)


def to_numbers(node: cp.TreeSpec) -> cp.TreeSpec:
    return cp.treespec_dict(enumerate(node.children()), none_is_leaf=node.none_is_leaf)


def turned(node: cp.TreeSpec) -> cp.TreeSpec:
    """A dict with its keys in the other order; any other container as it is."""
    if node.kind != "dict":
        return node
    return cp.treespec_dict(zip(reversed(node.context), node.children(), strict=True), none_is_leaf=node.none_is_leaf)


rewrites = st.sampled_from([to_tuple, to_numbers, turned, lambda node: node])


@given(trees, small_trees, small_trees, rewrites, rewrites, modes)
def test_rewriting_twice_is_rewriting_by_both(tree, a, b, first, second, mode):
    for each in (tree, a, b):
        read(each, mode)
    spec, one, two = structure(tree, mode), structure(a, mode), structure(b, mode)
    assert spec.transform(first).transform(second) == spec.transform(lambda node: second(first(node)))
    assert spec.transform(None, lambda leaf: one).transform(None, lambda leaf: two) == spec.transform(
        None, lambda leaf: one.transform(None, lambda leaf: two)
    )
    # Nodes first or leaves first: what is grafted is rewritten by the second call alone.
    assert spec.transform(first, lambda leaf: one) == spec.transform(first).transform(None, lambda leaf: one)
    assert spec.transform(None, lambda leaf: one).transform(first) == spec.transform(
        first, lambda leaf: one.transform(first)
    )


@given(trees, modes)
def test_a_structure_is_put_together_of_its_children(tree, mode):
    read(tree, mode)
    spec = structure(tree, mode)
    if spec.is_leaf():
        return
    levels: list[cp.TreeSpec] = []
    spec.transform(lambda node: levels.append(node) or node)
    assert len(levels) == spec.num_nodes - spec.num_leaves
    assert grown(levels[0], spec.children()) == spec
    assert all(level.num_leaves == level.num_children for level in levels)


def built(spec: cp.TreeSpec, namespace: Any) -> cp.TreeSpec:
    """The structure, made from the leaves up by the constructor of each kind."""
    parts = [built(child, namespace) for child in spec.children()]
    context, options = spec.context, {"none_is_leaf": spec.none_is_leaf}
    match spec.kind:
        case "leaf":
            return cp.treespec_leaf(**options)
        case "none":
            return cp.treespec_none(**options)
        case "list":
            return cp.treespec_list(parts, **options)
        case "tuple":
            return cp.treespec_tuple(parts, **options)
        case "dict":
            return cp.treespec_dict(zip(context, parts, strict=True), **options)
        case "ordereddict":
            return cp.treespec_ordereddict(zip(context, parts, strict=True), **options)
        case "defaultdict":
            return cp.treespec_defaultdict(context[0], zip(context[1], parts, strict=True), **options)
        case "deque":
            return cp.treespec_deque(parts, context, **options)
        case "namedtuple":
            return cp.treespec_namedtuple(tuple.__new__(spec.type, parts), **options)
        case _:
            levels: list[cp.TreeSpec] = []
            spec.transform(lambda node: levels.append(node) or node)
            return cp.treespec_from_collection(levels[0].unflatten(parts), namespace=namespace, **options)


@given(trees, whole_modes)
def test_the_constructors_make_the_structure_of_the_tree(tree, mode):
    read(tree, mode)
    with reading(mode):
        spec = structure(tree, mode)
        made = built(spec, mode.namespace)
    assert made == spec
    assert hash(made) == hash(spec)
    assert repr(made) == repr(spec)
    assert made.key_paths() == spec.key_paths()


# --- folding ----------------------------------------------------------------------------------------------------------


@given(trees, modes)
def test_a_fold_without_functions_rebuilds(tree, mode):
    _, expected = read(tree, mode)
    spec, leaves = structure(tree, mode), tokens(reference.num_leaves(expected.root))
    rebuilt = reference.unflatten(expected, leaves)
    assert same_tree(spec.walk(leaves), rebuilt, mode.namespace)
    assert same_tree(spec.walk(iter(leaves), None, lambda leaf: leaf), rebuilt, mode.namespace)


def folded(spec: cp.TreeSpec, leaves: Iterator[Any], node: Any, leaf: Any) -> Any:
    if spec.is_leaf():
        return leaf(next(leaves))
    return node(spec.type, spec.context, tuple(folded(child, leaves, node, leaf) for child in spec.children()))


@given(trees, modes)
def test_a_fold_gets_what_the_children_say(tree, mode):
    read(tree, mode)
    spec = structure(tree, mode)
    leaves = tokens(spec.num_leaves)

    def node(cls: Any, context: Any, children: tuple) -> Any:
        return cls, reference.value_key(context), children

    assert spec.walk(leaves, node, id) == folded(spec, iter(leaves), node, id)
    assert spec.walk(leaves, lambda cls, context, children: sum(children), lambda leaf: 1) == spec.num_leaves
    assert spec.walk(leaves, lambda cls, context, children: 1 + sum(children), lambda leaf: 1) == spec.num_nodes


# --- the same everywhere ----------------------------------------------------------------------------------------------


@given(twin_trees, twin_modes)
def test_fingerprints_are_equal_just_where_structures_are(pair, both):
    specs = [structure(tree, mode) for tree, mode in zip(pair, both, strict=True)]
    keys = [structure_key(read(tree, mode)[1]) for tree, mode in zip(pair, both, strict=True)]
    one, two = specs
    same = keys[0] == keys[1]
    event("same" if same else "different")
    assert (one == two) is (two == one) is same
    assert (one.fingerprint() == two.fingerprint()) is same
    assert hash(one) == hash(two) or not same


@pytest.fixture(scope="module", params=["0", "1"])
def elsewhere(request: pytest.FixtureRequest) -> Iterator[OtherProcess]:
    process = OtherProcess(request.param)
    yield process
    process.end()


@given(trees | twin_trees, whole_modes)
def test_a_spec_is_itself_in_another_process(elsewhere, tree, mode):
    read(tree, mode)
    spec = structure(tree, mode)
    text, digest = attempted(lambda: cp.treespec_dumps(spec)), attempted(spec.fingerprint)
    found = elsewhere.ask((pickle.dumps(spec), text, mode))
    assert found["is the structure of its tree"]
    assert found["is the spec of the text"]
    assert (found["letters"], found["fingerprint"], found["text"]) == (sorted(repr(spec)), digest, text)
    assert found["key paths"] == spec.key_paths()
    back = pickle.loads(found["pickle"])
    assert back == spec
    assert hash(back) == hash(spec)
    leaves = tokens(spec.num_leaves)
    assert same_tree(back.unflatten(leaves), spec.unflatten(leaves), mode.namespace)
