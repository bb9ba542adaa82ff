"""An exception at the n-th call of user code, for every n: what was counted before is counted alike after.

The world of `hook_world.py` runs user code wherever the library can; here any of its hooks raises, once.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hook_classes import Factory, Fields, Group, Init, Key, Leaf, Maker, Named, Record, Static, Strange, WithKeys
from hook_operations import OPERATIONS
from hook_world import ANY, World

import clika_pytree as cp
from clika_pytree import _native

CLASSES = [Leaf, Key, Group, WithKeys, Maker, Strange, Record, Init, Static, Named, Fields, Factory]
MOST_CALLS = 2000


class Injected(Exception):
    pass


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World()
    world.hook, world.deed = ANY, raise_injected
    yield world
    world.close()


def raise_injected(world: World) -> None:
    raise Injected


def watched_of(world: World) -> list[Any]:
    """Everything that an operation is given, or finds in what it is given."""
    registrations = [_native.lookup(cls) for cls in world.classes]
    functions = [Group.flatten, Maker.flatten, WithKeys.flatten_with_keys]
    held = [world.one, world.two, world.context, world.default.default_factory, world.tree, *world.containers]
    specs = [world.spec, world.twin, world.leaves, world.path, world.plain]
    return [*world.leaves, *world.tree.values(), *held, *specs, *CLASSES, *registrations, *functions]


def run(world: World, operation: Callable[[World], Any], at: int) -> int:
    """Run an operation with an exception at this call of user code; how many calls there were."""
    world.calls, world.at, world.armed = 0, at, ANY
    try:
        operation(world)
    except (Injected, cp.PyTreeError, RuntimeError, TypeError) as error:
        error.__traceback__ = None
    finally:
        world.armed = None
    return world.calls


def counts(watched: list[Any]) -> list[int]:
    gc.collect()
    return [sys.getrefcount(obj) for obj in watched]


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "tree_iter, shared"])
def test_no_reference_is_lost_or_kept_wherever_user_code_raises(name, world, monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)  # finalizers are user code, too
    operation = OPERATIONS[name]
    for _ in range(2):
        calls = run(world, operation, -1)
    assert calls < MOST_CALLS
    watched = watched_of(world)
    before = counts(watched)
    for at in range(1, calls + 1):
        assert run(world, operation, at) >= at
        if at % 8 == 0 or at == calls:
            after = counts(watched)
            changed = [(obj, now - then) for obj, then, now in zip(watched, before, after, strict=True) if now != then]
            assert not changed, f"after an exception at one of the calls {at - 7} to {at}"
