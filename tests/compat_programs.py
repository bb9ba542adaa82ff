"""What the tests of `clika_pytree.compat` do with a module and with the library that it stands for."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from typing import Any

Point = namedtuple("Point", "x y")
TREES: list[Any] = [
    1,
    None,
    [],
    {"b": 1, "a": (2, None)},
    {3: [1], 1: {"z": 2, "y": [3, 4]}},
    OrderedDict(b=1, a=[2, 3]),
    defaultdict(list, {"q": 1, "p": [2]}),
    [Point(1, {"n": None}), (Point([2], 3),)],
    ((), [{}], [[]], None),
    {"layers": [{"w": 1.5, "b": None}, {"w": 2.5, "b": 0.5}], "step": 3},
]
PAIRS: list[tuple[Any, Any]] = [
    ({"b": 1, "a": 2}, {"a": 20, "b": 10}),
    ({"b": 1, "a": 2}, {"a": [20], "b": (10, 5)}),
    ([1, None, (2,)], [3, None, (4,)]),
    ([1, 2], [1]),
    ([1, 2], (1, 2)),
    ([1, None], [1, 2]),
    ({"a": 1}, {"b": 1}),
    (Point(1, 2), Point([1], {})),
]


def outcome(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a call gives, or the built-in class of its error."""
    try:
        return function(*args, **kwargs)
    except (ValueError, TypeError, KeyError) as error:
        return next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")


def new_class() -> Any:
    class Interval:
        def __init__(self, low: Any, high: Any, unit: Any = "mm") -> None:
            self.low, self.high, self.unit = low, high, unit

        def tree_flatten(self) -> Any:
            return (self.low, self.high), self.unit

        @classmethod
        def tree_unflatten(cls, unit: Any, children: Any) -> Any:
            return cls(*children, unit)

        def __eq__(self, other: object) -> bool:
            return type(other) is type(self) and vars(other) == vars(self)

        __hash__ = None  # type: ignore[assignment]

    return Interval


def dataclass_of_two(with_derived: bool = True) -> Any:
    @dataclasses.dataclass
    class Layer:
        weight: Any
        bias: Any = None
        name: str = dataclasses.field(default="n", metadata={"static": True})
        if with_derived:
            size: int = dataclasses.field(init=False, default=7)

    return Layer


def is_pair(node: Any) -> bool:
    return isinstance(node, tuple) and len(node) == 2


def add(*leaves: Any) -> Any:
    return leaves


def total(left: Any, right: Any) -> Any:
    return f"{left}+{right}"
