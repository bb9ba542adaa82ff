"""A graph that stands by itself: what MLX exports of a function, with names for its inputs and results."""

from __future__ import annotations

import os
import tempfile

from clika_pytree.runtimes.protocol import TensorGuards, TensorSpec
from clika_pytree.runtimes.traced import NamedGraph, names_of_results, split
from clika_pytree.typing import TYPE_CHECKING

from .host import as_array, describe
from .library import DTYPES, Array, dtype_name, mx
from .program import staged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from typing import Any

    from clika_pytree.runtimes.protocol import FlatFn
    from clika_pytree.runtimes.traced import Constant

__all__: list[str] = []


class TracedGraph(NamedGraph):
    """A graph of MLX for `trace`, for the sizes that it was traced for.

    Attributes:
        exported: The bytes that MLX exported.
        specs: What its inputs must be.
    """

    def __init__(
        self,
        exported: bytes,
        specs: Sequence[TensorSpec],
        inputs: Sequence[str],
        outputs: Sequence[str],
        results: Sequence[int | Constant],
        program: str,
    ) -> None:
        super().__init__(inputs, outputs, results)
        self.exported, self.specs, self.program = exported, [*specs], program
        self._call: Any = imported(exported)
        self._guards = TensorGuards([mx.zeros(spec.shape, DTYPES[spec.dtype]) for spec in specs])

    def run(self, tensors: Sequence[Any], /) -> list[Any]:
        """The results for these arrays."""
        self.check_count(tensors)
        arrays = [as_array(tensor) for tensor in tensors]
        self._guards.check(arrays, self.inputs)
        computed = self._call(*arrays)
        return self.with_constants(computed)

    def text(self) -> str:
        """Its name for each input and result, then a line for each step, with MLX's names."""
        return f"{self.signature(self.specs)}\n{self.program}"

    def save(self, path: str | PathLike[str], /) -> None:
        """Write it to a file, which `files.load` reads."""
        from .files import save

        save(self, path)


def trace(
    flat_fn: FlatFn, stand_ins: Sequence[Any], input_names: Sequence[str], output_names: Sequence[str] | None
) -> TracedGraph:
    """Trace a function for arrays like these."""
    places: list[int | Constant] = []

    def finish(results: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        places[:], computed = split(results)
        return [as_array(result) for result in computed]

    specs = [describe(stand_in) for stand_in in stand_ins]
    arrays = [
        stand_in if isinstance(stand_in, Array) else mx.zeros(spec.shape, DTYPES[spec.dtype])
        for stand_in, spec in zip(stand_ins, specs, strict=True)
    ]
    function = staged(flat_fn, finish)
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "graph.mlxfn")
        mx.export_function(place, flat(function), *arrays)
        with open(place, "rb") as file:
            exported = file.read()
    # The function as it was traced, not traced again: what it does beside computing happens once.
    call = imported(exported)
    steps: list[Any] = []
    mx.export_function(steps.append, flat(lambda arrays: [*call(*arrays)]), *arrays)
    names = names_of_results(output_names, len(places))
    return TracedGraph(exported, specs, input_names, names, places, program_text(steps))


def flat(function: Callable[[list[Any]], list[Any]]) -> Any:
    """The function with an argument for each array."""

    def of_arrays(*arrays: Any) -> list[Any]:
        return function([*arrays])

    return of_arrays


def imported(exported: bytes) -> Any:
    """The function that MLX exported."""
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "graph.mlxfn")
        with open(place, "wb") as file:
            file.write(exported)
        return mx.import_function(place)


def program_text(steps: Sequence[Any]) -> str:
    """A line for what goes in, for each step, and for what comes out, as MLX lists them."""
    lines, last = list[str](), ""
    for step in steps:
        if step["type"] == "primitive":
            arguments = [array[0] for array in step["inputs"]] + [str(argument) for argument in step["arguments"]]
            results = ", ".join(shown(array) for array in step["outputs"])
            lines.append(f"{results} = {step['name']}({', '.join(arguments)})")
        elif step["type"] == "constants":
            lines += [f"{shown((name, value.shape, value.dtype))} = constant" for name, value in step["constants"]]
        elif step["type"] == "inputs":
            lines.insert(0, f"inputs {', '.join(shown(array) for array in step['inputs'])}")
        elif step["type"] == "outputs":
            last = f"return {', '.join(array[0] for array in step['outputs'])}"
    return "\n".join([*lines, last])


def shown(array: Any) -> str:
    name, shape, dtype = array
    return f"{name}: {TensorSpec(dtype_name(dtype), tuple(shape))}"
