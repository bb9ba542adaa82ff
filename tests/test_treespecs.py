"""Structures made from the structures of children equal those of the trees; the top of a tree by itself."""

from __future__ import annotations

import functools
import re
from collections import OrderedDict, defaultdict, deque
from typing import Any

import pytest
from classes import ALPHA, AlphaOnly, Box, Cell, Config, FromRange, Labelled, Nothing, Point, Ranged, Tagged
from deep import HALF_WAY, Chain
from helpers import identical, keywords, read, reading, structure
from hypothesis import given
from strategies import leaves as any_leaf
from strategies import modes, trees, whole_modes

import clika_pytree as cp

LEAF = cp.treespec_leaf()


def spec_of(tree: Any, **options: Any) -> cp.TreeSpec:
    return cp.tree_structure(tree, **options)


# --- constructors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "tree"),
    [
        (cp.treespec_leaf(), 1),
        (cp.treespec_none(), None),
        (cp.treespec_list(), []),
        (cp.treespec_list([LEAF, spec_of((1, [2])), LEAF]), [1, (2, [3]), 4]),
        (cp.treespec_tuple(iter([LEAF, LEAF])), (1, 2)),
        (cp.treespec_tuple(), ()),
        (cp.treespec_dict(), {}),
        (cp.treespec_dict({"b": LEAF, 1: spec_of([])}), {"b": 1, 1: []}),
        (cp.treespec_dict([("a", LEAF)], mapping=LEAF, b=LEAF), {"a": 1, "mapping": 2, "b": 3}),
        (cp.treespec_ordereddict({"b": LEAF}, a=spec_of(Point(1, 2))), OrderedDict(b=1, a=Point(2, 3))),
        (cp.treespec_defaultdict(list, a=LEAF), defaultdict(list, a=1)),
        (cp.treespec_defaultdict(), defaultdict(None)),
        (cp.treespec_deque([LEAF, LEAF], 3), deque([1, 2], 3)),
        (cp.treespec_deque([LEAF]), deque([1])),
        (cp.treespec_namedtuple(Point(LEAF, spec_of([1]))), Point(1, [2])),
        (cp.treespec_namedtuple(Nothing()), Nothing()),
        (cp.treespec_namedtuple(Labelled(LEAF, LEAF)), Labelled(1, 2)),
        (cp.treespec_namedtuple(tuple.__new__(FromRange, (LEAF, LEAF))), FromRange(range(2))),
        (cp.treespec_from_collection({"a": LEAF, "b": [spec_of((1, 2)), LEAF]}), {"a": 1, "b": [(2, 3), 4]}),
        (cp.treespec_from_collection(Tagged(spec_of([1]), LEAF, 7)), Tagged([1], 2, 7)),
        (cp.treespec_from_collection(Cell(3, Box(LEAF))), Cell(3, Box(1))),
        (cp.treespec_from_collection([Config(1), ()]), [Config(1), ()]),
        (cp.treespec_from_collection(spec_of([1])), [1]),
    ],
)
def test_constructors_give_the_structure_of_the_tree(made, tree):
    spec = spec_of(tree)
    assert made == spec
    assert hash(made) == hash(spec)
    assert repr(made) == repr(spec)
    assert (made.num_leaves, made.num_nodes, made.paths()) == (spec.num_leaves, spec.num_nodes, spec.paths())


def test_none_is_read_as_the_children_read_it():
    node = cp.treespec_none(none_is_leaf=False)
    assert (node.kind, cp.treespec_none().kind) == ("none", "leaf")
    assert cp.treespec_list([node]) == spec_of([None], none_is_leaf=False)
    assert cp.treespec_dict(a=cp.treespec_leaf(none_is_leaf=False)) == spec_of({"a": 1}, none_is_leaf=False)
    assert cp.treespec_tuple(none_is_leaf=False) == spec_of((), none_is_leaf=False)
    assert cp.treespec_from_collection([None], none_is_leaf=False) == spec_of([None], none_is_leaf=False)
    with pytest.raises(cp.PyTreeTypeError, match=r"got None at \[0\]"):
        cp.treespec_from_collection([None, node])
    for children in ([LEAF, node], [node, LEAF]):
        with pytest.raises(cp.StructureError, match="none_is_leaf"):
            cp.treespec_list(children)
    with pytest.raises(cp.StructureError, match="none_is_leaf"):
        cp.treespec_list([LEAF], none_is_leaf=False)
    with pytest.raises(cp.StructureError, match="none_is_leaf"):
        cp.treespec_list([node], none_is_leaf=True)


