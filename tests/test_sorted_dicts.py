"""Dicts read by sorted key in place: what comes out is what sorting in Python gives, wherever the reading stops."""

from __future__ import annotations

import pickle
import random
from collections import OrderedDict, defaultdict, deque
from typing import Any

import pytest
import reference
from classes import Point, Sample, Tagged
from hypothesis import given
from hypothesis import strategies as st
from reference import Mode

import clika_pytree as cp

SORT = Mode(sort=True)


class Text(str):
    """A key that is no exact str."""


def shuffled(size: int, prefix: str = "k") -> dict[str, Any]:
    keys = [f"{prefix}{number}" for number in range(size)]
    random.Random(size).shuffle(keys)
    return {key: number for number, key in enumerate(keys)}


def with_gaps() -> dict[str, Any]:
    tree = shuffled(30)
    for key in [*tree][::3]:
        del tree[key]
    return tree


def deep(depth: int) -> Any:
    tree: Any = 0
    for number in range(depth):
        tree = {"b": number, "a": tree, "c": [number]}
    return tree


TREES: dict[str, Any] = {
    "two": {"b": 1, "a": 2},
    "in order": {"a": 1, "b": {"d": 2, "c": 3}},
    "gaps": {"b": with_gaps(), "a": with_gaps()},
    "empty": {"b": {}, "a": {"d": {}, "c": 1}},
    "as wide as is gathered": {"b": shuffled(511), "a": 1},
    "wider": {"b": shuffled(513), "a": {"d": 1, "c": 2}},
    "wider inside": {"b": {"z": shuffled(400), "y": shuffled(200)}, "a": 1},
    "much wider": shuffled(70_000),
    "deeper than is read in place": deep(300),
    "latin": {"é": 1, "z": 2, "ÿ": 3, "a": 4},
    "one byte and two": {"é": 1, "Ā": 2, "z": 3, "\U0001f600": 4, "\ud800": 5, "": 6},
    "beginnings of one another": {"aa": 1, "a": 2, "": 3, "aaa": 4, "a\0": 5},
    "another kind of text": {"b": 1, Text("a"): {"d": 1, "c": 2}},
    "ints": {3: 1, 1: {"b": 1, "a": 2}, 2: 3},
    "ints and texts": {"b": 1, 2: 2, "a": {"d": 1, "c": 2}},
    "a class in the middle": {"d": 1, "c": Tagged({"b": 1, "a": 2}, 2, 3), "b": {"f": 4, "e": 5}, "a": [6]},
    "None": {"b": None, "a": {"d": None, "c": 1}},
    "fields of a dataclass": {"b": Sample({"d": 1, "c": 2}, [3], "x"), "a": 1},
    "a namedtuple": {"b": Point({"d": 1, "c": 2}, 3), "a": 1},
    "other mappings": {
        "c": OrderedDict(b={"f": 1, "e": 2}, a=3),
        "b": defaultdict(list, {"h": {"j": 1, "i": 2}, "g": 3}),
        "a": deque([{"l": 1, "k": 2}]),
    },
    "a list of dicts": [{"b": n, "a": {"d": n, "c": -n}} for n in range(100)],
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_a_tree_is_what_it_is_with_its_keys_sorted(tree: Any) -> None:
    check(tree)


def check(tree: Any) -> None:
    leaves, spec = reference.flatten(tree, SORT)
    with cp.dict_insertion_ordered(False):
        ours, treespec = cp.tree_flatten(tree)
        assert ours == leaves == cp.tree_leaves(tree) == list(cp.tree_iter(tree))
        assert treespec == cp.tree_structure(tree)
        assert cp.tree_flatten(tree, lambda node: False)[1] == treespec
        assert treespec.flatten_up_to(tree) == leaves
        assert list(map(cp.keystr, treespec.key_paths())) == reference.path_texts(spec.root)
        assert [leaf for _, leaf in cp.tree_leaves_with_path(tree)] == leaves
        mapped = cp.tree_map(lambda a, b: a is b, tree, tree)
    assert all(cp.tree_leaves(mapped))
    for rebuilt in (treespec.unflatten(leaves), treespec.unflatten(leaves), mapped):
        assert orders(rebuilt) == orders(tree)


def orders(tree: Any) -> Any:
    """The keys of the dicts, as they come."""
    return cp.tree_structure(tree)


@given(
    st.recursive(st.integers() | st.none(), lambda trees: st.dictionaries(st.text(max_size=3), trees) | st.lists(trees))
)
def test_any_tree_of_dicts_and_lists(tree: Any) -> None:
    check(tree)


@given(st.data())
def test_a_tree_in_another_order_fits(data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.text(max_size=2), unique=True, max_size=12))
    first, second = ({key: [key, {"b": 1, "a": 2}] for key in data.draw(st.permutations(keys))} for _ in "ab")
    with cp.dict_insertion_ordered(False):
        spec = cp.tree_structure(first)
        assert spec == cp.tree_structure(second)
        assert spec.flatten_up_to(second) == cp.tree_leaves(second)
        assert cp.tree_leaves(cp.tree_map(lambda a, b: a == b, first, second)) == [True] * spec.num_leaves


