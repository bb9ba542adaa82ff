"""Keys and contexts are values: compared by exact type and bits, and refused where they cannot be compared."""

from __future__ import annotations

import copy
import dataclasses
import decimal
import fractions
import itertools
import struct
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from classes import Cell, Color, Config, Methods, Point, Sample, Tagged

import clika_pytree as cp

structure = cp.tree_structure


def spec_of(context: Any) -> cp.TreeSpec:
    """A structure that has nothing to tell it from another but its context."""
    return structure(Tagged(0, 0, context))


@dataclasses.dataclass
class Holder:
    """Neither frozen nor hashable by itself."""

    value: Any
    remark: Any = dataclasses.field(default=None, compare=False)


@dataclasses.dataclass
class SubHolder(Holder):
    pass


NAN = float("nan")
OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0001))[0]

DIFFERENT = [
    1, True, 1.0, 1 + 0j, "1", b"1", 0, False, 0.0, -0.0, -1, -2, None, "", b"", (), 2**70, 2.0**70, NAN, OTHER_NAN,
    0j, complex(0.0, -0.0), complex(-0.0, 0.0), complex(NAN, 0), Color.RED, Color.BLUE, ..., int, float, len,
    np.int64(1), np.int32(1), np.float64(1), np.float32(1), np.float64(-0.0), np.float64(0.0), np.float64(NAN),
    np.bool_(True), np.str_("1"), np.bytes_(b"1"), np.datetime64("2020-01-01", "D"), np.datetime64("2020-01-01", "s"),
    np.complex64(1), np.dtype("f4"), np.dtype("f8"), decimal.Decimal(1), fractions.Fraction(1), range(1),
    type("Text", (str,), {})("1"), type("Number", (int,), {})(1),
]  # fmt: skip
"""Many of them are equal to each other by `==`; NaN is not even equal to itself."""


def test_values_are_told_apart_by_exact_type_and_bits_as_contexts():
    specs = [spec_of(value) for value in DIFFERENT]
    for (i, a), (j, b) in itertools.product(enumerate(specs), repeat=2):
        assert (a == b) is (i == j), (DIFFERENT[i], DIFFERENT[j])
        assert hash(a) == hash(b) or i != j
    assert len(set(specs)) == len(DIFFERENT)


def test_values_are_told_apart_by_exact_type_and_bits_as_keys():
    specs = [structure({value: 0}) for value in DIFFERENT]
    for (i, a), (j, b) in itertools.product(enumerate(specs), repeat=2):
        assert (a == b) is (i == j), (DIFFERENT[i], DIFFERENT[j])
    assert len({structure({1: 0}), structure({True: 0}), structure({1.0: 0})}) == 3


@pytest.mark.parametrize("value", DIFFERENT, ids=lambda value: f"{type(value).__name__} {value!r}"[:30])
def test_a_value_made_anew_is_equal(value):
    again = copy.deepcopy(value)
    assert spec_of(value) == spec_of(again)
    assert hash(spec_of(value)) == hash(spec_of(again))
    assert structure({value: 0}) == structure({again: 0})


def test_zero_and_not_a_number_compare_by_bits():
    nan = [float("nan") for _ in range(2)]
    assert nan[0] is not nan[1]
    for wrap in (spec_of, lambda value: structure({value: 0}), lambda value: structure({(value,): 0})):
        assert wrap(0.0) != wrap(-0.0)
        assert wrap(nan[0]) == wrap(nan[0])
        assert wrap(nan[0]) == wrap(nan[1])
        assert hash(wrap(nan[0])) == hash(wrap(nan[1]))
        assert wrap(complex(0, nan[0])) == wrap(complex(0, nan[1]))
        assert wrap(np.float32("nan")) == wrap(np.float32("nan"))


WRAPPERS = {
    "tuple": lambda v: (v,),
    "nested tuple": lambda v: ((0, (v,)),),
    "list": lambda v: [v],
    "dict value": lambda v: {"k": v},
    "dict key": lambda v: {v: "k"},
    "set": lambda v: {v},
    "frozenset": lambda v: frozenset({v}),
    "namedtuple": lambda v: Point(v, 0),
    "slice": lambda v: slice(v, None),
    "dataclass": lambda v: Holder(v),
    "dataclass in a dataclass": lambda v: Holder(Holder((v,))),
    "list in a dict in a list": lambda v: [{"k": [v]}],
    "static": lambda v: Config((v,)),
}


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_values_inside_a_context_are_told_apart_alike(wrap):
    inner = [1, True, 1.0, 0.0, -0.0, NAN, "1", (1,), (True,), np.float32(1), frozenset({1}), frozenset({True})]
    specs = [spec_of(wrap(value)) for value in inner]
    for (i, a), (j, b) in itertools.product(enumerate(specs), repeat=2):
        assert (a == b) is (i == j), (inner[i], inner[j])
    for value in inner:
        assert spec_of(wrap(value)) == spec_of(wrap(copy.deepcopy(value)))
        assert hash(spec_of(wrap(value))) == hash(spec_of(wrap(copy.deepcopy(value))))


