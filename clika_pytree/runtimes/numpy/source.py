"""The Python source of a graph: numpy's calls in the order of the program, each variable gone when its array is."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING

from .blocks import Block, rows
from .fusion import Analysis, ufunc_args, ufunc_of
from .refusals import place_text
from .sizes import size_text
from .tape import INPUT, Node
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
        return f"x{node.index}" if node.kind == INPUT else self.names[id(node)]

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

    def __init__(self, analysis: Analysis, space: Namespace, *, reuse: bool) -> None:
        self.analysis, self.reuse = analysis, reuse
        self.variables = Variables()
        self.words = Words(space, self.variables.of)
        self.lines: list[str] = []
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
        else:
            text = self.words.call(op)
            # The old array goes when the new one has its name: later than in numpy's own call by nothing.
            names = self.variables.drop(node for node in dead if node not in op.outputs)
            self.variables.free += names
            taken_names = [self.variables.give(node) for node in op.outputs]
            if op.errors:
                self.line(f"with np.errstate({', '.join(f'{kind}={how!r}' for kind, how in op.errors.items())}):", op)
            text = text if op.made is None else f"{self.words.target(op.made)} = {text}"
            self.line(text, op, 2 if op.errors else 1)
            self.forget(name for name in names if name not in taken_names)
        self.delete(self.variables.drop(dead))

    def reused(self, index: int) -> Node | None:
        """An operand that dies here and whose memory the result can have."""
        analysis, op = self.analysis, self.analysis.ops[index]
        if not analysis.elementwise[index]:
            return None
        for arg in ufunc_args(op):
            if analysis.dying(arg, index) and analysis.fits(arg, op.outputs[0]):
                return arg  # type: ignore[no-any-return]
        return None

    def write_block(self, first: int, end: int) -> None:
        block = Block(self.analysis, self.variables, first, end)
        ops = self.analysis.ops[first:end]
        whole = block.whole
        self.line(f"if {whole}.size < {block.large} or (n := rows({whole})) >= len({whole}):", ops[0])
        for op, step in zip(ops, block.steps, strict=True):
            # Small arrays: allocating costs less than `out=` does.
            self.line(f"{step.target} = {block.words(self.words.space, step).call(op)}", op, 2)
        self.line("else:")
        for text in block.setup():
            self.line(text, depth=2)
        self.line(f"for i in range(0, len({whole}), n):", depth=2)
        for text in block.slices():
            self.line(text, depth=3)
        for op, step in zip(ops, block.steps, strict=True):
            text = elementwise_text(block.words(self.words.space, step, rows=True), op, f"{step.target}_k")
            self.line(text, depth=3)
        gone = block.finish()
        self.lines.append("    del " + ", ".join(gone)) if gone else None
        self.variables.free += gone
        for op in ops:
            self.rely(op)

    def rely(self, op: Op) -> None:
        self.better = True
        self.rests |= self.analysis.rests_on(op.outputs[0]) or set()

    def delete(self, names: list[str]) -> None:
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
    ufunc = ufunc_of(op)
    name = words.function(op) if op.kind == "ufunc" else f"np.{ufunc.__name__}"
    listed = ", ".join([*map(words.term, ufunc_args(op)), f"out={out}"])
    return f"{name}({listed})"


class Source:
    """The module's text, the objects it speaks of, and the inputs whose layout it relies on."""

    def __init__(self, graph: Graph, layouts: list[str]) -> None:
        space = Namespace()
        analysis = Analysis(graph.nodes, graph.outputs, graph.inputs, layouts)
        arguments = ", ".join(f"x{node.index}" for node in graph.inputs)
        plain = Writer(analysis, space, reuse=False)
        fused = Writer(analysis, space, reuse=True)
        plain.write()
        fused.write()
        assumed = [
            " != ".join(size_text(side, lambda node: f"x{node.index}") for side in pair)
            for pair in analysis.assumed.needed
        ]
        self.needs_layout = fused.rests
        self.parts: list[str] = []
        if fused.better:
            guard = [f"    if {' or '.join(assumed)}:", f"        return plain({arguments})"] if assumed else []
            self.add("graph", arguments, guard, fused, graph.outputs)
        if assumed or not fused.better:
            self.add("plain" if fused.better else "graph", arguments, [], plain, graph.outputs)
        self.names = {**space.objects, "rows": rows}

    def add(self, name: str, arguments: str, head: list[str], writer: Writer, outputs: list[Any]) -> None:
        result = f"    return [{', '.join(map(writer.words.term, outputs))}]"
        self.parts.append("\n".join([f"def {name}({arguments}):", *head, *writer.lines, result]))

    def text(self) -> str:
        return "\n\n\n".join(self.parts) + "\n"
