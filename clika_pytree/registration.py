"""Registering classes as nodes: by two functions, by two methods, or as values without children."""

from __future__ import annotations

from ._native import PyTreeTypeError, Registration, RegistrationError, register, unregister
from .typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from .typing import ContextFn, FlattenFn, FlattenWithKeysFn, T, UnflattenFn

    C = TypeVar("C", bound=type)

__all__ = ["register_pytree_node", "register_pytree_node_class", "register_static", "unregister_pytree_node"]

# Beginnings that are spoken like a consonant: `a Unit`.
LIKE_CONSONANTS = ("eu", "one", "uni", "use", "uti")


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

    Raises:
        PyTreeTypeError: (a `TypeError`) `cls` is not a class, a function is not callable, or a name is not a str.
        RegistrationError: (a `ValueError`) the class is a built-in container or is registered in this namespace
            already, its serialized name stands for another class, or only one of the two context functions is given.
            Nothing is left behind.

    Example:
        >>> from clika_pytree import pytree
        >>> class Segment:
        ...     def __init__(self, start, end, unit):
        ...         self.start, self.end, self.unit = start, end, unit
        >>> pytree.register_pytree_node(
        ...     Segment,
        ...     lambda s: ((s.start, s.end), s.unit, ("start", "end")),
        ...     lambda children, unit: Segment(*children, unit),
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
        )
    )


@overload
def register_pytree_node_class(
    cls: C,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    namespace: str = "",
) -> C: ...
@overload
def register_pytree_node_class(
    cls: None = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    namespace: str = "",
) -> Callable[[C], C]: ...
def register_pytree_node_class(
    cls: type | None = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    namespace: str = "",
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

    Returns:
        The class, or a decorator where `cls` is left out.

    Raises:
        PyTreeTypeError: `cls` is not a class, one of the two methods is missing, or `__tree_unflatten__` is no
            classmethod.
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
            )
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
) -> C: ...
@overload
def register_static(
    cls: None = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    namespace: str = "",
) -> Callable[[C], C]: ...
def register_static(
    cls: type | None = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    namespace: str = "",
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

    Returns:
        The class, or a decorator where `cls` is left out.

    Raises:
        PyTreeTypeError: `cls` is not a class, or an argument has the wrong type.
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
        check_class("register_static()", cls)
        check_options("register_static()", namespace, serialized_type_name, to_dumpable_context, from_dumpable_context)
        add(Registration.static(cls, namespace, serialized_type_name, to_dumpable_context, from_dumpable_context))
        return cls

    return decorate if cls is None else decorate(cls)


def unregister_pytree_node(cls: type, namespace: str = "") -> None:
    """Take a registration back: instances of the class are leaves again.

    Specs made before keep working and still rebuild instances, with the functions they were made with.

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


def add(registration: Registration) -> None:
    """Register, with a serialized name that no other class of the namespace has."""
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
    """Free the serialized name of what is registered no more."""
    key = registration.namespace, registration.serialized_type_name or ""
    if _named.get(key) is registration:
        del _named[key]


def named(name: str, namespace: str) -> Registration | None:
    """What is registered under a serialized name in this very namespace."""
    return _named.get((namespace, name))


def namespaces_with(name: str) -> list[str]:
    """The namespaces in which a class is registered under this serialized name."""
    return sorted(namespace for namespace, other in list(_named) if other == name)


# The checks below run before anything is registered, so that a refused call leaves nothing behind.


def check_class(caller: str, cls: object) -> None:
    if not isinstance(cls, type):
        raise PyTreeTypeError(f"{caller} expects a class, got {described(cls)}; pass the class, not an instance of it")


def check_callable(caller: str, name: str, value: object) -> None:
    if not callable(value):
        raise PyTreeTypeError(f"{caller} expects a function as {name}, got {described(value)}")


def check_methods(caller: str, cls: Any) -> Any:
    """Check the method pair, and give the class back as something that has it."""
    name: str = cls.__qualname__
    for method in ("__tree_flatten__", "__tree_unflatten__"):
        if not callable(getattr(cls, method, None)):
            raise PyTreeTypeError(
                f"{caller} expects {name} to have a method __tree_flatten__(self) and a classmethod "
                f"__tree_unflatten__(cls, context, children), got a class without {method}; add it, or pass two "
                "functions to register_pytree_node()"
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


def check_options(
    caller: str,
    namespace: object,
    serialized_type_name: object,
    to_dumpable_context: object,
    from_dumpable_context: object,
) -> None:
    """Check the arguments that all ways of registering share."""
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


def check_namespace(caller: str, namespace: Any) -> None:
    if isinstance(namespace, tuple):
        raise PyTreeTypeError(
            f"{caller} expects one namespace, got a tuple; tree functions search several, a registration is in one; "
            "call this once for each"
        )
    if not isinstance(namespace, str):
        raise PyTreeTypeError(f'{caller} expects a str as namespace ("" is the global one), got {described(namespace)}')
    try:
        namespace.encode()
    except UnicodeEncodeError:
        raise PyTreeTypeError(
            f"{caller} expects a namespace without lone surrogates, got {described(namespace)}"
        ) from None


def described(value: object) -> str:
    """A value in an error message. Only small plain ones are printed: a tree may be huge or endlessly deep."""
    cls: Any = type(value)
    if value is None or cls is bool or cls is float:
        return repr(value)
    number: Any = value
    if cls is int and -(1 << 127) < number < 1 << 127:
        return repr(value)
    if cls is str or cls is bytes:
        text: Any = value
        return repr(text) if len(text) <= 80 else repr(text[:77]) + "..."
    if issubclass(cls, type):
        return f"the class {class_name(value)}"
    return with_article(class_name(cls))


def with_article(noun: str) -> str:
    """`a list`, `an Array`, `a Unit`: as it is spoken."""
    text = noun.lower()
    if len(text) == 1:
        vowel = text in "aefhilmnorsx"
    else:
        vowel = text == "ndarray" or (text[:1] in tuple("aeiou") and not text.startswith(LIKE_CONSONANTS))
    return f"{'an' if vowel else 'a'} {noun}"


def class_name(cls: Any) -> str:
    """The qualified name of a class, whatever its metaclass says."""
    name: str = type.__dict__["__qualname__"].__get__(cls)
    return name