def test_containers_in_a_context_are_told_apart_by_type():
    pair = namedtuple("pair", "x y")
    values = [
        (1, 2),
        [1, 2],
        {1, 2},
        frozenset({1, 2}),
        {1: 2},
        Point(1, 2),
        pair(1, 2),
        slice(1, 2),
        Holder(1),
        SubHolder(1),
    ]
    specs = [spec_of(value) for value in values]
    assert len(set(specs)) == len(values)


def test_dicts_in_a_context_compare_with_their_order_and_sets_without():
    assert spec_of({"a": 1, "b": 2}) != spec_of({"b": 2, "a": 1})
    names = [f"name{i}" for i in range(100)]
    backwards = names[::-1]
    assert spec_of(set(names)) == spec_of(set(backwards))
    assert hash(spec_of(frozenset(names))) == hash(spec_of(frozenset(backwards)))
    assert spec_of({1, 2}) != spec_of({1, 2, 3})


def test_compared_fields_of_dataclasses_count():
    assert spec_of(Holder([1, (2,)])) == spec_of(Holder([1, (2,)]))
    assert hash(spec_of(Holder([1]))) == hash(spec_of(Holder([1])))
    assert spec_of(Holder(1, remark="one")) == spec_of(Holder(1, remark="other"))
    assert spec_of(Holder(1)) != spec_of(SubHolder(1))
    assert spec_of(Holder(1)) != spec_of(Holder(True))


class Money:
    asked: list[str] = []  # noqa: RUF012

    def __init__(self, amount: int) -> None:
        self.amount = amount

    def __eq__(self, other: object) -> bool:
        self.asked.append("eq")
        return isinstance(other, Money) and self.amount == other.amount

    def __hash__(self) -> int:
        self.asked.append("hash")
        return hash(self.amount)


def test_other_objects_compare_by_their_own_equality():
    assert spec_of(Money(1)) == spec_of(Money(1))
    assert spec_of((Money(1),)) != spec_of((Money(2),))
    assert spec_of(decimal.Decimal(1)) == spec_of(decimal.Decimal("1.0"))
    plain = object()
    assert spec_of(plain) == spec_of(plain)
    assert spec_of(plain) != spec_of(object())
    assert spec_of(test_zero_and_not_a_number_compare_by_bits) != spec_of(spec_of)


def test_hash_and_equality_of_users_are_not_called_by_flatten_and_hash_once():
    tree = {Money(1): Tagged(0, 0, Money(2)), "s": Sample(0, 0, Money(3))}
    Money.asked.clear()
    leaves, spec = cp.tree_flatten(tree)
    cp.tree_map(str, tree)
    cp.tree_leaves(tree)
    spec.unflatten(leaves)
    assert Money.asked.count("eq") == 0
    rebuilding = Money.asked.count("hash")  # a dict that is built hashes its keys
    first = hash(spec)
    assert Money.asked.count("hash") == rebuilding + 3
    assert hash(spec) == first
    assert spec.__hash__() == first
    assert Money.asked.count("hash") == rebuilding + 3


# --- mutable contexts -------------------------------------------------------------------------------------------------

MUTABLE = [
    [1, "a", None],
    {"hidden": 3, "names": ["x", ("y", [1])]},
    {1, 2, 3},
    ([1], {"k": {2}}),
    {"rope": {"type": "linear", "factor": 2.0}},
    [],
    {},
    set(),
]


def change_all(value: Any) -> None:
    """Empty every list, dict and set in `value`."""
    if isinstance(value, (list, tuple, set)):
        for item in list(value):
            change_all(item)
    if isinstance(value, dict):
        for item in list(value.values()):
            change_all(item)
    if isinstance(value, (list, dict, set)):
        value.clear()
        value.update({"new": 1}) if isinstance(value, dict) else getattr(value, "append", getattr(value, "add", None))(
            "new"
        )


@pytest.mark.parametrize("value", MUTABLE, ids=repr)
def test_a_mutable_context_counts_as_it_was_at_flatten(value):
    given = copy.deepcopy(value)
    before = spec_of(given)
    change_all(given)
    assert before == spec_of(value)
    assert hash(before) == hash(spec_of(value))
    assert before != spec_of(given)
    assert before.context == value


