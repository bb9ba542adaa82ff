"""Every reference is counted, known to the collector once, and given back, whether a call succeeds or fails."""

from __future__ import annotations

import gc
import inspect
import sys
import time
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest
from classes import ALPHA, Bag, Box, Config, Pair, Point, Sample, Tagged
from helpers import run_python

import clika_pytree as cp
from clika_pytree import _native


@pytest.fixture(autouse=True)
def _small_heap(small_heap):
    """Every test here collects, and some of them many times."""


class Thing:
    """An object to count references of; it can be referred to weakly."""


def make_tree(parts: dict[str, Any]) -> Any:
    leaf, key, context = parts["leaf"], parts["key"], parts["context"]
    return {
        key: [leaf, (leaf, None)],
        "od": OrderedDict({key: leaf}),
        "dd": defaultdict(Thing, {key: leaf}),
        "q": deque([leaf], 3),
        "p": Point(leaf, {}),
        "t": Tagged(leaf, leaf, context),
        "t2": Tagged(leaf, leaf, (context, [context], {"k": context})),
        "s": Sample(leaf, [leaf], context),
        "bag": Bag({"a": leaf}),
        "static": parts["static"],
    }


# --- references are given back ----------------------------------------------------------------------------------------


def fails(*args: Any) -> Any:
    raise LookupError


def attempt(fn: Callable, *args: Any, **options: Any) -> None:
    """Call what must fail, and forget the error at once."""
    try:
        fn(*args, **options)
    except (LookupError, ValueError, TypeError) as error:
        error.__traceback__ = None
        return
    raise AssertionError("this was to fail")


def fail_late(after: int = 5) -> Callable:
    calls = iter(range(after))
    return lambda *args: fails() if next(calls, None) is None else None


def guarded(tree: Any) -> Any:
    cache = _native.GuardCache(inspect.signature(lambda tree: None), 1)
    for _ in range(2):
        cache.insert(cache.bind((tree,), {}), tree)
    return cache.lookup((tree,), {}), cache.explain(([tree],)), cache.entries()[0].guards


