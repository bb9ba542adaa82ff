"""Operations as Python source, given the names of the nodes."""

from __future__ import annotations

import math
import re

import numpy as np

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .kinds import is_a
from .sizes import size_text
from .tape import CONSTANT, Node, SizeTerm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .numbers import Numbers
    from .tape import Op

__all__: list[str] = []

# What numpy's methods and functions of these names end in, after some Python code of its own.
REDUCES = {
    "sum": "np.add.reduce",
    "prod": "np.multiply.reduce",
    "max": "np.maximum.reduce",
    "amax": "np.maximum.reduce",
    "min": "np.minimum.reduce",
    "amin": "np.minimum.reduce",
}
NUMBER = re.compile("n_?[0-9]")  # how the names of numbers begin
REDUCED_BY = {"axis", "dtype", "keepdims", "initial"}


class Namespace:
    """The objects that the source speaks of by name: captured ones, functions that are not numpy's, and, where it is
    told so, numbers as arrays."""

    def __init__(self, taken: Iterable[str], numbers: Numbers | None = None) -> None:
        self.taken, self.numbers = frozenset(taken), numbers
        self.objects: dict[str, Any] = {}

    def name(self, wish: str, value: Any) -> str:
        wish = ("f_" * bool(NUMBER.match(wish)) + wish) if wish.isidentifier() else "f"
        name, number = wish, 1
        while name in self.taken or (name in self.objects and self.objects[name] is not value):
            number += 1
            name = f"{wish}_{number}"
        self.objects[name] = value
        return name


class Words:
    """Terms and calls as text; `name` gives the variable of a node."""

    def __init__(self, space: Namespace, name: Callable[[Node], str]) -> None:
        self.space, self.variable = space, name

    def node(self, node: Node) -> str:
        if node.kind != CONSTANT:
            return self.variable(node)
        value: Any = node.value
        if is_a(value, np.dtype) and value.isbuiltin == 1 and np.dtype(value.name).num == value.num:
            return f"np.dtype({value.name!r})"
        name: str = value.__name__ if is_a(value, type) else ""
        if name and vars(np).get(name) is value:
            return f"np.{name}"
        return self.space.name(f"c{node.index}", value)

    def term(self, term: Any) -> str:
        cls = class_of(term)
        if cls is Node:
            return self.node(term)
        if cls is SizeTerm:
            return size_text(term.expression, self.node)
        if cls is list:
            return f"[{', '.join(map(self.term, term))}]"
        if cls is tuple:
            return f"({self.term(term[0])},)" if len(term) == 1 else f"({', '.join(map(self.term, term))})"
        if cls is dict:
            return "{" + ", ".join(f"{key!r}: {self.term(value)}" for key, value in term.items()) + "}"
        if cls is slice:
            return f"slice({self.term(term.start)}, {self.term(term.stop)}, {self.term(term.step)})"
        if cls is float and not math.isfinite(term):
            return f"float({str(term)!r})"
        if cls is complex:
            return f"complex({self.term(term.real)}, {self.term(term.imag)})"
        return "..." if term is Ellipsis else repr(term)

    def index(self, key: Any) -> str:
        if type(key) is slice:
            step = "" if key.step is None else f":{self.term(key.step)}"
            ends = ["" if end is None else self.term(end) for end in (key.start, key.stop)]
            return f"{ends[0]}:{ends[1]}{step}"
        if class_of(key) is tuple and key:
            return ", ".join(self.index(item) for item in key) + ("," if len(key) == 1 else "")
        return self.term(key)

    def number(self, op: Op, term: Any) -> str | None:
        """The name of an array for a number that an operation takes."""
        return self.space.numbers.name(op, term) if self.space.numbers is not None else None

    def operand(self, term: Any) -> str:
        """A term that may stand beside an operator, or before a dot."""
        text = self.term(term)
        return text if type(term) is Node or text[:1].isdigit() or text[:1] == "(" else f"({text})"

    def call(self, op: Op) -> str:
        """The expression, or the statement of one that only writes."""
        args = op.args
        if op.kind == "operator":
            texts = [self.number(op, arg) or self.operand(arg) for arg in args]
            if len(texts) == 2:
                return f"{texts[0]} {op.name} {texts[1]}"
            return f"abs({texts[0]})" if op.name == "abs" else f"{op.name}{texts[0]}"
        if op.kind == "in place":
            return f"{self.operand(args[0])} {op.name.split()[1]} {self.number(op, args[1]) or self.term(args[1])}"
        if op.kind == "item":
            return f"{self.operand(args[0])}[{self.index(args[1])}]"
        if op.kind == "store":
            return f"{self.operand(args[0])}[{self.index(args[1])}] = {self.term(args[2])}"
        if op.kind == "attribute":
            return f"{self.operand(args[0])}.{op.name}"
        listed = [self.number(op, arg) or self.term(arg) for arg in args]
        named = [f"{key}={self.term(value)}" for key, value in op.kwargs.items()]
        if is_plain_reduction(op):
            axis = [] if len(args) == 2 or "axis" in op.kwargs else ["axis=None"]
            return f"{REDUCES[op.name.removeprefix('np.')]}({', '.join([*listed, *axis, *named])})"
        if op.kind == "method":
            return f"{self.operand(args[0])}.{op.name}({', '.join([*listed[1:], *named])})"
        return f"{self.function(op)}({', '.join([*listed, *named])})"

    def function(self, op: Op) -> str:
        """The name of a function: numpy's own by its path, others (of scipy, say) by a name of the graph's."""
        found: Any = np
        for part in op.name.split(".")[1:] if op.name.startswith("np.") else ["?"]:
            found = getattr(found, part, None)
        if op.name == "divmod" or found is op.call or (op.kind == "ufunc method" and found == op.call):
            return op.name
        if op.kind == "ufunc method":
            owner = op.call.__self__
            return f"{self.space.name(owner.__name__, owner)}.{op.call.__name__}"
        return self.space.name(op.name.rpartition(".")[2], op.call)

    def target(self, made: Any) -> str:
        """What stands left of the equals sign."""
        if type(made) is Node:
            return self.node(made)
        inner = ", ".join(map(self.target, made))
        return f"[{inner}]" if type(made) is list else f"({inner},)" if len(made) == 1 else f"({inner})"


def is_plain_reduction(op: Op) -> bool:
    """Whether an operation reduces an array by one ufunc, and takes nothing but numbers beside the array."""
    known = op.kind in ("method", "function") and op.name.removeprefix("np.") in REDUCES
    if not known or not 1 <= len(op.args) <= 2 or not REDUCED_BY.issuperset(op.kwargs):
        return False
    array = op.args[0]
    return type(array) is Node and array.is_array and not array.dtype.hasobject
