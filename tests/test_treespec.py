"""A structure is a value: what it says about itself, when two are equal, how they combine and travel."""

from __future__ import annotations

import copy
import itertools
import operator
from collections import OrderedDict, defaultdict, deque

import pytest
from classes import (
    ALPHA,
    BETA,
    AlphaOnly,
    Bag,
    BetaOnly,
    Box,
    Cell,
    Config,
    Methods,
    Nothing,
    Pair,
    Point,
    Sample,
    Switch,
    Tagged,
)
from helpers import registered

import clika_pytree as cp

structure = cp.tree_structure

MEMBERS = [
    # tree, kind, type, context, entries
    (1, "leaf", None, None, []),
    ([1, 2], "list", list, None, [0, 1]),
    ((1,), "tuple", tuple, None, [0]),
    ({"b": 1, 2: 2}, "dict", dict, ("b", 2), ["b", 2]),
    (OrderedDict(z=1, a=2), "ordereddict", OrderedDict, ("z", "a"), ["z", "a"]),
    (defaultdict(int, k=1), "defaultdict", defaultdict, (int, ("k",)), ["k"]),
    (deque([1, 2], 5), "deque", deque, 5, [0, 1]),
    (Point(1, 2), "namedtuple", Point, None, ["x", "y"]),
    (Tagged(1, 2, "tag"), "custom", Tagged, "tag", ["right", "left"]),
    (Pair(1, 2), "custom", Pair, None, [0, 1]),
    (Methods([1], "note"), "custom", Methods, "note", [0]),
    (Bag({"a": 1, 3: 2}), "custom", Bag, ("a", 3), ["a", 3]),
    (Sample(1, 2, "name"), "dataclass", Sample, ("name",), ["weight", "bias"]),
    (Cell("size", 1), "dataclass", Cell, ("size",), ["value"]),
    (Config(1, 2), "static", Config, Config(1, 2), []),
]


@pytest.mark.parametrize(("tree", "kind", "cls", "context", "entries"), MEMBERS, ids=lambda value: str(value)[:20])
def test_members(tree, kind, cls, context, entries):
    spec = structure(tree)
    assert (spec.kind, spec.type, spec.context, spec.entries()) == (kind, cls, context, entries)
    assert spec.num_children == len(entries) == len(spec.children())
    assert spec.num_leaves == (1 if kind == "leaf" else len(entries))
    assert spec.num_nodes == len(entries) + 1
    assert spec.is_leaf() is (kind == "leaf")
    assert spec.none_is_leaf is True
    assert spec.namespace == ""
    assert spec.paths() == ([()] if kind == "leaf" else [(entry,) for entry in entries])


def test_members_of_a_none_node():
    spec = structure(None, none_is_leaf=False)
    assert (spec.kind, spec.type, spec.context, spec.entries(), spec.paths()) == ("none", type(None), None, [], [])
    assert (spec.num_leaves, spec.num_nodes, spec.is_leaf(), spec.none_is_leaf) == (0, 1, False, False)


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (0, "*"),
        (None, "*"),
        ((), "()"),
        ((1,), "(*,)"),
        ((1, 2), "(*, *)"),
        ([], "[]"),
        ({}, "{}"),
        ({"a": [1, (2, 3)], 5: 4, (1, "x"): 5}, "{'a': [*, (*, *)], 5: *, (1, 'x'): *}"),
        (OrderedDict(), "OrderedDict({})"),
        (OrderedDict(b=1, a=[2]), "OrderedDict({'b': *, 'a': [*]})"),
        (defaultdict(list, k=1), "defaultdict(<class 'list'>, {'k': *})"),
        (defaultdict(None), "defaultdict(None, {})"),
        (deque([1, 2]), "deque([*, *])"),
        (deque(maxlen=0), "deque([], maxlen=0)"),
        (Point(1, [2]), "Point(x=*, y=[*])"),
        (Nothing(), "Nothing()"),
        (Pair(1, (2,)), "CustomTreeNode(Pair[None], [*, (*,)])"),
        (Methods([1, 2], "pair"), "CustomTreeNode(Methods['pair'], [*, *])"),
        (Sample(1, [2], "s"), "Sample(weight=*, bias=[*], name='s')"),
        (Cell((1, 2), 3), "Cell(value=*, size=(1, 2))"),
        (Config(1), "CustomTreeNode(Config[Config(width=1, mode=None)], [])"),
    ],
)
def test_printing(tree, text):
    assert repr(structure(tree)) == str(structure(tree)) == f"TreeSpec({text})"


def test_printing_says_how_the_tree_was_read():
    assert repr(structure([None], none_is_leaf=False)) == "TreeSpec([None], none_is_leaf=False)"
    spec = structure(AlphaOnly(1, 2), namespace=ALPHA)
    assert repr(spec) == f"TreeSpec(CustomTreeNode(AlphaOnly[None], [*, *]), namespace={ALPHA!r})"
    spec = structure([AlphaOnly(1, 2)], namespace=(BETA, ALPHA), none_is_leaf=False)
    assert repr(spec).endswith(f"], none_is_leaf=False, namespace={ALPHA!r})")


