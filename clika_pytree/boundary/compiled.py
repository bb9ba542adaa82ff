"""A compiled function: it finds the graph for a call, or makes it."""

from __future__ import annotations

import copy
import functools
import inspect
import types
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, cast, overload

from clika_pytree._native import Dispatcher, GuardCache
from clika_pytree.other_libraries.torch_return_types import register_once
from clika_pytree.runtimes.protocol import Misfit, TensorGuards
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, described, short_name

from .errors import MissError
from .explanation import Change, Explanation, changes_from, reasons
from .flights import Flights
from .options import checked_on_miss, runtime_of_call
from .program import build
from .recompiles import Recompiles
from .state import traced_name
from .table import GraphTable, row_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from clika_pytree._native import GuardCall

    from .options import OnMiss, Options
    from .targets import Target

__all__: list[str] = []

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")


class CacheInfo(NamedTuple):
    """What a compiled function has counted.

    Attributes:
        hits: Calls that a graph was found for.
        misses: Calls that none was found for, those inside another trace included.
        maxsize: How many graphs there may be.
        currsize: How many there are.
    """

    hits: int
    misses: int
    maxsize: int
    currsize: int


class Compiled(Dispatcher, Generic[P, R]):
    """A function that `compile` made: it runs a graph where it has one for a call, and makes one where it has none.

    As an attribute of a class it is a method, whose object is an argument like any other.
    """

    __name__: str
    __wrapped__: Any

    def __new__(cls, target: Target, options: Options) -> Self:
        cache = GuardCache(
            target.signature,
            options.max_graphs,
            namespace=options.namespace,
            dynamic=options.dynamic,
            name=target.name,
        )
        return super().__new__(cls, cache)

    def __init__(self, target: Target, options: Options) -> None:
        functools.update_wrapper(self, target.function)
        self.__name__ = target.name
        self.__wrapped__ = target.function
        self._target, self._options = target, options
        self._flights = Flights(options.dynamic)
        self._recompiles = Recompiles(target.name, options.dynamic)
        self._on_miss: OnMiss = options.on_miss

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Compiled[P, R]: ...
    @overload
    def __get__(self: Compiled[Concatenate[S, Q], R], instance: S, owner: Any = None) -> Compiled[Q, R]: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        compiled: Any = self
        return compiled if instance is None else Bound(compiled, instance)

    def _miss(self, args: Any, kwargs: Any) -> R:
        """Make the graph for a call that has none, and give its result."""
        if traced_name() is not None:
            # Part of another graph: what it does is recorded there.
            return cast("R", self.__wrapped__(*args, **kwargs))
        register_once()
        while True:
            call = self._cache.bind(args, kwargs)
            if any(runtime.is_traced(call.tensors) for runtime in call.runtimes):
                return cast("R", self.__wrapped__(*args, **kwargs))
            flight = self._flights.begin(call)
            try:
                # Another thread may have made the graph since this one looked.
                found = self._cache.lookup(args, kwargs)
                if found is not None:
                    program, tensors = found
                    return cast("R", program(tensors))
                self._flights.looked_again()
                if flight is not None:
                    return cast("R", self._make(call))
            finally:
                if flight is not None:
                    self._flights.end(flight)

    def _make(self, call: GuardCall) -> Any:
        options, name = self._options, self.__name__
        runtime = runtime_of_call(name, call, options.runtime)
        if self._on_miss == "error":
            raise self._refused(call)
        if self._recompiles.wants_changes():
            self._recompiles.note(self._changes(call))
        program, result = build(self._target, self._cache, call, runtime, options.namespace, options.dynamic)
        guards = None if runtime.own_guards else program.executable.guards
        self._cache.insert(call, program, guards=TensorGuards(call.tensors) if self._cache.reads_facts else guards)
        self._recompiles.made()
        return result

    def _other_results(self, args: Any, kwargs: Any, error: BaseException) -> R:
        """The result of a call for which a graph was not right, or was traced once more to another result.

        From then on each graph is for certain sizes, and looked at before it runs.
        """
        if self._cache.reads_facts:
            raise error
        self._cache.read_facts(isinstance(error, Misfit))
        return cast("R", Dispatcher.__call__(self, *args, **kwargs))

    def _changes(self, call: GuardCall) -> tuple[Change, ...]:
        """How a call differs from the one that the closest graph was made for."""
        return changes_from(self._cache.explain(call), call)

    def _refused(self, call: GuardCall) -> MissError:
        name = self.__name__
        text = f'{name}() makes no new graphs, as its on_miss is "error", and '
        if not self.cache_info().currsize:
            return MissError(
                f"{text}has no graph yet. Make those it needs before: compile it without on_miss, and call it"
            )
        changes = self._changes(call)
        text += "none fits this call"
        for change in changes[:1]:
            more = f" (and {len(changes) - 1:,} more)" if len(changes) > 1 else ""
            text += f": {change}{more}. {name}.explain(...) with the same arguments lists what differs"
        error = MissError(text)
        error.path = changes[0].path if changes else None
        return error

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """Why a call would need a new graph: how it differs from the one that the closest graph was made for.

        Nothing is run or made; of user code only the flatten functions of classes and the `repr` of leaves are called.

        Args:
            *args: The arguments of the call.
            **kwargs: Those given by name.

        Returns:
            What prints a line for each difference. `needs_graph` says whether a graph would be made, and `changes` has
            the differences, each with a `path`, `old`, `new` and `kind`.

        Raises:
            PyTreeTypeError: (a `TypeError`) the call would be refused, as something in it can't be a guard.
        """
        return self._explained(args, kwargs)

    def _explained(self, args: Any, kwargs: Any) -> Explanation:
        register_once()
        call = self._cache.bind(args, kwargs)
        changes = self._changes(call)
        notes: list[str] = []
        if self._options.dynamic:
            places = {key: place for entry in self._cache.entries() for key, place in entry.value.places()}
            notes = reasons(changes, places)
        return Explanation(self.__name__, self.cache_info().currsize, changes, notes)

    def graphs(self) -> GraphTable:
        """The graphs there are, as a table that prints: what each is for, how often it ran, and what making it took."""
        parameters = tuple(self._target.signature.parameters)
        return GraphTable(
            self.__name__, parameters, [row_of(entry) for entry in self._cache.entries()], self.cache_info()
        )

    @property
    def on_miss(self) -> OnMiss:
        """What happens where no graph fits a call: "compile" makes one, "error" raises a `MissError`.

        It can be set: a server calls what it compiled for all that may come, and refuses to compile anything later.
        """
        return self._on_miss

    @on_miss.setter
    def on_miss(self, value: OnMiss) -> None:
        self._on_miss = checked_on_miss(value)

    def cache_info(self) -> CacheInfo:
        """How often a graph was found and how often not, how many there may be, and how many there are."""
        info = self._cache.cache_info()
        return CacheInfo(info.hits, info.misses - self._flights.lookups, info.maxsize, info.currsize)

    def clear(self) -> None:
        """Forget all graphs, and what was counted."""
        self._cache.clear()
        self._flights.lookups = 0
        self._recompiles = Recompiles(self.__name__, self._options.dynamic)

    def __copy__(self) -> Compiled[P, R]:
        return self

    def __deepcopy__(self, memo: Any) -> Compiled[P, R]:
        return self

    def __reduce__(self) -> Any:
        """By name, as functions are pickled; its graphs stay in this process."""
        return cast("str", vars(self).get("__qualname__", self.__name__))

    def __repr__(self) -> str:
        count = self.cache_info().currsize
        return f"<compiled function {self.__name__}, {count:,} graph{'' if count == 1 else 's'}>"


