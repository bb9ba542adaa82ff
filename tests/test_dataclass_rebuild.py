"""Dataclasses rebuilt through their constructor, and dataclass registrations that are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from dataclass_kinds import (
    Base,
    Deriving,
    DerivingField,
    Frozen,
    LateField,
    OwnInit,
    SlottedChild,
    Strictest,
    Validating,
    WithInitVar,
)
from helpers import notes
from registering import clean_registry, round_trip  # noqa: F401

import clika_pytree as cp
from clika_pytree import pytree

# --- rebuild="init" ---------------------------------------------------------------------------------------------------


def test_attributes_that_are_no_fields_need_init() -> None:
    """Case S25, second half."""
    pytree.register_dataclass(Deriving)
    assert not hasattr(round_trip(Deriving(1, 3)), "scaled")
    pytree.unregister_pytree_node(Deriving)

    pytree.register_dataclass(Deriving, rebuild="init")
    again = pytree.tree_map(lambda x: x + 1, Deriving(1, 3))
    assert (again, again.scaled) == (Deriving(2, 3), (2, 3))


def test_init_runs_for_frozen_slotted_and_keyword_only_classes() -> None:
    for obj in (Frozen(1, "n"), SlottedChild(1, "n", 2), Strictest(x=1, name="n")):
        pytree.register_dataclass(type(obj), rebuild="init")
        assert round_trip(obj) == obj


def test_what_init_raises_says_where() -> None:
    pytree.register_dataclass(Validating, rebuild="init")
    with pytest.raises(TypeError, match="x must be an int") as caught:
        pytree.tree_map(str, {"v": Validating(1)})
    assert "['v']" in notes(caught.value)
    assert "Validating" in notes(caught.value)


def test_a_field_that_only_the_class_can_set_is_derived_again() -> None:
    pytree.register_dataclass(DerivingField, rebuild="init")
    assert pytree.tree_leaves(DerivingField(1)) == [1]
    assert pytree.tree_map(lambda x: x + 1, DerivingField(1)) == DerivingField(2)
    pytree.unregister_pytree_node(DerivingField)

    pytree.register_dataclass(DerivingField, ["x"], [], drop_fields=["double"], rebuild="init")
    assert pytree.tree_map(lambda x: x + 1, DerivingField(1)).double == 4


def test_init_gives_dropped_fields_the_default_of_the_constructor() -> None:
    pytree.register_dataclass(Deriving, ["x"], [], drop_fields=["scale"], rebuild="init")
    assert round_trip(Deriving(1, 3)).scaled == (1, 2)


def test_an_initvar_is_no_field_and_init_cannot_give_it_back() -> None:
    pytree.register_dataclass(WithInitVar)
    assert pytree.tree_map(str, WithInitVar(2, 3)).x == "6"
    pytree.unregister_pytree_node(WithInitVar)
    with pytest.raises(cp.RegistrationError, match=r'InitVar \'scale\'.*rebuild="fields"'):
        pytree.register_dataclass(WithInitVar, rebuild="init")
    assert not pytree.is_registered(WithInitVar)


@dataclass
class Output(dict):
    """As some libraries have it: the items of a dict are made from the fields."""

    logits: Any
    loss: Any = None

    def __post_init__(self) -> None:
        self.update(logits=self.logits, loss=self.loss)


def test_a_dataclass_that_is_a_container_too_needs_init() -> None:
    with pytest.raises(cp.RegistrationError, match=r'Output .* also a dict, .* lost; use rebuild="init"'):
        pytree.register_dataclass(Output)
    assert not pytree.is_registered(Output)
    pytree.register_dataclass(Output, rebuild="init")
    assert dict(pytree.tree_map(lambda x: x + 1, Output(1, 2))) == {"logits": 2, "loss": 3}


REFUSED_BY_INIT = {
    "a state of its own": (LateField, {}, "init=False, got 'derived', 'unit'.*drop_fields"),
    "listed": (DerivingField, {"data_fields": ["x", "double"], "meta_fields": []}, "init=False, got 'double'"),
    "another signature": (OwnInit, {}, r"OwnInit\(x=\.\.\.\), which cannot work: missing .* 'y'"),
    "dropped without default": (
        Base,
        {"data_fields": [], "meta_fields": ["label"], "drop_fields": ["x"]},
        r"Base\(label=\.\.\.\), which cannot work: missing .* 'x'",
    ),
}


@pytest.mark.parametrize("case", REFUSED_BY_INIT)
def test_init_is_refused_where_it_cannot_work(case: str) -> None:
    cls, lists, words = REFUSED_BY_INIT[case]
    with pytest.raises(cp.RegistrationError, match=words):
        pytree.register_dataclass(cls, rebuild="init", **lists)
    assert not pytree.is_registered(cls)


# --- refused ----------------------------------------------------------------------------------------------------------

REFUSED_LISTS = {
    "in no list": ({"data_fields": ["x"], "meta_fields": []}, "every field of Base in a list, and 'label' is in none"),
    "in two lists": ({"data_fields": ["x", "label"], "meta_fields": ["label"]}, "'label'.* data_fields and in meta"),
    "kept and dropped": (
        {"data_fields": ["x"], "meta_fields": ["label"], "drop_fields": ["x"]},
        "'x'.* data_fields and in drop_fields",
    ),
    "twice in one": ({"data_fields": ["x", "x"], "meta_fields": ["label"]}, "'x' .* in data_fields twice"),
    "unknown": ({"data_fields": ["x", "y"], "meta_fields": ["label"]}, "'y' in data_fields.* fields are 'x', 'label'"),
    "unknown and dropped": ({"drop_fields": ["y"]}, "'y' in drop_fields, which is no field of Base"),
    "data only": ({"data_fields": ["x", "label"]}, "together, got only data_fields; add meta_fields"),
    "meta only": ({"meta_fields": ["label"]}, "together, got only meta_fields; add data_fields"),
    "another word": ({"rebuild": "new"}, 'expects "fields" or "init" as rebuild, got \'new\''),
    "no word": ({"rebuild": True}, 'expects "fields" or "init" as rebuild, got True'),
}


@pytest.mark.parametrize("case", REFUSED_LISTS)
def test_unclear_lists_are_refused(case: str) -> None:
    """Case S25, first half; and S14: the class registers once the mistake is mended."""
    options, words = REFUSED_LISTS[case]
    with pytest.raises(cp.RegistrationError, match=words):
        pytree.register_dataclass(Base, **options)
    with pytest.raises(ValueError, match=words):
        pytree.register_dataclass(**options)(Base)
    assert not pytree.is_registered(Base)
    pytree.register_dataclass(Base)
    assert pytree.tree_leaves(Base(1)) == [1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"data_fields": "x", "meta_fields": ["label"]}, r"names as data_fields, got 'x'; write \['x'\]"),
        ({"data_fields": {"x"}, "meta_fields": ["label"]}, "names as data_fields, got a set"),
        ({"data_fields": ["x"], "meta_fields": 3}, "names as meta_fields, got 3"),
        ({"data_fields": [0], "meta_fields": ["label"]}, "names of fields in data_fields, got 0"),
        ({"drop_fields": None}, "names as drop_fields, got None"),
    ],
)
def test_lists_of_the_wrong_type_are_refused(options: dict, words: str) -> None:
    with pytest.raises(cp.PyTreeTypeError, match=words):
        pytree.register_dataclass(Base, **options)
    assert not pytree.is_registered(Base)


@pytest.mark.parametrize(("name", "words"), [("scale", "it is an InitVar"), ("count", "it is a ClassVar")])
def test_what_looks_like_a_field_and_is_none(name: str, words: str) -> None:
    with pytest.raises(cp.RegistrationError, match=f"'{name}' .*{words}"):
        pytree.register_dataclass(WithInitVar, ["x", name], [])


def test_only_dataclasses() -> None:
    class Plain:
        x: int

    with pytest.raises(cp.PyTreeTypeError, match=r"expects a dataclass, got the class .*Plain.*@dataclass"):
        pytree.register_dataclass(Plain)
    with pytest.raises(cp.PyTreeTypeError, match="expects a class, got a Base; pass the class"):
        pytree.register_dataclass(Base(1))
    with pytest.raises(cp.PyTreeTypeError, match="expects a class"):
        pytree.register_dataclass(["x"], ["label"])


def test_decorators_in_the_wrong_order_would_lose_fields() -> None:
    with pytest.raises(cp.PyTreeTypeError, match=r"'extra', 'more' would be lost.*above"):

        @dataclass
        @pytree.register_dataclass
        class Wrong(Base):
            extra: int = 0
            more: int = 0
            total: ClassVar[int] = 0

    @pytree.register_dataclass
    class OnlyMethods(Base):
        label: str
        total: ClassVar[int] = 0

        def doubled(self) -> Any:
            return self.x * 2

    assert pytree.tree_map(lambda x: x + 1, OnlyMethods(1)).doubled() == 4


def test_registered_once_in_a_namespace() -> None:
    pytree.register_dataclass(Base)
    with pytest.raises(cp.RegistrationError, match=r"Base.*already"):
        pytree.register_dataclass(Base)
    pytree.register_dataclass(Base, ["label", "x"], [], namespace="tests.data")
    assert pytree.tree_leaves(Base(1, "l")) == [1]
    assert pytree.tree_leaves(Base(1, "l"), namespace="tests.data") == ["l", 1]
