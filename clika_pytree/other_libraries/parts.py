"""How another library takes instances of a registered class apart and puts them together: as functions in Python.

They do what the engine does with the registration. Plain closures, so that PyTorch can trace through them.
"""

from __future__ import annotations

from clika_pytree._native import DataclassKey, GetAttrKey, Registration, SequenceKey
from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    # The children, the context, and what names the children or None.
    Apart = tuple[tuple[Any, ...], Any, tuple[Any, ...] | None]

__all__: list[str] = []


class Parts:
    """The functions of a registration: `take(obj)` and `put(children, context)`.

    Making them may import what they need. Using them imports nothing.
    """

    def __init__(self, registration: Registration) -> None:
        self.registration = registration
        self.cls: Any = registration.cls
        self.take = taking_apart(registration)
        self.put = putting_together(registration)

    def marked(self, flatten: Any) -> Any:
        """A flatten function for another library, which says there whose it is."""
        flatten.mirrored = self.registration
        return flatten


def mirrored(flatten: Any) -> Registration | None:
    """The registration here that a flatten function of another library comes from."""
    found: Registration | None = getattr(flatten, "mirrored", None)
    return found if isinstance(found, Registration) else None


def mark_adopted(flatten: Any, title: str) -> Any:
    """A flatten function for a registration here, which says of what library it is."""
    flatten.adopted = title
    return flatten


def adopted_from(registration: Registration) -> str:
    """The library that a registration was adopted from; empty for one of our own."""
    found: Any = getattr(registration.flatten_fn, "adopted", "")
    return found if isinstance(found, str) else ""


def entry_of_name(name: Any) -> Any:
    """The entry whose key is the attribute of this name."""
    return name if isinstance(name, str) and name.isidentifier() else GetAttrKey(str(name))


def entry_of_index(index: Any) -> Any:
    """The entry whose key is this index."""
    return index if index >= 0 else SequenceKey(index)


def taking_apart(registration: Registration) -> Callable[[Any], Apart]:
    """The function that takes an instance apart."""
    if registration.kind == "static":
        return lambda obj: ((), obj, None)
    if registration.kind == "dataclass":
        return taking_fields(registration)
    return taking_pairs(registration) if registration.flatten_with_keys_fn else taking_children(registration)


def taking_fields(registration: Registration) -> Callable[[Any], Apart]:
    data, meta = registration.data_fields, registration.meta_fields
    names = tuple(map(DataclassKey, data))

    def take(obj: Any) -> Apart:
        return tuple([getattr(obj, name) for name in data]), tuple([getattr(obj, name) for name in meta]), names

    return take


def taking_pairs(registration: Registration) -> Callable[[Any], Apart]:
    flatten_with_keys: Any = registration.flatten_with_keys_fn

    def take(obj: Any) -> Apart:
        pairs, context = flatten_with_keys(obj)
        pairs = tuple(pairs)
        return tuple([child for _, child in pairs]), context, tuple([entry for entry, _ in pairs])

    return take


def taking_children(registration: Registration) -> Callable[[Any], Apart]:
    flatten: Any = registration.flatten_fn

    def take(obj: Any) -> Apart:
        children, context, *rest = flatten(obj)
        entries = rest[0] if rest else None
        return tuple(children), context, entries if entries is None else tuple(entries)

    return take


def putting_together(registration: Registration) -> Callable[[Any, Any], Any]:
    """The function that makes an instance of children and a context."""
    if registration.kind == "static":
        return lambda _, context: context
    if registration.kind == "dataclass":
        return calling(registration) if registration.rebuild == "init" else setting_fields(registration)
    unflatten: Any = registration.unflatten_fn
    return lambda children, context: unflatten(tuple(children), context)


def calling(registration: Registration) -> Callable[[Any, Any], Any]:
    cls, names = registration.cls, registration.data_fields + registration.meta_fields

    def put(children: Any, context: Any) -> Any:
        return cls(**dict(zip(names, (*children, *context), strict=True)))

    return put


def setting_fields(registration: Registration) -> Callable[[Any, Any], Any]:
    from clika_pytree.dataclass_nodes import defaults_of, fields_of

    cls: Any = registration.cls
    names = registration.data_fields + registration.meta_fields
    fields = fields_of(cls)
    defaults: Any = defaults_of(fields, tuple(name for name in fields if name not in names))

    def put(children: Any, context: Any) -> Any:
        made: Any = object.__new__(cls)
        for name, value in zip(names, (*children, *context), strict=True):
            object.__setattr__(made, name, value)
        for name, value, is_factory in defaults:
            object.__setattr__(made, name, value() if is_factory else value)
        return made

    return put
