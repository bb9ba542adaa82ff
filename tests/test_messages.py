"""The words of errors: every one belongs to the family, counts are in good English, and twins are told apart."""

from __future__ import annotations

import dataclasses
import re
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any

import pytest
from classes import (
    Bag,
    Box,
    DequeLeaf,
    DictLeaf,
    FieldsLeaf,
    ListLeaf,
    Pair,
    Point,
    Sample,
    SampleLeaf,
    Tagged,
    TupleLeaf,
)
from helpers import notes, registered

import clika_pytree as cp

structure = cp.tree_structure
SPEC = structure([1, (2,)])


# --- every error of the library belongs to the family -----------------------------------------------------------------

OWN_ERRORS: dict[str, tuple[Callable[[], Any], type, list[str]]] = {
    "unflatten of a number": (lambda: cp.tree_unflatten(SPEC, 3), TypeError, ["int"]),
    "unflatten, the other order": (lambda: cp.tree_unflatten(3, SPEC), TypeError, ["int"]),
    "unflatten of None": (lambda: SPEC.unflatten(None), TypeError, ["None"]),
    "unflatten of an object": (lambda: SPEC.unflatten(object()), TypeError, ["object"]),
    "unflatten of a spec": (lambda: SPEC.unflatten(SPEC), TypeError, ["TreeSpec"]),
    "unflatten of a str": (lambda: SPEC.unflatten("ab"), TypeError, ["str"]),
    "unflatten of a dict": (lambda: cp.tree_unflatten({"a": 1}, SPEC), TypeError, ["dict"]),
    "unflatten without a spec": (lambda: cp.tree_unflatten([1], [2]), TypeError, ["TreeSpec"]),
    "unflatten of two specs": (lambda: cp.tree_unflatten(SPEC, SPEC), TypeError, ["TreeSpec"]),
    "unflatten by name": (lambda: cp.tree_unflatten(leaves=[1], treespec=[1]), TypeError, ["treespec"]),
    "too few leaves": (lambda: SPEC.unflatten([1]), ValueError, ["expected 2 leaves, got 1"]),
    "compose of no spec": (lambda: SPEC.compose(3), TypeError, ["TreeSpec", "3"]),
    "prefix of no spec": (lambda: SPEC.is_prefix([1]), TypeError, ["TreeSpec", "list"]),
    "no filter": (lambda: cp.tree_map_only(3, str, [1]), TypeError, ["3"]),
    "rows that are no number": (lambda: cp.tree_summary([1], max_rows="3"), TypeError, ["max_rows", "'3'"]),
    "rows below none": (lambda: cp.tree_summary([1], max_rows=-3), ValueError, ["max_rows", "-3"]),
    "a list as filter": (lambda: cp.tree_map_only([int], str, [1]), TypeError, ["list"]),
    "a tuple of no classes": (lambda: cp.tree_map_only((int, 3), str, [1]), TypeError, []),
    "a namespace that is no text": (lambda: cp.tree_leaves([1], namespace=3), TypeError, ["namespace", "3"]),
    "a list of namespaces": (lambda: cp.tree_leaves([1], namespace=["a"]), TypeError, ["namespace", "['a']"]),
    "a part that is no text": (lambda: cp.tree_leaves([1], namespace=("a", 3)), TypeError, ["namespace", "3"]),
    "a lone surrogate": (lambda: cp.tree_leaves([1], namespace="\ud800"), TypeError, ["namespace", "ud800"]),
    "a tree that does not fit": (lambda: SPEC.flatten_up_to([1]), ValueError, ["list"]),
    "a circle": (lambda: cp.tree_leaves(circle()), ValueError, ["[0]"]),
    "no order": (lambda: sorted_leaves({1j: 0, 2j: 0}), ValueError, ["1j"]),
    "registering a list": (lambda: cp.register_pytree_node(list, iter, list), ValueError, ["list"]),
    "registering no class": (lambda: cp.register_static(3), TypeError, ["3"]),
    "registering with a surrogate": (lambda: cp.register_static(Thing, namespace="\ud800"), TypeError, ["namespace"]),
    "unregistering": (lambda: cp.unregister_pytree_node(Thing), ValueError, ["Thing"]),
    "a sum of nothing": (lambda: cp.tree_max([]), ValueError, ["default"]),
    "a forged spec": (lambda: cp._native.treespec_from_state((1, True, b"x", (), [])), ValueError, []),
}


