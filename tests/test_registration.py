"""Registering by functions, by methods and as static values; namespaces; taking back."""

from __future__ import annotations

import dataclasses
import gc
import weakref
from typing import Any

import pytest
from helpers import notes
from registering import clean_registry, make_methods_class, make_pair, register  # noqa: F401

import clika_pytree as cp
from clika_pytree import pytree


@pytest.fixture
def Pair() -> type:
    return make_pair()


# --- functions --------------------------------------------------------------------------------------------------------


def test_functions_open_a_class(Pair: type) -> None:
    assert pytree.tree_leaves(Pair(1, 2)) == [Pair(1, 2)]
    assert register(Pair) is None
    assert pytree.tree_leaves({"p": Pair(1, [2, 3]), "n": 4}) == [1, 2, 3, 4]
    assert pytree.tree_map(lambda v: v * 10, Pair(1, 2)) == Pair(10, 20)
    spec = pytree.tree_structure(Pair(1, 2))
    assert (spec.kind, spec.type, spec.context, spec.num_children) == ("custom", Pair, None, 2)


def test_a_rebuild_gets_a_tuple_and_the_context(Pair: type) -> None:
    seen: list = []

    def rebuild(children: tuple, context: object) -> Any:
        seen.append((children, context))
        return Pair(*children)

    pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], "context"), rebuild)
    pytree.tree_map(str, Pair(1, 2))
    assert seen == [(("1", "2"), "context")]
    assert type(seen[0][0]) is tuple


def test_children_may_be_any_iterable_read_once(Pair: type) -> None:
    pytree.register_pytree_node(Pair, lambda p: ((x for x in (p.a, p.b)), None), lambda c, _: Pair(*c))
    assert pytree.tree_leaves(Pair(1, 2)) == [1, 2]
    assert pytree.tree_structure(Pair(1, 2)).flatten_up_to(Pair([3], 4)) == [[3], 4]
    assert pytree.tree_map(lambda x, y: x + y, Pair(1, 2), Pair(3, 4)) == Pair(4, 6)


@pytest.mark.parametrize("entries", [("b", "a"), ["b", "a"], (0, None), (("x", 1), b"k")])
def test_entries_name_the_children_in_their_order(Pair: type, entries: Any) -> None:
    """Case S12: names in another order than the attributes swap nothing."""
    pytree.register_pytree_node(Pair, lambda p: ((p.a, p.b), None, entries), lambda children, _: Pair(*children))
    spec = pytree.tree_structure(Pair(1, [2, 3]))
    first, second = entries
    assert spec.entries() == [first, second]
    assert spec.paths() == [(first,), (second, 0), (second, 1)]
    assert pytree.tree_map(lambda x: x, Pair("a", "b")) == Pair("a", "b")


@pytest.mark.parametrize("entries", [(), ("a",), ("a", "b", "c")])
def test_a_wrong_number_of_entries_is_an_error_at_flatten(Pair: type, entries: tuple) -> None:
    pytree.register_pytree_node(Pair, lambda p: ((p.a, p.b), None, entries), lambda children, _: Pair(*children))
    with pytest.raises(cp.StructureError, match=rf"2.*{len(entries)}|{len(entries)}.*2") as caught:
        pytree.tree_flatten({"x": [Pair(1, 2)]})
    assert caught.value.path == "['x'][0]"
    assert "Pair" in str(caught.value)


def test_entries_do_not_take_part_in_equality(Pair: type) -> None:
    pytree.register_pytree_node(Pair, lambda p: ((p.a, p.b), None, (p.a, p.b)), lambda children, _: Pair(*children))
    one, other = pytree.tree_structure(Pair("p", "q")), pytree.tree_structure(Pair("r", "s"))
    assert one == other
    assert hash(one) == hash(other)
    assert one.entries() != other.entries()


def test_the_function_with_keys_is_the_one_called(Pair: type) -> None:
    def never(pair: Any) -> Any:
        raise AssertionError("flatten_fn was called")

    pytree.register_pytree_node(
        Pair,
        never,
        lambda children, _: Pair(*children),
        flatten_with_keys_fn=lambda p: ([("first", p.a), ("second", p.b)], "context"),
    )
    leaves, spec = pytree.tree_flatten([Pair(1, 2)])
    assert leaves == [1, 2]
    assert spec.paths() == [(0, "first"), (0, "second")]
    assert spec.child(0).context == "context"


