"""What `trace` gives: a function of a list of tensors as a graph that runs by position or by name."""

from __future__ import annotations

from inspect import signature

from clika_pytree._native import PyTreeTypeError, PyTreeValueError, dict_insertion_ordered, runtime_of
from clika_pytree.runtimes import runtime_named
from clika_pytree.runtimes.answers import check_graph, loaded_by
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import PLAIN, class_of, counted, described, listed

from .state import Inside
from .targets import name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike
    from typing import Any

    from clika_pytree.runtimes import protocol
    from clika_pytree.runtimes.protocol import Runtime

__all__ = ["Graph"]

# The name of a graph of a lambda, or out of a file.
UNNAMED = "graph"


class Graph:
    """What `trace` recorded. Called with its tensors, by position or by name, it gives the list of its results.

    Attributes:
        inputs: The names of its tensors.
        outputs: The names of its results.

    Example:
        >>> import numpy as np
        >>> import clika_pytree as crt
        >>> graph = crt.trace(lambda xs: [xs[0] @ xs[1]], [np.ones((1, 3)), np.ones((3, 2))], names=["x", "w"])
        >>> graph
        <graph f(x, w) -> (result[0])>
        >>> graph(w=np.eye(3), x=np.arange(6.0).reshape(2, 3))
        [array([[0., 1., 2.],
               [3., 4., 5.]])]
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __init__(self, name: str, graph: protocol.Graph) -> None:
        self.name, self._graph, self._run = name, graph, graph.run
        self.inputs, self.outputs = tuple(graph.inputs), tuple(graph.outputs)

    def __call__(self, *tensors: Any, **named: Any) -> list[Any]:
        given = list(tensors)
        if named or len(given) != len(self.inputs):
            given += self._rest(given, named)
        results = self._run(given)
        if not isinstance(results, (list, tuple)):
            raise PyTreeTypeError(f"run() of {self._label} has to give a list, got {described(results)}")
        return [*results]

    def _rest(self, given: list[Any], named: dict[str, Any]) -> list[Any]:
        """The tensors given by name, in the order of the inputs that are left."""
        takes = f"{self._label} takes {', '.join(self.inputs) or 'nothing'}"
        if len(given) == 1 and type(given[0]) in (list, tuple) and not named:
            raise PyTreeTypeError(
                f"{takes}: got {described(given[0])}; pass its tensors one by one, as in graph(*tensors)"
            )
        if len(given) > len(self.inputs):
            raise PyTreeTypeError(f"{takes}: expected {counted(len(self.inputs), 'tensor')}, got {len(given)}")
        left = self.inputs[len(given) :]
        for name in named:
            if name not in left:
                what = f"{name} by position and by name" if name in self.inputs else f"no input named {name!r}"
                raise PyTreeTypeError(f"{takes}: got {what}" if name in self.inputs else f"{takes}: there is {what}")
        missing = [name for name in left if name not in named]
        if missing:
            raise PyTreeTypeError(f"{takes}: got no {listed(missing, len(missing))}")
        return [named[name] for name in left]

    @property
    def _label(self) -> str:
        return "the graph" if self.name == UNNAMED else f"the graph of {self.name}"

    def text(self) -> str:
        """The program in a form that a person can read."""
        return self._graph.text()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the graph to a file, in the form that its runtime has for that.

        Args:
            path: Where to.

        Raises:
            PyTreeTypeError: (a `TypeError`) the runtime has none.
            OSError: the file can't be written; one that was there is as it was.
        """
        save = getattr(self._graph, "save", None)
        if save is None:
            raise PyTreeTypeError(
                f"the runtime of {self._label} has no form for graphs in files; text() is the program"
            )
        save(path)

    @classmethod
    def load(cls, path: str | PathLike[str], *, runtime: str | Runtime = "numpy") -> Graph:
        """Read a graph that `save` wrote; nothing in the file is run.

        Args:
            path: Where from.
            runtime: The runtime whose graph it is, or its name.

        Returns:
            The graph.

        Raises:
            PyTreeTypeError: (a `TypeError`) the runtime reads no graphs.
            PyTreeValueError: (a `ValueError`) the file is no graph of that runtime, or is damaged.
            OSError: the file can't be read.
        """
        chosen = runtime_named("Graph.load()", runtime)
        return cls(UNNAMED, loaded_by(chosen, path))

    def __repr__(self) -> str:
        name = "" if self.name == UNNAMED else f" {self.name}"
        return f"<graph{name}({', '.join(self.inputs)}) -> ({', '.join(self.outputs)})>"


