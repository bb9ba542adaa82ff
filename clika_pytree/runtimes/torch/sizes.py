"""Programs for all sizes: which may be any, and how PyTorch is told."""

from __future__ import annotations

from clika_pytree.runtimes.free_sizes import first_axes
from clika_pytree.typing import TYPE_CHECKING

from .library import Tensor, torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clika_pytree.runtimes.free_sizes import Free

__all__: list[str] = []

# What `mark_unbacked` leaves on a tensor.
MARKS = (
    *("_dynamo_unbacked_indices", "_dynamo_shape_ids", "_dynamo_hint_overrides", "_specialize_on"),
    *("_dynamo_unbacked_bounds", "_specialized_on", "_has_dynamo_dim_marking"),
)


def free_sizes(tensors: Sequence[Any]) -> list[Free]:
    """The sizes of first axes that may be any, without 1 beside others: it most likely is repeated to those."""
    found = first_axes(tensors)
    return [one for one in found if one.size != 1 or len(found) == 1]


class Marked:
    """The block in which PyTorch sees that some sizes are free."""

    def __init__(self, tensors: Sequence[Any], free: Sequence[Free]) -> None:
        self.marks = [(tensors[place], one) for one in free for place in one.places]
        self.marks = [(tensor, one) for tensor, one in self.marks if isinstance(tensor, Tensor)]

    def __enter__(self) -> None:
        for tensor, one in self.marks:
            shared = {"shape_id": one.symbol} if len(one.places) > 1 else {}
            torch._dynamo.decorators.mark_unbacked(tensor, 0, **shared)

    def __exit__(self, *exc: object) -> None:
        for tensor, _ in self.marks:
            for name in self.left_on(tensor):
                delattr(tensor, name)

    def left_on(self, tensor: Any) -> Iterator[str]:
        return (name for name in MARKS if name in vars(tensor))
