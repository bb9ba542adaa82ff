"""In which order dicts flatten, for each namespace."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar

import clika_pytree
from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

GLOBAL = ""
# The namespaces in which dicts flatten in insertion order.
UNSORTED: ContextVar[frozenset[str]] = ContextVar("UNSORTED", default=frozenset())
# One block of each kind for all calls, of all threads.
SORTED, INSERTED = clika_pytree.dict_insertion_ordered(False), clika_pytree.dict_insertion_ordered(True)


def in_insertion_order(namespace: str) -> bool:
    """How dicts flatten in a namespace."""
    unsorted = UNSORTED.get()
    return bool(unsorted) and not unsorted.isdisjoint((GLOBAL, namespace))


@contextmanager
def dict_insertion_ordered(mode: bool, /, *, namespace: str) -> Generator[None, None, None]:
    """A block in which dicts of a namespace (`""`: of all) flatten in insertion order, or by sorted key."""
    others = UNSORTED.get() - {namespace}
    token = UNSORTED.set(others | {namespace} if mode else others)
    try:
        yield
    finally:
        UNSORTED.reset(token)


def as_in(namespace: str) -> clika_pytree.dict_insertion_ordered:
    """The block in which a tree is read."""
    return INSERTED if in_insertion_order(namespace) else SORTED
