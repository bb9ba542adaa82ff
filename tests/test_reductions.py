"""Reductions, and the filters they share with `tree_map_only`."""

from __future__ import annotations

import abc
import collections.abc
import functools
import numbers
from collections.abc import Callable
from typing import Any, Literal, Optional, Protocol, Union

import numpy as np
import pytest
from registering import clean_registry  # noqa: F401

import clika_pytree as cp
from clika_pytree import pytree

TREE = {"a": 3, "b": [1, (5, [])], "c": {"d": 2}}
LEAVES = [3, 1, 5, 2]
EMPTY: list = [[], {}, ((),)]


def asked(answers: Callable[[Any], Any], seen: list) -> Callable[[Any], Any]:
    """The function, remembering what it was called with."""

    def ask(leaf: Any) -> Any:
        seen.append(leaf)
        return answers(leaf)

    return ask


# --- all and any ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tree", [TREE, EMPTY, [0], [1, 0], [None], 0, 1, None, "", "x", {"a": [], "b": 0}])
def test_all_and_any_of_the_leaves(tree: Any) -> None:
    leaves = pytree.tree_leaves(tree)
    assert pytree.tree_all(tree) is all(leaves)
    assert pytree.tree_any(tree) is any(leaves)
    assert pytree.tree_all(tree=tree) is all(leaves)
    assert pytree.tree_any(tree=tree) is any(leaves)


@pytest.mark.parametrize("limit", [0, 1, 3, 9])
def test_the_form_with_a_function(limit: int) -> None:
    def above(leaf: int) -> bool:
        return leaf > limit

    assert pytree.tree_all(above, TREE) is all(map(above, LEAVES))
    assert pytree.tree_any(above, TREE) is any(map(above, LEAVES))
    assert pytree.tree_all(pred=above, tree=TREE) is all(map(above, LEAVES))
    assert pytree.tree_any(above, tree=TREE) is any(map(above, LEAVES))
    assert pytree.tree_all(above, EMPTY) is True
    assert pytree.tree_any(above, EMPTY) is False


def test_the_function_may_answer_with_anything() -> None:
    assert pytree.tree_all(lambda leaf: [leaf], TREE) is True
    assert pytree.tree_any(lambda leaf: None, TREE) is False


def test_they_stop_as_soon_as_they_know() -> None:
    seen: list = []
    assert not pytree.tree_all(asked(lambda n: n > 1, seen), TREE)
    assert seen == [3, 1]
    seen.clear()
    assert pytree.tree_any(asked(lambda n: n == 3, seen), TREE)
    assert seen == [3]
    visited: list = []
    assert pytree.tree_any(TREE, is_leaf=asked(lambda _: False, visited))
    assert visited == [TREE, 3]


def test_is_leaf_in_the_place_where_pytorch_has_it() -> None:
    def is_list(x: object) -> bool:
        return isinstance(x, list)

    assert pytree.tree_all(is_list, [[1], [2]], lambda x: x in ([1], [2]))
    assert pytree.tree_any(is_list, TREE, is_list)
    assert not pytree.tree_any(is_list, TREE)


def test_a_single_leaf_may_be_a_function() -> None:
    assert pytree.tree_all(len) is True
    assert pytree.tree_any(callable, len) is True


@pytest.mark.parametrize("fn", [pytree.tree_all, pytree.tree_any])
def test_wrong_arguments_of_all_and_any(fn: Callable) -> None:
    with pytest.raises(cp.PyTreeTypeError, match=rf"{fn.__name__}\(\) expects a tree"):
        fn()
    with pytest.raises(cp.PyTreeTypeError, match=r"a function and a tree, got a dict first.*is_leaf"):
        fn({"a": 1}, lambda x: False)


def test_only_the_picked_leaves_are_asked() -> None:
    tree = {"n": 1, "name": "x", "k": [2, None, 3.5]}
    seen: list = []
    assert pytree.tree_all_only(int, asked(lambda n: n > 0, seen), tree)
    assert seen == [1, 2]
    seen.clear()
    assert pytree.tree_any_only((str, float), asked(lambda v: v == "x", seen), tree)
    assert seen == ["x"]
    assert pytree.tree_all_only(bytes, lambda _: False, tree) is True
    assert pytree.tree_any_only(bytes, lambda _: True, tree) is False
    assert pytree.tree_any_only(list, lambda _: True, tree) is False
    assert pytree.tree_any_only(list, len, tree, lambda x: isinstance(x, list)) is True


