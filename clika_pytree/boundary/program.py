"""One compiled graph of a function of trees: what it computes, and how its results become a tree again."""

from __future__ import annotations

import operator
from time import perf_counter
from typing import cast

from clika_pytree._native import (
    PyTreeTypeError,
    Replay,
    dict_insertion_ordered,
    has_tensors,
    keystr,
    runtime_of,
    tensor_parts,
    tree_flatten,
)
from clika_pytree.runtimes.answers import check_count, compiled_by
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import PLAIN, class_of, listed, short_name, shorten, value_text, with_article

from .constants import Constants, without_sizes
from .errors import OtherResults
from .explanation import tensor_names
from .flights import same_value
from .modules import Holding, modules_of
from .state import Inside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeAlias, TypeVar

    from clika_pytree._native import GuardCache, GuardCall, TreeSpec
    from clika_pytree.runtimes.protocol import Executable, Runtime

    from .targets import Target

    ReplayT = TypeVar("ReplayT", bound=Replay)
    Unbind: TypeAlias = Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]

__all__: list[str] = []


class Program(Replay):
    """A graph for one guard: called with its tensors, it gives the function's result."""

    __slots__ = ("executable", "mask", "names", "seconds")

    executable: Executable
    mask: tuple[bool, ...]
    names: tuple[str, ...]
    seconds: float

    def __new__(cls, call: GuardCall, executable: Executable, outputs: Outputs, seconds: float) -> Program:
        made = outputs.replay(executable.run, cls)
        made.executable, made.seconds = executable, seconds
        made.names, made.mask = call.names, call.mask
        return made

    def tensors(self) -> list[str]:
        """The names of its inputs."""
        return [name for name, is_tensor in zip(self.names, self.mask, strict=True) if is_tensor]

    def places(self) -> Iterator[tuple[tuple[str, int], str]]:
        """The lines that use a size as a number, by the tensor and the axis."""
        guards = self.executable.guards
        if guards is not None:
            tensors = self.tensors()
            for (index, axis), place in guards.places.items():
                yield (tensors[index], axis), place


class Outputs:
    """The results of a function: their structure, and the leaves that are constants of the graph."""

    def __init__(self, name: str, namespace: Any) -> None:
        self.name, self.namespace = name, namespace
        self.restart()

    def restart(self) -> None:
        """Forget the results of a trace that came to nothing."""
        self.spec: TreeSpec | None = None
        self.leaves: list[Any] = []  # with None where a tensor stands
        self.places: list[int] = []  # of the tensors among the leaves
        self._constants: Constants | None = None

    def tensors_of(self, result: Any) -> list[Any]:
        """The tensors of a result, whose structure and other leaves are noted."""
        leaves, spec = tree_flatten(result, namespace=self.namespace)
        spec = self.plain_spec(spec)
        places = [place for place, leaf in enumerate(leaves) if runtime_of(leaf) is not None]
        tensors = [leaves[place] for place in places]
        for place in places:
            leaves[place] = None
        for place, leaf in enumerate(leaves):
            if id(class_of(leaf)) not in PLAIN:
                leaves[place] = leaf = without_sizes(leaf)
                self.check_constant(leaf, spec, place)
        if self.spec is None:
            self.spec, self.leaves, self.places = spec, leaves, places
        elif spec != self.spec or places != self.places:
            raise self.another("of another structure", f"{shorten(str(spec))} in place of {shorten(str(self.spec))}")
        elif not all(map(same_value, leaves, self.leaves)):
            raise self.another("with other constants", f"{value_text(leaves)} in place of {value_text(self.leaves)}")
        return tensors

    def plain_spec(self, spec: TreeSpec) -> TreeSpec:
        """The structure with numbers in the place of sizes, which are then guards; tensors in it are refused."""
        load, (state, *rest) = cast("tuple[Any, tuple[Any, ...]]", spec.__reduce_ex__(4))
        *head, values, last = state
        plain = tuple(map(without_sizes, values))
        if any(has_tensors(value, self.namespace) for value in plain):
            raise self.misplaced(spec)
        if all(map(operator.is_, plain, values)):
            return spec
        return cast("TreeSpec", load((*head, plain, last), *rest))

    def misplaced(self, spec: TreeSpec) -> PyTreeTypeError:
        agenda = [(spec, 0, 0)]
        while True:
            node, depth, first = agenda.pop()
            if has_tensors(node.context, self.namespace):
                break
            for child in node.children():
                agenda.append((child, depth + 1, first))
                first += child.num_leaves
        path = f"result{keystr(spec.key_paths()[first][:depth])}" if node.num_leaves else "result"
        cls = with_article(short_name(node.type))
        error = PyTreeTypeError(
            f"{self.name}() returned {cls} at {path} with a tensor in its context, where static fields and what a "
            "flatten function returns beside the children stand: that would be the tensor of one call in all results. "
            "Make it a data field, or one of the children"
        )
        error.path = path
        return error

    def another(self, how: str, what: str) -> OtherResults:
        """The error where a runtime traces once more, and the results are others."""
        return OtherResults(
            f"{self.name}() returned a result {how} when its runtime traced it once more, for other sizes or because "
            f"something else had changed that the runtime looks at: {what}. Return the same each time, or make what "
            "decides it an argument that is no tensor"
        )

    def check_constant(self, leaf: Any, spec: TreeSpec, place: int) -> None:
        """Refuse a leaf that would be one object for all calls and should not be."""
        inside = tensor_parts(leaf, self.namespace)
        if inside:
            why = (
                "whose class is not registered, so it counts as one leaf, but it holds tensors: "
                f"{listed(inside, len(inside))}. Register the class, so that they are results"
            )
        elif hasattr(class_of(leaf), "__next__") or hasattr(class_of(leaf), "__await__"):
            why = "which can be used up, and a graph would hand out the same one at each call; return a list or a tuple"
        else:
            return
        raise self.refusal(leaf, f"result{keystr(spec.key_paths()[place])}", why)

    def refusal(self, leaf: Any, path: str, why: str) -> PyTreeTypeError:
        error = PyTreeTypeError(f"{self.name}() returned {with_article(short_name(class_of(leaf)))} at {path}, {why}")
        error.path = path
        return error

    def constants(self) -> Constants:
        """The leaves that each call has for itself, found when nobody but the function holds them any more."""
        assert self.spec is not None
        if self._constants is None:
            self._constants = Constants(self.leaves)
            refused = self._constants.refused()
            if refused is not None:
                place, error = refused
                path = f"result{keystr(self.spec.key_paths()[place])}"
                raise self.refusal(
                    self.leaves[place],
                    path,
                    f"which the function makes anew at each call; a graph copies it, which fails with {error!r:.80}. "
                    "Make it outside of the function",
                )
        return self._constants

    def replay(self, run: Callable[[list[Any]], Sequence[Any]], cls: type[ReplayT]) -> ReplayT:
        """What runs the graph and puts the result together."""
        assert self.spec is not None
        leaves, places = self.leaves, self.places
        if len(places) == len(leaves):
            return Replay.__new__(cls, run, self.spec, leaves, places)
        constants = self.constants()
        if not constants.places:
            return Replay.__new__(cls, run, self.spec, leaves, places)

        def run_and_copy(tensors: list[Any]) -> list[Any]:
            own = leaves.copy()
            for place, tensor in zip(places, run(tensors), strict=True):
                own[place] = tensor
            constants.fill(own)
            return own

        return Replay.__new__(cls, run_and_copy, self.spec, leaves, range(len(leaves)))


