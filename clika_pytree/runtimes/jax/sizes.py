"""Programs for all sizes: those that JAX exports for symbols."""

from __future__ import annotations

import re

from clika_pytree.runtimes.free_sizes import first_axes
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .library import Array, export, jax
from .refusals import user_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clika_pytree.runtimes.free_sizes import Free

__all__: list[str] = []

# How often a function is traced with fewer and fewer free sizes.
MOST_TRIES = 8


def text_of(free: Free) -> str:
    """A size as JAX is told it. Symbols are numbers from 1 on, so that `n - 1` is one from 0 on."""
    return free.symbol if free.least else f"{free.symbol} - 1"


def is_in(free: Free, message: str) -> bool:
    return re.search(rf"\b{free.symbol}\b", message) is not None


def stand_ins(tensors: Sequence[Any], free: list[Free]) -> list[Any]:
    """The shapes and dtypes of the inputs, with symbols as free sizes."""
    scope = export.SymbolicScope()
    sizes: dict[int, Any] = {}
    for one in free:
        (size,) = export.symbolic_shape(text_of(one), scope=scope)
        sizes |= dict.fromkeys(one.places, size)
    return [stand_in(tensor, sizes.get(index)) for index, tensor in enumerate(tensors)]


def stand_in(tensor: Any, first: Any) -> Any:
    shape = tuple(tensor.shape) if first is None else (first, *tensor.shape[1:])
    weak = bool(getattr(getattr(tensor, "aval", None), "weak_type", False))
    return jax.ShapeDtypeStruct(shape, tensor.dtype, weak_type=weak)


def for_all_sizes(function: Any, tensors: Sequence[Any]) -> tuple[Any, Any, list[Free], dict[tuple[int, int], str]]:
    """Trace and export a function for all sizes that it leaves open, as far as it does.

    Returns:
        The export and the jaxpr, where there is a free size; the free sizes; the lines for which others are not.
    """
    free, places = first_axes(tensors), dict[tuple[int, int], str]()
    for _ in range(MOST_TRIES):
        if not free:
            break
        try:
            return *exported(function, stand_ins(tensors, free), platforms(tensors)), free, places
        except Exception as error:
            # Where the error is not about sizes, it comes again without any that is free.
            for one in narrowed(error, free):
                file, line = user_line(error)
                places |= {(index, 0): f"{file}:{line}" for index in one.places}
                free.remove(one)
    return None, None, [], places


def exported_for(function: Any, tensors: Sequence[Any]) -> tuple[Any, Any]:
    """Trace and export a function for all sizes that it leaves open, or for those that are given as symbols."""
    if not any(class_of(size) is not int for tensor in tensors for size in tensor.shape):
        found, jaxpr, free, _ = for_all_sizes(function, tensors)
        if free:
            return found, jaxpr
    return exported(function, stand_ins(tensors, []), platforms(tensors))


def exported(function: Any, specs: list[Any], platforms: list[str] | None) -> tuple[Any, Any]:
    jitted = jax.jit(function)
    jaxpr = jitted.trace(specs).jaxpr
    return export.export(jitted, platforms=platforms)(specs), jaxpr


def narrowed(error: Exception, free: list[Free]) -> list[Free]:
    """The sizes that can't be free because of an error; none where it is enough that they are not 0.

    Of several that the error names, that of the last input stays: it most likely is a batch.
    """
    named = [one for one in free if is_in(one, str(error))] or [*free]
    if isinstance(error, jax.errors.InconclusiveDimensionOperation):
        may_be_0 = [one for one in named if one.size and not one.least]
        for one in may_be_0:
            one.least = 1
        if may_be_0:
            return []
    return sorted(named, key=lambda one: max(one.places))[: max(1, len(named) - 1)]


def platforms(tensors: Sequence[Any]) -> list[str] | None:
    """Where the arrays are; None for the default."""
    found = {device.platform for tensor in tensors if isinstance(tensor, Array) for device in tensor.devices()}
    return sorted(found) or None
