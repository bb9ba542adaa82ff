"""Structures to optree's and from it."""

from __future__ import annotations

import dataclasses
import pickle
import time
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest
from classes import ALPHA, BETA, AlphaOnly, BetaOnly, Color, Pair
from conversion_trees import (
    SPACE,
    Open,
    Options,
    Record,
    Scaled,
    Weights,
    deques,
    every_kind,
    leaves,
    nested,
    put_together,
    records,
    take_apart_with_entries,
    trees,
    weights,
)
from hypothesis import given
from hypothesis import strategies as st
from registering import clean_registry  # noqa: F401

import clika_pytree as cp

optree = pytest.importorskip("optree", reason="optree is not installed")


def register(cls: type, flatten: Any, unflatten: Any, space: str = SPACE) -> None:
    optree.register_pytree_node(cls, flatten, lambda context, children: unflatten(children, context), namespace=space)


register(Scaled, take_apart_with_entries, put_together)
register(Options, lambda options: ((), options), lambda _, options: options)
optree.dataclasses.register_node(Record, namespace=SPACE)
optree.dataclasses.register_node(Weights, namespace=SPACE)

common = trees(records, weights, deques, leaf=st.one_of(leaves, st.none()))
modes = st.booleans()
META = {"static": True, "pytree_node": False}


@given(common, modes)
def test_the_structures_of_a_tree_are_each_other(tree: Any, none_is_leaf: bool) -> None:
    with cp.dict_insertion_ordered(False):
        found, spec = cp.tree_flatten(tree, none_is_leaf=none_is_leaf)
    theirs, treespec = optree.tree_flatten(tree, none_is_leaf=none_is_leaf, namespace=SPACE)
    assert cp.treespec_to_optree(spec, namespace=SPACE) == treespec
    assert cp.treespec_from_optree(treespec) == spec
    assert found == theirs


@given(common, modes)
def test_dicts_in_the_order_of_insertion(tree: Any, none_is_leaf: bool) -> None:
    found, spec = cp.tree_flatten(tree, none_is_leaf=none_is_leaf)
    with optree.dict_insertion_ordered(True, namespace=SPACE):
        theirs, treespec = optree.tree_flatten(tree, none_is_leaf=none_is_leaf, namespace=SPACE)
    assert cp.treespec_to_optree(spec, namespace=SPACE) == treespec
    assert cp.treespec_from_optree(treespec) == spec
    assert found == theirs


@given(common, modes, modes)
def test_what_comes_back_rebuilds_the_tree(tree: Any, none_is_leaf: bool, ordered: bool) -> None:
    with cp.dict_insertion_ordered(ordered):
        found, spec = cp.tree_flatten(tree, none_is_leaf=none_is_leaf)
    treespec = cp.treespec_to_optree(spec, namespace=SPACE)
    back = cp.treespec_from_optree(treespec)
    assert back == spec
    # repr shows the order of dicts, which == does not.
    assert repr(treespec.unflatten(found)) == repr(tree) == repr(back.unflatten(found))
    assert pickle.loads(pickle.dumps(treespec)) == treespec


def test_the_order_of_insertion_rides_along() -> None:
    tree = {"b": 1, "c": defaultdict(list, z=2, y=3), "a": 4}
    treespec = optree.tree_structure(tree)
    spec = cp.treespec_from_optree(treespec)
    assert spec.paths() == [("a",), ("b",), ("c", "y"), ("c", "z")]
    assert list(spec.unflatten(range(4))) == ["b", "c", "a"]
    back = cp.treespec_to_optree(spec)
    assert list(back.unflatten(range(4))) == ["b", "c", "a"]
    assert list(back.unflatten(range(4))["c"]) == ["z", "y"]


def test_no_code_of_a_class_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = every_kind(q=deque([1], 4), r=Record("n", 1, 2, [3]))
    found, spec = cp.tree_flatten(tree)
    treespec = optree.tree_structure(tree, none_is_leaf=True, namespace=SPACE)
    monkeypatch.setattr(Open, "now", False)
    made, back = cp.treespec_to_optree(spec, namespace=SPACE), cp.treespec_from_optree(treespec)
    monkeypatch.undo()
    assert (made, back) == (treespec, spec)
    assert made.unflatten(found) == tree


