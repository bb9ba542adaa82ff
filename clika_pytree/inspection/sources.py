"""Where in the user's code something stands."""

from __future__ import annotations

from clika_pytree._native import PyTreeError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import error_text, shorten

if TYPE_CHECKING:
    from typing import Any


def defined_at(function: Any) -> str:
    """` (file.py, line 12)` for a function written in Python, else nothing."""
    function = getattr(function, "__func__", function)
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    if code is None:
        return ""
    return f" ({base_name(code.co_filename)}, line {code.co_firstlineno})"


def raised_at(error: BaseException) -> str:
    """An exception, with the line that raised it where that is the user's."""
    import linecache

    text = error_text(error).replace("\n", " ")
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if isinstance(error, PyTreeError) or trace is None:
        return shorten(text, 300)  # it says itself what is wrong where
    filename = trace.tb_frame.f_code.co_filename
    line = shorten(linecache.getline(filename, trace.tb_lineno).strip())
    return f"{shorten(text)} ({base_name(filename)}, line {trace.tb_lineno}{f': {line}' if line else ''})"


def base_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
