"""Classes that can be registered in every manner, and what the reference makes of each registration."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import reference
from reference import Rule

from clika_pytree import pytree

NAMESPACES = ["", "machine.a", "machine.b"]
SEARCHED: list[Any] = [*NAMESPACES, ("machine.a", "machine.b"), ("machine.b", "machine.a"), ("machine.none",), ()]


class Methods:
    """The pair of methods, for `register_pytree_node_class`."""

    __slots__ = ()

    def __tree_flatten__(self) -> tuple:
        return (self.a, self.b), "methods", ("a", "b")  # type: ignore[attr-defined]

    @classmethod
    def __tree_unflatten__(cls, context: str, children: tuple) -> Any:
        assert context == "methods"
        return cls(*children)


def make_dataclass() -> type:
    @dataclasses.dataclass(frozen=True)
    class Thing(Methods):
        a: Any
        b: Any

    return Thing


def make_namedtuple() -> type:
    """A node without being registered, and another one when it is."""

    class Base(NamedTuple):
        a: Any
        b: Any

    return type("Row", (Base, Methods), {"__slots__": ()})


def both(cls: type, **options: Any) -> Rule:
    flatten: Callable = lambda thing: ((thing.a, thing.b), "both")  # noqa: E731
    unflatten: Callable = lambda children, _: cls(*children)  # noqa: E731
    pytree.register_pytree_node(cls, flatten, unflatten, **options)
    return Rule("custom", cls, options["namespace"], flatten, unflatten)


def one_child(cls: type, **options: Any) -> Rule:
    flatten: Callable = lambda thing: ([thing.b], thing.a, ("b",))  # noqa: E731
    unflatten: Callable = lambda children, a: cls(a, *children)  # noqa: E731
    pytree.register_pytree_node(cls, flatten, unflatten, **options)
    return Rule("custom", cls, options["namespace"], flatten, unflatten)


def methods(cls: Any, **options: Any) -> Rule:
    assert pytree.register_pytree_node_class(cls, **options) is cls
    unflatten: Callable = lambda children, context: cls.__tree_unflatten__(context, children)  # noqa: E731
    return Rule("custom", cls, options["namespace"], cls.__tree_flatten__, unflatten)


def static(cls: type, **options: Any) -> Rule:
    assert pytree.register_static(cls, **options) is cls
    return Rule("static", cls, options["namespace"])


def fields(*data: str) -> Callable[..., Rule]:
    meta = tuple(name for name in ("a", "b") if name not in data)

    def register(cls: type, **options: Any) -> Rule:
        pytree.register_dataclass(cls, data, meta, **options)
        return Rule("dataclass", cls, options["namespace"], data_fields=data, meta_fields=meta)

    return register


MANNERS: list[Callable[..., Rule]] = [both, one_child, methods, static]
DATACLASS_MANNERS = [fields("a"), fields("b"), fields("a", "b"), fields("b", "a"), fields()]


def manners_of(cls: type) -> list[Callable[..., Rule]]:
    return [*MANNERS, *DATACLASS_MANNERS] if dataclasses.is_dataclass(cls) else MANNERS


def classes_in(node: reference.Node) -> set[type]:
    found = {node.type} if node.type else set()
    return found.union(*(classes_in(child) for child in node.children))
