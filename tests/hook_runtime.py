"""A runtime whose every method is a hook, and its tensors."""

from __future__ import annotations

from array import array
from typing import Any

from guarding import Condition, Guards
from hook_classes import Counted, hook
from lazy_runtime import LazyGraph, LazyProgram, LazyRuntime, LazyTensor

from clika_pytree.runtimes.protocol import Host, TensorSpec


class HookTensor(Counted, LazyTensor):
    end = "tensor.__del__"

    def binary(self, call: Any, other: Any) -> LazyTensor:
        hook("tensor.__add__")
        return HookTensor(None, self.size, call, self, other)

    @property
    def shape(self) -> tuple[int, ...]:
        hook("tensor.shape")
        return (self.size,)

    @property
    def dtype(self) -> str:
        hook("tensor.dtype")
        return "float32"


HookTensor.__module__ = "lazy_tensors.hooks"


def hook_tensor(*values: float) -> HookTensor:
    return HookTensor([*map(float, values)], len(values))


class HookGuards(Guards):
    """The sizes that a graph is for, and a condition on them."""

    places: dict[tuple[int, int], str]

    def __init__(self, sizes: list[int]) -> None:
        super().__init__(len(sizes), {(index, 0): size for index, size in enumerate(sizes)}, [Condition(holds, 1)])
        self.places = {}


def holds(tensors: list[Any]) -> int:
    hook("condition")
    return 1


class HookProgram(LazyProgram):
    def __init__(self, flat_fn: Any, tensors: Any) -> None:
        super().__init__(flat_fn, tensors)
        self.guards: Any = HookGuards([item.size for item in tensors])

    def run(self, tensors: Any) -> list[Any]:
        hook("program.run")
        return super().run(tensors)


class HookRuntime(LazyRuntime):
    """Known as `hooked`. It keeps nothing."""

    name = "hooked"
    own_guards = False

    def is_tensor_type(self, cls: type[Any], /) -> bool:
        hook("runtime.is_tensor_type")
        return issubclass(cls, LazyTensor)

    def describe(self, x: Any, /) -> TensorSpec:
        hook("runtime.describe")
        return TensorSpec("float32", (x.size,))

    def compile(self, flat_fn: Any, tensors: Any, dynamic: bool, names: Any, /) -> tuple[None, LazyProgram]:
        hook("runtime.compile")
        return None, HookProgram(flat_fn, tensors)

    def trace(self, flat_fn: Any, stand_ins: Any, input_names: Any, output_names: Any, /) -> LazyGraph:
        hook("runtime.trace")
        return LazyGraph(flat_fn, stand_ins, input_names, output_names)

    def wait(self, tensors: Any, /) -> None:
        hook("runtime.wait")
        super().wait(tensors)

    def stored_as(self, x: Any, /) -> tuple[str, tuple[int, ...]]:
        hook("runtime.stored_as")
        return super().stored_as(x)

    def to_host(self, x: Any, /) -> Host:
        hook("runtime.to_host")
        return Host("F32", (x.size,), array("f", x.compute()))

    def from_host(self, host: Host, device: str, /) -> HookTensor:
        hook("runtime.from_host")
        return hook_tensor(*memoryview(host.buffer).cast("B").cast("f"))

    def same_memory(self, x: Any, /) -> int:
        hook("runtime.same_memory")
        return id(x)

    def is_traced(self, tensors: Any, /) -> bool:
        hook("runtime.is_traced")
        return False
