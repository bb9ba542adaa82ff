"""How the results of a function follow from its inputs and from what MLX computes."""

from __future__ import annotations

import numpy as np

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .library import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    # From the inputs and from what was computed.
    Source: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Any]

__all__: list[str] = []


class Results:
    """What MLX has to compute for a function: each once, and nothing for an input that is returned.

    MLX traces a function for each size, and every trace has results of its own. The last thing that a trace computes is
    its number, which MLX hands out as it is.

    Attributes:
        are_computed: Whether the first trace found that what MLX computes are the results, in order, so that no number
            is needed. A later trace then has MLX compute them all.
    """

    def __init__(self) -> None:
        self.are_computed: bool | None = None
        self.traces: list[list[Source]] = []

    def __call__(self, results: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        if self.are_computed:
            return [*results]
        given = {id(value): index for index, value in enumerate(inputs)}
        wanted: dict[int, int] = {}
        outputs: list[Any] = []
        sources: list[Source] = []
        for result in results:
            if id(result) in given:
                sources.append(from_inputs(given[id(result)]))
            elif isinstance(result, Array):
                if id(result) not in wanted:
                    wanted[id(result)] = len(outputs)
                    outputs.append(result)
                sources.append(from_outputs(wanted[id(result)]))
            else:
                sources.append(constant(result))
        if self.are_computed is None:
            self.are_computed = len(outputs) == len(results)
        if self.are_computed:
            return outputs
        self.traces.append(sources)
        return [*outputs, len(self.traces) - 1]

    def build(self, inputs: Sequence[Any], computed: Sequence[Any]) -> list[Any]:
        """The results, from the inputs and from what was computed."""
        if self.are_computed:
            return [*computed]
        number: int = computed[-1]
        return [source(inputs, computed) for source in self.traces[number]]


def from_inputs(index: int) -> Source:
    return lambda inputs, computed: inputs[index]


def from_outputs(index: int) -> Source:
    return lambda inputs, computed: computed[index]


def constant(value: Any) -> Source:
    """A value that was there while the function was traced; an array of numpy is a new one in each result."""
    if issubclass(class_of(value), np.ndarray):
        held = value.copy()
        return lambda inputs, computed: held.copy()
    return lambda inputs, computed: value
