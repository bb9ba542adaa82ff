"""What cannot be recorded is an error that names the user's line and says what to do instead."""

from __future__ import annotations

import inspect
import reprlib
import threading

import numpy as np

from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING

from .kinds import is_a
from .lines import OWN, quoted_place, user_line

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

__all__: list[str] = []

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


def is_own_caller() -> bool:
    """Whether the method that asks was called by this package, as its messages do."""
    frame: FrameType | None = inspect.currentframe()
    for _ in range(2):
        frame = frame and frame.f_back
    while frame is not None and frame.f_code.co_filename == reprlib.__file__:
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(OWN)


def refusal(what: str, advice: str, line: tuple[str, int] | None = None) -> RecordingError:
    """The error, with the place of the user's code that asked."""
    error = RecordingError(f"{what}, at {quoted_place(*(line or user_line()))}{advice}")
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


def needs_value(what: str, instead: str = "np.where for a branch") -> RecordingError:
    """The refusal of everything that would bake the numbers of the first call into the graph."""
    return refusal(
        f"{what} needs the value of a tensor, which differs from call to call",
        f"compute with arrays instead ({instead}), or leave this step out of the compiled function and return what it "
        "needs",
    )
