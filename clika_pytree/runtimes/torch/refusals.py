"""PyTorch's errors about values that a trace does not have, in terms of the function's arguments."""

from __future__ import annotations

import linecache
import os
import traceback

import clika_pytree
from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import listed, shorten

from .library import NEEDS_VALUE, torch

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__: list[str] = []

FOLDERS = tuple(os.path.dirname(os.path.abspath(str(module.__file__))) + os.sep for module in (clika_pytree, torch))


def translated(name: str, error: BaseException, needed: Sequence[str], place: tuple[str, int]) -> RecordingError | None:
    """The error for a value that follows from arguments of ours; None where the error is another one."""
    if not isinstance(error, NEEDS_VALUE):
        return None
    file, line = place
    source = linecache.getline(file, line).strip()
    where = f"{file}:{line}:\n    {shorten(source)}\n" if source else f"{file}:{line}: "
    those = listed(needed, len(needed)) if needed else "a tensor"
    made = RecordingError(
        f"{name}() needs the value of {those} while PyTorch traces it, at {where}a graph is the same for all values: "
        "compute with tensors instead (torch.where, torch.cond), or pass plain numbers, which are built into the graph"
    )
    made.path = needed[0] if needed else None
    return made


def user_line(error: BaseException) -> tuple[str, int]:
    """The innermost line that is neither ours nor PyTorch's."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    users = [place for place in frames if not place[0].startswith((*FOLDERS, "<"))]
    return users[-1] if users else ("?", 0)
