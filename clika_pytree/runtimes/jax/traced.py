"""A graph that stands by itself: what JAX exports of a function, with names for its inputs and results."""

from __future__ import annotations

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.runtimes.protocol import TensorSpec
from clika_pytree.runtimes.traced import NamedGraph, names_of_results, split
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, short_name

from .host import describe
from .library import jax
from .program import staged
from .sizes import exported_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from typing import Any

    from clika_pytree.runtimes.protocol import FlatFn
    from clika_pytree.runtimes.traced import Constant

__all__: list[str] = []


class TracedGraph(NamedGraph):
    """A graph of JAX for `trace`.

    Attributes:
        exported: What JAX exported.
    """

    def __init__(
        self,
        exported: Any,
        inputs: Sequence[str],
        outputs: Sequence[str],
        results: Sequence[int | Constant],
        program: str,
    ) -> None:
        super().__init__(inputs, outputs, results)
        self.exported, self.program = exported, program
        self._call = jax.jit(exported.call)

    def run(self, tensors: Sequence[Any], /) -> list[Any]:
        """The results for these arrays."""
        self.check_count(tensors)
        try:
            computed = self._call([*tensors])
        except Exception as error:
            refused = self.refusal(tensors)
            if refused is None:
                raise
            raise refused from error
        return self.with_constants(computed)

    def refusal(self, tensors: Sequence[Any]) -> PyTreeTypeError | PyTreeValueError | None:
        """Why arrays are none that the graph was traced for."""
        sizes: dict[str, tuple[str, int]] = {}
        for name, tensor, aval in zip(self.inputs, tensors, self.exported.in_avals, strict=True):
            asked = TensorSpec(str(aval.dtype), tuple(size if is_fixed(size) else "*" for size in aval.shape))
            if not (hasattr(tensor, "shape") and hasattr(tensor, "dtype")):
                found = short_name(class_of(tensor))
                return PyTreeTypeError(f"the graph was traced for {asked} as {name}, got an object of class {found}")
            given = describe(tensor)
            text = f"the graph was traced for {asked} as {name}, got {given}; trace the function again for such"
            if given.dtype != asked.dtype or len(given.shape) != len(asked.shape):
                return PyTreeTypeError(text)
            for axis, (size, wanted) in enumerate(zip(given.shape, aval.shape, strict=True)):
                if is_fixed(wanted):
                    if size != wanted:
                        return PyTreeValueError(text)
                    continue
                place = f"{name}.shape[{axis}]"
                other, known = sizes.setdefault(str(wanted), (place, size))
                if size != known:
                    return PyTreeValueError(
                        f"the graph was traced for {other} and {place} as one size, got {known} and {size}; trace the "
                        "function again for such"
                    )
        return None

    def text(self) -> str:
        """Its name for each input and result, then the program as JAX prints it."""
        specs = [TensorSpec(str(aval.dtype), aval.shape) for aval in self.exported.in_avals]
        return f"{self.signature(specs)}\n{self.program}"

    def save(self, path: str | PathLike[str], /) -> None:
        """Write it to a file, which `files.load` reads."""
        from .files import save

        save(self, path)


def is_fixed(size: Any) -> bool:
    return class_of(size) is int


def trace(
    flat_fn: FlatFn, stand_ins: Sequence[Any], input_names: Sequence[str], output_names: Sequence[str] | None
) -> TracedGraph:
    """Trace a function for arrays like these: for all sizes of first axes where that can be, else for these sizes."""
    places: list[int | Constant] = []

    def finish(results: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        places[:], computed = split(results)
        return computed

    for stand_in in stand_ins:
        describe(stand_in)
    exported, jaxpr = exported_for(staged(flat_fn, input_names, finish), stand_ins)
    names = names_of_results(output_names, len(places))
    return TracedGraph(exported, input_names, names, places, str(jaxpr))
