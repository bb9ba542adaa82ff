"""No call keeps memory: the short form of `memory_growth.py`, which counts a million calls of each function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boundary_calls
import pytest
from memory_growth import ALL_CALLS, CALLS, boundaries, heap, repeat

import clika_pytree as cp

CALLS_EACH = 250
COSTLY_CALLS_EACH = 20
MOST_LOOKS = 20
BLOCKS_EACH = 0.5
"""Half of what the smallest leak takes: a call may keep a block now and then, as a cache of the interpreter does."""
SMALLEST_CHUNK = 32
"""What a leak takes of the C library's heap at least, in bytes."""
OTHER_LIBRARIES = ("torch", "jax", "optree", "mirror")  # what they keep is theirs
BOUNDARY_CALLS = [
    *(boundary_calls.CALLS | boundary_calls.COSTLY),
    *(f"failing: {name}" for name in boundary_calls.FAILING | boundary_calls.FAILING_COSTLY),
]


def check_growth(call: Callable[[], Any], calls: int) -> None:
    repeat(call, calls // 5)
    least_blocks = least_size = float("inf")
    # What the interpreter and the C library keep for later grows for a while, and a leak every time. CPython 3.10 keeps
    # some thousand of the strs by which the C part of its json asks for attributes.
    for look in range(MOST_LOOKS):
        if look >= 4 and least_blocks < BLOCKS_EACH and least_size < SMALLEST_CHUNK / 2:
            break
        blocks, size = heap()
        repeat(call, calls)
        more_blocks, more_size = heap()
        least_blocks = min(least_blocks, (more_blocks - blocks) / calls)
        least_size = min(least_size, (more_size - size) / calls)
    assert least_blocks < BLOCKS_EACH
    assert least_size < SMALLEST_CHUNK / 2


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("call", ALL_CALLS.values(), ids=ALL_CALLS)
def test_nothing_is_kept(call):
    check_growth(call, CALLS_EACH)


@pytest.mark.usefixtures("small_heap")
@pytest.mark.filterwarnings("ignore::clika_pytree.RecompileWarning")
@pytest.mark.parametrize("name", BOUNDARY_CALLS)
def test_no_boundary_keeps_memory(name, tmp_path):
    call, is_costly = next((call, is_costly) for other, call, is_costly in boundaries(tmp_path) if other == name)
    check_growth(call, COSTLY_CALLS_EACH if is_costly else CALLS_EACH)


def test_every_function_is_among_them():
    called = " ".join(CALLS)
    functions = {name for name in cp.__all__ if name.islower() and not name.endswith(OTHER_LIBRARIES)}
    assert {name for name in functions - {"__version__", "pytree"} if name not in called} == set()
    called = " ".join(BOUNDARY_CALLS)
    functions = {name for name in cp.BOUNDARIES if name.islower()}
    assert {name for name in functions if name not in called} == set()