@pytest.mark.parametrize("result", [None, 3, (), ((1, 2),), ((1, 2), None, None, None), [(1, 2), None], (7, None)])
def test_a_flatten_function_that_returns_something_else(Pair: type, result: Any) -> None:
    pytree.register_pytree_node(Pair, lambda _: result, lambda children, _: Pair(*children))
    with pytest.raises(cp.NodeError) as caught:
        pytree.tree_leaves({"x": Pair(1, 2)})
    assert caught.value.path == "['x']"
    assert "Pair" in str(caught.value)


@pytest.mark.parametrize(
    "result", [None, 3, ([1, 2], None), ([("a", 1), ("b",)], None), ([("a", 1, 2)], None), ([("a", 1)],), (7, None)]
)
def test_a_function_with_keys_that_returns_something_else(Pair: type, result: Any) -> None:
    register(Pair, flatten_with_keys_fn=lambda _: result)
    with pytest.raises(cp.NodeError, match="Pair") as caught:
        pytree.tree_leaves([Pair(1, 2)])
    assert caught.value.path == "[0]"


def test_an_exception_of_a_function_names_path_and_class(Pair: type) -> None:
    def rebuild(children: tuple, _: None) -> Any:
        raise KeyError("rebuild")

    pytree.register_pytree_node(Pair, lambda p: ((p.a, p.missing), None), rebuild)
    with pytest.raises(AttributeError, match="missing") as caught:
        pytree.tree_leaves([0, {"x": Pair(1, 2)}])
    assert "[1]['x']" in notes(caught.value)
    assert "Pair" in notes(caught.value)

    pytree.unregister_pytree_node(Pair)
    pytree.register_pytree_node(Pair, lambda p: ((p.a, p.b), None), rebuild)
    with pytest.raises(KeyError, match="rebuild") as caught_rebuilding:
        pytree.tree_map(str, [0, {"x": Pair(1, 2)}])
    assert "[1]['x']" in notes(caught_rebuilding.value)


def test_only_the_exact_type_is_a_node(Pair: type) -> None:
    register(Pair)
    child = type("Child", (Pair,), {})(1, 2)
    assert pytree.tree_leaves([child])[0] is child


# --- methods ----------------------------------------------------------------------------------------------------------


def test_the_decorator_without_arguments() -> None:
    Holder = make_methods_class()
    assert pytree.register_pytree_node_class(Holder) is Holder
    leaves, spec = pytree.tree_flatten(Holder([1, [2, 3]], "note"))
    assert leaves == [1, 2, 3]
    assert spec.context == "note"
    assert spec.paths() == [("item0",), ("item1", 0), ("item1", 1)]
    again = spec.unflatten([10, 20, 30])
    assert (type(again), again.items, again.note) == (Holder, [10, [20, 30]], "note")


def test_the_decorator_with_arguments() -> None:
    Holder = make_methods_class()
    decorator = pytree.register_pytree_node_class(
        namespace="tests.methods",
        serialized_type_name="tests.Holder",
        to_dumpable_context=lambda note: [note],
        from_dumpable_context=lambda plain: plain[0],
    )
    assert not pytree.is_registered(Holder, namespace="tests.methods")
    assert decorator(Holder) is Holder
    assert pytree.is_registered(Holder, namespace="tests.methods")
    assert not pytree.is_registered(Holder)
    entry = cp._native.lookup(Holder, "tests.methods")
    assert entry is not None
    assert (entry.kind, entry.serialized_type_name) == ("custom", "tests.Holder")
    assert entry.to_dumpable_context is not None
    assert entry.from_dumpable_context is not None
    assert entry.from_dumpable_context(entry.to_dumpable_context("n")) == "n"


def test_a_subclass_registers_with_the_methods_it_inherits() -> None:
    Holder = make_methods_class()
    Child = type("Child", (Holder,), {})
    pytree.register_pytree_node_class(Child)
    assert type(pytree.tree_map(str, Child([1], ""))) is Child
    assert not pytree.is_registered(Holder)


