"""numpy as a runtime."""

from __future__ import annotations

import numpy as np

from clika_pytree.runtimes.protocol import Runtime
from clika_pytree.typing import TYPE_CHECKING

from .array import Recorded
from .host import from_host, from_memory, same_memory, stored_as, to_host
from .recording import record
from .sizes import Size
from .traced import describe, trace

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from os import PathLike
    from typing import Any

    from clika_pytree.runtimes.protocol import FlatFn, Host, TensorSpec

    from .graph import Graph, Guards
    from .traced import TracedGraph

__all__: list[str] = []


class Program:
    """A graph of numpy calls for `compile`."""

    __slots__ = ("graph", "guards", "nodes", "run")

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.run: Any = graph.run
        self.guards: Guards = graph.guards
        self.nodes = len(graph.nodes)

    def text(self) -> str:
        return self.graph.text()


class NumpyRuntime(Runtime):
    """Arrays and scalars of numpy."""

    name = "numpy"
    modules = ("numpy",)
    own_guards = False
    lazy = False

    def is_tensor_type(self, cls: type[Any], /) -> bool:
        return issubclass(cls, (np.ndarray, np.generic))

    def describe(self, x: Any, /) -> TensorSpec:
        return describe(x)

    def compile(
        self, flat_fn: FlatFn, tensors: Sequence[Any], dynamic: bool, names: Sequence[str], /
    ) -> tuple[Sequence[Any], Program]:
        results, graph = record(flat_fn, tensors, dynamic=dynamic)
        return results, Program(graph)

    def trace(
        self,
        flat_fn: FlatFn,
        stand_ins: Sequence[Any],
        input_names: Sequence[str],
        output_names: Sequence[str] | None,
        /,
    ) -> TracedGraph:
        return trace(flat_fn, stand_ins, input_names, output_names)

    def load_graph(self, path: str | PathLike[str], /) -> TracedGraph:
        from .files import load

        return load(path)

    def stored_as(self, x: Any, /) -> tuple[str, tuple[int, ...]]:
        return stored_as(x)

    def to_host(self, x: Any, /) -> Host:
        return to_host(x)

    def from_host(self, host: Host, device: str, /) -> Any:
        return from_host(host, device)

    def from_memory(self, entries: Sequence[Any], memory: Any, device: str, /) -> list[Any]:
        return from_memory(entries, memory, device)

    def same_memory(self, x: Any, /) -> Hashable:
        return same_memory(x)


class RecordedRuntime(NumpyRuntime):
    """What stands for arrays and sizes while a function is recorded.

    A call of a compiled function with these is part of the recording: no graph for arrays is right for it, and none of
    them is asked for what would be written down.
    """

    modules = ("clika_pytree.runtimes.numpy",)
    own_guards = True

    def is_tensor_type(self, cls: type[Any], /) -> bool:
        return cls in (Recorded, Size)

    def is_traced(self, tensors: Sequence[Any], /) -> bool:
        return True


runtime, recorded = NumpyRuntime(), RecordedRuntime()
