"""The graph that a file describes. Whatever is in the file, the result is a graph of numpy's calls, or an error."""

from __future__ import annotations

import numpy as np

from clika_pytree.typing import TYPE_CHECKING

from . import sizes
from .encoding import CLASSES
from .graph import Graph, Names, unnamed
from .kinds import is_a
from .lookup import found
from .sizes import Dim, Term
from .tape import CONSTANT, INPUT, RESULT, Node, Op, SizeTerm, Tape

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__: list[str] = []

SIGNS = {1: {*sizes.UNARY.values()}, 2: {*sizes.BINARY.values(), *sizes.COMPARISONS.values()}}
ERRORS = {"divide", "over", "under", "invalid"}
MOST_AXES = 64


def checked(value: Any, cls: type[Any]) -> Any:
    if type(value) is not cls:
        raise ValueError(f"it has {value!r:.40} in the place of {cls.__name__}")
    return value


def item(held: list[Any], index: Any) -> Any:
    if not 0 <= checked(index, int) < len(held):
        raise ValueError(f"it speaks of number {index} of {len(held)}")
    return held[index]


class Reader:
    """Makes the nodes and operations again, as the recording made them."""

    def __init__(self, body: Any, array: Callable[[int], Any]) -> None:
        self.body, self.array = checked(body, dict), array
        self.made: list[Node] = []

    def names(self, key: str) -> list[str]:
        return [checked(name, str) for name in self.part(key)]

    def part(self, key: str) -> list[Any]:
        return checked(self.body.get(key), list)  # type: ignore[no-any-return]

    def graph(self) -> Graph:
        stand_ins = [self.stand_in(facts) for facts in self.part("tensors")]
        outputs = self.names("outputs")
        names = Names(self.names("inputs"), None if outputs == unnamed(len(outputs)) else outputs)
        if len(names.inputs) != len(stand_ins) or len(self.part("results")) != len(self.part("outputs")):
            raise ValueError("it has not as many names as inputs and results")
        self.tape = Tape(stand_ins, None, True)
        self.tape.strict = True
        for node, name in zip(self.tape.inputs, names.inputs, strict=True):
            node.name = name
        self.constants = [self.constant(index, value) for index, value in enumerate(self.part("constants"))]
        self.tape.constants = dict(enumerate(self.constants))
        for entry in self.part("operations"):
            self.tape.ops.append(self.op(checked(entry, dict)))
        self.tape.used = {item(self.tape.inputs, index).index for index in self.part("used")}
        for index, axis in self.part("sizes"):
            node = item(self.tape.inputs, index)
            self.tape.forced[index, axis] = item([*node.shape], axis)
        self.tape.conditions = [(self.expression(e), value) for e, value in self.part("conditions")]
        if any(dim.node.kind != INPUT for e, _ in self.tape.conditions for dim in sizes.dims_in(e)):
            raise ValueError("it has a condition on what is no input")
        layouts = [checked(layout, str) for layout in self.part("layouts")]
        if len(layouts) != len(stand_ins):
            raise ValueError("it has not as many layouts as inputs")
        return Graph(self.tape, [self.term(term) for term in self.part("results")], layouts, names)

    def stand_in(self, facts: Any) -> Any:
        """An array, or scalar, of this dtype and shape that takes no memory."""
        dtype = self.dtype(checked(facts, dict).get("dtype"))
        shape = [checked(size, int) for size in checked(facts.get("shape"), list)]
        if min(shape, default=0) < 0 or len(shape) > MOST_AXES:
            raise ValueError(f"it has an array of shape {shape}")
        zero = np.zeros((), dtype)
        return zero[()] if checked(facts.get("scalar"), bool) else np.broadcast_to(zero, shape)

    def dtype(self, text: Any) -> Any:
        dtype: Any = np.dtype(checked(text, str))
        if dtype.hasobject or dtype.fields is not None or dtype.subdtype is not None:
            raise ValueError(f"it has an array of dtype {text}")
        return dtype

    def op(self, entry: dict[str, Any]) -> Op:
        kind, name = checked(entry.get("kind"), str), checked(entry.get("name"), str)
        args = tuple(self.term(arg) for arg in checked(entry.get("args"), list))
        kwargs = {checked(key, str): self.term(value) for key, value in checked(entry.get("kwargs"), dict).items()}
        call = found(kind, name, len(args))
        if call is None or not all(key.isidentifier() for key in kwargs) or (kwargs and kind not in WITH_NAMES):
            raise ValueError(f"it calls {name!r:.60}, which is no function that a graph can call")
        if not args or (kind in COUNTS and len(args) != COUNTS[kind]):
            raise ValueError(f"it calls {name!r:.60} with {len(args)} arguments")
        file, line = checked(entry.get("line"), list)
        op = Op(kind, name, call, args, kwargs, (checked(file, str), checked(line, int)))
        op.fresh = checked(entry.get("fresh"), bool)
        op.errors = {key: checked(how, str) for key, how in checked(entry.get("errors"), dict).items()}
        if not (op.errors.keys() <= ERRORS and {*op.errors.values()} <= {"ignore", "warn", "raise", "print"}):
            raise ValueError(f"it handles errors by {op.errors}")
        op.writes = [self.node(node) for node in checked(entry.get("writes"), list)]
        op.made = self.results(op, entry.get("made"))
        self.tape.connect(op)
        return op

    def results(self, op: Op, made: Any) -> Any:
        if made is None:
            return None
        if is_a(made, list):
            return [self.results(op, part) for part in made]
        if "tuple" in checked(made, dict):
            return tuple(self.results(op, part) for part in checked(made["tuple"], list))
        node = Node(RESULT, len(self.made), self.stand_in(made))
        node.fresh, node.loose = op.fresh, checked(made.get("loose"), bool)
        self.made.append(node)
        op.outputs.append(node)
        return node

    def constant(self, index: int, value: Any) -> Node:
        (key, held), *rest = checked(value, dict).items()
        if rest or key not in ("array", "scalar", "dtype", "class"):
            raise ValueError(f"it has a constant {value!r:.40}")
        if key == "dtype":
            return Node(CONSTANT, index, self.dtype(held))
        if key == "class":
            cls: Any = CLASSES.get(checked(held, str)) or vars(np).get(held)
            if not is_a(cls, type) or (held not in CLASSES and not issubclass(cls, np.generic)):
                raise ValueError(f"it has a class {held!r:.40}")
            return Node(CONSTANT, index, cls)
        array = self.array(checked(held, int))
        self.dtype(array.dtype.str)
        return Node(CONSTANT, index, array if key == "array" else array[()])

    def node(self, value: Any) -> Node:
        value = checked(value, dict)
        for key, held in (("input", self.tape.inputs), ("made", self.made), ("constant", self.constants)):
            if key in value:
                return item(held, value[key])  # type: ignore[no-any-return]
        raise ValueError(f"it has {value!r:.40} in the place of a tensor")

    def term(self, term: Any) -> Any:
        if is_a(term, list):
            return [self.term(part) for part in term]
        if not is_a(term, dict):
            return term
        key = next(iter(term), None)
        held = term.get(key)
        if key == "size":
            return SizeTerm(self.expression(held))
        if key == "tuple":
            return tuple(self.term(part) for part in checked(held, list))
        if key == "dict":
            return {self.term(name): self.term(part) for name, part in checked(held, list)}
        if key == "slice":
            return slice(*(self.term(part) for part in checked(held, list)))
        if key == "float":
            return float.fromhex(checked(held, str))
        if key == "complex":
            return complex(*(float.fromhex(part) for part in checked(held, list)))
        if key == "bytes":
            return bytes.fromhex(checked(held, str))
        return Ellipsis if key == "dots" else self.node(term)

    def expression(self, value: Any) -> Any:
        if is_a(value, dict) and "sign" in value:
            parts = [self.expression(part) for part in checked(value.get("of"), list)]
            if value["sign"] not in SIGNS.get(len(parts), ()):
                raise ValueError(f"it computes a size with {value['sign']!r:.20}")
            return Term(value["sign"], *parts)
        if is_a(value, dict) and "axis" in value:
            node = self.node(value)
            item([*node.shape], value["axis"])
            return Dim(node, value["axis"])
        number = self.term(value)
        if type(number) not in (bool, int, float):
            raise ValueError(f"it computes a size with {value!r:.40}")
        return number


WITH_NAMES = ("ufunc", "ufunc method", "function", "method")
COUNTS = {"item": 2, "store": 3, "attribute": 1, "in place": 2}
