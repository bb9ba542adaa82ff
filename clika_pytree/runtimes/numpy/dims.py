"""What is known of shapes without running: one entry an axis, a number or the axis of a node that has the same size."""

from __future__ import annotations

import numpy as np

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .sizes import Dim
from .tape import INPUT, Node, SizeTerm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .tape import Op

__all__: list[str] = []

Dims = tuple[object, ...]
REDUCTIONS = {"all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var", "amax", "amin"}
LIKE = {"copy", "astype", "zeros_like", "ones_like", "empty_like", "full_like", "sort", "argsort", "cumsum", "cumprod"}


def proven_dims(op: Op) -> None:
    """Note the shape of a result where it holds for inputs of every size."""
    if len(op.outputs) == 1:
        dims = result_dims(op, lambda node: node.dims, lambda a, b: None)
        if dims is not None and agrees(dims, op.outputs[0]):
            op.outputs[0].dims = dims


class Assumed:
    """Shapes under assumptions: where the first call's sizes were equal, or 1, they are taken to be so in each call."""

    def __init__(self) -> None:
        self.known: dict[int, Dims] = {}
        self.same: dict[object, object] = {}
        self.needed: list[tuple[Any, Any]] = []

    def find(self, dim: object) -> object:
        while type(dim) is Dim and dim in self.same:
            dim = self.same[dim]
        return dim

    def of(self, node: Node) -> Dims:
        return tuple(map(self.find, self.known.get(id(node), node.dims)))

    def learn(self, op: Op) -> None:
        if len(op.outputs) == 1:
            dims = result_dims(op, self.of, self.assume)
            if dims is not None and agrees(dims, op.outputs[0]):
                self.known[id(op.outputs[0])] = dims

    def assume(self, a: object, b: object) -> object:
        """The size of two axes that are broadcast against each other, or None."""
        if not (of_input(a) and of_input(b)):
            return None
        # What was assumed for an axis before it may hold for these: x + x.T says of each axis that it is the other.
        a, b = self.find(a), self.find(b)
        if a == b or b == 1:
            return a
        if a == 1:
            return b
        m, n = first_size(a), first_size(b)
        if m == n:
            a, b = (b, a) if type(a) is int else (a, b)
            self.same[a] = b
            self.needed.append((a, b))
            return b
        for one, other, size in ((a, b, m), (b, a, n)):
            if size == 1 and type(one) is Dim:
                self.same[one] = 1
                self.needed.append((one, 1))
                return other
        return None


def of_input(dim: object) -> bool:
    return type(dim) is int or (type(dim) is Dim and dim.node.kind == INPUT)


def first_size(dim: object) -> Any:
    return dim.node.shape[dim.axis] if type(dim) is Dim else dim


def agrees(dims: Dims, node: Node) -> bool:
    """Whether a derived shape is that of the first call, as far as it can be told."""
    return len(dims) == node.ndim and all(
        not of_input(dim) or first_size(dim) == size for dim, size in zip(dims, node.shape, strict=True)
    )


def broadcast(shapes: Sequence[Dims], unify: Callable[[object, object], object]) -> Dims | None:
    found: list[object] = []
    for axis in range(max(map(len, shapes), default=0)):
        size: object = 1
        for dims in shapes:
            if axis >= len(dims):
                continue
            dim = dims[-1 - axis]
            if size == 1 and type(size) is int:
                size = dim
            elif not (dim == size or (type(dim) is int and dim == 1)):
                size = unify(size, dim)
                if size is None:
                    return None
        found.append(size)
    return tuple(reversed(found))


def operand_dims(term: object, of: Callable[[Node], Dims]) -> Dims | None:
    if isinstance(term, Node):
        return of(term) if term.dtype is not None else None
    return () if isinstance(term, int | float | complex | SizeTerm) else None


def result_dims(op: Op, of: Callable[[Node], Dims], unify: Callable[[object, object], object]) -> Dims | None:
    """The shape of the one result of an operation, or None."""
    first = operand_dims(op.args[0], of) if op.args else None
    name = op.name.rpartition(".")[2]
    if op.name in ("@", "np.matmul"):
        return matmul(op, of)
    if op.kind == "operator" or (op.kind == "ufunc" and op.call.signature is None and "out" not in op.kwargs):
        shapes = [operand_dims(arg, of) for arg in op.args[: len(op.args) if op.kind == "operator" else op.call.nin]]
        known = [dims for dims in shapes if dims is not None]
        return broadcast(known, unify) if len(known) == len(shapes) and "where" not in op.kwargs else None
    if first is None:
        return None
    if op.kind == "attribute":
        return tuple(reversed(first)) if name == "T" else first if name in ("real", "imag") else None
    if op.kind == "ufunc method":
        return reduced(first, op.args[1:], {"axis": 0, **op.kwargs}) if name == "reduce" else None
    if op.kind == "method" or (op.kind == "function" and op.name == f"np.{name}"):
        if name in REDUCTIONS:
            return reduced(first, op.args[1:], op.kwargs)
        if name in LIKE and "shape" not in op.kwargs:
            return first
        if name in ("transpose",) and len(op.args) == 1 and not op.kwargs:
            return tuple(reversed(first))
        if name == "reshape":
            return reshaped(op.args[1:], op.kwargs)
    return None


def matmul(op: Op, of: Callable[[Node], Dims]) -> Dims | None:
    shapes = [operand_dims(arg, of) for arg in op.args[:2]]
    if op.kwargs or len(op.args) != 2 or any(dims is None or not 1 <= len(dims) <= 2 for dims in shapes):
        return None
    a, b = shapes
    return (*(a or ())[:-1], *(b or ())[1:])


def reduced(dims: Dims, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Dims | None:
    axis = args[0] if args else kwargs.get("axis")
    keep = kwargs.get("keepdims", False)
    if len(args) > 1 or type(keep) is not bool or kwargs.get("out") is not None:
        return None
    axes: Any = range(len(dims)) if axis is None else axis if class_of(axis) is tuple else (axis,)
    if not all(class_of(k) is int for k in axes) or not dims:
        return None
    gone: set[int] = {k % len(dims) for k in axes}
    if keep:
        return tuple(1 if k in gone else dim for k, dim in enumerate(dims))
    return tuple(dim for k, dim in enumerate(dims) if k not in gone)


def reshaped(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Dims | None:
    """The shape that was asked for, where no -1 is in it."""
    if kwargs or not args:
        return None
    shape = args[0] if type(args[0]) in (tuple, list) else args
    dims = [size.expression if isinstance(size, SizeTerm) else size for size in shape]
    if all((type(dim) is int and dim >= 0) or type(dim) is Dim for dim in dims):
        return tuple(dims)
    return None


def layout_class(array: Any) -> str:
    """`C` (rows lie one after the other), `F` (columns do), or `other`; a subclass or unaligned memory is other."""
    flags = array.flags
    if type(array) is not np.ndarray or not flags.aligned:
        return "other"
    return "C" if flags.c_contiguous else "F" if flags.f_contiguous else "other"


def in_rows(*arrays: Any) -> bool:
    return all(layout_class(array) == "C" for array in arrays)
