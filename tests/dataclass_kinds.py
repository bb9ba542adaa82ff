"""Dataclasses of every kind that breaks a rebuild somewhere."""

from __future__ import annotations

import abc
import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

STATIC = {"static": True}


@dataclass
class Base:
    x: Any
    label: str = field(default="base", metadata=STATIC)


@dataclass
class Inherited(Base):
    y: Any = None


@dataclass
class LateField:
    x: Any
    derived: Any = field(init=False, default=None)
    unit: str = field(init=False, default="m", metadata=STATIC)


@dataclass
class OwnInit:
    x: Any

    def __init__(self, y: Any) -> None:
        self.x = ("made of", y)


@dataclass
class Validating:
    x: int

    def __post_init__(self) -> None:
        if not isinstance(self.x, int):
            raise TypeError("x must be an int")


@dataclass(frozen=True)
class Frozen:
    x: Any
    name: str = field(default="", metadata=STATIC)


@dataclass(slots=True)
class Slotted:
    x: Any
    name: str = field(default="", metadata=STATIC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strictest:
    name: str = field(metadata=STATIC)
    x: Any


@dataclass(slots=True)
class SlottedChild(Slotted):
    y: Any = 3


@dataclass
class NoneField:
    x: Any
    mask: Any = None


@dataclass
class Counted:
    """Assignment is watched, as by a class that keeps something in step; rebuilding goes past it."""

    x: Any

    def __setattr__(self, name: str, value: object) -> None:
        if not isinstance(value, int):
            raise TypeError("only ints")
        super().__setattr__(name, value)


T = TypeVar("T")


@dataclass
class Parametrised(Generic[T], abc.ABC):
    x: T
    total: ClassVar[int] = 0


KINDS = {
    "inherited": Inherited(1, "sub", 2),
    "init=False": LateField(1),
    "own __init__": OwnInit(1),
    "validating": Validating(1),
    "frozen": Frozen(1, "f"),
    "slots": Slotted(1, "s"),
    "frozen, slots, keywords only": Strictest(x=1, name="n"),
    "inherited slots": SlottedChild(1, "s", 2),
    "a field that is None": NoneField(1),
    "own __setattr__": Counted(1),
    "generic and abstract": Parametrised(1),
}
KINDS["init=False"].derived, KINDS["init=False"].unit = ("derived", "later"), "km"


@dataclass
class Deriving:
    x: Any
    scale: int = field(default=2, metadata=STATIC)

    def __post_init__(self) -> None:
        self.scaled = (self.x, self.scale)


@dataclass
class DerivingField:
    x: Any
    double: Any = field(init=False)

    def __post_init__(self) -> None:
        self.double = self.x * 2


@dataclass
class WithInitVar:
    x: Any
    scale: dataclasses.InitVar[int] = 1
    count: ClassVar[int] = 0

    def __post_init__(self, scale: int) -> None:
        self.x = self.x * scale
