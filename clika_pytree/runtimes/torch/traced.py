"""A graph that stands by itself: what PyTorch exports of a function, with names for its inputs and results."""

from __future__ import annotations

import io
import json
import re

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.runtimes import archives
from clika_pytree.runtimes.protocol import TensorSpec
from clika_pytree.runtimes.traced import NamedGraph, names_of_results, split
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, short_name

from .host import describe, dtype_named, name_of
from .library import NEEDS_VALUE, Module, Tensor, torch
from .modules import modules_around
from .refusals import translated, user_line
from .sizes import free_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from typing import Any

    from clika_pytree.runtimes.protocol import FlatFn
    from clika_pytree.runtimes.traced import Constant

__all__: list[str] = []

EXTRA = "clika_pytree.json"
NO_NAME = re.compile(r"\W|^(?=\d)")


class TracedGraph(NamedGraph):
    """A graph of PyTorch for `trace`.

    Attributes:
        exported: What PyTorch exported.
        asked: What each input must be; a size that may be any is a `*`.
    """

    tensors = "tensors"

    def __init__(
        self,
        exported: Any,
        inputs: Sequence[str],
        outputs: Sequence[str],
        asked: Sequence[TensorSpec],
        results: Sequence[int | Constant],
    ) -> None:
        super().__init__(inputs, outputs, results)
        self.exported, self.asked = exported, [*asked]
        self._call: Callable[..., Any] = exported.module()

    def run(self, tensors: Sequence[Any], /) -> list[Any]:
        """The results for these tensors."""
        self.check_count(tensors)
        # Of another dtype PyTorch would compute something, and of a number it would not say which it was.
        refused = self.refusal(tensors)
        if refused is not None:
            raise refused
        given = [tensor if isinstance(tensor, Tensor) else torch.as_tensor(tensor) for tensor in tensors]
        try:
            computed = self._call(*given)
        except AssertionError as error:
            # What PyTorch says of sizes that it has found out more about than that they are free.
            if not str(error).startswith("Guard failed"):
                raise
            raise PyTreeValueError(
                f"the graph was traced for other sizes ({str(error).partition(': ')[2]}); trace the function again for "
                "such"
            ) from error
        return self.with_constants(computed)

    def refusal(self, tensors: Sequence[Any]) -> PyTreeTypeError | PyTreeValueError | None:
        """Why tensors are none that the graph was traced for."""
        for name, tensor, asked in zip(self.inputs, tensors, self.asked, strict=True):
            if not (hasattr(tensor, "shape") and hasattr(tensor, "dtype")):
                found = short_name(class_of(tensor))
                return PyTreeTypeError(f"the graph was traced for {asked} as {name}, got an object of class {found}")
            given = describe(tensor)
            text = f"the graph was traced for {asked} as {name}, got {given}; trace the function again for such"
            if given.dtype != asked.dtype or len(given.shape) != len(asked.shape):
                return PyTreeTypeError(text)
            if any(wanted not in ("*", size) for size, wanted in zip(given.shape, asked.shape, strict=True)):
                return PyTreeValueError(text)
        return None

    def text(self) -> str:
        """Its name for each input and result, then the program as PyTorch prints it."""
        program = self.exported.graph_module.print_readable(print_output=False)
        return f"{self.signature(self.asked)}\n{program}"

    def save(self, path: str | PathLike[str], /) -> None:
        """Write it to a file, which `torch.export.load` reads."""
        buffer = io.BytesIO()
        names = {"inputs": self.inputs, "outputs": self.outputs}
        torch.export.save(self.exported, buffer, extra_files={EXTRA: json.dumps(names)})
        archives.put(path, buffer.getvalue())


def refuse_to_load(path: str | PathLike[str]) -> PyTreeTypeError:
    return PyTreeTypeError(
        "PyTorch reads its graphs with pickle, which runs what a file says, so this is not done here: where you trust "
        f"the file, torch.export.load({str(path)!r}).module() is the graph"
    )


def trace(
    flat_fn: FlatFn, stand_ins: Sequence[Any], input_names: Sequence[str], output_names: Sequence[str] | None
) -> TracedGraph:
    """Export a function for tensors like these: for all sizes of first axes where that can be, else for these sizes."""
    given = [stand_in if isinstance(stand_in, Tensor) else like(stand_in) for stand_in in stand_ins]
    free = free_sizes(given)
    axes: list[dict[int, Any]] = [{} for _ in given]
    taken = {size for tensor in given for size in tensor.shape}
    for one in free:
        # PyTorch takes 0 and 1 for sizes of their own, whatever it is told.
        size = one.size if one.size > 1 else next(size for size in range(2, len(taken) + 3) if size not in taken)
        taken.add(size)
        for place in one.places:
            axes[place][0] = torch.export.Dim.AUTO
            given[place] = resized(given[place], size)
    places: list[int | Constant] = []

    def function(tensors: list[Any]) -> tuple[Any, ...]:
        places[:], computed = split(flat_fn(tensors))
        return tuple(computed)

    module = wrapper(function, input_names, modules_around(flat_fn))
    names = [*module.names]
    try:
        exported = torch.export.export(
            module, (*given,), dynamic_shapes=dict(zip(names, axes, strict=True)), strict=False
        )
    except NEEDS_VALUE as error:
        ours = translated(getattr(flat_fn, "__name__", "f"), error, (), user_line(error))
        raise (ours or error) from error
    outputs = names_of_results(output_names, len(places))
    return TracedGraph(exported, input_names, outputs, [*map(asked_of, user_inputs(exported))], places)


def like(stand_in: Any) -> Any:
    """A tensor like an object with a shape and a dtype; its elements are those that were there."""
    name = str(getattr(stand_in.dtype, "name", stand_in.dtype)).removeprefix("torch.")
    return torch.empty(tuple(stand_in.shape), dtype=dtype_named(name))


def resized(tensor: Any, size: int) -> Any:
    return tensor if tensor.shape[0] == size else tensor.new_empty((size, *tensor.shape[1:]))


def wrapper(function: Callable[[list[Any]], Any], names: Sequence[str], modules: dict[str, Any]) -> Any:
    """A module with an argument for each input, called as it is called; PyTorch takes the names from there."""
    taken: dict[str, None] = {}
    for name in names:
        plain = NO_NAME.sub("_", name)
        while plain in taken or plain == "self":
            plain += "_"
        taken[plain] = None
    listed = ", ".join(taken)
    scope: dict[str, Any] = {"function": function}
    exec(f"def forward(self{', ' if listed else ''}{listed}):\n    return function([{listed}])", scope)
    made: Any = type("Traced", (Module,), {"forward": scope["forward"], "names": tuple(taken)})()
    for index, module in enumerate(modules.values()):
        made.add_module(f"module{index}", module)
    return made


def user_inputs(exported: Any) -> list[Any]:
    """What stands for each input in the exported graph."""
    names = [*exported.graph_signature.user_inputs]
    nodes = {node.name: node for node in exported.graph.nodes if node.op == "placeholder"}
    return [nodes[name].meta["val"] for name in names]


def asked_of(value: Any) -> TensorSpec:
    sizes = tuple(size if class_of(size) is int else "*" for size in value.shape)
    return TensorSpec(name_of(value.dtype), sizes)
