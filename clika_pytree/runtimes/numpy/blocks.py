"""A stretch of elementwise operations that runs block by block, so that what lies between them stays in the cache."""

from __future__ import annotations

import functools

import numpy as np

from clika_pytree.typing import TYPE_CHECKING

from .tape import CONSTANT, Node, SizeTerm, nodes_in
from .wording import Namespace, Words

if TYPE_CHECKING:
    from typing import Any

    from .source import Variables, Writer
    from .tape import Op

__all__: list[str] = []

BLOCK = 1 << 18  # bytes of an operand: a few of them are about a second-level cache


def few(node: Node) -> int:
    """How many items of a node's dtype are so few that they fit into the cache with everything around them."""
    return BLOCK // int(node.dtype.itemsize)


def rows(array: Any) -> int:
    """How many rows of an array are a block. No block has one row, if others have more: numpy has other loops for one
    item that is written into its own place."""
    length = len(array)
    n = max(1, min(length, BLOCK * length // max(1, int(array.nbytes))))
    while n > 1 and length % n == 1:
        n += 1
    return n


def may_alias(dtype: Any) -> bool:
    """Whether numpy computes the same bits where a result of one item takes the place of an operand."""
    return bool(dtype.kind != "c" and dtype.name != "float16")


@functools.cache
def can_be_filled(name: str, dtype: str, text: str, first: bool) -> bool:
    """Whether np.maximum and np.minimum give the same bits for a number and for an array of it.

    They have vector loops for two arrays only, with a fourth of the time; whether these agree on zeros and NaN is a
    matter of the processor, so it is tried.
    """
    ufunc, number = getattr(np, name), float(text)
    bits: Any = np.random.default_rng(0).integers(0, 1 << 8, 997 * 8, np.uint8)
    numbers = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), number, -number]
    values = np.concatenate([bits.view(dtype), np.array(numbers * 9, dtype)])
    filled = np.full(values.shape, number, dtype)
    plain, fast = (
        (ufunc(number, values), ufunc(filled, values)) if first else (ufunc(values, number), ufunc(values, filled))
    )
    return bool(plain.dtype == fast.dtype and plain.tobytes() == fast.tobytes())


class Step:
    """Where the operands of an operation are, and where its result goes. `filled` stands for a number."""

    __slots__ = ("filled", "names", "target")

    def __init__(self, names: dict[int, str], target: str, filled: str | None) -> None:
        self.names, self.target, self.filled = names, target, filled


class Place:
    """Memory that a result can have: a whole array, or scratch for one block.

    What is lent goes back when it is not needed any more, so nobody may see it after the run.
    """

    __slots__ = ("dtype", "lent", "name", "scratch")

    def __init__(self, name: str, dtype: Any, *, scratch: bool = False, lent: bool = False) -> None:
        self.name, self.dtype, self.scratch, self.lent = name, dtype, scratch, lent