def test_deeper_than_optree_itself_can_flatten() -> None:
    spec = cp.tree_structure(nested(50_000))
    treespec = cp.treespec_to_optree(spec)
    assert treespec.num_nodes == spec.num_nodes
    assert cp.treespec_from_optree(treespec) == spec


def test_the_spec_is_no_part_of_what_is_made() -> None:
    spec = cp.tree_structure({"a": Scaled(1, ["mm"])})
    treespec = cp.treespec_to_optree(spec, namespace=SPACE)
    treespec.unflatten([1])["a"].unit.append("cm")
    assert spec == cp.tree_structure({"a": Scaled(1, ["mm"])})


def test_keys_as_entries_become_plain() -> None:
    class Box:
        def __init__(self, item: Any) -> None:
            self.item = item

    cp.register_pytree_node(Box, lambda box: ((box.item,), None, (cp.GetAttrKey("item"),)), lambda c, _: Box(*c))
    register(Box, lambda box: ((box.item,), None), lambda c, _: Box(*c))
    assert cp.treespec_to_optree(cp.tree_structure(Box(1)), namespace=SPACE).paths() == [("item",)]


# --- namespaces ------------------------------------------------------------------------------------------------------


def test_the_namespace_is_that_of_the_structure() -> None:
    register(AlphaOnly, lambda p: ([p.a, p.b], None, (0, "b")), lambda c, _: AlphaOnly(*c), ALPHA)
    spec = cp.tree_structure([AlphaOnly(1, 2)], namespace=ALPHA)
    treespec = optree.tree_structure([AlphaOnly(1, 2)], none_is_leaf=True, namespace=ALPHA)
    assert cp.treespec_to_optree(spec) == treespec
    assert cp.treespec_to_optree(spec).namespace == ALPHA
    assert cp.treespec_from_optree(treespec) == spec
    with pytest.raises(cp.PyTreeValueError, match=r"is not registered with optree in the namespace 'tests\.beta'"):
        cp.treespec_to_optree(spec, namespace=BETA)
    with pytest.raises(cp.PyTreeValueError, match="AlphaOnly is a node in optree and is not registered here"):
        cp.treespec_from_optree(treespec, namespace=BETA)


def test_a_namespace_that_no_class_was_looked_up_in_leaves_no_trace() -> None:
    assert cp.treespec_to_optree(cp.tree_structure([1]), namespace=SPACE).namespace == ""


def test_two_namespaces_are_one_too_many() -> None:
    tree = [AlphaOnly(1, 2), BetaOnly(3, "m")]
    spec = cp.tree_structure(tree, namespace=(ALPHA, BETA))
    with pytest.raises(cp.PyTreeValueError, match=r"expects one namespace, .*got 'tests\.alpha' and 'tests\.beta'"):
        cp.treespec_to_optree(spec)
    space = f"{SPACE}.both"
    register(AlphaOnly, lambda p: ([p.a, p.b], None), lambda c, _: AlphaOnly(*c), space)
    optree.dataclasses.register_node(BetaOnly, namespace=space)
    with pytest.raises(cp.PyTreeValueError, match="fields of BetaOnly are 'value' here and 'value', 'unit' in"):
        cp.treespec_to_optree(spec, namespace=space)
    optree.unregister_pytree_node(BetaOnly, namespace=space)
    register(BetaOnly, lambda b: ((b.value,), (b.unit,)), lambda c, unit: BetaOnly(*c, *unit), space)
    with pytest.raises(cp.PyTreeValueError, match="BetaOnly is registered as a dataclass here and with functions in"):
        cp.treespec_to_optree(spec, namespace=space)


# --- what the one has and the other has not --------------------------------------------------------------------------


def test_a_class_that_optree_does_not_know() -> None:
    with pytest.raises(cp.PyTreeValueError, match=r"the Pair at .* is not registered with optree globally") as caught:
        cp.treespec_to_optree(cp.tree_structure({"x": Pair(1, 2)}))
    assert caught.value.path == "['x']"


