"""What PyTorch traces: a function of one list of tensors, in which no tensor of another call is left.

`torch.compile` calls the function as it is (`nonstrict_trace`), with tensors that have no elements, once to see what it
gives and once or twice more to compile it. Python runs it, so its classes, its trees and its native code are its own.
"""

from __future__ import annotations

import types

from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.runtimes.results import Recipe
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, shorten

from .library import NoElements, Traced, is_real, overrides, torch
from .modules import Places, lent
from .refusals import user_line
from .results import is_computed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from clika_pytree.runtimes.free_sizes import Free
    from clika_pytree.runtimes.protocol import FlatFn

__all__: list[str] = []

LONGEST_VALUE = 40
# What asks for the elements of a tensor without a value of its own in between.
ELEMENTS = ("numpy", "__array__")


class Again(Exception):
    """The trace has to begin again, as inputs have sizes that should be free, or tensors have to become inputs."""


class Held:
    """A tensor that the function uses and does not get: of a module, read where it is kept, or captured."""

    __slots__ = ("keeper", "key", "name", "tensor")

    def __init__(self, tensor: Any, places: Places) -> None:
        keeper, self.key, self.name = places.of.get(id(tensor), (None, "", "a captured tensor"))
        self.keeper: dict[str, Any] | None = keeper
        self.tensor = tensor

    def now(self) -> Any:
        return self.tensor if self.keeper is None else self.keeper.get(self.key)


class Substitution(overrides.TorchFunctionMode):  # type: ignore[misc]
    """Puts what stands for a tensor into the place of the tensor itself, wherever an operation is given that.

    Attributes:
        lines: The operations, as text.
    """

    def __init__(self, recording: Recording, stand_ins: dict[int, Any], names: dict[int, str], is_first: bool) -> None:
        self.recording, self.stand_ins, self.names, self.is_first = recording, stand_ins, names, is_first
        self.origins: dict[int, tuple[str, ...]] = {key: (name,) for key, name in names.items()}
        self.results: list[Any] = []  # held, so that no address comes again
        self.lines: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given: Any = self.replaced(args)
        named: Any = self.replaced(kwargs or {})
        if self.is_first:
            self.recording.needed = self.origin((given, named))
        if getattr(func, "__name__", "") in ELEMENTS and any(isinstance(x, Traced) for x in tensors_in(given)):
            raise NoElements(f"a tensor has no elements for {func.__name__}() while it is traced")
        try:
            result = func(*given, **named)
        except Exception:
            self.recording.needed = self.origin((given, named)) or self.recording.needed
            raise
        if self.is_first and getattr(func, "__name__", "") != "__get__":
            self.add(func, given, named, result)
        return result

    def replaced(self, given: Any) -> Any:
        if isinstance(given, torch.Tensor):
            if isinstance(given, Traced):
                return given
            found = self.stand_ins.get(id(given), lent.get(id(given)))
            if found is None and self.is_first and is_real(given):
                found = self.lend(given)
            return given if found is None else found
        if class_of(given) is list:
            return [*map(self.replaced, given)]
        if class_of(given) is tuple:
            return (*map(self.replaced, given),)
        if class_of(given) is dict:
            return {key: self.replaced(value) for key, value in given.items()}
        return given

    def lend(self, given: Any) -> Any:
        """What stands for a tensor that has to become an input until it is one: nothing is written into the tensor."""
        self.recording.missing[id(given)] = given
        mode = torch._guards.detect_fake_mode()
        if mode is None:
            raise Again
        self.stand_ins[id(given)] = made = mode.from_tensor(given, static_shapes=True)
        return made

    def origin(self, given: Any) -> tuple[str, ...]:
        """The inputs that something follows from."""
        found = (self.origins.get(id(tensor), ()) for tensor in tensors_in(given))
        return tuple(dict.fromkeys(name for names in found for name in names))

    def add(self, func: Any, given: Any, named: Any, result: Any) -> None:
        made = [*tensors_in(result)]
        origin = self.origin((given, named))
        texts = [*map(self.text, given), *(f"{key}={self.text(value)}" for key, value in named.items())]
        for tensor in made:
            self.results.append(tensor)
            self.origins[id(tensor)] = origin
            self.names.setdefault(id(tensor), f"v{len(self.results) - 1}")
        left = ", ".join(self.names[id(tensor)] for tensor in made)
        right = f"{getattr(func, '__name__', func)}({', '.join(texts)})"
        self.lines.append(f"{left} = {right}" if left else right)

    def text(self, value: Any) -> str:
        if isinstance(value, torch.Tensor):
            return self.names.get(id(value), "?")
        if class_of(value) in (list, tuple):
            return f"[{', '.join(map(self.text, value))}]"
        return shorten(repr(value), LONGEST_VALUE)


