"""One process at a time that writes several files to a path."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from threading import get_ident

from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["alone", "was_interrupted"]

# Among the names of temporaries, so that a later save to the path removes what a killed process left.
NO_DIGITS = "0" * 16
# Which thread is in here for which path.
HELD: set[tuple[int, str]] = set()


def marker_of(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name}.{NO_DIGITS}.clika-tmp")


def was_interrupted(target: str) -> bool:
    """Whether a process that wrote several files to a path is at it, or was killed."""
    return os.path.lexists(marker_of(target))


@contextmanager
def alone(target: str) -> Generator[bool]:
    """Wait until no other process or thread is in here for this path; False where there is no way to know.

    A signal's handler may save where the thread that it interrupts is in here: nobody would end that waiting.
    """
    marker = marker_of(target)
    own = (get_ident(), marker)
    handle = None if sys.platform == "win32" or own in HELD else locked(marker)
    if handle is None:
        yield False
        return
    try:
        HELD.add(own)
        yield True
    finally:
        HELD.discard(own)
        with suppress(OSError):
            os.unlink(marker)
        os.close(handle)


def locked(marker: str) -> int | None:
    """A file that is open and that nobody else has locked, until it is closed or the process ends.

    None where files can't be locked, or not be made: whoever writes there says why.
    """
    import fcntl

    while True:
        try:
            handle = os.open(marker, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError:
            return None
        is_ours = False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            is_ours = is_at(handle, marker)
        except OSError:
            return None
        finally:
            if not is_ours:
                os.close(handle)
        if is_ours:
            return handle
        # Whoever had locked it has removed it.


def is_at(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
