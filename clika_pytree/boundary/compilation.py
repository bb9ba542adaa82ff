"""What `compile` makes of a function."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING

from .compiled import Compiled, CompiledPartial
from .options import Options
from .targets import target_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__: list[str] = []


def compiler(*options: Any) -> Callable[[Any], Compiled[..., Any]]:
    """What compiles a function with such options."""
    checked = Options(*options)

    def compiled(fn: Any) -> Compiled[..., Any]:
        target = target_of("compile()", fn)
        return (CompiledPartial if target.leading or target.keywords else Compiled)(target, checked)

    return compiled
