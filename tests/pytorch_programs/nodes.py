"""Programs that register classes."""

from __future__ import annotations

import dataclasses
import warnings
from collections import namedtuple
from typing import Any

from . import either, loaded_again, new_class, outcome, outcomes, program, registered, written_paths


def flat(node):
    return node.items, node.note


def point_class(**options):
    @dataclasses.dataclass(**options)
    class Point:
        x: Any
        y: Any = None

    return Point


# --- by functions -----------------------------------------------------------------------------------------------------


@program(([1, 2, 3], [10, [20, 30]], "note", True))
def a_class_by_two_functions(pytree):
    cls = registered(pytree)
    node = cls(1, [2, 3], note="note")
    mapped = pytree.tree_map(lambda leaf: 10 * leaf, node)
    return pytree.tree_leaves(node), mapped.items, mapped.note, type(mapped) is cls


@program((["['a']", "['b']"], True, ["a", "b"], [5, 6]))
def a_class_by_all_arguments(pytree):
    cls = new_class()
    pytree.register_pytree_node(
        cls,
        lambda node: (node.items, node.note),
        lambda children, note: cls(*children, note=note),
        serialized_type_name="programs.AllArguments",
        to_dumpable_context=list,
        from_dumpable_context=tuple,
        flatten_with_keys_fn=lambda node: (
            [(pytree.MappingKey(name), item) for name, item in zip(node.note, node.items, strict=True)],
            node.note,
        ),
    )
    node = cls(1, 2, note=("a", "b"))
    spec = pytree.tree_structure(node)
    again = loaded_again(pytree, spec)
    return written_paths(pytree, node), again == spec, list(again.context), again.unflatten([5, 6]).items


@program(1)
def a_subclass_is_not_registered(pytree):
    return len(pytree.tree_leaves(type("Sub", (registered(pytree),), {})(1, 2)))


@program(["ValueError", "ValueError"])
def contexts_are_part_of_the_structure(pytree):
    cls = registered(pytree)
    one, other = cls(1, note="a"), cls(1, note="b")
    return [
        outcome(pytree.tree_map, max, one, other),
        outcome(pytree.tree_structure(one).flatten_up_to, other),
    ]


@program(["ValueError", "ValueError", "ValueError"])
def what_cannot_be_registered(pytree):
    cls = registered(pytree)
    classes = (cls, list, dict)
    return outcomes(pytree.register_pytree_node, [(each, flat, cls.built) for each in classes])


@program(["ValueError", 1], ["ValueError", 2], row="register_pytree_node")
def half_a_pair_of_functions(pytree):
    cls = new_class()
    refused = outcome(lambda: pytree.register_pytree_node(cls, flat, cls.built, to_dumpable_context=str))
    return [refused, len(pytree.tree_leaves(cls(1, 2)))]


@program("tuple", "list", row="register_pytree_node")
def the_children_that_unflatten_gets(pytree):
    kinds, cls = [], new_class()
    pytree.register_pytree_node(cls, flat, lambda children, _: kinds.append(type(children).__name__))
    pytree.tree_map(lambda leaf: leaf, cls(1))
    return kinds[0]


@program([[2, 4], [1, 2]], ["TypeError", "ValueError"], row="register_pytree_node")
def children_from_a_generator_and_names_for_them(pytree):
    lazy, named = new_class(), new_class()
    pytree.register_pytree_node(lazy, lambda node: (iter(node.items), None), lazy.built)
    pytree.register_pytree_node(named, lambda node: (node.items, None, ["a", "b"]), named.built)
    return [
        outcome(lambda: pytree.tree_map(lambda x, y: x + y, lazy(1, 2), lazy(1, 2)).items),
        outcome(pytree.tree_leaves, named(1, 2)),
    ]


@program(["TypeError"], ["ValueError"], row="register_pytree_node")
def a_flatten_function_that_forgot_the_context(pytree):
    cls = new_class()
    pytree.register_pytree_node(cls, lambda node: node.items, cls.built)
    return outcomes(pytree.tree_leaves, [(cls(1),)])


@program([1], [1, 2], row="register_pytree_node")
def a_namedtuple_that_is_registered(pytree):
    cls = namedtuple("Labelled", "value label")
    pytree.register_pytree_node(cls, lambda node: ([node.value], node.label), lambda c, label: cls(*c, label))
    return pytree.tree_leaves(cls(1, 2))


