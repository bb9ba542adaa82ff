"""Structures that PyTorch wrote: read without PyTorch."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, defaultdict, deque
from typing import Any

import pytest
from classes import Color, Methods, Pair, Point
from registering import clean_registry  # noqa: F401

import clika_pytree as cp
from clika_pytree import pytree

LEAF = {"type": None, "context": None, "children_spec": []}


def node(name: Any, context: Any, *children: Any) -> dict:
    return {"type": name, "context": context, "children_spec": list(children)}


def load(root: Any, protocol: Any = 1) -> cp.TreeSpec:
    return cp.treespec_loads(json.dumps([protocol, root]))


def default_dict(module: Any, name: Any, keys: Any) -> dict:
    return {"default_factory_module": module, "default_factory_name": name, "dict_context": keys}


def nested_lists(depth: int) -> list:
    outer: list = []
    for _ in range(depth - 1):
        outer = [outer]
    return outer


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any = None


READ = [
    (LEAF, 0),
    (node("builtins.list", "null", LEAF, node("builtins.tuple", "null"), LEAF, LEAF), [0, (), 0, 0]),
    (node("builtins.dict", '["b", 1, true, null, 1.5, -0.0]', *[LEAF] * 6), None),
    (node("builtins.dict", '["b", [1, [2]]]', LEAF, LEAF), {"b": 0, (1, (2,)): 0}),
    (node("collections.OrderedDict", '["b", "a"]', LEAF, LEAF), OrderedDict(b=0, a=0)),
    (node("collections.defaultdict", default_dict("builtins", "list", ["k"]), LEAF), defaultdict(list, k=0)),
    (node("collections.deque", "3", LEAF), deque([0], 3)),
    (node("collections.deque", "null"), deque()),
    (node("collections.namedtuple", "classes.Point", LEAF, LEAF), Point(0, 0)),
    (node("tests.Pair", "null", LEAF, LEAF), Pair(0, 0)),
    (node("tests.Methods", "[" * 900 + "]" * 900, LEAF), Methods([0], nested_lists(900))),
    (node("tests.Methods", '["x", {"y": [1.0]}]', LEAF), Methods([0], ["x", {"y": [1.0]}])),
    (
        node("tests.Methods", '[{"__enum__": true, "fqn": "classes:Color", "name": "RED"}]', LEAF),
        Methods([0], [Color.RED]),
    ),
]


@pytest.mark.parametrize(("root", "tree"), READ, ids=range(len(READ)))
def test_what_pytorch_writes_is_read(root: Any, tree: Any) -> None:
    if tree is None:
        with pytest.raises(cp.PyTreeValueError, match="the same key is in it twice"):
            load(root)
    else:
        assert load(root) == cp.tree_structure(tree)
        assert load(node("builtins.list", "null", LEAF, root)) == cp.tree_structure([0, tree])


def test_a_dataclass_whose_fields_were_all_there() -> None:
    pytree.register_dataclass(Layer, serialized_type_name="tests.Layer")
    assert load(node("tests.Layer", '[["w", "b"], []]', LEAF, LEAF)) == cp.tree_structure(Layer(1, 2))
    with pytest.raises(cp.PyTreeValueError, match="PyTorch left out the fields of Layer that were None"):
        load(node("tests.Layer", '[["w"], ["b"]]', LEAF))
    for context, children in (('[["b", "w"], []]', 2), ('"w"', 2), ('[["w", "b"], []]', 1)):
        with pytest.raises(cp.PyTreeValueError, match="fields"):
            load(node("tests.Layer", context, *[LEAF] * children))


def test_context_functions_get_the_context_as_it_stands() -> None:
    pytree.register_pytree_node(
        Layer,
        lambda layer: ((layer.w,), layer.b),
        lambda children, b: Layer(*children, b),
        serialized_type_name="tests.Layer",
        to_dumpable_context=lambda b: {"b": b},
        from_dumpable_context=lambda dumped: dumped["b"],
    )
    assert load(node("tests.Layer", {"b": "x"}, LEAF)) == cp.tree_structure(Layer(1, "x"))
    with pytest.raises(KeyError) as caught:
        load(node("builtins.list", "null", LEAF, node("tests.Layer", {}, LEAF)))
    assert caught.value.__notes__ == ["clika_pytree: raised by from_dumpable_context of Layer at [1]"]


def test_a_static_object_comes_from_its_function() -> None:
    pytree.register_static(
        Layer,
        serialized_type_name="tests.Layer",
        to_dumpable_context=repr,
        from_dumpable_context=lambda w: w and Layer(w),
    )
    layer = load(node("tests.Layer", "x")).context
    assert layer == Layer("x")
    for wrong, reason in (
        (node("tests.Layer", None), "should be an instance of Layer, got None"),
        (node("tests.Layer", "x", LEAF), "has no children, and here it has 1"),
    ):
        with pytest.raises(cp.PyTreeValueError, match=reason):
            load(wrong)


def test_a_namedtuple_is_found_by_its_registered_name() -> None:
    pytree.register_static(Layer, serialized_type_name="not.a.namedtuple")
    pytree.register_pytree_node(
        Point, tuple, lambda c, _: Point(*c), serialized_type_name="my.Point", namespace="tests.torch"
    )
    text = json.dumps([1, node("collections.namedtuple", "my.Point", LEAF, LEAF)])
    assert cp.treespec_loads(text, "tests.torch").type is Point
    with pytest.raises(cp.PyTreeValueError, match=r"no loaded module has a namedtuple class 'my\.Point'"):
        cp.treespec_loads(text)
    with pytest.raises(cp.PyTreeValueError, match="no loaded module has a namedtuple class"):
        load(node("collections.namedtuple", "not.a.namedtuple"))


ENUM = '[{"__enum__": true, "fqn": %s, "name": %s}]'
REFUSED = [
    (node("builtins.list", "null", node("torch.Size", "null")), "no class is registered under the name 'torch.Size'"),
    (node("builtins.list", "null", 1), "a node is an object"),
    (node("builtins.list", "null", {}), "a node is an object"),
    (node("builtins.list", "null", {**LEAF, "more": 1}), "a node is an object"),
    (node("builtins.list", "null", {**LEAF, "children_spec": {}}), "children_spec should be a list"),
    (node("builtins.list", "null", node(None, None, LEAF)), "a leaf has no context and no children"),
    (node("builtins.list", "null", node(None, "null")), "a leaf has no context and no children"),
    (node("builtins.list", "null", node("builtins.list", None)), "JSON as a text, got None"),
    (node("builtins.list", "null", node("builtins.tuple", "1")), "has no context"),
    (
        node("builtins.list", "null", node("builtins.tuple", "[" * 100_000)),
        "its context can't be read: it is JSON nested",
    ),
    (node("builtins.list", "null", node("builtins.dict", '["a", "b"]', LEAF)), "a list of 1 keys"),
    (node("builtins.list", "null", node("builtins.dict", '["a", "a"]', LEAF, LEAF)), "twice"),
    (node("builtins.list", "null", node("builtins.dict", '[{"a": 1}]', LEAF)), "where a key should"),
    (node("builtins.list", "null", node("builtins.dict", "[" * 300 + "]" * 300, LEAF)), "nested tuples"),
    (node("builtins.list", "null", node("builtins.dict", ENUM % ('"classes:Color"', '"PINK"'), LEAF)), "no member 'PI"),
    (node("builtins.list", "null", node("builtins.dict", ENUM % ('"classes:Pair"', '"A"'), LEAF)), "no loaded module"),
    (node("builtins.list", "null", node("builtins.dict", ENUM % ("1", "1"), LEAF)), "no loaded module has an Enum"),
    (node("builtins.list", "null", node("collections.deque", "1", LEAF, LEAF)), "maxlen=1 can't hold 2"),
    (node("builtins.list", "null", node("collections.deque", "-1")), "the maxlen of a deque"),
    (
        node("builtins.list", "null", node("collections.defaultdict", default_dict("os", "system", []))),
        "none of those that are read",
    ),
    (
        node("builtins.list", "null", node("collections.defaultdict", default_dict("builtins", "eval", []))),
        "none of those that are read",
    ),
    (node("builtins.list", "null", node("collections.defaultdict", "[]")), "the context of a defaultdict"),
    (node("builtins.list", "null", node("collections.namedtuple", "classes.Point", LEAF)), "has 2 fields"),
    (node("builtins.list", "null", node("collections.namedtuple", "classes.Pair", LEAF)), "no loaded module has"),
    (node("builtins.list", "null", node("collections.namedtuple", "x." * 1000, LEAF)), "the name of its class"),
    (node("builtins.list", "null", node("collections.namedtuple", None, LEAF)), "the name of its class"),
]


@pytest.mark.parametrize(("root", "reason"), REFUSED, ids=range(len(REFUSED)))
def test_what_cant_be_read_is_named_with_its_place(root: Any, reason: str) -> None:
    with pytest.raises(cp.PyTreeValueError) as caught:
        load(root)
    assert reason in str(caught.value)
    assert caught.value.path == "[0]"


@pytest.mark.parametrize("text", ["[]", "[1]", "[1, {}, 2]", "[2, {}]", '["1", {}]', "[true, {}]"])
def test_another_list_is_no_document(text: str) -> None:
    with pytest.raises(cp.PyTreeValueError, match="PyTorch"):
        cp.treespec_loads(text)
