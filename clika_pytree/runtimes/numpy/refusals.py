"""What cannot be recorded is an error that names the user's line and says what to do instead."""

from __future__ import annotations

import inspect
import linecache
import os
import reprlib
import threading

import numpy as np

import clika_pytree
from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import shorten

from .kinds import is_a

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

__all__: list[str] = []

# The folders of this package and of numpy.
OWN = tuple(os.path.dirname(os.path.abspath(str(module.__file__))) + os.sep for module in (clika_pytree, np))


_noted = threading.local()


class Refusals:
    """The refusals of one recording: one that the function (or numpy) caught is an error all the same."""

    def __enter__(self) -> Refusals:
        self.outer = getattr(_noted, "first", None)
        _noted.first = None
        return self

    def __exit__(self, cls: object, error: BaseException | None, trace: object) -> None:
        first: RecordingError | None = _noted.first
        _noted.first = self.outer
        if first is not None and error is not first and (error is None or isinstance(error, Exception)):
            raise first.with_traceback(None)


def user_frame() -> FrameType | None:
    """The innermost frame that is neither ours nor numpy's."""
    frame: FrameType | None = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return frame


def is_own_caller() -> bool:
    """Whether the method that asks was called by this package, as its messages do."""
    frame: FrameType | None = inspect.currentframe()
    for _ in range(2):
        frame = frame and frame.f_back
    while frame is not None and frame.f_code.co_filename == reprlib.__file__:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(OWN)


def user_line() -> tuple[str, int]:
    frame = user_frame()
    return ("?", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def place_text(file: str, line: int) -> str:
    """`model.py:12`, for a comment."""
    return printable(f"{os.path.basename(file)}:{line}")


def printable(text: str) -> str:
    """The text on one line."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def quoted_place(file: str, line: int) -> str:
    """The place, and the source that stands there on a line of its own."""
    source = linecache.getline(file, line).strip()
    return f"{file}:{line}:\n    {shorten(source)}\n" if source else f"{file}:{line}: "


def refusal(what: str, advice: str) -> RecordingError:
    """The error, with the place of the user's code that asked."""
    file, line = user_line()
    error = RecordingError(f"{what}, at {quoted_place(file, line)}{advice}")
    if getattr(_noted, "first", None) is None:
        _noted.first = error
    return error


def attribute_advice(value: Any, name: str) -> str:
    """What to do in place of an attribute that only some classes of arrays have."""
    if is_a(value, np.ma.MaskedArray):
        return "pass np.ma.getmaskarray(x) and x.filled(...) as arguments of their own, and compute with those"
    if is_a(value, np.recarray):
        return f"write x[{name!r}] where it is a field"
    if type(value) is not np.ndarray and is_a(value, np.ndarray):
        return "pass np.asarray(x), and what the class keeps beside the elements, as arguments of their own"
    return "leave it out of the compiled function"


def needs_value(what: str) -> RecordingError:
    """The refusal of everything that would bake the numbers of the first call into the graph."""
    return refusal(
        f"{what} needs the value of a tensor, which differs from call to call",
        "compute with arrays instead (np.where for a branch), or leave this step out of the compiled function and "
        "return what it needs",
    )
