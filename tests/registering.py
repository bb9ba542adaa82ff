"""For tests that register classes: classes, and a fixture that takes registrations back (import it to use it)."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import clika_pytree as cp
from clika_pytree import _native, pytree, registration


@pytest.fixture(autouse=True)
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made: list[tuple[weakref.ref, str]] = []

    def recording(entry: _native.Registration) -> None:
        _native.register(entry)
        made.append((weakref.ref(entry.cls), entry.namespace))

    monkeypatch.setattr(registration, "register", recording)
    yield
    for ref, namespace in made:
        cls = ref()
        if cls is not None:
            with contextlib.suppress(ValueError):  # the test has done it
                cp.unregister_pytree_node(cls, namespace)


def make_pair() -> type:
    """A new class at each call; all of them have one qualified name."""

    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

        def __eq__(self, other: object) -> bool:
            return type(other) is type(self) and vars(other) == vars(self)

        def __hash__(self) -> int:
            return hash((self.a, self.b))

    return Pair


def register(cls: type, **options: Any) -> None:
    pytree.register_pytree_node(cls, lambda p: ((p.a, p.b), None), lambda children, _: cls(*children), **options)


def make_methods_class() -> type:
    class Holder:
        def __init__(self, items: list, note: str) -> None:
            self.items, self.note = items, note

        def __tree_flatten__(self) -> tuple:
            return self.items, self.note, [f"item{i}" for i in range(len(self.items))]

        @classmethod
        def __tree_unflatten__(cls, context: str, children: tuple) -> Any:
            assert isinstance(context, str)
            return cls(list(children), context)

    return Holder


def round_trip(obj: Any) -> Any:
    leaves, spec = pytree.tree_flatten(obj)
    return spec.unflatten(leaves)
