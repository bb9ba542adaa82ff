"""Random trees from a seed, some thousands a second, and nearly equal ones.

A plan is drawn, edited, and built as often as one likes: every build has the same structure around fresh leaves.
"""

from __future__ import annotations

import dataclasses
import os
import random
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from classes import (
    ALPHA,
    BETA,
    AlphaOnly,
    Bag,
    BetaOnly,
    Box,
    Cell,
    Color,
    Config,
    DequeLeaf,
    DictLeaf,
    FieldsLeaf,
    FromRange,
    Labelled,
    ListLeaf,
    Methods,
    Nothing,
    Pair,
    Point,
    Ranged,
    Sample,
    SampleLeaf,
    Switch,
    Tagged,
    TupleLeaf,
)
from reference import Mode

NAN = float("nan")
PLAIN_KEYS: list[Any] = ["a", "b", "c", "d", "", "it's", 0, 1, 2, -1, True, False, 1.0, 0.0, -0.0, None, b"k", b""]
KEYS: list[Any] = [
    *PLAIN_KEYS,
    *Color,
    1j,
    NAN,
    float("inf"),
    2**70,
    "\ud800",
    "é",
    (),
    (1, "a"),
    (1.0, "a"),
    (None, (True,)),
    frozenset({1}),
    frozenset(),
    Point(1, 2),
    Point(True, 2),
    ...,
]
SCALARS: list[Any] = [None, True, 0, 1, 1.0, -0.0, 0.0, NAN, "", "ab", b"x", *Color, 2j, -7, 2**64]
LEAVES: list[Any] = [
    *SCALARS,
    None,
    int,
    len,
    range(3),
    {1, 2},
    {}.keys(),
    frozenset(),
    ...,
    os.stat(os.curdir),
    ListLeaf([1]),
    TupleLeaf([1, None]),
    FieldsLeaf([1]),
    DictLeaf(a=1),
    Counter("ab"),
    DequeLeaf([1]),
    SampleLeaf(None, 1, "s"),
]
FACTORIES: list[Any] = [None, list, int, dict, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
    """A kind of node: how an object is made of `extra` and children, how `extra` is drawn, how many children it has."""

    make: Callable[[Any, list], Any]
    draw: Callable[[Drawer, int], Any]
    arity: int | None = None  # None: any number


@dataclasses.dataclass(slots=True)
class Plan:
    """A node to be; without a shape, a leaf."""

    shape: Shape | None = None
    extra: Any = None
    children: list[Plan] = dataclasses.field(default_factory=list)

    def build(self) -> Any:
        if self.shape is None:
            return object() if self.extra is None else self.extra[0]
        return self.shape.make(self.extra, [child.build() for child in self.children])

    def copy(self) -> Plan:
        return Plan(self.shape, self.extra, [child.copy() for child in self.children])

    def everything(self) -> list[Plan]:
        found = [self]
        for plan in found:
            found.extend(plan.children)
        return found


def no_extra(drawer: Drawer, count: int) -> None:
    return None


def a_context(drawer: Drawer, count: int) -> Any:
    return drawer.context()


def a_frozen_context(drawer: Drawer, count: int) -> Any:
    return drawer.frozen_context()


def some_keys(drawer: Drawer, count: int) -> list:
    return drawer.keys(count)


def factory_and_keys(drawer: Drawer, count: int) -> tuple:
    return drawer.pick(FACTORIES), drawer.keys(count)


def a_maxlen(drawer: Drawer, count: int) -> int | None:
    return drawer.pick([None, count, count + 1, 9]) if count < 9 else None


def some_names(drawer: Drawer, count: int) -> list:
    return drawer.distinct(["a", "b", "not a name", 3, "class", None, 1.5, (1,), -1], count)


SHARED = Shape(lambda _, items: [items[0], (items[0], items[0])], no_extra, 1)
DEQUE = Shape(lambda maxlen, items: deque(items, maxlen), a_maxlen)
SEQUENCES = [Shape(lambda _, items: items, no_extra), Shape(lambda _, items: tuple(items), no_extra), DEQUE]
MAPPINGS = [
    Shape(lambda keys, items: dict(zip(keys, items, strict=True)), some_keys),
    Shape(lambda keys, items: OrderedDict(zip(keys, items, strict=True)), some_keys),
    Shape(lambda extra, items: defaultdict(extra[0], zip(extra[1], items, strict=True)), factory_and_keys),
]
NAMEDTUPLES = [
    Shape(lambda _, items: Point(*items), no_extra, 2),
    Shape(lambda _, items: Labelled(*items), no_extra, 2),
    Shape(lambda _, items: tuple.__new__(FromRange, items), no_extra, 2),
    Shape(lambda low, items: Ranged(low, *items), a_frozen_context, 1),
    Shape(lambda _, items: Nothing(), no_extra, 0),
]
CLASSES = [
    Shape(lambda _, items: Box(*items), no_extra, 1),
    Shape(lambda _, items: Pair(*items), no_extra, 2),
    Shape(lambda tag, items: Tagged(*items, tag), a_context, 2),
    Shape(lambda names, items: Bag(dict(zip(names, items, strict=True))), some_names),
    Shape(lambda note, items: Methods(items, note), a_context),
    Shape(lambda name, items: Sample(*items, name), a_context, 2),
    Shape(lambda size, items: Cell(size, *items), a_context, 1),
    Shape(lambda width, items: Config(width), a_frozen_context, 0),
    Shape(lambda a, items: Switch(a, *items), a_frozen_context, 1),
    Shape(lambda _, items: AlphaOnly(*items), no_extra, 2),
    Shape(lambda unit, items: BetaOnly(*items, unit), a_context, 1),
]
SHAPES = [*SEQUENCES, *SEQUENCES, *MAPPINGS, MAPPINGS[0], MAPPINGS[0], *NAMEDTUPLES, *CLASSES, SHARED]
# What can stand for one another with the same children.
ALIKE = [
    SEQUENCES,
    MAPPINGS[:2],
    NAMEDTUPLES[:3] + CLASSES[1:2],
    CLASSES[2:3] + CLASSES[5:6],
    CLASSES[6:7] + CLASSES[8:9],
]
NODE_TYPES = [list, tuple, dict, OrderedDict, defaultdict, deque, Point, Pair, Tagged, Sample, Cell, Config, int]


class Drawer:
    """Draws everything from one seeded generator."""

    def __init__(self, target: str, number: int) -> None:
        self.number = number
        self.random = random.Random(f"{target} {number}")

    def pick(self, items: list) -> Any:
        return items[int(self.random.random() * len(items))]

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def below(self, limit: int) -> int:
        return int(self.random.random() * limit)

    # --- what stands in nodes -----------------------------------------------------------------------------------------

    def distinct(self, items: list, count: int) -> list:
        """So many of the items that differ to a dict, made up where there are no more."""
        found: dict[Any, None] = {}
        while len(found) < count:
            found[self.pick(items) if self.chance(0.9) else self.below(1000)] = None
        return list(found)

    def keys(self, count: int) -> list:
        kind = self.random.random()
        if kind < 0.5:
            return self.distinct(["a", "b", "c", "d", "e", "w"], count)
        return self.distinct(PLAIN_KEYS if kind < 0.8 else KEYS, count)

    def frozen_context(self) -> Any:
        kind = self.random.random()
        if kind < 0.7:
            return self.pick(SCALARS)
        if kind < 0.8:
            return Point(self.pick(SCALARS), self.pick(SCALARS))
        return tuple(self.frozen_context() for _ in range(self.below(3)))

    def context(self) -> Any:
        kind = self.random.random()
        if kind < 0.6:
            return self.frozen_context()
        if kind < 0.7:
            return [self.context() for _ in range(self.below(3))]
        if kind < 0.8:
            return {key: self.context() for key in self.distinct(PLAIN_KEYS, self.below(3))}
        return (
            self.pick([set, frozenset, set])(self.pick([(), (1,), (2, "a")])) if kind < 0.9 else slice(0, self.below(2))
        )

    # --- trees --------------------------------------------------------------------------------------------------------

    def leaf(self) -> Plan:
        return Plan(None, None if self.chance(0.3) else (self.pick(LEAVES),))

    def plan(self, depth: int, leaf: float = 0.3) -> Plan:
        if depth == 0 or self.chance(leaf):
            return self.leaf()
        shape = self.pick(SHAPES)
        count = self.below(4) if shape.arity is None else shape.arity
        return Plan(shape, shape.draw(self, count), [self.plan(depth - 1) for _ in range(count)])

    def tree(self) -> Plan:
        """Mostly a small tree; now and then a wide one, or a deep one."""
        kind = self.random.random()
        if kind < 0.98:
            return self.plan(1 + self.below(4), 0.05)
        if kind < 0.99:
            shape = self.pick([*SEQUENCES, *MAPPINGS])
            count = self.below(60)
            return Plan(shape, shape.draw(self, count), [self.plan(self.below(3)) for _ in range(count)])
        plan = self.plan(2)
        for _ in range(self.below(60)):
            shape = self.pick([*SEQUENCES, *MAPPINGS, *NAMEDTUPLES, *CLASSES])
            count = shape.arity if shape.arity is not None else 1 + self.below(2)
            if count:
                children = [plan, *(self.leaf() for _ in range(count - 1))]
                plan = Plan(shape, shape.draw(self, count), children)
        return plan

    def edited(self, plan: Plan) -> Plan:
        """A copy with a change somewhere, or without any."""
        plan = plan.copy()
        if self.chance(0.25):
            return plan
        self.edit(self.pick(plan.everything()))
        return plan

    def edit(self, place: Plan) -> None:
        kind = self.random.random()
        shape = place.shape
        if shape is None or kind < 0.2:
            other = self.plan(2) if kind < 0.5 else self.leaf()
            place.shape, place.extra, place.children = other.shape, other.extra, other.children
        elif kind < 0.3:
            place.shape, place.extra, place.children = None, None, []
        elif kind < 0.4:
            place.extra = shape.draw(self, len(place.children))
        elif kind < 0.5 and shape is not DEQUE:
            place.extra = self.alike(place.extra)
        elif kind < 0.65 and shape.arity is None:
            place.children = [*place.children, self.leaf()] if self.chance(0.5) else place.children[1:]
            place.extra = shape.draw(self, len(place.children))
        elif kind < 0.8 and shape in MAPPINGS:
            turned = place.extra[::-1] if shape is not MAPPINGS[2] else (place.extra[0], place.extra[1][::-1])
            place.extra, place.children = turned, place.children[::-1]
        else:
            place.shape = self.pick(next((group for group in ALIKE if shape in group), [shape]))
            if place.shape is not shape:
                place.extra = place.shape.draw(self, len(place.children))

    def alike(self, value: Any) -> Any:
        """The same by `==`, often not by type or bits."""
        if type(value) in (list, tuple, Point):
            items = [self.alike(item) for item in value]
            return Point(*items) if type(value) is Point else type(value)(items)
        if type(value) in (bool, int, float) and value in (0, 1):
            return self.pick([value, bool(value), int(value), float(value), value or -0.0])
        return value

    # --- ways to read one ---------------------------------------------------------------------------------------------

    def predicate(self) -> Callable[[Any], Any] | None:
        kind = self.random.random()
        if kind < 0.5:
            return None
        if kind < 0.6:
            return self.pick(
                [lambda obj: True, lambda obj: obj is None, lambda obj: [], lambda obj: type(obj).__name__[3:]]
            )
        types = {self.pick(NODE_TYPES) for _ in range(1 + self.below(3))}
        return lambda obj: type(obj) in types

    def mode(self) -> Mode:
        namespace = self.pick(["", "", "", ALPHA, BETA, (ALPHA, BETA), (BETA, ALPHA), "tests.unknown", ()])
        return Mode(self.predicate(), self.chance(0.5), namespace, self.chance(0.5))
