"""A graph as a file: a zip archive of its operations (JSON), its captured arrays (npy), and its source, to be read.

Nothing in a file is run: names of functions are looked up among those that a recording can have, and the source is
written anew.
"""

from __future__ import annotations

import io
import json
import os
import zipfile

import numpy as np

from clika_pytree._native import PyTreeValueError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import shorten

from .decoding import Reader
from .encoding import Writer
from .traced import TracedGraph

if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []

FORMAT = {"format": "clika_pytree numpy graph", "version": 1}
BEGINNING = (1980, 1, 1, 0, 0, 0)  # the date of every member: equal graphs are equal files


def save(traced: TracedGraph, path: str | os.PathLike[str]) -> None:
    """Write a traced graph; a file that was there is replaced once the new one is whole."""
    writer = Writer()
    body = {**FORMAT, "inputs": [*traced.inputs], "outputs": [*traced.outputs], **writer.graph(traced.graph)}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("graph.json", BEGINNING), json.dumps(body, indent=1))
        archive.writestr(zipfile.ZipInfo("graph.py", BEGINNING), traced.text())
        for index, array in enumerate(writer.arrays):
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"c{index}.npy", BEGINNING), member.getvalue())
    target = os.fspath(path)
    whole = f"{target}.{os.getpid()}.tmp"
    try:
        with open(whole, "wb") as file:
            file.write(buffer.getvalue())
        os.replace(whole, target)
    except BaseException:
        if os.path.exists(whole):
            os.remove(whole)
        raise


def load(path: str | os.PathLike[str]) -> TracedGraph:
    """Read a graph that `save` wrote."""
    try:
        with zipfile.ZipFile(path) as archive:
            body: Any = json.loads(archive.read("graph.json"))
            if {key: body.get(key) for key in FORMAT} != FORMAT:
                raise ValueError("it is of another format or version")
            reader = Reader(body, lambda index: read_array(archive, index))
            graph = reader.graph()
            return TracedGraph(graph, reader.names("inputs"), reader.names("outputs"))
    except OSError:
        raise
    except Exception as error:
        raise PyTreeValueError(
            f"{os.fspath(path)} holds no graph that can be read: {shorten(str(error), 200)}"
        ) from error


def read_array(archive: zipfile.ZipFile, index: int) -> Any:
    with archive.open(f"c{index}.npy") as member:
        return np.lib.format.read_array(member, allow_pickle=False)
