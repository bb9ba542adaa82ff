"""The graph: what is left of a recording once what nobody needs is dropped, and the function that runs it."""

from __future__ import annotations

import builtins
import functools
import keyword
import linecache
import re
import weakref

import numpy as np

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import counted

from .dims import layout_class
from .lines import GRAPH
from .needed import needed_ops
from .sizes import Size, size_text
from .source import Source
from .tape import Node, SizeTerm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .tape import Tape

__all__: list[str] = []


class Fact:
    """What a graph takes for granted of one input: class, dtype, number of axes; layout where it matters, else None."""

    __slots__ = ("dtype", "layout", "ndim", "type")

    def __init__(self, node: Node, layout: str | None) -> None:
        self.type, self.dtype, self.ndim, self.layout = node.type, node.dtype, node.ndim, layout

    def holds(self, tensor: Any) -> bool:
        return (
            type(tensor) is self.type
            and tensor.dtype == self.dtype
            and tensor.ndim == self.ndim
            and (self.layout is None or layout_class(tensor) == self.layout)
        )

    def is_for(self, tensor: Any) -> bool:
        """Whether it would hold of an array of any layout, or of what stands for one."""
        return tensor.__class__ is self.type and tensor.dtype == self.dtype and tensor.ndim == self.ndim

    def __repr__(self) -> str:
        layout = f", layout {self.layout}" if self.layout else ""
        return f"{self.type.__name__} of {self.dtype}, {self.ndim} {'axis' if self.ndim == 1 else 'axes'}{layout}"


class Condition:
    """A size expression that the code forced, and the value it had."""

    __slots__ = ("expression", "function", "text", "value")

    def __init__(self, expression: Any, value: Any) -> None:
        self.expression, self.value = expression, value
        self.text = size_text(expression, lambda node: node.name)
        source = size_text(expression, lambda node: f"x[{node.index}]")
        self.function: Callable[[Sequence[Any]], Any] = eval(f"lambda x: {source}")  # of numbers, signs and our names

    def __repr__(self) -> str:
        return f"{self.text} == {self.value!r}"


class Guards:
    """Which inputs a graph is right for. An input without a fact is only handed on."""

    __slots__ = ("conditions", "facts", "places", "sizes")

    def __init__(
        self,
        facts: dict[int, Fact],
        sizes: dict[tuple[int, int], int],
        conditions: list[Condition],
        places: dict[tuple[int, int], str],
    ) -> None:
        self.facts, self.sizes, self.conditions, self.places = facts, sizes, conditions, places

    def hold(self, tensors: Sequence[Any]) -> bool:
        return (
            all(fact.holds(tensors[index]) for index, fact in self.facts.items())
            and all(tensors[index].shape[axis] == size for (index, axis), size in self.sizes.items())
            and all(condition.function(tensors) == condition.value for condition in self.conditions)
        )

    def __repr__(self) -> str:
        lines = [f"x{index}: {fact!r}" for index, fact in sorted(self.facts.items())]
        lines += [f"x{index}.shape[{axis}] == {size}" for (index, axis), size in sorted(self.sizes.items())]
        return "\n".join(lines + [repr(condition) for condition in self.conditions])


class Names:
    """What the inputs of a graph are called in its source, and its results in a comment."""

    def __init__(self, inputs: Sequence[str], outputs: Sequence[str] | None) -> None:
        self.outputs = outputs
        self.inputs: list[str] = []
        for index, name in enumerate(inputs):
            usable = name.isidentifier() and not (keyword.iskeyword(name) or hasattr(builtins, name))
            chosen = name if usable and not TAKEN.fullmatch(name) else f"x{index}"
            while chosen in self.inputs:
                chosen += "_"
            self.inputs.append(chosen)


def unnamed(count: int) -> list[str]:
    """What results without names are called."""
    return [f"result[{index}]" for index in range(count)]


# The names that the source has for other things.
TAKEN = re.compile(r"np|plain|graph|tensors|rows|take|give|in_rows|collected|filled|[nki]|[vc][0-9]+|n_?[0-9].*|.*_k")


class Graph:
    """A recorded function of a list of arrays.

    `run(tensors)` computes, `text()` is the Python source it runs, `guards` says which inputs it is right for (which
    `run` takes for granted), `nodes` are the operations that are left.
    """

    def __init__(self, tape: Tape, outputs: list[Any], layouts: list[str], names: Names | None = None) -> None:
        self.inputs, self.layouts, self.names = tape.inputs, layouts, names
        self.constants = list(tape.constants.values())
        self.outputs = outputs
        self.nodes = needed_ops(tape.ops, outputs, dynamic=tape.dynamic, strict=tape.strict)
        source = Source(self, layouts)
        self._text = source.text()
        guarded = source.needs_layout if names is None else set[int]()
        facts = {index: Fact(tape.inputs[index], "C" if index in guarded else None) for index in sorted(tape.used)}
        sizes = tape.forced if tape.dynamic else all_sizes(tape)
        self.guards = Guards(facts, sizes, [Condition(e, value) for e, value in tape.conditions], tape.places)
        file = f"{GRAPH}{id(self):x}>"  # where a traceback looks for the source
        linecache.cache[file] = (len(self._text), None, self._text.splitlines(True), file)
        weakref.finalize(self, linecache.cache.pop, file, None).atexit = False
        self.run: Callable[[Sequence[Any]], list[Any]] = made_function(source, file)

    @functools.cached_property
    def run_as_part(self) -> Callable[[Sequence[Any]], list[Any]]:
        """What does the same over stand-ins of another recording, of which it becomes a part."""
        run: Callable[[Sequence[Any]], list[Any]] = made_function(
            Source(self, self.layouts, fused=False), f"{GRAPH}as a part>"
        )
        return run

    def text(self) -> str:
        """The source of the function that runs."""
        return self._text

    def __repr__(self) -> str:
        inputs, operations = counted(len(self.inputs), "input"), counted(len(self.nodes), "operation")
        return f"<graph of {inputs}, {operations}, {counted(len(self.outputs), 'result')}>"


def made_function(source: Source, file: str) -> Any:
    """The function that a generated source defines."""
    space = {"np": np, **source.names}
    exec(compile(source.text(), file, "exec"), space)
    return space["graph"]


def all_sizes(tape: Tape) -> dict[tuple[int, int], int]:
    shapes = ((index, tape.inputs[index].shape) for index in sorted(tape.used))
    return {(index, axis): size for index, shape in shapes for axis, size in enumerate(shape)}


def output_term(tape: Tape, value: Any) -> Any:
    """A result as the graph keeps it."""
    from .array import Recorded

    if type(value) is Node:
        return value
    if type(value) is Recorded:
        tape.check_open()
        if value.traced_tape is not tape:
            return tape.term(value)
        return value.traced_node
    return SizeTerm(value.expression) if type(value) is Size else tape.term(value)