@program([1, [3, 4], "ValueError"], [1, "KeyError", "KeyError"], row="_deregister_pytree_node")
def a_class_is_taken_back(pytree):
    cls = registered(pytree, serialized_type_name="programs.TakenBack")
    take_back = either(pytree, "_deregister_pytree_node", "unregister_pytree_node")
    spec = pytree.tree_structure(cls(1, 2))
    take_back(cls)
    rebuilt = outcome(lambda: spec.unflatten([3, 4]).items)
    return [len(pytree.tree_leaves(cls(1, 2))), rebuilt, outcome(take_back, cls)]


@program([["Node", "Leaf"], [[1], 2]], row="SUPPORTED_NODES")
def one_level_of_a_tree(pytree):
    """PyTorch's registry is a dict of functions, which some projects read."""
    cls, tree = registered(pytree), [[1], 2]
    if hasattr(pytree, "SUPPORTED_NODES"):
        known = [type(obj) in pytree.SUPPORTED_NODES for obj in (cls(), 1)]
        children, _ = pytree.SUPPORTED_NODES[list].flatten_fn(tree)
    else:
        known = [pytree.is_registered(type(obj)) for obj in (cls(), 1)]
        children, _ = pytree.tree_flatten_one_level(tree)
    return [["Node" if each else "Leaf" for each in known], children]


# --- dataclasses ------------------------------------------------------------------------------------------------------


@program(([1, 2], "Point(x=10, y=20)", [".x", ".y"], True))
def a_dataclass(pytree):
    cls = point_class(frozen=True)
    cls.__qualname__ = "Point"
    pytree.register_dataclass(cls)
    leaves, spec = pytree.tree_flatten(cls(1, 2))
    mapped = pytree.tree_map(lambda leaf: 10 * leaf, cls(1, 2))
    return leaves, repr(mapped), written_paths(pytree, cls(1, 2)), spec == pytree.tree_structure(mapped)


@program((True, [3, 4]))
def a_dataclass_is_written(pytree):
    cls = point_class()
    pytree.register_dataclass(cls, serialized_type_name="programs.Point")
    spec = pytree.tree_structure([cls(1, 2)])
    again = loaded_again(pytree, spec)
    return again == spec, list(vars(again.unflatten([3, 4])[0]).values())


@program([[1, None], True], [[1], False], row="register_dataclass")
def a_field_that_is_none(pytree):
    cls = point_class()
    pytree.register_dataclass(cls)
    return [pytree.tree_leaves(cls(1)), pytree.tree_structure(cls(1)) == pytree.tree_structure(cls(1, 2))]


@program([1, [1, 3]], [2, [1]], row="register_dataclass")
def a_dataclass_that_computes_a_field(pytree):
    calls = []

    @dataclasses.dataclass
    class Derived:
        x: Any
        twice: Any = dataclasses.field(init=False, default=3)

        def __post_init__(self):
            calls.append(self.x)

    pytree.register_dataclass(Derived)
    derived = Derived(1)
    pytree.tree_map(lambda leaf: leaf, derived)
    return [len(calls), pytree.tree_leaves(derived)]


@program("DataclassKey", "GetAttrKey", row="register_dataclass")
def the_keys_of_a_dataclass(pytree):
    cls = point_class()
    pytree.register_dataclass(cls)
    return type(pytree.tree_leaves_with_path(cls(1, 2))[0][0][0]).__name__


@program([1], row="register_dataclass")
def fields_by_name(pytree):
    cls = point_class()
    try:
        pytree.register_dataclass(cls, field_names=["x"], drop_field_names=["y"])
    except TypeError:
        pytree.register_dataclass(cls, data_fields=["x"], meta_fields=[], drop_fields=["y"])
    return pytree.tree_leaves(cls(1, 2))


@program(["ValueError", "TypeError"], ["UserWarning", "ValueError"], row="register_dataclass")
def dataclasses_that_are_refused(pytree):
    cls = point_class()
    pytree.register_dataclass(cls)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return outcomes(pytree.register_dataclass, [(cls,), (new_class(),)])


# --- values -----------------------------------------------------------------------------------------------------------


@program(([1], True, False, True), row="register_constant")
def a_class_of_constants(pytree):
    @dataclasses.dataclass(frozen=True)
    class Config:
        depth: int

    either(pytree, "register_constant", "register_static")(Config)
    tree = [Config(2), 1]
    leaves, spec = pytree.tree_flatten(tree)
    same, other = pytree.tree_structure([Config(2), 5]), pytree.tree_structure([Config(3), 5])
    return leaves, spec == same, spec == other, spec.unflatten([7]) == [Config(2), 7]


@program([], "TypeError", row="register_constant")
def a_class_of_constants_without_equality(pytree):
    cls, register = new_class(), either(pytree, "register_constant", "register_static")
    return outcome(lambda: (register(cls), pytree.tree_leaves(cls()))[1])
