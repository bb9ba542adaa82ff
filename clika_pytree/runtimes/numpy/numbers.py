"""The numbers that a graph computes with, as arrays without axes.

numpy makes an array of a number at each call, in the dtype of the array beside it, which takes as long as the sum of a
few hundred items. The graph has made it once; the loop is the same and so are its operands.
"""

from __future__ import annotations

import re

import numpy as np

from clika_pytree.typing import TYPE_CHECKING

from .tape import BY_VALUE, Node
from .ufuncs import UFUNCS, ufunc_of

if TYPE_CHECKING:
    from typing import Any

    from .tape import Op

__all__: list[str] = []

# Ufuncs whose two operands are of one dtype. Powers are left out: numpy looks at their exponent.
OF_ONE_DTYPE = frozenset(
    [
        *(np.add, np.subtract, np.multiply, np.true_divide, np.floor_divide, np.remainder, np.fmod),
        *(np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal),
        *(np.maximum, np.minimum, np.fmax, np.fmin, np.hypot, np.arctan2, np.copysign),
        *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift),
    ]
)
DTYPES = {
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
}


class Numbers:
    """The names of those that a source speaks of."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, str], str] = {}

    def name(self, op: Op, term: Any) -> str | None:
        """What an operand is called, None where it is to stand as it is."""
        if type(term) not in (int, float) or BY_VALUE or len(op.args) != 2 or ufunc_like(op) not in OF_ONE_DTYPE:
            return None
        array = op.args[1] if op.args[0] is term else op.args[0]
        if type(array) is not Node or not array.is_array or not array.ndim or array.loose:
            return None
        if not array.dtype.isnative or not is_exact_kind(term, array.dtype):
            return None
        key = (repr(term), array.dtype.name)
        if key not in self.names:
            wish = name = re.sub(r"\W", "_", f"n{key[0]}")
            count = 0
            while name in self.names.values():
                count += 1
                name = f"{wish}_{count}"
            self.names[key] = name
        return self.names[key]

    def lines(self) -> list[str]:
        """The statements that make them."""
        return [f"{name} = np.array({number}, {dtype!r})" for (number, dtype), name in self.names.items()]


def ufunc_like(op: Op) -> Any:
    """The ufunc of an operation, of `x += 1`, too."""
    return UFUNCS.get((op.name.split()[1][:-1], 2)) if op.kind == "in place" else ufunc_of(op)


def is_exact_kind(number: float, dtype: Any) -> bool:
    """Whether numpy takes a number beside an array of a dtype for one of that dtype, without a word about it."""
    if dtype.name not in DTYPES:
        return False
    if dtype.kind in "iu":
        limits: Any = np.iinfo(dtype)
        return type(number) is int and limits.min <= number <= limits.max
    return abs(number) <= float(np.finfo(dtype).max)
