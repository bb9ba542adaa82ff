"""A graph as a file: names and constants (JSON), what MLX exported, and the program, to be read.

Loading runs nothing of it: MLX reads the export, which holds no Python.
"""

from __future__ import annotations

from clika_pytree import plain_values
from clika_pytree._native import PyTreeValueError
from clika_pytree.runtimes import archives
from clika_pytree.runtimes.protocol import TensorSpec
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .library import DTYPES
from .traced import Constant, TracedGraph

if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

__all__: list[str] = []

FORMAT = {"format": "clika_pytree mlx graph", "version": 1}
EXPORTED, PROGRAM = "exported.mlxfn", "program.txt"


def save(graph: TracedGraph, path: str | PathLike[str]) -> None:
    """Write a traced graph; a file that was there is replaced once the new one is whole."""
    head = {
        **FORMAT,
        "inputs": [*graph.inputs],
        "specs": [[spec.dtype, [*spec.shape]] for spec in graph.specs],
        "outputs": [*graph.outputs],
        "results": [[one] if isinstance(one, int) else plain_values.write([one.value]) for one in graph.results],
        "constant": [isinstance(one, Constant) for one in graph.results],
    }
    archives.write(path, head, {EXPORTED: graph.exported, PROGRAM: graph.program})


def load(path: str | PathLike[str]) -> TracedGraph:
    """Read a graph that `save` wrote."""
    with archives.reading(path, FORMAT) as (head, archive):
        inputs, outputs = names(head, "inputs"), names(head, "outputs")
        specs = [spec_of(given) for given in head["specs"]]
        results = [result_of(items, mark) for items, mark in zip(head["results"], head["constant"], strict=True)]
        if len(inputs) != len(specs) or len(outputs) != len(results):
            raise PyTreeValueError("it names another number of inputs or results than the graph has")
        return TracedGraph(archive.read(EXPORTED), specs, inputs, outputs, results, archive.read(PROGRAM).decode())


def names(head: Any, which: str) -> list[str]:
    found = head[which]
    if class_of(found) is not list or not all(class_of(name) is str for name in found):
        raise PyTreeValueError(f"its {which} are no list of names")
    return [*found]


def spec_of(given: Any) -> TensorSpec:
    dtype, shape = given
    if dtype not in DTYPES or not all(class_of(size) is int and size >= 0 for size in shape):
        raise PyTreeValueError(f"it has no input like {given}")
    return TensorSpec(dtype, tuple(shape))


def result_of(items: Any, is_constant: Any) -> int | Constant:
    value = plain_values.read_one(items, "a result")
    if is_constant is True:
        return Constant(value)
    if is_constant is not False or class_of(value) is not int or value < 0:
        raise PyTreeValueError(f"it has no computed result {value!r}")
    return int(value)