def test_printing_never_cuts():
    assert repr(structure([0] * 10_000)).count("*") == 10_000


def test_numbers_and_paths():
    spec = structure({"a": [1, (2, None)], "b": 3})
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (4, 7, 2)
    assert spec.paths() == [("a", 0), ("a", 1, 0), ("a", 1, 1), ("b",)]


def test_a_spec_cannot_be_made_changed_or_subclassed():
    spec = structure([1])
    with pytest.raises(TypeError):
        cp.TreeSpec()
    with pytest.raises(TypeError):
        type("Mine", (cp.TreeSpec,), {})
    for name, value in [("num_leaves", 3), ("context", 1), ("new", 1)]:
        with pytest.raises(AttributeError):
            setattr(spec, name, value)
    spec.entries().append(3)
    spec.children().clear()
    spec.paths().clear()
    assert spec == structure([1])
    assert spec.entries() == [0]


# --- equality and hash ------------------------------------------------------------------------------------------------

DIFFERENT = [
    0, [], [0], [0, 0], [[0], 0], [0, [0]], (), (0,), {}, {"a": 0}, {"b": 0}, {"a": 0, "b": 0}, {"b": 0, "a": 0},
    {1: 0}, {True: 0}, {1.0: 0}, OrderedDict(), OrderedDict(a=0), OrderedDict(b=0), defaultdict(None),
    defaultdict(list), defaultdict(int), defaultdict(int, a=0), deque(), deque([0]), deque([0], 3), deque([0], 4),
    Point(0, 0), Nothing(), Pair(0, 0), Box(0), Box([0]), Tagged(0, 0, 1), Tagged(0, 0, True), Tagged(0, 0, 1.0),
    Bag({}), Bag({"a": 0}), Methods([], None), Sample(0, 0, 0), Sample(0, 0, 0.0), Sample(0, 0, -0.0), Cell(0, 0),
    Config(0), Config(0.0),
]  # fmt: skip


def test_different_structures_are_unequal_and_hash_differently():
    specs = [structure(tree) for tree in DIFFERENT]
    for (i, a), (j, b) in itertools.product(enumerate(specs), repeat=2):
        assert (a == b) is (i == j), (a, b)
        assert (a != b) is (i != j), (a, b)
    assert len(set(specs)) == len(set(map(hash, specs))) == len(DIFFERENT)


def test_equal_structures_of_different_trees():
    for tree in DIFFERENT:
        first, second = structure(tree), structure(copy.deepcopy(tree))
        assert first == second
        assert hash(first) == hash(second)


def test_a_spec_equals_no_other_kind_of_object():
    spec = structure([1])
    for other in ([1], "TreeSpec([*])", None, 1, object()):
        assert spec != other
        assert not spec == other  # noqa: SIM201
    assert spec.__eq__(3) is NotImplemented


def test_two_thousand_specs_that_differ_in_context_only_have_as_many_hashes():
    for make in (
        int,
        str,
        lambda i: (i, "x"),
        lambda i: [i],
        lambda i: {"k": i},
        lambda i: {i},
        lambda i: float(i) / 7,
        bytes,
    ):
        specs = [structure(Tagged(0, 0, make(i))) for i in range(2000)]
        assert len(set(map(hash, specs))) >= 1990, make
        assert len(dict.fromkeys(specs)) == 2000, make
    assert len({hash(structure({i: 0})) for i in range(2000)}) >= 1990
    assert len({hash(structure(Sample(0, 0, i))) for i in range(2000)}) >= 1990
    assert len({hash(structure(Config(i))) for i in range(2000)}) >= 1990


def test_hashes_tell_shapes_apart():
    shapes = [[0] * i for i in range(1000)]
    nests: list = [0]
    for _ in range(300):
        nests.append([nests[-1]])
    assert len({hash(structure(shape)) for shape in shapes}) == 1000
    assert len({hash(structure(nest)) for nest in nests}) == 301


def test_namespaces_make_an_equivalence_relation():
    tree = Switch(0, 0)
    specs = [structure(tree), structure(tree, namespace=ALPHA), structure(tree, namespace=BETA)]
    assert specs[0] == specs[2]  # BETA has no registration of its own, so both used the global one
    assert specs[0] != specs[1]
    with registered(Switch, lambda s: ((s.a, s.b), "global"), lambda children, _: Switch(*children), namespace=BETA):
        specs.append(structure(tree, namespace=BETA))
    assert specs[3] != specs[0]  # the same but for the namespace
    assert {len(set(order)) for order in itertools.permutations(specs)} == {3}
    for a, b, c in itertools.product(specs, repeat=3):
        assert not (a == b and b == c) or a == c


