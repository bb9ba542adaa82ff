"""PyTorch as a runtime."""

from __future__ import annotations

from contextlib import contextmanager

from clika_pytree.other_libraries import torch_polyfills, torch_return_types
from clika_pytree.runtimes.protocol import Runtime
from clika_pytree.typing import TYPE_CHECKING

from . import host, modules
from .library import Module, Symbols, Tensor, Traced, is_transforming, torch
from .program import compiled

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable, Mapping, Sequence
    from os import PathLike
    from typing import Any

    from clika_pytree.runtimes.protocol import FlatFn, Host, TensorSpec

    from .program import Program
    from .traced import TracedGraph

__all__: list[str] = []


class TorchRuntime(Runtime):
    """Tensors of PyTorch, and what stands for them and for their sizes while PyTorch traces a function.

    Attributes:
        settings: What `torch.compile` is given beside the function, such as `backend`, `mode` and `options`.
    """

    name = "torch"
    modules = ("torch",)
    # torch.compile would make one program after the other within one of our graphs, unseen by its bound and `explain`.
    own_guards = False
    lazy = True

    def __init__(self) -> None:
        # A graph may be compiled for other strides, devices, gradients and modes.
        self.settings: dict[str, Any] = {"fullgraph": True, "dynamic": False, "recompile_limit": 64}

    def is_tensor_type(self, cls: type[Any], /) -> bool:
        return issubclass(cls, (Tensor, *Symbols))

    def module_state(self, obj: Any, /) -> dict[str, Any] | None:
        is_scripted = isinstance(obj, torch.jit.ScriptModule)
        return modules.state(obj) if isinstance(obj, Module) and not is_scripted else None

    @contextmanager
    def with_module_state(self, obj: Any, state: Mapping[str, Any], /) -> Generator[None]:
        with modules.holding(obj, state):
            yield

    def describe(self, x: Any, /) -> TensorSpec:
        return host.describe(x)

    def compile(
        self, flat_fn: FlatFn, tensors: Sequence[Any], dynamic: bool, names: Sequence[str], /
    ) -> tuple[list[Any], Program]:
        return compiled(flat_fn, tensors, dynamic, names, self.settings)

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
        from .traced import refuse_to_load

        raise refuse_to_load(path)

    def wait(self, tensors: Sequence[Any], /) -> None:
        host.wait(tensors)

    def stored_as(self, x: Any, /) -> tuple[str, tuple[int, ...]]:
        return host.stored_as(x)

    def to_host(self, x: Any, /) -> Host:
        return host.to_host(x)

    def from_host(self, elements: Host, device: str, /) -> Any:
        return host.from_host(elements, device)

    def from_memory(self, entries: Sequence[Any], memory: Any, device: str, /) -> list[Any]:
        return host.from_memory(entries, memory, device)

    def same_memory(self, x: Any, /) -> Hashable:
        return host.same_memory(x)

    def is_traced(self, tensors: Sequence[Any], /) -> bool:
        return is_transforming() or torch.compiler.is_compiling() or any(isinstance(x, Traced) for x in tensors)


runtime = TorchRuntime()
torch_polyfills.prepare()
torch_return_types.register_once()
