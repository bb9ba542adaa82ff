"""Registering dataclasses as nodes: which fields are children, which ride the structure, which are dropped."""

from __future__ import annotations

from ._native import PyTreeTypeError, Registration, RegistrationError
from .arguments import check_class
from .registration import add, check_options
from .typing import TYPE_CHECKING, overload
from .wording import described

if TYPE_CHECKING:
    import dataclasses
    from collections.abc import Callable, Iterable
    from typing import Any, Literal, TypeVar

    from .typing import ContextFn, Library

    C = TypeVar("C", bound=type)
    Fields = dict[str, dataclasses.Field[Any]]

# `dataclasses` is imported where it is used: it loads `inspect`, which costs more than this package.

__all__ = ["register_dataclass"]

CALLER = "register_dataclass()"
INITVAR = " (it is an InitVar)"


@overload
def register_dataclass(
    cls: C,
    data_fields: Iterable[str] | None = None,
    meta_fields: Iterable[str] | None = None,
    *,
    drop_fields: Iterable[str] = (),
    rebuild: Literal["fields", "init"] = "fields",
    namespace: str = "",
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    mirror: Library | Iterable[Library] = (),
) -> C: ...
@overload
def register_dataclass(
    cls: None = None,
    data_fields: Iterable[str] | None = None,
    meta_fields: Iterable[str] | None = None,
    *,
    drop_fields: Iterable[str] = (),
    rebuild: Literal["fields", "init"] = "fields",
    namespace: str = "",
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    mirror: Library | Iterable[Library] = (),
) -> Callable[[C], C]: ...
def register_dataclass(
    cls: type | None = None,
    data_fields: Iterable[str] | None = None,
    meta_fields: Iterable[str] | None = None,
    *,
    drop_fields: Iterable[str] = (),
    rebuild: Literal["fields", "init"] = "fields",
    namespace: str = "",
    serialized_type_name: str | None = None,
    to_dumpable_context: ContextFn | None = None,
    from_dumpable_context: ContextFn | None = None,
    mirror: Library | Iterable[Library] = (),
) -> Any:
    """Make every instance of a dataclass a node; a function, and a decorator with or without arguments.

    Data fields are the children, in the order of their list. Meta fields are part of the structure: the tuple of their
    values, in the order the class declares them, is the context and comes back unchanged. Without lists, the fields
    declared with `metadata={"static": True}` are meta and all others are data.

    Args:
        cls: The dataclass; left out where the decorator has arguments.
        data_fields: Names of the data fields. Give both lists or neither; every field is in exactly one of
            `data_fields`, `meta_fields` and `drop_fields`.
        meta_fields: Names of the meta fields.
        drop_fields: Names of fields that are not kept: a rebuilt instance has their default, or does not have them.
        rebuild: `"fields"` makes the object and sets its fields without running `__init__` or `__post_init__`, so
            that any value may stand where a leaf was, in frozen and slotted classes too. `"init"` calls
            `cls(**fields)`, for classes that derive other attributes there. A field that no constructor takes
            (`init=False`) cannot be kept then: without lists, one that has no default is left to the class to derive;
            one that has a default must be named in `drop_fields`.
        namespace: Where the registration holds: `""` for every call, another name for the calls that pass it.
        serialized_type_name: The name that stands for the class in a serialized structure.
        to_dumpable_context: Turns the tuple of meta values into plain values for serialization.
        from_dumpable_context: Turns those back into the tuple. Give both of these functions or neither.
        mirror: Other libraries that are told of the class, `"torch"`, `"jax"` or `"optree"`; see `mirror`.

    Returns:
        The class, or a decorator where `cls` is left out.

    Raises:
        PyTreeTypeError: (a `TypeError`) `cls` is not a dataclass, or an argument has the wrong type.
        PyTreeValueError: (a `ValueError`) `mirror` names a library that classes can't be mirrored in.
        RegistrationError: (a `ValueError`) a field is in no list, in two, or unknown; only one list is given;
            `rebuild` is another word or cannot work for this class; the class is registered in this namespace
            already, or a library of `mirror` can't be told of it. Nothing is left behind.

    Example:
        >>> import dataclasses
        >>> from clika_pytree import pytree
        >>> @pytree.register_dataclass
        ... @dataclasses.dataclass
        ... class Layer:
        ...     weight: object
        ...     bias: object = None
        ...     name: str = dataclasses.field(default="", metadata={"static": True})
        >>> leaves, spec = pytree.tree_flatten(Layer(1, name="first"))
        >>> leaves, spec.context
        ([1, None], ('first',))
        >>> spec.unflatten([10, 20])
        Layer(weight=10, bias=20, name='first')
    """

    def decorate(cls: C) -> C:
        fields = fields_of(cls)
        check_options(CALLER, namespace, serialized_type_name, to_dumpable_context, from_dumpable_context)
        init = rebuild == "init"
        if not init and rebuild != "fields":
            raise RegistrationError(f'{CALLER} expects "fields" or "init" as rebuild, got {described(rebuild)}')
        data, meta, dropped = sort_fields(cls, fields, data_fields, meta_fields, drop_fields, init)
        if init:
            check_init(cls, fields, data + meta)
        else:
            check_base(cls)
        add(
            Registration.dataclass(
                cls,
                namespace,
                data,
                meta,
                () if init else defaults_of(fields, dropped),
                init,
                serialized_type_name,
                to_dumpable_context,
                from_dumpable_context,
            ),
            CALLER,
            mirror,
        )
        return cls

    return decorate if cls is None else decorate(cls)


