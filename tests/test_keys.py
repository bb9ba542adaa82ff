"""The classes of keys, and the functions that give the key path of every leaf."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict, defaultdict, deque
from typing import Any

import pytest
import reference
from classes import ALPHA, AlphaOnly, Pair, Point, Sample, Switch, Tagged, every_kind
from helpers import identical, keywords, read, reading, registered, structure
from hypothesis import given
from strategies import modes, trees, whole_modes

import clika_pytree as cp
from clika_pytree import DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey

KEYS = [
    (SequenceKey(3), "idx", 3, "[3]", "SequenceKey(idx=3)"),
    (MappingKey("a"), "key", "a", "['a']", "MappingKey(key='a')"),
    (GetAttrKey("x"), "name", "x", ".x", "GetAttrKey(name='x')"),
    (DataclassKey("x"), "name", "x", ".x", "DataclassKey(name='x')"),
    (FlattenedIndexKey(0), "key", 0, "[<flat index 0>]", "FlattenedIndexKey(key=0)"),
]
NAN = float("nan")


# --- the classes of keys ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "field", "value", "text", "shown"), KEYS, ids=lambda x: str(x) if "Key" in repr(x) else ""
)
def test_a_key_is_a_value(key: Any, field: str, value: Any, text: str, shown: str) -> None:
    cls = type(key)
    assert getattr(key, field) == value
    assert (str(key), repr(key), cls.__match_args__) == (text, shown, (field,))
    for same in (
        cls(value),
        cls(**{field: value}),
        pickle.loads(pickle.dumps(key)),
        copy.copy(key),
        copy.deepcopy(key),
    ):
        assert type(same) is cls
        assert same == key
        assert (same != key) is False
        assert hash(same) == hash(key)
    with pytest.raises(AttributeError):
        setattr(key, field, value)
    with pytest.raises(TypeError):
        key < key  # noqa: B015
    with pytest.raises(TypeError):
        type("Sub", (cls,), {})
    assert key != value
    assert key != (value,)


def test_keys_of_different_classes_differ() -> None:
    assert len({key for key, *_ in KEYS}) == len(KEYS)
    assert GetAttrKey("x") != DataclassKey("x")
    assert SequenceKey(1) != MappingKey(1)


def test_keys_compare_by_exact_type_and_bits() -> None:
    values = [1, True, 1.0, 0.0, -0.0, NAN, "1", b"1", (1,), (True,), None]
    assert len({MappingKey(value) for value in values}) == len(values)
    assert MappingKey(NAN) == MappingKey(float("nan"))
    assert hash(MappingKey(NAN)) == hash(MappingKey(float("nan")))


def test_keys_match() -> None:
    def told(path: Any) -> str:
        match path:
            case (MappingKey("layers"), SequenceKey(idx), GetAttrKey(name)):
                return f"{name} of layer {idx}"
            case (DataclassKey(name=name), FlattenedIndexKey(key=number)):
                return f"{name}, {number}"
            case _:
                return "something else"

    assert told((MappingKey("layers"), SequenceKey(2), GetAttrKey("w"))) == "w of layer 2"
    assert told((DataclassKey("x"), FlattenedIndexKey(1))) == "x, 1"
    assert told((GetAttrKey("x"), FlattenedIndexKey(1))) == "something else"


def test_a_key_gets_the_child_of_a_container() -> None:
    assert SequenceKey(1).get([3, 4]) == 4
    assert MappingKey("a").get({"a": 5}) == 5
    assert GetAttrKey("x").get(Point(1, 2)) == 1
    assert DataclassKey("bias").get(Sample(1, 2, "s")) == 2
    with pytest.raises(TypeError, match="key_get"):
        FlattenedIndexKey(0).get(Pair(1, 2))
    with pytest.raises(KeyError):
        MappingKey("b").get({})


def test_keys_that_hold_each_other_are_collected_and_hash() -> None:
    key = MappingKey((MappingKey(1), SequenceKey(0)))
    assert key == MappingKey((MappingKey(1), SequenceKey(0)))
    assert hash(key) == hash(MappingKey((MappingKey(1), SequenceKey(0))))


# --- the functions that give paths ------------------------------------------------------------------------------------


@given(trees, modes)
def test_pairs_are_the_leaves_with_the_paths_of_the_spec(tree: Any, mode: reference.Mode) -> None:
    leaves, expected = read(tree, mode)
    with reading(mode):
        pairs, spec = cp.tree_flatten_with_path(tree, **keywords(mode))
        assert identical([leaf for _, leaf in pairs], leaves)
        assert spec == structure(tree, mode)
        again = cp.tree_leaves_with_path(tree, **keywords(mode))
        assert [path for path, _ in again] == [path for path, _ in pairs] == spec.key_paths()
        assert identical([leaf for _, leaf in again], leaves)
        paths = cp.tree_paths(tree, **keywords(mode))
    assert reference.value_key(paths) == reference.value_key(reference.paths(expected.root))
    assert reference.value_key(spec.paths()) == reference.value_key(paths)
    assert [cp.keystr(path) for path in spec.key_paths()] == ["".join(texts) for texts in texts_of(expected.root)]


def texts_of(node: reference.Node) -> list[tuple[str, ...]]:
    if node.kind == "leaf":
        return [()]
    below = zip(node.texts, node.children, strict=True)
    return [(text, *texts) for text, child in below for texts in texts_of(child)]


@given(trees, whole_modes)
def test_mapping_with_paths(tree: Any, mode: reference.Mode) -> None:
    read(tree, mode)
    with reading(mode):
        pairs, spec = cp.tree_flatten_with_path(tree, **keywords(mode))
        seen: list[Any] = []
        mapped = cp.tree_map_with_path(lambda *args: seen.append(args) or len(seen), tree, tree, **keywords(mode))
        assert [path for path, *_ in seen] == [path for path, _ in pairs]
        assert identical([leaf for _, leaf, _ in seen], [leaf for _, leaf in pairs])
        assert identical([leaf for *_, leaf in seen], [leaf for _, leaf in pairs])
        assert cp.tree_leaves(mapped, **keywords(mode)) == list(range(1, spec.num_leaves + 1))


def test_the_classes_of_keys_by_kind_of_node() -> None:
    tree = {
        "list": [0],
        "tuple": (0,),
        "deque": deque([0]),
        "ordered": OrderedDict(k=0),
        "default": defaultdict(int, k=0),
        "point": Point(0, 0),
        "dataclass": Sample(0, 0, ""),
        "named": Tagged(0, 0, None),
        "unnamed": Pair(0, 0),
    }
    last = {path[0].key: path[-1] for path, _ in cp.tree_leaves_with_path(tree)}
    assert last == {
        "list": SequenceKey(0),
        "tuple": SequenceKey(0),
        "deque": SequenceKey(0),
        "ordered": MappingKey("k"),
        "default": MappingKey("k"),
        "point": GetAttrKey("y"),
        "dataclass": DataclassKey("bias"),
        "named": GetAttrKey("left"),
        "unnamed": FlattenedIndexKey(1),
    }


def test_custom_entries_are_plain_values_or_keys() -> None:
    entries = ("x", 3, "not a name", True, (1, "k"), MappingKey("y"), DataclassKey("z"), SequenceKey(7), -1)
    expected = [
        GetAttrKey("x"),
        SequenceKey(3),
        MappingKey("not a name"),
        MappingKey(True),
        MappingKey((1, "k")),
        MappingKey("y"),
        DataclassKey("z"),
        SequenceKey(7),
        SequenceKey(-1),
    ]

    class Odd:
        def __init__(self, children: Any) -> None:
            self.children = children

    with registered(Odd, lambda odd: (odd.children, None, entries), lambda children, _: Odd(children)):
        tree = Odd(tuple(object() for _ in entries))
        paths = cp.tree_structure(tree).key_paths()
        assert paths == [(key,) for key in expected]
        assert cp.tree_structure(tree).entries() == list(entries)
        for path, leaf in zip(paths, tree.children, strict=True):
            assert cp.key_get(tree, path) is leaf
            assert cp.key_get(tree, cp.parse_keystr(cp.keystr(path))) is leaf


def test_a_flatten_function_with_keys_names_the_children() -> None:
    class Keyed:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    with registered(
        Keyed,
        lambda k: ((k.a, k.b), None),
        lambda children, _: Keyed(*children),
        flatten_with_keys_fn=lambda k: (((GetAttrKey("a"), k.a), ("b", k.b)), None),
    ):
        pairs, spec = cp.tree_flatten_with_path({"k": Keyed(1, [2])})
        assert [(cp.keystr(path), leaf) for path, leaf in pairs] == [("['k'].a", 1), ("['k'].b[0]", 2)]
        assert spec.child(0).entries() == [GetAttrKey("a"), "b"]
        assert cp.key_get(Keyed(1, [2]), (GetAttrKey("b"), SequenceKey(0))) == 2


def test_the_paths_of_a_spec_are_made_once() -> None:
    spec = cp.tree_structure(every_kind())
    first, second = spec.key_paths(), spec.key_paths()
    assert first == second
    assert first is not second
    assert identical(first, second)
    first.clear()
    assert identical(spec.key_paths(), second)


def test_none_and_namespaces() -> None:
    tree = {"a": None, "s": Switch(0, [1])}
    assert cp.tree_paths(tree) == [("a",), ("s", 0), ("s", 1, 0)]
    assert cp.tree_paths(tree, none_is_leaf=False, namespace=ALPHA) == [("s", "b", 0)]
    assert cp.tree_paths(tree, lambda node: isinstance(node, list)) == [("a",), ("s", 0), ("s", 1)]
    assert [cp.keystr(path) for path, _ in cp.tree_leaves_with_path(AlphaOnly(1, 2), namespace=ALPHA)] == ["[0]", ".b"]