def test_a_namespace_that_no_node_used_leaves_no_trace():
    tree = {"a": [Pair(1, 2)]}
    plain, scoped = structure(tree), structure(tree, namespace=(ALPHA, BETA))
    assert plain == scoped
    assert hash(plain) == hash(scoped)
    assert repr(plain) == repr(scoped)
    assert structure([AlphaOnly(1, 2), 0], namespace=ALPHA).child(1) == structure(0)


def test_the_reading_of_none_is_part_of_the_structure():
    assert structure([1]) != structure([1], none_is_leaf=False)
    assert structure([1], none_is_leaf=False) == structure([2], none_is_leaf=False)
    assert structure([None], none_is_leaf=False) != structure([1], none_is_leaf=False)


def test_copies_are_the_spec_itself_even_where_a_key_compares_by_identity():
    spec = structure({object(): 0})
    assert copy.copy(spec) is spec
    assert copy.deepcopy(spec) is spec
    assert copy.deepcopy({"spec": spec})["spec"] == spec


@pytest.mark.parametrize("tree", [(), [], {}, 0, None, Nothing(), Config(1)], ids=repr)
def test_every_spec_is_true(tree):
    assert bool(structure(tree)) is True
    assert bool(structure(tree, none_is_leaf=False)) is True


# --- prefix, flatten_up_to, compose, children -------------------------------------------------------------------------


def test_prefix():
    short, deep = structure([1, 2]), structure([1, (2, 3)])
    assert short.is_prefix(deep)
    assert not deep.is_prefix(short)
    assert not short.is_prefix(structure([1, 2, 3]))
    assert not short.is_prefix(structure((1, 2)))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"a": 0}, OrderedDict(a=0)),
        ({"a": 0}, defaultdict(int, a=0)),
        ({"a": 0, "b": 0}, {"b": 0, "a": 0}),
        (deque([0], 3), deque([0], 9)),
        (defaultdict(int), defaultdict(list)),
        ({1: 0}, {True: 0}),
        (Tagged(0, 0, 1), Tagged(0, 0, 1.0)),
        (Config(1), Config(2)),
    ],
)
def test_prefix_follows_the_rules_of_equality(a, b):
    first, second = structure(a), structure(b)
    assert not first.is_prefix(second)
    assert not second.is_prefix(first)
    assert not first.is_suffix(second)
    for compare in (operator.le, operator.ge, operator.lt, operator.gt):
        assert not compare(first, second)
    assert first != second
    with pytest.raises(cp.StructureError):
        first.flatten_up_to(b)


def test_flatten_up_to_goes_as_deep_as_the_spec():
    spec = structure({"a": [0, 0], "t": Tagged(0, 0, "t")})
    assert spec.flatten_up_to({"a": [(1, 2), None], "t": Tagged([3], {}, "t")}) == [(1, 2), None, {}, [3]]
    with pytest.raises(cp.StructureError) as caught:
        spec.flatten_up_to({"a": [1, 2], "t": Tagged(1, 2, "u")})
    assert caught.value.path == "['t']"


def test_flatten_up_to_reads_with_the_registrations_of_the_spec():
    class Local:
        item = 7

    with registered(Local, lambda obj: ((obj.item,), None), lambda children, _: Local()):
        spec = structure([Local(), 0])
    assert structure(Local()).is_leaf()
    assert spec.flatten_up_to([Local(), 1]) == [7, 1]
    scoped = structure(AlphaOnly(0, 0), namespace=ALPHA)
    assert scoped.flatten_up_to(AlphaOnly(1, [2])) == [1, [2]]


def test_compose():
    outer, inner = structure([1, 2]), structure((1, 2))
    assert repr(outer.compose(inner)) == "TreeSpec([(*, *), (*, *)])"
    assert outer.compose(inner) == structure([(1, 2), (3, 4)])
    assert hash(outer.compose(inner)) == hash(structure([(1, 2), (3, 4)]))
    assert structure([]).compose(inner) == structure([])
    both = structure(AlphaOnly(0, 0), namespace=ALPHA).compose(structure(BetaOnly(0, 1), namespace=BETA))
    assert set(both.namespace) == {ALPHA, BETA}
    assert both == structure(AlphaOnly(BetaOnly(0, 1), BetaOnly(0, 1)), namespace=(ALPHA, BETA))


def test_children():
    spec = structure({"a": [1, 2], "b": (), "c": AlphaOnly(1, 2)}, namespace=ALPHA)
    assert spec.children() == [structure([1, 2]), structure(()), structure(AlphaOnly(1, 2), namespace=ALPHA)]
    assert spec.child(0) == spec.child(-3) == structure([1, 2])
    for index in (3, -4, 10**30):
        with pytest.raises(IndexError):
            spec.child(index)
    with pytest.raises(TypeError):
        spec.child("a")
    assert structure(1).children() == []