SUCCEEDING: dict[str, Callable[[Any], Any]] = {
    "flatten": cp.tree_flatten,
    "leaves": cp.tree_leaves,
    "structure": cp.tree_structure,
    "iter": lambda tree: list(cp.tree_iter(tree)),
    "iter half": lambda tree: next(cp.tree_iter(tree)),
    "map": lambda tree: cp.tree_map(lambda x: x, tree),
    "map two": lambda tree: cp.tree_map(lambda x, y: (x, y), tree, tree),
    "map_": lambda tree: cp.tree_map_(lambda x: x, tree),
    "map_only": lambda tree: cp.tree_map_only(Thing, lambda x: x, tree),
    "is_leaf": lambda tree: cp.tree_flatten(tree, lambda x: type(x) is list),
    "none": lambda tree: cp.tree_flatten(tree, none_is_leaf=False),
    "guard cache": guarded,
    "reduce": lambda tree: cp.tree_reduce(lambda a, b: b, tree),
    "round trip": lambda tree: cp.tree_structure(tree).unflatten(cp.tree_leaves(tree)),
    "unflatten": lambda tree: cp.tree_unflatten(cp.tree_leaves(tree), cp.tree_structure(tree)),
    "hash": lambda tree: hash(cp.tree_structure(tree)),
    "equal": lambda tree: cp.tree_structure(tree) == cp.tree_structure(tree),
    "repr": lambda tree: repr(cp.tree_structure(tree)),
    "paths": lambda tree: (cp.tree_structure(tree).paths(), cp.tree_structure(tree).entries()),
    "parts": lambda tree: [(c.context, c.children()) for c in cp.tree_structure(tree).children()],
    "compose": lambda tree: cp.tree_structure(tree).compose(cp.tree_structure(tree)),
    "prefix": lambda tree: cp.tree_structure(tree).is_prefix(cp.tree_structure(tree)),
    "flatten_up_to": lambda tree: cp.tree_structure(tree).flatten_up_to(tree),
    "reduce_ex": lambda tree: cp.tree_structure(tree).__reduce_ex__(4),
}
FAILING: dict[str, Callable[[Any], Any]] = {
    "map": lambda tree: attempt(cp.tree_map, fail_late(), tree),
    "map two": lambda tree: attempt(cp.tree_map, fail_late(), tree, tree),
    "map_": lambda tree: attempt(cp.tree_map_, fail_late(), tree),
    "map_only": lambda tree: attempt(cp.tree_map_only, Thing, fail_late(), tree),
    "mismatch": lambda tree: attempt(cp.tree_map, lambda x, y: x, tree, {**tree, "s": 1}),
    "mismatch late": lambda tree: attempt(cp.tree_map, lambda x, y: x, tree, {**tree, "static": Config(0)}),
    "is_leaf": lambda tree: attempt(cp.tree_flatten, tree, fail_late()),
    "structure": lambda tree: attempt(cp.tree_structure, tree, lambda x: type(x) is Bag and fails()),
    "leaves": lambda tree: attempt(cp.tree_leaves, tree, lambda x: type(x) is Bag and fails()),
    "iter": lambda tree: attempt(lambda: list(cp.tree_iter(tree, lambda x: type(x) is Bag and fails()))),
    "children": lambda tree: attempt(cp.tree_flatten, [tree, Bag({"a": 1, 2: tree, "c": 3}), Broken(tree)]),
    "too few": lambda tree: attempt(cp.tree_structure(tree).unflatten, cp.tree_leaves(tree)[:-1]),
    "too many": lambda tree: attempt(cp.tree_structure(tree).unflatten, cp.tree_leaves(tree) * 2),
    "rebuild": lambda tree: attempt(cp.tree_map, lambda x: x, [tree, OneWay(tree)]),
    "flatten_up_to": lambda tree: attempt(cp.tree_structure(tree).flatten_up_to, {**tree, "bag": 1}),
    "circle": lambda tree: attempt(cp.tree_flatten, make_circle(tree), fail_late(after=5000)),
    "sort": lambda tree: attempt(sorted_flatten, [tree, {1j: tree, 2j: tree}]),
    "hash": lambda tree: attempt(hash, cp.tree_structure([tree, Tagged(1, 2, bytearray())])),
    "compose": lambda tree: attempt(cp.tree_structure(tree).compose, cp.tree_structure(tree, none_is_leaf=False)),
    "namespace": lambda tree: attempt(cp.tree_flatten, tree, namespace=3),
    "arguments": lambda tree: attempt(cp.tree_flatten, tree, None, tree),
    "two specs": lambda tree: attempt(cp.tree_unflatten, cp.tree_structure(tree), cp.tree_structure(tree)),
}


class Broken(Box):
    """Its children fail half-way."""


class OneWay(Box):
    """It can be taken apart and not put together."""


def broken_children(broken: Broken) -> Any:
    yield broken.item
    fails()


cp.register_pytree_node(Broken, lambda b: (broken_children(b), b.item), fails)
cp.register_pytree_node(OneWay, lambda o: ((o.item,), o.item), fails)


def make_circle(tree: Any) -> Any:
    circle = [tree]
    circle.append({"k": circle})
    return CutOnDrop(circle)


class CutOnDrop(Box):
    """Opens the circle it holds when it goes, so that no garbage is left for the collector."""

    def __del__(self) -> None:
        self.item.clear()


cp.register_pytree_node(CutOnDrop, lambda c: ((c.item,), None), lambda children, _: Box(*children))


def sorted_flatten(tree: Any) -> Any:
    with cp.dict_insertion_ordered(False):
        return cp.tree_flatten(tree)


OPERATIONS = [
    *[pytest.param(call, id=name) for name, call in SUCCEEDING.items()],
    *[pytest.param(call, id=f"failing {name}") for name, call in FAILING.items()],
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_reference_is_lost_or_kept(operation):
    parts = {
        "leaf": Thing(),
        "key": "a key of its own" + str(id(operation)),
        "context": Thing(),
        "static": Config(Thing()),
    }
    tree = make_tree(parts)
    watched = [
        *parts.values(),
        tree,
        tree["q"],
        tree["p"],
        tree["od"],
        tree["t"],
        tree["dd"],
        Thing,
        Tagged,
        Config,
        Point,
    ]

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(obj) for obj in watched]

    operation(tree)  # the first call may fill caches
    before = counts()
    for _ in range(50):
        operation(tree)
    assert counts() == before


