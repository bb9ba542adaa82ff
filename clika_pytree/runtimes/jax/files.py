"""A graph as a file: names and constants (JSON), what JAX exported, and the program, to be read.

Loading runs nothing of it: JAX reads the export, which holds no Python, and compiles it at the first call.
"""

from __future__ import annotations

from clika_pytree import plain_values
from clika_pytree._native import PyTreeValueError
from clika_pytree.runtimes import archives
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .library import export
from .traced import Constant, TracedGraph

if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

__all__: list[str] = []

FORMAT = {"format": "clika_pytree jax graph", "version": 1}
EXPORTED, PROGRAM = "exported.bin", "program.txt"


def save(graph: TracedGraph, path: str | PathLike[str]) -> None:
    """Write a traced graph; a file that was there is replaced once the new one is whole."""
    head = {
        **FORMAT,
        "inputs": [*graph.inputs],
        "outputs": [*graph.outputs],
        "results": [[one] if isinstance(one, int) else plain_values.write([one.value]) for one in graph.results],
        "constant": [isinstance(one, Constant) for one in graph.results],
    }
    archives.write(path, head, {EXPORTED: serialized(graph.exported), PROGRAM: graph.program})


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
        inputs, outputs = names(head, "inputs"), names(head, "outputs")
        marks = zip(head["results"], head["constant"], strict=True)
        results = [result_of(items, mark, len(exported.out_avals)) for items, mark in marks]
        if len(inputs) != len(exported.in_avals) or len(outputs) != len(results):
            raise PyTreeValueError("it names another number of inputs or results than the graph has")
        return TracedGraph(exported, inputs, outputs, results, archive.read(PROGRAM).decode())


def names(head: Any, which: str) -> list[str]:
    found = head[which]
    if class_of(found) is not list or not all(class_of(name) is str for name in found):
        raise PyTreeValueError(f"its {which} are no list of names")
    return [*found]


def result_of(items: Any, is_constant: Any, count: int) -> int | Constant:
    value = plain_values.read_one(items, "a result")
    if is_constant is True:
        return Constant(value)
    if is_constant is not False or class_of(value) is not int or not 0 <= value < count:
        raise PyTreeValueError(f"it has no computed result {value!r}")
    return int(value)
