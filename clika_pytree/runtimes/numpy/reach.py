"""What a function can get hold of: by argument, closure, global, attribute or container. No user code is run."""

from __future__ import annotations

import functools
import gc
import sys
import types
from collections import deque

import numpy as np

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .kinds import is_a

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeAlias

    # What it is called, the object, and the names that the code around it speaks of.
    Find: TypeAlias = tuple[str, Any, frozenset[str]]

__all__: list[str] = []

# Code that is not looked into: what it draws from, beside its arguments, is global in `random` or `numpy.random`.
OWN = "clika_pytree"
CLOSED = frozenset({"numpy", "scipy", OWN, *sys.stdlib_module_names})
ATOMS = (np.ndarray, np.generic, np.dtype, str, bytes, int, float, complex, type(None))


class Search:
    """A walk from roots, given with their names; `most` bounds it.

    A wide one follows the methods, too, that operators and protocols call, of which the code names none. There what is
    nearest comes first, so that something large somewhere hides nothing else.
    """

    def __init__(self, roots: Iterable[tuple[str, Any]], most: int, *, wide: bool = False) -> None:
        self.most, self.wide = most, wide
        self.agenda: deque[Find] = deque((name, root, frozenset()) for name, root in roots)
        if not wide:
            self.agenda.reverse()
        self.seen: dict[int, Any] = {}  # held, so that no address comes again

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        while self.agenda and len(self.seen) < self.most:
            name, found, names = self.agenda.popleft() if self.wide else self.agenda.pop()
            if id(found) in self.seen:
                continue
            self.seen[id(found)] = found
            yield name, found
            if not is_a(found, ATOMS):
                self.agenda.extend(self.within(name, found, names))

    def within(self, name: str, found: Any, names: frozenset[str]) -> Iterator[Find]:
        """What an object leads to."""
        cls = class_of(found)
        if cls is types.FunctionType:
            yield from self.of_function(found)
        elif cls is types.GeneratorType:
            names = frozenset(names_in(found.gi_code))
            scope: dict[str, Any] = {} if found.gi_frame is None else found.gi_frame.f_globals
            yield from ((variable, scope[variable], names) for variable in names & scope.keys())
            yield from ((name, part, names) for part in gc.get_referents(found))
        elif cls is types.MethodType:
            yield name, found.__func__, names
            yield name, found.__self__, names
        elif cls is types.BuiltinMethodType:  # functions, too: their object is a module
            if not isinstance(found.__self__, types.ModuleType):
                yield name, found.__self__, names
        elif isinstance(found, types.ModuleType):
            yield from self.of_module(name, found, names)
        elif is_a(found, (list, tuple)):
            base: Any = list if issubclass(cls, list) else tuple  # whatever a subclass does
            yield from ((f"{name}[{index}]", item, names) for index, item in enumerate(base.__iter__(found)))
        elif cls is dict:
            yield from (
                (f"{name}[{key!r}]" if type(key) in (str, int) else name, item, names) for key, item in [*found.items()]
            )
        elif issubclass(cls, type):
            yield from self.of_class(name, found, names)
        else:
            yield from self.of_object(name, found, names)

    def of_function(self, function: types.FunctionType) -> Iterator[Find]:
        module = function.__globals__.get("__name__")
        if is_closed(module) and top_of(module) != OWN:
            return
        names = frozenset(names_in(function.__code__))
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                yield variable, cell.cell_contents, names
            except ValueError:  # not filled yet
                continue
        for variable in () if is_closed(module) else names & function.__globals__.keys():
            yield variable, function.__globals__[variable], names
        for index, default in enumerate((*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())):
            yield f"default {index} of {function.__name__}()", default, names
        for key, item in [*function.__dict__.items()]:
            yield f"{function.__name__}.{key}", item, names

    def of_module(self, name: str, module: types.ModuleType, names: frozenset[str]) -> Iterator[Find]:
        members: dict[str, Any] = types.ModuleType.__getattribute__(module, "__dict__")
        whole = members.get("__name__")
        if whole == "numpy" and "random" in names and "random" in members:
            yield f"{name}.random", members["random"], names
        elif whole in ("random", "numpy.random", "sys") or not is_closed(whole):
            for variable in names & members.keys():
                yield f"{name}.{variable}", members[variable], names

    def of_class(self, name: str, cls: Any, names: frozenset[str]) -> Iterator[Find]:
        for base in type.__dict__["__mro__"].__get__(cls)[:-1]:
            members: Any = type.__dict__["__dict__"].__get__(base)
            if is_closed(members.get("__module__")):
                continue
            for key, item in [*members.items()]:
                if key in names or (self.wide and class_of(item) is types.FunctionType and key[:2] == "__"):
                    yield f"{name}.{key}", item, names

    def of_object(self, name: str, found: Any, names: frozenset[str]) -> Iterator[Find]:
        cls = class_of(found)
        try:
            attributes: Any = object.__getattribute__(found, "__dict__")
        except AttributeError:
            attributes = {}
        if top_of(type.__dict__["__dict__"].__get__(cls).get("__module__")) == OWN and not isinstance(
            found, functools.partial
        ):
            yield name, attributes.get("_target"), names  # of a compiled function; all else there is bookkeeping
            return
        if class_of(attributes) is dict:
            yield from ((f"{name}.{key}", item, names) for key, item in [*attributes.items()])
        if not isinstance(found, types.CodeType | types.FrameType):
            yield from ((name, part, names) for part in gc.get_referents(found) if part is not attributes)
        yield name, cls, names | {"__call__"}


def is_closed(module: Any) -> bool:
    return top_of(module) in CLOSED


def top_of(module: Any) -> str:
    return module.partition(".")[0] if type(module) is str else ""


def names_in(code: types.CodeType) -> set[str]:
    """The names that code speaks of, functions inside it included."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= names_in(constant)
    return names