def test_repeated_work_does_not_grow_the_heap():
    parts = {"leaf": Thing(), "key": "key", "context": Thing(), "static": Config(1)}
    tree = make_tree(parts)

    def work() -> int:
        for operation in (*SUCCEEDING.values(), *FAILING.values()):
            operation(tree)
        gc.collect()
        return sys.getallocatedblocks()

    for _ in range(10):
        work()
    before = work()
    for _ in range(50):
        work()
    assert work() - before < 25


# --- what the collector is told ---------------------------------------------------------------------------------------


def test_a_spec_tells_the_collector_of_every_reference_once():
    key, context, factory = Thing(), Thing(), lambda: None
    others = [Thing() for _ in range(5)]
    tree = [{key: 0}, Tagged(0, 0, context), defaultdict(factory, {key: 0}), *[Tagged(0, 0, thing) for thing in others]]
    watched = [key, context, factory, *others, Tagged, dict, Thing]
    before = [sys.getrefcount(obj) for obj in watched]
    spec = cp.tree_structure(tree)
    after = [sys.getrefcount(obj) for obj in watched]
    owned = [now - then for now, then in zip(after, before, strict=True)]
    told = Counter(map(id, gc.get_referents(spec)))
    for obj, count in zip(watched[:-3], owned[:-3], strict=True):
        assert count >= 1
        assert told[id(obj)] == count, obj
    for obj, count in zip(watched[-3:], owned[-3:], strict=True):
        assert told[id(obj)] <= count, obj


def test_specs_that_stem_from_one_another_tell_of_their_own_references_only():
    context = Thing()
    before = sys.getrefcount(context)
    spec = cp.tree_structure([Tagged(0, 0, context), [Tagged(0, 0, context)]])
    specs = [spec, *spec.children(), spec.child(1).child(0), spec.compose(spec)]
    told = sum(Counter(map(id, gc.get_referents(one)))[id(context)] for one in specs)
    assert told == sys.getrefcount(context) - before


@pytest.mark.parametrize("count", [1000, 40_000])
def test_the_collector_is_told_a_number_of_references_linear_in_the_nodes(count):
    spec = cp.tree_structure([0] * count + [Pair(0, 0)] * count)
    told = len(gc.get_referents(spec))
    assert told <= 4 * count + 20
    assert spec.num_nodes == 1 + count + 3 * count


@pytest.mark.usefixtures("small_heap")
def test_a_collection_takes_little_longer_beside_a_spec_of_many_nodes():
    def duration() -> float:
        start = time.process_time()
        gc.collect()
        return time.process_time() - start

    without = min(duration() for _ in range(3))
    spec = cp.tree_structure([0] * 40_000 + [Pair(0, 0) for _ in range(40_000)])
    assert min(duration() for _ in range(3)) - without < 0.1
    assert spec.num_leaves == 120_000


def test_an_object_of_the_caller_survives_the_death_of_the_wrappers_that_shared_it():
    held = ["kept", Thing()]

    class Holder:
        pass

    holder_key = Holder()
    holder_key.held = held
    spec = cp.tree_structure({holder_key: [Tagged(0, 0, holder_key)]})
    relatives = [spec, spec.child(0), spec.compose(spec), spec.child(0).child(0)]
    for relative in relatives:
        circle = Thing()
        circle.spec, circle.own = relative, circle
    del circle, relative, relatives, spec, holder_key
    gc.collect()
    gc.collect()
    assert len(held) == 2
    assert held[0] == "kept"
    assert type(held[1]) is Thing


@pytest.mark.parametrize("specs", [1, 2])
def test_specs_in_a_circle_with_an_object_are_collected(specs):
    thing = Thing()
    key = Thing()
    thing.specs = [cp.tree_structure({key: Tagged(0, 0, thing)}) for _ in range(specs)]
    thing.specs += [spec.child(0) for spec in thing.specs]
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None


def test_an_iterator_in_a_circle_is_collected():
    thing = Thing()
    thing.leaves = cp.tree_iter([thing, 1], is_leaf=lambda x, kept=thing: x is not kept and x is kept)
    assert next(thing.leaves) is thing
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None


