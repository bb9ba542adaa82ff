"""What a runtime raises where a function cannot be recorded."""

from __future__ import annotations

from clika_pytree._native import PyTreeTypeError

__all__ = ["RecordingError"]


class RecordingError(PyTreeTypeError):
    """The function did something with a tensor that a graph cannot hold."""

    __module__ = "clika_pytree"
