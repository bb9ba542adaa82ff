"""Programs that map over trees, choose leaves, and ask about them."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Optional

from . import EVERYWHERE, outcome, outcomes, program

Point = namedtuple("Point", "x y")


def is_list(node):
    return isinstance(node, list)


def add(*leaves):
    return sum(leaves)


# --- mapping ----------------------------------------------------------------------------------------------------------


@program({"x": 8, "y": (43, 65)})
def map_one_tree(pytree):
    return pytree.tree_map(lambda leaf: leaf + 1, {"x": 7, "y": (42, 64)})


@program({"x": False, "y": [True]})
def map_sees_none(pytree):
    return pytree.tree_map(lambda leaf: leaf is None, {"x": 7, "y": [None]})


@program({"w": [111, (222,)], "b": 333})
def map_several_trees(pytree):
    return pytree.tree_map(add, *({"w": [n, (2 * n,)], "b": 3 * n} for n in (1, 10, 100)))


@program([{"a": 2}, [3]])
def map_in_a_partial(pytree):
    increment = functools.partial(pytree.tree_map, lambda leaf: leaf + 1)
    return [increment({"a": 1}), increment([2])]


@program({"a": ([1, 2], {"c": 4}), "b": (3, None)})
def a_container_by_is_leaf_meets_anything(pytree):
    one, other = {"a": [1, 2], "b": 3}, {"a": {"c": 4}, "b": None}
    return pytree.tree_map(lambda x, y: (x, y), one, other, is_leaf=is_list)


@program(["ValueError"] * 6)
def trees_that_do_not_fit(pytree):
    pairs = [
        ([1, 2], [1]),
        ([1, 2], (1, 2)),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ([1, [2]], [1, 2]),
        (Point(1, 2), namedtuple("Other", "x y")(1, 2)),
    ]
    return outcomes(functools.partial(pytree.tree_map, add), pairs)


@program(["ValueError"], [[(1, [1, 2]), (2, (3,))]], row="tree_map")
def a_leaf_meets_a_container(pytree):
    return outcomes(functools.partial(pytree.tree_map, lambda x, y: (x, y)), [([1, 2], [[1, 2], (3,)])])


@program([(1, [1, 2]), (2, (3,))])
def a_leaf_meets_a_container_step_by_step(pytree):
    leaves, spec = pytree.tree_flatten([1, 2])
    return spec.unflatten(zip(leaves, spec.flatten_up_to([[1, 2], (3,)]), strict=True))


@program("ValueError", {"a": 11, "b": 22}, row="tree_map")
def dicts_in_another_order(pytree):
    return outcome(pytree.tree_map, add, {"a": 1, "b": 2}, {"b": 20, "a": 10})


@program(["ValueError"] * 3, [{"a": 3}, defaultdict(list, a=3), deque([3], maxlen=4)], row="tree_map")
def containers_that_are_nearly_the_same(pytree):
    pairs = [
        ({"a": 1}, OrderedDict(a=2)),
        (defaultdict(list, a=1), defaultdict(int, a=2)),
        (deque([1], maxlen=4), deque([2])),
    ]
    return outcomes(functools.partial(pytree.tree_map, add), pairs)


@program(["TypeError", "TypeError"], [["1"], ["1"]], row=EVERYWHERE)
def functions_and_trees_by_keyword(pytree):
    return [
        outcome(lambda: pytree.tree_map(func=str, tree=[1])),
        outcome(lambda: pytree.tree_map_only(int, func=str, tree=[1])),
    ]


@program("StopIteration", "ValueError", row="tree_map")
def a_function_that_stops_iteration(pytree):
    return outcome(pytree.tree_map, lambda leaf: next(iter(())), [1, 2])


@program(["KeyError", "ZeroDivisionError"])
def errors_of_functions_keep_their_type(pytree):
    return outcomes(pytree.tree_map, [({}.__getitem__, {"a": 0}), (lambda leaf: 1 / leaf, [0])])


@program(([1, 2, [3]], True))
def map_in_place_gives_the_tree_back(pytree):
    seen, tree = [], {"a": 1, "b": (2, [3])}
    result = pytree.tree_map_(seen.append, tree, is_leaf=is_list)
    return seen, result is tree


# --- choosing leaves --------------------------------------------------------------------------------------------------


@program([[0, 0, "a", 2.5, None], [0, 0, 0, 2.5, None], [0, 0, "a", 0, None], [1, True, "a", 2.5, 0]])
def map_only_some_types(pytree):
    leaves = [1, True, "a", 2.5, None]
    return [pytree.tree_map_only(types, lambda _: 0, leaves) for types in (int, (int, str), int | float, type(None))]


@program({"a": [1, -20], "b": -30})
def map_only_by_a_predicate(pytree):
    return pytree.tree_map_only(lambda leaf: leaf > 1, lambda leaf: -10 * leaf, {"a": [1, 2], "b": 3})


@program(([1, [2]], [1, "[2]"]))
def map_only_sees_leaves_alone(pytree):
    return (
        pytree.tree_map_only(list, str, [1, [2]]),
        pytree.tree_map_only(list, str, [1, [2]], lambda node: node == [2]),
    )


@program(([1, 3], True))
def map_only_in_place(pytree):
    seen, tree = [], [1, "two", (3,)]
    result = pytree.tree_map_only_(int, seen.append, tree)
    return seen, result is tree


@program(["TypeError", "TypeError"])
def filters_that_are_none(pytree):
    return outcomes(pytree.tree_map_only, [(1, str, [1]), ([int], str, [1])])


@program(["1", "None", 2.5], "TypeError", row="tree_map_only")
def map_only_an_optional(pytree):
    return outcome(pytree.tree_map_only, Optional[int], str, [1, None, 2.5])  # noqa: UP045


# --- asking -----------------------------------------------------------------------------------------------------------


@program([True, False, True, False, True, False])
def all_and_any_ask_a_function(pytree):
    return [
        pytree.tree_all(lambda leaf: leaf > 0, {"a": 1, "b": [2]}),
        pytree.tree_all(lambda leaf: leaf > 1, {"a": 1, "b": [2]}),
        pytree.tree_any(lambda leaf: leaf > 1, {"a": 1, "b": [2]}),
        pytree.tree_any(pred=is_list, tree=[1, [2]]),
        pytree.tree_any(is_list, [1, [2]], is_list),
        pytree.tree_all(is_list, [1, [2]], lambda node: node == [2]),
    ]


@program([True, False, True, False])
def all_and_any_of_no_leaves(pytree):
    return [
        pytree.tree_all(bool, []),
        pytree.tree_any(bool, {"a": ()}),
        pytree.tree_all_only(int, bool, ["text"]),
        pytree.tree_any_only(int, bool, ["text"]),
    ]


@program(([1, 0], [1]))
def all_and_any_stop_early(pytree):
    asked_by_all, asked_by_any = [], []
    pytree.tree_all(lambda leaf: asked_by_all.append(leaf) or leaf, [1, 0, 2])
    pytree.tree_any(lambda leaf: asked_by_any.append(leaf) or leaf, [1, 0, 2])
    return asked_by_all, asked_by_any


@program([True, False, True, True])
def all_and_any_of_some_types(pytree):
    tree = {"a": 1, "b": ["text", 2.5]}
    return [
        pytree.tree_all_only((int, float), lambda leaf: leaf > 0, tree),
        pytree.tree_any_only(str, str.isupper, tree),
        pytree.tree_any_only(int | float, lambda leaf: leaf > 2, tree),
        pytree.tree_all_only(str, pred=str.islower, tree=tree, is_leaf=None),
    ]


@program([True, True], ["TypeError", "TypeError"], row="tree_all_only")
def all_and_any_of_leaves_by_a_predicate(pytree):
    calls = [(lambda leaf: leaf != 3, lambda leaf: leaf < 3, [1, 2, 3])]
    return outcomes(pytree.tree_all_only, calls) + outcomes(pytree.tree_any_only, calls)


@program([True, True], ["TypeError", "TypeError"], row="tree_all")
def all_and_any_without_a_function(pytree):
    return [outcome(pytree.tree_all, [1, (True, "text")]), outcome(pytree.tree_any, [0, 1])]


@program([[0, 1, 1], "ValueError"], [[0, 1, 1], None], row="_broadcast_to_and_flatten")
def a_prefix_is_repeated_for_the_leaves_below_it(pytree):
    """In the way of `vmap` with its `in_dims`."""

    def in_dims_of_each(in_dims, inputs):
        if hasattr(pytree, "tree_broadcast_prefix"):
            return pytree.tree_leaves(pytree.tree_broadcast_prefix(in_dims, inputs))
        return pytree._broadcast_to_and_flatten(in_dims, pytree.tree_structure(inputs))

    inputs = ("x", {"a": "y", "b": "z"})
    return outcomes(in_dims_of_each, [((0, 1), inputs), ([0, 1], inputs)])


@program({"a": 6, "b": 4}, row="map_only")
def a_function_for_some_types(pytree):
    if hasattr(pytree, "map_only"):
        return pytree.tree_map(pytree.map_only(float)(lambda leaf: int(2 * leaf)), {"a": 3.0, "b": 4})
    return pytree.tree_map_only(float, lambda leaf: int(2 * leaf), {"a": 3.0, "b": 4})
