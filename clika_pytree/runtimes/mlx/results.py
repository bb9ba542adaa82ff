"""How the results of a function follow from its inputs and from what MLX computes."""

from __future__ import annotations

from clika_pytree.runtimes import results
from clika_pytree.typing import TYPE_CHECKING

from .library import Array

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__: list[str] = []


class Results(results.Results):
    """What MLX has to compute for a function, which it traces for each size.

    The last thing that a trace computes is its number, which MLX hands out as it is.
    """

    def __init__(self) -> None:
        super().__init__()
        self.traces: list[results.Recipe] = []

    def is_computed(self, result: Any) -> bool:
        return isinstance(result, Array)

    def last(self, recipe: results.Recipe) -> int:
        self.traces.append(recipe)
        return len(self.traces) - 1

    def build(self, inputs: Sequence[Any], computed: Sequence[Any]) -> list[Any]:
        """The results, from the inputs and from what was computed."""
        if self.are_computed:
            return [*computed]
        number: int = computed[-1]
        return self.traces[number].build(inputs, computed)
