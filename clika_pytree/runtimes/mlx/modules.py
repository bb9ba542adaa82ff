"""Modules of MLX: their arrays by name."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .library import Array

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import Any

__all__: list[str] = []


def module_state(obj: Any) -> dict[str, Any] | None:
    """The arrays of a module by the names that MLX has for them, `layers.0.weight`."""
    nn: Any = sys.modules.get("mlx.nn")
    if nn is None or not isinstance(obj, nn.Module):
        return None
    state: dict[str, Any] = {}
    collect(obj.parameters(), "", state)
    return state


@contextmanager
def holding(obj: Any, state: Mapping[str, Any]) -> Generator[None]:
    """A block in which a module has other arrays."""
    own: Any = obj.parameters()
    try:
        obj.update(replaced(own, "", state))
        yield
    finally:
        obj.update(own)


def collect(value: Any, name: str, state: dict[str, Any]) -> None:
    """The arrays in what `parameters` gives: dicts and lists."""
    cls = class_of(value)
    if issubclass(cls, Array):
        state[name] = value
    elif issubclass(cls, (dict, list)):
        for key, item in value.items() if issubclass(cls, dict) else enumerate(value):
            collect(item, path(name, key), state)


def replaced(value: Any, name: str, state: Mapping[str, Any]) -> Any:
    """The same with other arrays."""
    cls = class_of(value)
    if issubclass(cls, dict):
        return {key: replaced(item, path(name, key), state) for key, item in value.items()}
    if issubclass(cls, list):
        return [replaced(item, path(name, key), state) for key, item in enumerate(value)]
    return state[name]


def path(name: str, key: str | int) -> str:
    return f"{name}.{key}" if name else str(key)
