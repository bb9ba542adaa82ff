"""How the results of a function follow from its inputs and from what PyTorch computes."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING

from .library import Symbols, Tensor

if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []


def is_computed(result: Any) -> bool:
    """Whether it stands for what a call computes, and is not a tensor that was there before."""
    from .library import is_real

    return isinstance(result, Symbols) or (isinstance(result, Tensor) and not is_real(result))
