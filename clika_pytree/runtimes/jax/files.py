"""A graph as a file: names and constants (JSON), what JAX exported, and the program, to be read.

Loading runs nothing of it: JAX reads the export, which holds no Python, and compiles it at the first call.
"""

from __future__ import annotations

from clika_pytree.runtimes import archives
from clika_pytree.runtimes.traced import read_head
from clika_pytree.typing import TYPE_CHECKING

from .library import export
from .traced import TracedGraph

if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

__all__: list[str] = []

FORMAT = {"format": "clika_pytree jax graph", "version": 1}
EXPORTED, PROGRAM = "exported.bin", "program.txt"


def save(graph: TracedGraph, path: str | PathLike[str]) -> None:
    """Write a traced graph; a file that was there is replaced once the new one is whole."""
    archives.write(path, {**FORMAT, **graph.head()}, {EXPORTED: serialized(graph.exported), PROGRAM: graph.program})


def serialized(exported: Any) -> bytes:
    try:
        return bytes(exported.serialize())
    except ImportError as error:
        raise without_flatbuffers() from error


def without_flatbuffers() -> ImportError:
    return ImportError(
        "JAX writes and reads its graphs with the package flatbuffers, which is not installed: "
        "pip install 'clika-pytree[jax]'"
    )


def load(path: str | PathLike[str]) -> TracedGraph:
    """Read a graph that `save` wrote."""
    with archives.reading(path, FORMAT) as (head, archive):
        try:
            exported = export.deserialize(bytearray(archive.read(EXPORTED)))
        except ImportError as error:
            raise without_flatbuffers() from error
        inputs, outputs, results = read_head(head, len(exported.in_avals), len(exported.out_avals))
        return TracedGraph(exported, inputs, outputs, results, archive.read(PROGRAM).decode())
