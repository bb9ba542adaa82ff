"""Leaves of results that are no tensors: each call has its own of what the function makes."""

from __future__ import annotations

import datetime
import enum
import functools
import threading
from collections import Counter, OrderedDict
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import clika_pytree as crt

X = np.ones(2)


class Log:
    def __init__(self, *lines: Any) -> None:
        self.lines = [*lines]


class Slotted:
    __slots__ = ("count", "log")

    def __init__(self, log: Log) -> None:
        self.count, self.log = 0, log


class Names(OrderedDict):  # type: ignore[type-arg]
    pass


class Color(enum.Enum):
    RED = 1


SHARED = Log("shared")
TAGS = {"a", "b"}


@functools.cache
def remembered() -> set[str]:
    return {"kept"}


MUTABLE: dict[str, tuple[Any, Any]] = {
    "set": (lambda: {1, 2}, lambda made: made.add(9)),
    "bytearray": (lambda: bytearray(b"x"), lambda made: made.extend(b"y")),
    "Counter": (lambda: Counter("aab"), lambda made: made.update("a")),
    "a dict's subclass": (lambda: Names(a=[1]), lambda made: made["a"].append(2)),
    "an object": (lambda: Log("start"), lambda made: made.lines.append("more")),
    "an object in slots": (lambda: Slotted(Log("start")), lambda made: made.log.lines.append("more")),
}


def state(made: Any) -> Any:
    if isinstance(made, Log):
        return made.lines
    return (made.count, made.log.lines) if isinstance(made, Slotted) else made


@pytest.mark.parametrize("kind", MUTABLE)
@pytest.mark.parametrize("alone", [False, True])
def test_what_the_function_makes_is_the_caller_s(kind: str, alone: bool) -> None:
    make, change = MUTABLE[kind]
    compiled = crt.compile(lambda x: make() if alone else {"y": x + 1, "made": [make()]})
    found = []
    for _ in range(3):
        result = compiled(X)
        made = result if alone else result["made"][0]
        assert type(made) is type(make())
        assert state(made) == state(make())
        change(made)
        found.append(made)
    assert len({*map(id, found)}) == 3
    assert compiled.cache_info().currsize == 1


CAPTURED = {
    "object": SHARED,
    "set": TAGS,
    "enum": Color.RED,
    "class": Log,
    "function": len,
    "module": np,
    "lock": threading.Lock(),
    "dtype": np.dtype("f4"),
    "date": datetime.date(2020, 1, 1),
    "decimal": Decimal("1.0"),
}


@pytest.mark.parametrize("captured", CAPTURED.values(), ids=CAPTURED)
def test_what_the_function_captured_comes_back_as_itself(captured: Any) -> None:
    compiled = crt.compile(lambda x: (x, captured, [captured]))
    for _ in range(3):
        _, first, (second,) = compiled(X)
        assert first is captured
        assert second is captured


def test_what_somebody_else_keeps_is_shared() -> None:
    compiled = crt.compile(lambda x: (x, remembered(), {SHARED}, Slotted(SHARED)))
    for _ in range(2):
        results = [compiled(X) for _ in range(2)]
        assert results[0][1] is results[1][1] is remembered()
        assert results[0][2] is not results[1][2]
        assert results[0][2] == {SHARED}
        assert results[0][3] is not results[1][3]
        assert results[0][3].log is SHARED


def test_what_an_object_leads_to_is_shared_where_it_is_never_copied() -> None:
    def function(x: Any) -> Any:
        return x, Log(np, Log, function.__code__, len)

    compiled = crt.compile(function)
    first, second = compiled(X)[1], compiled(X)[1]
    assert first is not second
    assert first.lines == second.lines == [np, Log, function.__code__, len]


def test_two_leaves_that_are_one_object_stay_one() -> None:
    def function(x: Any) -> Any:
        seen = {1}
        log = Log(seen)
        log.lines.append(log)
        return {"seen": seen, "again": [seen], "log": log, "y": x}

    compiled = crt.compile(function)
    first, second = compiled(X), compiled(X)
    for result in (first, second):
        assert result["seen"] is result["again"][0] is result["log"].lines[0]
        assert result["log"].lines[1] is result["log"]
    assert first["seen"] is not second["seen"]


def test_plain_constants_are_not_copied() -> None:
    text, number = "a text " * 20, 10**30
    compiled = crt.compile(lambda x: (x, text, number, frozenset({1}), (), None))
    first, second = compiled(X), compiled(X)
    assert first[1] is second[1] is text
    assert first[2] is second[2] is number
    assert first[3] is second[3]


def test_what_cannot_be_made_anew_is_refused() -> None:
    compiled = crt.compile(lambda x: {"y": x, "lock": threading.Lock()})
    with pytest.raises(crt.PyTreeTypeError, match=r"returned a lock at result\['lock'\], which the function") as caught:
        compiled(X)
    assert caught.value.path == "result['lock']"
    assert compiled.cache_info().currsize == 0
