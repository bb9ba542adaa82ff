"""`tree_diff`: every difference between two trees, by key path."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import tracemalloc
from collections import OrderedDict, defaultdict, deque
from typing import Any

import numpy as np
import pytest
import reference
from arrays import Array, Hostile, Stand
from classes import ALPHA, AlphaOnly, Bag, Box, Config, Pair, Point, Sample, Tagged, every_kind
from deep import WRAP, Chain
from helpers import SMALL_STACK, keywords, reading, registered, run_in_thread
from hypothesis import given
from hypothesis import strategies as st
from strategies import small_modes, small_trees, trees, whole_modes

import clika_pytree as cp
from clika_pytree.inspection import Difference


def told(a: Any, b: Any, **options: Any) -> list[tuple]:
    return [(cp.keystr(d.path), d.kind, d.a, d.b) for d in cp.tree_diff(a, b, **options)]


@given(small_trees, small_trees, small_modes)
def test_two_structures_differ_as_their_trees_do(a: Any, b: Any, mode: reference.Mode) -> None:
    options = keywords(mode)
    with reading(mode):
        try:
            specs = [cp.tree_structure(tree, **options) for tree in (a, b)]
        except cp.KeyOrderError:
            return
        found, expected = cp.tree_diff(*specs), cp.tree_diff(a, b, **options)
    assert [(d.path, d.kind) for d in found] == [(d.path, d.kind) for d in expected]
    assert bool(found) == (specs[0] != specs[1])


def test_a_difference_is_matched_by_its_class() -> None:
    match cp.tree_diff({"w": [1]}, {"w": 2}):
        case (Difference(path, "type", a=_, b="2"),):
            assert cp.keystr(path) == "['w']"
        case other:
            pytest.fail(str(other))


def test_two_structures() -> None:
    one, other = cp.tree_structure({"w": [1, 2], "c": 0, "b": 1}), cp.tree_structure({"w": (1, 2), "b": [1]})
    assert told(one, other, leaves=True) == [
        ("['w']", "type", "a list of 2", "a tuple of 2"),
        ("['c']", "only_a", "a leaf", None),
        ("['b']", "type", "a leaf", "a list of 1"),
    ]
    modes = [cp.tree_structure([None], none_is_leaf=none_is_leaf) for none_is_leaf in (True, False)]
    assert told(*modes) == [
        ("", "context", "none_is_leaf=True", "none_is_leaf=False"),
        ("[0]", "type", "a leaf", "None"),
    ]
    # In a tree they are leaves like any other object.
    assert told([one], [other]) == []
    assert told(one, [1]) == [("", "type", "a TreeSpec", "a list of 1")]


@given(small_trees, small_trees, small_modes)
def test_it_is_empty_exactly_where_the_structures_are_equal(a: Any, b: Any, mode: reference.Mode) -> None:
    options = keywords(mode)
    with reading(mode):
        try:
            same = cp.tree_structure(a, **options) == cp.tree_structure(b, **options)
        except cp.KeyOrderError:
            with pytest.raises(cp.KeyOrderError):
                cp.tree_diff(a, b, **options)
            return
        found = cp.tree_diff(a, b, **options)
    assert bool(found) is not same
    assert len(str(found)) < 10_000


@given(trees, whole_modes)
def test_a_tree_does_not_differ_from_itself(tree: Any, mode: reference.Mode) -> None:
    assert cp.tree_diff(tree, tree, leaves=True, none_is_leaf=mode.none_is_leaf, namespace=mode.namespace) == ()
    assert cp.tree_diff([tree], (tree,), leaves=True)[0].kind == "type"


@given(small_trees, small_trees, st.booleans())
def test_the_other_way_round(a: Any, b: Any, leaves: bool) -> None:
    turned = {"only_a": "only_b", "only_b": "only_a"}
    one = {(cp.keystr(d.path), d.kind) for d in cp.tree_diff(a, b, leaves=leaves)}
    other = {(cp.keystr(d.path), turned.get(d.kind, d.kind)) for d in cp.tree_diff(b, a, leaves=leaves)}
    assert one == other


@given(small_trees, small_trees)
def test_paths_lead_to_the_places(a: Any, b: Any) -> None:
    for difference in cp.tree_diff(a, b, leaves=True):
        for tree, only in ((a, "only_b"), (b, "only_a")):
            if difference.kind == only:
                with pytest.raises(cp.StructureError):
                    cp.key_get(tree, difference.path)
            else:
                cp.key_get(tree, difference.path)


CASES: dict[str, tuple[Any, Any, list[tuple]]] = {
    "class": ([1], (1,), [("", "type", "a list of 1", "a tuple of 1")]),
    "class, and below": ({"a": [1]}, OrderedDict(a=2), [
        ("", "type", "a dict with 1 key", "an OrderedDict with 1 key"),
        ("['a']", "type", "a list of 1", "2"),
    ]),
    "unrelated classes": ([1], {"a": 1}, [("", "type", "a list of 1", "a dict with 1 key")]),
    "node and leaf": ({"a": None}, {"a": []}, [("['a']", "type", "None", "an empty list")]),
    "length": ([1, [2]], [1, [2, 3], 4], [
        ("", "length", "a list of 2", "a list of 3"),
        ("[1]", "length", "a list of 1", "a list of 2"),
    ]),
    "keys": ({"a": 1, "b": [2]}, {"b": (), "c": 3}, [
        ("['a']", "only_a", "1", None),
        ("['b']", "type", "a list of 1", "an empty tuple"),
        ("['c']", "only_b", None, "3"),
    ]),
    "exact keys": ({1: 0}, {True: 0}, [("[1]", "only_a", "0", None), ("[True]", "only_b", None, "0")]),
    "order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}, [("", "order", "['a'], ['b']", "['b'], ['a']")]),
    "maxlen": (deque([1], 3), deque([1]), [("", "context", "a deque with maxlen=3", "a deque with maxlen=None")]),
    "factory": (defaultdict(int), defaultdict(None), [
        ("", "context", "a defaultdict with default_factory=<class 'int'>", "a defaultdict with default_factory=None"),
    ]),
    "meta field": (Sample(1, 2, "x"), Sample(1, [], "y"), [
        ("", "context", "a Sample with name='x'", "a Sample with name='y'"),
        (".bias", "type", "2", "an empty list"),
    ]),
    "context": (Tagged(1, 2, 0.0), Tagged(1, 2, -0.0), [
        ("", "context", "a Tagged with the context 0.0", "a Tagged with the context -0.0"),
    ]),
    "static": ([Config(1)], [Config(True)], [
        ("[0]", "context", "Config(width=1, mode=None)", "Config(width=True, mode=None)"),
    ]),
    "entries": (Bag({"a": 1}), Bag({"b": 1}), [
        ("", "context", "a Bag with the context ('a',)", "a Bag with the context ('b',)"),
        (".a", "only_a", "1", None),
        (".b", "only_b", None, "1"),
    ]),
    "no entries": ([Pair(1, 2)], [Pair(1, [2])], [("[0][<flat index 1>]", "type", "2", "a list of 1")]),
    "namedtuple": (Point(1, 2), Point(1, Point(2, 3)), [(".y", "type", "2", "a Point with 2 fields")]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_difference_of_structure(case: str) -> None:
    a, b, expected = CASES[case]
    assert told(a, b) == expected


LEAVES: dict[str, tuple[Any, Any, tuple[str, str] | None]] = {
    "numbers": (1, 2, ("1", "2")),
    "exact type": (1, True, ("1", "True")),
    "bits": (0.0, -0.0, ("0.0", "-0.0")),
    "nan": (float("nan"), float("nan"), None),
    "text": ("a" * 200, "a" * 200, None),
    "sets": ({1, 2}, {2, 1}, None),
    "arrays": (np.zeros(3), np.zeros(3), None),
    "nan in arrays": (np.array([np.nan, 1]), np.array([np.nan, 1]), None),
    "elements": (np.zeros((2, 3)), np.eye(2, 3), (
        "ndarray float64[2, 3]", "the same with 2 of 6 elements different",
    )),
    "shape": (np.zeros(3), np.zeros((3, 1)), ("ndarray float64[3]", "ndarray float64[3, 1]")),
    "dtype": (np.zeros(3), np.zeros(3, np.int8), ("ndarray float64[3]", "ndarray int8[3]")),
    "numpy scalars": (np.float32(1), np.float32(2), ("float32(1.0)", "float32(2.0)")),
    "empty arrays": (np.zeros((0, 2)), np.zeros((0, 2)), None),
    "another library": (Array([1, 2]), Array([1, 3]), (
        "Array float32[2]", "the same with 1 of 2 elements different",
    )),
    "two libraries": (np.zeros(2, np.float32), Array([0, 0]), ("ndarray float32[2]", "Array float32[2]")),
    "stand-ins": (Stand((1,)), Stand((1,)), (
        "Stand float32[1]", "another one of the same shape and dtype",
    )),
}  # fmt: skip


@pytest.mark.parametrize("case", LEAVES)
def test_leaves_are_compared_on_request(case: str) -> None:
    a, b, expected = LEAVES[case]
    assert told({"x": a}, {"x": b}) == []
    assert told({"x": a}, {"x": b}, leaves=True) == ([] if expected is None else [("['x']", "leaf", *expected)])


def test_leaves_that_cannot_be_compared() -> None:
    (difference,) = cp.tree_diff([Hostile()], [Hostile()], leaves=True)
    assert difference.kind == "leaf"
    assert "can't be compared (RuntimeError: ==)" in difference.b


def test_the_end_of_memory_is_not_taken_for_a_context_that_cant_be_compared():
    class Costly:
        def __hash__(self) -> int:
            raise MemoryError

    with pytest.raises(MemoryError):
        cp.tree_diff([Tagged(1, 2, Costly())], [Tagged(1, 2, Costly())])


def test_a_context_that_cannot_be_compared_is_a_difference() -> None:
    (difference,) = cp.tree_diff([Tagged(1, 2, np.zeros(2))], [Tagged(1, 2, np.zeros(2))])
    assert difference.kind == "context"
    assert "can't be compared" in difference.b
    assert "numpy.ndarray" in difference.b
    shared = Tagged(1, 2, np.zeros(2))
    assert cp.tree_diff([shared], [shared]) == ()


def test_classes_of_one_name_are_told_apart() -> None:
    one, other = (dataclasses.make_dataclass("Net", ["w"]) for _ in range(2))
    for cls in (one, other):
        cp.register_dataclass(cls)
    try:
        (difference,) = cp.tree_diff([one(1)], [other(1)])
        assert difference.a != difference.b
        assert "another class" in difference.b
    finally:
        for cls in (one, other):
            cp.unregister_pytree_node(cls)
    (difference,) = cp.tree_diff([one(1)], [other(1)], leaves=True)
    assert (difference.kind, "another class" in difference.b) == ("leaf", True)


def test_children_of_one_name_are_paired_by_place() -> None:
    class Twins(Box):
        __slots__ = ()

    with registered(Twins, lambda t: (t.item, None, ["x"] * len(t.item)), lambda children, _: Twins(children)):
        assert told(Twins([1, 2]), Twins([1, [2]])) == [(".x", "type", "2", "a list of 1")]
        assert told(Twins([1, 2]), Twins([1])) == [("", "length", "a Twins with 2 children", "a Twins with 1 child")]


def test_how_the_trees_are_read() -> None:
    assert told({"a": None}, {"a": 1}) == []
    assert told({"a": None}, {"a": 1}, none_is_leaf=False) == [("['a']", "type", "None", "1")]
    assert told([(1, 2)], [(1,)], is_leaf=lambda node: type(node) is tuple) == []
    assert told([AlphaOnly(1, 2)], [AlphaOnly(1, [])]) == []
    assert told([AlphaOnly(1, 2)], [AlphaOnly(1, [])], namespace=ALPHA) == [("[0].b", "type", "2", "an empty list")]
    one, other = {"b": 1, "a": 2}, {"a": 2, "b": 1}
    assert [d.kind for d in cp.tree_diff(one, other)] == ["order"]
    with cp.dict_insertion_ordered(False):
        assert cp.tree_diff(one, other) == ()


def test_circles_are_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    for pair in ((circle, []), ([], circle)):
        with pytest.raises(cp.CircularTreeError):
            cp.tree_diff(*pair)


def test_the_result_is_data() -> None:
    found = cp.tree_diff({"a": 1, "b": 2}, {"a": 1})
    assert isinstance(found, tuple)
    (difference,) = found
    assert difference.path == (cp.MappingKey("b"),)
    assert found == cp.tree_diff({"b": 2}, {})
    assert hash(difference) == hash(cp.tree_diff({"b": 2}, {})[0])
    assert difference != found
    assert repr(difference) == "Difference(\"['b']\", 'only_a', a='2', b=None)"
    assert pickle.loads(pickle.dumps(found)) == found
    match difference:
        case type(path=(cp.MappingKey(key),)):
            pytest.fail(f"{key} is no class")
    assert not cp.tree_diff(1, 2)
    assert cp.tree_leaves(found) == [found]


def test_it_prints_one_line_a_difference() -> None:
    found = cp.tree_diff({"a": [1], "b": 2, "c": 3, "d": 1}, {"a": (1,), "c": 4, "b": 5, "e": []}, leaves=True)
    assert str(found) == repr(found)
    assert str(found).splitlines() == [
        "6 differences:",
        "  the root: the keys come in another order:",
        "    a has ['b'], ['c']",
        "    b has ['c'], ['b']",
        "  ['a']: a has a list of 1, b has a tuple of 1",
        "  ['b']: a has 2, b has 5",
        "  ['c']: a has 3, b has 4",
        "  ['d']: only in a, which has 1",
        "  ['e']: only in b, which has an empty list",
    ]
    assert str(cp.tree_diff(1, 1)) == "no differences"
    assert str(cp.tree_diff([1], 1)) == "1 difference:\n  the root: a has a list of 1, b has 1"


def test_what_is_too_long_for_a_line_stands_on_several() -> None:
    def encoder(dtype: str) -> Any:
        layer = {"self_attention": {"query_projection": {"weight": np.zeros((8, 8), dtype)}}}
        return {"encoder": [layer] * 6}

    assert str(cp.tree_diff(encoder("f4"), encoder("f2"), leaves=True)).splitlines() == [
        "6 differences:",
        "  ['encoder'][0…5]['self_attention']['query_projection']['weight'] (6 places):",
        "    a has ndarray float32[8, 8]",
        "    b has ndarray float16[8, 8]",
    ]
    key = "first" * 30 + "last"
    found = cp.tree_diff({key: 1}, {key: {key: [1]}, key[:150]: []})
    assert str(found).splitlines() == [
        "2 differences:",
        "  ['firstfirstfirstfirstfirstfirstfirstfirstfirstfirs…irstfirstfirstfirstlast']:",
        "    a has 1",
        "    b has a dict with 1 key",
        "  ['firstfirstfirstfirstfirstfirstfirstfirstfirstfirs…rstfirstfirstfirstfirst']:",
        "    only in b, which has an empty list",
    ]
    assert [cp.keystr(difference.path) for difference in found] == [f"['{key}']", f"['{key[:150]}']"]
    assert str(found[0]).splitlines() == [line[2:] for line in str(found).splitlines()[1:4]]


def test_what_a_side_has_is_told_to_its_end() -> None:
    (difference,) = cp.tree_diff([Hostile()], [Hostile()], leaves=True)
    assert " ".join(str(difference).split()) == f"[0]: a has {difference.a} b has {difference.b}"
    words = "word " * 60
    long = Difference((), "context", f"{words}1 {words}", f"{words}2 {words}")
    place, *lines = str(long).splitlines()
    assert place == "the root:"
    assert [[number in line for number in "12"] for line in lines] == [[True, False], [False, True]]


def test_long_values_that_differ_in_the_middle_are_told_apart() -> None:
    same = "same" * 50
    assert told([f"{same}1{same}"], [f"{same}2{same}"], leaves=True) == [
        ("[0]", "leaf", f"…'{same[-20:]}1{same[:39]}'…", f"…'{same[-20:]}2{same[:39]}'…")
    ]
    assert told([same.encode()], [same.encode() + b"."], leaves=True) == [
        ("[0]", "leaf", f"…b'{same[-20:]}'", f"…b'{same[-20:]}.'")
    ]
    tagged = [Tagged(1, 2, f"{same}{number}{same}") for number in range(2)]
    ((_, kind, a, b),) = told(tagged[0], tagged[1])
    assert (kind, a.replace("same0same", "same1same")) == ("context", b)


def test_what_it_prints_is_bounded() -> None:
    a = {f"{'k' * 500}{i}": ["x" * 500] for i in range(1000)}
    b = {f"{'k' * 500}{i}": "y" * 500 for i in range(1000)}
    found = cp.tree_diff(a, b, leaves=True)
    assert len(found) == 1000
    assert len(str(found)) < 1000
    other = cp.tree_diff(a, {key: f"{'y' * 500}{i}" for i, key in enumerate(a)}, leaves=True)
    assert len(str(other)) < 8000
    assert str(other).endswith("… and 970 more")


def test_every_kind_of_node_against_a_changed_copy() -> None:
    tree = every_kind()
    changed = cp.tree_map(lambda leaf: leaf, tree)
    assert cp.tree_diff(tree, changed) == ()
    paths = cp.tree_structure(tree).key_paths()
    mapped = iter(range(len(paths)))
    other = cp.tree_map(lambda leaf: [leaf] if next(mapped) % 3 == 0 else leaf, tree)
    found = cp.tree_diff(tree, other)
    assert [d.path for d in found] == paths[::3]
    assert {d.kind for d in found} == {"type"}


@given(trees, st.data())
def test_changed_leaves_are_found_by_their_paths(tree: Any, data: Any) -> None:
    pairs = cp.tree_leaves_with_path(tree)
    changed = data.draw(st.sets(st.integers(0, len(pairs) - 1))) if pairs else set()
    number = iter(range(len(pairs)))
    other = cp.tree_map(lambda leaf: object() if next(number) in changed else leaf, tree)
    found = cp.tree_diff(tree, other, leaves=True)
    assert [difference.path for difference in found] == [pairs[i][0] for i in sorted(changed)]
    assert {difference.kind for difference in found} <= {"leaf"}


def test_a_difference_at_every_depth_takes_no_more_memory_than_the_trees() -> None:
    one: Any = {"x": 0}
    other: Any = {}
    for _ in range(20_000):
        one, other = {"x": 0, "down": one}, {"down": other}
    tracemalloc.start()
    found = cp.tree_diff(one, other)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == 20_001
    assert taken < 60_000_000  # the paths written out would be 1.6 GB
    assert len(found[-1].path) == 20_001
    assert len(str(found)) < 5000
    assert pickle.loads(pickle.dumps(found[-1])) == copy.deepcopy(found[-1]) == found[-1]


@pytest.mark.parametrize("kind", WRAP)
def test_deep_trees_on_a_small_stack(kind: str) -> None:
    one, other, deeper = Chain(kind, 20_000, 1), Chain(kind, 20_000, 2), Chain(kind, 20_000, [2])

    def work() -> None:
        (leaf,), (difference,) = cp.tree_diff(one.tree, other.tree, leaves=True), cp.tree_diff(one.tree, deeper.tree)
        assert (leaf.kind, len(leaf.path)) == ("leaf", 20_000)
        assert (difference.kind, len(difference.path)) == ("type", 20_000)
        assert len(str(leaf)) < 500 > len(str(difference))

    run_in_thread(work, SMALL_STACK)


def test_a_class_that_was_registered_anew_between_two_structures():
    @dataclasses.dataclass(frozen=True)
    class Layer:
        w: Any
        name: str = ""

    ways = [
        lambda: cp.register_pytree_node(Layer, lambda layer: ((layer.w,), None), lambda w, _: Layer(*w)),
        lambda: cp.register_dataclass(Layer, ["w"], ["name"]),
        lambda: cp.register_dataclass(Layer, ["w"], [], drop_fields=["name"]),
        lambda: cp.register_static(Layer),
    ]
    specs = []
    for register in ways:
        register()
        specs.append(cp.tree_structure([Layer(1, "first")]))
        cp.unregister_pytree_node(Layer)
    for one in specs:
        for other in specs:
            kinds = {difference.kind for difference in cp.tree_diff(one, other)}
            assert kinds == set() if one == other else "context" in kinds
    (difference,) = cp.tree_diff(specs[1], specs[2])
    assert difference.b.endswith("Layer (registered in another way)")
