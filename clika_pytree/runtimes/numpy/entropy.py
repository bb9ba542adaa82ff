"""Random bits that a recorded function takes from the operating system: `secrets`, `uuid4`, generators without a seed.

They leave no state behind, so the functions that hand them out are replaced while anything is recorded. Each thread
counts for itself, and what an import draws is not the function's doing: it draws once in any case.
"""

from __future__ import annotations

import functools
import inspect
import os
import random
import threading

import numpy as np

from clika_pytree.typing import TYPE_CHECKING

from .lines import OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

    # What was done, and the user's line that did it.
    Draw: TypeAlias = tuple[str, tuple[str, int]]

__all__: list[str] = []

IMPORTING = "<frozen importlib._bootstrap>"
STANDARD = os.path.dirname(os.__file__) + os.sep
INSTALLED = os.path.join(STANDARD, "site-packages")
SYSTEM = "took random bits from the operating system (os.urandom, secrets, uuid and the like)"
UNSEEDED = "made a random generator without a seed (np.random.default_rng(), random.Random() and the like)"

_changing = threading.Lock()
_recording = threading.local()
_open = 0  # how many recordings there are, in all threads
_replaced: list[tuple[Any, str, Any, Any]] = []  # owner, name, the function, what stands in its place


class Entropy:
    """The block in which a function is recorded."""

    def __enter__(self) -> None:
        global _open
        self.outer: list[Draw] | None = getattr(_recording, "draws", None)
        _recording.draws = []
        with _changing:
            _open += 1
            if _open == 1:
                replace()

    def __exit__(self, *exc: object) -> None:
        global _open
        with _changing:
            _open -= 1
            if not _open:
                restore()
        # What a recording inside another draws is drawn in both. Outside of any nothing is counted.
        _recording.draws = None if self.outer is None else self.outer + _recording.draws


def drawn_from_the_system() -> list[Draw]:
    """What this thread has drawn since its recording began."""
    return getattr(_recording, "draws", None) or []


def sources() -> Iterator[tuple[Any, str, str]]:
    yield np.random.bit_generator, "randbits", UNSEEDED
    yield random.Random, "seed", UNSEEDED
    yield random, "_urandom", SYSTEM  # of SystemRandom, and so of secrets
    for name in ("urandom", "getrandom"):
        if hasattr(os, name):  # the second is Linux's
            yield os, name, SYSTEM


def replace() -> None:
    for owner, name, what in sources():
        function = getattr(owner, name)
        counting = (counting_seed if owner is random.Random else counting_call)(function, what)
        _replaced.append((owner, name, function, counting))
        setattr(owner, name, counting)


def restore() -> None:
    """Put back what was there, except where somebody else has put something else there meanwhile."""
    for owner, name, function, counting in _replaced:
        if getattr(owner, name, None) is counting:
            setattr(owner, name, function)
    _replaced.clear()


def counting_call(function: Callable[..., Any], what: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        note(what)
        return function(*args, **kwargs)

    return call


def counting_seed(function: Callable[..., Any], what: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def seed(self: Any, a: Any = None, *args: Any, **kwargs: Any) -> Any:
        if a is None and type(self) is not random.SystemRandom:  # whose seed does nothing
            note(what)
        return function(self, a, *args, **kwargs)

    return seed


def note(what: str) -> None:
    draws: list[Draw] | None = getattr(_recording, "draws", None)
    if draws is None:
        return
    line: tuple[str, int] | None = None
    frame = inspect.currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if file == IMPORTING:
            return
        if line is None and not file.startswith(OWN) and not is_standard(file):
            line = file, frame.f_lineno
        frame = frame.f_back
    draws.append((what, line or ("?", 0)))


def is_standard(file: str) -> bool:
    """Whether a file is of the standard library, as `random.py` is."""
    return file.startswith(STANDARD) and not file.startswith(INSTALLED)
