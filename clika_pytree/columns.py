"""Text as it stands in a terminal: its columns, what it is cut to, and characters that must not be printed as they are.

Letters of East Asia and most emoji take two columns, combining marks none.
"""

from __future__ import annotations

from ._native import MappingKey

__all__: list[str] = []

# Vowels and final consonants of Hangul stand in the columns of the letter before them.
JOINED_HANGUL = (range(0x1160, 0x1200), range(0xD7B0, 0xD800))
AS_EMOJI = "\ufe0f"
FIRST_WITHOUT_WIDTH = "\u0300"


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
    for char in text:
        if char < FIRST_WITHOUT_WIDTH:
            found.append(1)
        elif char == AS_EMOJI and found and found[-1] == 1:
            found.append(1)  # as a picture, the character before it takes two columns
        elif category(char) in ("Mn", "Me", "Cf") or any(ord(char) in block for block in JOINED_HANGUL):
            found.append(0)
        else:
            found.append(2 if east_asian_width(char) in "WF" else 1)
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
    shown = one_line(text[: room + 1])
    if len(text) <= room and columns(shown) <= room:
        return shown
    return f"{shown[: fitting(shown, room - 1)]}…"


def cut_middle(text: str, room: int) -> str:
    """The same for text of which both ends say something, such as a name in many parts."""
    if len(text) <= room:
        shown = one_line(text)
        if columns(shown) <= room:
            return shown
    end = room // 3
    first, last = one_line(text[:room]), one_line(text[-end:])
    start = len(last)
    while start and sum(widths(last[start - 1 :])) <= end:
        start -= 1
    return f"{first[: fitting(first, room - 1 - end)]}…{last[start:]}"


def to_the_left(text: str, room: int) -> str:
    return text + " " * (room - columns(text))


def to_the_right(text: str, room: int) -> str:
    return " " * (room - columns(text)) + text
