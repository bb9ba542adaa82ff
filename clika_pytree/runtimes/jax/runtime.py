"""JAX as a runtime."""

from __future__ import annotations

from clika_pytree.runtimes.protocol import Runtime
from clika_pytree.typing import TYPE_CHECKING

from . import host
from .library import Array, Tracer
from .program import compiled

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from os import PathLike
    from typing import Any

    from clika_pytree.runtimes.protocol import FlatFn, Host, TensorSpec

    from .program import Program
    from .traced import TracedGraph

__all__: list[str] = []


class JaxRuntime(Runtime):
    """Arrays of JAX, random keys among them, and what stands for them while JAX traces a function."""

    name = "jax"
    modules = ("jax", "jaxlib")
    # jit would make one program after the other within one of our graphs, unseen by its bound and by `explain`.
    own_guards = False
    lazy = True
    # Equal for arrays of one dtype, weak type, shape and type of sharding; JAX keeps one object for all that are alike.
    described_by = ("aval", "weak_type")

    def is_tensor_type(self, cls: type[Any], /) -> bool:
        return issubclass(cls, (Array, Tracer))

    def describe(self, x: Any, /) -> TensorSpec:
        return host.describe(x)

    def compile(
        self, flat_fn: FlatFn, tensors: Sequence[Any], dynamic: bool, names: Sequence[str], /
    ) -> tuple[None, Program]:
        return None, compiled(flat_fn, tensors, dynamic, names)

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

    def is_traced(self, tensors: Sequence[Any], /) -> bool:
        return any(isinstance(tensor, Tracer) for tensor in tensors)


runtime = JaxRuntime()