def tensors_in(given: Any) -> Iterator[Any]:
    if isinstance(given, torch.Tensor):
        yield given
    elif issubclass(class_of(given), (list, tuple)):
        for item in given:
            yield from tensors_in(item)
    elif class_of(given) is dict:
        yield from tensors_in([*given.values()])


class Recording:
    """A function on its way to `torch.compile`.

    Attributes:
        held: The tensors that it uses beside its inputs; they come after these in the list.
        missing: Those that it uses, too, and that have to become inputs.
        is_unmarked: Whether PyTorch took for numbers what should be free sizes.
        recipes: How the results of each trace are made from what it computes.
        lines: The operations of the last trace, as text.
        error: What the function raised while it was traced, and at which line.
        needed: The inputs that the last operation was about.
    """

    def __init__(
        self, flat_fn: FlatFn, names: Sequence[str], places: Places, held: Sequence[Held], free: Sequence[Free]
    ) -> None:
        self.flat_fn, self.names, self.places, self.held, self.free = flat_fn, names, places, [*held], free
        self.missing: dict[int, Any] = {}
        self.recipes: list[Recipe] = []
        self.lines: list[str] = []
        self.is_first = self.is_unmarked = False
        self.error: Exception | None = None
        self.line = ("", 0)
        self.needed: tuple[str, ...] = ()

    def function(self) -> Any:
        """What `torch.compile` is given. Its code is its own, as PyTorch keeps what it compiles by that."""
        name = self.flat_fn.__name__

        def begin() -> int:
            self.is_first, self.is_unmarked, self.error, self.needed = True, False, None, ()
            return 0

        def number() -> int:
            return len(self.recipes) - 1

        def trace(tensors: list[Any]) -> list[Any]:
            return self.trace(tensors)

        trace.__name__ = name
        parts = (torch.compiler.assume_constant_result(begin), torch.compiler.nonstrict_trace(trace))
        template: Any = frame_of(*parts, torch.compiler.assume_constant_result(number))
        code = template.__code__.replace(co_name=name)
        return types.FunctionType(code, template.__globals__, name, None, template.__closure__)

    def trace(self, tensors: list[Any]) -> list[Any]:
        """Run the function over what stands for its tensors; what is to be computed."""
        inputs, others = tensors[: len(self.names)], tensors[len(self.names) :]
        stand_ins = {id(held.now()): other for held, other in zip(self.held, others, strict=True)}
        names = (*self.names, *(held.name for held in self.held))
        is_first, self.is_first = self.is_first, False
        if is_first:
            sizes = (inputs[place].shape[0] for one in self.free for place in one.places)
            self.is_unmarked = any(class_of(size) is int for size in sizes)
            if self.is_unmarked:
                raise Again
        seen = Substitution(self, stand_ins, dict(zip(map(id, tensors), names, strict=True)), is_first)
        try:
            with Swapped(self.places, self.held, others), seen:
                results = self.flat_fn([*inputs])
        except Exception as error:
            if self.error is None:
                self.error, self.line = error, user_line(error)
            raise
        if is_first:
            if self.missing:
                raise Again
            self.recipes.append(Recipe(results, tensors, is_computed))
            self.lines = seen.lines
        return self.recipes[-1].computed(results)


def frame_of(begin: Any, trace: Any, number: Any) -> Callable[[list[Any]], Any]:
    def frame(tensors: list[Any]) -> Any:
        begin()
        results = trace(tensors)
        return results, number()

    return frame


class Swapped:
    """The block in which modules have what stands for their tensors: what is no operation of PyTorch's sees it, too.

    After it they have what they had. Where the function has put another tensor into one of them, that is refused.
    """

    def __init__(self, places: Places, held: Sequence[Held], stand_ins: Sequence[Any]) -> None:
        self.before = [(path, keeper, keeper.copy()) for path, keeper in places.keepers]
        self.held = [*zip(held, stand_ins, strict=True)]

    def __enter__(self) -> None:
        for one, stand_in in self.held:
            if one.keeper is not None and stand_in is not None:
                one.keeper[one.key] = stand_in

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        ours = {(id(one.keeper), one.key): stand_in for one, stand_in in self.held}
        bound = ""
        for path, keeper, before in self.before:
            for key, value in [*keeper.items()]:
                was = before.get(key)
                if value is was or not isinstance(value, torch.Tensor):
                    continue
                if value is not ours.get((id(keeper), key)):
                    bound = bound or f"{path}.{key}"
                if key in before:
                    keeper[key] = was
                else:
                    del keeper[key]
        if bound and kind is None:
            failure = RecordingError(
                f"{bound} was bound to another tensor inside a function that is compiled: a graph computes, and binds "
                "nothing. Change the tensor in place (copy_, add_), or return the new one"
            )
            failure.path = bound
            raise failure
