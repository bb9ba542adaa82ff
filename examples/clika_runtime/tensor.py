"""Tensors: what is to be computed of what, and the array once it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from clika_pytree import RecordingError

Shape = tuple[int, ...]


class Operator(NamedTuple):
    """A function of arrays, and how the shape of its result follows from those of its operands."""

    name: str
    compute: Callable[..., Any]
    shape: Callable[..., Shape]

    def __call__(self, *operands: Any) -> Tensor:
        """The tensor that it gives. Sizes and dtypes that do not fit are an error here, not when it is computed."""
        inputs = tuple(x if isinstance(x, (bool, int, float)) else tensor(x) for x in operands)
        return made(self.shape(*map(shape_of, inputs)), self.dtype(inputs), self, inputs)

    def dtype(self, inputs: Sequence[Any]) -> np.dtype[Any]:
        """As numpy says for one element."""
        ones = [np.ones((1,) * len(shape_of(x)), x.dtype) if isinstance(x, Tensor) else x for x in inputs]
        with np.errstate(all="ignore"):
            return np.asarray(self.compute(*ones)).dtype


class Tensor:
    """An array, or an operator with its operands as long as nobody asks for the elements."""

    __array_ufunc__ = None  # an array of numpy beside it leaves the operation to it

    def __init__(
        self, shape: Shape, dtype: Any, operator: Operator | None = None, inputs: Sequence[Any] = (), array: Any = None
    ) -> None:
        self._shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.operator, self.inputs, self.array = operator, inputs, array

    @property
    def shape(self) -> Shape:
        return self._shape

    @property
    def is_computed(self) -> bool:
        return self.array is not None

    def numpy(self) -> np.ndarray[Any, Any]:
        """The elements, which are computed if they are not there yet."""
        compute([self])
        return np.asarray(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.numpy(), dtype)

    def __bool__(self) -> bool:
        return bool(self.numpy())

    def __repr__(self) -> str:
        return f"tensor({self.array})" if self.is_computed else f"<tensor {self.dtype}{[*self._shape]}, not computed>"


class Recording:
    """A function that is run over stand-ins."""

    sizes_are_used = False


class StandIn(Tensor):
    """What a function gets for a tensor while it is recorded: without elements; that its sizes are used is noted."""

    def __init__(self, shape: Shape, dtype: Any, recording: Recording, *operation: Any) -> None:
        super().__init__(shape, dtype, *operation)
        self.recording = recording

    @property
    def shape(self) -> Shape:
        self.recording.sizes_are_used = True
        return self._shape


def made(shape: Shape, dtype: Any, operator: Operator, inputs: Sequence[Any]) -> Tensor:
    """The tensor that an operator gives: a stand-in where one of its operands is one."""
    for x in inputs:
        if isinstance(x, StandIn):
            return StandIn(shape, dtype, x.recording, operator, inputs)
    return Tensor(shape, dtype, operator, inputs)


def tensor(data: Any) -> Tensor:
    """Make a tensor of an array, or of nested lists; a tensor is given back as it is."""
    if isinstance(data, Tensor):
        return data
    array = np.array(data)
    return Tensor(array.shape, array.dtype, array=array)


def shape_of(x: Any) -> Shape:
    return x._shape if isinstance(x, Tensor) else ()


def compute(tensors: Sequence[Tensor]) -> None:
    """Compute some tensors, and what they are made of: each once, on this thread."""
    agenda = [*tensors]
    while agenda:
        last = agenda[-1]
        waiting = [x for x in last.inputs if isinstance(x, Tensor) and not x.is_computed]
        if waiting and not last.is_computed:
            agenda += waiting
            continue
        agenda.pop()
        if last.is_computed:
            continue
        if last.operator is None or isinstance(last, StandIn):
            raise RecordingError(
                "a tensor has no elements while a function is compiled or traced: a graph is the same for all values. "
                "Compute with operators, or pass what decides as a plain value"
            )
        arrays = [x.array if isinstance(x, Tensor) else x for x in last.inputs]
        last.array = last.operator.compute(*arrays)
        last.operator, last.inputs = None, ()  # what it was made of can go