def test_a_class_written_for_jax_is_told_where_to_go():
    body = {
        "tree_flatten": lambda self: ((), None),
        "tree_unflatten": classmethod(lambda cls, context, children: cls()),
    }
    with pytest.raises(pytree.PyTreeTypeError, match=r"compat\.jax\.register_pytree_node_class\(\) takes as they are"):
        pytree.register_pytree_node_class(type("ForJax", (), body))


@pytest.mark.parametrize("missing", ["__tree_flatten__", "__tree_unflatten__"])
def test_a_method_is_missing(missing: str) -> None:
    methods = {"__tree_flatten__": lambda self: ((), None), "__tree_unflatten__": classmethod(lambda cls, x, c: cls())}
    del methods[missing]
    Half = type("Half", (), methods)
    with pytest.raises(cp.PyTreeTypeError, match=f"Half .* without {missing}"):
        pytree.register_pytree_node_class(Half)
    assert not pytree.is_registered(Half)


@pytest.mark.parametrize("wrap", [staticmethod, lambda function: function])
def test_the_rebuilding_method_must_be_a_classmethod(wrap: Any) -> None:
    body = {"__tree_flatten__": lambda self: ((), None), "__tree_unflatten__": wrap(lambda cls, context, children: 0)}
    Plain = type("Plain", (), body)
    with pytest.raises(cp.PyTreeTypeError, match=r"Plain.__tree_unflatten__\(cls, context, children\).*@classmethod"):
        pytree.register_pytree_node_class(Plain)
    assert not pytree.is_registered(Plain)


def test_the_flattening_method_must_not_be_a_classmethod() -> None:
    both = classmethod(lambda cls, *args: ((), None))
    with pytest.raises(cp.PyTreeTypeError, match="called on an instance"):
        pytree.register_pytree_node_class(type("Both", (), {"__tree_flatten__": both, "__tree_unflatten__": both}))


# --- static values ----------------------------------------------------------------------------------------------------


def test_a_static_object_rides_the_structure_by_value() -> None:
    @pytree.register_static
    @dataclasses.dataclass(frozen=True)
    class Config:
        heads: int

    tree = {"w": 1, "config": Config(8)}
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1]
    assert spec == pytree.tree_structure({"w": 2, "config": Config(8)})
    assert spec != pytree.tree_structure({"w": 2, "config": Config(4)})
    assert spec.unflatten([5])["config"] is tree["config"]
    child = spec.child(1)
    assert (child.kind, child.type, child.num_leaves, child.num_children) == ("static", Config, 0, 0)
    assert child.context is tree["config"]
    assert pytree.tree_map(lambda x: x + 1, tree) == {"w": 2, "config": Config(8)}


def test_static_with_arguments() -> None:
    class Config:
        pass

    assert pytree.register_static(namespace="tests.static", serialized_type_name="tests.Config")(Config) is Config
    assert pytree.tree_leaves([Config(), 1], namespace="tests.static") == [1]
    assert len(pytree.tree_leaves([Config(), 1])) == 2
    entry = cp._native.lookup(Config, "tests.static")
    assert entry is not None
    assert (entry.kind, entry.serialized_type_name) == ("static", "tests.Config")


# --- namespaces -------------------------------------------------------------------------------------------------------


def test_a_namespace_holds_for_the_calls_that_pass_it(Pair: type) -> None:
    register(Pair, namespace="tests.one")
    pair = Pair(1, 2)
    assert pytree.tree_leaves(pair, namespace="tests.one") == [1, 2]
    assert pytree.tree_leaves(pair) == [pair]
    assert pytree.tree_leaves(pair, namespace="tests.two") == [pair]
    assert pytree.is_registered(Pair, namespace="tests.one")
    assert not pytree.is_registered(Pair, namespace="tests.two")
    assert not pytree.is_registered(Pair)
    assert pytree.tree_structure(pair, namespace="tests.one").namespace == "tests.one"


