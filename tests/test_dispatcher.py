"""The call of a compiled function: what a hit runs, and in which order graphs are looked at."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import pytest
from guarding import array, cache_of, get, put

import clika_pytree as cp
from clika_pytree._native import Dispatcher, Replay

X, Y = array(2), array(3)


class Counting(Dispatcher):
    """Counts what it misses."""

    def __init__(self, cache: Any) -> None:
        self.missed: list[Any] = []

    def _miss(self, args: Any, kwargs: Any) -> Any:
        self.missed.append((args, kwargs))
        return "missed"


# --- what comes out of a graph ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tree", "places"),
    [
        ("T", [0]),
        (5, []),
        ([], []),
        (["T", ("T",)], [0, 1]),
        ({"a": "T", "b": 1, "c": [2, "T"]}, [0, 3]),
        ([1, 2], []),
    ],
    ids=["tensor", "constant", "nothing", "tensors", "both", "constants"],
)
@pytest.mark.parametrize("kind", [list, tuple, iter])
def test_results_take_their_places(tree: Any, places: list[int], kind: Any) -> None:
    leaves, spec = cp.tree_flatten(tree)
    given: list[Any] = []

    def run(tensors: list[Any]) -> Any:
        given.extend(tensors)
        return kind(["T"] * len(places))

    replay = Replay(run, spec, [None if place in places else leaf for place, leaf in enumerate(leaves)], places)
    assert replay([X]) == tree
    assert given == [X]


def test_another_number_of_results_is_an_error() -> None:
    for tree, places in (("T", [0]), (["T", "T"], [0, 1]), (["T", 1], [0])):
        leaves, spec = cp.tree_flatten(tree)
        for results in ([], ["T", "T", "T"]):
            with pytest.raises(ValueError, match=r"expected \d lea"):
                Replay(lambda tensors, results=results: results, spec, leaves, places)([])


def test_places_are_those_of_leaves_in_order() -> None:
    leaves, spec = cp.tree_flatten([1, 2])
    for places in ([2], [1, 0], [0, 0], [-1]):
        with pytest.raises((ValueError, OverflowError)):
            Replay(list, spec, leaves, places)
    with pytest.raises(ValueError, match="expected 2 leaves, got 1"):
        Replay(list, spec, [1], [])


def test_what_a_graph_holds_can_be_collected() -> None:
    class Run:
        def __call__(self, tensors: list[Any]) -> list[Any]:
            return tensors

    run = Run()
    run.replay = Replay(run, cp.tree_structure(0), [0], [0])  # type: ignore[attr-defined]
    seen = weakref.ref(run)
    del run
    gc.collect()
    assert seen() is None


# --- calls ------------------------------------------------------------------------------------------------------------


def test_a_hit_runs_what_was_inserted_with_its_tensors() -> None:
    cache = cache_of(lambda x, k=1: None)
    dispatcher = Counting(cache)
    put(cache, Replay(lambda tensors: [*tensors, *tensors], cp.tree_structure({"a": 0, "b": 0}), [0, 0], [0, 1]), X)
    put(cache, lambda tensors: ("any callable", tensors), X, 2)
    assert dispatcher(X) == {"a": X, "b": X}
    assert dispatcher(x=X, k=2) == ("any callable", [X])
    assert (dispatcher(X, k=3), dispatcher(Y, 4)) == ("missed", "missed")
    assert dispatcher.missed == [((X,), {"k": 3}), ((Y, 4), {})]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        dispatcher()


def test_there_is_no_frame_between_a_call_and_its_graph() -> None:
    cache = cache_of(lambda x: None)
    put(cache, Replay(lambda tensors: [sys._getframe().f_back], cp.tree_structure(0), [0], [0]), X)
    assert Dispatcher(cache)(X) is sys._getframe()


def test_what_a_graph_raises_passes() -> None:
    def broken(tensors: list[Any]) -> Any:
        raise LookupError("no")

    cache = cache_of(lambda x: None)
    put(cache, broken, X)
    with pytest.raises(LookupError, match="no"):
        Counting(cache)(X)


# --- the order in which graphs are looked at --------------------------------------------------------------------------


def order(cache: Any) -> list[Any]:
    return [entry.value for entry in cache.entries()]


@pytest.mark.parametrize("kinds", ["ABABAB", "AABBAAB", "ABCABCAB", "CBACBA", "AAABBBCCC", "ABACABACC"])
def test_entries_are_in_the_order_of_their_last_use_whatever_takes_turns(kinds: str) -> None:
    cache = cache_of(lambda k: None)
    used = [*"ABC"]
    for name in used:
        put(cache, name, name)
    for name in kinds:
        assert get(cache, name) == name
        used = [*(other for other in used if other != name), name]
        assert order(cache) == used[::-1]
    assert cache.cache_info()[:2] == (len(kinds), 0)
    assert {entry.value: entry.hits for entry in cache.entries()} == {name: kinds.count(name) for name in "ABC"}


def test_one_of_two_that_take_turns_may_go() -> None:
    cache = cache_of(lambda k: None, maxsize=2)
    for name in "AB":
        put(cache, name, name)
    assert [get(cache, name) for name in "ABAB"] == [*"ABAB"]
    put(cache, "C", "C")
    assert [get(cache, name) for name in "ACBCB"] == [None, "C", "B", "C", "B"]
    cache.clear()
    assert [get(cache, name) for name in "ABC"] == [None] * 3


def test_of_two_entries_for_one_call_the_later_one_is_found() -> None:
    cache = cache_of(lambda k: None)
    for value in ("first", "second"):
        put(cache, value, 1)
        put(cache, f"other {value}", 2)
    assert [get(cache, k) for k in (1, 2, 1, 1, 2, 2)] == ["second", "other second"] * 1 + [
        "second",
        "second",
        "other second",
        "other second",
    ]
