"""One file of tensors, written."""

from __future__ import annotations

from clika_pytree._native import FileWriter, PyTreeValueError
from clika_pytree.typing import TYPE_CHECKING

from .arguments import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from .plan import Plan

__all__ = ["check_folder", "write_file"]


def write_file(place: str, name: str, plan: Plan, fsync: bool, report: Callable[[int], object] | None) -> None:
    """Write one file of these tensors."""
    try:
        header, size = plan.header()
    except PyTreeValueError as error:
        raise PyTreeValueError(f"save() can't write the file: {error}") from None
    check_folder(place)
    writer = begin(place, name, size)
    try:
        writer.write([header])
        for parts in plan.parts():
            writer.write(parts, report)
        writer.commit(fsync)
    finally:
        writer.discard()


def begin(place: str, name: str, size: int) -> FileWriter:
    """Begin a file. Whoever reads a pipe is waited for here, where Ctrl-C ends the waiting."""
    import os
    import stat

    try:
        is_pipe = stat.S_ISFIFO(os.stat(place).st_mode)
    except OSError:
        is_pipe = False
    if not is_pipe:
        return FileWriter(place, name, size)
    handle = os.open(place, os.O_WRONLY)
    try:
        return FileWriter(place, name, size)
    finally:
        os.close(handle)


def check_folder(place: str) -> None:
    import errno
    import os

    folder = os.path.dirname(os.path.realpath(place) if os.path.islink(place) else place) or "."
    if os.path.isdir(folder):
        return
    if os.path.exists(folder):
        raise OSError(errno.ENOTDIR, f"{shown(folder)} is no folder", place)
    raise OSError(errno.ENOENT, f"the folder {shown(folder)} does not exist", place)
