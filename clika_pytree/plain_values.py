"""Plain values as JSON and back, each with its exact type.

A value is one or more items of a flat list: a tuple says how many values follow, so the depth of a value is no depth
of the JSON. None, booleans, texts and integers that every JSON reader keeps are themselves; the others are objects with
one member, `{"float": "-0.0"}`. JSON numbers would not do for floats: some tools write 1 for 1.0.
"""

from __future__ import annotations

from ._native import DataclassKey, FlattenedIndexKey, GetAttrKey, MappingKey, SequenceKey
from .typing import TYPE_CHECKING
from .wording import described

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any

__all__: list[str] = []

# Beyond these a reader that has only doubles would round.
LARGEST_NUMBER = 2**53 - 1
# Hashing a tuple recurses in C, on the stack of whoever reads a forged text.
DEEPEST_KEY = 200

CONTAINERS: dict[type, str] = {tuple: "tuple", list: "list", dict: "dict"}
KEY_CLASSES: dict[str, type] = {
    cls.__name__: cls for cls in (SequenceKey, MappingKey, GetAttrKey, DataclassKey, FlattenedIndexKey)
}


class Refused(Exception):
    """Why something can't be written or read; whoever knows its place says so to the user."""


def class_of(value: Any) -> Any:
    return type(value)  # pyright: ignore[reportUnknownVariableType]


def exactly(value: Any, *classes: type) -> bool:
    """Whether it is of one of these very classes. To a type checker, what was read is Any and stays so."""
    return type(value) in classes


# --- writing ----------------------------------------------------------------------------------------------------------


def write(values: Collection[Any]) -> list[Any]:
    """The items of several values, one value after the other."""
    if are_texts(values) and "".join(values).isascii():
        return [*values]
    items: list[Any] = []
    walks: list[Iterator[Any]] = [iter(values)]
    around: list[int] = []
    open_containers: set[int] = set()
    while walks:
        for value in walks[-1]:
            cls = class_of(value)
            tag = CONTAINERS.get(cls)
            if tag is None:
                items.append(scalar(value))
                continue
            if id(value) in open_containers:
                raise Refused(f"it holds a {tag} that contains itself")
            if tag == "dict":
                check_keys(value)
            items.append({tag: len(value)})
            walks.append((part for pair in value.items() for part in pair) if tag == "dict" else iter(value))
            around.append(id(value))
            open_containers.add(id(value))
            break
        else:
            walks.pop()
            if around:
                open_containers.discard(around.pop())
    return items


def are_texts(values: Iterable[Any]) -> bool:
    """Whether all are plain str, as most keys are."""
    return {*map(class_of, values)} == {str}


def write_entries(entries: Iterable[Any]) -> list[Any]:
    """The items of the entries of a node: plain values, and key objects around them."""
    items: list[Any] = []
    for entry in entries:
        if is_key(entry):
            items.append({"key": type(entry).__name__})
            entry = getattr(entry, entry.__match_args__[0])
        items.extend(write((entry,)))
    return items


def is_key(entry: Any) -> bool:
    """Whether it is an object of one of the five classes of keys."""
    cls = class_of(entry)
    return KEY_CLASSES.get(cls.__name__) is cls


def scalar(value: Any) -> Any:
    """The item of a value that holds no others."""
    cls = class_of(value)
    if value is None or cls is bool:
        return value
    if cls is int:
        return value if -LARGEST_NUMBER <= value <= LARGEST_NUMBER else {"int": hex(value)}
    if cls is float:
        return {"float": float_text(value)}
    if cls is complex:
        return {"complex": [float_text(value.real), float_text(value.imag)]}
    if cls is bytes:
        return {"bytes": value.hex()}
    if cls is str:
        # JSON joins two surrogates that a Python str keeps apart.
        surrogates = not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value)
        return {"str": value.encode("utf-8", "surrogatepass").hex()} if surrogates else value
    raise Refused(f"it holds {described(value)}")


def float_text(value: float) -> str:
    """A float as text that gives back every bit, those of a NaN too."""
    if value == value:
        return repr(value)
    from struct import pack

    return "nan:" + pack(">d", value).hex()


def check_keys(keys: Iterable[Any]) -> None:
    for key in keys:
        level = [key] if exactly(key, tuple) else []
        for _ in range(DEEPEST_KEY):
            if not level:
                break
            level = [part for item in level for part in item if exactly(part, tuple)]
        else:
            raise Refused(f"it has a key of more than {DEEPEST_KEY} nested tuples")


# --- reading ----------------------------------------------------------------------------------------------------------


