"""Which operations of a recording a graph keeps: those that a result needs, and those that another call may fail in."""

from __future__ import annotations

import numpy as np

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .kinds import is_a
from .sizes import Dim
from .tape import CONSTANT, INPUT, Node, nodes_in

if TYPE_CHECKING:
    from typing import Any

    from .tape import Op

__all__: list[str] = []

# Methods and functions that no values make fail, where dtypes and sizes are known.
SAFE = {
    *("all", "amax", "amin", "any", "arange", "argmax", "argmin", "argpartition", "argsort", "argwhere", "around"),
    *("astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to", "byteswap", "clip"),
    *("column_stack", "concatenate", "conj", "conjugate", "copy", "copyto", "count_nonzero", "cumprod", "cumsum"),
    *("diagonal", "diff", "divmod", "dot", "dstack", "empty", "empty_like", "expand_dims", "eye", "fill", "flatten"),
    *("flip", "fliplr", "flipud", "full", "full_like", "getfield", "hstack", "inner", "isclose", "linspace"),
    *("matrix_transpose", "max", "mean", "median", "min", "moveaxis", "nan_to_num", "newbyteorder", "nonzero"),
    *("ones", "ones_like", "outer", "partition", "permute_dims", "prod", "ptp", "ravel", "reshape", "roll", "rot90"),
    *("round", "searchsorted", "shape", "sort", "squeeze", "stack", "std", "sum", "swapaxes", "tensordot", "tile"),
    *("trace", "transpose", "tril", "triu", "var", "vdot", "vecdot", "view", "vstack", "where"),
    *("zeros", "zeros_like"),
}
NUMBERS = "biufc"


def needed_ops(ops: list[Op], outputs: list[Any], *, dynamic: bool, strict: bool) -> list[Op]:
    """The operations that a result depends on, and those that can fail, as eager numpy would, with what they depend on.

    One that writes lives while somebody may look at what it writes into.
    """
    needed = {id(node) for node in nodes_in(outputs)}
    seen = {id(node.root()) for node in nodes_in(outputs)}  # sets of nodes that share memory, and are looked at
    visible = {id(node.root()) for op in ops for node in operands(op) if node.kind == INPUT}
    kept: list[Op] = []
    for op in reversed(ops):
        roots = {id(node.root()) for node in op.writes}
        is_used = any(id(node) in needed for node in op.outputs) or bool(roots & (seen | visible))
        if not is_used and not can_fail(op, dynamic=dynamic, strict=strict):
            continue
        kept.append(op)
        used = operands(op)
        needed.update(id(node) for node in used)
        seen.update(id(node.root()) for node in used)
    return kept[::-1]


def operands(op: Op) -> list[Node]:
    return [*nodes_in(op.args), *nodes_in(op.kwargs)]


def can_fail(op: Op, *, dynamic: bool, strict: bool) -> bool:
    """Whether an operation raises for some values of tensors of these dtypes, and of these sizes where they are fixed.

    A warning is no failure, unless the function, or the code around its first call, asked for it to be raised.
    """
    if op.kind == "attribute":
        return False
    if strict or not {*op.errors.values()}.isdisjoint(("raise", "call")):
        return True
    tensors = [node for node in (*operands(op), *op.outputs) if node.dtype is not None]
    if any(node.dtype.kind not in NUMBERS for node in tensors):
        return True  # of objects, texts, dates
    if op.kind in ("item", "store"):
        return key_can_fail(op.args[1], dynamic) or (dynamic and op.kind == "store" and is_a(op.args[2], Node))
    name = op.name.rpartition(".")[2]
    if dynamic and (
        not all(map(has_proven_shape, op.outputs))
        or name in ("@", "matmul", "reshape")
        or (
            op.kind in ("function", "method", "in place")
            and len([node for node in operands(op) if node.dtype is not None]) > 1
        )
    ):
        return True
    if op.kind in ("operator", "in place", "ufunc", "ufunc method"):
        return ufunc_can_fail(op)
    return name not in SAFE or op.name not in (name, f"np.{name}")


def ufunc_can_fail(op: Op) -> bool:
    if op.kind == "ufunc method" and op.name.rpartition(".")[2] in ("at", "reduceat"):
        return True
    power = op.name in ("**", "x **= y") or op.call is np.power
    return power and all(node.dtype.kind in "iu" for node in operands(op) if node.dtype is not None)


def key_can_fail(key: Any, dynamic: bool) -> bool:
    """Whether an index may be out of range at another call."""
    parts: tuple[Any, ...] = key if class_of(key) is tuple else (key,)
    if dynamic:
        return not all(is_a(part, slice) or part is None or part is Ellipsis for part in parts)
    return any(
        node.kind != CONSTANT and node.dtype is not None and node.dtype != bool
        for part in parts
        for node in nodes_in(part)
    )


def has_proven_shape(node: Node) -> bool:
    return all(type(dim) is int or (type(dim) is Dim and dim.node is not node) for dim in node.dims)
