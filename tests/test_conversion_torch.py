"""Structures to PyTorch's and from it."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest
from classes import Pair
from conversion_trees import (
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
    take_apart,
    trees,
)
from helpers import run_python
from hypothesis import given
from hypothesis import strategies as st
from registering import clean_registry  # noqa: F401

import clika_pytree as cp

pytest.importorskip("torch", reason="`make test-torch` installs PyTorch and runs this")

import torch.utils._pytree as torch_pytree

torch_pytree.register_pytree_node(Scaled, lambda scaled: (list(take_apart(scaled)[0]), scaled.unit), put_together)
torch_pytree.register_dataclass(Weights)
torch_pytree.register_constant(Options)


def any_order(children: st.SearchStrategy) -> st.SearchStrategy:
    keys = st.one_of(st.text(max_size=2), st.integers(0, 5), st.none(), st.tuples(st.booleans(), st.integers(0, 1)))
    return st.dictionaries(keys, children, max_size=3)


def weights(children: st.SearchStrategy) -> st.SearchStrategy:
    """PyTorch leaves out fields that are None."""
    return st.builds(Weights, children, children).filter(lambda node: None not in (node.weight, node.bias))


common = trees(weights, deques, any_order, leaf=st.one_of(leaves, st.none()))


@pytest.mark.filterwarnings("ignore:Generating overly large repr")  # of trees, when one is drawn again
@given(common)
def test_the_structures_of_a_tree_are_each_other(tree: Any) -> None:
    found, spec = cp.tree_flatten(tree)
    theirs, treespec = torch_pytree.tree_flatten(tree)
    assert cp.treespec_to_torch(spec) == treespec
    assert cp.treespec_from_torch(treespec) == spec
    assert found == theirs


@given(common)
def test_what_comes_back_rebuilds_the_tree(tree: Any) -> None:
    found, spec = cp.tree_flatten(tree)
    treespec = cp.treespec_to_torch(spec)
    assert cp.treespec_from_torch(treespec) == spec
    assert torch_pytree.tree_unflatten(found, treespec) == tree == spec.unflatten(found)
    assert hash(treespec) == hash(torch_pytree.tree_structure(tree))


def test_no_code_of_a_class_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = every_kind(q=deque([1], 4))
    found, spec = cp.tree_flatten(tree)
    treespec = torch_pytree.tree_structure(tree)
    monkeypatch.setattr(Open, "now", False)
    made, back = cp.treespec_to_torch(spec), cp.treespec_from_torch(treespec)
    monkeypatch.undo()
    assert (made, back) == (treespec, spec)
    assert torch_pytree.tree_unflatten(found, made) == tree


def test_deeper_than_pytorch_itself_can_flatten() -> None:
    spec = cp.tree_structure(nested(50_000))
    treespec = cp.treespec_to_torch(spec)
    assert treespec.num_nodes == spec.num_nodes
    assert cp.treespec_from_torch(treespec) == spec


def test_the_order_of_leaves_is_kept() -> None:
    tree = {"b": 1, "a": defaultdict(list, d=2, c=3)}
    with cp.dict_insertion_ordered(False):
        found, spec = cp.tree_flatten(tree)
    assert found == [3, 2, 1]
    assert torch_pytree.tree_unflatten(found, cp.treespec_to_torch(spec)) == tree


def test_the_spec_is_no_part_of_what_is_made() -> None:
    spec = cp.tree_structure({"a": Scaled(1, ["mm"])})
    treespec = cp.treespec_to_torch(spec)
    treespec.context.append("b")
    treespec.children()[0].context.append("cm")
    assert spec == cp.tree_structure({"a": Scaled(1, ["mm"])})


CXX = """
import torch.utils._cxx_pytree as cxx_pytree, torch.utils._pytree as torch_pytree
import clika_pytree as cp
from classes import Pair

