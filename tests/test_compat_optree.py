"""`clika_pytree.compat.optree` beside optree: the same programs with both."""

from __future__ import annotations

import importlib
import inspect
import operator
from collections import OrderedDict, defaultdict, deque
from typing import Any

import pytest
from compat_programs import PAIRS, TREES, Point, add, is_pair, new_class, outcome, total
from registering import clean_registry  # noqa: F401

from clika_pytree.compat import optree as compat

pytest.importorskip("optree", reason="it is held against optree")
there: Any = importlib.import_module("optree")
BOTH_MODES = pytest.mark.parametrize("none_is_leaf", [False, True])
NAMESPACE = "compat tests"


def plain_paths(paths: list[Any]) -> list[tuple[Any, ...]]:
    """Paths with the index of a field of `Point` in the place of its name, as optree has it."""
    fields = {name: index for index, name in enumerate(Point._fields)}
    return [tuple(fields.get(entry, entry) for entry in path) for path in paths]


ONE_TREE = {
    "leaves": lambda m, t, **o: m.tree_leaves(t, **o),
    "leaves at pairs": lambda m, t, **o: m.tree_leaves(t, is_pair, **o),
    "flatten": lambda m, t, **o: m.tree_flatten(t, **o)[0],
    "iter": lambda m, t, **o: [*m.tree_iter(t, **o)],
    "round trip": lambda m, t, **o: repr(m.tree_unflatten(*reversed(m.tree_flatten(t, **o)))) == repr(t),
    "counts": lambda m, t, **o: (m.tree_structure(t, **o).num_leaves, m.tree_structure(t, **o).num_nodes),
    "map": lambda m, t, **o: m.tree_map(lambda leaf: [leaf], t, **o),
    "map in place": lambda m, t, **o: m.tree_map_(repr, t, **o) is t,
    "paths": lambda m, t, **o: plain_paths(m.tree_paths(t, **o)),
    "flatten with path": lambda m, t, **o: m.tree_flatten_with_path(t, **o)[1],
    "map with path": lambda m, t, **o: m.tree_map_with_path(lambda path, leaf: (len(path), leaf), t, **o),
    "map with path in place": lambda m, t, **o: m.tree_map_with_path_(lambda path, leaf: None, t, **o) is t,
    "nones": lambda m, t, **o: m.tree_replace_nones(0, t),
    "partition": lambda m, t, **o: m.tree_partition(bool, t, fillvalue="-", **o),
    "reduce": lambda m, t, **o: m.tree_reduce(total, t, "", **o),
    "reduce alone": lambda m, t, **o: outcome(m.tree_reduce, total, t, **o),
    "sum": lambda m, t, **o: outcome(m.tree_sum, t, **o),
    "joined": lambda m, t, **o: m.tree_sum(m.tree_map(str, t, **o), start="", **o),
    "max": lambda m, t, **o: m.tree_max(t, key=str, default=None, **o),
    "min": lambda m, t, **o: outcome(m.tree_min, t, key=str, **o),
    "all and any": lambda m, t, **o: (m.tree_all(t, **o), m.tree_any(t, **o)),
    "leaf": lambda m, t, **o: (m.tree_is_leaf(t, **o), m.all_leaves(m.tree_leaves(t, **o), **o)),
    "leaves of a list": lambda m, t, **o: m.all_leaves([t], **o),
    "one level": lambda m, t, **o: outcome(lambda: tuple(m.tree_flatten_one_level(t, **o))[:3]),
    "put together": lambda m, t, **o: outcome(
        lambda: (lambda one: one.unflatten_func(one.metadata, one.children))(m.tree_flatten_one_level(t, **o)) == t
    ),
    "spec": lambda m, t, **o: (lambda s: (
        *(len(m.treespec_children(s)), len(m.treespec_entries(s)), len(m.treespec_paths(s)), m.treespec_is_leaf(s)),
        *(m.treespec_is_leaf(s, strict=False), m.treespec_is_strict_leaf(s), m.treespec_is_one_level(s)),
        *(m.treespec_one_level(s) is None, m.treespec_is_prefix(s, s), m.treespec_is_suffix(s, s, strict=True)),
        m.treespec_transform(s, None, lambda leaf: m.treespec_list([leaf, leaf], **o)).num_leaves,
    ))(m.tree_structure(t, **o)),
    "transpose": lambda m, t, **o: outcome(m.tree_transpose_map, lambda leaf: {"x": leaf, "a": (0,)}, t, **o),
    "transpose with path": lambda m, t, **o: outcome(
        m.tree_transpose_map_with_path, lambda path, leaf: (len(path), leaf), t, **o
    ),
}  # fmt: skip
TWO_TREES = {
    "map": lambda m, a, b, **o: outcome(m.tree_map, add, a, b, **o),
    "broadcast map": lambda m, a, b, **o: outcome(m.tree_broadcast_map, add, a, b, **o),
    "broadcast map with path": lambda m, a, b, **o: outcome(
        m.tree_broadcast_map_with_path, lambda path, *leaves: (len(path), *leaves), a, b, **o
    ),
    "prefix": lambda m, a, b, **o: outcome(m.tree_broadcast_prefix, a, b, **o),
    "prefix as a list": lambda m, a, b, **o: outcome(m.broadcast_prefix, a, b, **o),
    "common": lambda m, a, b, **o: outcome(m.tree_broadcast_common, a, b, **o),
    "common as lists": lambda m, a, b, **o: outcome(m.broadcast_common, a, b, **o),
    "is prefix": lambda m, a, b, **o: m.treespec_is_prefix(m.tree_structure(a, **o), m.tree_structure(b, **o)),
}
LOOSE: list[tuple[Any, Any]] = [
    ({"a": 1, "b": 2}, OrderedDict(b=20, a=[10])),
    (defaultdict(list, a=1), {"a": 10}),
    ([OrderedDict(b=1, a=2)], [{"a": 10, "b": (20, 30)}]),
    (deque([1, 2], maxlen=3), deque([10, [20]])),
    ([{"k": deque([1])}], [OrderedDict(k=deque([2], maxlen=1))]),
    (OrderedDict(a=1), {"b": 1}),
]


