"""How two libraries register one class, and whether what they keep of its instances is the same."""

from __future__ import annotations

from clika_pytree._native import DataclassKey, Registration, lookup
from clika_pytree.dataclass_nodes import quoted
from clika_pytree.other_libraries.parts import adopted_from, mirrored
from clika_pytree.plain_values import Refused, exactly
from clika_pytree.spec_builder import CUSTOM, DATACLASS, names_of_entries
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clika_pytree.spec_builder import Builder

__all__: list[str] = []

MANNERS = {"custom": "with functions", "dataclass": "as a dataclass", "static": "as static"}


class Theirs:
    """How another library registers a class: `kind` is "custom", "dataclass" or "static", as in a Registration.

    `is_mirrored` says that the class was mirrored there, or adopted from there: its contexts are ours in every kind.
    """

    __slots__ = ("data_fields", "is_mirrored", "kind", "library", "meta_fields")

    def __init__(
        self, library: str, kind: str, data_fields: Any = (), meta_fields: Any = (), is_mirrored: bool = False
    ) -> None:
        self.library, self.kind, self.is_mirrored = library, kind, is_mirrored
        self.data_fields: tuple[str, ...] = tuple(data_fields)
        self.meta_fields: tuple[str, ...] = tuple(meta_fields)


def theirs_of_mirrored(library: str, flatten: Any) -> Theirs | None:
    """How a class is registered there that was mirrored; None for a flatten function that is not from here."""
    registration = mirrored(flatten)
    if registration is None:
        return None
    fields = registration.data_fields, registration.meta_fields
    return Theirs(library, registration.kind, *fields, is_mirrored=True)


def as_adopted(theirs: Theirs, registration: Registration | None) -> Theirs:
    """The same; but of a class that was adopted from that library, children and contexts are as they are there."""
    if registration is None or adopted_from(registration) != theirs.library:
        return theirs
    return Theirs(theirs.library, "custom", is_mirrored=True)


class FieldNames:
    """Every attribute of it is the attribute's name."""

    def __getattr__(self, name: str) -> str:
        return name


def maker_of(function: Any, module: str) -> str:
    """The function of this module of a library that made the function within it; empty where the user wrote it."""
    if getattr(function, "__module__", None) != module:
        return ""
    name: str = getattr(function, "__qualname__", "")
    return name.partition(".")[0]


def field_names(flatten: Callable[[Any], Any]) -> Any:
    """What the flatten function that a library made for a dataclass gives, with names in the place of values.

    The lists of fields are kept nowhere else. The function only reads attributes: no code of the class runs.
    """
    return flatten(FieldNames())


def by_name(names: tuple[str, ...], values: Any) -> dict[str, Any]:
    """The meta values of a dataclass."""
    if not exactly(values, tuple) or len(values) != len(names):
        raise Refused(f"its context should be the tuple of its {len(names)} meta values, got {described(values)}")
    return dict(zip(names, values, strict=True))


def their_context(registration: Registration, context: Any, theirs: Theirs) -> Any:
    """What the other library needs to know of a node beside its children.

    Of a dataclass that it registers in its own way, these are the meta values by name.
    """
    check_alike(registration, theirs)
    if registration.kind == "dataclass" and not theirs.is_mirrored:
        return by_name(registration.meta_fields, context)
    return context


def add_registered(
    builder: Builder, cls: type, theirs: Theirs, context: Any, arity: int, entries: tuple[Any, ...] | None = None
) -> None:
    """Add a node of a registered class; `context` is what `their_context` gives, or pairs of names and values."""
    registration = lookup(cls, builder.namespace)
    if registration is None:
        raise Refused(
            f"{cls.__qualname__} is a node in {theirs.library} and is not registered here; register it with the same "
            "children and context, or pass the namespace it is registered in"
        )
    check_alike(registration, theirs)
    if registration.kind == "custom":
        builder.container(CUSTOM, arity, names_of_entries(entries), registration, context, entries)
    elif registration.kind == "static":
        builder.static(registration, context, arity)
    else:
        fields = registration.data_fields
        if arity != len(fields):
            raise Refused(f"{cls.__qualname__} has {len(fields)} data fields, and here it has {arity} children")
        try:
            values = by_name(theirs.meta_fields, context) if theirs.is_mirrored else dict(context)
            meta = tuple(values[name] for name in registration.meta_fields)
        except (TypeError, ValueError, KeyError):
            raise Refused(f"its context is not that of the meta fields of {cls.__qualname__}") from None
        builder.container(DATACLASS, arity, (DataclassKey, fields), registration, meta)


def check_alike(registration: Registration, theirs: Theirs) -> None:
    """Refuse a class whose children or contexts are others over there, as far as that can be seen without running it.

    Of two pairs of functions it cannot be seen: they are taken to agree. A library without static classes has them
    registered with functions whose context is the object.
    """
    name, here, there = registration.cls.__qualname__, registration.kind, theirs.kind
    if here != there and (here, there) != ("static", "custom"):
        raise Refused(
            f"{name} is registered {MANNERS[here]} here and {MANNERS[there]} in {theirs.library}, so the two keep "
            "different things beside the children; register it in the same way in both"
        )
    if here != "dataclass":
        return
    lists = (
        ("data", registration.data_fields, theirs.data_fields),
        ("meta", tuple(sorted(registration.meta_fields)), tuple(sorted(theirs.meta_fields))),
    )
    for role, ours, others in lists:
        if ours != others:
            raise Refused(
                f"the {role} fields of {name} are {quoted(ours)} here and {quoted(others)} in {theirs.library}; "
                "register it with the same lists in both"
            )
