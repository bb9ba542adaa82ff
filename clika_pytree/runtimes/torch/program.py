"""A compiled function of a flat list of tensors."""

from __future__ import annotations

from clika_pytree.runtimes.free_sizes import Guards
from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING

from .library import Tensor, check_version, count_of_modes, current_level, torch
from .modules import Places, conditions, modules_around
from .recording import Held, Recording
from .refusals import translated
from .sizes import Marked, free_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clika_pytree.runtimes.free_sizes import Free
    from clika_pytree.runtimes.protocol import FlatFn
    from clika_pytree.runtimes.results import Recipe

__all__: list[str] = []

OWN_GUARDS = ("_pytree", "__builtins_dict__")


class Program:
    """A graph: a function of a list of tensors that `torch.compile` compiled, once for each kind that it tells apart.

    Attributes:
        guards: What its inputs must be.
    """

    def __init__(
        self,
        flat_fn: FlatFn,
        names: Sequence[str],
        arrays: Sequence[int],
        free: Sequence[Free],
        modules: dict[str, Any],
        settings: dict[str, Any],
    ) -> None:
        self.flat_fn, self.names, self.arrays = flat_fn, [*names], [*arrays]
        self.free, self.settings = [*free], {**settings}
        self.places, self.held = Places(modules), list[Held]()
        self.guards: Guards | None = None
        self.compile()

    def compile(self) -> None:
        """Have the function compiled at the next call, with the tensors that it is known to hold."""
        self.recording = Recording(self.flat_fn, self.names, self.places, self.held, self.free)
        settings = self.settings
        if settings.get("mode") is None:  # PyTorch takes either
            settings = {**settings, "options": {"guard_filter_fn": without_own, **settings.get("options", {})}}
        self.compiled = torch.compile(self.recording.function(), **settings)
        self.recipes, self.is_direct = self.recording.recipes, not self.arrays and not self.held

    @property
    def nodes(self) -> int:
        """How many operations of PyTorch the function calls."""
        return len(self.recording.lines)

    def text(self) -> str:
        """What the function calls of PyTorch, a line for each operation."""
        return "\n".join(self.recording.lines)

    def run(self, tensors: Sequence[Any], /) -> list[Any]:
        """The results for these tensors."""
        if current_level() is not None or count_of_modes():  # is_transforming(), in place
            return self.flat_fn([*tensors])
        given = tensors if self.is_direct else self.inputs(tensors)
        try:
            computed, number = self.compiled(given)
        except Exception as error:
            given, computed, number = self.run_again(error, tensors)
        recipe: Recipe = self.recipes[number]
        if recipe.is_plain:
            return computed  # type: ignore[no-any-return]
        # An array of numpy comes back as itself, and not as the tensor made of it.
        return recipe.build([*tensors, *given[len(tensors) :]], computed)

    def run_again(self, error: Exception, tensors: Sequence[Any]) -> tuple[Sequence[Any], list[Any], int]:
        """What a call gives once PyTorch knows the sizes that are free, and all tensors that the function holds."""
        is_marked = False
        while True:
            if not (self.recording.is_unmarked and not is_marked) and not self.lifted():
                reason = self.reason(error)
                raise reason from (self.recording.error if isinstance(reason, RecordingError) else reason.__cause__)
            is_marked = True
            if self.guards is None:
                vars(self.flat_fn)["restart"]()
            given = self.inputs(tensors)
            try:
                with Marked(given, self.free):
                    return given, *self.compiled(given)
            except Exception as raised:
                error = raised

    def inputs(self, tensors: Sequence[Any]) -> list[Any]:
        """The tensors that PyTorch gets: with those of numpy as its own, and with those that the function holds."""
        given = with_arrays(tensors, self.arrays) if self.arrays else [*tensors]
        return given + [held.now() for held in self.held]

    def lifted(self) -> bool:
        """Whether the trace has found that the function holds more tensors, which then are inputs, too."""
        known = {id(held.now()) for held in self.held}
        missing = [tensor for key, tensor in self.recording.missing.items() if key not in known]
        if not missing:
            return False
        self.held += [Held(tensor, self.places) for tensor in missing]
        self.compile()
        return True

    def reason(self, error: Exception) -> Exception:
        """What the function itself raised while it was traced, rather than what PyTorch made of that."""
        raised = self.recording.error
        if raised is None:
            return error
        return translated(self.flat_fn.__name__, raised, self.recording.needed, self.recording.line) or raised


def without_own(entries: Sequence[Any]) -> list[bool]:
    """Which guards PyTorch keeps: not the dozens on its own functions for trees, which a trace goes through."""
    return [not any(part in str(entry.name) for part in OWN_GUARDS) for entry in entries]


def with_arrays(tensors: Sequence[Any], arrays: Sequence[int]) -> list[Any]:
    """The tensors with those of PyTorch in the place of those of numpy, over the same memory where that can be."""
    given = [*tensors]
    devices = {tensor.device for tensor in tensors if isinstance(tensor, Tensor)}
    device = devices.pop() if len(devices) == 1 else None
    for place in arrays:
        array = given[place]
        if any(stride < 0 for stride in array.strides) or not array.flags.writeable or not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="), copy=True)
        given[place] = torch.as_tensor(array, device=device)
    return given


def compiled(
    flat_fn: FlatFn, tensors: Sequence[Any], dynamic: bool, names: Sequence[str], settings: dict[str, Any]
) -> tuple[list[Any], Program]:
    """Compile a function for tensors like these: for all sizes of first axes where that can be, else for these."""
    check_version()
    modules = modules_around(flat_fn)
    arrays = [index for index, tensor in enumerate(tensors) if not isinstance(tensor, Tensor)]
    places: dict[tuple[int, int], str] = {}

    def finished(program: Program, free: list[Free]) -> tuple[list[Any], Program]:
        results = program.run(tensors)
        program.guards = Guards(tensors, free, places, conditions(flat_fn, modules))
        return results, program

    free = free_sizes(tensors) if dynamic else []
    if free:
        program = Program(flat_fn, names, arrays, free, modules, settings)
        try:
            return finished(program, free)
        except Exception:
            # Where the error is not about sizes, it comes again without any that is free.
            file, line = program.recording.line
            if line:
                places |= {(index, 0): f"{file}:{line}" for one in free for index in one.places}
            vars(flat_fn)["restart"]()
    return finished(Program(flat_fn, names, arrays, [], modules, settings), [])