@BOTH_MODES
@pytest.mark.parametrize("tree", TREES, ids=repr)
@pytest.mark.parametrize("name", ONE_TREE)
def test_one_tree(name: str, tree: Any, none_is_leaf: bool) -> None:
    ours, theirs = (ONE_TREE[name](m, tree, none_is_leaf=none_is_leaf) for m in (compat, there))
    assert repr(ours) == repr(theirs)


@BOTH_MODES
@pytest.mark.parametrize("pair", PAIRS, ids=repr)
@pytest.mark.parametrize("name", TWO_TREES)
def test_two_trees(name: str, pair: tuple[Any, Any], none_is_leaf: bool) -> None:
    ours, theirs = (TWO_TREES[name](m, *pair, none_is_leaf=none_is_leaf) for m in (compat, there))
    assert ours == theirs


@pytest.mark.parametrize("pair", LOOSE, ids=repr)
def test_kinds_of_dicts_and_maxlen_do_not_matter_in_further_trees(pair: tuple[Any, Any]) -> None:
    assert repr(outcome(compat.tree_map, add, *pair)) == repr(outcome(there.tree_map, add, *pair))


def specs(m: Any) -> list[Any]:
    leaf = m.treespec_leaf()
    return [
        leaf,
        m.treespec_none(),
        m.treespec_tuple([leaf, leaf]),
        m.treespec_list([leaf]),
        m.treespec_dict({"b": leaf}, a=m.treespec_list([leaf, leaf])),
        m.treespec_ordereddict([("b", leaf), ("a", leaf)]),
        m.treespec_defaultdict(list, {"b": leaf}, a=leaf),
        m.treespec_deque([leaf], maxlen=2),
        m.treespec_namedtuple(Point(leaf, leaf)),
        m.treespec_from_collection({"b": leaf, "a": m.treespec_none()}),
        m.treespec_child(m.treespec_tuple([leaf, m.treespec_list([leaf])]), 1),
    ]


def test_structures_from_those_of_their_children() -> None:
    for ours, theirs in zip(specs(compat), specs(there), strict=True):
        assert repr(ours.unflatten(range(ours.num_leaves))) == repr(theirs.unflatten(range(theirs.num_leaves)))


def test_transpose() -> None:
    def results(m: Any) -> Any:
        rows = [{"x": 1, "y": 2}, {"y": 4, "x": 3}]
        outer, inner = m.tree_structure([0, 0]), m.tree_structure({"x": 0, "y": 0})
        return m.tree_transpose(outer, inner, rows)

    assert results(compat) == results(there) == {"x": [1, 3], "y": [2, 4]}


