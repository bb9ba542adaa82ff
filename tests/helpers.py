"""What several test files need: ways of reading, notes of exceptions, runs on another thread or in another process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import reference
from hypothesis import reject
from reference import Disordered, Mismatch, Mode, Node, Spec, value_key

import clika_pytree as cp

# How many times longer than usual a process may take: sanitizers slow it down.
SLOWDOWN = float(os.environ.get("TEST_SLOWDOWN", "1"))
# How many times longer where other processes want the machine: what runs for ever is found all the same.
PATIENCE = 5
SMALL_STACK = 256 * 1024 if SLOWDOWN == 1 else 2048 * 1024
"""A thread's least stack, in which no depth may matter; sanitizers make each frame several times larger."""


def keywords(mode: Mode) -> dict[str, Any]:
    return {"is_leaf": mode.is_leaf, "none_is_leaf": mode.none_is_leaf, "namespace": mode.namespace}


def reading(mode: Mode) -> contextlib.AbstractContextManager:
    """The block in which dicts are read the way `mode` says."""
    return cp.dict_insertion_ordered(False) if mode.sort else contextlib.nullcontext()


def identical(xs: Iterable, ys: Iterable) -> bool:
    """The very same objects in the same order."""
    xs, ys = list(xs), list(ys)
    return len(xs) == len(ys) and all(x is y for x, y in zip(xs, ys, strict=True))


def notes(error: BaseException) -> str:
    return "\n".join(getattr(error, "__notes__", ()))


def run_python(
    source: str, *, timeout: float = 60, check: bool = True, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run `source` in a fresh interpreter that finds the test classes; by default it must end well.

    `variables` are set in its environment.
    """
    folder = str(Path(__file__).parent)
    # Where the package under test is found by its path, it is found there, too.
    folders = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": folders, **variables}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        cwd=folder,  # -c looks here first, and at the top of the project lies the package without its native module
        capture_output=True,
        text=True,
        timeout=timeout * PATIENCE * SLOWDOWN,
        env=environment,
        check=False,
    )
    if check:
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def run_in_thread(work: Callable[[], Any], stack_size: int = 0) -> Any:
    """What `work` returns or raises on a thread of its own."""
    outcome: list[Any] = []

    def body() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))

    before = threading.stack_size(stack_size)
    try:
        thread = threading.Thread(target=body)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    result, error = outcome.pop()
    if error is not None:
        raise error
    return result


# --- against the reference ------------------------------------------------------------------------------------------


def attempt(fn: Callable, *args: Any) -> tuple[Any, str | None]:
    """The result of a function of the reference, or the path at which it refuses."""
    try:
        return fn(*args), None
    except (Disordered, Mismatch) as refused:
        return None, refused.path


def read(tree: Any, mode: Mode) -> tuple[list, Spec]:
    """The reference's leaves and structure. Where a dict has no sorted order, the library must say so, too."""
    result, path = attempt(reference.flatten, tree, mode)
    if path is not None:
        with reading(mode), pytest.raises(cp.KeyOrderError) as caught:
            cp.tree_flatten(tree, **keywords(mode))
        assert caught.value.path == path
        reject()
    return result


def structure(tree: Any, mode: Mode) -> cp.TreeSpec:
    with reading(mode):
        return cp.tree_structure(tree, **keywords(mode))


def tokens(count: int) -> list:
    return [object() for _ in range(count)]


class Recorder:
    """A function to map that hands out tokens and remembers what it was called with."""

    def __init__(self, results: list) -> None:
        self.results, self.calls = results, []

    def __call__(self, *args: Any) -> Any:
        self.calls.append(args)
        return self.results[len(self.calls) - 1]


def check_spec(spec: cp.TreeSpec, node: Node, none_is_leaf: bool) -> None:
    """Everything a spec says about itself and its children, down to the leaves."""
    assert spec.kind == node.kind
    assert spec.type is node.type
    assert value_key(spec.context) == value_key(node.context)
    assert spec.none_is_leaf is none_is_leaf
    assert spec.namespace == reference.spec_namespace(node)
    assert spec.num_leaves == reference.num_leaves(node)
    assert spec.num_nodes == reference.num_nodes(node)
    assert spec.num_children == len(node.children)
    assert spec.is_leaf() is (node.kind == "leaf")
    assert value_key(spec.entries()) == value_key(list(node.entries))
    assert value_key(spec.paths()) == value_key(reference.paths(node))
    assert repr(spec) == str(spec) == reference.spec_repr(Spec(node, none_is_leaf))
    children = spec.children()
    assert len(children) == len(node.children)
    for child, below in zip(children, node.children, strict=True):
        check_spec(child, below, none_is_leaf)


@contextlib.contextmanager
def registered(cls: type, flatten: Callable, unflatten: Callable, **keywords: Any) -> Iterator[type]:
    """`cls` as a node class within the block."""
    cp.register_pytree_node(cls, flatten, unflatten, **keywords)
    try:
        yield cls
    finally:
        cp.unregister_pytree_node(cls, namespace=keywords.get("namespace", ""))
