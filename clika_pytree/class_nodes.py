"""Registering classes that take themselves apart, and classes that are values without children."""

from __future__ import annotations

from ._native import PyTreeTypeError, Registration
from .arguments import check_class
from .registration import add, check_options
from .typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from .typing import ContextFn, Library

    C = TypeVar("C", bound=type)

__all__ = ["register_pytree_node_class", "register_static"]


@overload
def register_pytree_node_class(
    cls: C,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    namespace: str = "",
    mirror: Library | Iterable[Library] = (),
) -> C: ...
@overload
def register_pytree_node_class(
    cls: None = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    namespace: str = "",
    mirror: Library | Iterable[Library] = (),
) -> Callable[[C], C]: ...
def register_pytree_node_class(
    cls: type | None = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    namespace: str = "",
    mirror: Library | Iterable[Library] = (),
) -> Any:
    """Register a class that flattens and rebuilds itself; a decorator, with or without arguments.

    The class has a method `__tree_flatten__(self)`, which returns what a `flatten_fn` returns, and a classmethod
    `__tree_unflatten__(cls, context, children)`. Mind the order: the context comes first here.

    Args:
        cls: The class; left out where the decorator has arguments.
        serialized_type_name: See `register_pytree_node`, as for the following ones.
        to_dumpable_context: Turns a context into plain values.
        from_dumpable_context: Turns those values back.
        namespace: Where the registration holds.
        mirror: Other libraries that are told of the class.

    Returns:
        The class, or a decorator where `cls` is left out.

    Raises:
        PyTreeTypeError: `cls` is not a class, one of the two methods is missing, or `__tree_unflatten__` is no
            classmethod.
        PyTreeValueError: As for `register_pytree_node`.
        RegistrationError: As for `register_pytree_node`.

    Example:
        >>> from clika_pytree import pytree
        >>> @pytree.register_pytree_node_class
        ... class Range:
        ...     def __init__(self, low, high):
        ...         self.low, self.high = low, high
        ...     def __tree_flatten__(self):
        ...         return (self.low, self.high), None, ("low", "high")
        ...     @classmethod
        ...     def __tree_unflatten__(cls, context, children):
        ...         return cls(*children)
        >>> pytree.tree_leaves([Range(1, 2), 3])
        [1, 2, 3]
    """

    def decorate(cls: C) -> C:
        caller = "register_pytree_node_class()"
        check_class(caller, cls)
        methods: Any = check_methods(caller, cls)
        check_options(caller, namespace, serialized_type_name, to_dumpable_context, from_dumpable_context)
        rebuild = methods.__tree_unflatten__
        add(
            Registration.function(
                cls,
                namespace,
                methods.__tree_flatten__,
                lambda children, context: rebuild(context, children),
                None,
                serialized_type_name,
                to_dumpable_context,
                from_dumpable_context,
            ),
            caller,
            mirror,
        )
        return cls

    return decorate if cls is None else decorate(cls)


@overload
def register_static(
    cls: C,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    namespace: str = "",
    mirror: Library | Iterable[Library] = (),
) -> C: ...
@overload
def register_static(
    cls: None = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    namespace: str = "",
    mirror: Library | Iterable[Library] = (),
) -> Callable[[C], C]: ...
def register_static(
    cls: type | None = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    namespace: str = "",
    mirror: Library | Iterable[Library] = (),
) -> Any:
    """Register a class whose instances are part of the structure; a function and a decorator.

    An instance becomes a node without children. It is not a leaf: no function maps it, two trees have equal structures
    only where their static objects are equal, and rebuilding puts the same object back. Meant for configuration: the
    class should have an `==` and a hash that go by value.

    Args:
        cls: The class; left out where the decorator has arguments.
        serialized_type_name: See `register_pytree_node`, as for the following ones.
        to_dumpable_context: Turns an instance into plain values.
        from_dumpable_context: Turns those values back into an instance.
        namespace: Where the registration holds.
        mirror: Other libraries that are told of the class.

    Returns:
        The class, or a decorator where `cls` is left out.

    Raises:
        PyTreeTypeError: `cls` is not a class, or an argument has the wrong type.
        PyTreeValueError: As for `register_pytree_node`.
        RegistrationError: As for `register_pytree_node`.

    Example:
        >>> import dataclasses
        >>> from clika_pytree import pytree
        >>> @pytree.register_static
        ... @dataclasses.dataclass(frozen=True)
        ... class Config:
        ...     heads: int
        >>> leaves, spec = pytree.tree_flatten({"w": 1, "config": Config(heads=8)})
        >>> leaves
        [1]
        >>> spec == pytree.tree_structure({"w": 2, "config": Config(heads=4)})
        False
        >>> pytree.tree_unflatten(spec, [10])
        {'w': 10, 'config': Config(heads=8)}
    """

    def decorate(cls: C) -> C:
        caller = "register_static()"
        check_class(caller, cls)
        check_options(caller, namespace, serialized_type_name, to_dumpable_context, from_dumpable_context)
        options = serialized_type_name, to_dumpable_context, from_dumpable_context
        add(Registration.static(cls, namespace, *options), caller, mirror)
        return cls

    return decorate if cls is None else decorate(cls)


def check_methods(caller: str, cls: Any) -> Any:
    """Check the method pair, and give the class back as something that has it."""
    name: str = cls.__qualname__
    for method in ("__tree_flatten__", "__tree_unflatten__"):
        if not callable(getattr(cls, method, None)):
            raise PyTreeTypeError(
                f"{caller} expects {name} to have a method __tree_flatten__(self) and a classmethod "
                f"__tree_unflatten__(cls, context, children), got a class without {method}; {way_out(cls)}"
            )
    if getattr(cls.__tree_flatten__, "__self__", None) is cls:
        raise PyTreeTypeError(
            f"{caller} expects {name}.__tree_flatten__(self) to be called on an instance, got a classmethod; "
            "take @classmethod away"
        )
    if getattr(cls.__tree_unflatten__, "__self__", None) is not cls:
        raise PyTreeTypeError(
            f"{caller} expects {name}.__tree_unflatten__(cls, context, children) to be a classmethod, got something "
            "else; decorate it with @classmethod"
        )
    return cls


def way_out(cls: Any) -> str:
    if callable(getattr(cls, "tree_flatten", None)) and callable(getattr(cls, "tree_unflatten", None)):
        return (
            "it has JAX's tree_flatten and tree_unflatten, which clika_pytree.compat.jax.register_pytree_node_class() "
            "takes as they are"
        )
    return "add it, or pass two functions to register_pytree_node()"