class Thing:
    pass


def circle() -> list:
    tree: list = []
    tree.append(tree)
    return tree


def sorted_leaves(tree: Any) -> list:
    with cp.dict_insertion_ordered(False):
        return cp.tree_leaves(tree)


@pytest.mark.parametrize("name", OWN_ERRORS)
def test_an_error_of_the_library_is_one_of_its_family(name):
    call, kind, words = OWN_ERRORS[name]
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, cp.PyTreeError), repr(caught.value)
    assert caught.value.path is None or isinstance(caught.value.path, str)
    for word in words:
        assert word in str(caught.value)
    assert 10 < len(str(caught.value)) < 1000


@pytest.mark.parametrize("at", range(3))
def test_a_tuple_of_namespaces_names_the_part_that_is_wrong(at):
    for wrong, word in [(3.25, "3.25"), (None, "None"), (["x"], "x"), (b"bytes", "bytes"), (("in", "side"), "side")]:
        parts: list[Any] = ["a" * 90, "b" * 90, "c" * 90]
        parts[at] = wrong
        for call in (
            cp.tree_leaves,
            structure,
            cp.tree_flatten,
            lambda t, namespace: cp.is_registered(Thing, namespace),
        ):
            with pytest.raises(cp.PyTreeTypeError, match="namespace") as caught:
                call([1], namespace=tuple(parts))
            assert word in str(caught.value).replace("a tuple of str", "")
            assert len(str(caught.value)) < 400


# --- numbers in words -------------------------------------------------------------------------------------------------


def messages() -> list[str]:
    """What is said of trees of no, one and two parts, and of what does not fit them."""
    found: list[str] = []
    trees: list[Any] = [1, None]
    for count in range(3):
        items = [0] * count
        trees += [
            items, tuple(items), deque(items), dict.fromkeys(range(count)), OrderedDict.fromkeys(range(count)),
            defaultdict(int, dict.fromkeys(range(count))), Bag(dict.fromkeys("abc"[:count])),
            namedtuple("Row", list("abc"[:count]))(*items),
        ]  # fmt: skip
    trees += [
        Box(1),
        Pair(1, 2),
        Tagged(1, 2, "t"),
        Sample(1, 2, "n"),
        {"other": 1},
        {0: 1, "more": 1},
        {"a": {"b": 1}},
    ]
    for first in trees:
        for second in trees:
            try:
                cp.tree_map(lambda x, y: 0, [first], [second])
            except cp.StructureError as error:
                found.append(str(error))
            try:
                structure(first).flatten_up_to(second)
            except cp.StructureError as error:
                found.append(str(error))
        for count in range(3):
            try:
                structure(first).unflatten([0] * count)
            except cp.LeafCountError as error:
                found.append(str(error))
    for children in range(3):
        with registered(Thing, lambda _, n=children: ((0,) * n, None, list("abc"[: n + 1])), id):
            try:
                cp.tree_leaves(Thing())
            except cp.PyTreeError as error:
                found.append(str(error))
    return found


def test_one_is_no_plural():
    found = messages()
    assert len(found) > 500
    plural = re.compile(r"\b1 (keys|leaves|children|entries|items|elements|nodes|fields|arguments)\b")
    assert [message for message in found if plural.search(message)] == []
    singular = re.compile(r"\b(0|[2-9]|\d\d+) (key|leaf|child|entry|item|element|node|field|argument)\b")
    assert [message for message in found if singular.search(message)] == []
    assert any("1 key" in message for message in found)
    assert any("2 keys" in message for message in found)
    assert any("1 leaf" in message for message in found)


def test_an_article_fits_its_noun():
    found = messages()
    assert [message for message in found if re.search(r"\ba [AEIOUaeio]\w", message)] == []
    assert [message for message in found if re.search(r"\ban [^AEIOUaeiou ]", message)] == []


