"""What has no text: structures that `treespec_dumps` refuses, with the node, its place and what to do."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from classes import Color, Config, Methods, Sample, Tagged
from registering import clean_registry, make_pair, register  # noqa: F401
from test_serialization import there_and_back

import clika_pytree as cp


class Far(NamedTuple):
    x: Any


def refusals() -> Iterator[tuple[Any, str, str]]:
    Local = namedtuple("Local", "x")
    Unnamed = make_pair()
    register(Unnamed)
    yield defaultdict(lambda: 0, a=1), "the defaultdict", "its factory is a function"
    yield defaultdict(Far, a=1), "the defaultdict", "its factory is the class"
    yield Local(1), "the Local", "define it at the top of a module"
    yield Unnamed(1, 2), "Pair", "no serialized_type_name"
    yield {Color.RED: 0}, "the dict", "keys are more than plain values: it holds a Color"
    yield OrderedDict({frozenset(): 0}), "the OrderedDict", "a frozenset"
    yield Methods([], Color.RED), "the Methods", "register the class with to_dumpable_context"
    yield Sample(1, 2, {3}), "the Sample", "it holds a set"
    yield Tagged(1, 2, cp.tree_structure(Tagged(1, 2, 3))), "the Tagged", "it holds a TreeSpec"
    yield Config({3}), "the Config", "what to_dumpable_context returns is more than plain values: it holds a set"


REFUSALS = range(10)


@pytest.mark.parametrize("number", REFUSALS)
def test_what_cant_be_written_is_named_with_its_place(number: int) -> None:
    tree, name, reason = list(refusals())[number]
    with pytest.raises(cp.PyTreeValueError) as caught:
        cp.treespec_dumps(cp.tree_structure({"a": [0, tree]}))
    assert caught.value.path == "['a'][1]"
    message = str(caught.value)
    assert message.startswith("treespec_dumps() can't write the ")
    assert all(part in message for part in (name, " at ['a'][1]: ", reason))


def test_all_refusals_are_tested() -> None:
    assert len(list(refusals())) == len(REFUSALS)


@pytest.mark.parametrize("make", [lambda below: (below,), lambda below: (below, 0)])
def test_keys_are_not_endlessly_deep(make: Any) -> None:
    key: Any = 0
    for _ in range(150):
        key = make(key)
    assert there_and_back(cp.tree_structure({key: 0})).context == (key,)
    for _ in range(60):
        key = make(key)
    with pytest.raises(cp.PyTreeValueError, match="more than 200 nested tuples"):
        cp.treespec_dumps(cp.tree_structure({key: 0}))


def test_a_dumped_context_that_contains_itself_is_refused() -> None:
    circle: list = []
    circle.append((circle,))
    Circle = make_pair()
    register(
        Circle,
        serialized_type_name="tests.circle",
        to_dumpable_context=lambda _: circle,
        from_dumpable_context=lambda _: None,
    )
    with pytest.raises(cp.PyTreeValueError, match="a list that contains itself"):
        cp.treespec_dumps(cp.tree_structure(Circle(1, 2)))


@pytest.mark.parametrize("wrong", [None, "text", [1], {"a": 1}])
def test_only_specs_are_written(wrong: Any) -> None:
    with pytest.raises(cp.PyTreeTypeError, match="expects a TreeSpec"):
        cp.treespec_dumps(wrong)