class Arguments:
    """The arguments of a call with other tensors in the places of its own, which it lets go."""

    def __init__(self, call: GuardCall, unbind: Unbind) -> None:
        self.spec, self.unbind, self.modules = call.spec, unbind, modules_of(call)
        pairs = list(zip(call.leaves, call.mask, strict=True))
        self.leaves = [None if is_tensor else leaf for leaf, is_tensor in pairs]
        self.places = [place for place, (_, is_tensor) in enumerate(pairs) if is_tensor]

    def named(self, call: GuardCall) -> dict[str, Any]:
        """The leaves that are no tensors, by the names that the user knows them by."""
        return {name: leaf for name, leaf, tensor in zip(call.names, call.leaves, call.mask, strict=True) if not tensor}

    def with_tensors(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any], Holding]:
        """Arguments of one call, and the block in which modules among them hold their tensors, which come last."""
        leaves = self.leaves.copy()
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        count = self.spec.num_leaves
        args, kwargs = self.unbind(self.spec.unflatten(leaves[:count]))
        return args, kwargs, Holding(self.modules, leaves[count:])


def build(
    target: Target, cache: GuardCache, call: GuardCall, runtime: Runtime, namespace: Any, dynamic: bool
) -> tuple[Program, Any]:
    """Compile a function for a call; the result of that call comes with it."""
    function, name = target.function, target.name
    outputs, arguments = Outputs(name, namespace), Arguments(call, cache.unbind)

    # A runtime may keep this function, and look for what it can reach: the function and the values it is called with.
    # A graph is found again in every block of `dict_insertion_ordered`, so it is made in the same one.
    def flat_fn(tensors: list[Any]) -> list[Any]:
        args, kwargs, modules = arguments.with_tensors(tensors)
        with Inside(f"{name}()"), dict_insertion_ordered(True), modules:
            return outputs.tensors_of(function(*args, **kwargs))

    # What messages call the values it is called with.
    vars(flat_fn)["values"] = arguments.named(call)
    # For a runtime that traces again, in another way, after a trace that came to nothing.
    vars(flat_fn)["restart"] = outputs.restart
    # What libraries call the graph, and where they say it is defined.
    flat_fn.__name__ = flat_fn.__qualname__ = name
    vars(flat_fn)["__wrapped__"] = function
    tensors, names = call.tensors, tensor_names(call)
    start = perf_counter()
    results, executable = compiled_by(runtime, flat_fn, tensors, dynamic, names)
    if outputs.spec is None:
        raise PyTreeTypeError(f"the runtime {runtime.name!r} did not run the function that its compile() was given")
    check_count(runtime, results, len(outputs.places))
    program = Program(call, executable, outputs, perf_counter() - start)
    return program, outputs.replay(lambda _: results, Replay)(tensors)
