"""Graphs as files: zip archives, equal ones of equal graphs, each put in its place once it is whole."""

from __future__ import annotations

import errno
import io
import json
import os
import zipfile
from contextlib import contextmanager

from clika_pytree._native import FileWriter, PyTreeValueError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import shorten

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import Any

__all__: list[str] = []

BEGINNING = (1980, 1, 1, 0, 0, 0)  # the date of every member
HEAD = "graph.json"


def write(path: str | os.PathLike[str], head: Mapping[str, Any], members: Mapping[str, str | bytes]) -> None:
    """Write a file of a head, which is JSON, and other members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in {HEAD: json.dumps(head, indent=1), **members}.items():
            archive.writestr(zipfile.ZipInfo(name, BEGINNING), content)
    put(path, buffer.getvalue())


def put(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file; one that was there is replaced once the new one is whole."""
    place = os.fsdecode(path)
    folder = os.path.dirname(place) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {folder}", place)
    file = FileWriter(place, place, len(content))
    try:
        file.write([content])
        file.commit(True)
    finally:
        file.discard()


@contextmanager
def reading(
    path: str | os.PathLike[str], form: Mapping[str, Any]
) -> Generator[tuple[Any, zipfile.ZipFile], None, None]:
    """The head of a file of some format and version, and its archive; what goes wrong is said of the file."""
    with open(path, "rb") as file:
        contents = file.read()
    try:
        with zipfile.ZipFile(io.BytesIO(contents)) as archive:
            head: Any = json.loads(archive.read(HEAD))
            if {key: head.get(key) for key in form} != form:
                raise ValueError("it is of another format or version")
            yield head, archive
    except ImportError:
        raise
    except Exception as error:
        raise PyTreeValueError(
            f"{os.fspath(path)} holds no graph that can be read: {shorten(str(error), 200)}"
        ) from error
