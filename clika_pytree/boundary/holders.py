"""Tensors inside an object that counts as one leaf."""

from __future__ import annotations

import operator
import types

from clika_pytree._native import tree_leaves
from clika_pytree.runtimes import runtime_of
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import PLAIN, class_of

if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []

# What these hold belongs to the program, not to the value.
WITHOUT_PARTS = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)


def parts_with_tensors(leaf: Any) -> list[str]:
    """The names of what an object holds where tensors are in it: its attributes and items, and trees in these."""
    return [name for name, part in parts(leaf).items() if has_tensor(part)]


def has_tensor(tree: Any) -> bool:
    try:
        return any(runtime_of(leaf) is not None for leaf in tree_leaves(tree))
    except Exception:  # a tree that can't be walked is none that a graph could hold
        return False


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


def parts(leaf: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    cls = class_of(leaf)
    if issubclass(cls, WITHOUT_PARTS):
        return found
    for base in reversed(type.__dict__["__mro__"].__get__(cls)):
        for name, member in members(base):
            if isinstance(member, types.MemberDescriptorType):  # a slot
                try:
                    found[name] = member.__get__(leaf)
                except AttributeError:  # empty
                    continue
    try:
        attributes: Any = object.__getattribute__(leaf, "__dict__")
        found |= attributes
    except (AttributeError, TypeError):
        pass
    items: Any = leaf
    if issubclass(cls, dict):
        found |= {f"[{key!r}]": value for key, value in items.items()}
    elif issubclass(cls, (list, tuple, set, frozenset)):
        found |= {f"[{index}]": item for index, item in enumerate([*items])}
    return found


def members(cls: Any) -> list[tuple[str, Any]]:
    attributes: Any = type.__dict__["__dict__"].__get__(cls)
    return list(attributes.items())
