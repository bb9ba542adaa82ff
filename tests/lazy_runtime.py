"""A small library of lazy tensors, and the runtime that makes it known: what the author of one has to write.

A `LazyTensor` is an operation on others, or numbers; nothing is computed before somebody asks. The class says it is of
the module `lazy_tensors`, as it would be in an installed package.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from clika_pytree.runtimes.protocol import Failed, Runtime, TensorSpec


class LazyTensor:
    """A row of numbers that are computed when they are needed."""

    def __init__(self, values: Sequence[float] | None, size: int, call: Any = None, *operands: Any) -> None:
        self.values, self.size, self.call, self.operands = values, size, call, operands
        self.computed = values is not None

    def compute(self) -> list[float]:
        if self.values is None:
            columns = [item.compute() if isinstance(item, LazyTensor) else [item] * self.size for item in self.operands]
            self.values = [self.call(*row) for row in zip(*columns, strict=True)]
            self.computed = True
        return list(self.values)

    def binary(self, call: Callable[..., float], other: Any) -> LazyTensor:
        assert not isinstance(other, LazyTensor) or other.size == self.size
        return LazyTensor(None, self.size, call, self, other)

    def __add__(self, other: Any) -> LazyTensor:
        return self.binary(operator.add, other)

    def __mul__(self, other: Any) -> LazyTensor:
        return self.binary(operator.mul, other)

    __radd__, __rmul__ = __add__, __mul__

    def log(self) -> LazyTensor:
        return LazyTensor(None, self.size, math.log, self)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,)

    @property
    def dtype(self) -> str:
        return "float"

    def __repr__(self) -> str:
        return f"LazyTensor({self.values})"


LazyTensor.__module__ = "lazy_tensors.core"


def tensor(*values: float) -> LazyTensor:
    return LazyTensor([*map(float, values)], len(values))


class LazyProgram:
    """Results as expressions of placeholders; running puts tensors in their places."""

    def __init__(self, flat_fn: Any, tensors: Sequence[Any], names: Sequence[str] = ()) -> None:
        self.placeholders = [LazyTensor(None, len_of(item)) for item in tensors]
        self.results = flat_fn(self.placeholders)
        self.guards = None
        self.nodes = None
        self.runs = 0
        self.inputs = tuple(names)

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        self.runs += 1
        known = {id(place): as_lazy(item) for place, item in zip(self.placeholders, tensors, strict=True)}
        return [put_in(result, known) for result in self.results]

    def text(self) -> str:
        return f"{len(self.results)} lazy results"


class LazyGraph(LazyProgram):
    def __init__(
        self, flat_fn: Any, stand_ins: Sequence[Any], names: Sequence[str], outputs: Sequence[str] | None
    ) -> None:
        super().__init__(flat_fn, stand_ins, names)
        self.outputs = tuple(outputs or (f"result[{index}]" for index in range(len(self.results))))

    def save(self, path: Any) -> None:
        with open(path, "w") as file:
            file.write(self.text())


def len_of(item: Any) -> int:
    return int(item.shape[0])


def as_lazy(item: Any) -> LazyTensor:
    return item if isinstance(item, LazyTensor) else tensor(*item)


def put_in(result: Any, known: dict[int, LazyTensor]) -> Any:
    if not isinstance(result, LazyTensor):
        return result
    if id(result) in known:
        return known[id(result)]
    if result.values is not None:
        return result
    operands = [put_in(item, known) for item in result.operands]
    size = next(item.size for item in operands if isinstance(item, LazyTensor))
    return LazyTensor(None, size, result.call, *operands)


class LazyRuntime(Runtime):
    """Known as `lazy`; it waits by computing, and reports what failed."""

    name = "lazy"
    modules = ("lazy_tensors",)
    own_guards = True
    lazy = True

    def __init__(self) -> None:
        self.asked: list[type] = []
        self.waits: list[int] = []
        self.programs: list[LazyProgram] = []

    def is_tensor_type(self, cls: type[Any], /) -> bool:
        self.asked.append(cls)
        return issubclass(cls, LazyTensor)

    def describe(self, x: Any, /) -> TensorSpec:
        return TensorSpec("float", tuple(x.shape))

    def compile(
        self, flat_fn: Any, tensors: Sequence[Any], dynamic: bool, names: Sequence[str], /
    ) -> tuple[None, LazyProgram]:
        program = LazyProgram(flat_fn, tensors)
        self.programs.append(program)
        return None, program

    def trace(self, flat_fn: Any, stand_ins: Any, input_names: Any, output_names: Any, /) -> LazyGraph:
        return LazyGraph(flat_fn, stand_ins, input_names, output_names)

    def wait(self, tensors: Sequence[Any], /) -> None:
        self.waits.append(len(tensors))
        for index, item in enumerate(tensors):
            try:
                item.compute()
            except Exception as error:
                raise Failed(index, error) from None


class OtherTensor(LazyTensor):
    """A tensor of another library."""


OtherTensor.__module__ = "other_tensors"


class OtherRuntime(LazyRuntime):
    name, modules = "other", ("other_tensors",)
