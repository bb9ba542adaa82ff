"""Short words for values and places, shared by errors and reports. Nothing here prints a whole tree."""

from __future__ import annotations

from .registration import described
from .typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

LONGEST_TEXT = 80
PATH_ENDS = 4
MOST_KEYS = 5
CONTAINERS = ("list", "tuple", "dict", "OrderedDict", "defaultdict", "deque", "set", "frozenset")


def shorten(text: str, length: int = LONGEST_TEXT) -> str:
    """Text cut to what a message quotes."""
    return text if len(text) <= length else text[: length - 1] + "…"


def with_article(noun: str) -> str:
    return f"{'an' if noun[:1] in 'aeiouAEIOU' else 'a'} {noun}"


def how_many(name: str, count: int) -> str:
    return f"{with_article(name)} of {count}" if count else f"an empty {name}"


def class_of(value: object) -> Any:
    return type(value)


def key_text(key: Any) -> str:
    """How a key is written; a repr that fails is left out."""
    try:
        return shorten(str(key))
    except Exception:
        return f"[<{type(key).__name__}>]"


def path_text(path: Sequence[Any]) -> str:
    """A path for a reader: the middle of a long one is left out."""
    if len(path) <= 2 * PATH_ENDS:
        return "".join(map(key_text, path))
    first = "".join(map(key_text, path[:PATH_ENDS]))
    last = "".join(map(key_text, path[-PATH_ENDS:]))
    return f"{first}…({len(path) - 2 * PATH_ENDS} more)…{last}"


def place(path: Sequence[Any]) -> str:
    return f"at {path_text(path)}" if path else "at the root"


def listed(texts: Iterable[str], count: int) -> str:
    """The first few of `count` texts."""
    shown = [text for text, _ in zip(texts, range(MOST_KEYS), strict=False)]
    more = count - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def error_text(error: BaseException) -> str:
    """An exception: its class and what it says. One whose text fails says nothing."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def add_note(error: Any, note: str) -> None:
    """Add a line to an exception of the user's own code, which keeps its type and matters more than the line."""
    try:
        if hasattr(error, "add_note"):
            error.add_note(note)
        else:  # Python 3.10
            error.__notes__ = [*getattr(error, "__notes__", ()), note]
    except Exception:
        return  # a class may refuse attributes


def value_text(value: Any) -> str:
    """The repr of a value that is no tree, such as a context: bounded in depth and length, and never raising."""
    import reprlib

    teller = reprlib.Repr()
    teller.maxlevel, teller.maxstring, teller.maxother, teller.maxlong = 3, 60, 60, 60
    try:
        return shorten(teller.repr(value))
    except Exception:
        return with_article(type(value).__name__)


def array_text(value: Any) -> str | None:
    """`float32[3, 4]` for what has a shape and a dtype, else None. No array is asked for its values."""
    facts = array_facts(value)
    if facts is None:
        return None
    shape, dtype = facts
    return f"{dtype}[{', '.join(map(str, shape))}]"


def array_facts(value: Any) -> tuple[tuple[Any, ...], str] | None:
    """Shape and dtype of a tensor of any library, by the attributes they all have."""
    if isinstance(value, type):
        return None
    try:
        shape, dtype = tuple(value.shape), value.dtype
        # torch and mlx write `torch.float32`, `mlx.core.float32`.
        return shape, shorten(str(dtype).removeprefix("torch.").removeprefix("mlx.core."))
    except Exception:
        return None


def leaf_text(value: Any) -> str:
    """A leaf: its value where that is small, its type, shape and dtype where it is an array."""
    import enum

    array = array_text(value)
    if array is not None:
        return f"{type(value).__name__} {array}"
    name = type(value).__name__
    if name in CONTAINERS and hasattr(value, "__len__"):
        return how_many(name, len(value))
    if isinstance(value, (int, complex, enum.Enum, type)) or callable(value):
        return value_text(value)
    if value is None or type(value) in (str, bytes, float):
        return value_text(value)
    return described(value)
