"""A graph as a file: names and constants (JSON), what MLX exported, and the program, to be read.

Loading runs nothing of it: MLX reads the export, which holds no Python.
"""

from __future__ import annotations

from clika_pytree._native import PyTreeValueError
from clika_pytree.runtimes import archives
from clika_pytree.runtimes.protocol import TensorSpec
from clika_pytree.runtimes.traced import read_head
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .library import DTYPES
from .traced import TracedGraph

if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

__all__: list[str] = []

FORMAT = {"format": "clika_pytree mlx graph", "version": 1}
EXPORTED, PROGRAM = "exported.mlxfn", "program.txt"


def save(graph: TracedGraph, path: str | PathLike[str]) -> None:
    """Write a traced graph; a file that was there is replaced once the new one is whole."""
    specs = [[spec.dtype, [*spec.shape]] for spec in graph.specs]
    archives.write(path, {**FORMAT, **graph.head(), "specs": specs}, {EXPORTED: graph.exported, PROGRAM: graph.program})


def load(path: str | PathLike[str]) -> TracedGraph:
    """Read a graph that `save` wrote."""
    with archives.reading(path, FORMAT) as (head, archive):
        specs = [spec_of(given) for given in head["specs"]]
        inputs, outputs, results = read_head(head, len(specs))
        return TracedGraph(archive.read(EXPORTED), specs, inputs, outputs, results, archive.read(PROGRAM).decode())


def spec_of(given: Any) -> TensorSpec:
    dtype, shape = given
    if dtype not in DTYPES or not all(class_of(size) is int and size >= 0 for size in shape):
        raise PyTreeValueError(f"it has no input like {given}")
    return TensorSpec(dtype, tuple(shape))
