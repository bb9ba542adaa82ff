"""The lines of the user's program, for what is said about them."""

from __future__ import annotations

import inspect
import linecache
import os
import sys
import threading
import types
from concurrent import futures

import numpy as np

import clika_pytree
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import shorten

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

__all__: list[str] = []


def folder(module: Any) -> str:
    return os.path.dirname(os.path.abspath(str(module.__file__))) + os.sep


# This package and numpy; the file of a graph; what starts and waits for threads.
OWN = (folder(clika_pytree), folder(np))
GRAPH = "<graph "
# What lies between the user's code and what was asked.
BETWEEN = (*OWN, GRAPH, os.path.abspath(threading.__file__), folder(futures))


def user_frame(frame: FrameType | None = None) -> FrameType | None:
    """The innermost frame of the user's, of those of this thread or from a frame on."""
    frame = frame or inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(BETWEEN):
        frame = frame.f_back
    return frame


def user_line() -> tuple[str, int]:
    return line_of(user_frame())


def line_of(frame: FrameType | None) -> tuple[str, int]:
    return ("?", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno or 0)  # code may lack lines


def line_here_or_in(thread: int) -> tuple[str, int]:
    """The user's line in this thread, or the one where another thread waits for it."""
    frames: Any = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
    return line_of(user_frame() or user_frame(frames.get(thread)))


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


# On one line: then all of its code is on that line which a copy has as its first.
def calling(call: Any, args: Any, kwargs: Any) -> Any: return call(*args, **kwargs)  # fmt: skip


def caller_at(frame: FrameType | None) -> Callable[..., Any]:
    """A function that makes a call at the line of a frame: warnings from C code name the line that made the call."""
    if frame is None:
        return calling
    code, (_, line) = frame.f_code, line_of(frame)
    there = calling.__code__.replace(co_filename=code.co_filename, co_name=code.co_name, co_firstlineno=line)
    return types.FunctionType(there, frame.f_globals)


def without_caller(error: BaseException) -> None:
    """Take the frame of that function out of the traceback of an error that it let through: the line is in there."""
    trace = error.__traceback__
    if trace is not None and trace.tb_next is not None:
        trace.tb_next = trace.tb_next.tb_next
