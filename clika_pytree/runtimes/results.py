"""How the results of a function follow from its inputs and from what a library computes for it."""

from __future__ import annotations

import sys

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    # From the inputs and from what was computed.
    Source: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Any]

__all__: list[str] = []


class Recipe:
    """The results of one trace: each is computed once, and nothing for an input that is returned.

    Attributes:
        places: Of the results that are computed, each once.
        is_plain: Whether the results are what is computed, in order.
    """

    __slots__ = ("is_plain", "places", "sources")

    def __init__(self, results: Sequence[Any], inputs: Sequence[Any], is_computed: Callable[[Any], bool]) -> None:
        given = {id(value): index for index, value in enumerate(inputs)}
        wanted: dict[int, int] = {}
        self.places: list[int] = []
        self.sources: list[Source] = []
        for place, result in enumerate(results):
            if id(result) in given:
                self.sources.append(from_inputs(given[id(result)]))
            elif is_computed(result):
                if id(result) not in wanted:
                    wanted[id(result)] = len(self.places)
                    self.places.append(place)
                self.sources.append(from_computed(wanted[id(result)]))
            else:
                self.sources.append(constant(result))
        self.is_plain = len(self.places) == len(results)

    def computed(self, results: Sequence[Any]) -> list[Any]:
        """Those of the results that have to be computed."""
        return [results[place] for place in self.places]

    def build(self, inputs: Sequence[Any], computed: Sequence[Any]) -> list[Any]:
        """The results of a call."""
        return [source(inputs, computed) for source in self.sources]


def from_inputs(index: int) -> Source:
    return lambda inputs, computed: inputs[index]


def from_computed(index: int) -> Source:
    return lambda inputs, computed: computed[index]


def constant(value: Any) -> Source:
    """A value that was there while the function was traced; an array of numpy is a new one in each result."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and issubclass(class_of(value), numpy.ndarray):
        held = value.copy()
        return lambda inputs, computed: held.copy()
    return lambda inputs, computed: value


class Results:
    """What a library has to compute for a function that it may trace again, each trace with results of its own.

    What it computes is handed out with something last that leads to the recipe of that trace.

    Attributes:
        are_computed: Whether the first trace found that what is computed are the results, in order, so that nothing
            stands last. A later trace then has all of them computed.
    """

    def __init__(self) -> None:
        self.are_computed: bool | None = None

    def __call__(self, results: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        if self.are_computed:
            return [*results]
        recipe = Recipe(results, inputs, self.is_computed)
        if self.are_computed is None:
            self.are_computed = recipe.is_plain
        computed = recipe.computed(results)
        return computed if self.are_computed else [*computed, self.last(recipe)]

    def is_computed(self, result: Any) -> bool:
        """Whether a result stands for what a call computes."""
        raise NotImplementedError

    def last(self, recipe: Recipe) -> Any:
        """What the library hands out as it is."""
        raise NotImplementedError