def fields_of(cls: Any) -> Fields:
    """The fields by name, in the order the class declares them."""
    import dataclasses

    check_class(CALLER, cls)
    if not hasattr(cls, "__dataclass_fields__"):
        raise PyTreeTypeError(
            f"{CALLER} expects a dataclass, got the class {cls.__qualname__}; decorate it with @dataclass, and write "
            "@register_dataclass above that"
        )
    fields = {field.name: field for field in dataclasses.fields(cls)}
    undeclared = [name for name in own_annotations(cls) if name not in fields]
    if undeclared:
        raise PyTreeTypeError(
            f"{CALLER} got {cls.__qualname__}, which is no dataclass though its base is: {quoted(undeclared)} "
            "would be lost; decorate it with @dataclass, and write @register_dataclass above that"
        )
    return fields


def own_annotations(cls: type) -> list[str]:
    """Names that a subclass annotates without being made a dataclass of its own: a wrong order of decorators."""
    import inspect

    if "__dataclass_fields__" in vars(cls):
        return []
    try:
        annotations = inspect.get_annotations(cls)
    except NameError:  # 3.14 evaluates them here, and a name may exist for type checkers only
        return []
    return [name for name, hint in annotations.items() if "ClassVar" not in str(hint)]


def sort_fields(
    cls: type,
    fields: Fields,
    data_fields: Iterable[str] | None,
    meta_fields: Iterable[str] | None,
    drop_fields: Iterable[str],
    init: bool,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The names of the data fields, the meta fields and the dropped ones."""
    dropped = names_in("drop_fields", drop_fields)
    if data_fields is None and meta_fields is None:
        derived = [name for name, field in fields.items() if init and not field.init and not has_default(field)]
        dropped += tuple(name for name in derived if name not in dropped)
        kept = [name for name in fields if name not in dropped]
        meta = tuple(name for name in kept if fields[name].metadata.get("static"))
        data = tuple(name for name in kept if name not in meta)
    elif data_fields is None or meta_fields is None:
        given, absent = ("meta", "data") if data_fields is None else ("data", "meta")
        raise RegistrationError(
            f"{CALLER} expects data_fields and meta_fields together, got only {given}_fields; add {absent}_fields "
            "(an empty list where there are none)"
        )
    else:
        data = names_in("data_fields", data_fields)
        meta = names_in("meta_fields", meta_fields)
    check_lists(cls, fields, {"data_fields": data, "meta_fields": meta, "drop_fields": dropped})
    return data, tuple(name for name in fields if name in meta), dropped


def names_in(argument: str, names: Any) -> tuple[str, ...]:
    if isinstance(names, str):
        raise PyTreeTypeError(f"{CALLER} expects a list of names as {argument}, got {names!r}; write [{names!r}]")
    if not hasattr(names, "__iter__") or type(names) in (set, frozenset):
        raise PyTreeTypeError(f"{CALLER} expects a list of names as {argument}, got {described(names)}")
    result = tuple(names)
    for name in result:
        if not isinstance(name, str):
            raise PyTreeTypeError(f"{CALLER} expects names of fields in {argument}, got {described(name)}")
    return result


def check_lists(cls: type, fields: Fields, lists: dict[str, Iterable[str]]) -> None:
    """Every field is in exactly one of the lists, and nothing else is."""
    places: dict[str, list[str]] = {}
    for argument, names in lists.items():
        for name in names:
            places.setdefault(name, []).append(argument)
    for name, arguments in places.items():
        if name not in fields:
            raise RegistrationError(
                f"{CALLER} got {name!r} in {arguments[0]}, which is no field of {cls.__qualname__}{pseudo(cls, name)}; "
                f"its fields are {quoted(fields)}"
            )
        if len(arguments) > 1:
            where = " and in ".join(arguments) if arguments[0] != arguments[-1] else f"{arguments[0]} twice"
            raise RegistrationError(
                f"{CALLER} got the field {name!r} of {cls.__qualname__} in {where}; name each field once"
            )
    missing = [name for name in fields if name not in places]
    if missing:
        raise RegistrationError(
            f"{CALLER} expects every field of {cls.__qualname__} in a list, and {quoted(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} in none; add to data_fields (children), meta_fields (part of the "
            "structure) or drop_fields (not kept)"
        )


def check_base(cls: type) -> None:
    """Refuse a class that is more than its fields: setting them brings back no items of a dict."""
    from collections import deque

    for base in (dict, list, deque, tuple, set, frozenset, str, bytes, bytearray, int, float, complex):
        if issubclass(cls, base):
            raise RegistrationError(
                f'{CALLER} with rebuild="fields" sets the fields of {cls.__qualname__} only, but it is also '
                f'a {base.__name__}, whose content would be lost; use rebuild="init" where __post_init__ fills it, or '
                "register_pytree_node()"
            )


def check_init(cls: Any, fields: Fields, kept: tuple[str, ...]) -> None:
    """Refuse a class that `cls(**fields)` cannot rebuild, while the author of the registration is looking."""
    import inspect

    call = f'{CALLER} with rebuild="init" calls {cls.__qualname__}'
    way_out = 'register with rebuild="fields", which runs no __init__'
    initvars = [name for name in cls.__dataclass_fields__ if pseudo(cls, name) == INITVAR]
    if initvars:
        raise RegistrationError(
            f"{call}(**fields), and an instance does not keep its InitVar {quoted(initvars)} to pass it on; {way_out}"
        )
    refused = [name for name in kept if not fields[name].init]
    if refused:
        raise RegistrationError(
            f"{call}(**fields), which takes no field with init=False, got {quoted(refused)}; "
            f"name them in drop_fields where the class derives them, or {way_out}"
        )
    try:
        signature = inspect.signature(cls)
    except Exception:  # no signature to be had: the first rebuild tells
        return
    try:
        signature.bind(**dict.fromkeys(kept))
    except TypeError as error:
        arguments = ", ".join(f"{name}=..." for name in kept)
        raise RegistrationError(f"{call}({arguments}), which cannot work: {error}; {way_out}") from None


def pseudo(cls: Any, name: str) -> str:
    """What a name is that the class annotates and that is no field, in words for a message; else nothing."""
    kind = repr(getattr(cls.__dataclass_fields__.get(name), "_field_type", None))
    return {"_FIELD_INITVAR": INITVAR, "_FIELD_CLASSVAR": " (it is a ClassVar)"}.get(kind, "")


def has_default(field: dataclasses.Field[Any]) -> bool:
    import dataclasses

    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def defaults_of(fields: Fields, names: tuple[str, ...]) -> tuple[tuple[str, object, bool], ...]:
    """The dropped fields that have a default, each with the default or its factory and whether it is a factory."""
    import dataclasses

    found: list[tuple[str, object, bool]] = []
    for name in names:
        field = fields[name]
        if field.default_factory is not dataclasses.MISSING:
            found.append((name, field.default_factory, True))
        elif field.default is not dataclasses.MISSING:
            found.append((name, field.default, False))
    return tuple(found)


def quoted(names: Iterable[str]) -> str:
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown or "none"
