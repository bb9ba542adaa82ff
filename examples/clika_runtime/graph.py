"""Graphs: what a function of a list of tensors did, to be done again for others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from clika_pytree.runtimes.protocol import TensorGuards

from .tensor import Operator, Recording, Shape, StandIn, Tensor, compute, made, shape_of, tensor


class LazyGraph:
    """A graph for `compile`. It is lazy, too: what it gives is computed as a whole when somebody asks.

    The values of a run are its inputs, then what the function found elsewhere, then the results of the steps. A step is
    an operator and the places of its operands among these.
    """

    def __init__(
        self, flat_fn: Callable[[list[Any]], list[Any]], like: Sequence[Any], names: Iterable[str], dynamic: bool
    ) -> None:
        recording = Recording()
        inputs = [StandIn(tuple(x.shape), x.dtype, recording) for x in like]
        results = flat_fn([*inputs])
        order = leading_to(results, inputs)
        self.constants = [x for x in order if not isinstance(x, StandIn)]
        computed = [x for x in order if isinstance(x, StandIn)]
        place = {id(x): index for index, x in enumerate([*inputs, *self.constants, *computed])}
        self.steps: list[tuple[Any, list[int]]] = [(x.operator, [place[id(y)] for y in x.inputs]) for x in computed]
        self.results = [(place[id(x)], getattr(x, "dtype", None)) for x in results]
        self.names, self.nodes = [*names], len(self.steps)
        # A size that the function saw as a number may be anywhere in what it did.
        is_free = dynamic and not recording.sizes_are_used
        self.guards = TensorGuards(like, free=[(index, 0) for index, x in enumerate(inputs) if is_free and shape_of(x)])
        compute([x for x in self.constants if isinstance(x, Tensor)])

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        """The results for some tensors. One that is an input, or was there before, is itself."""
        given = [tensor(x) for x in tensors]
        there, shapes = [*given, *self.constants], self.shapes(given)
        whole = made((), object, Operator("graph", self.compute, lambda *shapes: ()), given)

        def result(place: int, dtype: Any) -> Any:
            if place < len(there):
                return there[place]
            operator = Operator(f"%{place - len(there)}", lambda arrays: arrays[place], lambda shape: shapes[place])
            return made(shapes[place], dtype, operator, [whole])

        return [result(place, dtype) for place, dtype in self.results]

    def shapes(self, given: Sequence[Tensor]) -> list[Shape]:
        """Those of all values."""
        shapes = [shape_of(x) for x in (*given, *self.constants)]
        for operator, operands in self.steps:
            shapes.append(operator.shape(*(shapes[place] for place in operands)))
        return shapes

    def compute(self, *arrays: Any) -> dict[int, Any]:
        """The results as arrays, by their places."""
        values = [*arrays, *(x.array if isinstance(x, Tensor) else x for x in self.constants)]
        for operator, operands in self.steps:
            values.append(operator.compute(*(values[place] for place in operands)))
        return {place: values[place] for place, _ in self.results}

    def text(self) -> str:
        """A line for each step."""
        shown = [*self.names, *(f"tensor{[*shape_of(x)]}" if isinstance(x, Tensor) else str(x) for x in self.constants)]
        lines = []
        for operator, operands in self.steps:
            lines.append(f"%{len(lines)} = {operator.name}({', '.join(shown[place] for place in operands)})")
            shown.append(f"%{len(lines) - 1}")
        return "\n".join([*lines, f"return {', '.join(shown[place] for place, _ in self.results)}"])


def leading_to(results: Iterable[Any], inputs: Iterable[StandIn]) -> list[Any]:
    """The results and all that leads to them from the inputs, operands first."""
    order: list[Any] = []
    agenda, seen = [*results][::-1], {*map(id, inputs)}
    while agenda:
        x = agenda[-1]
        waiting = [y for y in getattr(x, "inputs", ()) if id(y) not in seen] if isinstance(x, StandIn) else []
        if waiting and id(x) not in seen:
            agenda += waiting[::-1]
            continue
        agenda.pop()
        if id(x) not in seen:
            seen.add(id(x))
            order.append(x)
    return order


class TracedGraph(LazyGraph):
    """A graph for `trace`: with names, and on its own, so that it looks at what it is given."""

    def __init__(self, flat_fn: Any, like: Sequence[Any], names: Sequence[str], outputs: Sequence[str] | None) -> None:
        super().__init__(flat_fn, like, names, dynamic=True)
        self.inputs = self.names
        self.outputs = outputs or [f"result[{index}]" for index in range(len(self.results))]

    def run(self, tensors: Sequence[Any]) -> list[Any]:
        self.guards.check(tensors, self.names)
        return super().run(tensors)
