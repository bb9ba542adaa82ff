"""What functions of PyTorch with several results return, such as `torch.max(x, 0)`: nodes whose fields have names.

They are struct sequences, as the standard library has some (`os.stat`), which are leaves.
"""

from __future__ import annotations

import sys

from clika_pytree._native import Registration, is_registered
from clika_pytree.registration import add
from clika_pytree.typing import TYPE_CHECKING

from .imports import is_imported

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__: list[str] = []

_is_done = False


def register_once() -> None:
    """Register the classes, once somebody has imported PyTorch. Asked before trees with tensors are read."""
    global _is_done
    if not _is_done and "torch" in sys.modules and is_imported("torch"):
        _is_done = True
        register_all()


def register_all() -> None:
    """Register those classes that nobody has registered before."""
    torch: Any = sys.modules["torch"]
    for name in dir(torch.return_types):
        cls: Any = getattr(torch.return_types, name)
        if isinstance(cls, type) and hasattr(cls, "n_sequence_fields") and not is_registered(cls):
            functions = flatten_of(cls), unflatten_of(cls)
            add(Registration.function(cls, "", *functions, None, f"torch.return_types.{name}"))


def flatten_of(cls: Any) -> Callable[[Any], tuple[Any, None, tuple[str, ...]]]:
    fields: tuple[str, ...] = cls.__match_args__
    return lambda result: ((*result,), None, fields)


def unflatten_of(cls: Any) -> Callable[[tuple[Any, ...], Any], Any]:
    return lambda children, _: cls(children)
