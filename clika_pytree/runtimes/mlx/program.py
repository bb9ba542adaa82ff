"""A compiled function of a flat list of arrays."""

from __future__ import annotations

from clika_pytree.runtimes.protocol import Misfit, TensorGuards
from clika_pytree.typing import TYPE_CHECKING

from .host import as_array, is_numpy
from .library import mx
from .refusals import draws, is_about_elements, needs_elements
from .results import Results

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from clika_pytree.runtimes.protocol import FlatFn

__all__: list[str] = []


class Program:
    """A graph: a function of a list of arrays that `mx.compile` traced, once for each size that is free.

    Attributes:
        run: Gives the results for a list of arrays.
        guards: What its inputs must be.
        nodes: None, as MLX does not say.
    """

    nodes = None

    def __init__(self, name: str, names: Sequence[str], guards: TensorGuards, run: Any) -> None:
        self._text = f"mx.compile of {name}({', '.join(names)})"
        self.guards, self.run = guards, run

    def text(self) -> str:
        """What was compiled; MLX has no text for what it made of that."""
        return self._text


def compiled(flat_fn: FlatFn, tensors: Sequence[Any], dynamic: bool, names: Sequence[str]) -> tuple[list[Any], Program]:
    """Trace a function for arrays like these; the results for them, and the program.

    With free sizes MLX traces again for each. It could serve all with one trace (`shapeless`), but then is silently
    wrong where the function used a size as a number.
    """
    results, inputs = Results(), [as_array(x) for x in tensors]
    jitted = mx.compile(staged(flat_fn, results, None if dynamic else facts_of(inputs)))
    first = results.build(tensors, jitted(inputs))
    free = [(index, 0) for index, x in enumerate(inputs) if dynamic and x.ndim]
    run: Any = jitted if results.are_computed else by_recipe(jitted, results)
    if any(map(is_numpy, tensors)):
        run = of_arrays(jitted, results)
    return first, Program(flat_fn.__name__, names, TensorGuards(tensors, free, is_checked=not dynamic), run)


def facts_of(arrays: Sequence[Any]) -> list[Any]:
    return [(x.dtype, x.shape) for x in arrays]


def staged(
    flat_fn: FlatFn, finish: Callable[[list[Any], list[Any]], list[Any]], facts: list[Any] | None = None
) -> Callable[[list[Any]], list[Any]]:
    """What MLX traces: a function of one list; `finish` makes of its results and the inputs what is to be computed.

    With facts it is for such arrays only: MLX would trace it for others, too.
    """

    def function(tensors: list[Any]) -> list[Any]:
        if facts is not None and facts_of(tensors) != facts:
            raise Misfit
        before = mx.random.state[0]
        try:
            results = flat_fn([*tensors])
        except Exception as error:
            if is_about_elements(error):
                raise needs_elements(flat_fn.__name__, error) from error
            raise
        finally:
            drawn = mx.random.state[0] is not before
            if drawn:
                # What a draw has left there belongs to the trace. A key is the two halves of a seed.
                high, low = before.tolist()
                mx.random.seed(high << 32 | low)
        if drawn:
            raise draws(flat_fn.__name__)
        return finish(results, tensors)

    return function


def by_recipe(jitted: Any, results: Results) -> Callable[[Sequence[Any]], list[Any]]:
    """What computes, and makes the results of that."""
    return lambda tensors: results.build(tensors, jitted(tensors))


def of_arrays(jitted: Any, results: Results) -> Callable[[Sequence[Any]], list[Any]]:
    """The same for inputs among which are arrays of numpy, which MLX does not take."""
    return lambda tensors: results.build(tensors, jitted([as_array(x) for x in tensors]))
