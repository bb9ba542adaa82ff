"""Short words for values and places, shared by errors and reports. Nothing here prints a whole tree."""

from __future__ import annotations

from .columns import cut, cut_middle, one_line
from .typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

LONGEST_TEXT = 80
LONGEST_REPR = 60
PATH_ENDS = 4
MOST_KEYS = 5
LONGEST_SHAPE = 64
MOST_NOTES = 8
# Classes by identity: their `==` and hash are those of a metaclass, which may be anybody's.
CONTAINERS = tuple(map(id, (list, tuple, dict, set, frozenset)))
SMALL = 1 << 64
PLAIN = frozenset(map(id, (int, bool, float, complex, str, bytes, type(None))))
FUNCTIONS = tuple(map(id, (type(lambda: None), type(len), type(str.upper))))
# Beginnings that are spoken like a consonant: `a Unit`.
LIKE_CONSONANTS = ("eu", "one", "uni", "use", "uti")


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
    return one_line(name)


def shorten(text: str, length: int = LONGEST_TEXT) -> str:
    """Text cut to what a message quotes, on one line."""
    return cut(text, length)


def shorten_middle(text: str, length: int = LONGEST_TEXT) -> str:
    """Text of which both ends say something, such as a name in many parts."""
    return cut_middle(text, length)


def how_many(name: str, count: int) -> str:
    return f"{with_article(name)} of {count}" if count else f"an empty {name}"


def counted(count: int, noun: str) -> str:
    """`1 tensor`, `2 tensors`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def class_of(value: object) -> Any:
    return type(value)


def short_name(cls: Any) -> str:
    """The name of a class, whatever its metaclass says."""
    return shorten(type.__dict__["__name__"].__get__(cls))


def key_text(key: Any) -> str:
    """How a key is written; a repr that fails is left out."""
    try:
        return shorten_middle(str(key))
    except Exception:
        return f"[<{short_name(class_of(getattr(key, 'key', key)))}>]"


def path_text(path: Sequence[Any]) -> str:
    """A path for a reader: the middle of a long one is left out."""
    if len(path) <= 2 * PATH_ENDS:
        return "".join(map(key_text, path))
    ends = [*map(key_text, path[:PATH_ENDS]), *map(key_text, path[-PATH_ENDS:])]
    return cut_path(ends, len(path))


def cut_path(texts: Sequence[str], length: int | None = None) -> str:
    """The path of these keys, or of the first and last of `length` keys."""
    length = len(texts) if length is None else length
    if length <= 2 * PATH_ENDS:
        return "".join(texts)
    return f"{''.join(texts[:PATH_ENDS])}…({length - 2 * PATH_ENDS} more)…{''.join(texts[-PATH_ENDS:])}"


def place(path: Sequence[Any]) -> str:
    return f"at {path_text(path)}" if path else "at the root"


def listed(texts: Iterable[str], count: int) -> str:
    """The first few of `count` texts."""
    shown = [text for text, _ in zip(texts, range(MOST_KEYS), strict=False)]
    more = count - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def error_text(error: BaseException) -> str:
    """An exception: its class and what it says. One whose text fails says nothing."""
    try:
        return f"{short_name(type(error))}: {error}"
    except Exception:
        return short_name(type(error))


def add_note(error: Any, note: str) -> None:
    """Add a line to an exception of the user's own code, which keeps its type and matters more than the line."""
    try:
        notes: Any = getattr(error, "__notes__", None)
        if class_of(notes) is list and (len(notes) >= MOST_NOTES or notes[-1:] == [note]):
            return  # an exception that passes through calls inside calls, as one does that ends a recursion
        if hasattr(error, "add_note"):
            error.add_note(note)
        else:  # Python 3.10
            error.__notes__ = [*getattr(error, "__notes__", ()), note]
    except Exception:
        return  # a class may refuse attributes


def value_text(value: Any) -> str:
    """The repr of a value that is no tree, such as a context: bounded in depth and length, and never raising."""
    cls = class_of(value)
    if cls is float or cls is bool or ((cls is str or cls is bytes) and len(value) < LONGEST_REPR):
        return shorten(repr(value))
    if cls is bytes:
        return shorten(repr(value[:LONGEST_TEXT]))  # cut before it is copied whole
    import reprlib

    teller = reprlib.Repr()
    teller.maxlevel = 3
    teller.maxstring = teller.maxother = teller.maxlong = LONGEST_REPR
    try:
        return shorten(teller.repr(value))
    except Exception:
        return with_article(short_name(class_of(value)))


def array_text(value: Any, shape: tuple[int | str, ...], dtype: str) -> str:
    """`ndarray float32[3, 4]`; a scalar of numpy, whose class is a dtype, is `float32(1.5)`.

    No array is asked for its values.
    """
    name = short_name(class_of(value))
    if not shape and dtype.startswith(name):
        try:
            return f"{name}({shorten(str(value))})"
        except Exception:
            return with_article(name)
    return f"{name} {dtype}[{', '.join(map(str, shape))}]"


def array_facts(
    value: Any, known: dict[int, tuple[Any, str]] | None = None
) -> tuple[tuple[int | str, ...], str] | None:
    """Shape and dtype of a tensor of any library, by the attributes they all have; None for everything else.

    A size that is no number, as compilers have them, is given as its text. In `known` are the dtypes seen before, by
    identity, for who asks about many tensors: numpy takes its time to write one.
    """
    if issubclass(class_of(value), type):
        return None
    try:
        shape, dtype = value.shape, value.dtype
        if not issubclass(class_of(shape), (tuple, list)) or dtype is None or len(shape) > LONGEST_SHAPE:
            return None
        sizes = tuple(size if type(size) is int else shorten(str(size)) for size in shape)
        if known is not None and id(dtype) in known:
            return sizes, known[id(dtype)][1]
        # torch and mlx write `torch.float32`, `mlx.core.float32`.
        text = shorten(str(dtype).removeprefix("torch.").removeprefix("mlx.core."))
        if known is not None:
            known[id(dtype)] = dtype, text
        return sizes, text
    except Exception:
        return None


def leaf_text(value: Any, known: dict[int, tuple[Any, str]] | None = None) -> str:
    """A leaf: its value where that is small, its type, shape and dtype where it is an array; `known` as above."""
    cls = class_of(value)
    if value is None or (cls is int and -SMALL < value < SMALL):
        return repr(value)
    if id(cls) in PLAIN:
        return value_text(value)
    if id(cls) in CONTAINERS:
        return how_many(cls.__name__, len(value))
    facts = array_facts(value, known)
    if facts is not None:
        return array_text(value, *facts)
    import enum

    if issubclass(cls, enum.Enum):
        return value_text(value)
    if id(cls) in FUNCTIONS:
        return f"the function {shorten(value.__qualname__)}"
    return shorten(described(value))
