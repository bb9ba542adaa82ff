"""What runtimes answer: where it is handed on, a wrong answer names the runtime and the method that gave it."""

from __future__ import annotations

from clika_pytree._native import PyTreeTypeError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import add_note, class_of, counted, described, shorten

from .protocol import Failed, TensorSpec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from typing import Any

    from .protocol import Executable, FlatFn, Graph, Runtime

__all__: list[str] = []

GUARDS = ("facts", "sizes", "conditions", "places")


def wrong(runtime: Runtime, method: str, expected: str, got: str) -> PyTreeTypeError:
    return PyTreeTypeError(f"{method}() of the runtime {runtime.name!r} has to give {expected}, got {got}")


def is_tensor_type(runtime: Runtime, cls: type[Any]) -> bool:
    """Ask whether the instances of a class are tensors."""
    try:
        answer: Any = runtime.is_tensor_type(cls)
    except Exception as error:
        add_note(error, f"clika_pytree: is_tensor_type() of the runtime {runtime.name!r} was asked of {described(cls)}")
        raise
    if type(answer) is not bool:
        raise wrong(runtime, "is_tensor_type", "True or False", f"{described(answer)} for {described(cls)}")
    return answer


def tensor_spec(runtime: Runtime, tensor: Any) -> TensorSpec:
    """What is known of a tensor."""
    try:
        spec: Any = runtime.describe(tensor)
    except Exception as error:
        add_note(error, f"clika_pytree: describe() of the runtime {runtime.name!r} was given {described(tensor)}")
        raise
    if not isinstance(spec, TensorSpec):
        raise wrong(runtime, "describe", "a TensorSpec", described(spec))
    if class_of(spec.dtype) is not str or class_of(spec.shape) is not tuple:
        found = f"a dtype that is {described(spec.dtype)} and a shape that is {described(spec.shape)}"
        raise wrong(runtime, "describe", "a TensorSpec whose dtype is a str and whose shape is a tuple", found)
    return spec


def compiled_by(
    runtime: Runtime, flat_fn: FlatFn, tensors: Sequence[Any], dynamic: bool, names: Sequence[str]
) -> tuple[Sequence[Any], Executable]:
    """Compile a function; the results for these tensors, and the program."""
    answer: Any = runtime.compile(flat_fn, tensors, dynamic, names)
    if class_of(answer) is not tuple or len(answer) != 2:
        got = f"a tuple of {len(answer)}" if class_of(answer) is tuple else described(answer)
        raise wrong(runtime, "compile", "two things, the results of this call (or None) and the program", got)
    results, program = answer
    for name in ("run", "text"):
        if not callable(getattr(program, name, None)):
            raise wrong(runtime, "compile", "a program like protocol.Executable", lacking_text(program, [f"{name}()"]))
    nodes = getattr(program, "nodes", "nothing of that name")
    if nodes is not None and type(nodes) is not int:
        raise wrong(runtime, "compile", "a program whose nodes are a number or None", described(nodes))
    guards: Any = getattr(program, "guards", None)
    lacking = [name for name in GUARDS if not hasattr(guards, name)]
    if lacking and not runtime.own_guards:
        expected = "a program with guards, as its own_guards is False"
        raise wrong(runtime, "compile", expected, lacking_text(guards, lacking))
    if results is not None:
        return listed_results(runtime, "compile", results), program
    return listed_results(runtime, "run", program.run(tensors)), program


def listed_results(runtime: Runtime, method: str, results: Any) -> Sequence[Any]:
    if not issubclass(class_of(results), (list, tuple)):
        what = "run() of a program" if method == "run" else f"{method}()"
        raise PyTreeTypeError(
            f"{what} of the runtime {runtime.name!r} has to give a list of results, got {described(results)}"
        )
    return results  # type: ignore[no-any-return]


def check_count(runtime: Runtime, results: Sequence[Any], count: int) -> None:
    if len(results) != count:
        raise PyTreeTypeError(
            f"the runtime {runtime.name!r} gave {counted(len(results), 'result')} of a function that returned "
            f"{counted(count, 'tensor')}"
        )


def check_graph(runtime: Runtime, method: str, graph: Any, count: int | None = None) -> Graph:
    """Refuse what is no graph, or one of another number of inputs."""
    lacking = [f"{name}()" for name in ("run", "text") if not callable(getattr(graph, name, None))]
    lacking += [name for name in ("inputs", "outputs") if not is_names(getattr(graph, name, None))]
    if lacking:
        raise wrong(runtime, method, "a graph like protocol.Graph", lacking_text(graph, lacking))
    if count is not None and len(graph.inputs) != count:
        raise wrong(runtime, method, f"a graph of {counted(count, 'input')}", f"one of {len(graph.inputs):,}")
    return graph  # type: ignore[no-any-return]


def lacking_text(given: Any, names: list[str]) -> str:
    return "None" if given is None else f"{described(given)} without {', '.join(names)}"


def is_names(names: Any) -> bool:
    return issubclass(class_of(names), (list, tuple)) and all(type(name) is str for name in names)


def loaded_by(runtime: Runtime, path: str | PathLike[str]) -> Graph:
    return check_graph(runtime, "load_graph", runtime.load_graph(path))


def failure_of(runtime: Runtime, failed: Failed, tensors: Sequence[Any]) -> tuple[int, BaseException]:
    """Which of the tensors given to `wait` failed, and with what."""
    index: Any = failed.index
    error: Any = failed.error
    if type(index) is int and 0 <= index < len(tensors) and isinstance(error, BaseException):
        return index, error
    raise PyTreeTypeError(
        f"wait() of the runtime {runtime.name!r} has to raise Failed with the place of one of the "
        f"{counted(len(tensors), 'tensor')} and an exception, got {shorten(repr(failed))}"
    ) from failed
