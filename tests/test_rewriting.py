"""Structures rewritten (`transform`) and folded (`walk`): what the functions get, may return, and where they fail."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any

import pytest
from classes import ALPHA, AlphaOnly, Bag, Box, Cell, Config, Methods, Point, Sample, Tagged
from deep import HALF_WAY, Chain
from helpers import SMALL_STACK, notes, registered, run_in_thread

import clika_pytree as cp

structure = cp.tree_structure
LEAF = cp.treespec_leaf()
TREE = {"a": [0, (0, 0)], "b": Tagged(0, [], "t")}


# --- transform --------------------------------------------------------------------------------------------------------


def test_each_container_is_handed_over_with_leaves_for_its_children():
    asked: list[cp.TreeSpec] = []

    def node(level: cp.TreeSpec) -> cp.TreeSpec:
        asked.append(level)
        return level

    assert structure(TREE).transform(node, lambda leaf: leaf) == structure(TREE)
    assert asked == [structure(tree) for tree in ({"a": 0, "b": 0}, [0, 0], (0, 0), Tagged(0, 0, "t"), [])]


def test_containers_and_leaves_are_replaced():
    spec = structure({"a": [0, 0], "b": (0,)})
    assert spec.transform(lambda level: cp.treespec_tuple(level.children())) == structure(((0, 0), (0,)))
    assert spec.transform(None, lambda leaf: structure([])) == structure({"a": [[], []], "b": ([],)})
    assert spec.transform(
        lambda level: cp.treespec_list(level.children()), lambda leaf: structure(Box(0))
    ) == structure([[Box(0), Box(0)], [Box(0)]])
    assert LEAF.transform(None, lambda leaf: spec) == spec
    assert structure(()).transform(lambda level: structure({})) == structure({})
    assert spec.transform() == spec.transform(f_node=None, f_leaf=None) == spec


def test_leaves_are_asked_for_in_order():
    shapes = iter([structure(0), structure([0]), structure((0, 0))])
    assert structure({"b": 0, "a": [0, 0]}).transform(f_leaf=lambda _: next(shapes)) == structure(
        {"b": 0, "a": [[0], (0, 0)]}
    )


def test_a_rewritten_structure_rebuilds_as_its_parts_do():
    with cp.dict_insertion_ordered(False):
        sorted_dict = structure({"b": 0, "a": 0})
    spec = structure([0, 0]).transform(lambda level: sorted_dict, lambda leaf: sorted_dict)
    assert list(spec.unflatten(range(4))) == ["b", "a"]
    assert list(spec.unflatten(range(4))["a"]) == ["b", "a"]
    scoped = structure([0]).transform(None, lambda leaf: structure(AlphaOnly(0, 0), namespace=ALPHA))
    assert scoped == structure([AlphaOnly(0, 0)], namespace=ALPHA)
    holds = structure([0]).transform(None, lambda leaf: structure(Methods([0], {"k": [1]})))
    holds.unflatten([5])[0].note["k"].append(2)
    assert holds == structure([Methods([0], {"k": [1]})])


@pytest.mark.parametrize(
    "result",
    [LEAF, structure([0]), structure([0, 0, 0]), structure([0, [0]]), structure([[], []]), structure([[0, 0]])],
)
def test_a_container_is_replaced_by_one_with_as_many_leaves(result):
    with pytest.raises(
        cp.StructureError, match=r"one container with 2 leaves for the node at \['a'\]\[1\], got"
    ) as caught:
        structure(TREE).transform(lambda level: result if level.kind == "tuple" else level)
    assert caught.value.path == "['a'][1]"


@pytest.mark.parametrize("result", [None, 3, [], "TreeSpec"])
def test_only_structures_take_a_place(result):
    spec = structure({"a": [0]})
    calls = {
        "f_node": lambda: spec.transform(lambda level: result if level.kind == "list" else level),
        "f_leaf": lambda: spec.transform(None, lambda leaf: result),
    }
    for (name, call), path in zip(calls.items(), ("['a']", "['a'][0]"), strict=True):
        with pytest.raises(cp.PyTreeTypeError, match=f"{name} must return a TreeSpec, got") as caught:
            call()
        assert caught.value.path == path
        assert str(caught.value).endswith(f" for the node at {path}")


def test_the_reading_of_none_must_be_the_same():
    other = cp.treespec_list([cp.treespec_leaf(none_is_leaf=False)])
    for options in ({"f_node": lambda level: other}, {"f_leaf": lambda leaf: other}):
        with pytest.raises(cp.StructureError, match="none_is_leaf"):
            structure([0]).transform(**options)


# --- walk -------------------------------------------------------------------------------------------------------------


def test_a_fold_gets_class_context_and_results():
    spec = structure([Point(0, deque([0], 3)), OrderedDict(k=Sample(0, 0, ["s"])), Bag({"n": Cell(1, 0)}), Config(2)])
    found = spec.walk("abcde".__iter__(), lambda *node: node, str.upper)
    assert found == (
        list,
        None,
        (
            (Point, None, ("A", (deque, 3, ("B",)))),
            (OrderedDict, ("k",), ((Sample, (["s"],), ("C", "D")),)),
            (Bag, ("n",), ((Cell, (1,), ("E",)),)),
            (Config, Config(2), ()),
        ),
    )


def test_a_leaf_alone_is_handed_back():
    assert LEAF.walk([3]) == 3
    assert LEAF.walk([3], lambda *node: 1 / 0, lambda leaf: leaf + 1) == 4
    assert structure(()).walk([], lambda cls, context, children: (cls, context, children)) == (tuple, None, ())
    assert structure([None], none_is_leaf=False).walk([], lambda *node: node) == (
        list,
        None,
        ((type(None), None, ()),),
    )


def test_a_context_may_be_changed_by_whoever_gets_it():
    spec = structure(Methods([0], [1]))
    spec.walk([0], lambda cls, context, children: context.append(2))
    assert spec == structure(Methods([0], [1]))


def test_a_wrong_number_of_leaves_is_refused_before_anything_is_called():
    def refuse(*_: Any) -> Any:
        raise AssertionError

    for leaves in ([1], [1, 2, 3], []):
        with pytest.raises(cp.LeafCountError, match=rf"expected 2 leaves, got {len(leaves)}"):
            structure([0, 0]).walk(leaves, refuse, refuse)
    for leaves in ("ab", {1: 2}, {1, 2}, b"ab", 3):
        with pytest.raises(cp.PyTreeTypeError):
            structure([0, 0]).walk(leaves, refuse, refuse)


# --- both -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [3, "f", [len]])
@pytest.mark.parametrize("name", ["f_node", "f_leaf"])
def test_only_functions_are_called(name, wrong):
    for spec in (LEAF, structure([]), structure([0])):
        with pytest.raises(cp.PyTreeTypeError, match=rf"transform\(\) expects a function or None as {name}, got"):
            spec.transform(**{name: wrong})
        with pytest.raises(cp.PyTreeTypeError, match=rf"walk\(\) expects a function or None as {name}, got"):
            spec.walk([0] * spec.num_leaves, **{name: wrong})


@pytest.mark.parametrize("error", [ZeroDivisionError, StopIteration, KeyboardInterrupt])
def test_an_exception_says_at_which_node(error):
    def fail(*_: Any) -> Any:
        raise error

    def fail_at_tuples(cls: type, context: Any, children: tuple) -> Any:
        return fail() if cls is tuple else None

    spec = structure(TREE)
    last = iter([LEAF, LEAF, LEAF])
    calls = {
        "f_node at ['a'][1]": lambda: spec.transform(lambda level: fail() if level.kind == "tuple" else level),
        "f_leaf at ['b'].left": lambda: spec.transform(None, lambda leaf: next(last, None) or fail()),
        "f_leaf at ['a'][1][1]": lambda: spec.walk(range(4), None, lambda leaf: fail() if leaf == 2 else leaf),
        "f_node at ['a'][1] ": lambda: spec.walk(range(4), fail_at_tuples),
        "f_leaf at the root": lambda: LEAF.walk([0], None, fail),
        "f_node at the root": lambda: structure([]).transform(fail),
    }
    for where, call in calls.items():
        with pytest.raises(error) as caught:
            call()
        assert notes(caught.value) == f"clika_pytree: raised by {where.strip()}"


def test_an_exception_of_an_unflatten_function_says_at_which_node():
    class Fragile(Box):
        pass

    def refuse(children: tuple, context: Any) -> Any:
        raise LookupError

    with registered(Fragile, lambda box: ((box.item,), None), refuse):
        spec = structure({"a": [0, Fragile(0)]})
    with pytest.raises(LookupError) as caught:
        spec.walk([1, 2])
    assert notes(caught.value).endswith("Fragile at ['a'][1]")


def test_long_chains_on_a_small_stack():
    spec = structure(Chain("dict", HALF_WAY).tree)

    def work() -> None:
        assert spec.transform(lambda level: level, lambda leaf: LEAF) == spec
        assert spec.walk([0], lambda cls, context, children: children[0] + 1) == HALF_WAY
        twice = spec.compose(spec)
        assert spec.transform(None, lambda leaf: spec) == twice

    run_in_thread(work, SMALL_STACK)
