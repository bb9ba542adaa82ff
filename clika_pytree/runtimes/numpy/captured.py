"""Arrays that a recorded function did not get as arguments. To a graph they are constants: what they held at that time.

What the function computes of them by itself is built into the graph as numbers. So that it agrees with what the graph
computes of them, the graph has copies.
"""

from __future__ import annotations

import zlib

import numpy as np

from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .kinds import is_a
from .lines import quoted_place, user_line
from .scratch import ALIGNED, address

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__: list[str] = []

MOST_LOOKED_AT = 1 << 26  # bytes of arrays within reach that are compared before and after
ADVICE = (
    "pass the array as an argument, or make the one that is written into of a tensor, so that it is recorded "
    "(np.zeros_like(x), x.copy())"
)


class Captured:
    """The arrays that operations took, and the copies that the graph has of them."""

    def __init__(self, within_reach: Iterable[Any] = ()) -> None:
        self.taken: list[tuple[Any, Any, tuple[str, int]]] = []
        self.written: list[Any] = []  # memory of inputs that was written into
        self.before: list[tuple[Any, int]] = []
        left = MOST_LOOKED_AT
        arrays = [array for array in within_reach if issubclass(class_of(array), np.ndarray)]
        for array in sorted(arrays, key=lambda array: int(array.nbytes)):
            left -= array.nbytes
            if left >= 0 and not is_fixed(array):
                self.before.append((array, fingerprint(array)))

    def take(self, value: Any) -> Any:
        """What the graph has in the place of a captured object."""
        if is_a(value, np.void):
            return value.copy()
        if not is_a(value, np.ndarray):
            return value
        kept = value if is_fixed(value) else twin(value)
        self.taken.append((value, kept, user_line()))
        return kept

    def shares(self, array: Any) -> bool:
        """Whether an array may lie in the memory of one that was taken."""
        return any(np.may_share_memory(array, taken) for taken, _, _ in self.taken)

    def check(self) -> None:
        """Refuse what the function changed by other means than recorded operations, and what changes with an input."""
        for array, kept, line in self.taken:
            if any(np.may_share_memory(array, part) for part in self.written):
                raise RecordingError(
                    "An array that is no argument lies in the memory of one that is written into, and would be a "
                    f"constant of the graph, at {quoted_place(*line)}pass it as an argument, too, or use a copy of it"
                )
            if array is not kept and fingerprint(array) != fingerprint(kept):
                raise RecordingError(
                    "An array that is no argument was changed after it had been used, which a graph would not do, at "
                    f"{quoted_place(*line)}{ADVICE}"
                )
        for array, before in self.before:
            if fingerprint(array) != before and not any(np.may_share_memory(array, part) for part in self.written):
                raise RecordingError(
                    f"The recorded function changed an array of {array.dtype} with shape {array.shape} that is no "
                    f"argument, which a graph would not do again: {ADVICE}"
                )


def is_fixed(array: Any) -> bool:
    """Whether nobody writes into an array."""
    return type(array) is np.ndarray and array.base is None and not (array.flags.writeable or array.dtype.hasobject)


def twin(array: Any) -> Any:
    """A copy with the same strides, which decide on the bits of a product."""
    if is_a(array, np.ma.MaskedArray):
        return array.copy()
    if type(array) is not np.ndarray or array.dtype.hasobject or array.flags.forc:
        return np.array(array, order="K", copy=True, subok=True)
    steps = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    before = -sum(step for step in steps if step < 0)
    memory: Any = np.empty(before + sum(step for step in steps if step > 0) + array.itemsize + ALIGNED, np.uint8)
    offset = before + (address(array) - before - address(memory)) % ALIGNED
    copied: Any = np.ndarray(array.shape, array.dtype, memory, offset, array.strides)
    copied[...] = array
    return copied


def fingerprint(array: Any) -> int:
    """A number that tells contents apart; of objects, their identities."""
    plain: Any = np.ascontiguousarray(array.view(np.ndarray))
    contents: Any = plain.tobytes() if plain.dtype.hasobject else plain.reshape(-1).view(np.uint8)
    return zlib.crc32(contents)
