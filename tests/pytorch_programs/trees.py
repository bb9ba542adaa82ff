"""Programs that take trees apart and put them together."""

from __future__ import annotations

import functools
from collections import Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple

from . import EVERYWHERE, outcome, outcomes, program

Point = namedtuple("Point", "x y")


def every_kind():
    return {
        "list": [1, (2,)],
        "ordered": OrderedDict(b=3, a=4),
        "default": defaultdict(list, k=5),
        "deque": deque([6, 7], maxlen=3),
        "named": Point(8, None),
    }


def is_list(node):
    return isinstance(node, list)


# --- taking apart -----------------------------------------------------------------------------------------------------


@program(([1, 2, 3], 3))
def flatten_reads_depth_first(pytree):
    leaves, spec = pytree.tree_flatten([1, (2, {"a": 3})])
    return leaves, spec.num_leaves


@program([1, 2, 3, 4, 5, 6, 7, 8, None])
def flatten_knows_every_container(pytree):
    return pytree.tree_flatten(every_kind())[0]


@program([["text"], [b"bytes"], [1.5], [range(3)], [None]])
def a_leaf_is_a_tree(pytree):
    return [pytree.tree_leaves(leaf) for leaf in ("text", b"bytes", 1.5, range(3), None)]


@program([1, 1, 1, 1])
def other_containers_are_leaves(pytree):
    class Table(dict):
        pass

    return [len(pytree.tree_leaves(leaf)) for leaf in ({1, 2}, Table(a=1, b=2), UserDict(a=1, b=2), Counter("ab"))]


@program([[], [], [], []])
def empty_containers_have_no_leaves(pytree):
    return [pytree.tree_leaves(tree) for tree in ([], (), {}, [[], {"a": ()}])]


@program(["b", "a"])
def dicts_flatten_in_insertion_order(pytree):
    return pytree.tree_leaves({2: "b", 1: "a"})


@program(([[1], 2, [3]], [{"a": [1]}], [[1], 2, [3]], True))
def is_leaf_stops_the_walk(pytree):
    tree = {"a": [1], "b": (2, [3])}
    flat, spec = pytree.tree_flatten(tree, is_leaf=is_list)
    whole = pytree.tree_leaves({"a": [1]}, lambda node: True)
    return flat, whole, list(pytree.tree_iter(tree, is_list)), spec == pytree.tree_structure(tree, is_list)


@program([[1, [2]], 1, [2], 2])
def is_leaf_is_asked_of_every_node(pytree):
    asked = []
    pytree.tree_flatten([1, [2]], asked.append)
    return asked


@program((1, [2, 3], True))
def tree_iter_is_an_iterator(pytree):
    leaves = pytree.tree_iter([1, [2, (3,)]])
    return next(leaves), list(leaves), iter(leaves) is leaves


@program((True, True, False, False, True))
def tree_is_leaf_looks_at_one_node(pytree):
    ask = pytree.tree_is_leaf
    return ask(1), ask(None), ask([]), ask(tree=Point(1, 2)), ask([1], is_leaf=is_list)


@program([1, 2, 3, 4])
def arguments_of_a_call(pytree):
    return pytree.arg_tree_leaves([1, (2,)], 3, mask={"rows": 4})


@program(([True, True, False, False], [True, False], [True, False], [Point(1, 2), 3]))
def namedtuples_are_told_from_tuples(pytree):
    return (
        [pytree.is_namedtuple(obj) for obj in (Point, Point(1, 2), (1, 2), tuple)],
        [pytree.is_namedtuple_class(obj) for obj in (Point, Point(1, 2))],
        [pytree.is_namedtuple_instance(obj) for obj in (Point(1, 2), Point)],
        pytree.tree_leaves([Point(1, 2), (3,)], is_leaf=pytree.is_namedtuple_instance),
    )


@program((True, True, [1, 2]), (False, False, [(1, 2)]), row="is_namedtuple")
def a_tuple_class_with_field_names_alone(pytree):
    class Fields(tuple):
        __slots__ = ()
        _fields = ("a", "b")

    pair = Fields((1, 2))
    return pytree.is_namedtuple_class(Fields), pytree.is_namedtuple_instance(pair), pytree.tree_leaves(pair)


@program(2001, "RecursionError", row=EVERYWHERE)
def a_deep_tree(pytree):
    deep = 1
    for _ in range(2000):
        deep = [deep]
    return outcome(lambda: pytree.tree_flatten(deep)[1].num_nodes)


@program("ValueError", "RecursionError", row=EVERYWHERE)
def a_circle(pytree):
    circle = [1]
    circle.append(circle)
    return outcome(pytree.tree_flatten, circle)


# --- putting together -------------------------------------------------------------------------------------------------


@program(({"a": [10, 20]}, {"a": [10, 20]}))
def unflatten_takes_both_orders(pytree):
    spec = pytree.tree_structure({"a": [1, 2]})
    return pytree.tree_unflatten([10, 20], spec), pytree.tree_unflatten(spec, [10, 20])


@program(((1, 2), (1, 2), (3, 4)))
def unflatten_by_keyword(pytree):
    spec = pytree.tree_structure((0, 0))
    rebuild = functools.partial(pytree.tree_unflatten, treespec=spec)
    return pytree.tree_unflatten(leaves=[1, 2], treespec=spec), rebuild([1, 2]), rebuild((3, 4))


@program([[1, 2], [1, 2], ["a", "b"]])
def leaves_are_any_iterable(pytree):
    spec = pytree.tree_structure([0, 0])
    iterables = (iter((1, 2)), (n for n in (1, 2)), {"a": 1, "b": 2}.keys())
    return [pytree.tree_unflatten(leaves, spec) for leaves in iterables]


@program(["ValueError", "ValueError", "TypeError", "TypeError"])
def what_unflatten_refuses(pytree):
    spec = pytree.tree_structure([0, 0])
    return outcomes(pytree.tree_unflatten, [([1], spec), ([1, 2, 3], spec), ([1, 2], [3]), (spec, spec)])


@program(["TypeError"] * 3, [["a", "b"], ["k", "l"], [1, 2]], row="tree_unflatten")
def text_and_dicts_are_no_list_of_leaves(pytree):
    spec = pytree.tree_structure([0, 0])
    return outcomes(pytree.tree_unflatten, [("ab", spec), ({"k": 1, "l": 2}, spec), ({1, 2}, spec)])


@program("TypeError", [1], row="tree_unflatten")
def keywords_are_not_swapped(pytree):
    spec = pytree.tree_structure([0])
    return outcome(lambda: pytree.tree_unflatten(leaves=spec, treespec=[1]))


@program((["a", "b"], [1], 3, "Point"))
def a_rebuilt_tree_has_the_same_containers(pytree):
    leaves, spec = pytree.tree_flatten(every_kind())
    tree = pytree.tree_unflatten(leaves, spec)
    tree["ordered"].move_to_end("b")
    tree["default"]["new"].append(1)
    return list(tree["ordered"]), tree["default"]["new"], tree["deque"].maxlen, type(tree["named"]).__name__


@program((1, 4), "TypeError", row="tree_unflatten")
def a_namedtuple_with_a_constructor_of_its_own(pytree):
    class Ends(namedtuple("Ends", "start stop")):
        __slots__ = ()

        def __new__(cls, both):
            return super().__new__(cls, both.start, both.stop)

    return outcome(lambda: tuple(pytree.tree_map(lambda leaf: leaf, Ends(range(1, 4)))))
