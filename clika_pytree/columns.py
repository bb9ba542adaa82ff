"""Text as it stands in a terminal: its columns, what it is cut to, and characters that must not be printed as they are.

Letters of East Asia and most emoji take two columns, combining marks none.
"""

from __future__ import annotations

from ._native import MappingKey
from .typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    T = TypeVar("T", str, bytes)

__all__: list[str] = []

# Of every table and list that is printed.
WIDTH = 80

# Vowels and final consonants of Hangul stand in the columns of the letter before them.
JOINED_HANGUL = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))
AS_EMOJI = "\ufe0f"
# What is put before a text, whose width may not change with it.
NO_EMOJI = " …"
FIRST_WITHOUT_WIDTH = "\u0300"
# How many characters a column of a text has that is looked at whole: marks on a letter take none.
MOST_CHARACTERS = 4


def one_line(text: str) -> str:
    """Text that can be printed everywhere: what moves the cursor or turns the direction of writing is an escape."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else " " if char == "\n" else str(MappingKey(char))[2:-2] for char in text
    )


def columns(text: str) -> int:
    """How many columns a text takes."""
    return len(text) if text.isascii() else sum(widths(text))


def widths(text: str) -> list[int]:
    """The columns of each character."""
    from unicodedata import category, east_asian_width

    found: list[int] = []
    before = ""
    for char in text:
        if char < FIRST_WITHOUT_WIDTH:
            found.append(1)
        elif char == AS_EMOJI and found and found[-1] == 1 and before not in NO_EMOJI:
            found.append(1)  # as a picture, the character before it takes two columns
        elif category(char) in ("Mn", "Me", "Cf") or any(ord(char) in block for block in JOINED_HANGUL):
            found.append(0)
        else:
            found.append(2 if east_asian_width(char) in "WF" else 1)
        before = char
    return found


def fitting(text: str, room: int) -> int:
    """How many characters from the start fit into so many columns."""
    if text.isascii():
        return max(min(len(text), room), 0)
    taken = 0
    for place, width in enumerate(widths(text)):
        taken += width
        if taken > room:
            return place
    return len(text)


def cut(text: str, room: int) -> str:
    """Text of no more columns than there is room, on one line."""
    if len(text) <= room and text.isascii() and text.isprintable():
        return text
    shown = one_line(text[: MOST_CHARACTERS * room + 1])
    if len(text) <= MOST_CHARACTERS * room and columns(shown) <= room:
        return shown
    return f"{shown[: fitting(shown, room - 1)]}…"


def cut_middle(text: str, room: int) -> str:
    """The same for text of which both ends say something, such as a name in many parts."""
    if len(text) <= MOST_CHARACTERS * room:
        shown = one_line(text)
        if columns(shown) <= room:
            return shown
    end = room // 3
    first, last = one_line(text[:room]), one_line(text[-end:])
    start = len(last)
    while start and sum(widths(last[start - 1 :])) <= end:
        start -= 1
    return f"{first[: fitting(first, room - 1 - end)]}…{last[start:]}"


def cut_apart(one: str, other: str, room: int) -> tuple[str, str]:
    """Two texts cut to so much room each, in such a way that they are still told apart."""
    one, other = one_line(one), one_line(other)
    for cutting in (cut, cut_middle):
        shown = cutting(one, room), cutting(other, room)
        if shown[0] != shown[1]:
            return shown
    start = max(alike(one, other) - room // 3, 0)
    rest = cut(one[start:], room - 1), cut(other[start:], room - 1)
    return f"…{rest[0]}", f"…{rest[1]}"


def alike(one: T, other: T) -> int:
    """How much of the beginnings of two texts is the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def filled(parts: Iterable[str], width: int = WIDTH) -> list[str]:
    """The parts with spaces between them, on few lines; of one that is wider than that the middle is left out."""
    lines: list[str] = []
    for part in parts:
        part = cut_middle(part, width)
        if lines and columns(longer := f"{lines[-1]} {part}") <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def to_the_left(text: str, room: int) -> str:
    return text + " " * (room - columns(text))


def to_the_right(text: str, room: int) -> str:
    return " " * (room - columns(text)) + text
