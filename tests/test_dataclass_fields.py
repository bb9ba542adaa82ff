"""Fields of dataclasses are read where they lie in the instance, and are always what `getattr` gives.

The first flatten of a class asks for each field by its name and finds out where the fields lie; those after it read
them there. So each case flattens several times, and changes what it changes in between.
"""

from __future__ import annotations

import dataclasses
import gc
import sys
import weakref
from dataclasses import dataclass
from typing import Any

import pytest
from helpers import run_python
from hypothesis import given
from hypothesis import strategies as st

import clika_pytree as cp


def registered(
    *names: str, bases: tuple[type, ...] = (), namespace: dict[str, Any] | None = None, **options: Any
) -> Any:
    made = dataclasses.make_dataclass("Made", list(names), bases=bases, namespace=namespace or {}, **options)
    return cp.register_dataclass(made)


def check(tree: Any, expected: list[Any]) -> None:
    """Three times, in each way that takes a tree apart."""
    for _ in range(3):
        leaves, spec = cp.tree_flatten(tree)
        assert [id(leaf) for leaf in leaves] == [id(leaf) for leaf in expected]
        assert [id(leaf) for leaf in spec.flatten_up_to(tree)] == [id(leaf) for leaf in expected]
        assert [id(leaf) for leaf in cp.tree_leaves(tree)] == [id(leaf) for leaf in expected]
        assert [id(leaf) for leaf in cp.tree_iter(tree)] == [id(leaf) for leaf in expected]
        assert spec == cp.tree_structure(tree)


@pytest.mark.parametrize("slots", [False, True])
@pytest.mark.parametrize("names", [(), ("a",), ("b", "a"), ("z", "a", "m", "b"), tuple(f"f{i}" for i in range(60))])
def test_fields_in_any_order(slots: bool, names: tuple[str, ...]) -> None:
    made = registered(*names, slots=slots)
    values = [object() for _ in names]
    check(made(*values), values)
    check([made(*values), (made(*values), {"k": made(*values)})], values * 3)


def test_slots_of_a_base_beside_attributes() -> None:
    @dataclass
    class Base:
        __slots__ = ("a", "c")
        a: Any
        c: Any

    @cp.register_dataclass
    @dataclass
    class Mixed(Base):
        b: Any
        d: Any

    values = [object() for _ in range(4)]
    check(Mixed(*values), values)


def test_some_fields_are_data_in_another_order() -> None:
    @dataclass
    class Layer:
        weight: Any
        name: str
        bias: Any

    cp.register_dataclass(Layer, data_fields=["bias", "weight"], meta_fields=[], drop_fields=["name"])
    weight, bias = object(), object()
    check(Layer(weight, "x", bias), [bias, weight])


def with_meta(*, slots: bool = False) -> Any:
    made = dataclasses.make_dataclass("Made", ["weight", "first", "bias", "second"], slots=slots)
    return cp.register_dataclass(made, data_fields=["weight", "bias"], meta_fields=["first", "second"])


class Opaque:
    pass


METAS = [
    *("x", "", "y" * 300, 1, True, 1.0, 0, False, 0.0, -0.0, None, 10**6, 10**30, 1j, b"x"),
    *((), (1, "a"), (True, "a"), ((1,), (1,)), tuple(range(40)), [1], {"k": [1]}, {1}, ([1],), int, len, Opaque()),
]


@pytest.mark.parametrize("slots", [False, True])
def test_meta_fields_are_context_however_often_they_come_by(slots: bool) -> None:
    made = with_meta(slots=slots)
    nodes = [made(f"w{i}", meta, f"b{i}", "z") for i, meta in enumerate(METAS)]
    first = [cp.tree_structure(node) for node in nodes]
    for _ in range(2):
        check([nodes, nodes[::-1]], [leaf for node in nodes + nodes[::-1] for leaf in (node.weight, node.bias)])
        again = [cp.tree_structure(node) for node in nodes]
        assert again == first
        for i, spec in enumerate(again):
            assert [other == spec for other in first] == [j == i for j in range(len(METAS))]
            rebuilt = spec.unflatten([1, 2])
            assert type(rebuilt.first) is type(METAS[i])
            assert repr(rebuilt.first) == repr(METAS[i])


def test_meta_fields_that_change_between_two_calls() -> None:
    made = with_meta()
    node = made(1, [1], 2, "z")
    before = [cp.tree_structure(node) for _ in range(3)]
    node.first.append(2)
    after = [cp.tree_structure(node) for _ in range(3)]
    assert len(set(before)) == len(set(after)) == 1
    assert before[0] != after[0]
    with pytest.raises(cp.StructureError, match="first"):
        before[0].flatten_up_to(node)
    assert after[0].flatten_up_to(node) == [1, 2]
    for value in ("p", "q", "p", 1, True):
        node.first = value
        assert cp.tree_structure(node).unflatten([0, 0]).first is value


