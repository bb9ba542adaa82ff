"""Memory for arrays that live within one run of a graph, kept from run to run: fresh pages cost more than sums do."""

from __future__ import annotations

import math

import numpy as np

from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []

ALIGNED = 64  # bytes of a cache line, which vector loops would rather not cross
SMALLEST = 1 << 18  # bytes; below it malloc has memory at hand
MOST = 1 << 26  # bytes that are kept, of all graphs together
FILLED = 1 << 18  # bytes of an array of one number that is kept
MOST_FILLED = 16  # such arrays

# What nobody uses, by its number of bytes. Threads need no lock: a list gives each of its items once.
_kept: dict[int, list[Any]] = {}

# Arrays of one number, which nobody writes into, by the number's text and the dtype.
_filled: dict[tuple[str, str], Any] = {}


def take(shape: tuple[int, ...], dtype: str) -> Any:
    """An array with any contents."""
    kind = np.dtype(dtype)
    needed = math.prod(shape) * kind.itemsize
    if needed < SMALLEST:
        return np.empty(shape, kind)
    step = 1 << max(0, needed.bit_length() - 3)  # four sizes between a power of two and the next
    count = -(-needed // step) * step
    memory: Any
    try:
        memory = _kept[count + ALIGNED].pop()
    except (KeyError, IndexError):
        memory = np.empty(count + ALIGNED, np.uint8)
    start = -address(memory) % ALIGNED
    return memory[start : start + needed].view(kind).reshape(shape)


def give(array: Any) -> None:
    """Take an array of `take` back; nobody looks at it any more."""
    memory = array.base
    if memory is None:
        return
    if sum(count * len(same) for count, same in [*_kept.items()]) + memory.nbytes > MOST:
        _kept.clear()
    if memory.nbytes <= MOST:
        _kept.setdefault(memory.nbytes, []).append(memory)


def filled(shape: tuple[int, ...], number: float, dtype: str) -> Any:
    """An array of one number, to be read only."""
    kind, count = np.dtype(dtype), math.prod(shape)
    most = FILLED // kind.itemsize
    if count > most:
        return np.full(shape, number, kind)
    key = (repr(number), dtype)
    kept: Any = _filled.get(key)
    if kept is None:
        if len(_filled) >= MOST_FILLED:
            _filled.clear()
        kept = _filled[key] = np.full(most, number, kind)
        kept.flags.writeable = False
    return kept[:count].reshape(shape)


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])
