"""A graph that stands by itself: it says what its inputs are called, and refuses tensors it was not recorded for."""

from __future__ import annotations

import numpy as np

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.runtimes.protocol import TensorSpec
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, counted, short_name

from .array import Recorded
from .graph import Names, unnamed
from .kinds import is_a
from .recording import record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from typing import Any

    from clika_pytree.runtimes.protocol import FlatFn

    from .graph import Fact, Graph

__all__: list[str] = []


class TracedGraph:
    """A graph of numpy calls for `trace`."""

    def __init__(self, graph: Graph, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.graph = graph
        self.inputs: Sequence[str] = [*inputs]
        self.outputs: Sequence[str] = [*outputs]

    def run(self, tensors: Sequence[Any], /) -> list[Any]:
        """The results for these tensors."""
        if len(tensors) != len(self.inputs) or not self.graph.guards.hold(tensors):
            self.check(tensors)
            return self.graph.run_as_part(tensors)  # some stand for arrays of the function that is recorded now
        return self.graph.run(tensors)

    def check(self, tensors: Sequence[Any]) -> None:
        """Refuse tensors that the graph is not for."""
        guards, names = self.graph.guards, self.inputs
        if len(tensors) != len(names):
            raise PyTreeTypeError(
                f"the graph takes {counted(len(names), 'tensor')} ({', '.join(names)}), got {len(tensors)}"
            )
        for index, fact in guards.facts.items():
            if not fact.is_for(tensors[index]):
                raise PyTreeTypeError(
                    f"the graph was traced for {fact_text(fact)} as {names[index]}, got {tensor_text(tensors[index])}; "
                    "trace the function again for such"
                )
        for (index, axis), size in guards.sizes.items():
            found = tensors[index].shape[axis]
            if found != size:
                raise PyTreeValueError(
                    f"the function used {names[index]}.shape[{axis}] as a number, which was {size} when it was traced "
                    f"and is {found} here; trace it again for such"
                )
        for condition in guards.conditions:
            found = condition.function(tensors)
            if found != condition.value:
                raise PyTreeValueError(
                    f"the function used {condition.text} when it was traced, which was {condition.value!r} and is "
                    f"{found!r} here; trace it again for such"
                )

    def text(self) -> str:
        return self.graph.text()

    def save(self, path: str | PathLike[str], /) -> None:
        """Write it to a file, which `files.load` reads."""
        from .files import save

        save(self, path)


def fact_text(fact: Fact) -> str:
    return f"{fact.type.__name__} of {fact.dtype} with {fact.ndim} {'axis' if fact.ndim == 1 else 'axes'}"


def tensor_text(value: Any) -> str:
    if not is_a(value, (np.ndarray, np.generic)):
        return f"an object of class {short_name(class_of(value))}"
    return f"{short_name(value.__class__)} of {value.dtype} with shape {value.shape}"


def describe(x: Any) -> TensorSpec:
    """The facts of a tensor, or of an object with a shape and a dtype that stands for one."""
    return TensorSpec(str(dtype_of(x)), tuple(x.shape))


def dtype_of(x: Any) -> Any:
    try:
        return np.dtype(x.dtype)
    except TypeError:
        raise PyTreeTypeError(f"numpy has no dtype {x.dtype!r}; a stand-in for one of its arrays needs one") from None


def example(stand_in: Any) -> Any:
    """An array to record with: a copy, as the function may write into it; numbers near 1 for a shape and a dtype."""
    if class_of(stand_in) is Recorded:  # within another recording
        stand_in = stand_in.traced_value
    if is_a(stand_in, np.generic):
        return stand_in
    if is_a(stand_in, np.ndarray):
        return np.array(stand_in, order="C", copy=True, subok=True)
    dtype, shape = dtype_of(stand_in), tuple(stand_in.shape)
    if not all(class_of(size) is int and size >= 0 for size in shape):
        raise PyTreeTypeError(f"a stand-in for an array of numpy needs a shape of numbers, got {shape!r}")
    return np.array(np.random.default_rng(0).uniform(1, 2, shape)).astype(dtype)


def trace(
    flat_fn: FlatFn, stand_ins: Sequence[Any], input_names: Sequence[str], output_names: Sequence[str] | None
) -> TracedGraph:
    """Record a function for tensors like these, whatever their sizes."""
    names = Names(input_names, output_names)
    results, graph = record(flat_fn, [example(stand_in) for stand_in in stand_ins], names=names)
    return TracedGraph(graph, input_names, output_names or unnamed(len(results)))
