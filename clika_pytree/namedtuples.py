"""Which classes are namedtuples: nodes that nobody registers."""

from __future__ import annotations

from .typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, NamedTuple

    from typing_extensions import TypeIs

__all__ = ["is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance"]


def is_namedtuple(obj: object) -> TypeIs[NamedTuple | type[NamedTuple]]:
    """Whether an object is a namedtuple, or a class of namedtuples.

    Args:
        obj: Any object.

    Returns:
        True or False.

    Example:
        >>> from collections import namedtuple
        >>> from clika_pytree import pytree
        >>> Point = namedtuple("Point", "x y")
        >>> pytree.is_namedtuple(Point(1, 2)), pytree.is_namedtuple(Point), pytree.is_namedtuple((1, 2))
        (True, True, False)
    """
    return is_namedtuple_class(obj) or is_namedtuple_instance(obj)


def is_namedtuple_class(cls: object) -> TypeIs[type[NamedTuple]]:
    """Whether an object is a class of namedtuples: a subclass of tuple whose `_fields` are a tuple of str.

    Args:
        cls: Any object; one that is no class is no class of namedtuples either.

    Returns:
        True or False.

    Example:
        >>> from collections import namedtuple
        >>> from clika_pytree import pytree
        >>> Point = namedtuple("Point", "x y")
        >>> pytree.is_namedtuple_class(Point), pytree.is_namedtuple_class(Point(1, 2))
        (True, False)
    """
    if not isinstance(cls, type) or not issubclass(cls, tuple):
        return False
    fields: tuple[Any, ...] | None = getattr(cls, "_fields", None)  # pyright: ignore[reportUnknownArgumentType]
    return type(fields) is tuple and all(isinstance(field, str) for field in fields)


def is_namedtuple_instance(obj: object) -> TypeIs[NamedTuple]:
    """Whether an object is a namedtuple. `is_leaf=is_namedtuple_instance` keeps namedtuples whole.

    Args:
        obj: Any object.

    Returns:
        True or False.

    Example:
        >>> from collections import namedtuple
        >>> from clika_pytree import pytree
        >>> Point = namedtuple("Point", "x y")
        >>> pytree.tree_leaves([Point(1, 2), (3, 4)], is_leaf=pytree.is_namedtuple_instance)
        [Point(x=1, y=2), 3, 4]
    """
    return is_namedtuple_class(type(obj))
