"""Random trees: the modules of `clika_pytree.compat` beside the libraries that they stand for."""

from __future__ import annotations

import importlib
from collections import OrderedDict, defaultdict
from typing import Any

import pytest
import strategies  # noqa: F401  (its profiles)
from compat_programs import Point, add, outcome
from hypothesis import given
from hypothesis import strategies as st

KEYS = st.text("abcxyz", min_size=1, max_size=2)
LEAVES = st.one_of(st.integers(0, 9), st.none(), st.text("pq", max_size=1))
MODULES = {"jax": "jax.tree_util", "optree": "optree", "torch": "torch.utils._pytree"}


def containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(children, max_size=3)
    dicts = st.dictionaries(KEYS, children, max_size=3)
    return st.one_of(
        *(lists, lists.map(tuple), dicts, dicts.map(OrderedDict), dicts.map(lambda d: defaultdict(list, d))),
        st.builds(Point, children, children),
    )


TREES = st.recursive(LEAVES, containers, max_leaves=12)


def like(tree: Any, draw: Any) -> Any:
    """A tree of the same containers, its dicts in another order, with something else at each leaf."""
    if type(tree) in (list, tuple):
        return type(tree)(like(child, draw) for child in tree)
    if type(tree) is Point:
        return Point(like(tree.x, draw), like(tree.y, draw))
    if isinstance(tree, dict):
        items = [(key, like(child, draw)) for key, child in tree.items()]
        if type(tree) is not OrderedDict:
            items = draw(st.permutations(items))
        return defaultdict(list, items) if type(tree) is defaultdict else type(tree)(items)
    return tree if tree is None else draw(st.sampled_from([0, "s", [1], {"k": 2}, ()]))


@pytest.mark.parametrize("library", MODULES)
@given(tree=TREES, data=st.data())
def test_a_random_tree(library: str, tree: Any, data: st.DataObject) -> None:
    there: Any = pytest.importorskip(MODULES[library], reason="it is held against it")
    here = importlib.import_module(f"clika_pytree.compat.{library}")
    other = like(tree, data.draw)
    for results in (one_tree, lambda m, tree: two_trees(m, tree, other), lambda m, tree: two_trees(m, other, tree)):
        assert results(here, tree) == results(there, tree)


def one_tree(m: Any, tree: Any) -> list[Any]:
    leaves, spec = m.tree_flatten(tree)
    return [leaves, spec.num_leaves, spec.unflatten(leaves), spec == m.tree_structure(tree), m.tree_map(repr, tree)]


def two_trees(m: Any, one: Any, other: Any) -> list[Any]:
    leaf = {"k": 2}
    found = [outcome(m.tree_map, add, one, other), m.tree_leaves([one, leaf, other])]
    return [*found, m.tree_structure(one) == m.tree_structure(other)]