def test_namespaces():
    made = cp.treespec_from_collection(AlphaOnly(LEAF, LEAF), namespace=ALPHA)
    assert made == spec_of(AlphaOnly(1, 2), namespace=ALPHA)
    assert cp.treespec_tuple([made, LEAF]).namespace == ALPHA
    assert cp.treespec_namedtuple(Ranged(1, LEAF), namespace=ALPHA) == spec_of(Ranged(1, 2), namespace=ALPHA)
    with pytest.raises(cp.PyTreeTypeError, match="an AlphaOnly at the root"):
        cp.treespec_from_collection(AlphaOnly(LEAF, LEAF))


def test_dicts_in_the_order_that_is_in_force():
    with cp.dict_insertion_ordered(False):
        made, spec = cp.treespec_dict(b=spec_of({"d": 1, "c": 2}), a=LEAF), spec_of({"b": {"d": 1, "c": 2}, "a": 3})
    assert made == spec
    rebuilt = made.unflatten([1, 2, 3])
    assert (list(rebuilt), list(rebuilt["b"])) == (["b", "a"], ["d", "c"])


@pytest.mark.parametrize(
    ("build", "words", "path"),
    [
        (
            lambda: cp.treespec_list([LEAF, 3]),
            "treespec_list() expects a TreeSpec for each child, got 3 at [1]",
            "[1]",
        ),
        (lambda: cp.treespec_tuple("ab"), "got 'a' at [0]", "[0]"),
        (lambda: cp.treespec_dict(a=None), "got None at ['a']", "['a']"),
        (lambda: cp.treespec_from_collection({"a": [LEAF, {1}]}), "got a set at ['a'][1]", "['a'][1]"),
        (lambda: cp.treespec_from_collection(5), "got 5 at the root", ""),
        (lambda: cp.treespec_namedtuple((LEAF,)), "expects a namedtuple that holds specs, got a tuple", None),
        (lambda: cp.treespec_defaultdict({"a": LEAF}), "a function as default_factory", None),
    ],
)
def test_what_is_no_spec_is_refused(build, words, path):
    with pytest.raises(cp.PyTreeTypeError, match=re.escape(words)) as caught:
        build()
    assert caught.value.path == path


def test_a_deque_keeps_all_children():
    with pytest.raises(ValueError, match="3 children for a deque of at most 2"):
        cp.treespec_deque([LEAF] * 3, maxlen=2)


BY_KIND: dict[str, Any] = {
    "list": lambda spec, children: cp.treespec_list(children),
    "tuple": lambda spec, children: cp.treespec_tuple(children),
    "dict": lambda spec, children: cp.treespec_dict(zip(spec.context, children, strict=True)),
    "ordereddict": lambda spec, children: cp.treespec_ordereddict(zip(spec.context, children, strict=True)),
    "defaultdict": lambda spec, children: cp.treespec_defaultdict(
        spec.context[0], zip(spec.context[1], children, strict=True)
    ),
    "deque": lambda spec, children: cp.treespec_deque(children, spec.context),
    "namedtuple": lambda spec, children: cp.treespec_namedtuple(tuple.__new__(spec.type, children)),
}


@given(trees, whole_modes)
def test_every_structure_can_be_made_from_its_children(tree, mode):
    read(tree, mode)
    spec = structure(tree, mode)
    if spec.num_children == 0:
        return
    children = spec.children()
    with reading(mode):
        parts, top = cp.tree_flatten_one_level(tree, **keywords(mode))
        assert [structure(part, mode) for part in parts] == children
        made = cp.treespec_from_collection(top.unflatten(children), namespace=mode.namespace)
        assert made == spec
        assert hash(made) == hash(spec)
        if spec.kind in BY_KIND:
            assert BY_KIND[spec.kind](spec, children) == spec


