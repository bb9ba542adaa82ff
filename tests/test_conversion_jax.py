"""Structures to JAX's and from it."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest
from classes import Color, Pair
from conversion_trees import (
    Open,
    Options,
    Record,
    Scaled,
    Weights,
    every_kind,
    leaves,
    nested,
    put_together,
    records,
    take_apart,
    trees,
    weights,
)
from helpers import run_python
from hypothesis import given
from hypothesis import strategies as st
from registering import clean_registry  # noqa: F401

import clika_pytree as cp
from clika_pytree.conversion.jax import Jax
from clika_pytree.conversion.walks import converted

jax = pytest.importorskip("jax", reason="JAX is not installed")

jax.tree_util.register_pytree_node(Scaled, take_apart, lambda unit, children: put_together(children, unit))
# The meta fields in another order than that of the class.
jax.tree_util.register_dataclass(Record, data_fields=["weight", "bias"], meta_fields=["size", "name"])
jax.tree_util.register_dataclass(Weights, data_fields=["weight", "bias"], meta_fields=[])
jax.tree_util.register_static(Options)

common = trees(records, weights, leaf=st.one_of(leaves, st.none()))


def flatten_as_jax_does(tree: Any) -> tuple[list, cp.TreeSpec]:
    with cp.dict_insertion_ordered(False):
        return cp.tree_flatten(tree, none_is_leaf=False)


@given(common)
def test_the_structures_of_a_tree_are_each_other(tree: Any) -> None:
    found, spec = flatten_as_jax_does(tree)
    treedef = jax.tree_util.tree_structure(tree)
    assert cp.treespec_to_jax(spec) == treedef
    assert cp.treespec_from_jax(treedef) == spec
    assert found == jax.tree_util.tree_leaves(tree)


@given(common)
def test_old_releases_of_jaxlib_make_the_same(tree: Any) -> None:
    side = Jax("")
    _, spec = flatten_as_jax_does(tree)
    side.node = side.made_of_state
    treedef = converted("", spec, side)
    assert treedef == cp.treespec_to_jax(spec)
    assert (treedef.num_nodes, treedef.num_leaves) == (spec.num_nodes, spec.num_leaves)
    assert treedef.__getstate__() == cp.treespec_to_jax(spec).__getstate__()


@given(common)
def test_what_comes_back_rebuilds_the_tree(tree: Any) -> None:
    found, spec = flatten_as_jax_does(tree)
    treedef = cp.treespec_to_jax(spec)
    assert cp.treespec_from_jax(treedef) == spec
    rebuilt = treedef.unflatten(found)
    assert rebuilt == tree == cp.treespec_from_jax(treedef).unflatten(found)
    assert jax.tree_util.tree_structure(rebuilt) == treedef


@given(common)
def test_none_can_stay_a_leaf(tree: Any) -> None:
    with cp.dict_insertion_ordered(False):
        found, spec = cp.tree_flatten(tree)
    treedef = cp.treespec_to_jax(spec)
    assert cp.treespec_from_jax(treedef, none_is_leaf=True) == spec
    assert treedef.unflatten(found) == tree


def test_no_code_of_a_class_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = every_kind(r=Record("n", 1, 2, [3]))
    found, spec = flatten_as_jax_does(tree)
    treedef = jax.tree_util.tree_structure(tree)
    monkeypatch.setattr(Open, "now", False)
    made, back = cp.treespec_to_jax(spec), cp.treespec_from_jax(treedef)
    monkeypatch.undo()
    assert (made, back) == (treedef, spec)
    assert made.unflatten(found) == tree


def test_deeper_than_jax_itself_can_flatten() -> None:
    spec = cp.tree_structure(nested(2000))
    treedef = cp.treespec_to_jax(spec)
    assert treedef.num_nodes == spec.num_nodes
    assert cp.treespec_from_jax(treedef, none_is_leaf=True) == spec


def test_meta_values_go_to_the_fields_they_are_of() -> None:
    treedef = cp.treespec_to_jax(cp.tree_structure(Record("n", 0, 4, 0)))
    assert treedef.unflatten([1, 2]) == Record("n", 1, 4, 2)
    assert treedef.node_data() == (Record, (4, "n"))


DEQUE = """
from collections import deque
import jax, clika_pytree as cp
register = jax.tree_util.register_pytree_node
register(deque, lambda d: (list(d), d.maxlen), lambda maxlen, children: deque(children, maxlen))
tree = deque([1, [2]], 5)
spec, treedef = cp.tree_structure(tree), jax.tree_util.tree_structure(tree)
assert treedef.num_leaves == 2
assert cp.treespec_to_jax(spec) == treedef
assert cp.treespec_from_jax(treedef, none_is_leaf=True) == spec
"""


def test_a_deque_that_jax_was_told_of() -> None:
    run_python(DEQUE)  # in a process of its own, since JAX does not forget


# --- what JAX has nothing for ----------------------------------------------------------------------------------------

SORTED = r"and in this one 'b' stands before 'a'; make the structure inside dict_insertion_ordered\(False\)"
NOT_CARRIED = [
    ([{"b": 1, "a": 2}], f"can't carry the dict at \\[0\\]: JAX reads a dict by sorted key, {SORTED}", "[0]"),
    ([defaultdict(int, b=1, a=2)], f"can't carry the defaultdict at .*{SORTED}", "[0]"),
    ({"x": {1: 1, "a": 2}}, r"its keys 1 and 'a' can't be compared; use keys of one class", "['x']"),
    ([{Color.RED: 1, Color.BLUE: 2}], "Color.RED.* and .*Color.BLUE.* can't be compared", "[0]"),
    ([{frozenset({1}): 1, frozenset({2}): 2}], "stands before", "[0]"),
    ((deque([1]),), "JAX takes a deque for a leaf; use a list, or register deque with JAX", "[0]"),
    ([Pair(1, 2)], "can't carry the Pair at .*: the class is not registered with JAX; register it there", "[0]"),
]


@pytest.mark.parametrize(("tree", "message", "path"), NOT_CARRIED, ids=range(len(NOT_CARRIED)))
def test_what_jax_has_not_is_named_with_its_place(tree: Any, message: str, path: str) -> None:
    with pytest.raises(cp.PyTreeValueError, match=message) as caught:
        cp.treespec_to_jax(cp.tree_structure(tree))
    assert caught.value.path == path


def test_an_ordered_dict_keeps_its_order() -> None:
    tree = OrderedDict(b=1, a={"z": 2})
    treedef = cp.treespec_to_jax(cp.tree_structure(tree))
    assert treedef == jax.tree_util.tree_structure(tree)
    assert cp.treespec_from_jax(treedef, none_is_leaf=True).paths() == [("b",), ("a", "z")]


def test_none_is_a_node_there() -> None:
    treedef = jax.tree_util.tree_structure({"a": [None]})
    with pytest.raises(cp.PyTreeValueError, match=r"at \['a'\]\[0\]: None is a node in JAX.*pass none_is_leaf=False"):
        cp.treespec_from_jax(treedef, none_is_leaf=True)


def test_keys_that_raise_when_compared() -> None:
    class Key:
        def __lt__(self, other: object) -> bool:
            raise RuntimeError("no")

    with pytest.raises(cp.PyTreeValueError, match="can't be compared"):
        cp.treespec_to_jax(cp.tree_structure({Key(): 1, Key(): 2}))


# --- classes registered in another way -------------------------------------------------------------------------------


def make_dataclass() -> type:
    @dataclasses.dataclass
    class Layer:
        w: Any
        b: Any

    return Layer


WAYS: dict[str, Any] = {
    "functions": (
        lambda cls: cp.register_pytree_node(cls, lambda x: ((x.w, x.b), None), lambda children, _: cls(*children)),
        lambda cls: jax.tree_util.register_pytree_node(cls, lambda x: ((x.w, x.b), None), lambda _, c: cls(*c)),
    ),
    "as a dataclass": (
        cp.register_dataclass,
        lambda cls: jax.tree_util.register_dataclass(cls, data_fields=["w", "b"], meta_fields=[]),
    ),
    "as static": (cp.register_static, jax.tree_util.register_static),
}


@pytest.mark.parametrize("here", WAYS)
@pytest.mark.parametrize("there", WAYS)
def test_both_register_a_class_in_one_way(here: str, there: str) -> None:
    cls = make_dataclass()
    WAYS[here][0](cls)
    WAYS[there][1](cls)
    spec, treedef = cp.tree_structure([cls(1, 2)]), jax.tree_util.tree_structure([cls(1, 2)])
    if here == there:
        assert cp.treespec_to_jax(spec) == treedef
        assert cp.treespec_from_jax(treedef, none_is_leaf=True) == spec
        return
    with pytest.raises(cp.PyTreeValueError) as caught:
        cp.treespec_from_jax(treedef, none_is_leaf=True)
    assert caught.value.path == "[0]"
    if (here, there) == ("as static", "functions"):  # a class may be told to be static with functions
        assert "has no children, and here it has 2" in str(caught.value)
        return
    with pytest.raises(cp.PyTreeValueError, match=rf"Layer is registered .*{here} here and .*{there} in JAX"):
        cp.treespec_to_jax(spec)
    assert f"{here} here and" in str(caught.value)


def test_a_static_class_told_with_functions() -> None:
    cls = dataclasses.make_dataclass("Choice", ["v"], frozen=True)
    cp.register_static(cls)
    jax.tree_util.register_pytree_node(cls, lambda choice: ((), choice), lambda choice, _: choice)
    treedef = jax.tree_util.tree_structure([cls(3)])
    assert cp.treespec_to_jax(cp.tree_structure([cls(3)])) == treedef
    assert cp.treespec_from_jax(treedef, none_is_leaf=True).unflatten([]) == [cls(3)]


@pytest.mark.parametrize(
    ("data", "meta", "message"),
    [
        (["b", "w"], [], "the data fields of .*Layer are 'w', 'b' here and 'b', 'w' in JAX"),
        (["w"], ["b"], "the data fields of .*Layer are 'w', 'b' here and 'w' in JAX"),
    ],
)
def test_fields_that_differ(data: list, meta: list, message: str) -> None:
    cls: Any = make_dataclass()
    cp.register_dataclass(cls)
    jax.tree_util.register_dataclass(cls, data_fields=data, meta_fields=meta)
    for convert in (
        lambda: cp.treespec_to_jax(cp.tree_structure({"x": cls(1, 2)})),
        lambda: cp.treespec_from_jax(jax.tree_util.tree_structure({"x": cls(1, 2)})),
    ):
        with pytest.raises(cp.PyTreeValueError, match=message) as caught:
            convert()
        assert caught.value.path == "['x']"


def test_a_meta_field_that_only_one_side_has() -> None:
    cls: Any = make_dataclass()
    cp.register_dataclass(cls, ["w"], [], drop_fields=["b"])
    jax.tree_util.register_dataclass(cls, data_fields=["w"], meta_fields=["b"])
    with pytest.raises(cp.PyTreeValueError, match=r"the meta fields of .*Layer are none here and 'b' in JAX"):
        cp.treespec_to_jax(cp.tree_structure(cls(1, 2)))


def test_a_class_only_jax_knows() -> None:
    treedef = jax.tree_util.tree_structure({"f": jax.tree_util.Partial(print, 1)})
    with pytest.raises(cp.PyTreeValueError, match="Partial is a node in JAX and is not registered here; register"):
        cp.treespec_from_jax(treedef)


def test_namespaces_of_ours() -> None:
    cls: Any = make_dataclass()
    cp.register_dataclass(cls, namespace="tests.here")
    jax.tree_util.register_dataclass(cls, data_fields=["w", "b"], meta_fields=[])
    treedef = jax.tree_util.tree_structure(cls(1, 2))
    spec = cp.tree_structure(cls(1, 2), namespace="tests.here")
    assert cp.treespec_from_jax(treedef, none_is_leaf=True, namespace=("tests.none", "tests.here")) == spec
    with pytest.raises(cp.PyTreeValueError, match="pass the namespace it is registered in"):
        cp.treespec_from_jax(treedef)


def test_a_registered_namedtuple_class() -> None:
    cls: Any = namedtuple("Half", "x y")
    jax.tree_util.register_pytree_node(cls, lambda h: ((h.x,), h.y), lambda y, c: cls(c[0], y))
    treedef = jax.tree_util.tree_structure([cls(1, 2)])
    with pytest.raises(cp.PyTreeValueError, match="Half is a node in JAX and is not registered here"):
        cp.treespec_from_jax(treedef)
    cp.register_pytree_node(cls, lambda h: ((h.x,), h.y), lambda c, y: cls(c[0], y))
    assert cp.treespec_from_jax(treedef, none_is_leaf=True) == cp.tree_structure([cls(1, 2)])
    with pytest.raises(cp.PyTreeValueError, match="JAX makes a plain namedtuple node of those"):
        cp.treespec_to_jax(cp.tree_structure([cls(1, 2)]))


# --- what is none of JAX's structures --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "count", "message"),
    [
        ((dict, ["a"]), 2, "it has 2 children and 1 keys"),
        ((OrderedDict, None), 1, "its keys should be a list, got None"),
        ((Record, ("only one",)), 2, "the tuple of its 2 meta values"),
        ((namedtuple("Twins", "x y"), None), 3, "Twins has 2 fields, and here it has 3 children"),
    ],
)
def test_a_structure_made_by_hand(facts: Any, count: int, message: str) -> None:
    make = Jax("").node
    leaf = jax.tree_util.tree_structure(0)
    treedef = make((list, None), [leaf, make(facts, [leaf] * count)])
    with pytest.raises(cp.PyTreeValueError, match=message) as caught:
        cp.treespec_from_jax(treedef)
    assert caught.value.path == "[1]"


def test_something_else_than_a_structure() -> None:
    with pytest.raises(cp.PyTreeTypeError, match=r"treespec_to_jax\(\) expects a TreeSpec of clika_pytree, got 1"):
        cp.treespec_to_jax(1)
    with pytest.raises(cp.PyTreeTypeError, match=r"expects a PyTreeDef of JAX, got a TreeSpec; jax\.tree\.structure"):
        cp.treespec_from_jax(cp.treespec_leaf())
    with pytest.raises(cp.PyTreeTypeError, match=r"treespec_from_jax\(\) expects a str or a tuple of str as namespace"):
        cp.treespec_from_jax(jax.tree_util.tree_structure(0), namespace=1)
    with pytest.raises(cp.PyTreeTypeError, match="expects a bool as none_is_leaf, got None"):
        cp.treespec_from_jax(jax.tree_util.tree_structure(0), none_is_leaf=None)