def read(items: Any, what: str) -> list[Any]:
    """The values of a flat list of items; `what` says in an error which list that is."""
    return read_items(items, what, ())


def read_one(items: Any, what: str) -> Any:
    """The value of a list of items that is one value."""
    values = read(items, what)
    if len(values) != 1:
        raise Refused(f"{what} should be one value, got {len(values)}")
    return values[0]


def read_entries(items: Any, what: str) -> list[Any]:
    return read_items(items, what, KEY_CLASSES)


def read_keys(items: Any, known: set[tuple[str, ...]] | None = None) -> tuple[Any, ...]:
    """The keys of a dict. `known` has, and gets, those that are texts, so that they are looked at once."""
    texts = tuple(items) if exactly(items, list) and are_texts(items) else None
    if texts is not None and known is not None and texts in known:
        return texts
    if texts is not None:
        keys: Any = texts
    else:
        keys = read(items, "its list of keys")
        check_keys(keys)
    try:
        different = len(dict.fromkeys(keys)) == len(keys)
    except TypeError:
        raise Refused("a list or dict stands where a key should") from None
    if not different:
        raise Refused("the same key is in it twice")
    if texts is not None and known is not None:
        known.add(texts)
    return tuple(keys)


def read_items(items: Any, what: str, key_classes: Iterable[str]) -> list[Any]:
    if not exactly(items, list):
        raise Refused(f"{what} should be a list, got {described(items)}")
    values: list[Any] = []
    # The containers that are open: what they are, of how many parts, and the parts of the container around.
    open_containers: list[tuple[str, int, list[Any]]] = []
    parts = values
    wrapper: Any = None
    for item in items:
        if item is None or exactly(item, bool, int, str):
            parts.append(item)
        else:
            tag, content = only_member(item, what)
            if tag in ("tuple", "list", "dict"):
                open_containers.append((tag, count(content, f"the size of a {tag}") * (1 + (tag == "dict")), parts))
                parts = []
            elif tag == "key" and parts is values and wrapper is None and content in key_classes:
                wrapper = KEY_CLASSES[content]
                continue
            else:
                parts.append(read_scalar(tag, content))
        while open_containers and len(parts) == open_containers[-1][1]:
            tag, _, outer = open_containers.pop()
            outer.append(gather(tag, parts))
            parts = outer
        if wrapper is not None and parts is values:
            values.append(wrapper(values.pop()))
            wrapper = None
    if open_containers or wrapper is not None:
        raise Refused(f"{what} ends within a value")
    return values


def only_member(item: Any, what: str) -> tuple[str, Any]:
    if not exactly(item, dict) or len(item) != 1:
        raise Refused(f"{what} has an item that is no value: {described(item)}")
    ((tag, content),) = item.items()
    return tag, content


def count(number: Any, what: str) -> int:
    """A number of things that a text says there are."""
    if not exactly(number, int) or not 0 <= number < 2**32:
        raise Refused(f"{what} should be a number from 0 to 4294967295, got {described(number)}")
    checked: int = number
    return checked


def gather(tag: str, parts: list[Any]) -> Any:
    if tag == "list":
        return parts
    if tag == "tuple":
        return tuple(parts)
    keys = parts[::2]
    check_keys(keys)
    try:
        made = dict(zip(keys, parts[1::2], strict=True))
    except TypeError:
        raise Refused("a list or dict stands where a key should") from None
    if len(made) != len(keys):
        raise Refused("it holds a dict with the same key twice")
    return made


def read_scalar(tag: str, content: Any) -> Any:
    try:
        if tag == "complex" and exactly(content, list):
            real, imag = content
            return complex(read_float(real), read_float(imag))
        if exactly(content, str):
            if tag == "float":
                return read_float(content)
            if tag == "int":
                return same(content, int(content, 16), hex)
            if tag in ("bytes", "str"):
                raw = same(content, bytes.fromhex(content), bytes.hex)
                return raw if tag == "bytes" else raw.decode("utf-8", "surrogatepass")
    except (ValueError, TypeError):
        pass
    raise Refused(f"{described(tag)} with {described(content)} is no value")


def read_float(text: Any) -> float:
    if exactly(text, str) and text.startswith("nan:"):
        from struct import unpack

        raw = bytes.fromhex(text[4:])
        value: float = unpack(">d", raw)[0] if len(raw) == 8 else 0.0
    else:
        value = float(text)
    same(text, value, float_text)
    return value


def same(text: Any, value: Any, write: Any) -> Any:
    """Refuse the spellings that Python's parsers take and we never write."""
    if write(value) != text:
        raise ValueError
    return value
