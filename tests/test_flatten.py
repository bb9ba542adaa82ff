"""What is a node, what is a leaf, and in which order the leaves come."""

from __future__ import annotations

import os
import re
import time
from collections import Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple

import pytest
from classes import (
    ALPHA,
    BETA,
    AlphaOnly,
    BetaOnly,
    Box,
    Config,
    DequeLeaf,
    DictLeaf,
    FieldsLeaf,
    Labelled,
    ListLeaf,
    Nothing,
    Pair,
    Point,
    Ranged,
    Sample,
    SampleLeaf,
    Switch,
    TupleLeaf,
)
from helpers import identical, registered

import clika_pytree as cp

MIXED = {
    "w": [1, (2, None)],
    "p": Point(3, 4),
    "od": OrderedDict(z=5, a=6),
    "dd": defaultdict(list, k=7),
    "q": deque([8], 2),
}


def test_a_tree_of_all_built_in_kinds():
    leaves, spec = cp.tree_flatten(MIXED)
    assert leaves == [1, 2, None, 3, 4, 5, 6, 7, 8]
    assert spec.num_leaves == 9
    assert spec.num_nodes == 16
    assert cp.tree_leaves(MIXED) == list(cp.tree_iter(MIXED)) == leaves
    assert cp.tree_structure(MIXED) == spec
    assert cp.pytree.tree_flatten is cp.tree_flatten


@pytest.mark.parametrize("empty", [[], (), {}, OrderedDict(), defaultdict(int), deque(), Nothing()], ids=repr)
def test_empty_containers_are_nodes_without_leaves(empty):
    leaves, spec = cp.tree_flatten(empty)
    assert leaves == []
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (0, 1, 0)
    assert spec.type is type(empty)


def test_a_leaf_at_the_root():
    leaves, spec = cp.tree_flatten("text")
    assert leaves == ["text"]
    assert spec.is_leaf()
    assert spec.paths() == [()]


@pytest.mark.parametrize(
    "leaf",
    [
        ListLeaf([1]), TupleLeaf([1]), DictLeaf(a=1), DequeLeaf([1]), FieldsLeaf([1]), Counter("a"), UserDict(a=1),
        SampleLeaf(1, 2, "s"), {1}, frozenset({1}), {"a": 1}.items(), range(3), "ab", b"ab", bytearray(b"a"), slice(1),
        type, list, object(), Point, iter([1]), 1j, ..., NotImplemented,
    ],
    ids=lambda leaf: type(leaf).__name__,
)  # fmt: skip
def test_everything_else_is_a_leaf(leaf):
    assert identical(cp.tree_leaves([leaf]), [leaf])
    assert cp.tree_structure(leaf).is_leaf()


def test_struct_sequences_are_leaves_and_keep_all_their_fields():
    status = os.stat(os.curdir)
    mapped = cp.tree_map(lambda x: x, {"status": status, "now": (now := time.localtime())})
    assert mapped["status"] is status
    assert mapped["status"].st_mtime_ns == status.st_mtime_ns
    assert mapped["now"] is now


def test_subclasses_of_namedtuples_are_nodes_and_bad_fields_are_not():
    assert cp.tree_leaves(Labelled(1, (2, 3))) == [1, 2, 3]
    assert cp.tree_structure(Labelled(1, 2)) != cp.tree_structure(Point(1, 2))
    for fields in (["a"], ("a", 1), None, "a"):
        odd = type("Odd", (tuple,), {"_fields": fields, "__slots__": ()})
        assert cp.tree_structure(odd((1,))).is_leaf(), fields


def test_none_is_a_leaf_unless_told_otherwise():
    tree = {"x": 1, "cache": None}
    assert cp.tree_leaves(tree) == [1, None]
    leaves, spec = cp.tree_flatten(tree, none_is_leaf=False)
    assert leaves == [1]
    assert spec.num_nodes == 3
    assert spec.unflatten([2]) == {"x": 2, "cache": None}
    assert spec != cp.tree_structure(tree)
    assert cp.tree_leaves(None, none_is_leaf=False) == []
    assert cp.tree_leaves(None, is_leaf=lambda x: x is None, none_is_leaf=False) == [None]


def test_is_leaf_stops_the_descent_at_the_root_too():
    tree = [1, [2, (3,)]]
    assert cp.tree_leaves(tree, is_leaf=lambda x: x == [2, (3,)]) == [1, [2, (3,)]]
    assert identical(cp.tree_leaves(tree, lambda x: True), [tree])


def test_is_leaf_is_asked_once_about_every_object_top_down():
    asked = []
    tree = [1, {"a": (None,)}]
    cp.tree_leaves(tree, is_leaf=asked.append)
    assert identical(asked, [tree, 1, tree[1], tree[1]["a"], None])


