"""Modules whose tensors are attributes: others in their places for a while."""

from __future__ import annotations

from contextlib import contextmanager

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import Any

    from .protocol import Runtime

__all__: list[str] = []


@contextmanager
def holding(runtime: Runtime, obj: Any, state: Mapping[str, Any]) -> Generator[None]:
    """A block in which a module has other tensors by the names that its runtime gives them."""
    own = runtime.module_state(obj) or {}
    try:
        for name, tensor in state.items():
            owner, last = place_in(obj, name)
            setattr(owner, last, tensor)
        yield
    finally:
        for name in {**(runtime.module_state(obj) or {})}.keys() - own.keys():
            owner, last = place_in(obj, name)
            delattr(owner, last)  # what was put there meanwhile stands for a tensor
        for name, tensor in own.items():
            owner, last = place_in(obj, name)
            setattr(owner, last, tensor)


def place_in(module: Any, name: str) -> tuple[Any, str]:
    """Where a path such as `head.weight` or `layers.0.bias` leads: the object, and the name of its attribute."""
    *owners, last = name.split(".")
    for owner in owners:
        cls = class_of(module)
        if issubclass(cls, (list, tuple)):
            module = module[int(owner)]
        else:
            module = module[owner] if cls is dict else getattr(module, owner)
    return module, last
