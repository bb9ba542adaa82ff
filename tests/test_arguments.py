"""An argument of the wrong sort is refused before anything is done: the error names it and says what was expected."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clika_pytree import pytree

SPEC = pytree.tree_structure([1])
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
    "none_is_leaf": (lambda: pytree.tree_leaves([], none_is_leaf=0), "none_is_leaf must be True or False, got 0"),
    "none_is_leaf of None": (
        lambda: pytree.tree_map(abs, [], none_is_leaf=None),
        "none_is_leaf must be True or False, got None",
    ),
    "mode": (lambda: pytree.dict_insertion_ordered("no"), "mode must be True or False, got 'no'"),
    "simple": (lambda: pytree.keystr((), simple=0), "simple must be True or False, got 0"),
    "separator": (lambda: pytree.keystr((), separator=None), "separator must be a str, got None"),
    "index": (lambda: pytree.tree_structure([1]).child("a"), "index must be an int, got 'a'"),
    "a key for a path": (
        lambda: pytree.keystr("abc"),
        "keystr() expects a path, which is a tuple of keys, got 'abc'",
    ),
    "path": (lambda: pytree.keystr(3), "keystr() expects a path, which is a tuple of keys, got 3"),
    "leaves": (lambda: pytree.tree_diff([], [], leaves="x"), "tree_diff() expects True or False as leaves, got 'x'"),
    "leaves of structures": (
        lambda: pytree.tree_diff(SPEC, SPEC, leaves=1),
        "tree_diff() expects True or False as leaves, got 1",
    ),
    "is_leaf of structures": (lambda: pytree.tree_diff(SPEC, SPEC, is_leaf=3), "is_leaf must be a function, got 3"),
    "none_is_leaf of structures": (
        lambda: pytree.tree_diff(SPEC, SPEC, none_is_leaf="x"),
        "none_is_leaf must be True or False, got 'x'",
    ),
    "namespace of structures": (
        lambda: pytree.tree_diff(SPEC, SPEC, namespace=3),
        "namespace must be a str or a tuple of str, got 3",
    ),
    "max_rows": (
        lambda: pytree.tree_summary([], max_rows="x"),
        "tree_summary() expects a number from 0 on or None as max_rows, got 'x'",
    ),
    "max_rows below 0": (
        lambda: pytree.tree_summary([], max_rows=-1),
        "tree_summary() expects a number from 0 on or None as max_rows, got -1",
    ),
    "max_rows that is a flag": (
        lambda: pytree.tree_summary([], max_rows=True),
        "tree_summary() expects a number from 0 on or None as max_rows, got True",
    ),
    "example beside an instance": (
        lambda: pytree.check_node([1], [2]),
        "check_node() expects a class with an example of it, or an instance alone: got a list and a list",
    ),
    "namespace of a check": (
        lambda: pytree.check_node([1], namespace=3),
        "namespace must be a str or a tuple of str, got 3",
    ),
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
    "maxlen below 0": (
        lambda: pytree.treespec_deque(maxlen=-1),
        "treespec_deque() expects a number from 0 on or None as maxlen, got -1",
    ),
    "maxlen": (
        lambda: pytree.treespec_deque([], maxlen="x"),
        "treespec_deque() expects a number from 0 on or None as maxlen, got 'x'",
    ),
}


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_an_argument_of_the_wrong_sort_is_refused(call, message):
    with pytest.raises((pytree.PyTreeTypeError, pytree.PyTreeValueError)) as raised:
        call()
    assert str(raised.value) == message


# What each parameter is given in a call that is right but for one of them.
RIGHT: dict[str, Any] = {
    "a": {"x": 1},
    "b": {"x": 2},
    "cls": type("Fresh", (), {}),
    "filter": int,
    "path": (),
    "tree": {"x": 1},
    **dict.fromkeys(("spec", "treespec", "other", "inner", "outer"), pytree.tree_structure({"x": 1})),
}
# Arguments of which Python, numpy or the leaves themselves say what is wrong.
SPEAK_FOR_THEMSELVES = ("tree", "start", "dtype", "fn", "pred", "is_leaf", "a", "b")
WRONG = (0, -1, 2.5, "x", b"x", None, True, (), [], {}, object(), np.ones(2), object)


def functions() -> dict[str, Callable[..., Any]]:
    """The public functions and classes that have a signature, boundaries apart: those have files to lose."""
    found = {name: getattr(pytree, name) for name in pytree.__all__}
    return {
        name: function
        for name, function in found.items()
        if callable(function)
        and name not in ("Partial", "PyTree")
        and not (isinstance(function, type) and issubclass(function, Exception))
    }


def call_with(function: Callable[..., Any], wrong: inspect.Parameter, value: object) -> None:
    args, kwargs = [], {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        right = RIGHT.get(parameter.name, lambda *given: given)
        if parameter is not wrong and parameter.default is not parameter.empty:
            continue
        given = value if parameter == wrong else right
        if parameter.kind is parameter.KEYWORD_ONLY or parameter.default is not parameter.empty:
            kwargs[parameter.name] = given
        else:
            args.append(given)
    function(*args, **kwargs)


@pytest.mark.parametrize("name", functions())
def test_no_argument_gets_the_words_of_the_glue(name):
    """PyO3's own errors name no argument, and Python's come from somewhere inside."""
    function = functions()[name]
    for parameter in inspect.signature(function).parameters.values():
        for value in WRONG:
            try:
                call_with(function, parameter, value)
            except (pytree.PyTreeError, ImportError):
                pass
            except Exception as raised:
                said = f"{raised}"
                assert "is not an instance of" not in said, (parameter, value)
                assert "cannot be interpreted" not in said, (parameter, value)
                assert "cannot be converted" not in said, (parameter, value)
                # What else passes is said by the object itself, and where the leaf is.
                assert parameter.name in SPEAK_FOR_THEMSELVES, f"{parameter}: {raised!r}"


def test_a_class_is_a_function_too():
    assert [difference.kind for difference in pytree.tree_diff([1], [2], leaves=True, is_leaf=list)] == ["leaf"]
    assert pytree.tree_summary([1, 2], is_leaf=list).rows[0].type == "list"


def test_a_flag_of_numpy_is_a_flag():
    assert pytree.tree_leaves([None], none_is_leaf=np.bool_(False)) == []


def test_an_index_that_raises_says_so_itself():
    class Broken:
        def __index__(self) -> int:
            raise LookupError("not now")

    with pytest.raises(LookupError, match="not now"):
        pytree.tree_structure([1]).child(Broken())


@pytest.mark.parametrize(("index", "said"), [(1, "index 1 is"), (-2, "index -2 is"), (10**40, "index is")])
def test_an_index_out_of_range(index, said):
    with pytest.raises(IndexError) as raised:
        pytree.tree_structure([1]).child(index)
    assert str(raised.value) == f"{said} out of range: the node has 1 child"


def test_errors_of_iterating_over_arguments_pass():
    class Broken:
        def __iter__(self) -> Any:
            raise LookupError("not now")

    for call in (pytree.keystr, pytree.treespec_list, pytree.treespec_dict, pytree.all_leaves):
        with pytest.raises(LookupError, match="not now"):
            call(Broken())
