"""What clika_pytree is told: everything that is about its protocol is here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clika_pytree.runtimes.protocol import Failed, Host, Runtime, TensorSpec, array_of_host, host_of_array

from .graph import LazyGraph, TracedGraph
from .nn import Module
from .tensor import Tensor, compute, shape_of, tensor


class LazyRuntime(Runtime):
    name = "clika_runtime"
    modules = ("clika_runtime",)  # where the classes of its tensors and modules are defined
    own_guards = False  # its graphs say what they are right for, and clika_pytree looks at each call
    lazy = True

    def is_tensor_type(self, cls: type[Any], /) -> bool:
        return issubclass(cls, Tensor)

    def describe(self, x: Any, /) -> TensorSpec:
        return TensorSpec(str(x.dtype), shape_of(x) if isinstance(x, Tensor) else tuple(x.shape))

    def compile(
        self, flat_fn: Any, tensors: Sequence[Any], dynamic: bool, names: Sequence[str], /
    ) -> tuple[None, LazyGraph]:
        return None, LazyGraph(flat_fn, tensors, names, dynamic)

    def trace(
        self, flat_fn: Any, stand_ins: Sequence[Any], input_names: Sequence[str], output_names: Sequence[str] | None, /
    ) -> TracedGraph:
        return TracedGraph(flat_fn, stand_ins, input_names, output_names)

    def wait(self, tensors: Sequence[Any], /) -> None:
        for index, x in enumerate(tensors):
            try:
                compute([x])
            except Exception as error:
                raise Failed(index, error) from None

    def to_host(self, x: Any, /) -> Host:
        return host_of_array(x.numpy())

    def from_host(self, host: Host, device: str, /) -> Tensor:
        if device != "cpu":
            raise ValueError(f"tensors are on the processor, not on {device!r}")
        return tensor(array_of_host(host))

    def same_memory(self, x: Any, /) -> int:
        return id(x)  # no tensor is a view of another

    def module_state(self, obj: Any, /) -> dict[str, Any] | None:
        return obj.state_dict() if isinstance(obj, Module) else None
