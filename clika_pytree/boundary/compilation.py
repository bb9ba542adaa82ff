"""`compile`: a function of trees as graphs of a runtime, each found again by what it is right for."""

from __future__ import annotations

from typing import Any, ParamSpec, TypeVar, overload

from clika_pytree.typing import TYPE_CHECKING

from .compiled import Compiled, CompiledPartial
from .functions import target_of
from .options import Options

if TYPE_CHECKING:
    from collections.abc import Callable

    from clika_pytree.runtimes.protocol import Runtime
    from clika_pytree.typing import Namespace

    from .options import OnMiss

__all__ = ["compile"]

P = ParamSpec("P")
R = TypeVar("R")


@overload
def compile(
    fn: Callable[P, R],
    *,
    dynamic: bool = False,
    runtime: str | Runtime | None = None,
    max_graphs: int = 64,
    on_miss: OnMiss = "compile",
    namespace: Namespace = "",
) -> Compiled[P, R]: ...
@overload
def compile(
    fn: None = None,
    *,
    dynamic: bool = False,
    runtime: str | Runtime | None = None,
    max_graphs: int = 64,
    on_miss: OnMiss = "compile",
    namespace: Namespace = "",
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
def compile(
    fn: Any = None,
    *,
    dynamic: bool = False,
    runtime: str | Runtime | None = None,
    max_graphs: int = 64,
    on_miss: OnMiss = "compile",
    namespace: Namespace = "",
) -> Any:
    """Make a function of trees run as graphs of a runtime, one for each kind of call.

    The first call of a kind runs the function once and records what it does with its tensors. Later calls run what was
    recorded. Two calls are of one kind where their arguments have one structure, equal values in all leaves that are no
    tensors, and tensors of the same dtypes and sizes. So tensors are the inputs of a graph, and everything else is
    built into it, also what the function reads from globals and closures.

    It is a decorator, too, with or without arguments, also of methods, whose object is an argument like any other. The
    arguments that a `functools.partial` holds, and the object of a bound method or of a class with `__call__`, count as
    arguments of each call.

    Args:
        fn: A function whose arguments and result are trees.
        dynamic: Whether one graph serves all sizes that the function does not use as numbers of its own.
        runtime: The name of a runtime, or a runtime; without it, that of a call's tensors, and numpy for a call without
            tensors. numpy arrays may stand beside the tensors of any other runtime.
        max_graphs: How many graphs are kept. Beyond that, the one that was not used for the longest time goes.
        on_miss: What happens where no graph fits a call: "compile" makes one, "error" raises a `MissError`. It can be
            set later: `compiled.on_miss = "error"`.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        A `Compiled`, which is called like the function. `graphs()` lists its graphs, `explain(...)` says why a call
        needs a new one, `cache_info()` counts, `clear()` forgets. Without `fn`, a decorator.

    Raises:
        PyTreeTypeError: (a `TypeError`) `fn` is no function that returns its result, or an option is of the wrong sort.
        PyTreeValueError: (a `ValueError`) there is no such runtime, or no such `on_miss`.
        GuardError: (a `TypeError`, at a call) a leaf has no usable `==` and hash; as `UnregisteredNodeError`, an object
            holds tensors and its class is not registered. The message names the argument and what to do.
        RecordingError: (a `TypeError`, at a call) the function did something that a graph can't hold, such as a branch
            on the value of a tensor; the message names the line.

    Example:
        >>> import numpy as np
        >>> import clika_pytree as crt
        >>> @crt.compile
        ... def predict(params, batch):
        ...     hidden = np.tanh(batch["x"] @ params["w"])
        ...     return {"mean": hidden.mean(axis=0), "inputs": batch["x"]}
        >>> params, batch = {"w": np.eye(2)}, {"x": np.zeros((3, 2))}
        >>> predict(params, batch)["mean"]
        array([0., 0.])
        >>> predict(params, batch)["inputs"] is batch["x"]
        True
        >>> predict.cache_info()
        CacheInfo(hits=1, misses=1, maxsize=64, currsize=1)
        >>> predict.explain({"w": np.eye(2)}, {"x": np.zeros((4, 2))})
        predict: this call needs a new graph; one thing differs from the only graph:
          batch['x']: was float64[3, 2], now float64[4, 2]
    """
    options = Options(dynamic, runtime, max_graphs, on_miss, namespace)

    def compiled(fn: Callable[P, R]) -> Compiled[P, R]:
        target = target_of("compile()", fn)
        return (CompiledPartial if target.leading or target.keywords else Compiled)(target, options)

    return compiled if fn is None else compiled(fn)
