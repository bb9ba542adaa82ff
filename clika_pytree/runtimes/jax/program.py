"""A compiled function of a flat list of arrays."""

from __future__ import annotations

import functools
from inspect import Parameter, Signature

from clika_pytree.runtimes.free_sizes import Guards
from clika_pytree.typing import TYPE_CHECKING

from .library import jax
from .refusals import translated
from .results import Results
from .sizes import for_all_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from clika_pytree.runtimes.protocol import FlatFn

__all__: list[str] = []


SIGNATURE = Signature([Parameter("tensors", Parameter.POSITIONAL_ONLY)])


def staged(flat_fn: FlatFn, names: Sequence[str], finish: Callable[[list[Any], list[Any]], list[Any]]) -> Any:
    """What JAX traces: a function of one list; `finish` makes of its results and the inputs what is to be computed."""

    def function(tensors: list[Any]) -> list[Any]:
        try:
            results = flat_fn([*tensors])
        except Exception as error:
            ours = translated(function.__name__, error, names)
            if ours is None:
                raise
            raise ours from error
        return finish(results, tensors)

    # Messages of JAX name the function, its line, and the argument.
    functools.update_wrapper(function, flat_fn)
    vars(function)["__signature__"] = SIGNATURE
    return function


class Program:
    """A graph: a function of a list of arrays that `jax.jit` compiled, once for each device, sharding and setting.

    Attributes:
        run: Gives the results for a list of arrays.
        guards: What its inputs must be.
        nodes: How many operations its jaxpr has.
    """

    __slots__ = ("_jaxpr", "guards", "nodes", "run")

    def __init__(self, jitted: Any, results: Results, jaxpr: Any, guards: Guards) -> None:
        # A call between ours and JAX's would be felt.
        self.run: Any = jitted if results.are_computed else by_recipe(jitted)
        self._jaxpr, self.guards, self.nodes = jaxpr, guards, len(jaxpr.eqns)

    def text(self) -> str:
        """The program as JAX prints it."""
        return str(self._jaxpr)


def by_recipe(jitted: Any) -> Callable[[Sequence[Any]], list[Any]]:
    """What computes, and makes the results of that."""

    def run(tensors: Sequence[Any]) -> list[Any]:
        computed = jitted(tensors)
        return computed.pop().build(tensors, computed)  # type: ignore[no-any-return]

    return run


def compiled(flat_fn: FlatFn, tensors: Sequence[Any], dynamic: bool, names: Sequence[str]) -> Program:
    """Trace a function for arrays like these: for all sizes of first axes where that can be, else for these sizes."""
    results = Results()
    function = staged(flat_fn, names, results)
    places: dict[tuple[int, int], str] = {}
    if dynamic:
        exported, jaxpr, free, places = for_all_sizes(function, tensors)
        if free:
            return Program(jax.jit(exported.call), results, jaxpr, Guards(tensors, free, places))
    jitted = jax.jit(function)
    # jit keeps the trace, so the first call makes no other one.
    jaxpr = jitted.trace([*tensors]).jaxpr
    return Program(jitted, results, jaxpr, Guards(tensors, [], places))