def test_a_struct_sequence_is_a_leaf_here() -> None:
    tree = {"now": [time.gmtime(0)]}
    with pytest.raises(cp.PyTreeValueError, match="struct_time is a node in optree and a leaf here; stop") as caught:
        cp.treespec_from_optree(optree.tree_structure(tree))
    assert caught.value.path == "['now'][0]"
    stopped = optree.tree_structure(tree, is_leaf=optree.is_structseq, none_is_leaf=True)
    assert cp.treespec_from_optree(stopped) == cp.tree_structure(tree)


def test_a_tuple_with_fields_that_optree_takes_for_a_leaf() -> None:
    class Fields(tuple):
        __slots__ = ()
        _fields = ("a",)

    with pytest.raises(cp.PyTreeValueError, match="optree takes it for a leaf: the class has no _make"):
        cp.treespec_to_optree(cp.tree_structure([tuple.__new__(Fields, [1])]))


def test_keys_without_an_order_need_none() -> None:
    tree = {Color.RED: 1, "a": 2, frozenset({1}): 3, 1: OrderedDict(b=4, a=5)}
    treespec = cp.treespec_to_optree(cp.tree_structure(tree))
    assert treespec.unflatten(range(1, 6)) == tree
    assert cp.treespec_from_optree(treespec) == cp.tree_structure(tree)


def test_a_registered_namedtuple_class() -> None:
    cls: Any = namedtuple("Half", "x y")
    cp.register_pytree_node(cls, lambda h: ((h.x,), h.y), lambda c, y: cls(c[0], y), namespace=SPACE)
    spec = cp.tree_structure([cls(1, 2)], namespace=SPACE)
    with pytest.raises(cp.PyTreeValueError, match="the class is not registered with optree in the namespace"):
        cp.treespec_to_optree(spec)
    with pytest.warns(UserWarning, match="Override"):
        register(cls, lambda h: ((h.x,), h.y), lambda c, y: cls(c[0], y))
    treespec = optree.tree_structure([cls(1, 2)], none_is_leaf=True, namespace=SPACE)
    assert cp.treespec_to_optree(spec) == treespec
    assert cp.treespec_from_optree(treespec) == spec


def test_a_class_that_optree_forgot() -> None:
    cls = dataclasses.make_dataclass("Choice", ["v"], frozen=True)
    cp.register_static(cls)
    register(cls, lambda choice: ((), choice), lambda _, choice: choice)
    treespec = optree.tree_structure([cls(3)], namespace=SPACE)
    assert cp.treespec_from_optree(treespec).unflatten([]) == [cls(3)]
    optree.unregister_pytree_node(cls, namespace=SPACE)
    with pytest.raises(cp.PyTreeValueError, match="Choice is registered with optree no longer"):
        cp.treespec_from_optree(treespec)


def test_a_class_that_was_registered_in_another_way_since() -> None:
    cls: Any = dataclasses.make_dataclass("Late", [("v", Any), ("unit", Any, dataclasses.field(metadata=META))])
    cp.register_dataclass(cls)
    register(cls, lambda late: ((late.v,), late.unit), lambda c, unit: cls(*c, unit))
    treespec = optree.tree_structure([cls(1, "mm")], namespace=SPACE)
    optree.unregister_pytree_node(cls, namespace=SPACE)
    optree.dataclasses.register_node(cls, namespace=SPACE)
    with pytest.raises(cp.PyTreeValueError, match="its context is not that of the meta fields of Late") as caught:
        cp.treespec_from_optree(treespec)
    assert caught.value.path == "[0]"


def test_something_else_than_a_structure() -> None:
    with pytest.raises(cp.PyTreeTypeError, match=r"to_optree\(\) expects a TreeSpec of clika_pytree, got 1"):
        cp.treespec_to_optree(1)
    with pytest.raises(cp.PyTreeTypeError, match=r"expects a str as namespace, got 1"):
        cp.treespec_to_optree(cp.treespec_leaf(), namespace=1)
    with pytest.raises(cp.PyTreeTypeError, match=r"expects a PyTreeSpec of optree, got a TreeSpec; optree\.tree"):
        cp.treespec_from_optree(cp.treespec_leaf())
    with pytest.raises(cp.PyTreeTypeError, match=r"expects a str or a tuple of str as namespace, got 1"):
        cp.treespec_from_optree(optree.tree_structure(0), namespace=1)