class CompiledPartial(Compiled[P, R]):
    """A compiled function with arguments that come before those of a call."""

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._target.given)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        given, named = self._completed(args, kwargs)
        return cast("R", Dispatcher.__call__(self, *given, **named))

    def _completed(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        target = self._target
        return (*target.leading, *args), {**target.keywords, **kwargs} if target.keywords else kwargs

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        return self._explained(*self._completed(args, kwargs))

    def __deepcopy__(self, memo: Any) -> CompiledPartial[P, R]:
        # Its arguments are copied with what holds them: the copy of a model computes with its own weights.
        target = self._target
        twin = type(self)(target, self._options)
        memo[id(self)] = twin
        leading, keywords = copy.deepcopy((target.leading, target.keywords), memo)
        twin._target = target._replace(leading=leading, keywords=keywords)
        twin._on_miss = self._on_miss
        return twin


class Bound(functools.partial[Any]):
    # A method of one object, which looks like the method. A partial adds less to a call than a class of ours would.
    if not TYPE_CHECKING:
        __doc__ = property(lambda self: self.func.__doc__)

    @property
    def __self__(self) -> Any:
        return self.args[0]

    @property
    def __func__(self) -> Compiled[..., Any]:
        return cast("Compiled[..., Any]", self.func)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(types.MethodType(self.__func__.__wrapped__, self.__self__))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.func, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # This object is made anew each time the method is asked for. What is set is the function's, for all objects.
        if name != "on_miss":
            raise AttributeError(
                f"a bound method has no attributes of its own: set {name} on the function, such as "
                f"{short_name(class_of(self.__self__))}.{self.func.__name__}.{name} = ..."
            )
        self.__func__.on_miss = value

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        return self.__func__.explain(*self.args, *args, **kwargs)

    def __copy__(self) -> Bound:
        return Bound(self.func, self.__self__)

    def __deepcopy__(self, memo: Any) -> Bound:
        return Bound(self.func, copy.deepcopy(self.__self__, memo))

    def __repr__(self) -> str:
        return f"<bound {self.func!r} of {described(self.__self__)}>"
