"""Sizes that one program serves whatever they are: which axes may have any, and what is asked of its inputs then."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__: list[str] = []


class Fact:
    """What is asked of an input: all facts but its sizes, as the guard reads them."""

    layout = None


class Free:
    """A size that may be any from `least` on: that of the first axis of some inputs."""

    def __init__(self, size: int, places: list[int]) -> None:
        self.size, self.places, self.least = size, places, 0
        self.symbol = f"n{size}"


class Condition:
    """What a free size must be, beyond being any."""

    value = True

    def __init__(self, free: Free) -> None:
        self.places, self.least = free.places, free.least
        sizes = " == ".join(f"x{place}.shape[0]" for place in free.places)
        self.text = f"({sizes} > {free.least - 1})" if free.least else f"({sizes})"

    def function(self, tensors: Sequence[Any]) -> bool:
        first = tensors[self.places[0]].shape[0]
        return first >= self.least and all(tensors[place].shape[0] == first for place in self.places)


class Guards:
    """What a program asks of its inputs: all facts of each, every size that is not free, and more."""

    def __init__(
        self, tensors: Sequence[Any], free: list[Free], places: dict[tuple[int, int], str], more: Sequence[Any] = ()
    ) -> None:
        loose = {place for one in free for place in one.places}
        self.facts = dict.fromkeys(range(len(tensors)), Fact)
        self.sizes = {
            (index, axis): size
            for index, tensor in enumerate(tensors)
            for axis, size in enumerate(tensor.shape)
            if axis or index not in loose
        }
        self.conditions = [*(Condition(one) for one in free if one.least or len(one.places) > 1), *more]
        self.places = places


def first_axes(tensors: Sequence[Any]) -> list[Free]:
    """The sizes of first axes, but for those that another axis has, too.

    A batch has a size of its own. One that is also the size of another axis is, as a rule, a number of features, which
    stands in several inputs at different places.
    """
    shapes = [tuple(tensor.shape) for tensor in tensors]
    others = {size for shape in shapes for size in shape[1:]}
    found: dict[int, Free] = {}
    for index, shape in enumerate(shapes):
        if shape and shape[0] not in others:
            found.setdefault(shape[0], Free(shape[0], [])).places.append(index)
    return [*found.values()]
