"""Dataclasses as nodes: which fields are children, and that every kind of dataclass comes back with every field."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import pytest
from dataclass_kinds import KINDS, STATIC, Base, Frozen, Inherited, NoneField, Slotted
from helpers import notes
from registering import clean_registry, round_trip  # noqa: F401

import clika_pytree as cp
from clika_pytree import pytree

# --- which fields are what --------------------------------------------------------------------------------------------


def test_lists_say_what_is_a_child() -> None:
    @dataclass
    class Sample:
        weight: object
        bias: object
        name: str

    assert pytree.register_dataclass(Sample, data_fields=["weight", "bias"], meta_fields=["name"]) is Sample
    leaves, spec = pytree.tree_flatten(Sample(1, [2, 3], "s"))
    assert leaves == [1, 2, 3]
    assert (spec.kind, spec.type, spec.context) == ("dataclass", Sample, ("s",))
    assert spec.entries() == ["weight", "bias"]
    assert spec.paths() == [("weight",), ("bias", 0), ("bias", 1)]
    assert repr(spec) == "TreeSpec(Sample(weight=*, bias=[*, *], name='s'))"
    assert spec.unflatten([10, 20, 30]) == Sample(10, [20, 30], "s")
    assert pytree.tree_map(lambda x: x + 1, Sample(1, 2, "s")) == Sample(2, 3, "s")


def test_data_is_ordered_by_its_list_and_meta_by_the_class() -> None:
    @dataclass
    class Sample:
        a: object
        b: object
        c: object
        d: object

    pytree.register_dataclass(Sample, ("c", "a"), ("d", "b"))
    leaves, spec = pytree.tree_flatten(Sample(1, 2, 3, 4))
    assert leaves == [3, 1]
    assert spec.context == (2, 4)
    assert spec.unflatten([30, 10]) == Sample(10, 2, 30, 4)


def test_lists_may_be_any_iterable_with_an_order() -> None:
    @dataclass
    class Sample:
        a: object
        b: object

    pytree.register_dataclass(Sample, (name for name in "ab"), iter(()))
    assert pytree.tree_leaves(Sample(1, 2)) == [1, 2]


def test_without_lists_the_metadata_decides() -> None:
    @pytree.register_dataclass
    @dataclass
    class Sample:
        x: object
        name: str = field(default="", metadata=STATIC)
        scale: float = field(default=1.0, metadata={"static": False, "unit": "m"})
        derived: object = field(init=False, default="d")
        seed: object = field(init=False, default=7, metadata=STATIC)

    leaves, spec = pytree.tree_flatten(Sample(1, "n"))
    assert leaves == [1, 1.0, "d"]
    assert spec.entries() == ["x", "scale", "derived"]
    assert spec.context == ("n", 7)


def test_the_decorator_with_arguments() -> None:
    @pytree.register_dataclass(namespace="tests.data", drop_fields=["cache"], serialized_type_name="tests.Sample")
    @dataclass
    class Sample:
        x: object
        name: str = field(default="", metadata=STATIC)
        cache: object = field(default=None, metadata=STATIC)

    assert isinstance(Sample, type)
    assert pytree.is_registered(Sample, namespace="tests.data")
    assert not pytree.is_registered(Sample)
    leaves, spec = pytree.tree_flatten(Sample(1, "n", "c"), namespace="tests.data")
    assert leaves == [1]
    assert spec.context == ("n",)
    assert spec.unflatten([2]) == Sample(2, "n", None)
    entry = cp._native.lookup(Sample, "tests.data")
    assert entry is not None
    assert (entry.kind, entry.data_fields, entry.meta_fields) == ("dataclass", ("x",), ("name",))
    assert entry.serialized_type_name == "tests.Sample"


def test_a_class_without_fields() -> None:
    @pytree.register_dataclass
    @dataclass
    class Empty:
        pass

    leaves, spec = pytree.tree_flatten([Empty(), 1])
    assert leaves == [1]
    assert spec.unflatten([2]) == [Empty(), 2]


# --- case S11: every kind of dataclass, rebuilt with every field ------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_comes_back(kind: str) -> None:
    obj = KINDS[kind]
    pytree.register_dataclass(type(obj))
    again = round_trip(obj)
    assert type(again) is type(obj)
    assert again is not obj
    for one in dataclasses.fields(obj):
        assert getattr(again, one.name) == getattr(obj, one.name)


@pytest.mark.parametrize("kind", KINDS)
def test_any_value_may_stand_where_a_leaf_was(kind: str) -> None:
    obj = KINDS[kind]
    pytree.register_dataclass(type(obj))
    marker = object()
    mapped = pytree.tree_map(lambda _: marker, obj)
    assert pytree.tree_leaves(mapped) == [marker] * len(pytree.tree_leaves(obj))
    assert pytree.tree_structure(mapped) == pytree.tree_structure(obj)


def test_none_in_a_field_is_a_leaf_like_any_other() -> None:
    pytree.register_dataclass(NoneField)
    assert pytree.tree_leaves(NoneField(1)) == [1, None]
    assert pytree.tree_structure(NoneField(1)) == pytree.tree_structure(NoneField(1, 2))
    assert pytree.tree_leaves(NoneField(1), none_is_leaf=False) == [1]


def test_a_subclass_is_a_class_of_its_own() -> None:
    pytree.register_dataclass(Base)
    child = Inherited(1)
    assert pytree.tree_leaves([child])[0] is child
    pytree.register_dataclass(Inherited)
    assert pytree.tree_leaves(child) == [1, None]
    assert pytree.tree_structure(Base(1)) != pytree.tree_structure(child)


# --- equality ---------------------------------------------------------------------------------------------------------


def test_two_classes_with_one_field_and_one_static_value_differ() -> None:
    """Case S1."""
    A, B = (
        pytree.register_dataclass(
            dataclasses.make_dataclass("Twin", ["x", ("mode", str, field(default="m", metadata=STATIC))])
        )
        for _ in range(2)
    )
    a, b = pytree.tree_structure(A(1)), pytree.tree_structure(B(1))
    assert a == pytree.tree_structure(A(2))
    assert a != b
    assert hash(a) != hash(b)
    assert len({a, b}) == 2


def test_meta_values_compare_by_exact_type() -> None:
    pytree.register_dataclass(Frozen)
    specs = [pytree.tree_structure(Frozen(0, name)) for name in (1, True, 1.0, "1", 0.0, -0.0)]
    assert len(set(specs)) == len(specs)
    nan = pytree.tree_structure(Frozen(0, float("nan")))
    assert nan == pytree.tree_structure(Frozen(1, float("nan")))


def test_a_meta_value_without_equality_names_class_and_type() -> None:
    class Odd:
        __hash__ = None

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("ambiguous")

    pytree.register_dataclass(Frozen)
    odd = Odd()
    spec = pytree.tree_structure({"cfg": Frozen(1, odd)})
    assert spec.unflatten([2])["cfg"].name is odd
    with pytest.raises(cp.ContextError, match="Frozen") as caught:
        hash(spec)
    assert "Odd" in str(caught.value)
    assert caught.value.path == "['cfg']"
    with pytest.raises(cp.ContextError, match="Odd"):
        _ = spec == pytree.tree_structure({"cfg": Frozen(1, Odd())})


# --- dropped fields ---------------------------------------------------------------------------------------------------


@dataclass
class Dropping:
    x: Any
    plain: Any = 5
    made: list = field(default_factory=list)
    late: Any = field(init=False, default="late")
    bare: Any = field(init=False)


def test_dropped_fields_get_their_default_or_stay_unset() -> None:
    pytree.register_dataclass(Dropping, ["x"], [], drop_fields=["plain", "made", "late", "bare"])
    obj = Dropping(1, plain="kept by nobody", made=[1])
    obj.bare, obj.late = "b", "l"
    spec = pytree.tree_structure(obj)
    assert spec.num_leaves == 1
    assert spec.context == ()
    first, second = spec.unflatten([2]), spec.unflatten([3])
    assert (first.x, first.plain, first.made, first.late) == (2, 5, [], "late")
    assert first.made is not second.made
    assert not hasattr(first, "bare")


def test_a_slotted_field_dropped_without_default_stays_unset() -> None:
    pytree.register_dataclass(Slotted, ["x"], [], drop_fields=["name"])
    assert round_trip(Slotted(1, "n")).name == ""
    Bare = dataclasses.make_dataclass("Bare", ["x", "y"], slots=True)
    pytree.register_dataclass(Bare, ["x"], [], drop_fields=["y"])
    assert not hasattr(round_trip(Bare(1, 2)), "y")


def test_a_factory_that_raises_says_where() -> None:
    def factory() -> Any:
        raise LookupError("no default today")

    Failing = dataclasses.make_dataclass("Failing", ["x", ("y", Any, field(default_factory=factory))])
    pytree.register_dataclass(Failing, ["x"], [], drop_fields=["y"])
    with pytest.raises(LookupError, match="no default today") as caught:
        pytree.tree_map(str, {"f": [Failing(1, 2)]})
    assert "['f'][0]" in notes(caught.value)


def test_a_field_that_was_never_set_says_where() -> None:
    pytree.register_dataclass(Dropping)
    with pytest.raises(AttributeError, match="bare") as caught:
        pytree.tree_leaves([Dropping(1)])
    assert "[0]" in notes(caught.value)
    assert "Dropping" in notes(caught.value)
