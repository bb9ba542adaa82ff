"""A stretch of elementwise operations that runs block by block, so that what lies between them stays in the cache."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING

from .tape import CONSTANT, Node, SizeTerm, nodes_in
from .wording import Namespace, Words

if TYPE_CHECKING:
    from typing import Any

    from .fusion import Analysis
    from .source import Variables
    from .tape import Op

__all__: list[str] = []

BLOCK = 1 << 17  # bytes of an operand: a few of them are about a second-level cache


def few(node: Node) -> int:
    """How many items of a node's dtype are so few that they fit into the cache with everything around them."""
    return 2 * BLOCK // int(node.dtype.itemsize)


def rows(array: Any) -> int:
    """How many rows of an array are a block."""
    return max(1, min(len(array), BLOCK * len(array) // max(1, int(array.nbytes))))


class Step:
    """Where the operands of an operation are, and where its result goes."""

    __slots__ = ("names", "target")

    def __init__(self, names: dict[int, str], target: str) -> None:
        self.names, self.target = names, target


class Place:
    """Memory that a result can have: a whole array, or scratch for one block.

    What is lent goes back when it is not needed any more, so nobody may see it after the run.
    """

    __slots__ = ("dtype", "lent", "name", "scratch")

    def __init__(self, name: str, dtype: Any, *, scratch: bool = False, lent: bool = False) -> None:
        self.name, self.dtype, self.scratch, self.lent = name, dtype, scratch, lent


class Block:
    """The plan of one stretch. Results that are looked at later are whole arrays, others a block of scratch."""

    def __init__(self, analysis: Analysis, variables: Variables, lent: set[str], first: int, end: int) -> None:
        self.analysis, self.variables, self.lent, self.end = analysis, variables, lent, end
        self.ops = analysis.ops[first:end]
        self.dims = analysis.dims(self.ops[0].outputs[0])
        self.made: list[Place] = []  # memory that did not exist before
        self.free: list[Place] = []
        self.held: dict[int, Place] = {}  # by node
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
        for key, arg in args.items():
            if key in self.held:
                if analysis.last[key] <= index and key not in analysis.kept:
                    self.free.append(self.held[key])
            elif analysis.dying(arg, index) and analysis.dims(arg) == self.dims:
                name = self.variables.of(arg)
                self.free.append(Place(name, arg.dtype, lent=name in self.lent))
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
        self.held[id(out)] = place
        return Step(names, place.name)

    def words(self, space: Namespace, step: Step, *, rows: bool = False) -> Words:
        """How the step's operands are called, in the loop over blocks or outside."""

        def variable(node: Node) -> str:
            name = step.names[id(node)]
            return f"{name}_k" if rows and (id(node) not in self.outside or self.is_cut(node)) else name

        return BlockWords(space, variable, self.variables, self.cut_constant if rows else None)

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
        return lines

    def slices(self) -> list[str]:
        """The rows of this block."""
        cut = [node for node in self.outside.values() if self.is_cut(node)]
        names = [f"c{node.index}" if node.kind == CONSTANT else self.variables.of(node) for node in cut]
        names += [place.name for place in self.made if not place.scratch]
        lines = ["k = slice(i, i + n)", *(f"{name}_k = {name}[k]" for name in dict.fromkeys(names))]
        whole = f"{self.whole}_k"
        return lines + [f"{place.name}_k = {place.name}[:len({whole})]" for place in self.made if place.scratch]

    def finish(self) -> list[str]:
        """Give the results their names, and tell which variables are not needed any more."""
        alive: set[str] = set()
        for op in self.ops:
            node = op.outputs[0]
            if self.analysis.last[id(node)] >= self.end or id(node) in self.analysis.kept:
                alive.add(self.variables.give(node, self.held[id(node)].name))
        self.lent.update(place.name for place in self.made if place.lent)
        gone = [place.name for place in self.made if place.name not in alive]
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

    def node(self, node: Node) -> str:
        text = super().node(node)
        return f"{text}_k" if node.kind == CONSTANT and self.cut is not None and self.cut(node) else text

    def term(self, term: Any) -> str:
        if type(term) is SizeTerm:
            return Words(self.space, self.variables.of).term(term)
        return super().term(term)