# --- both sides of a mismatch -----------------------------------------------------------------------------------------


def sides(first: Any, second: Any) -> tuple[str, str]:
    """What a mismatch says of the first tree, and of the second one."""
    with pytest.raises(cp.StructureError) as caught:
        cp.tree_map(lambda x, y: 0, {"k": first}, {"k": second})
    found = re.search(r"the first has (.*), tree 2 has (.*)$", str(caught.value))
    assert found is not None, caught.value
    with pytest.raises(cp.StructureError) as caught:
        structure({"k": first}).flatten_up_to({"k": second})
    of_spec = re.search(r"the spec has (.*), the tree has (.*)$", str(caught.value))
    assert of_spec is not None, caught.value
    assert of_spec[1] != of_spec[2]
    return found[1], found[2]


def twin_namedtuples() -> tuple[Any, Any]:
    return namedtuple("Twin", "x y")(1, 2), namedtuple("Twin", "x y")(1, 2)


def twin_dataclasses() -> tuple[Any, Any]:
    made = [dataclasses.make_dataclass("Twin", ["x"]) for _ in range(2)]
    return tuple(cp.register_dataclass(cls)(1) for cls in made)


def twin_classes() -> tuple[Any, Any]:
    made = [type("Twin", (), {}) for _ in range(2)]
    for cls in made:
        cp.register_pytree_node(cls, lambda twin: ((1,), None), lambda children, _: None)
    return made[0](), made[1]()


@pytest.mark.parametrize("make", [twin_namedtuples, twin_dataclasses, twin_classes])
def test_two_classes_of_one_name_are_told_apart_in_words(make):
    first, second = make()
    of_first, of_second = sides(first, second)
    assert "Twin" in of_first
    assert "Twin" in of_second
    assert of_first != of_second
    assert re.search(r"other|another|different|same name|0x|line", of_second), of_second


@pytest.mark.parametrize(
    ("first", "leaf"),
    [
        ([1], ListLeaf([1])),
        ((1,), TupleLeaf((1,))),
        ({"a": 1}, DictLeaf(a=1)),
        (deque([1]), DequeLeaf([1])),
        (Sample(1, 2, "n"), SampleLeaf(1, 2, "n")),
        (Point(1, 2), FieldsLeaf((1, 2))),
        ([1], type("list", (list,), {})([1])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_unregistered_subclass_is_called_a_leaf(first, leaf):
    of_leaf = sides(first, leaf)[1]
    assert type(leaf).__name__ in of_leaf
    assert "leaf" in of_leaf or (type(leaf).__name__ == "list" and "another class" in of_leaf)


# --- what changes while it is read ------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", range(1, 13))
@pytest.mark.parametrize("change", [OrderedDict.popitem, OrderedDict.clear, lambda d: d.update(more=1)])
def test_an_ordereddict_changed_by_the_hash_of_its_key_is_unharmed_or_an_error_with_the_path(change, at):
    class Key:
        left = 0

        def __init__(self, number: int) -> None:
            self.number = number

        def __hash__(self) -> int:
            Key.left -= 1
            if Key.left == 0:
                change(ordered)
            return hash(self.number)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key) and self.number == other.number

    def fresh() -> OrderedDict:
        return OrderedDict((Key(i), i) for i in range(4))

    ordered = fresh()
    spec = structure({"outer": [ordered]})
    for operation in (
        lambda tree: cp.tree_leaves(tree),
        lambda tree: cp.tree_map(str, tree) and None,
        lambda tree: list(cp.tree_iter(tree)),
        lambda tree: spec.flatten_up_to(tree),
    ):
        ordered = fresh()
        Key.left = at
        try:
            leaves = operation({"outer": [ordered]})
        except (RuntimeError, KeyError, ValueError) as error:
            where = getattr(error, "path", None) or notes(error)
            assert "['outer'][0]" in where, repr(error)
        else:
            assert leaves is None or set(leaves) <= {0, 1, 2, 3}
        Key.left = 0
