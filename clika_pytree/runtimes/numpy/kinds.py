"""A test of a value's class that leaves its static type as it was: what it is asked of may be anything."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []


def is_a(value: Any, classes: Any) -> bool:
    return isinstance(value, classes)
