"""Which tensors of a file are asked for."""

from __future__ import annotations

from clika_pytree._native import PyTreeTypeError, PyTreeValueError, keystr
from clika_pytree.registration import described
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, listed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from .opened import Opened

    Only: TypeAlias = str | tuple[Any, ...] | Callable[[str], object] | None

__all__ = ["selected"]


def selected(opened: Opened, only: Any) -> list[str]:
    """The names of the tensors to load, in the order of the file."""
    if only is None:
        return [*opened.entries]
    is_tree = opened.document is not None and opened.document.kind == "tree"
    is_function = callable(only)
    if is_function:
        found = [name for name in opened.entries if only(name)]
    elif class_of(only) is str or class_of(only) is tuple:
        prefix: str = only if class_of(only) is str else keystr(only)
        goes_on = "[." if is_tree else "."
        if not is_tree and prefix.endswith("."):
            found = [name for name in opened.entries if name.startswith(prefix)]
        else:
            found = [name for name in opened.entries if is_below(name, prefix, goes_on)]
    else:
        raise PyTreeTypeError(
            f"load() expects the beginning of a key path or a function of names as only, got {described(only)}"
        )
    if not found:
        what = "its function picks none of them" if is_function else f"none begins with {described(only)}"
        names = listed(map(repr, opened.entries), len(opened.entries))
        raise PyTreeValueError(f"{opened.name}: there is nothing to load: {what}; its tensors are {names or 'none'}")
    return found


def is_below(name: str, prefix: str, goes_on: str) -> bool:
    """Whether a name is that of a prefix or of what is below it: the prefix ends where a key does."""
    return name.startswith(prefix) and (len(name) == len(prefix) or not prefix or name[len(prefix)] in goes_on)
