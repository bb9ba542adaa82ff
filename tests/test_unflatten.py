"""A structure and a run of leaves give the tree back, or say why not."""

from __future__ import annotations

import itertools
from collections import OrderedDict, defaultdict, deque

import pytest
from classes import Box, Cell, Config, FromRange, Nothing, Point, Sample, Tagged
from helpers import registered

import clika_pytree as cp

TREE = {"a": [1, (2, None)], "b": 3}
SPEC = cp.tree_structure(TREE)


def test_both_orders_of_arguments_work():
    assert cp.tree_unflatten(SPEC, [1, 2, None, 3]) == TREE
    assert cp.tree_unflatten([1, 2, None, 3], SPEC) == TREE
    assert cp.tree_unflatten(treespec=SPEC, leaves=[1, 2, None, 3]) == TREE
    assert cp.tree_unflatten(leaves=[1, 2, None, 3], treespec=SPEC) == TREE
    assert SPEC.unflatten([1, 2, None, 3]) == TREE


@pytest.mark.parametrize(
    "arguments",
    [(SPEC, SPEC), ([1], [2]), (1, 2), (SPEC,), ([1, 2],), (), (SPEC, [1], [2])],
    ids=["two specs", "no spec", "numbers", "only a spec", "only leaves", "nothing", "three"],
)
def test_exactly_one_argument_must_be_a_spec(arguments):
    with pytest.raises(TypeError):
        cp.tree_unflatten(*arguments)


def test_keywords_bind_by_name():
    with pytest.raises(TypeError):
        cp.tree_unflatten(treespec=[1, 2, None, 3], leaves=SPEC)
    with pytest.raises(TypeError):
        cp.tree_unflatten(SPEC, leaves=[1], treespec=SPEC)


@pytest.mark.parametrize("leaves", [{"a": 1, "b": 2}, "ab", b"ab", {1, 2}, 7, None], ids=repr)
def test_what_cannot_be_a_run_of_leaves_is_a_type_error(leaves):
    spec = cp.tree_structure([0, 0])
    for unflatten in (lambda: cp.tree_unflatten(spec, leaves), lambda: cp.tree_unflatten(leaves, spec)):
        with pytest.raises(TypeError):
            unflatten()
    with pytest.raises(TypeError):
        spec.unflatten(leaves)


@pytest.mark.parametrize(
    "kind", [list, tuple, iter, deque, lambda xs: (x for x in xs), lambda xs: dict.fromkeys(xs).keys()]
)
def test_any_other_iterable_gives_the_leaves(kind):
    assert cp.tree_unflatten(SPEC, kind([10, 20, 30, 40])) == {"a": [10, (20, 30)], "b": 40}
    assert cp.tree_unflatten(kind([10, 20, 30, 40]), SPEC) == {"a": [10, (20, 30)], "b": 40}
    assert SPEC.unflatten(kind([10, 20, 30, 40])) == {"a": [10, (20, 30)], "b": 40}


@pytest.mark.parametrize("leaves", [[], [1], [1, 2], [1, 2, 3, 4], list(range(100))], ids=len)
def test_a_wrong_count_names_both_numbers(leaves):
    spec = cp.tree_structure([0, (0, 0)])
    for kind in (list, tuple):
        with pytest.raises(ValueError, match=f"expected 3 leaves, got {len(leaves)}") as caught:
            spec.unflatten(kind(leaves))
        assert isinstance(caught.value, cp.LeafCountError)
    with pytest.raises(cp.LeafCountError, match="expected 3 leaves"):
        spec.unflatten(iter(leaves))


def test_an_exception_of_the_iterable_comes_through():
    def leaves() -> object:
        yield 1
        raise LookupError("from the iterable")

    with pytest.raises(LookupError, match="from the iterable"):
        SPEC.unflatten(leaves())


def test_any_value_may_stand_at_a_leaf():
    values = [None, [1], {"k": ()}, SPEC]
    tree = SPEC.unflatten(values)
    assert tree["a"][0] is None
    assert tree["a"][1][0] is values[1]
    assert tree["b"] is SPEC


def test_every_kind_is_rebuilt_with_all_that_belongs_to_it():
    tree = {
        "od": OrderedDict([("z", 1), ("a", 2)]),
        "dd": defaultdict(list, k=3),
        "q": deque([4, 5], maxlen=7),
        "p": Point(6, Nothing()),
        "s": Sample(7, 8, "name"),
        "c": Cell((1, 2), 9),
        "t": Tagged(10, 11, "tag"),
        "n": None,
        "static": Config(12),
    }
    leaves, spec = cp.tree_flatten(tree, none_is_leaf=False)
    rebuilt = spec.unflatten(leaf * 10 for leaf in leaves)
    assert list(rebuilt) == list(tree)
    assert {key: type(value) for key, value in rebuilt.items()} == {key: type(value) for key, value in tree.items()}
    assert list(rebuilt["od"].items()) == [("z", 10), ("a", 20)]
    assert rebuilt["dd"] == {"k": [3] * 10} or rebuilt["dd"]["k"] == 30
    assert rebuilt["dd"]["missing"] == []
    assert rebuilt["q"] == deque([40, 50])
    assert rebuilt["q"].maxlen == 7
    assert rebuilt["p"] == Point(60, Nothing())
    assert rebuilt["s"] == Sample(70, 80, "name")
    assert rebuilt["c"] == Cell((1, 2), 90)
    assert (rebuilt["t"].left, rebuilt["t"].right, rebuilt["t"].tag) == (100, 110, "tag")
    assert rebuilt["n"] is None
    assert rebuilt["static"] is tree["static"]


def test_a_namedtuple_with_a_constructor_of_its_own_is_rebuilt():
    pair = FromRange(range(3, 5))
    leaves, spec = cp.tree_flatten([pair])
    assert leaves == [3, 5]
    (rebuilt,) = spec.unflatten([30, 50])
    assert type(rebuilt) is FromRange
    assert (rebuilt.start, rebuilt.stop) == (30, 50)
    assert type(cp.tree_map(str, pair)) is FromRange


def test_rebuilt_containers_are_new_each_time():
    first, second = SPEC.unflatten([1, 2, 3, 4]), SPEC.unflatten([1, 2, 3, 4])
    assert first == second
    assert first is not second
    assert first["a"] is not second["a"]
    assert first["a"] is not TREE["a"]


def test_a_class_gets_its_children_as_a_tuple():
    got = []

    def unflatten(children: tuple, context: object) -> Node:
        got.append((children, context))
        return Node(list(children))

    with registered(Node, lambda node: (node.items, "ctx"), unflatten):
        cp.tree_structure([Node([1, 2]), Node([])]).unflatten([3, 4])
    assert got == [((3, 4), "ctx"), ((), "ctx")]


class Node:
    def __init__(self, items: list) -> None:
        self.items = items


def test_a_million_leaves():
    tree = [0] * 1_000_000
    leaves, spec = cp.tree_flatten([tree, Box(1)])
    assert len(leaves) == spec.num_leaves == 1_000_001
    assert len(spec.unflatten(leaves)[0]) == 1_000_000
    assert spec == cp.tree_structure([tree, Box(1)])


def test_an_endless_iterator_of_leaves_is_given_up():
    with pytest.raises(cp.LeafCountError, match="expected 3 leaves, got 4 or more"):
        cp.tree_structure([1, 2, 3]).unflatten(itertools.count())