def registered_class(m: Any, how: str) -> Any:
    cls = new_class()
    if how == "functions":
        return m.register_pytree_node(cls, cls.tree_flatten, cls.tree_unflatten, namespace=NAMESPACE)
    if how == "class":
        return m.register_pytree_node_class(cls, namespace=NAMESPACE)
    cls.__tree_flatten__ = lambda self: (*self.tree_flatten(), ("low", "high"))
    cls.__tree_unflatten__ = cls.tree_unflatten
    return m.register_pytree_node_class(NAMESPACE)(cls)


@pytest.mark.parametrize("how", ["functions", "class", "decorator with names"])
def test_a_registered_class(how: str) -> None:
    def results(m: Any) -> Any:
        cls = registered_class(m, how)
        tree = {"b": cls(1, None), "a": cls([2], 3)}
        mapped = m.tree_map(lambda leaf: leaf * 2, tree, namespace=NAMESPACE)
        found = [m.tree_leaves(tree, namespace=NAMESPACE), m.tree_paths(tree, namespace=NAMESPACE)]
        m.unregister_pytree_node(cls, namespace=NAMESPACE)
        return *found, vars(mapped["a"]), vars(mapped["b"]), len(m.tree_leaves(tree, namespace=NAMESPACE))

    assert results(compat) == results(there)


def test_the_order_of_dicts_for_a_namespace() -> None:
    def results(m: Any) -> Any:
        tree, found = {"b": 1, "a": 2}, []
        with m.dict_insertion_ordered(True, namespace=NAMESPACE):
            found += [m.tree_leaves(tree, namespace=NAMESPACE), m.tree_leaves(tree), m.tree_leaves(tree, namespace="x")]
            with m.dict_insertion_ordered(False, namespace=NAMESPACE):
                found.append(m.tree_leaves(tree, namespace=NAMESPACE))
            found.append(m.tree_leaves(tree, namespace=NAMESPACE))
        return [*found, m.tree_leaves(tree, namespace=NAMESPACE)]

    assert results(compat) == results(there)


def test_fields_and_constants() -> None:
    assert compat.namedtuple_fields(Point) == there.namedtuple_fields(Point(1, 2)) == ("x", "y")
    assert (compat.NONE_IS_NODE, compat.NONE_IS_LEAF) == (there.NONE_IS_NODE, there.NONE_IS_LEAF)
    assert outcome(compat.namedtuple_fields, [1]) == outcome(there.namedtuple_fields, [1]) == "TypeError"
    assert outcome(compat.register_pytree_node_class, new_class()) == "TypeError"


def test_the_names() -> None:
    absent = set(there.__all__) - set(compat.__all__)
    assert len(absent) < 35
    words = (
        "accessor",
        "entry",
        "structseq",
        "structsequence",
        "frozendict",
        "kind",
        "typevar",
        "func",
        "node",
        "errors",
    )
    unsaid = [name for name in absent if not any(word in name.lower() for word in words)]
    assert unsaid == ["MAX_RECURSION_DEPTH"]
    assert [name for name in compat.__all__ if not hasattr(compat, name)] == []
    assert set(compat.__all__) <= set(there.__all__)


@pytest.mark.parametrize("name", [name for name in compat.__all__ if name.startswith("tree")])
def test_the_arguments(name: str) -> None:
    """What optree takes by position is taken here in the same place, and what it takes by name under that name."""
    ours, theirs = (inspect.signature(getattr(m, name)).parameters for m in (compat, there))
    takes_options = any(parameter.kind is parameter.VAR_KEYWORD for parameter in ours.values())
    by_name = {key for key, each in theirs.items() if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)}
    assert takes_options or by_name <= set(ours)
    assert len([*filter(is_positional, ours.values())]) == len([*filter(is_positional, theirs.values())])


def is_positional(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)


def test_the_mapped_function_sees_the_usual_order() -> None:
    import clika_pytree

    seen: list[Any] = []
    compat.tree_map(lambda leaf: seen.append(clika_pytree.tree_leaves({"b": 1, "a": 2})), [0])
    assert seen == [[1, 2]]
    assert operator.ne([1, 2], compat.tree_leaves({"b": 1, "a": 2}))
