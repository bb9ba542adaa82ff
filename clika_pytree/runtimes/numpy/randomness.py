"""Whether random numbers were drawn: the states of numpy's and Python's generators before and after a recording.

A graph would give the numbers of its first call again and again.
"""

from __future__ import annotations

import functools
import random
import threading
import types

import numpy as np

from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .kinds import is_a
from .refusals import quoted_place, user_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

__all__: list[str] = []

MOST_OBJECTS = 10_000
GENERATORS = (
    *(np.random.Generator, np.random.RandomState, np.random.BitGenerator, np.random.SeedSequence),
    random.Random,  # that of the module is its functions' object
)
_swap = threading.Lock()
_drawing = threading.local()
ADVICE = "a graph would give the same numbers at each call: draw them outside and pass them as an argument"


class Watch:
    """The states when the recording began; `look` compares. `arrays` are those that were within reach, by address."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self.arrays: dict[int, Any] = {}
        self.found = list(generators(roots, self.arrays))
        self.before = [state_of(generator) for _, generator in self.found]

    def look(self) -> None:
        """Raise where a number was drawn since the beginning; called at each operation, for the sake of the line."""
        for (name, generator), before in zip(self.found, self.before, strict=True):
            if not same(state_of(generator), before):
                raise drawn(f"drew random numbers from {name}")
        if getattr(_drawing, "count", None):
            raise drawn("made a random generator without a seed (np.random.default_rng() and the like)")


def drawn(what: str) -> RecordingError:
    return RecordingError(f"The recorded function {what}, noticed at {quoted_place(*user_line())}{ADVICE}")


class Entropy:
    """While a function is recorded: counts the generators without a seed that its thread makes."""

    def __enter__(self) -> None:
        install()
        self.outer: int | None = getattr(_drawing, "count", None)
        _drawing.count = 0

    def __exit__(self, *exc: object) -> None:
        # Outside of a recording nothing is counted: the next one would be blamed for it.
        _drawing.count = None if self.outer is None else self.outer + _drawing.count


def install() -> None:
    """Have numpy's source of entropy counted by thread; it gives what it gave before."""
    module: Any = np.random.bit_generator
    with _swap:
        draw = module.randbits
        if getattr(draw, "counts_for_clika_pytree", False):
            return

        def randbits(k: int) -> int:
            count = getattr(_drawing, "count", None)
            if count is not None:
                _drawing.count = count + 1
            return draw(k)  # type: ignore[no-any-return]

        randbits.counts_for_clika_pytree = True  # type: ignore[attr-defined]
        module.randbits = randbits


def state_of(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return random.Random.getstate(generator)
    if isinstance(generator, np.random.SeedSequence):
        return generator.n_children_spawned
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    bits = generator.bit_generator if isinstance(generator, np.random.Generator) else generator
    spawned = getattr(getattr(bits, "seed_seq", None), "n_children_spawned", None)
    return bits.state, spawned


def same(a: Any, b: Any) -> bool:
    """Whether two states are equal; they are dicts and tuples of numbers and arrays."""
    if is_a(a, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if is_a(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if is_a(a, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


def generators(roots: Iterable[Any], arrays: dict[int, Any]) -> Iterator[tuple[str, Any]]:
    """Generators that can be reached by argument, closure, global, attribute or container, each once.

    Arrays that are met on the way are put into `arrays`.
    """
    shared = getattr(np.random.mtrand, "_rand")  # noqa: B009
    yield "numpy's global generator", shared
    seen = {id(shared)}
    agenda = [(f"argument {index}", root, frozenset[str]()) for index, root in enumerate(roots)]
    while agenda and len(seen) < MOST_OBJECTS:
        name, found, names = agenda.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, GENERATORS):
            yield name, found
        elif is_a(found, np.ndarray):
            arrays[id(found)] = found
        elif not isinstance(found, np.generic | str | bytes | int | float | type(None)):
            agenda.extend(within(name, found, names))


def within(name: str, found: Any, names: frozenset[str]) -> Iterator[tuple[str, Any, frozenset[str]]]:
    """What an object leads to, no user code being run. `names` are those that the code around it speaks of."""
    if isinstance(found, types.FunctionType):
        names = frozenset(names_in(found.__code__))
        for variable, cell in zip(found.__code__.co_freevars, found.__closure__ or (), strict=True):
            try:
                yield variable, cell.cell_contents, names
            except ValueError:  # not filled yet
                continue
        for variable in names & found.__globals__.keys():
            yield variable, found.__globals__[variable], names
        for index, default in enumerate((*(found.__defaults__ or ()), *(found.__kwdefaults__ or {}).values())):
            yield f"default {index} of {found.__name__}()", default, names
    elif isinstance(found, types.MethodType):
        yield name, found.__func__, names
        yield name, found.__self__, names
    elif isinstance(found, types.BuiltinMethodType):  # functions, too: their object is a module
        if not isinstance(found.__self__, types.ModuleType):
            yield name, found.__self__, names
    elif isinstance(found, types.ModuleType):
        if (found.__name__ or "").partition(".")[0] not in ("numpy", "scipy"):
            for variable in names & vars(found).keys():
                yield f"{name}.{variable}", vars(found)[variable], names
    elif isinstance(found, functools.partial):
        yield from ((name, part, names) for part in (found.func, found.args, found.keywords))
    elif class_of(found) in (list, tuple, set, frozenset):
        yield from ((f"{name}[{index}]", item, names) for index, item in enumerate(found))
    elif class_of(found) is dict:
        yield from (
            (f"{name}[{key!r}]" if type(key) in (str, int) else name, item, names) for key, item in found.items()
        )
    elif is_a(found, type):
        for base in found.__mro__[:-1]:
            yield from ((f"{name}.{key}", item, names) for key, item in members(base) if key in names)
    else:
        attributes: Any = getattr(found, "__dict__", None) or {}
        yield from ((f"{name}.{key}", item, names) for key, item in attributes.items())
        yield name, type(found), names | {"__call__"}


def members(cls: Any) -> list[tuple[str, Any]]:
    return [*cls.__dict__.items()]


def names_in(code: types.CodeType) -> set[str]:
    """The names that code speaks of, functions inside it included."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_in(constant)
    return names
