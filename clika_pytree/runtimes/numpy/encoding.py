"""A graph as plain values that JSON can hold, and the arrays it captured."""

from __future__ import annotations

import numpy as np

from clika_pytree._native import PyTreeTypeError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, short_name

from .kinds import is_a
from .lines import place_text
from .lookup import path_of
from .sizes import Dim, Term
from .tape import CONSTANT, INPUT, Node, SizeTerm

if TYPE_CHECKING:
    from typing import Any

    from .graph import Graph
    from .tape import Op

__all__: list[str] = []

# Classes that a graph may speak of.
CLASSES: dict[str, type[Any]] = {cls.__name__: cls for cls in (bool, int, float, complex, str, bytes)}


class Writer:
    """Collects the captured arrays, and numbers the nodes in the order in which they are made."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self.constants: list[Any] = []
        self.numbers: dict[int, int] = {}  # by node that is made
        self.places: dict[int, int] = {}  # by captured node

    def graph(self, graph: Graph) -> dict[str, Any]:
        guards = graph.guards
        ops = [self.op(op) for op in graph.nodes]
        return {
            "tensors": [self.facts(node) for node in graph.inputs],
            "used": sorted(guards.facts),
            "sizes": [[index, axis] for index, axis in sorted(guards.sizes)],
            "conditions": [[self.expression(c.expression), c.value] for c in guards.conditions],
            "layouts": graph.layouts,
            "operations": ops,
            "results": [self.term(term) for term in graph.outputs],
            "constants": self.constants,
        }

    def op(self, op: Op) -> dict[str, Any]:
        path = path_of(op)
        if path is None or not all(how in ("ignore", "warn", "raise", "print") for how in op.errors.values()):
            raise PyTreeTypeError(
                f"the graph can't be saved: {op.name} at {place_text(*op.line)} is no function of numpy's that a file "
                "can name"
            )
        found = {
            "kind": op.kind,
            "name": path,
            "args": [self.term(arg) for arg in op.args],
            "kwargs": {key: self.term(value) for key, value in op.kwargs.items()},
            "writes": [self.node(node) for node in op.writes],
            "fresh": op.fresh,
            "errors": op.errors,
            "line": [place_text(*op.line).rpartition(":")[0], op.line[1]],
        }
        for node in op.outputs:
            self.numbers[id(node)] = len(self.numbers)
        return {**found, "made": self.made(op.made)}

    def made(self, made: Any) -> Any:
        """The results in the shape in which they are handed over."""
        if made is None or isinstance(made, Node):
            return made and self.facts(made)
        inner = [self.made(item) for item in made]
        return inner if class_of(made) is list else {"tuple": inner}

    def facts(self, node: Any) -> dict[str, Any]:
        cls: Any = node.type
        if cls is not np.ndarray and not issubclass(cls, np.generic):
            raise PyTreeTypeError(f"the graph can't be saved: it works on arrays of class {short_name(cls)}")
        return {
            "scalar": cls is not np.ndarray,
            "dtype": self.dtype(node.dtype),
            "shape": list(node.shape),
            "loose": node.loose,
        }

    def dtype(self, dtype: Any) -> str:
        if dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None:
            raise PyTreeTypeError(f"the graph can't be saved: it works on arrays of dtype {dtype}")
        return str(dtype.str)

    def node(self, node: Any) -> dict[str, int]:
        if node.kind == CONSTANT:
            return {"constant": self.constant(node)}
        return {"input": node.index} if node.kind == INPUT else {"made": self.numbers[id(node)]}

    def constant(self, node: Any) -> int:
        if id(node) not in self.places:
            self.constants.append(self.value(node.value))
            self.places[id(node)] = len(self.constants) - 1
        return self.places[id(node)]

    def value(self, value: Any) -> dict[str, Any]:
        cls = class_of(value)
        if cls is np.ndarray or issubclass(cls, np.generic):
            self.dtype(value.dtype)
            self.arrays.append(np.asarray(value))
            return {"array" if cls is np.ndarray else "scalar": len(self.arrays) - 1}
        if is_a(value, np.dtype):
            return {"dtype": self.dtype(value)}
        name: str = value.__name__ if is_a(value, type) else ""
        if name and (CLASSES.get(name) is value or vars(np).get(name) is value):
            return {"class": name}
        raise PyTreeTypeError(
            f"the graph can't be saved: it holds an object of class {short_name(cls)}, and a file can hold arrays, "
            "numbers and text"
        )

    def term(self, term: Any) -> Any:
        cls = class_of(term)
        if cls is Node:
            return self.node(term)
        if cls is SizeTerm:
            return {"size": self.expression(term.expression)}
        if cls in (list, tuple):
            inner = [self.term(item) for item in term]
            return inner if cls is list else {"tuple": inner}
        if cls is dict:
            return {"dict": [[self.term(key), self.term(value)] for key, value in term.items()]}
        if cls is slice:
            return {"slice": [self.term(part) for part in (term.start, term.stop, term.step)]}
        if cls is float:
            return {"float": term.hex()}
        if cls is complex:
            return {"complex": [term.real.hex(), term.imag.hex()]}
        if cls is bytes:
            return {"bytes": term.hex()}
        return {"dots": 3} if term is Ellipsis else term

    def expression(self, expression: Any) -> Any:
        if isinstance(expression, Dim):
            return {"axis": expression.axis, **self.node(expression.node)}
        if isinstance(expression, Term):
            return {"sign": expression.sign, "of": [self.expression(part) for part in expression.operands]}
        return self.term(expression)