def test_a_namespace_falls_back_to_the_global_registrations(Pair: type) -> None:
    register(Pair)
    assert pytree.tree_leaves(Pair(1, 2), namespace="tests.one") == [1, 2]
    assert pytree.is_registered(Pair, namespace="tests.one")
    assert pytree.tree_structure(Pair(1, 2), namespace="tests.one").namespace == ""
    with pytest.raises(ValueError, match=r"tests\.one"):
        pytree.unregister_pytree_node(Pair, namespace="tests.one")
    assert pytree.is_registered(Pair)


def test_namespaces_are_searched_in_their_order(Pair: type) -> None:
    Other = make_pair()
    pytree.register_pytree_node(Pair, lambda p: ((p.a,), None), lambda c, _: Pair(*c, 0), namespace="tests.one")
    pytree.register_pytree_node(Pair, lambda p: ((p.b,), None), lambda c, _: Pair(0, *c), namespace="tests.two")
    register(Other, namespace="tests.two")
    tree = [Pair(1, 2), Other(3, 4)]
    assert pytree.tree_leaves(tree, namespace=("tests.one", "tests.two")) == [1, 3, 4]
    assert pytree.tree_leaves(tree, namespace=("tests.two", "tests.one")) == [2, 3, 4]
    assert pytree.is_registered(Other, namespace=("tests.one", "tests.two"))


def test_the_namespace_of_a_registration_takes_part_in_equality(Pair: type) -> None:
    register(Pair)
    register(Pair, namespace="tests.one")
    assert pytree.tree_structure(Pair(1, 2)) != pytree.tree_structure(Pair(1, 2), namespace="tests.one")


# --- taking back ------------------------------------------------------------------------------------------------------


def test_unregistering_makes_leaves_again(Pair: type) -> None:
    register(Pair)
    spec = pytree.tree_structure(Pair(1, 2))
    assert pytree.unregister_pytree_node(Pair) is None
    assert not pytree.is_registered(Pair)
    assert pytree.tree_leaves([Pair(1, 2)]) == [Pair(1, 2)]
    assert spec.unflatten([3, 4]) == Pair(3, 4)
    with pytest.raises(ValueError, match="Pair"):
        pytree.unregister_pytree_node(Pair)


def test_a_spec_owns_its_registration(Pair: type) -> None:
    """Case S13: registered again with other functions it is the same class, and the old spec works as before."""
    register(Pair)
    old = pytree.tree_structure(Pair(1, 2))
    pytree.unregister_pytree_node(Pair)
    pytree.register_pytree_node(Pair, lambda p: ((p.b, p.a), None), lambda c, _: Pair(c[1], c[0]))
    new = pytree.tree_structure(Pair(1, 2))
    assert pytree.tree_leaves(Pair(1, 2)) == [2, 1]
    assert old.unflatten([1, 2]) == Pair(1, 2)
    assert new.unflatten([1, 2]) == Pair(2, 1)
    assert old == new
    assert hash(old) == hash(new)


def test_a_class_is_collected_once_unregistered() -> None:
    def make() -> tuple[weakref.ref, weakref.ref]:
        Pair, Holder = make_pair(), make_methods_class()
        register(Pair)
        pytree.register_pytree_node_class(Holder)
        assert pytree.tree_leaves([Pair(1, 2), Holder([3], "")]) == [1, 2, 3]
        pytree.unregister_pytree_node(Pair)
        pytree.unregister_pytree_node(Holder)
        return weakref.ref(Pair), weakref.ref(Holder)

    pair, holder = make()
    gc.collect()
    assert pair() is None
    assert holder() is None


def test_two_local_classes_of_one_name_are_two_classes() -> None:
    """Case S8."""
    One, Two = make_pair(), make_pair()
    assert One.__qualname__ == Two.__qualname__
    register(One)
    register(Two)
    assert pytree.tree_structure(One(1, 2)) != pytree.tree_structure(Two(1, 2))
    assert len({pytree.tree_structure(cls(1, 2)) for cls in (One, Two, One)}) == 2
    with pytest.raises(ValueError, match="Pair"):
        pytree.tree_map(lambda x, y: 0, One(1, 2), Two(1, 2))