# --- the filters of the `only` functions ------------------------------------------------------------------------------


class Named(Protocol):
    name: str


class Number(abc.ABC):  # noqa: B024
    pass


Number.register(int)

FILTERS: dict[str, tuple[Any, list]] = {
    "a type": (int, [1, True]),
    "a subclass": (bool, [True]),
    "an abstract class": (numbers.Real, [1, True, 2.5]),
    "an abstract class with registrations": (Number, [1, True]),
    "a tuple": ((int, str), [1, True, "s"]),
    "a tuple in a tuple": (((int,), str), [1, True, "s"]),
    "the empty tuple": ((), []),
    "a union": (int | str, [1, True, "s"]),
    "a union with None": (int | None, [1, True, None]),
    "Optional": (Optional[int], [1, True, None]),  # noqa: UP045
    "Union": (Union[str, float, None], ["s", 2.5, None]),  # noqa: UP007
    "NoneType": (type(None), [None]),
    "object": (object, [1, True, "s", 2.5, None]),
    "a function": (lambda leaf: leaf is None or leaf == 1, [1, True, None]),
    "a function that answers with anything": (lambda leaf: [leaf] if leaf == "s" else "", ["s"]),
    "a method": ([1, None].__contains__, [1, True, None]),
    "a partial function": (functools.partial(lambda kind, leaf: type(leaf) is kind, int), [1]),
}
MIXED = {"a": 1, "b": [True, "s", (2.5,)], "c": None}


@pytest.mark.parametrize("name", FILTERS)
def test_every_kind_of_filter(name: str) -> None:
    """Case S18 among them: `Optional[int]` and `int | None`."""
    kind, picked = FILTERS[name]
    seen: list = []
    mapped = pytree.tree_map_only(kind, asked(lambda leaf: ("mapped", leaf), seen), MIXED, is_leaf=None)
    assert seen == picked
    assert pytree.tree_leaves(mapped, lambda x: type(x) is tuple and x[:1] == ("mapped",)) == [
        ("mapped", leaf) if any(leaf is one for one in picked) else leaf for leaf in pytree.tree_leaves(MIXED)
    ]
    seen.clear()
    assert pytree.tree_map_only_(kind, asked(lambda leaf: "ignored", seen), MIXED) is MIXED
    assert seen == picked
    seen.clear()
    assert pytree.tree_all_only(kind, asked(lambda leaf: True, seen), MIXED) is True
    assert seen == picked
    seen.clear()
    assert pytree.tree_any_only(kind, asked(lambda leaf: False, seen), MIXED) is False
    assert seen == picked


NO_FILTERS: dict[str, Any] = {
    "None": None,
    "a number": 3,
    "a list of types": [int, str],
    "a name": "int",
    "a union with a type with arguments": int | list[int],
    "a tuple with such a type": (int, list[int]),
    "a tuple with a name": (int, "str"),
    "a protocol that cannot be checked": Named,
}
CALLABLE_BUT_NO_FILTERS: dict[str, Any] = {
    "a type with arguments": list[int],
    "a typing alias": collections.abc.Callable[[int], int],
    "a literal": Literal["x"],
}


@pytest.mark.parametrize("name", NO_FILTERS)
def test_what_is_no_filter(name: str) -> None:
    for fn in (pytree.tree_map_only, pytree.tree_map_only_, pytree.tree_all_only, pytree.tree_any_only):
        with pytest.raises(TypeError, match=r"union or a (function|predicate)|isinstance|protocol"):
            fn(NO_FILTERS[name], str, MIXED)


@pytest.mark.parametrize("name", CALLABLE_BUT_NO_FILTERS)
def test_a_type_with_arguments_is_not_called_as_a_predicate(name: str) -> None:
    for fn in (pytree.tree_all_only, pytree.tree_any_only):
        with pytest.raises(cp.PyTreeTypeError, match=r"expects a type, .* got a \w*Alias"):
            fn(CALLABLE_BUT_NO_FILTERS[name], str, MIXED)


