"""A function over the leaves of one tree, or of several that have one structure."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Optional, Union

import pytest
from classes import ALPHA, AlphaOnly, Box, Config, Pair, Point, Sample, Tagged
from helpers import identical, notes, registered

import clika_pytree as cp


def double(leaf: int) -> int:
    return leaf * 2


def test_mapping_keeps_the_structure():
    tree = {
        "a": [1, (2,)],
        "p": Point(3, {}),
        "o": OrderedDict(z=4, a=5),
        "q": deque([6], 3),
        "d": defaultdict(int, k=7),
    }
    mapped = cp.tree_map(double, tree)
    assert mapped == {
        "a": [2, (4,)],
        "p": Point(6, {}),
        "o": OrderedDict(z=8, a=10),
        "q": deque([12]),
        "d": {"k": 14},
    }
    assert mapped["q"].maxlen == 3
    assert mapped["d"].default_factory is int
    assert cp.tree_structure(mapped) == cp.tree_structure(tree)


def test_mapping_a_leaf_is_calling_the_function():
    assert cp.tree_map(double, 3) == 6
    assert cp.tree_map(lambda *args: args, 1, 2, 3) == (1, 2, 3)
    assert cp.tree_map(double, []) == []


def test_none_is_passed_to_the_function_unless_it_is_a_node():
    assert cp.tree_map(lambda x: x is None, {"x": 1, "y": None}) == {"x": False, "y": True}
    assert cp.tree_map(str, {"x": 1, "y": None}, none_is_leaf=False) == {"x": "1", "y": None}


def test_several_trees_are_paired_by_position():
    assert cp.tree_map(lambda x, y: x + y, {"a": 1, "b": 2}, {"a": 10, "b": 20}) == {"a": 11, "b": 22}
    assert cp.tree_map(max, [1, (5,)], [2, (3,)], [0, (9,)]) == [2, (9,)]


def test_registered_classes_map_over_several_trees():
    mapped = cp.tree_map(lambda *xs: xs, Tagged(1, [2], "t"), Tagged(3, [4], "t"))
    assert (mapped.left, mapped.right, mapped.tag) == ((1, 3), [(2, 4)], "t")
    assert cp.tree_map(lambda *xs: xs, Sample(1, 2, "s"), Sample(3, 4, "s")) == Sample((1, 3), (2, 4), "s")


@pytest.mark.parametrize(
    ("first", "second", "path"),
    [
        (1, [1], ""),
        ([1], 1, ""),
        ([1], (1,), ""),
        ([1, 2], [1], ""),
        ({"a": [1, (2, 3)]}, {"a": [1, (2,)]}, "['a'][1]"),
        ({"a": 1}, {"b": 1}, ""),
        ({"a": 1}, {"a": 1, "b": 2}, ""),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, ""),
        ({1: 0}, {True: 0}, ""),
        ({"k": {"a": 1}}, {"k": OrderedDict(a=1)}, "['k']"),
        ([defaultdict(int, a=1)], [defaultdict(list, a=1)], "[0]"),
        ([deque([1], 2)], [deque([1], 3)], "[0]"),
        (Point(1, [2]), Point(1, [2, 3]), ".y"),
        ([Point(1, 2)], [(1, 2)], "[0]"),
        ([Tagged(1, 2, "t")], [Tagged(1, 2, "u")], "[0]"),
        (Tagged(1, [2], "t"), Tagged(1, 2, "t"), ".right"),
        (Sample(1, 2, "s"), Sample(1, 2, "t"), ""),
        (Sample(1, [2], "s"), Sample(1, (2,), "s"), ".bias"),
        ([Config(1)], [Config(2)], "[0]"),
        ([Pair(1, [2])], [Pair(1, {})], "[0][<flat index 1>]"),
        ([1, [2], [3]], [1, 2, 3], "[1]"),
    ],
)
def test_trees_that_differ_are_refused_at_the_first_place(first, second, path):
    calls = []
    for mapping in (cp.tree_map, cp.tree_map_):
        with pytest.raises(ValueError, match=r".") as caught:
            mapping(lambda *leaves: calls.append(leaves), first, second)
        assert isinstance(caught.value, cp.StructureError)
        assert caught.value.path == path
        with pytest.raises(cp.StructureError) as caught:
            mapping(lambda *leaves: None, first, first, second)
        assert caught.value.path == path


def test_none_and_a_leaf_differ_where_none_is_a_node():
    assert cp.tree_map(lambda x, y: (x, y), [1, None], [None, 2]) == [(1, None), (None, 2)]
    for first, second in (([None], [1]), ([1], [None])):
        with pytest.raises(cp.StructureError) as caught:
            cp.tree_map(lambda x, y: x, first, second, none_is_leaf=False)
        assert caught.value.path == "[0]"


def test_where_is_leaf_stopped_at_a_container_anything_may_stand():
    def stop(obj: object) -> bool:
        return type(obj) is tuple

    for other in ((3,), (4, 5), [6], 7, {"a": {}}, None):
        assert cp.tree_map(lambda x, y: (x, y), [1, (2,)], [0, other], is_leaf=stop) == [(1, 0), ((2,), other)]
    with pytest.raises(cp.StructureError):
        cp.tree_map(lambda x, y: None, [1, (2,)], [[0], (2,)], is_leaf=stop)


def test_where_the_first_tree_has_a_leaf_a_container_at_which_is_leaf_stops_is_one_too():
    def stop(obj: object) -> bool:
        return type(obj) is tuple

    assert cp.tree_map(lambda x, y: (x, y), [1, (2,)], [(3, 4), (5,)], is_leaf=stop) == [(1, (3, 4)), ((2,), (5,))]
    assert cp.tree_map(lambda x, y: (x, y), 1, (2, [3]), is_leaf=stop) == (1, (2, [3]))
    for other in ([0], {"a": (1,)}, deque()):
        with pytest.raises(cp.StructureError) as caught:
            cp.tree_map(lambda x, y: None, [1], [other], is_leaf=stop)
        assert caught.value.path == "[0]"


def test_the_namespace_counts_for_every_tree():
    mapped = cp.tree_map(lambda x, y: x + y, AlphaOnly(1, 2), AlphaOnly(10, 20), namespace=ALPHA)
    assert (mapped.a, mapped.b) == (11, 22)
    one, two = AlphaOnly(1, 2), AlphaOnly(3, 4)
    assert identical(cp.tree_map(lambda x, y: (x, y), one, two), (one, two))


def test_the_function_is_called_in_the_order_of_the_leaves():
    calls = []
    cp.tree_map(calls.append, {"b": [1, (2,)], "a": Tagged(4, 3, "t"), "c": Point(5, 6)})
    assert calls == [1, 2, 3, 4, 5, 6]


def test_map_for_effect_returns_the_very_tree():
    tree = {"a": [1, Box(2)]}
    seen = []
    assert cp.tree_map_(seen.append, tree) is tree
    assert seen == [1, 2]
    assert cp.tree_map_(lambda x, y: seen.append(y), tree, tree) is tree


@pytest.mark.parametrize("mapping", [cp.tree_map, cp.tree_map_], ids=["tree_map", "tree_map_"])
def test_stop_iteration_of_the_function_is_not_swallowed(mapping):
    source = iter([10, 20])
    done = []
    with pytest.raises(StopIteration):
        mapping(lambda leaf: done.append((leaf, next(source))), [1, 2, 3, 4, 5])
    assert done == [(1, 10), (2, 20)]


MAPPINGS = [cp.tree_map, cp.tree_map_, lambda fn, tree: cp.tree_map_only(int, fn, tree)]


@pytest.mark.parametrize("mapping", MAPPINGS, ids=["tree_map", "tree_map_", "tree_map_only"])
@pytest.mark.parametrize("kind", [LookupError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_exceptions_keep_their_type_and_gain_a_note(mapping, kind):
    class Mine(kind):
        pass

    def fail(leaf: int) -> None:
        if leaf == 3:
            raise Mine("why")

    with pytest.raises(Mine) as caught:
        mapping(fail, {"layers": [1, {"w": 3}]})
    assert type(caught.value) is Mine
    assert caught.value.args == ("why",)
    if issubclass(kind, Exception):
        assert "['layers'][1]['w']" in notes(caught.value)


def test_arguments():
    for mapping in (cp.tree_map, cp.tree_map_):
        for args, keywords in [((), {}), ((double,), {}), ((double,), {"tree": [1]}), ((double, [1]), {"other": 1})]:
            with pytest.raises(TypeError):
                mapping(*args, **keywords)
        with pytest.raises(TypeError):
            mapping(3, [1])


def test_the_function_may_replace_leaves_by_containers():
    assert cp.tree_map(lambda x: [x, x], (1, {"a": 2})) == ([1, 1], {"a": [2, 2]})


def test_an_object_made_by_a_class_may_hold_what_the_class_would_not_make():
    class Positive:
        def __init__(self, value: int) -> None:
            if value <= 0:
                raise ValueError("not positive")
            self.value = value

    with (
        registered(Positive, lambda p: ((p.value,), None), lambda children, _: Positive(*children)),
        pytest.raises(ValueError, match="not positive") as caught,
    ):
        cp.tree_map(lambda x: -x, [0, Positive(1)])
    assert "[1]" in notes(caught.value)
    assert "Positive" in notes(caught.value)


# --- map_only ---------------------------------------------------------------------------------------------------------

MIXED = {"a": 1, "b": "text", "c": [2, None, 2.5]}


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (int, {"a": "X", "b": "text", "c": ["X", None, 2.5]}),
        ((int, str), {"a": "X", "b": "X", "c": ["X", None, 2.5]}),
        (int | str, {"a": "X", "b": "X", "c": ["X", None, 2.5]}),
        (int | None, {"a": "X", "b": "text", "c": ["X", "X", 2.5]}),
        (Optional[int], {"a": "X", "b": "text", "c": ["X", "X", 2.5]}),  # noqa: UP045
        (Union[int, float], {"a": "X", "b": "text", "c": ["X", None, "X"]}),  # noqa: UP007
        (type(None), {"a": 1, "b": "text", "c": [2, "X", 2.5]}),
        (lambda leaf: leaf == "text", {"a": 1, "b": "X", "c": [2, None, 2.5]}),
        ((), MIXED),
    ],
)
def test_only_what_the_filter_takes_is_mapped(chosen, expected):
    assert cp.tree_map_only(chosen, lambda leaf: "X", MIXED) == expected
    taken = []
    assert cp.tree_map_only_(chosen, taken.append, MIXED) is MIXED
    assert len(taken) == str(expected).count("'X'")


def test_a_type_takes_the_instances_of_its_subclasses():
    assert cp.tree_map_only(int, lambda x: x + 1, [True, 1.0]) == [2, 1.0]


@pytest.mark.parametrize("chosen", [3, "int", [int], None, (int, 3)], ids=repr)
def test_what_is_no_filter_is_a_type_error(chosen):
    for mapping in (cp.tree_map_only, cp.tree_map_only_):
        with pytest.raises(TypeError):
            mapping(chosen, double, [1])


def test_map_only_takes_the_same_options_as_map():
    assert cp.tree_map_only(tuple, len, [1, (2, 3)], lambda x: type(x) is tuple) == [1, 2]
    assert cp.tree_map_only(type(None), str, [None], none_is_leaf=False) == [None]
    assert cp.tree_map_only(int, double, AlphaOnly(1, "b"), namespace=ALPHA).a == 2


# --- large dicts ------------------------------------------------------------------------------------------------------


class CountedKey:
    compared = 0

    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        CountedKey.compared += 1
        return isinstance(other, CountedKey) and self.number == other.number

    def __lt__(self, other: CountedKey) -> bool:
        return self.number < other.number


OTHER_KEYS: dict[str, Callable[[int], Iterable[int]]] = {
    "reversed": lambda n: range(n)[::-1],
    "rotated": lambda n: [*range(1, n), 0],
    "one missing": lambda n: range(1, n),
    "one more": lambda n: range(n + 1),
    "one other": lambda n: [*range(n - 1), n + 5],
    "all other": lambda n: range(n, 2 * n),
    "half": lambda n: range(0, n, 2),
}


@pytest.mark.parametrize("other", OTHER_KEYS)
@pytest.mark.parametrize(
    "make", [dict, OrderedDict, lambda pairs: defaultdict(int, pairs)], ids=["dict", "ordered", "default"]
)
def test_a_mismatch_of_large_dicts_compares_each_key_a_few_times(make, other):
    many = 20_000 if (make, other) == (dict, "reversed") else 2_000
    first = make((CountedKey(i), 0) for i in range(many))
    second = make((CountedKey(i), 0) for i in OTHER_KEYS[other](many))
    spec = cp.tree_structure(first)
    for operation in (
        lambda: cp.tree_map(lambda x, y: 0, first, second),
        lambda: cp.tree_map_(lambda x, y: 0, {"k": first}, {"k": second}),
        lambda: spec.flatten_up_to(second),
        lambda: cp.tree_structure(second).flatten_up_to(first),
    ):
        CountedKey.compared = 0
        with pytest.raises(cp.StructureError) as caught:
            operation()
        assert len(str(caught.value)) < 1000
        assert CountedKey.compared <= 10 * many
    CountedKey.compared = 0
    assert not spec.is_prefix(cp.tree_structure(second))
    assert CountedKey.compared <= 10 * many