def test_many_and_deep_children():
    chain = Chain("list", HALF_WAY)
    deep = spec_of(chain.tree)
    made = cp.treespec_tuple([deep, LEAF, deep])
    assert made == spec_of((chain.tree, 1, chain.tree))
    nested = cp.treespec_from_collection(Chain("dict", HALF_WAY, deep).tree)
    assert (nested.num_nodes, nested.num_leaves) == (2 * HALF_WAY + 1, 1)
    assert cp.treespec_list([LEAF] * 100_000) == spec_of([0] * 100_000)


# --- the top of a tree ------------------------------------------------------------------------------------------------


def test_one_level():
    inner = [1, (2,)]
    children, spec = cp.tree_flatten_one_level(Tagged(inner, 3, "t"))
    assert identical(children, [3, inner])
    assert spec == spec_of(Tagged(0, 0, "t"))
    assert (spec.entries(), spec.context) == (["right", "left"], "t")
    assert cp.tree_flatten_one_level(()) == ([], spec_of(()))
    assert cp.tree_flatten_one_level(None, none_is_leaf=False)[0] == []
    assert cp.tree_flatten_one_level([None, []], none_is_leaf=False)[1].num_leaves == 2


@pytest.mark.parametrize("leaf", [3, None, "text", {1}, AlphaOnly(1, 2)], ids=lambda leaf: type(leaf).__name__)
def test_a_leaf_has_no_level(leaf):
    with pytest.raises(ValueError, match="which is a leaf"):
        cp.tree_flatten_one_level(leaf)


def test_one_level_asks_about_the_container_alone():
    asked: list[Any] = []
    tree: list[Any] = [1, [2]]
    tree.append(tree)
    children, spec = cp.tree_flatten_one_level(tree, asked.append)
    assert identical(children, tree)
    assert spec.num_leaves == 3
    assert identical(asked, [tree])
    with pytest.raises(ValueError, match="a list, which is a leaf"):
        cp.tree_flatten_one_level(tree, lambda obj: True)


@given(any_leaf | trees, modes)
def test_is_leaf_agrees_with_flatten(tree, mode):
    stops = mode.is_leaf is not None and bool(mode.is_leaf(tree))
    expected = stops or spec_of(tree, **{**keywords(mode), "is_leaf": Once()}).is_leaf()
    assert cp.tree_is_leaf(tree, **keywords(mode)) is expected
    assert cp.all_leaves([tree, tree], **keywords(mode)) is expected