def traced(
    fn: Callable[[list[Any]], Sequence[Any]],
    stand_ins: Iterable[Any],
    names: Iterable[str] | None,
    outputs: Iterable[str] | None,
    runtime: str | Runtime | None,
) -> Graph:
    name = name_of(fn)
    if not callable(fn):
        raise PyTreeTypeError(f"trace() expects a function, got {described(fn)}")
    check_parameters(fn, name)
    given = sequence("trace()", "stand-ins", stand_ins)
    input_names = checked_names("names", given, len(given), names)
    if input_names is None:
        input_names = [f"x{index}" for index in range(len(given))]
    output_names = None if outputs is None else checked_names("outputs", None, None, outputs)
    chosen = runtime_named("trace()", runtime) if runtime is not None else runtime_of_stand_ins(given, input_names)
    check_stand_ins(given, input_names)

    def flat_fn(tensors: list[Any]) -> list[Any]:
        with Inside(f"{name}()"), dict_insertion_ordered(True):
            results = check_results(name, fn(tensors))
        if output_names is not None and len(results) != len(output_names):
            raise PyTreeValueError(
                f"trace() got {counted(len(output_names), 'name')} as outputs, and {name}() returned "
                f"{counted(len(results), 'result')}"
            )
        return results

    graph: Any = chosen.trace(flat_fn, given, input_names, output_names)
    return Graph(name if name.isidentifier() else UNNAMED, check_graph(chosen, "trace", graph, len(given)))


def check_parameters(fn: Callable[..., Any], name: str) -> None:
    """Refuse a function of several arguments: what is traced gets one list."""
    try:
        takes = signature(fn)
    except (TypeError, ValueError):  # a function of C code may have none that can be read
        return
    try:
        takes.bind([])
    except TypeError:
        names = listed(list(takes.parameters), len(takes.parameters)) or "nothing"
        raise PyTreeTypeError(
            f"trace() calls {name}() with one argument, the list of tensors, and it takes {names}; write a function of "
            "that list which calls it"
        ) from None


def sequence(caller: str, what: str, given: Any) -> list[Any]:
    """The items of a list, a tuple or another iterable; text and dicts are none of that."""
    if issubclass(class_of(given), (str, bytes, dict, set)) or not hasattr(class_of(given), "__iter__"):
        raise PyTreeTypeError(f"{caller} expects a list of {what}, got {described(given)}")
    if runtime_of(given) is not None:
        raise PyTreeTypeError(f"{caller} expects a list of {what}, got one tensor; put it in a list")
    return list(given)


def checked_names(argument: str, given: Any, count: int | None, names: Any) -> list[str] | None:
    if names is None:
        return None
    found = sequence("trace()", f"str as {argument}", names)
    for name in found:
        if type(name) is not str or not name:
            raise PyTreeTypeError(f"trace() expects {argument} that are str and not empty, got {described(name)}")
    twice = next((name for index, name in enumerate(found) if name in found[:index]), None)
    if twice is not None:
        raise PyTreeValueError(f"trace() expects different names as {argument}, got {twice!r} twice")
    if count is not None and len(found) != count:
        raise PyTreeValueError(f"trace() got {counted(len(found), 'name')} for {counted(count, 'stand-in')}")
    return found


def runtime_of_stand_ins(given: list[Any], names: list[str]) -> Runtime:
    """The one runtime beside numpy whose tensors there are; else numpy."""
    chosen, where = None, ""
    for stand_in, name in zip(given, names, strict=True):
        runtime: Runtime | None = runtime_of(stand_in)
        if runtime is None or runtime.name == "numpy" or runtime is chosen:
            continue
        if chosen is not None:
            raise PyTreeTypeError(
                f"trace() got tensors of two runtimes: {where} of {chosen.name}, and {name} of {runtime.name}"
            )
        chosen, where = runtime, name
    return chosen or runtime_named("trace()", "numpy")


def check_stand_ins(given: list[Any], names: list[str]) -> None:
    for stand_in, name in zip(given, names, strict=True):
        if runtime_of(stand_in) is None and not (hasattr(stand_in, "shape") and hasattr(stand_in, "dtype")):
            raise PyTreeTypeError(
                "trace() expects tensors, or objects with a shape and a dtype, as stand-ins, got "
                f"{described(stand_in)} as {name}"
            )


def check_results(name: str, results: Any) -> list[Any]:
    """What a traced function returned, which is a list of tensors and plain values."""
    cls = class_of(results)
    if runtime_of(results) is not None:
        raise PyTreeTypeError(f"trace() expects {name}() to return a list of tensors, got one tensor; put it in a list")
    if cls is not list and cls is not tuple:
        raise PyTreeTypeError(
            f"trace() expects {name}() to return a list of tensors, got {described(results)}; "
            "compile() takes functions that return other trees"
        )
    for index, result in enumerate(results):
        if runtime_of(result) is None and id(class_of(result)) not in PLAIN:
            raise PyTreeTypeError(
                f"trace() expects {name}() to return a list of tensors, got {described(result)} as result[{index}]; "
                "compile() takes functions that return other trees"
            )
    return list(results)