@pytest.mark.parametrize("answer", [re.match("a", "a"), [0], "no", 1, -1.5], ids=repr)
def test_any_truthy_answer_of_is_leaf_stops(answer):
    assert cp.tree_leaves([1, (2,)], is_leaf=lambda x: answer if type(x) is tuple else None) == [1, (2,)]


@pytest.mark.parametrize("answer", [None, 0, "", (), re.match("a", "b")], ids=repr)
def test_no_falsy_answer_of_is_leaf_stops(answer):
    assert cp.tree_leaves([1, (2,)], is_leaf=lambda x: answer) == [1, 2]


def test_one_object_in_several_places_is_no_circle():
    shared = [1, {"k": (2,)}]
    tree = {"a": shared, "b": [shared, (shared, shared[1])]}
    assert cp.tree_leaves(tree) == [1, 2, 1, 2, 1, 2, 2]
    assert cp.tree_map(lambda x: x, tree) == tree


# --- registered classes -----------------------------------------------------------------------------------------------


class Node:
    def __init__(self, *items: object) -> None:
        self.items = items


@pytest.mark.parametrize(
    "kind", [list, tuple, iter, deque, lambda items: (x for x in items), lambda items: dict.fromkeys(items).keys()]
)
def test_children_may_be_any_iterable(kind):
    with registered(Node, lambda node: (kind(node.items), None), lambda children, _: Node(*children)):
        leaves, spec = cp.tree_flatten(Node(1, 2, 3))
        assert leaves == [1, 2, 3]
        assert spec.num_children == 3
        assert cp.tree_map(str, Node(1, 2)).items == ("1", "2")


def test_a_generator_of_children_is_read_once():
    begun = []

    def children(node: Node) -> object:
        begun.append(node)
        yield from node.items

    node = Node(1, 2)
    with registered(Node, lambda node: (children(node), None), lambda children, _: Node(*children)):
        for read in (cp.tree_flatten, cp.tree_leaves, cp.tree_structure, lambda tree: list(cp.tree_iter(tree))):
            begun.clear()
            read(node)
            assert begun == [node]


def test_entries_name_the_children():
    with registered(Node, lambda node: (node.items, "ctx", ("b", 0)), lambda children, _: Node(*children)):
        spec = cp.tree_structure(Node(1, [2]))
        assert spec.entries() == ["b", 0]
        assert spec.paths() == [("b",), (0, 0)]
        assert spec.context == "ctx"


def test_entries_do_not_take_part_in_equality():
    entries = [["a", "b"], (1, 2)]
    with registered(Node, lambda node: (node.items, None, entries.pop()), lambda children, _: Node(*children)):
        first, second = cp.tree_structure(Node(1, 2)), cp.tree_structure(Node(1, 2))
    assert first.entries() != second.entries()
    assert first == second
    assert hash(first) == hash(second)


def test_flatten_with_keys_is_the_function_every_flatten_calls():
    def never(node: Node) -> object:
        raise AssertionError("the plain function must not be called")

    def with_keys(node: Node) -> tuple:
        return [("a", node.items[0]), ("b", node.items[1])], "ctx"

    with registered(Node, never, lambda children, _: Node(*children), flatten_with_keys_fn=with_keys):
        leaves, spec = cp.tree_flatten({"n": Node(1, [2])})
        assert leaves == [1, 2]
        assert spec.paths() == [("n", "a"), ("n", "b", 0)]
        assert spec.child(0).context == "ctx"
        assert cp.tree_map(str, Node(1, 2)).items == ("1", "2")


def test_static_objects_have_no_children_and_come_back_as_they_are():
    config = Config(3, "mode")
    leaves, spec = cp.tree_flatten([1, config])
    assert leaves == [1]
    assert spec.unflatten([2])[1] is config
    assert spec.child(1).context is config
    assert spec == cp.tree_structure([1, Config(3, "mode")])
    assert spec != cp.tree_structure([1, Config(4, "mode")])


# --- namespaces -------------------------------------------------------------------------------------------------------


def test_a_namespace_opens_its_classes_and_falls_back_to_the_global_ones():
    tree = [AlphaOnly(1, 2), Pair(3, 4), Switch(5, 6)]
    assert cp.tree_leaves(tree) == [tree[0], 3, 4, 5, 6]
    assert cp.tree_leaves(tree, namespace=ALPHA) == [1, 2, 3, 4, 6]
    assert cp.tree_leaves(tree, namespace="tests.unknown") == [tree[0], 3, 4, 5, 6]