cxx_pytree.register_pytree_node(Pair, lambda pair: ([pair.a, pair.b], None), lambda children, _: Pair(*children))
tree = {"b": [1, None], "a": Pair(2, (3,))}
spec, treespec = cp.tree_structure(tree), cxx_pytree.tree_structure(tree)
assert cp.treespec_from_optree(treespec) == spec
assert cp.treespec_to_optree(spec, namespace="torch") == treespec
try:
    cp.treespec_from_torch(treespec)
except cp.PyTreeTypeError as error:
    assert "is optree's: treespec_from_optree() takes it" in str(error)
else:
    raise AssertionError
"""


def test_structures_of_the_cxx_module_are_those_of_optree() -> None:
    pytest.importorskip("optree", reason="optree is not installed")
    run_python(CXX)  # in a process of its own: that module tells optree of every class registered so far


# --- what PyTorch has nothing for ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tree", "message", "path"),
    [
        (
            [{"a": None}],
            "can't carry the None at .*None is no node in PyTorch; make the structure with none_",
            "[0]['a']",
        ),
        ({"x": Pair(1, 2)}, "can't carry the Pair at .*the class is not registered with PyTorch; register it", "['x']"),
        ({"x": Record(1, 2, 3, 4)}, "can't carry the Record at .*the class is not registered with PyTorch", "['x']"),
    ],
)
def test_what_pytorch_has_not_is_named_with_its_place(tree: Any, message: str, path: str) -> None:
    with pytest.raises(cp.PyTreeValueError, match=message) as caught:
        cp.treespec_to_torch(cp.tree_structure(tree, none_is_leaf=False))
    assert caught.value.path == path


def test_fields_that_were_none() -> None:
    with pytest.raises(cp.PyTreeValueError, match="PyTorch left out the fields of Weights that were None") as caught:
        cp.treespec_from_torch(torch_pytree.tree_structure([Weights(1, None)]))
    assert caught.value.path == "[0]"


def test_a_registered_namedtuple_class() -> None:
    cls: Any = namedtuple("Half", "x y")
    cp.register_pytree_node(cls, lambda h: ((h.x,), h.y), lambda c, y: cls(c[0], y))
    with pytest.raises(cp.PyTreeValueError, match="PyTorch takes no notice of that"):
        cp.treespec_to_torch(cp.tree_structure([cls(1, 2)]))


# --- classes registered in another way -------------------------------------------------------------------------------


def make_dataclass() -> type:
    @dataclasses.dataclass(frozen=True)
    class Layer:
        w: Any
        b: Any

    return Layer


WAYS: dict[str, Any] = {
    "with functions": (
        lambda cls: cp.register_pytree_node(cls, lambda x: ((x.w, x.b), None), lambda children, _: cls(*children)),
        lambda cls: torch_pytree.register_pytree_node(cls, lambda x: ([x.w, x.b], None), lambda c, _: cls(*c)),
    ),
    "as a dataclass": (cp.register_dataclass, torch_pytree.register_dataclass),
    "as static": (cp.register_static, torch_pytree.register_constant),
}


@pytest.mark.parametrize("here", WAYS)
@pytest.mark.parametrize("there", WAYS)
def test_both_register_a_class_in_one_way(here: str, there: str) -> None:
    cls = make_dataclass()
    WAYS[here][0](cls)
    WAYS[there][1](cls)
    spec, treespec = cp.tree_structure([cls(1, 2)]), torch_pytree.tree_structure([cls(1, 2)])
    if here == there:
        assert cp.treespec_to_torch(spec) == treespec
        assert cp.treespec_from_torch(treespec) == spec
        return
    with pytest.raises(cp.PyTreeValueError) as caught:
        cp.treespec_from_torch(treespec)
    assert caught.value.path == "[0]"
    if (here, there) == ("as static", "with functions"):  # a class may be told to be static with functions
        assert "has no children, and here it has 2" in str(caught.value)
        return
    with pytest.raises(cp.PyTreeValueError, match=rf"Layer is registered {here} here and {there} in PyTorch"):
        cp.treespec_to_torch(spec)
    assert f"{here} here and {there} in PyTorch" in str(caught.value)


def test_fields_that_differ() -> None:
    cls: Any = make_dataclass()
    cp.register_dataclass(cls, ["w"], ["b"])
    torch_pytree.register_dataclass(cls)
    for convert in (
        lambda: cp.treespec_to_torch(cp.tree_structure({"x": cls(1, 2)})),
        lambda: cp.treespec_from_torch(torch_pytree.tree_structure({"x": cls(1, 2)})),
    ):
        with pytest.raises(cp.PyTreeValueError, match=r"data fields of .* are 'w' here and 'w', 'b' in P") as caught:
            convert()
        assert caught.value.path == "['x']"


def test_a_class_that_pytorch_forgot() -> None:
    cls: Any = make_dataclass()
    torch_pytree.register_constant(cls)
    treespec = torch_pytree.tree_structure([cls(1, 2)])
    with pytest.raises(cp.PyTreeValueError, match="Layer is a node in PyTorch and is not registered here"):
        cp.treespec_from_torch(treespec)
    torch_pytree._deregister_pytree_node(cls)
    with pytest.raises(cp.PyTreeValueError, match="Layer is registered with PyTorch no longer"):
        cp.treespec_from_torch(treespec)


def test_namespaces_of_ours() -> None:
    cls: Any = make_dataclass()
    cp.register_dataclass(cls, namespace="tests.here")
    torch_pytree.register_dataclass(cls)
    treespec = torch_pytree.tree_structure(cls(1, 2))
    spec = cp.tree_structure(cls(1, 2), namespace="tests.here")
    assert cp.treespec_to_torch(spec) == treespec
    assert cp.treespec_from_torch(treespec, namespace=("tests.none", "tests.here")) == spec
    with pytest.raises(cp.PyTreeValueError, match="pass the namespace it is registered in"):
        cp.treespec_from_torch(treespec)


# --- what is none of PyTorch's structures ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "context", "count", "message"),
    [
        (dict, ["a"], 2, "it has 2 children and 1 keys"),
        (OrderedDict, None, 1, "its keys should be a list, got None"),
        (defaultdict, None, 1, "its context should be its factory and its keys, got None"),
        (deque, "long", 1, "it should have no maxlen or one from 1 on, got 'long'"),
        (deque, 1, 2, "it should have no maxlen or one from 2 on, got 1"),
        (namedtuple, int, 1, "the class int stands for a namedtuple class"),
        (Weights, None, 2, "the fields of Weights are others than when PyTorch made the structure"),
        (Weights, [["weight", "bias"], []], 1, "Weights has 2 data fields, and here it has 1 children"),
        (Options, 1, 0, "should be an instance of Options, got 1"),
    ],
)
def test_a_structure_made_by_hand(cls: Any, context: Any, count: int, message: str) -> None:
    leaf = torch_pytree.tree_structure(0)
    inner = torch_pytree.TreeSpec(cls, context, [leaf] * count)
    with pytest.raises(cp.PyTreeValueError, match=message) as caught:
        cp.treespec_from_torch(torch_pytree.TreeSpec(list, None, [leaf, inner]))
    assert caught.value.path == "[1]"


def test_something_else_than_a_structure() -> None:
    with pytest.raises(cp.PyTreeTypeError, match=r"treespec_to_torch\(\) expects a TreeSpec of clika_pytree, got a Tr"):
        cp.treespec_to_torch(torch_pytree.tree_structure([]))
    with pytest.raises(cp.PyTreeTypeError, match=r"expects a TreeSpec of PyTorch, got 1; torch\.utils\._pytree"):
        cp.treespec_from_torch(1)
    with pytest.raises(cp.PyTreeTypeError, match=r"treespec_from_torch\(\) expects a str or a tuple of str as"):
        cp.treespec_from_torch(torch_pytree.tree_structure(0), namespace=1)
