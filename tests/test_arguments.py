"""An argument of the wrong sort is refused before anything is done: the error names it and says what was expected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clika_pytree import pytree

CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "is_leaf": (lambda: pytree.tree_leaves([], is_leaf=3), "is_leaf must be a function, got 3"),
    "is_leaf of an iterator": (lambda: pytree.tree_iter([], is_leaf="x"), "is_leaf must be a function, got 'x'"),
    "is_leaf of one level": (
        lambda: pytree.tree_flatten_one_level([1], is_leaf=3),
        "tree_flatten_one_level() expects a function as is_leaf, got 3",
    ),
    "is_leaf of one object": (
        lambda: pytree.all_leaves([1], is_leaf=3),
        "tree_is_leaf() expects a function as is_leaf, got 3",
    ),
    "fn of an empty tree": (lambda: pytree.tree_map([], {}), "fn must be a function, got a list"),
    "fn of two trees": (lambda: pytree.tree_map(3, [1], [2]), "fn must be a function, got 3"),
    "fn for effect": (lambda: pytree.tree_map_(3, [1]), "fn must be a function, got 3"),
    "fn with paths": (lambda: pytree.tree_map_with_path(3, [1]), "fn must be a function, got 3"),
    "fn of some leaves": (lambda: pytree.tree_map_only(int, 3, [1]), "fn must be a function, got 3"),
    "key": (lambda: pytree.tree_max([1], key=3), "tree_max() expects a function as key, got 3"),
    "objects": (lambda: pytree.all_leaves(3), "all_leaves() expects an iterable of objects, got 3"),
    "path": (lambda: pytree.keystr(3), "keystr() expects a path, which is a tuple of keys, got 3"),
    "children": (
        lambda: pytree.treespec_list(3),
        "treespec_list() expects an iterable of TreeSpecs, one for each child, got 3",
    ),
    "mapping": (
        lambda: pytree.treespec_dict(3),
        "treespec_dict() expects a mapping, or pairs of a key and a TreeSpec, got 3",
    ),
    "pairs": (
        lambda: pytree.treespec_ordereddict("ab"),
        "treespec_ordereddict() expects a mapping, or pairs of a key and a TreeSpec, got 'ab'",
    ),
    "maxlen": (
        lambda: pytree.treespec_deque([], maxlen="x"),
        "treespec_deque() expects a number of items or None as maxlen, got 'x'",
    ),
}


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_an_argument_of_the_wrong_sort_is_refused(call, message):
    with pytest.raises(pytree.PyTreeTypeError) as raised:
        call()
    assert str(raised.value) == message


def test_errors_of_iterating_over_arguments_pass():
    class Broken:
        def __iter__(self) -> Any:
            raise LookupError("not now")

    for call in (pytree.keystr, pytree.treespec_list, pytree.treespec_dict, pytree.all_leaves):
        with pytest.raises(LookupError, match="not now"):
            call(Broken())
