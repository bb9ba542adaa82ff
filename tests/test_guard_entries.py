"""The native guard cache: its entries, their order, and why none is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarding import Condition, Fact, Guards, Plain, array, cache_of, get, put, resolve, resolver

from clika_pytree._native import GuardCache


@pytest.fixture(autouse=True)
def runtimes():
    with resolver(resolve):
        yield


A, B, C = array(2), array(2), array(3)


def test_the_entry_used_longest_ago_goes_first() -> None:
    cache = cache_of(lambda x: x, maxsize=3)
    for number in range(3):
        put(cache, number, number)
    assert get(cache, 0) == 0
    put(cache, 3, 3)
    assert [entry.value for entry in cache.entries()] == [3, 0, 2]
    assert [get(cache, number) for number in range(4)] == [0, None, 2, 3]
    assert [entry.value for entry in cache.entries()] == [3, 2, 0]
    assert (cache.cache_info(), cache.evictions) == ((4, 1, 3, 3), 1)
    assert [entry.hits for entry in cache.entries()] == [1, 1, 2]
    assert repr(cache.cache_info()) == "CacheInfo(hits=4, misses=1, maxsize=3, currsize=3)"
    cache.clear()
    assert (cache.cache_info(), cache.evictions, cache.entries()) == ((0, 0, 3, 0), 0, [])
    assert get(cache, 0) is None


def test_a_later_entry_for_the_same_call_comes_first() -> None:
    cache = cache_of(lambda x: x, maxsize=2)
    for value in "abc":
        put(cache, value, A)
    put(cache, "other", 1)
    assert get(cache, B) == "c"
    assert cache.evictions == 2


def test_thousands_of_entries_are_each_found() -> None:
    cache = cache_of(lambda x, y: x, maxsize=3000)
    for number in range(3000):
        put(cache, number, A, number)
        if number % 3 == 0:
            put(cache, -number, array(number % 50), "shape")
    found = [get(cache, A, number) for number in range(3000)]
    assert found[1100:] == list(range(1100, 3000))
    assert cache.cache_info().currsize == 3000
    for number in range(2000, 3000):
        assert get(cache, B, number) == number


def test_an_entry_shows_what_it_asks() -> None:
    cache = cache_of(lambda p, mode: p, dynamic=True)
    rows = Condition(lambda xs: xs[0].shape[0] > 3, True, "x0.shape[0] > 3")
    call = cache.bind(({"w": array(4, 3), "b": array(3), "free": A}, "train"), {})
    cache.insert(call, 1, guards=Guards({0: Fact("C"), 1: Fact()}, {(0, 1): 3}, [rows]))
    entry = cache.entries()[0]
    assert entry.guards == [
        "p['w']: float32[*, 3] in C order",
        "p['b']: float32[*]",
        "p['free']: ndarray",
        "mode: 'train'",
        "x0.shape[0] > 3 == True",
    ]
    assert (entry.spec, entry.statics, entry.value) == (call.spec, ["train"], 1)


def explained(first: Any, second: Any, guards: Any = "all facts", **options: Any) -> Any:
    cache = cache_of(lambda x: x, **options)
    put(cache, 1, first, guards=guards)
    return cache.explain((second,))


def test_explanations_name_what_differs() -> None:
    p = {"w": array(2, 3), "b": [1, "a"]}
    assert explained(p, p) == []
    assert cache_of(lambda x: x).explain((p,)) == []
    assert explained(p, {"w": array(2, 4), "b": [1, "b"]}) == [
        ("x['w']", "float32[2, 3]", "float32[2, 4]", "tensor"),
        ("x['b'][1]", "'a'", "'b'", "static"),
    ]
    assert explained(p, {"w": array(2, 3, dtype=np.int8), "b": [A, "a"]}) == [
        ("x['w']", "float32[2, 3]", "int8[2, 3]", "tensor"),
        ("x['b'][0]", "1", "float32[2]", "leaf"),
    ]
    assert explained(p, {"w": A, "c": 1}) == [
        ("x['b']", "a list of 2", None, "only_old"),
        ("x['c']", None, "1", "only_new"),
        ("x['w']", "float32[2, 3]", "float32[2]", "tensor"),
    ]
    assert explained({"a": A, "b": B}, {"b": A, "a": B}) == [("x", "'a', 'b'", "'b', 'a'", "order")]
    assert explained([A], (A,)) == [("x", "a list of 1", "a tuple of 1", "type")]
    assert explained([A], [A, B]) == [("x", "a list of 1", "a list of 2", "length")]
    assert explained(array(2, 3), array(3, 2).T, Guards({0: Fact("C")})) == [
        ("x", "float32[2, 3] in C order", "float32[2, 3] in F order", "tensor")
    ]
    assert explained(array(1), np.float32(1)) == [("x", "float32[1]", "float32[], a float32", "tensor")]


def test_explanations_beside_another_structure_have_the_leaves_that_both_have() -> None:
    first = {"a": [A, 1], "b": {"w": A, "k": 1}, "c": A, "d": 2, "e": "e", "f": None}
    second = {"a": [C, 2, 3], "b": {"w": C, "k": 2}, "c": 4, "d": A, "e": [1], "f": None, "g": C}
    assert explained(first, second) == [
        ("x['g']", None, "float32[3]", "only_new"),
        ("x['a']", "a list of 2", "a list of 3", "length"),
        ("x['e']", "'e'", "a list of 1", "type"),
        ("x['b']['w']", "float32[2]", "float32[3]", "tensor"),
        ("x['b']['k']", "1", "2", "static"),
        ("x['c']", "float32[2]", "4", "leaf"),
        ("x['d']", "2", "float32[2]", "leaf"),
    ]
    assert explained([{"k": 1}, [1], 5], [{"k": 2}, (1,), [5]]) == [
        ("x[1]", "a list of 1", "a tuple of 1", "type"),
        ("x[2]", "5", "a list of 1", "type"),
        ("x[0]['k']", "1", "2", "static"),
    ]
    assert explained([[5], 5], [5, [5]]) == [("x[0]", "a list of 1", "5", "type"), ("x[1]", "5", "a list of 1", "type")]
    assert explained({"a": [1], "b": 2}, {"b": 3, "a": (1,)}) == [
        ("x", "'a', 'b'", "'b', 'a'", "order"),
        ("x['a']", "a list of 1", "a tuple of 1", "type"),
        ("x['b']", "2", "3", "static"),
    ]


def test_an_explanation_names_the_attribute_that_changed() -> None:
    config, cache = Plain(rate=0.5, mode="train"), cache_of(lambda cfg: cfg)
    put(cache, 1, config)
    config.rate = 0.25
    assert cache.explain((config,)) == [("cfg.rate", "0.5", "0.25", "attribute")]
    config.rate, config.more = 0.5, 1
    assert cache.explain((config,)) == [("cfg.more", None, "1", "attribute")]


def test_an_explanation_is_of_the_closest_entry_and_names_conditions() -> None:
    cache = cache_of(lambda x, mode, step: x, dynamic=True)
    put(cache, 1, A, "train", 1)
    put(cache, 2, A, "eval", 2)
    assert cache.explain(cache.bind((A, "train", 2), {})) == [("mode", "'eval'", "'train'", "static")]
    assert cache.explain((A, "train"), {"step": 3}) == [("step", "1", "3", "static")]
    cache.clear()
    rows = Condition(lambda xs: xs[0].shape[0] > 3, True, "x.shape[0] > 3")
    put(cache, 3, array(4), "train", 1, guards=Guards(1, conditions=[rows]))
    assert cache.explain((array(2), "train", 1)) == [("x.shape[0] > 3", "True", "False", "condition")]


def test_a_cache_needs_a_signature_and_a_size() -> None:
    with pytest.raises(TypeError, match=r"signature must be an inspect\.Signature, got 1"):
        GuardCache(1, 8)  # type: ignore[arg-type]
    for size in (0, -1, 1.5, None, 10**30):
        with pytest.raises(ValueError, match="maxsize must be an int from 1 on, got"):
            cache_of(lambda x: x, maxsize=size)  # type: ignore[arg-type]
