"""No call keeps memory: the short form of `memory_growth.py`, which counts a million calls of each function."""

from __future__ import annotations

import pytest
from memory_growth import ALL_CALLS, CALLS, heap, repeat

import clika_pytree as cp

CALLS_EACH = 250
MOST_LOOKS = 20
BLOCKS_EACH = 0.1
SMALLEST_CHUNK = 32
"""What a leak takes of the C library's heap at least, in bytes."""
OTHER_LIBRARIES = ("torch", "jax", "optree")


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("call", ALL_CALLS.values(), ids=ALL_CALLS)
def test_nothing_is_kept(call):
    repeat(call, 50)
    growth = []
    # What the interpreter and the C library keep for later grows for a while, and a leak every time. CPython 3.10 keeps
    # some thousand of the strs by which the C part of its json asks for attributes.
    while len(growth) < 4 or (len(growth) < MOST_LOOKS and min(blocks for blocks, _ in growth) >= BLOCKS_EACH):
        blocks, size = heap()
        repeat(call, CALLS_EACH)
        more_blocks, more_size = heap()
        growth.append(((more_blocks - blocks) / CALLS_EACH, (more_size - size) / CALLS_EACH))
    assert min(blocks for blocks, _ in growth) < BLOCKS_EACH
    assert min(size for _, size in growth) < SMALLEST_CHUNK / 2


def test_every_function_is_among_them():
    called = " ".join(CALLS)
    functions = {name for name in cp.__all__ if name.islower() and not name.endswith(OTHER_LIBRARIES)}
    assert {name for name in functions - {"__version__", "pytree"} if name not in called} == set()
