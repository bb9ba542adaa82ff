"""What the graphs have in common that `trace` makes with another library: names, and results that are no tensors."""

from __future__ import annotations

from clika_pytree import plain_values
from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import PLAIN, class_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .protocol import TensorSpec

__all__: list[str] = []


class Constant:
    """A result that is no tensor."""

    def __init__(self, value: Any) -> None:
        self.value = value


class NamedGraph:
    """A graph with names for its inputs and results.

    Attributes:
        inputs: The names of its inputs.
        outputs: The names of its results.
        results: For each result, the number of what is computed, or a constant.
    """

    tensors = "arrays"  # what its inputs are called

    def __init__(self, inputs: Sequence[str], outputs: Sequence[str], results: Sequence[int | Constant]) -> None:
        self.inputs: Sequence[str] = [*inputs]
        self.outputs: Sequence[str] = [*outputs]
        self.results = [*results]

    def check_count(self, tensors: Sequence[Any]) -> None:
        if len(tensors) != len(self.inputs):
            takes = f"the graph takes {len(self.inputs)} {self.tensors} ({', '.join(self.inputs)})"
            raise PyTreeTypeError(f"{takes}, got {len(tensors)}")

    def with_constants(self, computed: Sequence[Any]) -> list[Any]:
        return [one.value if isinstance(one, Constant) else computed[one] for one in self.results]

    def signature(self, specs: Sequence[TensorSpec]) -> str:
        """Its name for each input and result."""
        given = (f"{name}: {spec}" for name, spec in zip(self.inputs, specs, strict=True))
        return f"({', '.join(given)}) -> ({', '.join(self.outputs)})"

    def head(self) -> dict[str, Any]:
        """Its names and constants, for a file."""
        return {
            "inputs": [*self.inputs],
            "outputs": [*self.outputs],
            "results": [[one] if isinstance(one, int) else plain_values.write([one.value]) for one in self.results],
            "constant": [isinstance(one, Constant) for one in self.results],
        }


def split(results: Sequence[Any]) -> tuple[list[int | Constant], list[Any]]:
    """For each result of a function its number among those that are computed, or a constant; and those."""
    places: list[int | Constant] = []
    computed: list[Any] = []
    for result in results:
        is_constant = id(class_of(result)) in PLAIN
        places.append(Constant(result) if is_constant else len(computed))
        computed += [] if is_constant else [result]
    return places, computed


def names_of_results(given: Sequence[str] | None, count: int) -> Sequence[str]:
    return given or [f"result[{index}]" for index in range(count)]


# --- read from a file -------------------------------------------------------------------------------------------------


def read_head(head: Any, inputs: int, computed: int | None = None) -> tuple[list[str], list[str], list[int | Constant]]:
    """What `NamedGraph.head` wrote, of a graph with so many inputs that computes so many results."""
    found = names(head, "inputs"), names(head, "outputs")
    marks = zip(head["results"], head["constant"], strict=True)
    results = [result_of(items, mark, computed) for items, mark in marks]
    if len(found[0]) != inputs or len(found[1]) != len(results):
        raise PyTreeValueError("it names another number of inputs or results than the graph has")
    return *found, results


def names(head: Any, which: str) -> list[str]:
    found = head[which]
    if class_of(found) is not list or not all(class_of(name) is str for name in found):
        raise PyTreeValueError(f"its {which} are no list of names")
    return [*found]


def result_of(items: Any, is_constant: Any, computed: int | None) -> int | Constant:
    value = plain_values.read_one(items, "a result")
    if is_constant is True:
        return Constant(value)
    is_place = is_constant is False and class_of(value) is int and value >= 0
    if not is_place or (computed is not None and value >= computed):
        raise PyTreeValueError(f"it has no computed result {value!r}")
    return int(value)
