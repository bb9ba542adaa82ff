"""MLX as a runtime."""

from __future__ import annotations

from clika_pytree.runtimes.protocol import Runtime
from clika_pytree.typing import TYPE_CHECKING

from . import host
from .library import Array
from .modules import holding, module_state
from .program import compiled

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from os import PathLike
    from typing import Any

    from clika_pytree.runtimes.protocol import FlatFn, Host, TensorSpec

    from .program import Program
    from .traced import TracedGraph

__all__: list[str] = []


class MlxRuntime(Runtime):
    """Arrays of MLX, and what stands for them while MLX traces a function, which are of the same class."""

    name = "mlx"
    modules = ("mlx",)
    # mx.compile would make one program after the other within one of our graphs, unseen by its bound and by `explain`.
    own_guards = False
    lazy = True

    def is_tensor_type(self, cls: type[Any], /) -> bool:
        return issubclass(cls, Array)

    def describe(self, x: Any, /) -> TensorSpec:
        return host.describe(x)

    def compile(
        self, flat_fn: FlatFn, tensors: Sequence[Any], dynamic: bool, names: Sequence[str], /
    ) -> tuple[list[Any], Program]:
        return compiled(flat_fn, tensors, dynamic, names)

    def trace(
        self,
        flat_fn: FlatFn,
        stand_ins: Sequence[Any],
        input_names: Sequence[str],
        output_names: Sequence[str] | None,
        /,
    ) -> TracedGraph:
        from .traced import trace

        return trace(flat_fn, stand_ins, input_names, output_names)

    def load_graph(self, path: str | PathLike[str], /) -> TracedGraph:
        from .files import load

        return load(path)

    def wait(self, tensors: Sequence[Any], /) -> None:
        host.wait(tensors)

    def stored_as(self, x: Any, /) -> tuple[str, tuple[int, ...]]:
        return host.stored_as(x)

    def to_host(self, x: Any, /) -> Host:
        return host.to_host(x)

    def from_host(self, elements: Host, device: str, /) -> Any:
        return host.from_host(elements, device)

    def same_memory(self, x: Any, /) -> Hashable:
        return host.same_memory(x)

    def module_state(self, obj: Any, /) -> dict[str, Any] | None:
        return module_state(obj)

    def with_module_state(self, obj: Any, state: Mapping[str, Any], /) -> AbstractContextManager[None]:
        return holding(obj, state)


runtime = MlxRuntime()
