"""A graph as a file: its operations (JSON), its captured arrays (npy), and its source, to be read.

Nothing in a file is run: names of functions are looked up among those that a recording can have, and the source is
written anew.
"""

from __future__ import annotations

import io

import numpy as np

from clika_pytree.runtimes import archives
from clika_pytree.typing import TYPE_CHECKING

from .decoding import Reader
from .encoding import Writer
from .traced import TracedGraph

if TYPE_CHECKING:
    import zipfile
    from os import PathLike
    from typing import Any

__all__: list[str] = []

FORMAT = {"format": "clika_pytree numpy graph", "version": 1}


def save(traced: TracedGraph, path: str | PathLike[str]) -> None:
    """Write a traced graph; a file that was there is replaced once the new one is whole."""
    writer = Writer()
    body = {**FORMAT, "inputs": [*traced.inputs], "outputs": [*traced.outputs], **writer.graph(traced.graph)}
    members: dict[str, str | bytes] = {"graph.py": traced.text()}
    for index, array in enumerate(writer.arrays):
        member = io.BytesIO()
        np.lib.format.write_array(member, array, allow_pickle=False)
        members[f"c{index}.npy"] = member.getvalue()
    archives.write(path, body, members)


def load(path: str | PathLike[str]) -> TracedGraph:
    """Read a graph that `save` wrote."""
    with archives.reading(path, FORMAT) as (body, archive):
        reader = Reader(body, lambda index: read_array(archive, index))
        graph = reader.graph()
        return TracedGraph(graph, reader.names("inputs"), reader.names("outputs"))


def read_array(archive: zipfile.ZipFile, index: int) -> Any:
    with archive.open(f"c{index}.npy") as member:
        return np.lib.format.read_array(member, allow_pickle=False)
