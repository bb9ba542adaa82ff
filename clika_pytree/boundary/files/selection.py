"""Which tensors of a file are asked for."""

from __future__ import annotations

from clika_pytree._native import (
    DataclassKey,
    FlattenedIndexKey,
    GetAttrKey,
    MappingKey,
    PyTreeTypeError,
    PyTreeValueError,
    SequenceKey,
    keystr,
)
from clika_pytree.plain_values import exactly
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described, listed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from clika_pytree.typing import KeyPath

    from .opened import Opened

    Only: TypeAlias = str | KeyPath | Callable[[str], object] | None

__all__ = ["Selection"]

KEYS = (SequenceKey, MappingKey, GetAttrKey, DataclassKey, FlattenedIndexKey)


class Selection:
    """What of a file is to be loaded.

    Attributes:
        names: The names of the tensors, in the order of the file.
        values: The keys of the plain values of a flat dict. Those of a tree are all there.
    """

    def __init__(self, opened: Opened, only: Any) -> None:
        document = opened.document
        is_tree = document is not None and document.kind == "tree"
        self.names = [*opened.entries]
        self.values = [] if document is None or is_tree else [key for _, key, _ in document.values]
        if only is None:
            return
        if callable(only):
            picks, what = only, "its function picks none of them"
        else:
            prefix = prefix_of(only, is_tree)
            picks, what = Below(prefix, is_tree), f"none begins with {described(prefix)}"
        self.names = [name for name in self.names if picks(name)]
        self.values = [key for key in self.values if picks(key)]
        if not self.names and not self.values:
            names = listed(map(repr, opened.entries), len(opened.entries))
            raise PyTreeValueError(
                f"{opened.name}: there is nothing to load: {what}; its tensors are {names or 'none'}"
            )


def prefix_of(only: Any, is_tree: bool) -> str:
    if exactly(only, str):
        text: str = only
        return text
    if not exactly(only, tuple):
        raise PyTreeTypeError(
            "load() expects the beginning of a key path, as text or as a tuple of keys, or a function of names, as "
            f"only, got {described(only)}"
        )
    for key in only:
        if not exactly(key, *KEYS):
            raise PyTreeTypeError(
                "load() expects the keys of a path as only, such as (MappingKey('layers'), SequenceKey(0)), and "
                f"there is {described(key)} in the tuple"
            )
    path: KeyPath = only
    if not is_tree and len(path) == 1 and isinstance(path[0], MappingKey) and exactly(path[0].key, str):
        name: str = path[0].key
        return name
    return keystr(path)


class Below:
    """Whether a name is that of a prefix or of what is below it: the prefix ends where a key does."""

    def __init__(self, prefix: str, is_tree: bool) -> None:
        self.prefix, self.goes_on = prefix, "[." if is_tree else "."
        self.ends_a_key = not prefix or (not is_tree and prefix.endswith("."))

    def __call__(self, name: str) -> bool:
        prefix = self.prefix
        if not name.startswith(prefix):
            return False
        return self.ends_a_key or len(name) == len(prefix) or name[len(prefix)] in self.goes_on
