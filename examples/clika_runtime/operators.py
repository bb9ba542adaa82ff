"""Operators: functions of tensors, arrays and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .tensor import Operator, Shape, Tensor

__all__ = ["abs", "add", "argmax", "divide", "exp", "greater", "log", "matmul", "maximum", "mean", "multiply"]
__all__ += ["negative", "relu", "softmax", "subtract", "sum", "tanh"]


def elementwise(name: str, compute: Any) -> Operator:
    return Operator(name, compute, np.broadcast_shapes)


abs = elementwise("abs", np.absolute)
add = elementwise("add", np.add)
divide = elementwise("divide", np.divide)
exp = elementwise("exp", np.exp)
greater = elementwise("greater", np.greater)
log = elementwise("log", np.log)
maximum = elementwise("maximum", np.maximum)
multiply = elementwise("multiply", np.multiply)
negative = elementwise("negative", np.negative)
subtract = elementwise("subtract", np.subtract)
tanh = elementwise("tanh", np.tanh)


def relu(x: Any) -> Tensor:
    return maximum(x, 0)


def shape_of_product(a: Shape, b: Shape) -> Shape:
    if not a or not b or a[-1] != b[-min(2, len(b))]:
        raise ValueError(f"matmul() can't multiply {a} by {b}")
    return (*np.broadcast_shapes(a[:-2], b[:-2]), *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


matmul = Operator("matmul", np.matmul, shape_of_product)


def reduction(name: str, function: Any, x: Any, dims: int | Sequence[int] | None, keepdim: bool = False) -> Tensor:
    axes = (dims,) if isinstance(dims, int) else dims if dims is None else tuple(dims)

    def compute(array: Any) -> Any:
        # argmax of numpy takes one axis.
        axis = axes[0] if axes is not None and len(axes) == 1 else axes
        return function(array, axis=axis, keepdims=keepdim)

    def shape(given: Shape) -> Shape:
        count = len(given)
        if axes is not None and any(not -count <= axis < count for axis in axes):
            raise ValueError(f"{name}() over {axes} of a tensor of shape {given}")
        gone = range(count) if axes is None else [axis % count for axis in axes]
        return tuple(1 if i in gone else n for i, n in enumerate(given) if keepdim or i not in gone)

    return Operator(f"{name}(dims={axes})", compute, shape)(x)


def sum(x: Any, dims: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    return reduction("sum", np.sum, x, dims, keepdim)


def mean(x: Any, dims: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    return reduction("mean", np.mean, x, dims, keepdim)


def argmax(x: Any, dims: int | Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
    return reduction("argmax", np.argmax, x, dims, keepdim)


def softmax(x: Any, dim: int = -1) -> Tensor:
    powers = exp(subtract(x, reduction("max", np.max, x, dim, keepdim=True)))
    return divide(powers, sum(powers, dim, keepdim=True))


for _name, _operator in {"add": add, "sub": subtract, "mul": multiply, "truediv": divide, "matmul": matmul}.items():
    setattr(Tensor, f"__{_name}__", lambda self, other, operator=_operator: operator(self, other))
    setattr(Tensor, f"__r{_name}__", lambda self, other, operator=_operator: operator(other, self))
for _name, _function in {"__neg__": negative, "__gt__": greater, "sum": sum, "mean": mean}.items():
    setattr(Tensor, _name, lambda self, *args, function=_function, **kwargs: function(self, *args, **kwargs))
