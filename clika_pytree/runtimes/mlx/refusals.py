"""MLX's errors about elements that a trace does not have, and random numbers in one, in terms of the user's line."""

from __future__ import annotations

import os
import traceback

import clika_pytree
from clika_pytree.runtimes.protocol import RecordingError

__all__: list[str] = []

# How MLX says that an array stands for one of a function that it traces.
TRACED = "during function transformations"
OWN = os.path.dirname(os.path.abspath(str(clika_pytree.__file__))) + os.sep


def is_about_elements(error: BaseException) -> bool:
    return isinstance(error, ValueError) and TRACED in str(error)


def needs_elements(name: str, error: BaseException) -> RecordingError:
    """The error for elements that were asked for while a function is traced."""
    return RecordingError(
        f"{name}() needs the elements of an array while MLX traces it, at {user_line(error)}: a graph is the same for "
        "all values. Compute with arrays instead (mx.where), or pass plain numbers, which are built into the graph"
    )


def draws(name: str) -> RecordingError:
    return RecordingError(
        f"{name}() draws random numbers of mx.random, which would be the same at each call of a graph: draw them "
        "outside, or pass a key as an argument, mx.random.normal(shape, key=key)"
    )


def user_line(error: BaseException) -> str:
    """The innermost line that is not ours."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    users = [f"{file}:{line}" for file, line in frames if not file.startswith(OWN)]
    return users[-1] if users else "?"
