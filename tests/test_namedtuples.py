"""Which classes are namedtuples: what Python says and what the native walk does are one rule."""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

import pytest
from classes import FieldsLeaf, FromRange, Labelled, Nothing, Point, TupleLeaf

from clika_pytree import pytree


class Fields(tuple):
    """What the rule asks for, without anything else of a namedtuple."""

    __slots__ = ()
    _fields = ("a", "b")


class Numbered(tuple):
    __slots__ = ()
    _fields = ("a", 1)


class Odd(tuple):
    """Its fields are a tuple, but one of a class of its own."""

    __slots__ = ()
    _fields = TupleLeaf(("a", "b"))


class Loose(NamedTuple):
    item: Any


class NoTuple:
    _fields = ("a", "b")


NAMEDTUPLES = [Point(1, 2), Nothing(), Labelled(1, 2), FromRange(range(2)), Fields((1, 2)), Loose(1)]
OTHERS = [
    (1, 2),
    TupleLeaf((1, 2)),
    FieldsLeaf((1,)),
    Numbered((1, 2)),
    Odd((1, 2)),
    NoTuple(),
    time.gmtime(0),
    os.stat("."),
    [1],
    None,
    "text",
]


@pytest.mark.parametrize("obj", NAMEDTUPLES, ids=lambda obj: type(obj).__name__)
def test_namedtuples(obj: Any) -> None:
    assert (pytree.is_namedtuple(obj), pytree.is_namedtuple(type(obj))) == (True, True)
    assert (pytree.is_namedtuple_instance(obj), pytree.is_namedtuple_instance(type(obj))) == (True, False)
    assert (pytree.is_namedtuple_class(type(obj)), pytree.is_namedtuple_class(obj)) == (True, False)
    assert pytree.tree_structure(obj).kind == "namedtuple"
    assert not pytree.tree_is_leaf(obj)


@pytest.mark.parametrize("obj", OTHERS, ids=lambda obj: type(obj).__name__)
def test_what_is_no_namedtuple(obj: Any) -> None:
    for ask in (pytree.is_namedtuple, pytree.is_namedtuple_instance, pytree.is_namedtuple_class):
        assert [ask(obj), ask(type(obj))] == [False, False]
    spec = pytree.tree_structure(obj)
    assert spec.kind != "namedtuple"
    assert pytree.tree_is_leaf(obj) is spec.is_leaf()


@pytest.mark.parametrize("cls", [tuple[int, int], Point | None, NamedTuple])
def test_annotations_are_no_classes(cls: Any) -> None:
    assert not pytree.is_namedtuple_class(cls)