@pytest.mark.parametrize("fn", [pytree.tree_all_only, pytree.tree_any_only])
def test_the_function_must_be_one(fn: Callable) -> None:
    with pytest.raises(cp.PyTreeTypeError, match="function as pred, got a dict"):
        fn(int, MIXED, str)
    with pytest.raises(cp.PyTreeTypeError, match=r"expects a type, a tuple of types.*got a list"):
        fn([int], str, MIXED)


# --- folds ------------------------------------------------------------------------------------------------------------


def test_reduce_folds_from_the_left() -> None:
    assert pytree.tree_reduce(lambda x, y: (x, y), TREE) == (((3, 1), 5), 2)
    assert pytree.tree_reduce(lambda x, y: (x, y), TREE, None) == ((((None, 3), 1), 5), 2)
    assert pytree.tree_reduce(lambda x, y: x + y, TREE, initial=100) == 111
    assert pytree.tree_reduce(max, [7]) == 7
    assert pytree.tree_reduce(max, EMPTY, "start") == "start"
    assert pytree.tree_reduce(max, EMPTY, None) is None


def test_reduce_of_nothing() -> None:
    with pytest.raises(cp.PyTreeTypeError, match=r"tree_reduce\(\) got a tree without leaves.*initial"):
        pytree.tree_reduce(max, EMPTY)
    with pytest.raises(cp.PyTreeTypeError, match="function as fn, got a dict"):
        pytree.tree_reduce(TREE, max)


def test_sum() -> None:
    assert pytree.tree_sum(TREE) == 11
    assert pytree.tree_sum(TREE, 0.5) == 11.5
    assert pytree.tree_sum(EMPTY) == 0
    assert pytree.tree_sum(EMPTY, start=None) is None
    assert pytree.tree_sum([[1], [2]], [], is_leaf=lambda x: x in ([1], [2])) == [1, 2]
    with pytest.raises(TypeError, match="NoneType"):
        pytree.tree_sum({"a": 1, "b": None})
    assert pytree.tree_sum({"a": 1, "b": None}, none_is_leaf=False) == 1


@pytest.mark.parametrize(("reduce", "plain"), [(pytree.tree_max, max), (pytree.tree_min, min)])
def test_max_and_min(reduce: Callable, plain: Callable) -> None:
    assert reduce(TREE) == plain(LEAVES)
    assert reduce(TREE, key=lambda n: -n) == plain(LEAVES, key=lambda n: -n)
    first, same = 1, 1.0
    assert type(reduce([first, same])) is int
    assert reduce(EMPTY, default=None) is None
    assert reduce([4], default=0) == 4
    with pytest.raises(cp.PyTreeValueError, match=rf"{reduce.__name__}\(\) got a tree without leaves.*default"):
        reduce(EMPTY)
    with pytest.raises(TypeError, match="not supported between"):
        reduce([1, "a"])


# --- what they have in common -----------------------------------------------------------------------------------------

CALLS: dict[str, Callable] = {
    "tree_all": lambda tree, **options: pytree.tree_all(lambda _: True, tree, **options),
    "tree_any": lambda tree, **options: pytree.tree_any(lambda _: False, tree, **options),
    "tree_all_only": lambda tree, **options: pytree.tree_all_only(object, lambda _: True, tree, **options),
    "tree_any_only": lambda tree, **options: pytree.tree_any_only(object, lambda _: False, tree, **options),
    "tree_reduce": lambda tree, **options: pytree.tree_reduce(lambda n, _: n, tree, 0, **options),
    "tree_sum": lambda tree, **options: pytree.tree_sum(tree, Adding(), **options),
    "tree_max": lambda tree, **options: pytree.tree_max(tree, key=lambda _: 0, default=0, **options),
    "tree_min": lambda tree, **options: pytree.tree_min(tree, key=lambda _: 0, default=0, **options),
}


class Adding:
    """A start of a sum to which anything can be added."""

    def __add__(self, other: object) -> Adding:
        return self


class Pair:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