class Block:
    """The plan of one stretch. Results that are looked at later are whole arrays, others a block of scratch."""

    def __init__(self, writer: Writer, first: int, end: int) -> None:
        analysis = self.analysis = writer.analysis
        self.variables, self.lent, self.decided, self.end = writer.variables, writer.lent, writer.decided, end
        self.ops = analysis.ops[first:end]
        self.dims = analysis.dims(self.ops[0].outputs[0])
        self.made: list[Place] = []  # memory that did not exist before
        self.free: list[Place] = []
        self.held: dict[int, Place] = {}  # by node
        self.filled: dict[tuple[Any, str], str] = {}  # arrays of a number, by that and dtype
        self.outside: dict[int, Node] = {}
        self.steps = [self.step(first + k, op) for k, op in enumerate(self.ops)]
        first_args = [arg for arg in self.ops[0].args if isinstance(arg, Node) and analysis.dims(arg) == self.dims]
        self.whole = self.name(first_args[0])
        self.large = few(first_args[0])  # from so many items on it pays

    def name(self, node: Node) -> str:
        return self.held[id(node)].name if id(node) in self.held else self.variables.of(node)

    def step(self, index: int, op: Op) -> Step:
        analysis, out = self.analysis, op.outputs[0]
        args = {id(arg): arg for arg in op.args if isinstance(arg, Node)}
        for key, arg in args.items():
            if key not in self.held:
                self.outside[key] = arg
        names = {key: self.name(arg) for key, arg in args.items() if arg.kind != CONSTANT}
        dying: list[Place] = []
        for key, arg in args.items():
            if key in self.held:
                if analysis.last[key] <= index and key not in analysis.kept:
                    dying.append(self.held[key])
            elif analysis.dying(arg, index) and analysis.dims(arg) == self.dims:
                name = self.variables.of(arg)
                dying.append(Place(name, arg.dtype, lent=name in self.lent))
        if may_alias(out.dtype):
            self.free += dying
        inner = analysis.last[id(out)] < self.end and id(out) not in analysis.kept
        private = analysis.is_private(out)
        found = [
            place
            for place in self.free
            if place.dtype == out.dtype and (inner or not place.scratch) and (private or not place.lent)
        ]
        found.sort(key=lambda place: place.scratch)
        if found:
            place = found[-1]
            self.free.remove(place)
        else:
            place = Place(self.variables.new(), out.dtype, scratch=inner, lent=not inner and analysis.is_lent(out))
            self.made.append(place)
        if not may_alias(out.dtype):
            self.free += dying
        self.held[id(out)] = place
        return Step(names, place.name, self.fill(op))

    def fill(self, op: Op) -> str | None:
        """An array for the number that an operation takes, where it is faster with one."""
        name, out = op.name.removeprefix("np."), op.outputs[0]
        number = next((arg for arg in op.args if type(arg) in (int, float)), None)
        if not self.decided or op.kind != "ufunc" or name not in ("maximum", "minimum") or number is None:
            return None
        other = op.args[1 if op.args[0] is number else 0]
        if (
            out.dtype.name not in ("float16", "float32", "float64")
            or not isinstance(other, Node)
            or other.dtype != out.dtype
        ):
            return None
        if not abs(number) <= 1 << 20 or not can_be_filled(name, out.dtype.name, str(number), other is op.args[1]):
            return None
        key = (str(number), out.dtype.name)
        return self.filled.get(key) or self.filled.setdefault(key, self.variables.new())

    def words(self, space: Namespace, step: Step, *, rows: bool = False) -> Words:
        """How the step's operands are called, in the loop over blocks or outside."""

        def variable(node: Node) -> str:
            name = step.names[id(node)]
            return f"{name}_k" if rows and (id(node) not in self.outside or self.is_cut(node)) else name

        words = BlockWords(space, variable, self.variables, self.cut_constant if rows else None)
        words.filled = step.filled if rows else None
        return words

    def is_cut(self, node: Node) -> bool:
        return self.analysis.part(node, self.dims) is True

    def cut_constant(self, node: Node) -> bool:
        return node.dtype is not None and node.ndim > 0 and self.is_cut(node)

    def setup(self) -> list[str]:
        lines: list[str] = []
        for place in self.made:
            shape = f"(n, *{self.whole}.shape[1:])" if place.scratch else f"{self.whole}.shape"
            make = "take" if place.lent else "np.empty"
            lines.append(f"{place.name} = {make}({shape}, {place.dtype.name!r})")
        for (number, dtype), name in self.filled.items():
            lines.append(f"{name} = filled((n, *{self.whole}.shape[1:]), {number}, {dtype!r})")
        return lines

    def slices(self) -> list[str]:
        """The rows of this block."""
        cut = [node for node in self.outside.values() if self.is_cut(node)]
        names = [f"c{node.index}" if node.kind == CONSTANT else self.variables.of(node) for node in cut]
        names += [place.name for place in self.made if not place.scratch]
        lines = ["k = slice(i, i + n)", *(f"{name}_k = {name}[k]" for name in dict.fromkeys(names))]
        whole = f"{self.whole}_k"
        short = [*(place.name for place in self.made if place.scratch), *self.filled.values()]
        return lines + [f"{name}_k = {name}[:len({whole})]" for name in short]

    def finish(self) -> list[str]:
        """Give the results their names, and tell which variables are not needed any more."""
        alive: set[str] = set()
        for op in self.ops:
            node = op.outputs[0]
            if self.analysis.last[id(node)] >= self.end or id(node) in self.analysis.kept:
                alive.add(self.variables.give(node, self.held[id(node)].name))
        self.lent.update(place.name for place in self.made if place.lent)
        gone = [place.name for place in self.made if place.name not in alive] + [*self.filled.values()]
        for op in self.ops:
            for node in nodes_in(op.args):
                dead = self.analysis.last[id(node)] < self.end and id(node) not in self.analysis.kept
                if dead and id(node) in self.outside:
                    gone += [name for name in self.variables.drop([node]) if name not in alive]
        return list(dict.fromkeys(gone))


class BlockWords(Words):
    """Sizes speak of whole arrays, and a captured array is cut like any other."""

    def __init__(self, space: Namespace, variable: Any, variables: Variables, cut: Any) -> None:
        super().__init__(space, variable)
        self.variables, self.cut = variables, cut
        self.filled: str | None = None

    def node(self, node: Node) -> str:
        text = super().node(node)
        return f"{text}_k" if node.kind == CONSTANT and self.cut is not None and self.cut(node) else text

    def number(self, op: Op, term: Any) -> str | None:
        return super().number(op, term) if self.filled is None else None

    def term(self, term: Any) -> str:
        if type(term) is SizeTerm:
            return Words(self.space, self.variables.of).term(term)
        if self.filled is not None and type(term) in (int, float):
            return f"{self.filled}_k"
        return super().term(term)
