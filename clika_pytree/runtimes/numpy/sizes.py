"""Symbolic sizes: whole numbers such as `x.shape[0]` that stay expressions until the code forces them."""

from __future__ import annotations

import operator
import weakref

import numpy as np

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .refusals import refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .tape import Node, Tape

__all__: list[str] = []

BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "truediv": "/",
    "mod": "%",
    "pow": "**",
    "lshift": "<<",
    "rshift": ">>",
    "and": "&",
    "or": "|",
    "xor": "^",
}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
UNARY = {"neg": "-", "pos": "+", "invert": "~", "abs": "abs"}


class Dim:
    """One axis of a node: the atom of every size expression."""

    __slots__ = ("axis", "node")

    def __init__(self, node: Node, axis: int) -> None:
        self.node, self.axis = node, axis

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and self.node is other.node and self.axis == other.axis

    def __hash__(self) -> int:
        return hash((id(self.node), self.axis))


class Term:
    """An operator applied to sizes and numbers."""

    __slots__ = ("operands", "sign")

    def __init__(self, sign: str, *operands: Any) -> None:
        self.sign, self.operands = sign, operands


def dims_in(expression: Any) -> Iterator[Dim]:
    if isinstance(expression, Dim):
        yield expression
    elif isinstance(expression, Term):
        for operand in expression.operands:
            yield from dims_in(operand)


def size_text(expression: Any, name: Callable[[Node], str]) -> str:
    """The expression as Python source."""
    if isinstance(expression, Dim):
        return f"{name(expression.node)}.shape[{expression.axis}]"
    if isinstance(expression, Term):
        parts = [size_text(operand, name) for operand in expression.operands]
        if len(parts) == 2:
            return f"({parts[0]} {expression.sign} {parts[1]})"
        return f"abs({parts[0]})" if expression.sign == "abs" else f"({expression.sign}{parts[0]})"
    return repr(expression)


class Size:
    """A number that the sizes of the inputs decide. It carries the first call's value."""

    __slots__ = ("__weakref__", "expression", "tape", "value")
    __array_priority__ = 1000.0

    def __init__(self, tape: Tape, expression: Any, value: Any) -> None:
        self.tape, self.expression, self.value = tape, expression, value
        tape.stand_ins.append(weakref.ref(self))

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return class_of(self.value)

    def force(self) -> Any:
        """The value, from now on a guard of the graph."""
        self.tape.force(self.expression, self.value)
        return self.value

    def __index__(self) -> int:
        return operator.index(self.force())

    def __int__(self) -> int:
        return int(self.force())

    def __float__(self) -> float:
        return float(self.force())

    def __complex__(self) -> complex:
        return complex(self.force())

    def __bool__(self) -> bool:
        if isinstance(self.value, bool):
            return bool(self.force())
        return bool(Size(self.tape, Term("!=", self.expression, 0), self.value != 0))

    def __hash__(self) -> int:
        return hash(self.force())

    def __repr__(self) -> str:
        return repr(self.force())

    def __format__(self, spec: str) -> str:
        return format(self.force(), spec)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.force(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .functions import call_ufunc

        return call_ufunc(self.tape, ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .functions import call_function

        return call_function(self.tape, function, args, kwargs)

    def __round__(self, digits: Any = None) -> Any:
        return round(self.force(), digits) if digits is not None else round(self.force())

    def __trunc__(self) -> int:
        return int(self.force())

    def __floor__(self) -> int:
        return int(self.force() // 1)

    def __ceil__(self) -> int:
        return int(-(-self.force() // 1))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.force(), name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise refusal("A size of a recorded tensor cannot be pickled or copied", "make a number of it with int()")

    def __copy__(self) -> Size:
        return self

    def __deepcopy__(self, memo: Any) -> Size:
        return self


def expression_of(value: Any) -> Any:
    return value.expression if type(value) is Size else value


def value_of(value: Any) -> Any:
    return value.value if type(value) is Size else value


def binary(sign: str, function: Callable[[Any, Any], Any], swapped: bool) -> Callable[[Size, Any], Any]:
    def method(self: Size, other: Any) -> Any:
        if type(other) is not Size and type(other) not in (int, bool, float):
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        value = function(value_of(left), value_of(right))
        return Size(self.tape, Term(sign, expression_of(left), expression_of(right)), value)

    return method


def unary(sign: str, function: Callable[[Any], Any]) -> Callable[[Size], Any]:
    def method(self: Size) -> Any:
        return Size(self.tape, Term(sign, self.expression), function(self.value))

    return method


for _name, _sign in BINARY.items():
    _function = getattr(operator, f"__{_name}__")
    setattr(Size, f"__{_name}__", binary(_sign, _function, False))
    setattr(Size, f"__r{_name}__", binary(_sign, _function, True))
for _name, _sign in COMPARISONS.items():
    setattr(Size, f"__{_name}__", binary(_sign, getattr(operator, f"__{_name}__"), False))
for _name, _sign in UNARY.items():
    setattr(Size, f"__{_name}__", unary(_sign, getattr(operator, f"__{_name}__")))