def test_a_tuple_of_namespaces_is_searched_in_order():
    tree = [AlphaOnly(1, 2), BetaOnly(3, "m"), Switch(4, 5)]
    for names in ((ALPHA, BETA), (BETA, ALPHA)):
        assert cp.tree_leaves(tree, namespace=names) == [1, 2, 3, 5]
    with registered(Switch, lambda s: ((), "beta"), lambda children, _: Switch(0, 0), namespace=BETA):
        assert cp.tree_leaves(tree, namespace=(ALPHA, BETA)) == [1, 2, 3, 5]
        assert cp.tree_leaves(tree, namespace=(BETA, ALPHA)) == [1, 2, 3]
        assert cp.tree_leaves(tree, namespace=("", BETA)) == [tree[0], 3, 4, 5]


def test_a_spec_remembers_the_namespaces_its_nodes_used():
    assert cp.tree_structure([1, Pair(2, 3)], namespace=ALPHA).namespace == ""
    spec = cp.tree_structure([Pair(1, 2), AlphaOnly(3, 4)], namespace=ALPHA)
    assert spec.namespace == ALPHA
    assert [child.namespace for child in spec.children()] == ["", ALPHA]
    both = cp.tree_structure([AlphaOnly(1, 2), BetaOnly(3, 4)], namespace=(ALPHA, BETA))
    assert type(both.namespace) is tuple
    assert set(both.namespace) == {ALPHA, BETA}


def test_a_registration_wins_over_the_namedtuple_rule():
    assert cp.tree_structure(Ranged(1, 2)).kind == "namedtuple"
    spec = cp.tree_structure(Ranged(1, 2), namespace=ALPHA)
    assert (spec.kind, spec.context, spec.num_leaves) == ("custom", 1, 1)
    assert spec.unflatten([9]) == Ranged(1, 9)


@pytest.mark.parametrize("namespace", [1, b"x", ["x"], ("x", 1)], ids=repr)
def test_a_namespace_is_a_string_or_a_tuple_of_strings(namespace):
    for function in (cp.tree_flatten, cp.tree_leaves, cp.tree_structure, cp.tree_iter):
        with pytest.raises(TypeError, match="namespace"):
            function([1], namespace=namespace)


# --- arguments, laziness ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [cp.tree_flatten, cp.tree_leaves, cp.tree_structure, cp.tree_iter])
def test_arguments(function):
    function(tree=[1], is_leaf=None, none_is_leaf=True, namespace="")
    for args, keywords in [((), {}), (([1], None, True), {}), (([1],), {"sort": True}), (([1],), {"tree": 2})]:
        with pytest.raises(TypeError):
            function(*args, **keywords)
    with pytest.raises(TypeError):
        list(function([1], is_leaf=3))


def test_iteration_is_lazy():
    asked = []
    leaves = cp.tree_iter([1, [2], 3], is_leaf=asked.append)
    assert iter(leaves) is leaves
    assert next(leaves) == 1
    assert 3 not in asked
    assert list(leaves) == [2, 3]
    assert list(leaves) == []


def test_an_iterator_turns_stop_iteration_of_user_code_into_runtime_error():
    def stop(obj: object) -> bool:
        raise StopIteration

    with pytest.raises(RuntimeError) as caught:
        next(cp.tree_iter([1], is_leaf=stop))
    assert isinstance(caught.value.__cause__, StopIteration)
    with registered(Node, stop, lambda children, _: Node(*children)), pytest.raises(RuntimeError):
        list(cp.tree_iter([1, Node(2)]))


def test_an_iterator_advanced_by_its_own_predicate_does_not_crash():
    seen = []

    def nested(obj: object) -> bool:
        if len(seen) < 3:
            seen.append(obj)
            try:
                seen.append(next(leaves))
            except (RuntimeError, ValueError, StopIteration) as error:
                seen.append(error)
        return False

    leaves = cp.tree_iter([1, [2, 3], 4], is_leaf=nested)
    assert set(leaves) <= {1, 2, 3, 4}
    assert seen


def test_the_list_of_leaves_and_the_containers_belong_to_the_caller():
    tree = {"a": [1, 2]}
    first, second = cp.tree_leaves(tree), cp.tree_leaves(tree)
    assert first is not second
    first.append(3)
    assert cp.tree_leaves(tree) == [1, 2]
    assert tree == {"a": [1, 2]}


def test_named_tuples_made_by_the_factory_and_slots_boxes():
    pair = namedtuple("pair", "left right")
    assert cp.tree_leaves(pair(Box(1), [2])) == [1, 2]
    assert cp.tree_structure(pair(1, 2)).entries() == ["left", "right"]
    assert cp.tree_leaves(Sample([1], None, "meta")) == [1, None]
