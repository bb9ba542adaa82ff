"""`compile`: a function of trees as graphs of a runtime, each found again by what it is right for."""

from __future__ import annotations

import functools
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.registration import described
from clika_pytree.runtimes import runtime_named
from clika_pytree.typing import TYPE_CHECKING

from .cache import GuardCache
from .errors import MissError
from .flights import Flights
from .functions import target_of
from .program import build
from .tracing import tracing

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from clika_pytree.runtimes.protocol import Runtime
    from clika_pytree.typing import Namespace

    from .functions import Target

__all__ = ["Compiled", "compile"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")


class Compiled(Generic[P, R]):
    """A function that `compile` made: it runs a graph where it has one for a call, and makes one where it has none.

    As an attribute of a class it is a method, whose object is an argument like any other.
    """

    def __init__(self, target: Target, options: Options) -> None:
        functools.update_wrapper(self, target.function)
        self.__name__ = target.name
        self.__wrapped__ = target.function
        self._target, self._options = target, options
        self._cache = GuardCache(
            target.signature, options.max_graphs, namespace=options.namespace, dynamic=options.dynamic
        )
        self._lookup = self._cache.lookup
        self._flights = Flights(options.dynamic)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        found = self._lookup(args, kwargs)
        if found is None:
            return self._miss(args, kwargs)
        return found[0].run(found[1])  # type: ignore[no-any-return]

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Compiled[P, R]: ...
    @overload
    def __get__(self: Compiled[Concatenate[S, Q], R], instance: S, owner: Any = None) -> Compiled[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else Bound(self, instance)

    def _miss(self, args: Any, kwargs: Any) -> R:
        """Make the graph for a call that has none, and give its result."""
        if tracing() is not None:
            # Part of another graph: what it does is recorded there.
            return cast("R", self.__wrapped__(*args, **kwargs))
        while True:
            call = self._cache.bind(args, kwargs)
            flight = self._flights.begin(call)
            try:
                found = self._lookup(args, kwargs)
                if found is not None:
                    return cast("R", found[0].run(found[1]))
                if flight is not None:
                    return cast("R", self._make(call))
            finally:
                if flight is not None:
                    self._flights.end(flight)

    def _make(self, call: Any) -> Any:
        options = self._options
        runtime = options.runtime or runtime_of_call(self.__name__, call)
        if options.on_miss == "error":
            raise MissError(f'{self.__name__}() was compiled with on_miss="error" and has no graph for this call')
        program, result = build(self.__wrapped__, self.__name__, call, runtime, options.namespace, options.dynamic)
        self._cache.insert(call, program, guards=None if runtime.own_guards else program.executable.guards)
        return result

    def cache_info(self) -> Any:
        """How often a graph was found and how often not, how many there may be, and how many there are."""
        return self._cache.cache_info()

    def clear(self) -> None:
        """Forget all graphs."""
        self._cache.clear()

    def __repr__(self) -> str:
        return f"<compiled function {self.__name__}>"


class CompiledPartial(Compiled[P, R]):
    """A compiled function with arguments that come before those of a call."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        target = self._target
        given: Any = (*target.leading, *args)
        named: Any = {**target.keywords, **kwargs} if target.keywords else kwargs
        return super().__call__(*given, **named)


class Bound(functools.partial[Any]):
    """A compiled method of one object."""

    def cache_info(self) -> Any:
        return self.func.cache_info()

    def clear(self) -> None:
        self.func.clear()

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        return self.func.explain(*self.args, *args, **kwargs)

    def graphs(self) -> Any:
        return self.func.graphs()


class Options:
    """What `compile` was told."""

    __slots__ = ("dynamic", "max_graphs", "namespace", "on_miss", "runtime")

    def __init__(self, dynamic: Any, runtime: Any, max_graphs: Any, on_miss: Any, namespace: Any) -> None:
        if type(dynamic) is not bool:
            raise PyTreeTypeError(f"compile() expects True or False as dynamic, got {described(dynamic)}")
        if type(max_graphs) is not int or max_graphs < 1:
            raise PyTreeTypeError(f"compile() expects a number from 1 on as max_graphs, got {described(max_graphs)}")
        if type(on_miss) is not str or on_miss not in ("compile", "error"):
            raise PyTreeValueError(f'compile() expects "compile" or "error" as on_miss, got {described(on_miss)}')
        self.dynamic, self.max_graphs, self.on_miss, self.namespace = dynamic, max_graphs, on_miss, namespace
        self.runtime: Runtime | None = None if runtime is None else runtime_named("compile()", runtime)


def runtime_of_call(name: str, call: Any) -> Runtime:
    """The runtime of a call's tensors; numpy where it has none."""
    if not call.runtimes:
        return runtime_named(f"{name}()", "numpy")
    others = [runtime for runtime in call.runtimes if runtime.name != "numpy"]
    if len(others) > 1:
        raise PyTreeTypeError(f"{name}() got tensors of {others[0].name} and of {others[1].name}")
    return cast("Runtime", call.runtimes[0])


@overload
def compile(
    fn: Callable[P, R],
    *,
    dynamic: bool = False,
    runtime: str | Runtime | None = None,
    max_graphs: int = 64,
    on_miss: Literal["compile", "error"] = "compile",
    namespace: Namespace = "",
) -> Compiled[P, R]: ...
@overload
def compile(
    fn: None = None,
    *,
    dynamic: bool = False,
    runtime: str | Runtime | None = None,
    max_graphs: int = 64,
    on_miss: Literal["compile", "error"] = "compile",
    namespace: Namespace = "",
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
def compile(
    fn: Any = None,
    *,
    dynamic: bool = False,
    runtime: str | Runtime | None = None,
    max_graphs: int = 64,
    on_miss: Literal["compile", "error"] = "compile",
    namespace: Namespace = "",
) -> Any:
    """A function of trees, compiled for each kind of call that comes."""
    options = Options(dynamic, runtime, max_graphs, on_miss, namespace)

    def compiled(fn: Callable[P, R]) -> Compiled[P, R]:
        target = target_of("compile()", fn)
        return (CompiledPartial if target.leading or target.keywords else Compiled)(target, options)

    return compiled if fn is None else compiled(fn)
