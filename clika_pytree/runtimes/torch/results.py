"""How the results of a function follow from its inputs and from what PyTorch computes."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .library import Symbols, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__: list[str] = []


class Recipe:
    """The results of one trace: each tensor is computed once, and nothing for an input that is returned.

    Attributes:
        is_plain: Whether the results are what is computed, in order.
    """

    __slots__ = ("is_plain", "places", "sources")

    def __init__(self, results: Sequence[Any], inputs: Sequence[Any]) -> None:
        given = {id(value): index for index, value in enumerate(inputs)}
        wanted: dict[int, int] = {}
        self.places: list[int] = []  # of a result that is computed, for each that is
        # For each result: where it comes from, and its place there, or itself.
        self.sources: list[tuple[str, Any]] = []
        for place, result in enumerate(results):
            if id(result) in given:
                self.sources.append(("input", given[id(result)]))
            elif is_computed(result):
                if id(result) not in wanted:
                    wanted[id(result)] = len(self.places)
                    self.places.append(place)
                self.sources.append(("computed", wanted[id(result)]))
            else:
                self.sources.append(("constant", Constant(result)))
        self.is_plain = len(self.places) == len(results)

    def computed(self, results: Sequence[Any]) -> list[Any]:
        """Those of the results that have to be computed."""
        return [results[place] for place in self.places]

    def build(self, inputs: Sequence[Any], computed: Sequence[Any]) -> list[Any]:
        """The results of a call."""
        sources = {"input": inputs, "computed": computed}
        return [place.value() if name == "constant" else sources[name][place] for name, place in self.sources]


class Constant:
    """What was there before the trace; an array of numpy is a new one in each result."""

    def __init__(self, result: Any) -> None:
        self.is_array = not isinstance(result, Tensor) and hasattr(class_of(result), "__array_interface__")
        self.held = result.copy() if self.is_array else result

    def value(self) -> Any:
        return self.held.copy() if self.is_array else self.held


def is_computed(result: Any) -> bool:
    """Whether it stands for what a call computes, and is not a tensor that was there before."""
    from .library import is_real

    return isinstance(result, Symbols) or (isinstance(result, Tensor) and not is_real(result))
