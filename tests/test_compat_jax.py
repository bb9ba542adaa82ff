"""`clika_pytree.compat.jax` beside JAX: the same programs with both."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest
from compat_programs import PAIRS, TREES, add, dataclass_of_two, is_pair, new_class, outcome, total
from registering import clean_registry  # noqa: F401

import clika_pytree as cp
from clika_pytree.compat import jax as compat
from clika_pytree.compat.jax import tree as short

pytest.importorskip("jax", reason="it is held against JAX")
there: Any = importlib.import_module("jax.tree_util")
there_short: Any = importlib.import_module("jax.tree")
ABSENT = {"default_registry", "flatten_one_level_with_keys", "is_tree_node"}

ONE_TREE = {
    "leaves": lambda m, t: m.tree_leaves(t),
    "leaves at pairs": lambda m, t: m.tree_leaves(t, is_pair),
    "flatten": lambda m, t: m.tree_flatten(t)[0],
    "round trip": lambda m, t: m.tree_unflatten(*reversed(m.tree_flatten(t))) == t,
    "counts": lambda m, t: (m.tree_structure(t).num_leaves, m.tree_structure(t).num_nodes),
    "map": lambda m, t: m.tree_map(lambda leaf: [leaf], t),
    "map at pairs": lambda m, t: m.tree_map(str, t, is_leaf=is_pair),
    "reduce": lambda m, t: m.tree_reduce(total, t, ""),
    "reduce without a beginning": lambda m, t: outcome(m.tree_reduce, total, t),
    "reduce in pairs": lambda m, t: outcome(m.tree_reduce_associative, total, t, identity="none"),
    "all": lambda m, t: m.tree_all(t),
    "all leaves": lambda m, t: (m.all_leaves(m.tree_leaves(t)), m.all_leaves([t])),
    "paths": lambda m, t: [(m.keystr(path), leaf) for path, leaf in m.tree_leaves_with_path(t)],
    "short paths": lambda m, t: [
        m.keystr(path, simple=True, separator="/") for path, _ in m.tree_flatten_with_path(t)[0]
    ],
    "map with path": lambda m, t: m.tree_map_with_path(lambda path, leaf: (len(path), leaf), t),
    "one level": lambda m, t: outcome(lambda: list(m.flatten_one_level(t)[0])),
    "is leaf": lambda m, t: m.treedef_is_leaf(m.tree_structure(t)),
    "children": lambda m, t: [each.num_leaves for each in m.treedef_children(m.tree_structure(t))],
    "tuple": lambda m, t: m.tree_unflatten(m.treedef_tuple([m.tree_structure(t)]), m.tree_leaves(t)) == (t,),
    "one structure": lambda m, t: m.tree_structure(t) == m.tree_structure(m.tree_map(str, t)),
    "transpose": lambda m, t: outcome(
        lambda: m.tree_transpose(m.tree_structure(t), None, m.tree_map(lambda leaf: {"x": leaf, "a": 0}, t))
        if m.tree_leaves(t)
        else None
    ),
}  # fmt: skip
TWO_TREES = {
    "map": lambda m, a, b: outcome(m.tree_map, add, a, b),
    "map with path": lambda m, a, b: outcome(
        m.tree_map_with_path, lambda path, *leaves: (m.keystr(path), *leaves), a, b
    ),
    "broadcast": lambda m, a, b: outcome(m.tree_broadcast, a, b),
    "equal": lambda m, a, b: m.tree_structure(a) == m.tree_structure(b),
}


@pytest.mark.parametrize("tree", TREES, ids=repr)
@pytest.mark.parametrize("name", ONE_TREE)
def test_one_tree(name: str, tree: Any) -> None:
    assert ONE_TREE[name](compat, tree) == ONE_TREE[name](there, tree)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
@pytest.mark.parametrize("name", TWO_TREES)
def test_two_trees(name: str, pair: tuple[Any, Any]) -> None:
    assert TWO_TREES[name](compat, *pair) == TWO_TREES[name](there, *pair)


def registered_class(m: Any, how: str) -> Any:
    cls = new_class()
    if how == "functions":
        m.register_pytree_node(cls, cls.tree_flatten, cls.tree_unflatten)
    elif how == "class":
        assert m.register_pytree_node_class(cls) is cls
    else:
        cls.tree_flatten_with_keys = lambda self: (
            [(m.GetAttrKey("low"), self.low), (m.DictKey("high"), self.high)],
            self.unit,
        )
        if how == "keys":
            m.register_pytree_with_keys(cls, cls.tree_flatten_with_keys, cls.tree_unflatten)
        else:
            m.register_pytree_with_keys_class(cls)
    return cls


@pytest.mark.parametrize("how", ["functions", "class", "keys", "class with keys"])
def test_a_registered_class(how: str) -> None:
    def results(m: Any) -> Any:
        cls = registered_class(m, how)
        tree = {"b": cls(1, None), "a": cls([2], 3)}
        mapped = m.tree_map(lambda leaf: leaf * 2, tree)
        paths = [m.keystr(path) for path, _ in m.tree_leaves_with_path(tree)]
        return m.tree_leaves(tree), vars(mapped["a"]), vars(mapped["b"]), paths

    assert results(compat) == results(there)


@pytest.mark.parametrize("lists", [(), (["bias"], ["weight", "name"]), (["weight"], ["name"], ["bias"])], ids=repr)
def test_a_dataclass(lists: tuple[Any, ...]) -> None:
    def results(m: Any) -> Any:
        cls = m.register_dataclass(dataclass_of_two(with_derived=bool(lists)), *lists)
        node = m.tree_map(str, cls(1, 2, "x"))
        return m.tree_leaves(cls([1], None)), vars(node), m.keystr(m.tree_leaves_with_path(cls(1, 2))[0][0])

    assert results(compat) == results(there)


def test_a_class_that_is_no_dataclass() -> None:
    def results(m: Any) -> Any:
        cls = m.register_dataclass(new_class(), ["low", "high"], ["unit"])
        return m.tree_leaves(cls(1, 2)), vars(m.tree_map(str, cls(1, 2, "cm")))

    assert results(compat) == results(there)


def test_a_static_class_and_a_partial() -> None:
    def results(m: Any) -> Any:
        cls = m.register_static(type("Static", (), {}))
        call = m.Partial(total, right=2)
        return m.tree_leaves([cls(), 1]), m.tree_leaves(call), m.tree_map(str, call)("a")

    assert results(compat) == results(there)


def test_a_static_field() -> None:
    def results(m: Any) -> Any:
        return m.static(default=3).metadata["static"], m.static(default=3).default

    assert results(short) == results(there_short)


def test_the_names() -> None:
    names = {name for name in dir(there) if not name.startswith("_")}
    assert names - set(compat.__all__) == ABSENT
    assert {name for name in dir(there_short) if not name.startswith("_")} == set(short.__all__)
    assert [name for name in compat.__all__ if not hasattr(compat, name)] == []


@pytest.mark.parametrize("name", [name for name in compat.__all__ if name.islower()])
def test_the_arguments(name: str) -> None:
    """What JAX takes by position or by name is taken here under the same name and in the same place."""
    ours, theirs = inspect.signature(getattr(compat, name)), inspect.signature(getattr(there, name))
    kept = [parameter for parameter in theirs.parameters if parameter != "is_leaf_takes_path"]
    assert [*ours.parameters][: len(kept)] == kept or name == "register_static"


def test_dicts_are_read_by_sorted_key_in_the_functions_alone() -> None:
    import clika_pytree

    seen: list[Any] = []
    compat.tree_map(lambda leaf: seen.append(clika_pytree.tree_leaves({"b": 1, "a": 2})), [0])
    assert seen == [[1, 2]]


def test_an_error_of_a_function_names_the_place() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        compat.tree_map(lambda leaf: 1 / leaf, {"b": [1, 0]})
    assert caught.value.__notes__ == ["clika_pytree: raised by the mapped function at ['b'][1]"]


def test_user_code_is_in_no_block() -> None:
    """The order is that of the call alone; what the call runs reads dicts as it would anywhere."""
    seen: list[list[int]] = []

    def read(_: Any) -> bool:
        seen.append(cp.tree_leaves({"b": 1, "a": 2}))
        return False

    assert compat.tree_leaves({"b": [1], "a": 2}, read) == [2, 1]
    assert compat.tree_map(lambda x: cp.tree_leaves({"b": x, "a": 0})[0], {"b": [1], "a": 2}, is_leaf=read) == {
        "b": [1],
        "a": 2,
    }
    assert seen == [[1, 2]] * len(seen)
    with cp.dict_insertion_ordered(True):
        assert compat.tree_leaves({"b": 1, "a": 2}) == [2, 1]
