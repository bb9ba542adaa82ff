"""What `compile` is told, and the runtime that follows from it for a call."""

from __future__ import annotations

from clika_pytree._native import GuardError, PyTreeValueError, runtime_of, tree_leaves
from clika_pytree.arguments import check_count, check_switch
from clika_pytree.runtimes import runtime_named
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, described

if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

    from clika_pytree._native import GuardCall
    from clika_pytree.runtimes.protocol import Runtime
    from clika_pytree.typing import Namespace

    OnMiss: TypeAlias = Literal["compile", "error"]

__all__: list[str] = []


class Options:
    """What `compile` was told."""

    __slots__ = ("dynamic", "max_graphs", "namespace", "on_miss", "runtime")
    dynamic: bool
    max_graphs: int
    namespace: Namespace

    def __init__(self, dynamic: Any, runtime: Any, max_graphs: Any, on_miss: Any, namespace: Any) -> None:
        check_switch("compile()", "dynamic", dynamic)
        check_count("compile()", "max_graphs", max_graphs)
        tree_leaves((), namespace=namespace)  # refuses what is no namespace
        self.dynamic, self.max_graphs, self.namespace = dynamic, max_graphs, namespace
        self.on_miss: OnMiss = checked_on_miss(on_miss)
        self.runtime: Runtime | None = None if runtime is None else runtime_named("compile()", runtime)


def checked_on_miss(value: Any) -> OnMiss:
    if class_of(value) is not str or value not in ("compile", "error"):
        raise PyTreeValueError(f'compile() expects "compile" or "error" as on_miss, got {described(value)}')
    return value  # type: ignore[no-any-return]


def runtime_of_call(name: str, call: GuardCall, asked: Runtime | None) -> Runtime:
    """The runtime that compiles a call: the one asked for, that of its tensors, or numpy where it has none."""
    others = [runtime for runtime in call.runtimes if runtime.name != "numpy"]
    if asked is None:
        return others[0] if others else runtime_named(f"{name}()", "numpy")
    for runtime in others:
        if runtime.name != asked.name:  # one that took its place has the name, too
            raise of_another_runtime(name, call, asked, runtime)
    return asked


def of_another_runtime(name: str, call: GuardCall, asked: Runtime, other: Runtime) -> GuardError:
    leaves = zip(call.names, call.leaves, call.mask, strict=True)
    path = next(path for path, leaf, is_tensor in leaves if is_tensor and runtime_of(leaf) is other)
    error = GuardError(
        f"{name}() was compiled for the runtime {asked.name}, and {path} is a tensor of {other.name}: convert it, or "
        "leave out runtime="
    )
    error.path = path
    return error