@pytest.mark.parametrize("name", CALLS)
def test_options_reach_the_walk(name: str) -> None:
    pytree.register_pytree_node(
        Pair, lambda p: ((p.a, p.b), None), lambda children, _: Pair(*children), namespace="tests.reduce"
    )
    tree = [Pair([1], None), None]
    visited: list = []
    CALLS[name](tree, is_leaf=asked(lambda x: x == [1], visited), none_is_leaf=False, namespace="tests.reduce")
    assert visited[0] is tree
    assert [x for x in visited if x == [1] or x is None] == [[1], None, None]
    with pytest.raises(TypeError, match="namespace"):
        CALLS[name](tree, namespace=3)


@pytest.mark.parametrize("name", CALLS)
def test_an_endless_tree_is_an_error(name: str) -> None:
    tree: list = [1]
    tree.append(tree)
    with pytest.raises(cp.CircularTreeError):
        CALLS[name](tree)
    tree.clear()


def test_a_stop_iteration_of_a_function_comes_through() -> None:
    def stop(*_: Any, **__: Any) -> Any:
        raise StopIteration("stop")

    calls: list[Callable] = [
        lambda: pytree.tree_all(stop, TREE),
        lambda: pytree.tree_any(stop, TREE),
        lambda: pytree.tree_all_only(int, stop, TREE),
        lambda: pytree.tree_any_only(stop, bool, TREE),
        lambda: pytree.tree_reduce(stop, TREE),
        lambda: pytree.tree_max(TREE, key=stop),
        lambda: pytree.tree_min(TREE, key=stop),
    ]
    for call in calls:
        with pytest.raises(StopIteration, match="stop"):
            call()


@pytest.mark.parametrize("name", CALLS)
def test_a_stop_iteration_of_is_leaf_does_not_end_the_tree(name: str) -> None:
    def stop(_: object) -> bool:
        raise StopIteration

    with pytest.raises(RuntimeError):
        CALLS[name](TREE, is_leaf=stop)


# --- exceptions -------------------------------------------------------------------------------------------------------

ARRAY = np.ones(2)
RAISING: dict[str, tuple[Callable[[], Any], str]] = {
    "truth": (lambda: pytree.tree_all({"a": 1, "b": [1, ARRAY]}), "the truth of the leaf at ['b'][1]"),
    "truth of a leaf alone": (lambda: pytree.tree_any(ARRAY), "the truth of the leaf at the root"),
    "pred": (lambda: pytree.tree_any(lambda leaf: 1 // leaf, {"a": (0,)}), "pred at ['a'][0]"),
    "truth of an answer": (lambda: pytree.tree_all(lambda leaf: ARRAY, {"a": (0,)}), "pred at ['a'][0]"),
    "pred of some": (lambda: pytree.tree_all_only(int, lambda leaf: 1 // leaf, ["x", {"y": 0}]), "pred at [1]['y']"),
    "filter": (lambda: pytree.tree_any_only(lambda leaf: 1 // leaf, lambda leaf: False, [1, 0]), "the filter at [1]"),
    "fn": (lambda: pytree.tree_reduce(lambda x, y: x + y, {"a": 1, "b": ["x"]}), "fn at ['b'][0]"),
    "sum": (lambda: pytree.tree_sum({"a": 1, "b": ["x"]}), "adding the leaf at ['b'][0]"),
    "max": (lambda: pytree.tree_max({"a": 1, "b": [None]}), "comparing the leaf at ['b'][0]"),
    "key": (lambda: pytree.tree_min([3, {"x": 0}], key=lambda leaf: 1 // leaf), "comparing the leaf at [1]['x']"),
    "is_leaf": (lambda: pytree.tree_sum([1, 2], is_leaf=lambda leaf: leaf == 2 and 1 // 0), "is_leaf at [1]"),
}


@pytest.mark.parametrize(("call", "where"), RAISING.values(), ids=RAISING)
def test_an_exception_names_the_leaf(call: Callable[[], Any], where: str) -> None:
    with pytest.raises((TypeError, ValueError, ZeroDivisionError)) as raised:
        call()
    assert raised.value.__notes__ == [f"clika_pytree: raised by {where}"]


def test_the_words_of_a_key_may_walk_trees_themselves() -> None:
    class Key:
        def __repr__(self) -> str:
            return str(pytree.tree_sum([1, {"x": 2}]))

    with pytest.raises(TypeError) as raised:
        pytree.tree_sum({Key(): "x"})
    assert raised.value.__notes__ == ["clika_pytree: raised by adding the leaf at [<Key 3>]"]
