"""One file of tensors, written."""

from __future__ import annotations

from clika_pytree._native import FileWriter, PyTreeValueError
from clika_pytree.typing import TYPE_CHECKING

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
    writer = FileWriter(place, name, size)
    try:
        writer.write([header])
        for parts in plan.parts():
            writer.write(parts, report)
        writer.commit(fsync)
    finally:
        writer.discard()


def check_folder(place: str) -> None:
    import errno
    import os

    folder = os.path.dirname(place) or "."
    if not os.path.isdir(folder):
        what = "is no folder" if os.path.exists(folder) else "does not exist"
        raise OSError(errno.ENOTDIR if os.path.exists(folder) else errno.ENOENT, f"the folder {folder} {what}", place)
