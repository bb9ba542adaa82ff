"""What the collector is told, what it can collect, how long it takes, and what is left when the interpreter ends."""

from __future__ import annotations

import dataclasses
import gc
import sys
import time
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest
from classes import Bag, Config, Point, Sample, Tagged

import clika_pytree as cp
from clika_pytree import _native

pytestmark = pytest.mark.usefixtures("small_heap")


class Thing:
    """An object whose references are counted."""

    def __call__(self, *args: Any) -> Any:
        return True


class Entered:
    """Keeps hold of a block of its own."""

    def __init__(self) -> None:
        self.block = cp.dict_insertion_ordered(True)
        self.block.__enter__()

    def close(self) -> None:
        self.block.__exit__(None, None, None)


# --- every reference is told once, by its only owner ------------------------------------------------------------------


def walked_spec(tree: Any) -> Any:
    """A spec that has remembered all it can."""
    spec = cp.tree_structure(tree)
    spec.paths(), spec.key_paths(), hash(spec), spec == cp.tree_structure(tree)
    return spec


def halted(things: list, at: int, **options: Any) -> Any:
    tree = [
        things[0],
        {things[1]: things[2]},
        Tagged(things[3], [things[4]], things[5]),
        OrderedDict({things[6]: 1}),
        2,
    ]
    leaves = cp.tree_iter(tree, **options)
    for _ in range(at):
        next(leaves)
    return leaves


def function_registration(things: list) -> Any:
    return _native.Registration.function(Thing, "tests.collector", *things[:3], None, *things[3:5])


def dataclass_registration(things: list) -> Any:
    defaults = [("a", things[0], False), ("b", things[1], True)]
    return _native.Registration.dataclass(Thing, "tests.collector", ["x"], ["y"], defaults, False, None, *things[2:4])


HOLDERS: dict[str, Callable[[list], Any]] = {
    "keys of a dict": lambda things: cp.tree_structure(dict.fromkeys(things, 0)),
    "keys of sorted dicts": lambda things: cp.tree_structure([{thing: 0} for thing in things]),
    "keys of an OrderedDict": lambda things: cp.tree_structure(OrderedDict.fromkeys(things)),
    "factories and keys": lambda things: cp.tree_structure([defaultdict(thing, {thing: 0}) for thing in things]),
    "contexts": lambda things: cp.tree_structure([Tagged(0, 0, thing) for thing in things]),
    "one context in many nodes": lambda things: cp.tree_structure([Tagged(0, 0, things[0])] * 9),
    "contexts that are copied": lambda things: cp.tree_structure(Tagged(0, 0, [things, {"k": things[0]}])),
    "static objects": lambda things: cp.tree_structure([Config(thing) for thing in things]),
    "meta values": lambda things: cp.tree_structure([Sample(0, 0, thing) for thing in things]),
    "entries": lambda things: cp.tree_structure(Bag(dict.fromkeys(things, 0))),
    "paths": lambda things: walked_spec({thing: [0] for thing in things}),
    "children of a spec": lambda things: cp.tree_structure([{thing: 0} for thing in things]).children(),
    "a composed spec": lambda things: cp.tree_structure({things[0]: 0}).compose(cp.tree_structure({things[1]: 0})),
    "a spec in a context": lambda things: cp.tree_structure(Tagged(0, 0, cp.tree_structure({things[0]: 0}))),
    "an iterator before its first leaf": lambda things: halted(things, 0),
    "an iterator in a dict": lambda things: halted(things, 2),
    "an iterator in a node": lambda things: halted(things, 3),
    "an iterator in an OrderedDict": lambda things: halted(things, 5),
    "an iterator at its end": lambda things: [halted(things, 6)],
    "a predicate": lambda things: cp.tree_iter([1], is_leaf=things[0]),
    "functions of a registration": function_registration,
    "defaults of a registration": dataclass_registration,
    "MappingKey": lambda things: [cp.MappingKey(thing) for thing in things],
    "other keys": lambda things: [cls(things[0]) for cls in (cp.SequenceKey, cp.GetAttrKey, cp.FlattenedIndexKey)],
    "key paths": lambda things: cp.tree_structure(dict.fromkeys(things, 0)).key_paths(),
}


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_every_reference_is_told_once(make):
    things = [Thing() for _ in range(7)]
    before = [sys.getrefcount(thing) for thing in things]
    holder = make(things)
    gc.collect()
    after = [sys.getrefcount(thing) for thing in things]
    held = [now - then for then, now in zip(before, after, strict=True)]
    told = Counter(id(told) for obj in gc.get_objects() if obj is not things for told in gc.get_referents(obj))
    assert held == [told[id(thing)] for thing in things]
    assert any(held)
    assert holder is not None


@pytest.mark.parametrize("cls", [cp.TreeSpec, _native.Registration, cp.MappingKey, cp.dict_insertion_ordered])
def test_an_object_tells_of_its_class_once(cls):
    made = {
        cp.TreeSpec: cp.tree_structure([0]),
        _native.Registration: _native.lookup(Tagged),
        cp.MappingKey: cp.MappingKey("a"),
        cp.dict_insertion_ordered: cp.dict_insertion_ordered(True),
    }[cls]
    assert gc.is_tracked(made)
    assert gc.get_referents(made).count(cls) == 1
    leaves = cp.tree_iter([1, 2])
    next(leaves)
    assert gc.get_referents(leaves).count(type(leaves)) == 1


