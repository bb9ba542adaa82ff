"""How a plain value is written in a key path, in plain Python."""

from __future__ import annotations

import re
import unicodedata
from typing import Any


def is_plain(key: Any) -> bool:
    if type(key) is tuple:
        return all(is_plain(item) for item in key)
    return type(key) in (type(None), bool, int, float, complex, str, bytes)


def written(value: Any) -> str:
    """A plain value as Python writes it, but a character that this Python does not know yet is not escaped."""
    if type(value) is tuple:
        return f"({', '.join(map(written, value))}{',' * (len(value) == 1)})"
    if type(value) is not str:
        return repr(value)

    def shown(escape: re.Match[str]) -> str:
        if escape[0][1] not in "uU":
            return escape[0]
        char = chr(int(escape[0][2:], 16))
        return char if unicodedata.category(char) == "Cn" and not NEVER_SHOWN.match(char) else escape[0]

    return re.sub(r"\\(?:u[0-9a-f]{4}|U[0-9a-f]{8}|.)", shown, repr(value))


NEVER_SHOWN = re.compile(
    "[\u0890\u0891\ufdd0-\ufdef\ufff0-\uffff\U00013430-\U0001343f\U000e0000-\U000e00ff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "\U000f0000-\U0010ffff\u2065]"
)
