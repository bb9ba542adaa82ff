"""Which classes are namedtuples: what Python says and what the native walk does are one rule."""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

import numpy as np
import pytest
from classes import FieldsLeaf, FromRange, Labelled, Nothing, Point, TupleLeaf

import clika_pytree as cp
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


class ByHand(tuple):
    """Its fields have names that `collections.namedtuple` refuses."""

    __slots__ = ()
    _fields = ("x", "x.y", "a b", "ü", "class", "", "1", "\ud800")


class Dotted(tuple):
    """Two leaves whose paths would be written alike, were the names taken for attributes."""

    __slots__ = ()
    _fields = ("x.item", "x")


def test_a_field_that_is_no_attribute_s_name_is_written_as_a_key():
    tree = ByHand((Loose(0) if name == "x" else number) for number, name in enumerate(ByHand._fields))
    spec = pytree.tree_structure(tree)
    texts = [pytree.keystr(path) for path in spec.key_paths()]
    assert texts == [".x.item", "['x.y']", "['a b']", ".ü", ".class", "['']", "['1']", r"['\ud800']"]
    for path, text, leaf in zip(spec.key_paths(), texts, pytree.tree_leaves(tree), strict=True):
        assert pytree.parse_keystr(text) == path
        assert pytree.key_get(tree, path) is pytree.key_get(tree, pytree.parse_keystr(text)) is leaf
    changed = pytree.tree_map(lambda leaf: leaf + 1, tree)
    assert [pytree.keystr(difference.path) for difference in pytree.tree_diff(tree, changed, leaves=True)] == texts
    assert [path[0] for path in spec.paths()] == list(ByHand._fields)


def test_such_fields_come_back_from_a_file(tmp_path):
    tree = [Dotted((np.zeros(1), Loose(np.ones(2))))]
    path = tmp_path / "tree.safetensors"
    cp.save(tree, path)
    assert "[0]['x.item']" in str(cp.inspect(path))
    (loaded,) = cp.load(path)
    assert type(loaded) is Dotted
    assert not cp.tree_diff([loaded], tree, leaves=True)
    unknown = path.read_bytes().replace(b"Dotted", b"Absent")
    path.write_bytes(unknown)
    (loaded,) = cp.load(path, unknown="dict")
    assert [*loaded] == ["x.item", "x"]
