"""Every request for memory that the interpreter makes for an operation may fail: that is a MemoryError, and no count of
references changes."""

from __future__ import annotations

import contextvars
import gc
import inspect
import operator
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from large import IN_PYTHON, NOT_FOR, OPERATIONS, TREES, Prepare, of_structure

import clika_pytree as cp
from clika_pytree import _native

_testcapi = pytest.importorskip("_testcapi", reason="this Python comes without _testcapi, which can refuse memory")

pytestmark = [
    pytest.mark.unwatched,
    pytest.mark.skipif(
        sys.version_info >= (3, 12), reason="CPython 3.12 itself ends the process where a request for memory fails once"
    ),
]

SIZE = 12
# After so many requests in a row that nobody missed, there are no more.
AFTER_THE_LAST = 12


def of_keys(deed: Callable[[Any], Any]) -> Prepare:
    def prepare(tree: Any, _: Any) -> Callable[[], Any]:
        keys = [key for path in cp.tree_structure(tree).key_paths() for key in path]
        return lambda: [deed(key) for key in keys]

    return prepare


def write_paths(tree: Any, _: Any) -> Callable[[], Any]:
    paths = cp.tree_structure(tree).key_paths()
    return lambda: [cp.keystr(path) for path in paths]


def open_and_close(_: Any, __: Any) -> Callable[[], Any]:
    def in_order() -> None:
        with cp.dict_insertion_ordered(False):
            pass

    return in_order


def guarded(deed: Callable[[Any, Any, tuple[Any, ...]], Any]) -> Prepare:
    """What is done with a cache in which a call has an entry, the call, and its arguments."""

    def prepare(tree: Any, _: Any) -> Callable[[], Any]:
        cache = _native.GuardCache(inspect.signature(lambda x, *args: None), 4)
        call = cache.bind((tree,), {})
        cache.insert(call, "found")
        return partial(deed, cache, call, (tree,))

    return prepare


def inserted(cache: Any, call: Any, args: tuple[Any, ...]) -> Any:
    cache.insert(cache.bind((1, 2), {}), "other")
    return cache.lookup(args, {})


def dispatch(tree: Any, _: Any) -> Callable[[], Any]:
    """A call of what a cache has. Its result has one constant, for the sake of which the leaves are gathered."""
    cache = _native.GuardCache(inspect.signature(lambda x: None), 4)
    call = cache.bind((tree,), {})
    leaves = list(range(call.spec.num_leaves))
    run = partial(operator.concat, leaves[1:])  # to the list of tensors, which is empty
    cache.insert(call, _native.Replay(run, call.spec, leaves, leaves[1:]))
    return partial(_native.Dispatcher(cache), tree)


# Functions in Python meet faults of CPython's: a list that can't grow keeps a reference, an iterator over a dict that
# can't be made ends the process. PyO3 panics where it can't gather the further trees of a map.
NOT_OURS = {*IN_PYTHON, "sum", "any", "partition", "combine", "transpose", "map of two trees"}
NATIVE: dict[str, Prepare] = {
    **{name: prepare for name, prepare in OPERATIONS.items() if name not in NOT_OURS},
    "keystr": write_paths,
    "print keys": of_keys(lambda key: repr(key) + str(key)),
    "hash keys": of_keys(hash),
    "pickle keys": of_keys(lambda key: key.__reduce__()),
    "html": of_structure(cp.TreeSpec._repr_html_),
    "size": of_structure(cp.TreeSpec.__sizeof__),
    "entries": of_structure(cp.TreeSpec.entries),
    "spec paths": of_structure(cp.TreeSpec.paths),
    "key paths": of_structure(cp.TreeSpec.key_paths),
    "context": of_structure(lambda spec: (spec.type, spec.context, spec.kind, spec.num_nodes)),
    "block": open_and_close,
    "look up": guarded(lambda cache, call, args: cache.lookup(args, {})),
    "look up among others": guarded(inserted),
    "bind": guarded(lambda cache, call, args: cache.bind(args, {}).names),
    "explain": guarded(lambda cache, call, args: cache.explain(operator.concat(args, (1,)))),
    "guards": guarded(lambda cache, call, args: cache.entries()[0].guards),
    "arguments": guarded(lambda cache, call, args: cache.unbind(call.spec.unflatten(call.leaves))),
    "dispatch": dispatch,
}


def after_failing(number: int, work: Callable[[], Any]) -> BaseException | None:
    """What becomes of the work where the interpreter's request for memory of this number fails."""
    gc.collect()  # which empties the lists of free objects
    _testcapi.set_nomemory(number, number + 1)
    try:
        work()
    except BaseException as raised:
        return raised
    finally:
        _testcapi.remove_mem_hooks()
    return None


@pytest.fixture(autouse=True)
def little_to_collect() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


@pytest.mark.parametrize("operation", NATIVE)
def test_a_request_for_memory_that_fails_is_a_memory_error(operation):
    prepare = NATIVE[operation]
    wrong = []
    for name, make in TREES.items():
        if operation in NOT_FOR.get(name, ()):
            continue
        tree, twin = make(SIZE), make(SIZE)
        prepare(tree, twin)()
        held = [tree, *cp.tree_leaves(tree), *gc.get_referents(tree)]
        held = [each for each in held if not isinstance(each, (int, type))]
        before = [sys.getrefcount(each) for each in held]
        number = missed = 0
        while missed < AFTER_THE_LAST:
            raised = after_failing(number, prepare(tree, twin))
            missed = 0 if isinstance(raised, MemoryError) else missed + 1
            if raised is not None and not isinstance(raised, MemoryError):
                wrong.append((name, number, raised))
            number += 1
        del raised
        if [sys.getrefcount(each) for each in held] != before:
            wrong.append((name, "the counts of references have changed"))
    assert wrong == []
    with cp.dict_insertion_ordered(True) as block:
        contextvars.Context().run(block.__enter__)  # while one is open anywhere, all are asked about
    assert cp.tree_leaves({"b": 1, "a": 2}) == [1, 2], "a block stayed open"
    block.__exit__(None, None, None)