def test_meta_fields_that_fit_no_spec() -> None:
    made = with_meta()
    spec = cp.tree_structure([made(1, "x", 2, "z"), made(3, "x", 4, "z")])
    for _ in range(3):
        assert spec.flatten_up_to([made(1, "x", 2, "z"), made(3, "x", 4, "z")]) == [1, 2, 3, 4]
        with pytest.raises(cp.StructureError, match=r"\[1\]"):
            spec.flatten_up_to([made(1, "x", 2, "z"), made(3, "x", 4, "other")])


def test_nothing_that_may_be_watched_is_kept() -> None:
    made = with_meta()
    watched = Opaque()
    gone = weakref.ref(watched)
    nodes = [made(1, watched, 2, "z"), made(3, (watched, 1), 4, "z")]
    for _ in range(3):
        assert cp.tree_leaves(nodes) == [1, 2, 3, 4]
        cp.tree_structure(nodes)
    del nodes, watched
    gc.collect()
    assert gone() is None


def test_a_class_attribute_stands_in_for_what_is_not_set() -> None:
    @cp.register_dataclass
    @dataclass
    class Layer:
        weight: Any
        bias: Any = 7

    full, bare = Layer(1, 2), Layer(3, 4)
    check([full, bare], [1, 2, 3, 4])
    del bare.bias
    check([full, bare], [1, 2, 3, 7])
    Layer.bias = 8
    check([full, bare], [1, 2, 3, 8])


@pytest.mark.parametrize("slots", [False, True])
def test_a_missing_field_is_an_error_at_its_path(slots: bool) -> None:
    made = registered("a", "b", slots=slots)
    tree = {"k": [made(1, 2), made(3, 4)]}
    spec = cp.tree_structure(tree)
    check(tree, [1, 2, 3, 4])
    del tree["k"][1].b
    for call in (lambda: cp.tree_flatten(tree), lambda: spec.flatten_up_to(tree), lambda: list(cp.tree_iter(tree))):
        with pytest.raises(AttributeError) as caught:
            call()
        assert any("['k'][1]" in note for note in getattr(caught.value, "__notes__", ["['k'][1]"]))
    tree["k"][1].b = 5
    check(tree, [1, 2, 3, 5])


def test_attributes_in_a_dict_of_their_own() -> None:
    made = registered("a", "b")
    values = [object() for _ in range(4)]
    asked, given_one = made(*values[:2]), made(0, 0)
    check([asked, given_one], [*values[:2], given_one.a, given_one.b])
    attributes = vars(asked)
    attributes["a"] = values[2]
    check([asked, given_one], [values[2], values[1], given_one.a, given_one.b])
    given_one.__dict__ = {"b": values[3], "a": values[0]}
    check([asked, given_one], [values[2], values[1], values[0], values[3]])
    del attributes["b"]
    with pytest.raises(AttributeError):
        cp.tree_flatten(asked)


def test_more_attributes_than_instances_share() -> None:
    made = registered("a", "b")
    many = made(1, 2)
    check(many, [1, 2])
    for i in range(100):
        setattr(many, f"extra{i}", i)
    check([many, made(3, 4)], [1, 2, 3, 4])


def test_instances_whose_attributes_came_in_another_order() -> None:
    made = registered("a", "b")
    check(made(1, 2), [1, 2])
    other = made.__new__(made)
    other.extra, other.b, other.a = 0, "b", "a"
    check([other, made(3, 4)], ["a", "b", 3, 4])


def test_a_class_that_changes_its_ways() -> None:
    def fresh() -> Any:
        made = registered("a", "b")
        node = made("a", "b")
        check(node, ["a", "b"])
        return made, node

    made, node = fresh()
    made.a = property(lambda self: "of a property")
    check(node, ["of a property", "b"])
    del made.a
    check(node, ["a", "b"])

    made, node = fresh()
    made.__getattribute__ = lambda self, name: "of __getattribute__"
    assert cp.tree_leaves(node) == ["of __getattribute__"] * 2
    del made.__getattribute__
    check(node, ["a", "b"])

    made, node = fresh()
    made.__getattr__ = lambda self, name: "of __getattr__"
    del node.b
    check(node, ["a", made.__getattr__(None, "b")])


def test_a_base_that_changes_its_ways() -> None:
    class Base:
        pass

    made = registered("a", bases=(Base,))
    node = made("a")
    check(node, ["a"])
    Base.a = property(lambda self: "of a property")
    check(node, ["of a property"])
    made.__bases__ = (type("Other", (), {}),)
    check(node, ["a"])


def test_a_default_that_becomes_a_descriptor() -> None:
    class Default:
        pass

    made = registered("b")
    made.b = Default()
    node = made("set")
    check(node, ["set"])
    Default.__get__ = lambda self, instance, owner: "of the descriptor"
    check(node, ["set"])
    Default.__set__ = lambda self, instance, value: None
    check(node, ["of the descriptor"])


def test_a_descriptor_in_place_of_a_field() -> None:
    class Doubled:
        def __set_name__(self, owner: type, name: str) -> None:
            self.name = f"_{name}"

        def __get__(self, instance: Any, owner: type) -> Any:
            return 0 if instance is None else getattr(instance, self.name)

        def __set__(self, instance: Any, value: Any) -> None:
            setattr(instance, self.name, 2 * value)

    @cp.register_dataclass
    @dataclass
    class Layer:
        weight: Any = Doubled()  # noqa: RUF009

    check(Layer(21), [42])


