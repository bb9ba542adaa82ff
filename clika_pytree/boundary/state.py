"""Whether this thread is inside a function that is being compiled or traced."""

from __future__ import annotations

import inspect
import threading
from os.path import abspath, dirname, sep

__all__: list[str] = []

_state = threading.local()
# The frames of this package are left out where a user's line is looked for.
OWN = dirname(dirname(abspath(__file__))) + sep


class Inside:
    """The block in which the user's function runs over what stands for its tensors."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        self.outer = traced_name()
        _state.what = self.what

    def __exit__(self, *exc: object) -> None:
        _state.what = self.outer


def traced_name() -> str | None:
    """The name of the compiled or traced function that this thread is inside of; None outside."""
    what: str | None = getattr(_state, "what", None)
    return what


def user_place() -> str:
    """`model.py:12` of the innermost frame that is not of this package."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        frame = frame.f_back
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
