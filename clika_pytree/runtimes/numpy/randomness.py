"""Whether random numbers were drawn while a function was recorded: a graph would give the same ones at each call.

The states of all generators that live in the process are compared, before the function runs and after. A generator that
is made in between draws from the operating system, if it is to be random; those calls are counted by `entropy`.
"""

from __future__ import annotations

import contextlib
import random
import sys
import types

import numpy as np

from clika_pytree._native import tracked_instances
from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, short_name

from .entropy import drawn_from_the_system
from .kinds import is_a
from .lines import place_text, quoted_place, user_line
from .reach import Search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

__all__: list[str] = []

MOST_OBJECTS = 10_000
MOST_OBJECTS_AFTERWARDS = 50_000
# What has a state. A Generator has that of its BitGenerator, and a SeedSequence counts what was spawned from it.
STATEFUL = (np.random.BitGenerator, np.random.RandomState, np.random.SeedSequence, random.Random)
# Those of the modules, which `gc.freeze` may have put aside.
GLOBAL = (getattr(np.random.mtrand, "_rand"), getattr(random, "_inst"))  # noqa: B009
# Their state is read by a descriptor of the class, whatever a subclass does; those of other libraries are not read.
BIT_GENERATORS = tuple(getattr(np.random, name) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"))
SEEDED_FIRST = (np.random.PCG64, np.random.PCG64DXSM, np.random.Philox)
ADVICE = "a graph would give the same numbers at each call: draw them outside and pass them as an argument"


class Watch:
    """The states when the recording began. `arrays` are those that were within reach then, by address."""

    def __init__(self, roots: Iterable[tuple[str, Any]]) -> None:
        self.roots = [*roots]
        self.arrays: dict[int, Any] = {}
        states = ((generator, state_of(generator)) for generator in living())
        self.before = [(generator, state) for generator, state in states if state is not None]
        # Generators whose name the code speaks of are looked at while it runs, for the sake of the line.
        self.named: dict[int, tuple[str, Any, Any]] = {}
        known = {id(generator): state for generator, state in self.before}
        for name, found in Search(self.roots, MOST_OBJECTS):
            if is_a(found, np.ndarray):
                self.arrays[id(found)] = found
            for part in parts_of(found):
                state = known[id(part)] if id(part) in known else state_of(part)
                if state is not None:
                    self.named.setdefault(id(part), (name, part, state))
        self.alone = is_alone()
        self.operations = self.looked = self.due = 0
        self.last: tuple[str, int] | None = None  # the line of the latest look

    def look(self) -> None:
        """Before an operation is recorded: raise where a named generator was drawn from since the beginning.

        To read a state takes longer than to record an operation, so the further on, the fewer looks there are.
        """
        if not self.named:
            return
        self.operations += 1
        if self.operations > self.due:
            self.look_at_named(self.place())
            self.looked, self.last = self.operations, user_line()
            self.due = self.operations + self.operations // 4

    def place(self) -> str:
        """Where this operation is, and where the one was at which nothing was drawn yet."""
        here = quoted_place(*user_line())
        if self.last is None or self.looked == self.operations - 1:
            return f"noticed at {here}"
        return f"between {place_text(*self.last)} and {here}"

    def look_at_named(self, where: str) -> None:
        for name, generator, before in self.named.values():
            if not same(state_of(generator), before):
                raise refused(name_of(generator, name), where)

    def end(self) -> None:
        """When the function has returned: raise where any generator was drawn from."""
        where = "noticed when it had returned: "
        self.look_at_named(f"after {place_text(*self.last)}: " if self.last else where)
        changed = [generator for generator, before in self.before if not same(state_of(generator), before)]
        if changed and not (self.alone and is_alone()):
            # Another thread may have drawn: only what this function can get hold of is its own.
            changed = [generator for generator in changed if self.reaches(generator)]
        if changed:
            raise refused(name_of(changed[0]), where)
        for what, line in drawn_from_the_system():
            raise RecordingError(f"The recorded function {what}, at {quoted_place(*line)}{ADVICE}")

    def reaches(self, generator: Any) -> bool:
        search = Search(self.roots, MOST_OBJECTS_AFTERWARDS, wide=True)
        return any(part is generator for _, found in search for part in parts_of(found))


def refused(name: str, where: str) -> RecordingError:
    return RecordingError(f"The recorded function drew random numbers from {name}, {where}{ADVICE}")


def is_alone() -> bool:
    """Whether no other thread runs Python."""
    frames: Any = getattr(sys, "_current_frames")  # noqa: B009
    return len(frames()) == 1


def living() -> list[Any]:
    """All objects with a state in this process."""
    known = {id(generator): generator for generator in (*GLOBAL, *tracked_instances(STATEFUL))}
    found = [*known.values()]
    owned = {id(bits_of(generator)) for generator in found if isinstance(generator, np.random.RandomState)}
    return [generator for generator in found if id(generator) not in owned and not may_be_half_made(generator)]


def may_be_half_made(generator: Any) -> bool:
    """Whether another thread may be inside its `__init__`: it has no memory for its state until it has its seed."""
    if isinstance(generator, np.random.RandomState):
        return bits_of(generator) is None
    return isinstance(generator, SEEDED_FIRST) and getattr(generator, "seed_seq", None) is None


def parts_of(found: Any) -> Iterator[Any]:
    """The objects with a state that belong to something."""
    if isinstance(found, np.random.Generator):
        found = found.bit_generator
    if isinstance(found, np.random.BitGenerator):
        yield getattr(found, "seed_seq", None)
    if isinstance(found, STATEFUL):
        yield found


def state_of(generator: Any) -> Any:
    """What changes when it is drawn from; None for what does not tell, as a generator of another library may."""
    if isinstance(generator, random.Random):
        return random.Random.getstate(generator)
    if isinstance(generator, np.random.SeedSequence):
        return generator.n_children_spawned
    if (
        getattr(bits_of(generator), "lock", None) is None
    ):  # its `__init__` has not run: it has no memory, which numpy does not look for
        return None
    with contextlib.suppress(Exception):
        if isinstance(generator, np.random.RandomState):
            return np.random.RandomState.get_state(generator, legacy=False)
        for cls in BIT_GENERATORS:
            if isinstance(generator, cls):
                return cls.state.__get__(generator)
    return None


def bits_of(generator: Any) -> Any:
    """The BitGenerator of a generator of numpy."""
    return generator._bit_generator if isinstance(generator, np.random.RandomState) else generator


def same(a: Any, b: Any) -> bool:
    """Whether two states are equal; they are dicts and tuples of numbers and arrays."""
    if is_a(a, dict):
        return a.keys() == b.keys() and all(same(value, b[key]) for key, value in a.items())
    if is_a(a, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


def name_of(generator: Any, name: str = "") -> str:
    """What to call a generator: the name that led to it or its place in a module, if there is one, else its class."""
    if generator is GLOBAL[0]:
        return "numpy's global generator"
    if generator is GLOBAL[1]:
        return "the global generator of the module random"
    for path, module in () if name else [*sys.modules.items()]:
        for variable, found in [*vars(module).items()] if type(module) is types.ModuleType else ():
            if any(part is generator for part in parts_of(found)):
                return f"{path}.{variable}"
    return name or f"a {short_name(class_of(generator))} that no name leads to"
