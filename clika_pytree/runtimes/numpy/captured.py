"""Arrays that a recorded function did not get as arguments: they must not change while it is recorded.

A graph refers to them, so it would see what they hold at the end, where numpy saw what they held at the time.
"""

from __future__ import annotations

import zlib

import numpy as np

from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING

from .kinds import is_a
from .refusals import quoted_place, user_line

if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []


class Captured:
    """The arrays that operations took, and what they held at their first use."""

    def __init__(self) -> None:
        self.first: list[tuple[Any, int, tuple[str, int]]] = []
        self.outside: list[Any] = []  # memory of inputs that was written into, which a graph does, too

    def add(self, value: Any) -> None:
        if is_a(value, np.ndarray):
            self.first.append((value, fingerprint(value), user_line()))

    def written(self, array: Any) -> None:
        self.outside.append(array)

    def check(self) -> None:
        """Refuse what changed by other means than a recorded operation."""
        for array, before, line in self.first:
            if fingerprint(array) != before and not any(np.may_share_memory(array, part) for part in self.outside):
                raise RecordingError(
                    "An array that is no argument was changed after it had been used, which a graph would not do, at "
                    f"{quoted_place(*line)}make it of a tensor, so that the change is recorded (np.zeros_like(x), "
                    "x.copy()), or use a copy of it"
                )


def fingerprint(array: Any) -> int:
    """A number that tells contents apart; of objects, their identities."""
    plain: Any = np.ascontiguousarray(array.view(np.ndarray))
    contents: Any = plain.tobytes() if plain.dtype.hasobject else plain.reshape(-1).view(np.uint8)
    return zlib.crc32(contents)
