"""No call keeps memory: the short form of `memory_growth.py`, which counts a million calls of each function."""

from __future__ import annotations

import pytest
from memory_growth import ALL_CALLS, CALLS, heap, repeat

import clika_pytree as cp

CALLS_EACH = 250
SMALLEST_CHUNK = 32
"""What a leak takes of the C library's heap at least, in bytes."""
OTHER_LIBRARIES = ("torch", "jax", "optree")


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("call", ALL_CALLS.values(), ids=ALL_CALLS)
def test_nothing_is_kept(call):
    repeat(call, 50)
    growth = []
    # What the interpreter and the C library keep for later grows once, and a leak every time.
    for _ in range(4):
        blocks, size = heap()
        repeat(call, CALLS_EACH)
        more_blocks, more_size = heap()
        growth.append(((more_blocks - blocks) / CALLS_EACH, (more_size - size) / CALLS_EACH))
    assert min(blocks for blocks, _ in growth) < 0.1
    assert min(size for _, size in growth) < SMALLEST_CHUNK / 2


def test_every_function_is_among_them():
    called = " ".join(CALLS)
    functions = {name for name in cp.__all__ if name.islower() and not name.endswith(OTHER_LIBRARIES)}
    assert {name for name in functions - {"__version__", "pytree"} if name not in called} == set()
