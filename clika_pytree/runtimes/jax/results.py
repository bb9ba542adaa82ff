"""How the results of a function follow from its inputs and from what JAX computes."""

from __future__ import annotations

import numpy as np

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .library import Tracer, tree_util

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    # From the inputs and from what was computed.
    Source: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Any]

__all__: list[str] = []


class Recipe:
    """The results of one trace. JAX hands it out with what it computed, as the static last item of the list.

    A function may be traced again, for other settings of JAX, and each trace has results of its own.

    Attributes:
        build: Gives the results from the inputs and from what was computed.
    """

    __slots__ = ("build",)

    def __init__(self, build: Callable[[Sequence[Any], Sequence[Any]], list[Any]]) -> None:
        self.build = build


tree_util.register_static(Recipe)


class Results:
    """What JAX has to compute for a function: each once, and nothing for an input that is returned.

    Attributes:
        are_computed: Whether the first trace found that what JAX computes are the results, in order, so that no recipe
            is needed. A later trace then has JAX compute them all.
    """

    def __init__(self) -> None:
        self.are_computed: bool | None = None

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
            elif isinstance(result, Tracer):
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
        return [*outputs, Recipe(lambda tensors, outputs: [source(tensors, outputs) for source in sources])]


def from_inputs(index: int) -> Source:
    return lambda tensors, outputs: tensors[index]


def from_outputs(index: int) -> Source:
    return lambda tensors, outputs: outputs[index]


def constant(value: Any) -> Source:
    """A value that was there while the function was traced; an array of numpy is a new one in each result."""
    if issubclass(class_of(value), np.ndarray):
        held = value.copy()
        return lambda tensors, outputs: held.copy()
    return lambda tensors, outputs: value