def test_the_slot_of_another_class() -> None:
    class Other:
        __slots__ = ("far0", "far1", "far2", "far3", "x")

    made = registered("x")
    node = made("own")
    check(node, ["own"])
    made.x = Other.x
    with pytest.raises(TypeError):
        cp.tree_flatten(node)


def test_an_instance_of_another_class_than_before() -> None:
    one, two = registered("a", "b"), registered("b", "a")
    node = one(1, 2)
    check(node, [1, 2])
    node.__class__ = two
    check(node, [2, 1])


def test_a_derived_class_is_a_leaf() -> None:
    made = registered("a")
    derived = type("Derived", (made,), {})(1)
    check([made(2), derived], [2, derived])


@pytest.mark.parametrize("depth", [5, 127, 128, 129, 1000, 3000])
def test_deep_and_wide(depth: int) -> None:
    made = registered("first", "rest", "last")
    tree: Any = None
    for i in range(depth):
        tree = made(i, tree, i)
    leaves = cp.tree_leaves(tree)
    assert leaves == [*reversed(range(depth)), None, *range(depth)]
    spec = cp.tree_structure(tree)
    assert spec.flatten_up_to(tree) == leaves
    assert cp.tree_leaves(spec.unflatten(leaves)) == leaves


@pytest.mark.parametrize("slots", [False, True])
@pytest.mark.parametrize("width", [1023, 1024, 1025, 3000])
def test_wide(width: int, slots: bool) -> None:
    made = registered(*(f"f{i}" for i in range(width)), init=False, slots=slots)
    node, values = made(), [object() for _ in range(width)]
    for i, value in enumerate(values):
        setattr(node, f"f{i}", value)
    check({"k": [node]}, values)


def test_python_code_runs_between_the_fields() -> None:
    """Where a child takes Python code, what is left of the fields around it is held by then."""
    made = registered("a", "b", "c")

    def flatten(node: Any) -> Any:
        target.a = target.b = target.c = None
        gc.collect()
        return node.children, None

    class Opaque:
        def __init__(self, *children: Any) -> None:
            self.children = children

    cp.register_pytree_node(Opaque, flatten, lambda children, _: Opaque(*children))
    for _ in range(4):
        target = made([1], Opaque("x", "y"), {"z": [object()]})
        last = target.c["z"][0]
        assert cp.tree_leaves([target, made(5, 6, 7)]) == [1, "x", "y", last, 5, 6, 7]


def test_references_are_given_back() -> None:
    made = registered("a", "b")
    leaf = object()
    tree = [made(leaf, [leaf]), made(leaf, made(leaf, leaf))]
    spec = cp.tree_structure(tree)
    counted = [sys.getrefcount(x) for x in (leaf, made, tree[0], cp)]
    for _ in range(1000):
        cp.tree_flatten(tree)
        spec.flatten_up_to(tree)
        cp.tree_map(id, tree)
    assert [sys.getrefcount(x) for x in (leaf, made, tree[0], cp)] == counted


def test_a_circle_through_fields() -> None:
    made = registered("a", "b")
    node = made(1, [2])
    check(node, [1, 2])
    node.b.append(node)
    with pytest.raises(ValueError, match="contains itself"):
        cp.tree_flatten(node)


@given(st.data())
def test_as_getattr_says(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True))
    made = registered(*names, slots=data.draw(st.booleans()))
    nodes = [made(*range(len(names))) for _ in range(3)]
    steps = st.tuples(
        st.sampled_from(["set", "delete", "vars", "extra", "class"]), st.sampled_from(names), st.integers()
    )
    for step, name, value in data.draw(st.lists(steps, max_size=12)):
        node = nodes[value % 3]
        if step == "set":
            setattr(node, name, value)
        elif step == "delete" and hasattr(node, name) and name not in vars(made):
            delattr(node, name)
        elif step == "vars" and hasattr(node, "__dict__"):
            vars(node)[name] = value
        elif step == "extra" and hasattr(node, "__dict__"):
            setattr(node, f"more{value}", value)
        elif step == "class" and hasattr(node, "__dict__"):
            setattr(made, name, value)
        try:
            expected = [getattr(node, name) for node in nodes for name in names]
        except AttributeError:
            with pytest.raises(AttributeError):
                cp.tree_leaves(nodes)
        else:
            assert cp.tree_leaves(nodes) == expected
            assert cp.tree_structure(nodes).flatten_up_to(nodes) == expected


def test_a_class_dies_with_its_places() -> None:
    """A new class at the address of a dead one has a version of its own."""
    source = """
import dataclasses, gc
import clika_pytree as cp
for i in range(300):
    names = [f"f{(i + j) % 5}" for j in range(3)]
    made = cp.register_dataclass(dataclasses.make_dataclass("Made", names, slots=i % 2 == 0))
    node = made(*names)
    for _ in range(3):
        assert cp.tree_leaves([node]) == names
    cp.unregister_pytree_node(made)
    del made, node
    gc.collect()
print("read")
"""
    assert run_python(source).stdout == "read\n"
