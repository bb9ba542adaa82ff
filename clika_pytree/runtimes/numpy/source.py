"""The Python source of a graph: numpy's calls in the order of the program, each variable gone when its array is."""

from __future__ import annotations

import numpy as np

from clika_pytree.typing import TYPE_CHECKING

from .blocks import Block, rows
from .dims import in_rows
from .errors import Collected
from .fusion import Analysis
from .lines import place_text, printable
from .numbers import Numbers
from .scratch import filled, give, take
from .sizes import size_text
from .tape import INPUT, Node
from .ufuncs import ufunc_args, ufunc_of
from .wording import Namespace, Words

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .graph import Graph
    from .tape import Op

__all__: list[str] = []


class Variables:
    """Which variable holds which node; a name is taken again once its node is dead."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.free: list[str] = []
        self.count = 0

    def of(self, node: Node) -> str:
        return node.name if node.kind == INPUT else self.names[id(node)]

    def new(self) -> str:
        if self.free:
            return self.free.pop()
        self.count += 1
        return f"v{self.count - 1}"

    def give(self, node: Node, name: str | None = None) -> str:
        self.names[id(node)] = name = name or self.new()
        return name

    def drop(self, nodes: Iterable[Node]) -> list[str]:
        """The names of nodes that are dead."""
        return [self.names.pop(id(node)) for node in nodes if id(node) in self.names]


class Writer:
    """One function of the source."""

    def __init__(self, analysis: Analysis, space: Namespace, *, reuse: bool, decided: bool = False) -> None:
        self.analysis, self.reuse, self.decided = analysis, reuse, decided
        self.variables = Variables()
        self.words = Words(space, self.variables.of)
        self.lines: list[str] = []
        self.lent: set[str] = set()  # the variables whose memory is lent
        self.rests: set[int] = set()  # the inputs whose C layout is relied on
        self.better = False  # whether it differs from the plain calls
        self.place = ""

    def write(self) -> None:
        ops = self.analysis.ops
        spans = self.analysis.runs() if self.reuse else [(index, index + 1) for index in range(len(ops))]
        for first, end in spans:
            if end - first > 1:
                self.write_block(first, end)
            else:
                self.write_op(first)

    def dead_after(self, index: int) -> list[Node]:
        op, analysis = self.analysis.ops[index], self.analysis
        nodes = {id(node): node for node in (*mentioned(op), *op.outputs)}
        return [n for key, n in nodes.items() if analysis.last[key] <= index and key not in analysis.kept]

    def write_op(self, index: int) -> None:
        op = self.analysis.ops[index]
        dead = self.dead_after(index)
        taken = self.reused(index) if self.reuse else None
        if taken is not None:
            name = self.variables.of(taken)
            self.line(elementwise_text(self.words, op, name), op)
            self.variables.drop([taken])
            self.variables.give(op.outputs[0], name)
            self.rely(op)
            self.let_go(self.variables.drop(dead))
        elif self.reuse and self.borrows(index):
            text = elementwise_text(self.words, op, f"take({self.shape(op)}, {op.outputs[0].dtype.name!r})")
            names = self.variables.drop(node for node in dead if node is not op.outputs[0])
            name = self.variables.give(op.outputs[0])
            self.lent.add(name)
            self.line(f"{name} = {text}", op)
            self.rely(op)
            self.let_go(names)
        else:
            self.write_plain(op, dead)

    def write_plain(self, op: Op, dead: list[Node]) -> None:
        """The call as it was recorded."""
        text = self.words.call(op)
        # The old array goes when the new one has its name: later than in numpy's own call by nothing.
        gone = self.variables.drop(node for node in dead if node not in op.outputs)
        names = [name for name in gone if name not in self.lent]
        self.variables.free += names
        made = [self.variables.give(node) for node in op.outputs]
        if op.errors:
            self.line(f"with np.errstate({', '.join(f'{kind}={how!r}' for kind, how in op.errors.items())}):", op)
        text = text if op.made is None else f"{self.words.target(op.made)} = {text}"
        self.line(text, op, 2 if op.errors else 1)
        self.forget(name for name in names if name not in made)
        self.let_go([name for name in gone if name in self.lent])
        self.let_go(self.variables.drop(dead))

    def reused(self, index: int) -> Node | None:
        """An operand that dies here and whose memory the result can have."""
        analysis, op = self.analysis, self.analysis.ops[index]
        if not analysis.elementwise[index]:
            return None
        for arg in ufunc_args(op):
            fits = analysis.dying(arg, index) and analysis.fits(arg, op.outputs[0])
            if fits and (analysis.is_private(op.outputs[0]) or self.variables.of(arg) not in self.lent):
                return arg  # type: ignore[no-any-return]
        return None

    def borrows(self, index: int) -> bool:
        """Whether the result of an operation lives within the run only, in memory that is kept for such."""
        if self.analysis.products[index]:
            return True
        op = self.analysis.ops[index]
        return self.analysis.elementwise[index] and self.analysis.is_lent(op.outputs[0]) and bool(self.shape(op))

    def shape(self, op: Op) -> str:
        """The shape of the result, empty where no operand has it."""
        if ufunc_of(op) is None:
            return "({}.shape[0], {}.shape[1])".format(*map(self.words.node, op.args))
        dims = self.analysis.dims(op.outputs[0])
        same = (arg for arg in op.args if isinstance(arg, Node) and self.analysis.dims(arg) == dims)
        return next((f"{self.words.node(arg)}.shape" for arg in same), "")

    def write_block(self, first: int, end: int) -> None:
        block = Block(self, first, end)
        ops = self.analysis.ops[first:end]
        whole = block.whole
        if self.decided:
            depth = 1
            self.line(f"n = rows({whole})", ops[0])
        else:
            depth = 2
            self.line(f"if {whole}.size < {block.large}:", ops[0])
            for op, step in zip(ops, block.steps, strict=True):
                self.line(f"{step.target} = {block.words(self.words.space, step).call(op)}", op, 2)
            self.line("else:")
            self.line(f"n = rows({whole})", depth=2)
        for text in block.setup():
            self.line(text, depth=depth)
        self.line(f"with collected(n, len({whole})):", depth=depth)
        depth += 1
        self.line(f"for i in range(0, len({whole}), n):", depth=depth)
        for text in block.slices():
            self.line(text, depth=depth + 1)
        for op, step in zip(ops, block.steps, strict=True):
            text = elementwise_text(block.words(self.words.space, step, rows=True), op, f"{step.target}_k")
            self.line(text, op, depth + 1)
            self.rely(op)
        self.let_go(block.finish())

    def rely(self, op: Op) -> None:
        self.better = True
        self.rests |= self.analysis.rests_on(op.outputs[0]) or set()

    def let_go(self, names: list[str]) -> None:
        """Free the names of arrays that are dead; what was lent goes back."""
        for name in names:
            if name in self.lent:
                self.lent.remove(name)
                self.line(f"give({name})")
        self.forget(names)
        self.variables.free += names

    def forget(self, names: Iterable[str]) -> None:
        """Let go of arrays whose names are free."""
        if listed := ", ".join(names):
            self.line(f"del {listed}")

    def line(self, text: str, op: Op | None = None, depth: int = 1) -> None:
        place = place_text(*op.line) if op is not None else self.place
        comment = "" if place == self.place else f"  # {place}"
        self.place = place
        self.lines.append("    " * depth + text + comment)


def mentioned(op: Op) -> list[Node]:
    from .tape import nodes_in

    return [*nodes_in(op.args), *nodes_in(op.kwargs)]


def elementwise_text(words: Words, op: Op, out: str) -> str:
    """The call as one of a ufunc that writes into `out`."""
    ufunc = ufunc_of(op) or np.matmul
    name = words.function(op) if op.kind == "ufunc" else f"np.{ufunc.__name__}"
    listed = ", ".join([*(words.number(op, arg) or words.term(arg) for arg in ufunc_args(op)), f"out={out}"])
    return f"{name}({listed})"


class Source:
    """The module's text, the objects it speaks of, and the inputs whose layout it relies on.

    Without `fused` it is the plain calls alone, which are right for what stands for arrays, too.
    """

    def __init__(self, graph: Graph, layouts: list[str], *, fused: bool = True) -> None:
        space = Namespace((node.name for node in graph.inputs), Numbers() if fused else None)
        analysis = Analysis(graph.nodes, graph.outputs, graph.inputs, layouts)
        arguments = ", ".join(node.name for node in graph.inputs)
        plain = Writer(analysis, space, reuse=False)
        decided, test = analysis.decision()
        better = Writer(analysis, space, reuse=fused, decided=decided)
        plain.write()
        better.write()
        # The plain calls are for what needs no memory, and for other sizes than those that were assumed.
        plainly = [] if test is None else [f"{test[0].name}.size < {test[1]}"]
        plainly += [
            " != ".join(size_text(side, lambda node: node.name) for side in pair) for pair in analysis.assumed.needed
        ]
        self.numbers = space.numbers.lines() if space.numbers is not None else []
        self.needs_layout = better.rests
        if graph.names is not None and better.rests:
            plainly.append(f"not in_rows({', '.join(graph.inputs[index].name for index in sorted(better.rests))})")
        self.outputs = graph.names.outputs if graph.names is not None else None
        self.parts: list[str] = []
        unpack = [f"    {arguments}{',' * (len(graph.inputs) == 1)} = tensors"] if graph.inputs else []
        if better.better:
            guard = [f"    if {' or '.join(plainly)}:", f"        return plain({arguments})"] if plainly else []
            self.add("graph", "tensors", unpack + guard, better, graph.outputs)
        if plainly or not better.better:
            if better.better:
                self.add("plain", arguments, [], plain, graph.outputs)
            else:
                self.add("graph", "tensors", unpack, plain, graph.outputs)
        self.names = {
            **space.objects,
            "collected": Collected,
            "filled": filled,
            "give": give,
            "in_rows": in_rows,
            "rows": rows,
            "take": take,
        }

    def add(self, name: str, arguments: str, head: list[str], writer: Writer, outputs: list[Any]) -> None:
        result = f"    return [{', '.join(map(writer.words.term, outputs))}]"
        if self.outputs:
            result += f"  # {', '.join(map(printable, self.outputs))}"
        self.parts.append("\n".join([f"def {name}({arguments}):", *head, *writer.lines, result]))

    def text(self) -> str:
        return "\n\n\n".join(["\n".join(self.numbers)] * bool(self.numbers) + self.parts) + "\n"
