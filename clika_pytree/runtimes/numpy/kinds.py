"""Tests of a value's class that leave its static type as it was: what they are asked of may be anything."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []


def class_of(value: Any) -> Any:
    """The class itself, not what `__class__` says: a recorded array says ndarray."""
    cls: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    return cls


def is_a(value: Any, classes: Any) -> bool:
    return isinstance(value, classes)
