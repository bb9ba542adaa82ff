"""Registering classes as nodes by two functions, and what all ways to register share."""

from __future__ import annotations

from ._native import PyTreeTypeError, Registration, RegistrationError, register, unregister
from .arguments import check_callable, check_class, check_namespace
from .typing import TYPE_CHECKING
from .wording import described

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .typing import ContextFn, FlattenFn, FlattenWithKeysFn, Library, T, UnflattenFn

__all__ = ["register_pytree_node", "unregister_pytree_node"]


def register_pytree_node(
    cls: type[T],
    flatten_fn: FlattenFn[T],
    unflatten_fn: UnflattenFn[T],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn[T] | None = None,
    namespace: str = "",
    mirror: Library | Iterable[Library] = (),
) -> None:
    """Make every instance of a class a node whose children two functions take out and put back.

    Subclasses are not covered: a node is recognised by its exact type.

    Args:
        cls: The class. Every class can be registered once in each namespace; lists, tuples, dicts and the other
            built-in containers cannot.
        flatten_fn: Called with an instance; returns `(children, context)` or `(children, context, entries)`. Children
            are an iterable, read once. The context is what rebuilding needs beside the children; it is part of the
            structure, so give it an `==` and a hash. Entries name the children in their order, for key paths.
        unflatten_fn: Called with the tuple of children and the context; returns a new instance. Children can be any
            objects, since every tree function may put other values where the leaves were.
        serialized_type_name: The name that stands for the class in a serialized structure; unique in its namespace.
        to_dumpable_context: Turns a context into plain values for serialization.
        from_dumpable_context: Turns those values back into the context. Give both of these functions or neither.
        flatten_with_keys_fn: Called in place of `flatten_fn` where given; returns `(pairs, context)`, each pair
            being an entry and its child.
        namespace: Where the registration holds: `""` for every call, another name for the calls that pass it.
        mirror: Other libraries that are told of the class, `"torch"`, `"jax"` or `"optree"`; see `mirror`.

    Raises:
        PyTreeTypeError: (a `TypeError`) `cls` is not a class, a function is not callable, or a name is not a str.
        PyTreeValueError: (a `ValueError`) `mirror` names a library that classes can't be mirrored in.
        RegistrationError: (a `ValueError`) the class is a built-in container or is registered in this namespace
            already, its serialized name stands for another class, only one of the two context functions is given, or
            a library of `mirror` can't be told of it. Nothing is left behind.

    Example:
        >>> from clika_pytree import pytree
        >>> class Segment:
        ...     def __init__(self, start, end, unit):
        ...         self.start, self.end, self.unit = start, end, unit
        >>> pytree.register_pytree_node(
        ...     Segment,
        ...     lambda s: ((s.start, s.end), s.unit, ("start", "end")),
        ...     lambda children, unit: Segment(children[0], children[1], unit),
        ... )
        >>> leaves, spec = pytree.tree_flatten(Segment(1, [2, 3], "mm"))
        >>> leaves, spec.entries(), spec.context
        ([1, 2, 3], ['start', 'end'], 'mm')
        >>> pytree.tree_map(lambda v: v * 10, Segment(1, 2, "mm")).end
        20
    """
    caller = "register_pytree_node()"
    check_class(caller, cls)
    check_callable(caller, "flatten_fn", flatten_fn)
    check_callable(caller, "unflatten_fn", unflatten_fn)
    if flatten_with_keys_fn is not None:
        check_callable(caller, "flatten_with_keys_fn", flatten_with_keys_fn)
    check_options(caller, namespace, serialized_type_name, to_dumpable_context, from_dumpable_context)
    add(
        Registration.function(
            cls,
            namespace,
            flatten_fn,
            unflatten_fn,
            flatten_with_keys_fn,
            serialized_type_name,
            to_dumpable_context,
            from_dumpable_context,
        ),
        caller,
        mirror,
    )


