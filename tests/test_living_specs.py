"""A walk finds a spec that is alive again, where nothing could tell it from a new one."""

import collections
import enum
import gc
import pickle
import weakref

import pytest
from hypothesis import given
from strategies import trees

import clika_pytree as cp

PLAIN = [
    lambda: 0,
    lambda: [1, (2, {})],
    lambda: {"a": [1, 2], "b": {"x y": (3, None)}},
    lambda: {7: 0, -(2**70): 0, None: 0, True: 0, 2.5: 0, b"x": 0},
    lambda: [0] * 1000,
]


def fresh(text):
    """A str that no other object is."""
    return "".join(list(text))


@pytest.mark.parametrize("make", PLAIN)
def test_a_living_spec_of_plain_keys_is_found(make):
    spec = cp.tree_structure(make())
    assert cp.tree_structure(make()) is spec
    assert cp.tree_flatten(make())[1] is spec
    assert cp.tree_flatten_with_path(make())[1] is spec


def test_equal_texts_and_integers_count_as_the_same():
    spec = cp.tree_structure({fresh("key one"): 0, 10**30: 1})
    assert cp.tree_structure({fresh("key one"): 0, 10**30 + 0: 1}) is spec


@pytest.mark.parametrize("make", PLAIN)
def test_it_is_not_kept_alive(make):
    # A structure that no other test has.
    tree = {"test_it_is_not_kept_alive": make()}
    spec = weakref.ref(cp.tree_structure(tree))
    assert spec() is None
    assert cp.tree_structure(tree) == cp.tree_structure(tree)


class Text(str):
    """A str that can have attributes."""


class Color(enum.Enum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "make",
    [
        lambda: {Text("a"): 0},
        lambda: {(1, 2): 0},
        lambda: {Color.RED: 0},
        lambda: Point(1, 2),
        lambda: collections.defaultdict(list, a=1),
    ],
)
def test_what_the_collector_tracks_is_never_found(make):
    spec, other = cp.tree_structure(make()), cp.tree_structure(make())
    assert spec is not other
    assert spec == other


@pytest.mark.parametrize(
    ("tree", "other"),
    [
        ({1: 0}, {True: 0}),
        ({1: 0}, {1.0: 0}),
        ({0.0: 0}, {-0.0: 0}),
        ({"a": 0, "b": 1}, {"b": 1, "a": 0}),
        ({"a": 0}, {"b": 0}),
        ([0, 1], (0, 1)),
        ([[0], 1], [0, [1]]),
        ({"a": 0}, collections.OrderedDict(a=0)),
    ],
)
def test_another_structure_is_not_mistaken_for_it(tree, other):
    spec = cp.tree_structure(tree)
    found = cp.tree_structure(other)
    assert found is not spec
    assert found != spec
    assert str(found) == str(pickle.loads(pickle.dumps(found)))


def test_the_mode_and_the_order_of_the_keys_are_part_of_it():
    tree = {"b": None, "a": None}
    spec = cp.tree_structure(tree)
    as_nodes = cp.tree_structure(tree, none_is_leaf=False)
    with cp.dict_insertion_ordered(False):
        in_order = cp.tree_structure(tree)
    assert len({id(spec), id(as_nodes), id(in_order)}) == 3
    assert list(cp.tree_unflatten(in_order, [1, 2])) == ["b", "a"]


def test_a_map_keeps_the_keys_in_their_place_whichever_spec_is_alive():
    tree = {fresh("first"): 1, fresh("second"): [2]}
    specs = [cp.tree_structure(tree)]
    for _ in range(3):
        assert cp.tree_map(lambda x: x + 1, tree) == {"first": 2, "second": [3]}
    del specs


def test_more_living_specs_than_there_are_places():
    specs = [cp.tree_structure({f"key {number}": 0}) for number in range(5000)]
    for number, spec in enumerate(specs):
        again = cp.tree_structure({f"key {number}": 0})
        assert again == spec
        assert again.paths() == [(f"key {number}",)]
    del specs[::2]
    assert [cp.tree_structure({f"key {number}": 0}) for number in range(1, 5000, 2)] == specs


def test_a_dying_spec_is_not_found():
    found = []

    class Last:
        def __del__(self):
            found.append(cp.tree_structure({"only here": [1]}))

    def look(_):
        found.append(cp.tree_structure({"only here": [1]}))

    spec = cp.tree_structure({"only here": [1]})
    watch = weakref.ref(spec, look)
    del spec
    holder = [cp.tree_structure({"only here": [1]}), Last()]
    holder.append(holder)
    del holder
    gc.collect()
    assert watch() is None
    assert len(found) == 2
    assert all(spec.num_leaves == 1 and spec == cp.tree_structure({"only here": [1]}) for spec in found)


def test_a_copy_read_from_a_pickle_is_an_object_of_its_own():
    spec = cp.tree_structure({"only here": [1]})
    copy = pickle.loads(pickle.dumps(spec))
    assert copy is not spec
    assert copy == spec
    assert cp.tree_structure({"only here": [1]}) is spec


def test_a_loaded_spec_has_the_keys_of_the_living_one_and_is_found_itself():
    spec = cp.tree_structure({fresh("some key"): [1]})
    copy = pickle.loads(pickle.dumps(spec))
    assert copy.entries()[0] is spec.entries()[0]
    data = pickle.dumps(spec)
    del spec, copy
    copy = pickle.loads(data)
    assert cp.tree_structure({fresh("some key"): [1]}) is copy


def test_paths_that_were_asked_for_are_there_for_the_next_walk():
    spec = cp.tree_structure({"a": [1, 2]})
    first = spec.key_paths()
    pairs, _ = cp.tree_flatten_with_path({"a": [3, 4]})
    assert all(path is known for (path, _), known in zip(pairs, first, strict=True))


@given(trees)
def test_whether_found_or_made_it_says_the_same(tree):
    spec = cp.tree_structure(tree)
    again = cp.tree_structure(tree)
    assert again == spec
    assert repr(again) == repr(spec)
    assert hash(again) == hash(spec)
    assert cp.tree_structure(cp.tree_unflatten(again, cp.tree_leaves(tree))) == spec
