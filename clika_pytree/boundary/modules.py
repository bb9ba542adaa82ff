"""Modules as arguments: their tensors are inputs, which stand in their places while a graph is made."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, NamedTuple

from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from clika_pytree._native import GuardCall
    from clika_pytree.runtimes.protocol import Runtime

__all__: list[str] = []


class Module(NamedTuple):
    """A leaf of a call: its path, the object, its runtime, and the names of its tensors."""

    path: str
    module: Any
    runtime: Runtime
    names: tuple[str, ...]


def modules_of(call: GuardCall) -> list[Module]:
    """The modules among the arguments of a call."""
    if not call.modules:
        return []
    leaves, names = call.leaves, call.names
    return [Module(names[place], leaves[place], runtime, of_it) for place, runtime, of_it in call.modules]


class Holding:
    """The block in which modules hold other tensors, those of the first module first."""

    def __init__(self, modules: list[Module], tensors: list[Any]) -> None:
        self.modules, self.tensors, self.stack = modules, tensors, ExitStack()

    def __enter__(self) -> None:
        rest = iter(self.tensors)
        with ExitStack() as stack:
            for _, module, runtime, names in self.modules:
                state = {name: next(rest) for name in names}
                stack.enter_context(runtime.with_module_state(module, state))
            self.stack = stack.pop_all()

    def __exit__(
        self, cls: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self.stack:
            if error is None:
                self.check()

    def check(self) -> None:
        """Refuse a tensor that the function has put in the place of another: a graph keeps nothing."""
        given = set(map(id, self.tensors))
        for path, module, runtime, names in self.modules:
            state = runtime.module_state(module) or {}
            for name in {**dict.fromkeys(names), **state}:
                if name not in state:
                    what = "takes it away"
                elif name not in names:
                    what = "makes it; call the module once before it is compiled, so that it has all of its tensors"
                elif id(state[name]) not in given:
                    what = "puts another tensor there: return that one, or write into the one that is there"
                else:
                    continue
                made = RecordingError(f"a graph keeps nothing, and at {path}.{name} the compiled function {what}")
                made.path = f"{path}.{name}"
                raise made