def unregister_pytree_node(cls: type, namespace: str = "") -> None:
    """Take a registration back: instances of the class are leaves again.

    Specs made before keep working and still rebuild instances, with the functions they were made with. A library in
    which the class was mirrored keeps it; one that has not been imported yet is told no more.

    Args:
        cls: The class.
        namespace: The namespace it was registered in.

    Raises:
        PyTreeTypeError: `cls` is not a class, or `namespace` is not a str.
        PyTreeValueError: (a `ValueError`) the class is not registered in this very namespace.

    Example:
        >>> from clika_pytree import pytree
        >>> class Box:
        ...     def __init__(self, item):
        ...         self.item = item
        >>> pytree.register_pytree_node(Box, lambda b: ((b.item,), None), lambda children, _: Box(*children))
        >>> spec = pytree.tree_structure(Box(1))
        >>> pytree.unregister_pytree_node(Box)
        >>> pytree.is_registered(Box)
        False
        >>> spec.unflatten([2]).item
        2
    """
    check_class("unregister_pytree_node()", cls)
    check_namespace("unregister_pytree_node()", namespace)
    remove(unregister(cls, namespace))


# --- serialized names -------------------------------------------------------------------------------------------------

# By namespace and serialized name, what is registered now: the native table, read from the other side.
_named: dict[tuple[str, str], Registration] = {}


# Asked for names that nothing here is registered under.
named_elsewhere: list[Callable[[str, str], Registration | None]] = []
# Called with what was registered, and with what is registered no more.
on_register: list[Callable[[Registration], None]] = []
on_unregister: list[Callable[[Registration], None]] = []


def add(registration: Registration, caller: str = "", mirror: Any = ()) -> None:
    """Register, and tell other libraries where they can be told."""
    if type(mirror) is tuple and not mirror:
        add_here(registration)
        return
    from .other_libraries.mirroring import mirroring

    tell = mirroring(caller, registration, mirror)
    add_here(registration)
    try:
        tell()
    except BaseException:
        unregister_pytree_node(registration.cls, registration.namespace)
        raise


def add_here(registration: Registration) -> None:
    """Register, with a serialized name that no other class of the namespace has, and tell those who keep it."""
    add_named(registration)
    for tell in on_register:
        tell(registration)


def add_named(registration: Registration) -> None:
    name = registration.serialized_type_name
    if name is None:
        register(registration)
        return
    key = registration.namespace, name
    # One step, so that of two threads with one name only one goes on.
    holder = _named.setdefault(key, registration)
    if holder is not registration and holder.cls is not registration.cls:
        where = f"in namespace {key[0]!r}" if key[0] else "globally"
        raise RegistrationError(
            f"{registration.cls.__qualname__} can't have the serialized_type_name {described(name)}: "
            f"{holder.cls.__qualname__} is registered under it {where}; choose another, a name stands for one class"
        )
    try:
        register(registration)
    except BaseException:
        if holder is registration:
            del _named[key]
        raise
    _named[key] = registration


def remove(registration: Registration) -> None:
    """Free the serialized name of what is registered no more, and tell those who keep it."""
    for forget in on_unregister:
        forget(registration)
    key = registration.namespace, registration.serialized_type_name or ""
    if _named.get(key) is registration:
        del _named[key]


def named(name: str, namespace: str) -> Registration | None:
    """What is registered under a serialized name in this very namespace."""
    found = _named.get((namespace, name))
    for find in named_elsewhere:
        found = found or find(name, namespace)
    return found


def namespaces_with(name: str) -> list[str]:
    """The namespaces in which a class is registered under this serialized name."""
    return sorted(namespace for namespace, other in list(_named) if other == name)


def check_options(
    caller: str,
    namespace: object,
    serialized_type_name: object,
    to_dumpable_context: object,
    from_dumpable_context: object,
) -> None:
    """Check the arguments that all ways of registering share, before anything is registered."""
    check_namespace(caller, namespace)
    if serialized_type_name is not None and not isinstance(serialized_type_name, str):
        raise PyTreeTypeError(
            f"{caller} expects a str or None as serialized_type_name, got {described(serialized_type_name)}"
        )
    if serialized_type_name == "":
        raise RegistrationError(f"{caller} expects a name or None as serialized_type_name, got an empty str")
    pair = {"to_dumpable_context": to_dumpable_context, "from_dumpable_context": from_dumpable_context}
    missing = [name for name, function in pair.items() if function is None]
    if len(missing) == 1:
        raise RegistrationError(
            f"{caller} expects to_dumpable_context and from_dumpable_context together, got no {missing[0]}; "
            "give both, or neither where contexts are plain values"
        )
    if not missing:
        for name, function in pair.items():
            check_callable(caller, name, function)
