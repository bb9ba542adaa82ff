"""What `save`, `load` and `inspect` are given, checked."""

from __future__ import annotations

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

if TYPE_CHECKING:
    from os import PathLike
    from typing import Any, TypeAlias

    FilePath: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]

__all__ = ["path_of", "shown"]


def path_of(caller: str, path: Any, order: str = "") -> tuple[str, str]:
    """A path as messages name it and as the system takes it. `order` says where the caller takes it."""
    import os

    try:
        found = os.fsdecode(path)
    except TypeError:
        raise PyTreeTypeError(f"{caller} expects a path, got {described(path)}{order}") from None
    if not found:
        raise PyTreeValueError(f"{caller} expects a path, got an empty text")
    if "\0" in found:
        raise PyTreeValueError(f"{caller} expects a path, got {described(found)}, and no path has a null character")
    return shown(found), found


def shown(place: str) -> str:
    """A path as text; of bytes that are no text in UTF-8 the escapes."""
    return place.encode(errors="backslashreplace").decode()
