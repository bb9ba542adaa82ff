"""The libraries that classes are mirrored in and adopted from, by name."""

from __future__ import annotations

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

from . import jax, optree, torch

if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []

LIBRARIES: dict[str, Any] = {"torch": torch, "jax": jax, "optree": optree}


def library_named(caller: str, name: object) -> Any:
    if not isinstance(name, str):
        raise PyTreeTypeError(f"{caller} expects the name of a library as a str, got {described(name)}; {known()}")
    if name not in LIBRARIES:
        raise PyTreeValueError(f"{caller} knows no library {described(name)}; {known()}")
    return LIBRARIES[name]


def known() -> str:
    *others, last = map(repr, LIBRARIES)
    return f"it can be {', '.join(others)} or {last}"
