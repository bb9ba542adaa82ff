"""The reference itself, against results written by hand: what the rest is compared with must be right on its own."""

from __future__ import annotations

import os
from collections import OrderedDict, defaultdict, deque

import pytest
from classes import (
    ALPHA,
    BETA,
    AlphaOnly,
    BetaOnly,
    Cell,
    Color,
    Config,
    FieldsLeaf,
    ListLeaf,
    Point,
    Sample,
    Switch,
    Tagged,
)
from reference import (
    Disordered,
    Mismatch,
    Mode,
    Spec,
    compose,
    flatten,
    flatten_up_to,
    is_prefix,
    namespaces,
    num_leaves,
    num_nodes,
    pair_up,
    path_texts,
    paths,
    same_tree,
    sorted_keys,
    spec_repr,
    structure_key,
    tree_map,
    unflatten,
    value_key,
)

MIXED = {"a": [1, (2, None)], "p": Point(3, {}), "s": Sample(4, 5, "n"), "t": Tagged(6, 7, "tag")}


def key_of(tree: object, **mode: object) -> object:
    return structure_key(flatten(tree, Mode(**mode))[1])


def test_leaves_come_depth_first_and_left_to_right():
    leaves, spec = flatten(MIXED)
    assert leaves == [1, 2, None, 3, 4, 5, 7, 6]
    assert (num_leaves(spec.root), num_nodes(spec.root)) == (8, 15)
    assert paths(spec.root)[3:] == [("p", "x"), ("s", "weight"), ("s", "bias"), ("t", "right"), ("t", "left")]
    assert path_texts(spec.root)[2:5] == ["['a'][1][1]", "['p'].x", "['s'].weight"]


@pytest.mark.parametrize(
    ("tree", "mode", "text"),
    [
        (1, Mode(), "TreeSpec(*)"),
        (None, Mode(none_is_leaf=False), "TreeSpec(None, none_is_leaf=False)"),
        (((), (1,), [], [1]), Mode(), "TreeSpec(((), (*,), [], [*]))"),
        (deque([1], 3), Mode(), "TreeSpec(deque([*], maxlen=3))"),
        (defaultdict(list, k=1), Mode(), "TreeSpec(defaultdict(<class 'list'>, {'k': *}))"),
        (OrderedDict(k=1), Mode(), "TreeSpec(OrderedDict({'k': *}))"),
        (Tagged(1, (2,), "t"), Mode(), "TreeSpec(CustomTreeNode(Tagged['t'], [(*,), *]))"),
        (Sample(1, [2], "s"), Mode(), "TreeSpec(Sample(weight=*, bias=[*], name='s'))"),
        (Config(1), Mode(), "TreeSpec(CustomTreeNode(Config[Config(width=1, mode=None)], []))"),
        (Switch(1, 2), Mode(), "TreeSpec(CustomTreeNode(Switch['global'], [*, *]))"),
        (Switch(1, 2), Mode(namespace=ALPHA), f"TreeSpec(CustomTreeNode(Switch[1], [*]), namespace='{ALPHA}')"),
        ({2: 0, 1: 0}, Mode(sort=True), "TreeSpec({1: *, 2: *})"),
    ],
)
def test_printing(tree, mode, text):
    assert spec_repr(flatten(tree, mode)[1]) == text


def test_only_exact_types_are_nodes():
    tree = [os.stat("."), ListLeaf([1]), FieldsLeaf([1]), {1}, "ab"]
    assert flatten(tree)[0] == tree


def test_is_leaf_stops_and_namespaces_open():
    assert flatten([[1], (2,)], Mode(is_leaf=lambda x: type(x) is tuple))[0] == [1, (2,)]
    scoped = [AlphaOnly(1, 2), BetaOnly(3, "u")]
    assert flatten(scoped)[0] == scoped
    assert flatten(scoped, Mode(namespace=(BETA, ALPHA)))[0] == [1, 2, 3]
    assert namespaces(flatten(scoped, Mode(namespace=(BETA, ALPHA)))[1].root) == (ALPHA, BETA)


def test_structures_are_the_same_only_for_the_same_types_values_and_order():
    assert key_of({1: 0}) != key_of({True: 0}) != key_of({1.0: 0}) != key_of({1: 0})
    assert key_of({"a": 0, "b": 0}) != key_of({"b": 0, "a": 0})
    assert key_of({"a": 0, "b": 0}) == key_of({"b": 0, "a": 0}, sort=True)
    assert key_of(Cell([0.0], 1)) != key_of(Cell([-0.0], 1))
    assert key_of(Cell(float("nan"), 1)) == key_of(Cell(float("nan"), 2))
    assert key_of(Switch(0, 0)) != key_of(Switch(0, 0), namespace=ALPHA)
    assert key_of(0) != key_of(0, none_is_leaf=False)
    assert value_key({1: [2], "a": {3}}) == value_key({1: [2], "a": {3}}) != value_key({"a": {3}, 1: [2]})


def test_rebuilding_and_mapping():
    leaves, spec = flatten(MIXED)
    assert same_tree(unflatten(spec, leaves), MIXED)
    doubled = tree_map(lambda x: x and x * 2, MIXED)
    assert (doubled["a"], doubled["p"], doubled["s"]) == ([2, (4, None)], Point(6, {}), Sample(8, 10, "n"))
    assert (doubled["t"].left, doubled["t"].right, doubled["t"].tag) == (12, 14, "tag")
    assert tree_map(lambda x, y: (x, y), [1, (2,)], [3, (4,)]) == [(1, 3), ((2, 4),)]
    spec = flatten({"b": 1, "a": 2}, Mode(sort=True))[1]
    assert list(unflatten(spec, [20, 10]).items()) == [("b", 10), ("a", 20)]


def test_matching():
    spec = flatten([1, {"k": 2}])[1]
    assert flatten_up_to(spec, [[3], {"k": (4,)}]) == [[3], (4,)]
    with pytest.raises(Mismatch) as caught:
        flatten_up_to(spec, [3, {"j": 4}])
    assert caught.value.path == "[1]"
    with pytest.raises(Mismatch) as caught:
        pair_up(spec, [3, {"k": (4,)}], Mode())
    assert caught.value.path == "[1]['k']"
    stopped = Mode(is_leaf=lambda x: type(x) is dict)
    assert pair_up(flatten([1, {}], stopped)[1], [2, (3,)], stopped) == [2, (3,)]


def test_prefix_and_composition():
    short, long = flatten([1, 2])[1], flatten([1, (2, 3)])[1]
    assert is_prefix(short.root, long.root)
    assert not is_prefix(long.root, short.root)
    assert not is_prefix(flatten({"a": 1})[1].root, flatten(OrderedDict(a=1))[1].root)
    assert spec_repr(Spec(compose(short.root, flatten((1, 2))[1].root))) == "TreeSpec([(*, *), (*, *)])"


def test_sorting_of_keys():
    assert sorted_keys([3, "b", 1.5, None, "a", b"k"]) == [None, b"k", 1.5, 3, "a", "b"]
    assert sorted_keys([3, 1.5, True]) == [True, 1.5, 3]
    assert sorted_keys([Color.GREEN, Color.BLUE, Color.RED]) == [Color.RED, Color.BLUE, Color.GREEN]
    assert sorted_keys([Point(2, 0), Point(1, 5)]) == [Point(1, 5), Point(2, 0)]
    for keys in ([float("nan"), 1.0], [frozenset({1}), frozenset({2})], [1j, 2j], [(1, "a"), (1, None)]):
        with pytest.raises(Disordered) as caught:
            sorted_keys(keys, "['d']")
        assert caught.value.path == "['d']"
