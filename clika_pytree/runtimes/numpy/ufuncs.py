"""Which ufunc an operation of a graph is."""

from __future__ import annotations

import numpy as np

from clika_pytree.typing import TYPE_CHECKING

from .tape import Node

if TYPE_CHECKING:
    from typing import Any

    from .tape import Op

__all__: list[str] = []

UFUNCS: dict[tuple[str, int], Any] = {
    ("+", 2): np.add,
    ("-", 2): np.subtract,
    ("*", 2): np.multiply,
    ("/", 2): np.true_divide,
    ("//", 2): np.floor_divide,
    ("%", 2): np.remainder,
    ("&", 2): np.bitwise_and,
    ("|", 2): np.bitwise_or,
    ("^", 2): np.bitwise_xor,
    ("<<", 2): np.left_shift,
    (">>", 2): np.right_shift,
    ("<", 2): np.less,
    ("<=", 2): np.less_equal,
    ("==", 2): np.equal,
    ("!=", 2): np.not_equal,
    (">", 2): np.greater,
    (">=", 2): np.greater_equal,
    ("-", 1): np.negative,
    ("+", 1): np.positive,
    ("~", 1): np.invert,
    ("abs", 1): np.absolute,
}


def ufunc_of(op: Op) -> Any:
    """The ufunc that an operation is, None if it is none; `**` is one of several."""
    if op.kind == "ufunc" and op.call.signature is None and op.call.nout == 1 and not op.kwargs:
        return op.call if len(op.args) == op.call.nin else None
    if op.kind != "operator":
        return None
    if op.name == "**":
        base, exponent = op.args
        square = isinstance(base, Node) and base.dtype is not None and base.dtype.kind in "fc"
        return np.square if square and type(exponent) in (int, float) and exponent == 2 else None
    return UFUNCS.get((op.name, len(op.args)))


def ufunc_args(op: Op) -> tuple[Any, ...]:
    return op.args[:1] if op.name == "**" else op.args
