"""What `compile` is told, and the runtime that follows from it for a call."""

from __future__ import annotations

from typing import cast

from clika_pytree._native import PyTreeTypeError, PyTreeValueError, tree_leaves
from clika_pytree.registration import described
from clika_pytree.runtimes import runtime_named
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .cache import runtime_of

if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

    from clika_pytree.runtimes.protocol import Runtime

    OnMiss: TypeAlias = Literal["compile", "error"]

__all__: list[str] = []


class Options:
    """What `compile` was told."""

    __slots__ = ("dynamic", "max_graphs", "namespace", "on_miss", "runtime")

    def __init__(self, dynamic: Any, runtime: Any, max_graphs: Any, on_miss: Any, namespace: Any) -> None:
        if type(dynamic) is not bool:
            raise PyTreeTypeError(f"compile() expects True or False as dynamic, got {described(dynamic)}")
        if type(max_graphs) is not int or max_graphs < 1:
            raise PyTreeTypeError(f"compile() expects a number from 1 on as max_graphs, got {described(max_graphs)}")
        tree_leaves((), namespace=namespace)  # refuses what is no namespace
        self.dynamic, self.max_graphs, self.namespace = dynamic, max_graphs, namespace
        self.on_miss = checked_on_miss(on_miss)
        self.runtime: Runtime | None = None if runtime is None else runtime_named("compile()", runtime)


def checked_on_miss(value: Any) -> OnMiss:
    if class_of(value) is not str or value not in ("compile", "error"):
        raise PyTreeValueError(f'compile() expects "compile" or "error" as on_miss, got {described(value)}')
    return cast("OnMiss", value)


def runtime_of_call(name: str, call: Any, asked: Runtime | None) -> Runtime:
    """The runtime that compiles a call: the one asked for, that of its tensors, or numpy where it has none."""
    chosen = asked
    for runtime in call.runtimes:
        if runtime.name == "numpy" or runtime is chosen:
            continue
        if chosen is not None:
            raise mixed(name, call, chosen, runtime, asked)
        chosen = runtime
    return chosen or runtime_named(f"{name}()", "numpy")


def mixed(name: str, call: Any, one: Runtime, other: Runtime, asked: Runtime | None) -> PyTreeTypeError:
    """The error of a call with tensors of two runtimes."""
    place: dict[str, str] = {}
    for path, leaf, is_tensor in zip(call.names, call.leaves, call.mask, strict=True):
        if is_tensor:
            place.setdefault(runtime_of(leaf).name, path)
    if asked is not None:
        text = f"{name}() was compiled for the runtime {one.name}, and {place[other.name]} is a tensor of {other.name}"
    else:
        text = (
            f"{name}() got tensors of two runtimes: {place[one.name]} is one of {one.name}, and {place[other.name]} of "
        )
        text += other.name
    error = PyTreeTypeError(f"{text}. One call can use one runtime, beside numpy: convert one of them")
    error.path = place[other.name]
    return error