WRONG: dict[str, tuple[Any, str]] = {
    "another key": ({"b": {"d": 1, "e": 2}, "a": 3}, "['b']"),
    "a key more": ({"b": {"d": 1, "c": 2, "e": 3}, "a": 3}, "['b']"),
    "a key less": ({"b": {"d": 1}, "a": 3}, "['b']"),
    "another kind of key": ({"b": {"d": 1, 2: 2}, "a": 3}, "['b']"),
    "a subclass of str": ({"b": {"d": 1, Text("c"): 2}, "a": 3}, "['b']"),
    "another container": ({"b": [1, 2], "a": 3}, "['b']"),
    "another root": ({"b": 1, "c": 2}, ""),
}


@pytest.mark.parametrize(("wrong", "path"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("keys", ["ba", "ab"])
def test_what_does_not_fit_is_named(wrong: Any, path: str, keys: str) -> None:
    tree = {key: {"a": 3, "b": {"d": 1, "c": 2}}[key] for key in keys}
    with cp.dict_insertion_ordered(False):
        spec = cp.tree_structure(tree)
        with pytest.raises(cp.StructureError) as raised:
            spec.flatten_up_to(wrong)
    assert raised.value.path == path


def test_a_spec_in_insertion_order_fits_only_where_that_is_sorted() -> None:
    spec = cp.tree_structure({"b": 1, "a": 2})
    in_order = cp.tree_structure({"a": 1, "b": 2})
    with cp.dict_insertion_ordered(False):
        with pytest.raises(cp.StructureError):
            spec.flatten_up_to({"b": 1, "a": 2})
        assert in_order.flatten_up_to({"b": 1, "a": 2}) == [2, 1]


def test_specs_keep_the_order_through_all_that_makes_specs() -> None:
    tree = {"c": {"b": 1, "a": 2}, "b": [{"z": 3, "y": 4}], "a": {"n": 5}}
    with cp.dict_insertion_ordered(False):
        leaves, spec = cp.tree_flatten(tree)
    assert orders(pickle.loads(pickle.dumps(spec)).unflatten(leaves)) == orders(tree)
    assert orders(spec.child(2).unflatten([2, 1])) == orders({"b": 1, "a": 2})
    whole = spec.compose(spec).unflatten(range(spec.num_leaves**2))
    assert orders(whole["c"]["b"]) == orders(tree)
    assert orders(spec.broadcast(spec).unflatten(leaves)) == orders(tree)
    assert orders(spec.transform(None, None).unflatten(leaves)) == orders(tree)


def test_a_key_that_hides_its_children_from_the_walk() -> None:
    """A flatten function that changes the dict around it: the children are those from before."""
    tree: dict[str, Any] = {}

    class Meddler:
        pass

    def flatten(node: Meddler) -> tuple[tuple[int, ...], None]:
        tree.clear()
        return (1, 2), None

    cp.register_pytree_node(Meddler, flatten, lambda children, context: Meddler())
    try:
        tree.update(c=object(), b={"e": Meddler(), "d": "here"}, a=object())
        first, last = tree["a"], tree["c"]
        with cp.dict_insertion_ordered(False):
            assert cp.tree_leaves(tree) == [first, "here", 1, 2, last]
    finally:
        cp.unregister_pytree_node(Meddler)


@pytest.mark.parametrize("function", [cp.tree_leaves, cp.tree_structure, lambda tree: list(cp.tree_iter(tree))])
def test_the_path_of_an_exception_in_the_middle(function: Any) -> None:
    class Raises:
        pass

    def flatten(node: Raises) -> Any:
        raise LookupError("no children")

    cp.register_pytree_node(Raises, flatten, lambda children, context: Raises())
    try:
        tree = {"z": 1, "y": {"k": [0, Raises()], "j": 1}, "x": {"b": 1, "a": 2}}
        with cp.dict_insertion_ordered(False), pytest.raises(LookupError) as raised:
            function(tree)
    finally:
        cp.unregister_pytree_node(Raises)
    assert raised.value.__notes__ == ["clika_pytree: raised by the flatten function of Raises at ['y']['k'][1]"]


def test_a_living_spec_is_found_where_the_order_is_the_same_too() -> None:
    with cp.dict_insertion_ordered(False):
        spec = cp.tree_structure([{"b": 1, "a": 2}])
        assert cp.tree_structure([{"b": 3, "a": 4}]) is spec
        other = cp.tree_structure([{"a": 1, "b": 2}])
        assert other == spec
        assert orders(other.unflatten([1, 2])) == orders([{"a": 1, "b": 2}])
        assert orders(spec.unflatten([1, 2])) == orders([{"b": 2, "a": 1}])
