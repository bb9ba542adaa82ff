"""Registrations that are refused, with what they say; nothing of them is left behind."""

from __future__ import annotations

import collections
import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest
from registering import clean_registry, make_methods_class, make_pair, register  # noqa: F401

import clika_pytree as cp
from clika_pytree import pytree


@pytest.fixture
def Pair() -> type:
    return make_pair()


BUILT_IN = [list, tuple, dict, collections.OrderedDict, collections.defaultdict, collections.deque, type(None)]


@pytest.mark.parametrize("cls", BUILT_IN)
def test_built_in_containers_are_refused(cls: type) -> None:
    for namespace in ("", "tests.one"):
        with pytest.raises(cp.RegistrationError, match=cls.__name__):
            pytree.register_pytree_node(cls, lambda x: ((), None), lambda c, _: None, namespace=namespace)
        with pytest.raises(cp.RegistrationError, match=cls.__name__):
            pytree.register_static(cls, namespace=namespace)
        with pytest.raises(ValueError, match=cls.__name__):
            pytree.unregister_pytree_node(cls, namespace)
    assert pytree.is_registered(cls)
    assert pytree.tree_leaves([[1], (2,), {"a": 3}]) == [1, 2, 3]


def test_a_class_is_registered_once_in_a_namespace(Pair: type) -> None:
    register(Pair)
    with pytest.raises(cp.RegistrationError, match=r"Pair.*already"):
        register(Pair)
    with pytest.raises(cp.RegistrationError, match=r"Pair.*already"):
        pytree.register_static(Pair)
    register(Pair, namespace="tests.one")
    with pytest.raises(cp.RegistrationError, match=r"Pair.*tests\.one"):
        register(Pair, namespace="tests.one")
    assert pytree.tree_leaves(Pair(1, 2)) == [1, 2]


WRONG_OPTIONS = {
    "to only": ({"to_dumpable_context": repr}, ValueError, "got no from_dumpable_context"),
    "from only": ({"from_dumpable_context": repr}, ValueError, "got no to_dumpable_context"),
    "to is no function": (
        {"to_dumpable_context": 1, "from_dumpable_context": repr},
        TypeError,
        "function as to_dumpable_context, got 1",
    ),
    "namespace is None": ({"namespace": None}, TypeError, "str as namespace .* got None"),
    "namespace is bytes": ({"namespace": b"x"}, TypeError, "str as namespace .* got b'x'"),
    "a tuple of namespaces": ({"namespace": ("a", "b")}, TypeError, "one namespace, got a tuple.*each"),
    "name is a class": ({"serialized_type_name": int}, TypeError, "serialized_type_name, got the class int"),
    "name is empty": ({"serialized_type_name": ""}, ValueError, "serialized_type_name, got an empty str"),
}


@pytest.mark.parametrize("case", WRONG_OPTIONS)
@pytest.mark.parametrize("how", ["functions", "methods", "static", "dataclass"])
def test_a_refused_registration_leaves_nothing_behind(how: str, case: str) -> None:
    """Case S14: the same class registers after the mistake is mended."""
    options, error, words = WRONG_OPTIONS[case]
    cls, add = {
        "functions": (make_pair(), register),
        "methods": (make_methods_class(), pytree.register_pytree_node_class),
        "static": (make_pair(), pytree.register_static),
        "dataclass": (dataclasses.make_dataclass("Sample", ["x"]), pytree.register_dataclass),
    }[how]
    with pytest.raises(error, match=words) as caught:
        add(cls, **options)
    assert isinstance(caught.value, cp.PyTreeError)
    assert not pytree.is_registered(cls)
    add(cls)
    assert pytree.is_registered(cls)


@pytest.mark.parametrize("value", [3, "Pair", None, SimpleNamespace(), [int], int | str])
def test_only_classes_can_be_registered(value: Any) -> None:
    with pytest.raises(cp.PyTreeTypeError, match=r"register_pytree_node\(\) expects a class, got"):
        pytree.register_pytree_node(value, lambda x: ((), None), lambda c, _: None)
    with pytest.raises(cp.PyTreeTypeError, match=r"unregister_pytree_node\(\) expects a class, got"):
        pytree.unregister_pytree_node(value)
    if value is not None:  # a decorator with arguments
        for add in (pytree.register_static, pytree.register_dataclass, pytree.register_pytree_node_class):
            with pytest.raises(cp.PyTreeTypeError, match="expects a class, got"):
                add(value)


@pytest.mark.parametrize("name", ["flatten_fn", "unflatten_fn", "flatten_with_keys_fn"])
def test_functions_must_be_callable(Pair: type, name: str) -> None:
    functions: dict = {"flatten_fn": lambda x: ((), None), "unflatten_fn": lambda c, _: None, name: "text"}
    with pytest.raises(cp.PyTreeTypeError, match=f"function as {name}, got 'text'"):
        pytree.register_pytree_node(Pair, **functions)
    assert not pytree.is_registered(Pair)


def test_a_message_never_prints_what_it_was_given() -> None:
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(cp.PyTreeTypeError, match="got a list") as caught:
        pytree.register_static(deep)
    assert len(str(caught.value)) < 200
    with pytest.raises(cp.PyTreeTypeError) as caught:
        pytree.register_static("x" * 1000)
    assert len(str(caught.value)) < 250
    while deep:  # freeing 100,000 levels at once is more than some interpreters can do
        deep = deep.pop()
