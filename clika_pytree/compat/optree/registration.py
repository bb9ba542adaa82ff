"""Registering classes as optree does."""

from __future__ import annotations

from functools import partial
from operator import methodcaller

import clika_pytree
from clika_pytree import PyTreeTypeError, is_namedtuple
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    C = TypeVar("C", bound=type[Any])


def register_pytree_node(
    cls: C,
    /,
    flatten_func: Callable[[Any], Any],
    unflatten_func: Callable[[Any, Any], Any],
    *,
    namespace: str,
) -> C:
    """Make the instances of a class nodes; `unflatten_func(metadata, children)`."""
    clika_pytree.register_pytree_node(
        cls, flatten_func, lambda children, metadata: unflatten_func(metadata, children), namespace=namespace
    )
    return cls


def register_pytree_node_class(cls: Any = None, /, *, namespace: str | None = None) -> Any:
    """Register a class with `__tree_flatten__` and `__tree_unflatten__(metadata, children)`; a decorator, too.

    The namespace may be the only argument: `@register_pytree_node_class("mine")`.
    """
    if isinstance(cls, str):
        cls, namespace = None, cls
    if namespace is None:
        raise PyTreeTypeError("register_pytree_node_class() needs a namespace")
    if cls is None:
        return partial(register_pytree_node_class, namespace=namespace)
    new = hasattr(cls, "__tree_flatten__") and hasattr(cls, "__tree_unflatten__")
    flatten = methodcaller("__tree_flatten__" if new else "tree_flatten")
    return register_pytree_node(
        cls, flatten, cls.__tree_unflatten__ if new else cls.tree_unflatten, namespace=namespace
    )


def unregister_pytree_node(cls: type[Any], /, *, namespace: str) -> None:
    """Make the instances of a class leaves again."""
    clika_pytree.unregister_pytree_node(cls, namespace=namespace)


def namedtuple_fields(obj: Any, /) -> tuple[str, ...]:
    """The names of the fields of a namedtuple, or of its class."""
    if not is_namedtuple(obj):
        raise PyTreeTypeError(f"namedtuple_fields() expects a namedtuple or its class, got {described(obj)}")
    return tuple(obj._fields)