def test_the_whole_heap_adds_up():
    """What the collector does first: nothing is told of more often than it is referred to."""
    things = [Thing() for _ in range(7)]
    keep: list = [make(things) for make in HOLDERS.values()]
    keep.append(Entered())
    keep.extend(cp.tree_flatten(keep[:3]))
    gc.collect()
    objects = gc.get_objects()
    told = Counter(id(told) for obj in objects for told in gc.get_referents(obj))
    # Besides those that are told of: the list of objects, the loop variable, and the argument.
    wrong = [type(obj) for obj in objects if told[id(obj)] > sys.getrefcount(obj) - 3]
    keep[-3].close()
    assert wrong == []


# --- circles ----------------------------------------------------------------------------------------------------------


class Holder:
    """An object that holds what refers to it."""


def guard_cache(holder: Any) -> Any:
    """As a compiler has it: entries by spec, and the spec leads back to the function that is compiled."""
    spec = cp.tree_structure([Tagged(0, 0, holder), {holder: 1}])
    return {spec: ("entry", spec.children(), hash(spec))}


def entered_block(holder: Any) -> Any:
    block = cp.dict_insertion_ordered(False)
    with block:
        return [block, cp.tree_iter({"a": holder})]


def local_dataclass(holder: Any) -> Any:
    @dataclasses.dataclass(frozen=True)
    class Local:
        value: Any
        note: Any = None

    Local.holder = holder  # type: ignore[attr-defined]
    cp.register_dataclass(Local, ["value"], ["note"])
    try:
        return cp.tree_structure([Local(0, holder), Local(1, [holder])])
    finally:
        cp.unregister_pytree_node(Local)


def local_registration(holder: Any) -> Any:
    """Functions that lead to what they were registered for, and to its registration."""
    cls = type("Local", (), {"holder": holder})
    cp.register_pytree_node(cls, lambda obj: ((1,), (holder, cls)), lambda children, _: (cls(), holder))
    try:
        return [_native.lookup(cls), cp.tree_structure(cls()), cp.tree_iter([cls(), cls()])]
    finally:
        cp.unregister_pytree_node(cls)


CIRCLES: dict[str, Callable[[Any], Any]] = {
    "a guard's cache": guard_cache,
    "specs of one tree": lambda holder: [cp.tree_structure({holder: Tagged(0, 0, [holder])}) for _ in range(3)],
    "remembered paths": lambda holder: walked_spec({holder: [0]}),
    "a MappingKey": lambda holder: cp.MappingKey(holder),
    "a FlattenedIndexKey of a key": lambda holder: cp.FlattenedIndexKey(cp.GetAttrKey([holder])),
    "a key path": lambda holder: cp.tree_leaves_with_path({holder: holder}),
    "an iterator": lambda holder: cp.tree_iter([holder, [holder], {holder: 1}], is_leaf=lambda x: x is holder),
    "an iterator half-way": lambda holder: (lambda leaves: (next(leaves), leaves))(cp.tree_iter([holder, holder])),
    "a static object": lambda holder: cp.tree_structure(Config(holder)),
    "a Partial": lambda holder: cp.Partial(lambda: holder, holder),
    "a block": entered_block,
    "a local dataclass": local_dataclass,
    "a local class and its registration": local_registration,
    "a registration of its own": lambda holder: _native.Registration.static(Holder, "x", None, [holder], holder),
    "a deque and a factory": lambda holder: cp.tree_structure([deque([1]), defaultdict(lambda: holder, {holder: 1})]),
    "a spec in the context of a spec": lambda holder: cp.tree_structure(Tagged(0, 0, guard_cache(holder))),
}


@pytest.mark.parametrize("make", CIRCLES.values(), ids=CIRCLES)
def test_a_circle_is_collected(make):
    holder = Holder()
    holder.held = make(holder)
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


# --- the time it takes ------------------------------------------------------------------------------------------------


def seconds_to_collect() -> float:
    gc.collect()
    times = []
    for _ in range(5):
        start = time.process_time()
        gc.collect()
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize(
    "tree_of",
    [
        lambda count: [0] * count + [Point(0, Tagged(0, 0, i)) for i in range(count)],
        lambda count: {i: {f"k{i}": i} for i in range(count)},
        lambda count: [[i, OrderedDict(a=i)] for i in range(count)],
    ],
    ids=["nodes", "dicts", "lists"],
)
def test_a_collection_takes_time_linear_in_what_is_alive(tree_of):
    count = 20_000
    empty = seconds_to_collect()
    spec = cp.tree_structure(tree_of(count))
    once = seconds_to_collect() - empty
    double = cp.tree_structure(tree_of(2 * count))
    thrice = seconds_to_collect() - empty
    assert double.num_nodes > spec.num_nodes
    # Three times as much in three times the time; quadratic would be nine times.
    assert thrice < 6 * once + 0.01
    assert thrice < 0.1


def test_many_specs_cost_a_collection_no_more_than_one_of_their_size():
    specs = [cp.tree_structure({f"k{i}": Tagged(0, 0, i)}) for i in range(20_000)]
    many = seconds_to_collect()
    shared = [cp.tree_structure([0]).compose(specs[0]) for _ in range(20_000)]
    assert len(shared) == len(specs)
    assert seconds_to_collect() < 4 * many + 0.01