class Once:
    """Stops at everything but the root."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, obj: Any) -> bool:
        asked, self.asked = self.asked, True
        return asked


def test_is_leaf_runs_no_flatten_function():
    class Angry(Box):
        pass

    def refuse(obj: Any) -> Any:
        raise AssertionError

    cp.register_pytree_node(Angry, refuse, refuse)
    try:
        assert cp.tree_is_leaf(Angry(1)) is False
        assert cp.tree_is_leaf(Angry(1), lambda obj: "yes") is True
    finally:
        cp.unregister_pytree_node(Angry)
    assert cp.tree_is_leaf(Angry(1)) is True
    assert cp.tree_is_leaf(AlphaOnly(1, 2)) is True
    assert cp.tree_is_leaf(AlphaOnly(1, 2), namespace=("x", ALPHA)) is False


def test_all_leaves():
    assert cp.all_leaves([]) is True
    assert cp.all_leaves(iter([1, None, "a"])) is True
    assert cp.all_leaves([1, None], none_is_leaf=False) is False
    assert cp.all_leaves([1, [2]]) is False
    assert cp.all_leaves([1, [2]], lambda obj: type(obj) is list) is True

    def stop(obj: object) -> None:
        raise StopIteration

    with pytest.raises(StopIteration):
        cp.all_leaves([1], stop)


def test_leaves_of_arguments():
    assert cp.arg_tree_leaves() == []
    assert cp.arg_tree_leaves([1, (2,)], None, b={"x": 3}, a=4, is_leaf=5) == [1, 2, None, 3, 4, 5]
    with cp.dict_insertion_ordered(False):
        assert cp.arg_tree_leaves(b=1, a=2) == [1, 2]


# --- Partial ----------------------------------------------------------------------------------------------------------


def line(x: Any, slope: Any, offset: Any = 0) -> Any:
    return slope * x + offset


def test_a_partial_is_a_partial():
    call = cp.Partial(line, slope=2, offset=1)
    assert isinstance(call, functools.partial)
    assert (call(10), call(10, offset=0)) == (21, 20)
    assert (call.func, call.args, call.keywords) == (line, (), {"slope": 2, "offset": 1})
    assert cp.is_registered(cp.Partial)
    assert cp.tree_is_leaf(functools.partial(line, 1))


def test_arguments_are_below_the_function():
    call = cp.Partial(line, [1, 2], offset=(3,))
    leaves, spec = cp.tree_flatten(call)
    assert leaves == [1, 2, 3]
    assert [cp.keystr(path) for path in spec.key_paths()] == [".args[0][0]", ".args[0][1]", ".keywords['offset'][0]"]
    assert spec == spec_of(cp.Partial(line, [0, 0], offset=(0,)))
    assert spec != spec_of(cp.Partial(len, [0, 0], offset=(0,)))
    assert spec != spec_of(cp.Partial(line, [0, 0], slope=(0,)))
    assert spec != spec_of(cp.Partial(line, (0, 0), offset=(0,)))
    made = cp.tree_map(lambda leaf: leaf * 10, call)
    assert (type(made), made.func, made.args, made.keywords) == (cp.Partial, line, ([10, 20],), {"offset": (30,)})
    assert cp.tree_leaves(cp.Partial(line)) == []


def test_partials_of_partials_and_copies():
    import copy
    import pickle

    call = cp.Partial(cp.Partial(line, 1), 2)
    assert (call.func, call.args) == (line, (1, 2))
    for twin in (pickle.loads(pickle.dumps(call)), copy.copy(call), copy.deepcopy(call)):
        assert (type(twin), twin(), spec_of(twin)) == (cp.Partial, 2, spec_of(call))


@pytest.mark.parametrize("leaves", [(1, 2), ([3], {"k": 4}), ((1,), {5: 6})], ids=repr)
def test_any_value_may_stand_for_the_arguments(leaves):
    _, spec = cp.tree_flatten_one_level(cp.Partial(line, 1, k=2))
    made = spec.unflatten(leaves)
    assert type(made) is cp.Partial
    children, again = cp.tree_flatten_one_level(made)
    assert identical(children, leaves)
    assert again == spec
    assert "no tuple and dict" in repr(made)
    with pytest.raises(cp.PyTreeTypeError, match="can't be called"):
        made()
    repaired = again.unflatten([(3, 4), {}])
    assert (repaired.func, repaired.args, repaired()) == (line, (3, 4), 12)


@given(trees, trees, whole_modes)
def test_a_partial_round_trips_with_any_arguments(a, b, mode):
    read([a, b], mode)
    call = cp.Partial(line, a, key=b)
    with reading(mode):
        found, spec = cp.tree_flatten(call, **keywords(mode))
        again, spec_again = cp.tree_flatten(spec.unflatten(found), **keywords(mode))
    assert identical(found, again)
    assert spec == spec_again


def test_an_ordereddict_that_ends_too_early_is_an_error():
    class Key:
        is_armed = False

        def __hash__(self) -> int:
            if Key.is_armed:
                raise StopIteration
            return 1

    mapping = OrderedDict({Key(): cp.treespec_leaf()})
    Key.is_armed = True
    with pytest.raises(RuntimeError, match="ended before its last key"):
        cp.treespec_ordereddict(mapping)