# --- classes ----------------------------------------------------------------------------------------------------------


def make_class(**options: Any) -> type:
    class Local:
        def __init__(self, item: Any = 0) -> None:
            self.item = item

    cp.register_pytree_node(Local, lambda obj: ((obj.item,), None), lambda children, _: Local(*children), **options)
    return Local


@pytest.mark.parametrize("options", [{}, {"namespace": ALPHA}], ids=["global", "namespace"])
def test_a_class_can_be_collected_once_it_is_unregistered(options):
    cls = make_class(**options)
    assert cp.tree_map(str, cls(1), **options).item == "1"
    gone = weakref.ref(cls)
    cp.unregister_pytree_node(cls, **options)
    del cls
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("specs", [1, 2, 5])
def test_specs_in_a_circle_with_their_class_are_collected_with_it(specs):
    cls = make_class()
    cls.specs = [cp.tree_structure([cls(0), {"k": cls(1)}]) for _ in range(specs)]
    cls.specs.append(cls.specs[0].compose(cls.specs[-1]))
    hash(cls.specs[0])
    gone = weakref.ref(cls)
    cp.unregister_pytree_node(cls)
    del cls
    gc.collect()
    assert gone() is None


def test_dataclasses_and_static_classes_in_circles_are_collected():
    import dataclasses

    @dataclasses.dataclass(frozen=True)
    class Data:
        value: Any

    @dataclasses.dataclass(frozen=True)
    class Static:
        value: Any

    cp.register_dataclass(Data, ["value"], [])
    cp.register_static(Static)
    specs = [cp.tree_structure([Data(0), Static(1), [Data(1)]]) for _ in range(2)]
    Data.specs = Static.specs = specs
    gone = [weakref.ref(Data), weakref.ref(Static)]
    cp.unregister_pytree_node(Data)
    cp.unregister_pytree_node(Static)
    del Data, Static, specs
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_a_spec_keeps_its_class_alive_and_usable():
    cls = make_class()
    spec = cp.tree_structure([cls(1)])
    gone = weakref.ref(cls)
    cp.unregister_pytree_node(cls)
    del cls
    gc.collect()
    assert gone() is not None
    assert spec.unflatten([7])[0].item == 7
    del spec
    gc.collect()
    assert gone() is None


def test_ten_thousand_classes_come_and_go():
    alive: weakref.WeakSet = weakref.WeakSet()
    for i in range(10_000):
        cls = type(f"Passing{i}", (), {})
        alive.add(cls)
        assert len(cp.tree_leaves([cls(), cls()])) == 2
    del cls
    gc.collect()
    assert len(alive) == 0


def test_a_namedtuple_class_is_collected():
    cls = type("Passing", (tuple,), {"_fields": ("a",), "__slots__": ()})
    assert cp.tree_map(str, cls((1,))) == cls(("1",))
    gone = weakref.ref(cls)
    del cls
    gc.collect()
    assert gone() is None


def test_an_interpreter_with_live_specs_ends_silently():
    done = run_python(
        "import clika_pytree as cp\n"
        "from classes import *\n"
        "class Local:\n"
        "    def __del__(self): cp.tree_flatten([1, {'a': 2}])\n"
        "cp.register_pytree_node(Local, lambda x: ((1,), 'ctx'), lambda c, x: Local())\n"
        "spec = cp.tree_structure([Local(), Tagged(1, 2, Local()), {Color.RED: Sample(1, 2, 'x')}])\n"
        "Local.spec = spec\n"
        "leaves = cp.tree_iter([1, 2, [Local()]])\n"
        "next(leaves)\n"
        "block = cp.dict_insertion_ordered(False)\n"
        "block.__enter__()\n"
        "keep = [spec, hash(spec), spec.children(), Local()]\n"
        "keep.append(keep)\n"
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_a_leaf_that_walks_when_it_dies():
    seen = []

    class Last:
        def __del__(self) -> None:
            seen.append(cp.tree_leaves([1, {"a": (2,)}]))

    cp.tree_map(lambda x: None, [Last(), [Last()]])
    attempt(cp.tree_structure([0, 0]).unflatten, [Last(), Last(), Last()])
    gc.collect()
    assert seen == [[1, 2]] * 5
