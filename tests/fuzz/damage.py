"""Ways to spoil a text, a JSON document, bytes, or nested tuples and lists: a few small steps from something sound."""

from __future__ import annotations

import copy
from typing import Any

from fuzz.plans import Drawer

STRANGERS: list[Any] = [
    None,
    True,
    0,
    1,
    2,
    -1,
    2**31,
    2**32,
    2**63,
    10**9,
    10**30,
    1.5,
    "",
    "*",
    "**",
    "a",
    "list",
    [],
    {},
    [0],
    [None],
    {"tuple": 1},
    {"list": 2},
    {"dict": 1},
    {"float": "nan"},
    {"int": "0x1"},
    {"key": "MappingKey"},
]
OBJECTS: list[Any] = [*STRANGERS, b"", b"\0" * 5, (), (0,), object, list, len, {1: [2]}, {1}, Ellipsis]
PIECES = [
    *"[]{}(),:.<>*'\"\\ \n0",
    "[" * 400,
    "0" * 400,
    "null",
    "true",
    "1e999",
    "-0.0",
    "NaN",
    "nan",
    "inf",
    "j",
    "\\ud800",
]
LONGEST = 200_000
STEPS = [1, 1, 1, 1, 2, 3]


def spoiled_text(drawer: Drawer, text: str, pieces: list[str]) -> str:
    """Some slices cut, doubled, moved or multiplied; some pieces put in."""
    for _ in range(drawer.pick(STEPS)):
        at, kind = drawer.below(len(text) + 1), drawer.below(7)
        end = at + 1 + drawer.below(drawer.pick([1, 4, 20]))
        part = text[at:end]
        if kind == 0:
            text = text[:at] + text[end:]
        elif kind == 1:
            text = text[:at] + part + text[at:]
        elif kind == 2:
            text = text[:at] + drawer.pick([*PIECES, *pieces]) + text[at:]
        elif kind == 3:
            text = text[:at] + drawer.pick([*PIECES, *pieces]) + text[end:]
        elif kind == 4:
            text = text[:at] + chr(drawer.pick([drawer.below(128), drawer.below(0x110000)])) + text[at + 1 :]
        elif kind == 5 and drawer.chance(0.1):
            text = (text[:at] + part * drawer.pick([10, 1000, 20_000]) + text[at:])[:LONGEST]
        elif drawer.chance(0.3):
            text = text[:at]
    return text


def spoiled_bytes(drawer: Drawer, data: bytes) -> bytes:
    for _ in range(drawer.pick(STEPS)):
        at, kind = drawer.below(len(data) + 1), drawer.below(5)
        end = at + 1 + drawer.below(drawer.pick([1, 4, 40]))
        if kind == 0 and at < len(data):
            data = data[:at] + bytes([data[at] ^ 1 << drawer.below(8)]) + data[at + 1 :]
        elif kind == 1:
            data = data[:at] + bytes([drawer.below(256)]) + data[at + 1 :]
        elif kind == 2:
            data = data[:at] + data[end:]
        elif kind == 3:
            data = data[:at] + data[at:end] + data[at:]
        elif drawer.chance(0.2):
            data = data[:at]
    return data


def places(document: Any) -> list[tuple[Any, Any]]:
    """Everything in nested lists and objects, as what is around it and its key."""
    found: list[tuple[Any, Any]] = []
    waiting = [document]
    for around in waiting:
        for key in list(around) if isinstance(around, dict) else range(len(around)):
            found.append((around, key))
            if isinstance(around[key], (dict, list)):
                waiting.append(around[key])
    return found


def spoil_document(drawer: Drawer, document: Any) -> None:
    for _ in range(drawer.pick(STEPS)):
        found = places(document)
        if not found:
            return
        (around, key), (there, other) = drawer.pick(found), drawer.pick(found)
        kind = drawer.below(7)
        if kind == 0:
            del around[key]
        elif kind == 1 and isinstance(around, list):
            around.insert(key, copy.deepcopy(around[key]))
        elif kind == 2 and isinstance(around, list):
            around.reverse()
        elif kind == 3 and isinstance(around, dict):
            around[drawer.pick(found)[1]] = around.pop(key)
        elif kind == 4 and type(around[key]) is int:
            around[key] += drawer.pick([-1, 1])
        elif kind == 5:
            around[key] = copy.deepcopy(there[other])
        else:
            around[key] = copy.deepcopy(drawer.pick(STRANGERS))


def spoiled_parts(drawer: Drawer, parts: Any) -> Any:
    """Nested tuples and lists with one part changed."""
    if type(parts) in (tuple, list) and parts and drawer.chance(0.8):
        items, at = list(parts), drawer.below(len(parts))
        kind = drawer.below(8)
        if kind == 0:
            del items[at]
        elif kind == 1:
            items.insert(at, items[drawer.below(len(items))])
        elif kind == 2:
            other = drawer.below(len(items))
            items[at], items[other] = items[other], items[at]
        else:
            items[at] = spoiled_parts(drawer, items[at])
        return type(parts)(items)
    if type(parts) is int and drawer.chance(0.7):
        return parts + drawer.pick([-1, 1])
    return drawer.pick(OBJECTS)