@pytest.mark.parametrize("value", MUTABLE, ids=repr)
@pytest.mark.parametrize("make", [lambda c: Tagged(1, 2, c), lambda c: Methods([1, 2], c), lambda c: Sample(1, 2, c)])
def test_rebuilding_hands_out_a_fresh_copy(make, value):
    spec = structure(make(copy.deepcopy(value)))
    kept = "tag" if spec.type is Tagged else "note" if spec.type is Methods else "name"
    first, second = (getattr(spec.unflatten([1, 2]), kept) for _ in range(2))
    assert first == second == value
    assert first is not second
    change_all(first)
    change_all(spec.context)
    change_all(getattr(cp.tree_map(str, make(copy.deepcopy(value))), kept))
    assert second == value
    assert getattr(spec.unflatten([1, 2]), kept) == value
    assert spec == structure(make(copy.deepcopy(value)))
    assert repr(spec) == repr(structure(make(copy.deepcopy(value))))


# --- contexts that cannot be compared ---------------------------------------------------------------------------------


class OnlyEqual:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None


class VagueEqual:
    def __eq__(self, other: object) -> str:
        return "perhaps"

    def __hash__(self) -> int:
        return id(self)


UNUSABLE = [
    np.zeros(3),
    np.zeros(1),
    np.zeros(()),
    bytearray(b"x"),
    OnlyEqual(),
    VagueEqual(),
]
PLACES = {
    "itself": lambda v: v,
    "in a tuple": lambda v: (1, (v,)),
    "in a list": lambda v: [[v]],
    "in a dict": lambda v: {"a": {"b": v}},
    "in a dataclass": lambda v: Holder(v),
    "in a namedtuple": lambda v: Point(1, v),
    "in a slice": lambda v: slice(v),
}


@pytest.mark.parametrize("value", UNUSABLE, ids=lambda value: f"{type(value).__name__}{getattr(value, 'shape', '')}")
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_a_context_without_usable_equality_or_hash_is_refused_the_first_time(place, value):
    tree = {"cfg": [0, Tagged(1, 2, place(value))]}
    operations = {
        "==": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
        "hash": lambda a, b: hash(a),
        "set": lambda a, b: {a, b},
    }
    for name, operation in operations.items():
        first, second = structure(tree), structure(tree)
        with pytest.raises(TypeError) as caught:
            operation(first, second)
        message = str(caught.value)
        assert isinstance(caught.value, cp.ContextError), name
        assert caught.value.path == "['cfg'][1]", name
        assert type(value).__name__ in message, name
        assert "Tagged" in message, name
        assert "['cfg'][1]" in message, name
        assert "data field" in message, name
        assert len(message) < 1000, name
        with pytest.raises(cp.ContextError):
            operation(first, second)  # not only the first time


def test_meta_fields_and_static_objects_are_refused_alike():
    for tree in (Sample(1, 2, np.zeros(2)), Cell(np.zeros(2), 1), Config(np.zeros(2))):
        with pytest.raises(cp.ContextError, match=type(tree).__name__) as caught:
            hash(structure([tree]))
        assert caught.value.path == "[0]"
        assert "ndarray" in str(caught.value)
        with pytest.raises(cp.ContextError):
            structure([tree]) == structure([tree])  # noqa: B015


@pytest.mark.parametrize("value", UNUSABLE, ids=lambda value: f"{type(value).__name__}{getattr(value, 'shape', '')}")
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_flattening_and_rebuilding_work_with_any_context(place, value):
    leaves, spec = cp.tree_flatten([Tagged(1, 2, place(value)), Cell(place(value), 3)])
    assert leaves == [2, 1, 3]
    assert spec.unflatten([5, 6, 7])[1].value == 7
    assert cp.tree_map(str, Tagged(1, 2, place(value))).left == "1"
    assert "Tagged" in repr(spec)
    assert spec.num_nodes == 6
    assert spec.paths() == [(0, "right"), (0, "left"), (1, "value")]


def test_an_array_as_context_is_the_very_array():
    array = np.arange(3)
    spec = spec_of(array)
    assert spec.context is array
    assert spec.unflatten([1, 2]).tag is array
    assert spec_of([array]).unflatten([1, 2]).tag[0] is array


def test_an_exception_of_a_users_hash_is_no_crash_and_can_be_told():
    class Angry:
        def __hash__(self) -> int:
            raise RuntimeError("no hash today")

    with pytest.raises((RuntimeError, cp.ContextError)) as caught:
        hash(spec_of(Angry()))
    assert "no hash today" in f"{caught.value} {caught.value.__cause__} {caught.value.__context__}"


def test_a_context_that_contains_itself_does_not_hang():
    circle: list = [1]
    circle.append(circle)
    with pytest.raises(cp.PyTreeError):
        hash(spec_of(circle))
