"""Files of tensors for tests: written by hand, compared, and spoiled."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np

import clika_pytree as cp


def content(header: bytes | str | dict, data: bytes = b"") -> bytes:
    """The bytes of a file with this header."""
    if isinstance(header, dict):
        header = json.dumps(header)
    raw = header if isinstance(header, bytes) else header.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(raw)) + raw + data


def entry(start: int, end: int, dtype: str = "U8", shape: list | None = None) -> dict:
    return {"dtype": dtype, "shape": [end - start] if shape is None else shape, "data_offsets": [start, end]}


def header_of(path: Path) -> dict[str, Any]:
    """The header of a file, in its order."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length])


CHANGES = [
    *[(b"F32", b"F16"), (b"U8", b"I8"), (b'"b"', b'"a"'), (b"shape", b"dtype"), (b"[0,", b"[1,")],
    *[(b",", b", "), (b":", b" :"), (b"{", b"{ "), (b"1", b"01"), (b"2", b"2.0"), (b"3", b"18446744073709551616")],
]


def spoiled(raw: bytes, draw: random.Random) -> bytes:
    """A file that was changed in a few places, its header rather than its data."""
    raw = bytearray(raw)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        (length,) = struct.unpack("<Q", raw[:8])
        end = min(len(raw), 8 + min(length, 1 << 20))
        at = draw.randrange(8, end) if end > 8 else 0
        kind = draw.randrange(8)
        if kind == 0:
            raw[at] = draw.choice(b'0123456789[]{},:" \\uxFI-.eE\x00\xff')
        elif kind == 1:
            del raw[at : at + draw.randrange(1, 9)]
            raw[:8] = struct.pack("<Q", max(0, length - draw.randrange(9)))
        elif kind == 2:
            piece = raw[at : at + draw.randrange(1, 40)]
            raw[at:at] = piece
            raw[:8] = struct.pack("<Q", length + len(piece))
        elif kind == 3:
            raw[draw.randrange(8)] ^= 1 << draw.randrange(8)
        elif kind == 4:
            del raw[draw.randrange(len(raw)) :]
        elif kind == 5:
            raw += bytes(draw.randrange(1, 9))
        elif kind == 6:
            digits = [i for i in range(8, end) if raw[i] in b"0123456789"]
            if digits:
                raw[draw.choice(digits)] = draw.choice(b"0123456789")
        else:
            text = bytes(raw[8:end])
            old, new = draw.choice(CHANGES)
            text = text.replace(old, new, 1)
            raw[8:end] = text
            raw[:8] = struct.pack("<Q", length + len(text) - (end - 8))
        if len(raw) < 8:
            raw += bytes(8 - len(raw))
    return bytes(raw)


def same_array(a: Any, b: Any) -> bool:
    """Equal in class, dtype, shape and bits; the byte order of the memory is no part of that."""
    a, b = np.asarray(a), np.asarray(b)
    return (
        a.dtype.newbyteorder("=") == b.dtype.newbyteorder("=")
        and a.shape == b.shape
        and a.astype(a.dtype.newbyteorder("<")).tobytes() == b.astype(b.dtype.newbyteorder("<")).tobytes()
    )


def same_tree(a: Any, b: Any) -> bool:
    """Equal in structure and in every leaf."""
    leaves, others = cp.tree_leaves(a), cp.tree_leaves(b)
    return cp.tree_structure(a) == cp.tree_structure(b) and all(
        same_array(x, y) if isinstance(x, (np.ndarray, np.generic)) else type(x) is type(y) and repr(x) == repr(y)
        for x, y in zip(leaves, others, strict=True)
    )


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
