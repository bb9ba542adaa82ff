"""Tensors whose runtime names an attribute that describes them: what two of them must have in common."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from guarding import Guards, Runtime, cache_of, get, put, resolver

from clika_pytree._native import forget_runtimes


class Description:
    def __init__(self, shape: tuple[Any, ...], dtype: str = "float32", weak: bool = False, place: str = "") -> None:
        self.shape, self.dtype, self.weak, self.place = shape, dtype, weak, place
        self.asked = 0

    def __eq__(self, other: object) -> bool:
        self.asked += 1
        return isinstance(other, Description) and self.facts() == other.facts()

    def facts(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.weak, self.place

    __hash__ = None  # type: ignore[assignment]


class Described:
    """Its own shape and dtype are never asked for."""

    def __init__(self, description: Any) -> None:
        self.about = description


RUNTIME = Runtime("described", Described)
RUNTIME.described_by = ("about", "weak", "place")  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _known() -> Iterator[None]:
    with resolver(lambda cls: RUNTIME if cls is Described else None):
        yield


def tensor(*shape: Any, **facts: Any) -> Described:
    return Described(Description(shape, **facts))


def test_one_object_is_enough_and_equal_ones_are_alike() -> None:
    cache, x = cache_of(lambda x: x), tensor(2, 3)
    put(cache, "a", x)
    assert get(cache, Described(x.about)) == "a"
    assert x.about.asked == 0
    assert get(cache, tensor(2, 3)) == "a"
    for other in (
        tensor(2, 4),
        tensor(2),
        tensor(2, 3, dtype="int8"),
        tensor(2, 3, weak=True),
        tensor(2, 3, place="b"),
    ):
        assert get(cache, other) is None


def test_a_free_size_leaves_what_was_named() -> None:
    cache = cache_of(lambda x: x, dynamic=True)
    put(cache, "a", tensor(2, 3), guards=Guards(1, {(0, 1): 3}))
    assert get(cache, tensor(5, 3)) == "a"
    assert get(cache, tensor(0, 3)) == "a"
    for other in (
        tensor(5, 4),
        tensor(5),
        tensor(5, 3, dtype="int8"),
        tensor(5, 3, weak=True),
        tensor(5, 3, place="b"),
    ):
        assert get(cache, other) is None
    assert cache.entries()[0].guards == ["x: float32[*, 3]"]


def test_what_was_named_is_said_where_it_is_so() -> None:
    cache = cache_of(lambda x: x)
    put(cache, "a", tensor(2, weak=True, place="b"))
    assert cache.entries()[0].guards == ["x: float32[2], weak, place 'b'"]
    call = cache.bind((tensor(2),), {})
    assert cache.explain(call) == [("x", "float32[2], weak, place 'b'", "float32[2]", "tensor")]


def test_a_size_that_is_no_number_is_no_size_of_a_graph() -> None:
    cache = cache_of(lambda x: x)
    put(cache, "a", tensor(2, 3))
    assert get(cache, tensor("n", 3)) is None


def test_what_the_attributes_raise_is_raised() -> None:
    cache = cache_of(lambda x: x)
    with pytest.raises(AttributeError, match="weak"):
        cache.bind((Described(object()),), {})
    put(cache, "a", tensor(2))
    broken = tensor(2)
    del broken.about
    with pytest.raises(AttributeError, match="about"):
        get(cache, broken)


def test_names_that_are_no_tuple_of_texts_are_refused_when_they_are_met() -> None:
    for names in (["about"], (1,)):
        runtime = Runtime("odd", Described)
        runtime.described_by = names  # type: ignore[attr-defined]
        with resolver(lambda cls, runtime=runtime: runtime), pytest.raises(TypeError):
            cache_of(lambda x: x).bind((tensor(2),), {})


def test_guards_outlive_what_is_known_of_runtimes() -> None:
    cache, x = cache_of(lambda x: x, dynamic=True), tensor(2)
    put(cache, "a", x, guards=Guards(1))
    forget_runtimes()
    gc.collect()
    for size in (2, 3):
        assert get(cache, tensor(size)) == "a"
