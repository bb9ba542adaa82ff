"""Leaves of a result that are no tensors. Each call has its own of what the function made."""

from __future__ import annotations

import copy
import gc
import operator
import sys
import types
from collections import Counter

from clika_pytree._native import runtime_of
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import PLAIN, class_of

if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []

# What these lead to is not part of a value, and they are not copied.
ATOMS = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.CodeType, types.FrameType)


class Constants:
    """Those leaves of a list that a function made and that can change, as patterns for each call's own."""

    def __init__(self, leaves: list[Any]) -> None:
        self.shared = {id(held): held for held in held_elsewhere(leaves)}
        self.places = [place for place, leaf in enumerate(leaves) if id(leaf) not in self.shared and not is_fixed(leaf)]
        self.patterns = [leaves[place] for place in self.places]

    def fill(self, leaves: list[Any]) -> None:
        """Put the leaves of one call into their places. What is shared is not copied."""
        made: list[Any] = copy.deepcopy(self.patterns, {**self.shared})
        for place, leaf in zip(self.places, made, strict=True):
            leaves[place] = leaf

    def refused(self) -> tuple[int, Exception] | None:
        """The place of a leaf that can't be copied, and why."""
        for place, leaf in zip(self.places, self.patterns, strict=True):
            try:
                copy.deepcopy(leaf, {**self.shared})
            except Exception as error:
                return place, error
        return None


def is_fixed(leaf: Any) -> bool:
    """Whether nothing about a leaf can change, as far as copying knows."""
    cls = class_of(leaf)
    if id(cls) in PLAIN:
        return True
    if cls is frozenset:
        return all(id(class_of(item)) in PLAIN for item in leaf)
    try:
        return copy.deepcopy(leaf) is leaf
    except Exception:
        return False


def held_elsewhere(leaves: list[Any]) -> list[Any]:
    """The objects that the leaves lead to and that others hold, too: the function captured them, or keeps them.

    They are those with more references than come from the leaves, as the collector counts, and what is never copied.
    """
    probe = bytearray()
    within: dict[int, Any] = {id(probe): probe}
    inner = Counter[int](map(id, leaves))
    agenda = [leaf for leaf in leaves if id(class_of(leaf)) not in PLAIN]
    atoms: dict[int, Any] = {}
    while agenda:
        found = agenda.pop()
        if isinstance(found, ATOMS):
            atoms[id(found)] = found
        elif id(found) not in within:
            within[id(found)] = found
            parts = gc.get_referents(found)
            inner.update(map(id, parts))
            agenda += parts
    objects = [*within.values()]
    found, parts = None, []
    within.clear()
    counts = [sys.getrefcount(held) for held in objects]
    own = counts[0] - 1  # its name is a reference to the probe
    shared = [held for held, count in zip(objects[1:], counts[1:], strict=True) if count - own > inner[id(held)]]
    return [*shared, *atoms.values()]


def without_sizes(value: Any) -> Any:
    """The value with numbers in the place of what stands for sizes; itself where there is none."""
    cls = class_of(value)
    make: Any = cls
    if id(cls) in PLAIN:
        return value
    if cls in (tuple, list, set, frozenset):
        items: list[Any] = [*value]
        plain = [without_sizes(item) for item in items]
        return value if all(map(operator.is_, plain, items)) else make(plain)
    if cls is dict:
        keys, values = without_sizes([*value.keys()]), without_sizes([*value.values()])
        same = all(map(operator.is_, (*keys, *values), (*value.keys(), *value.values())))
        return value if same else dict(zip(keys, values, strict=True))
    if cls is slice:
        ends = (value.start, value.stop, value.step)
        plain = [without_sizes(end) for end in ends]
        return value if all(map(operator.is_, plain, ends)) else slice(*plain)
    # A size says that it is a number, and gives it.
    return value.__class__(value) if runtime_of(value) is not None and value.__class__ in (bool, int, float) else value
