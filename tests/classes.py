"""The node classes of the suite, each registered once, with the library and with the reference alike.

The module is imported by name (`classes`), so its classes can be pickled and found again in another process.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
from typing import Any, NamedTuple

import reference

from clika_pytree import pytree

ALPHA, BETA = "tests.alpha", "tests.beta"


def add_custom(cls: type, flatten: Any, unflatten: Any, namespace: str = "") -> None:
    pytree.register_pytree_node(cls, flatten, unflatten, namespace=namespace, serialized_type_name=named(cls))
    add_rule(reference.Rule("custom", cls, namespace, flatten, unflatten))


def add_dataclass(cls: type, data: tuple[str, ...], meta: tuple[str, ...], namespace: str = "") -> None:
    pytree.register_dataclass(cls, data, meta, namespace=namespace, serialized_type_name=named(cls))
    add_rule(reference.Rule("dataclass", cls, namespace, data_fields=data, meta_fields=meta))


def named(cls: type) -> str:
    """The serialized name; it stands in documents that must load for ever."""
    return f"tests.{cls.__name__}"


def add_rule(rule: reference.Rule) -> None:
    reference.RULES[rule.namespace, rule.cls] = rule


# --- namedtuples: nodes without being registered ----------------------------------------------------------------------


class Point(NamedTuple):
    x: Any
    y: Any


class Nothing(NamedTuple):
    pass


class Labelled(Point):
    """A subclass of a namedtuple is a namedtuple class like any other."""

    __slots__ = ()


class FromRange(collections.namedtuple("FromRange", ["start", "stop"])):
    """Its constructor takes something else than its fields."""

    __slots__ = ()

    def __new__(cls, both: range) -> FromRange:
        return super().__new__(cls, both.start, both.stop)


class Ranged(NamedTuple):
    """A plain namedtuple, but a class with a context in ALPHA."""

    low: Any
    high: Any


# --- classes registered with functions --------------------------------------------------------------------------------


class Box:
    __slots__ = ("item",)

    def __init__(self, item: Any) -> None:
        self.item = item


class Pair:
    """No entries, no context."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


class Tagged:
    """Children in another order than the attributes, read from a generator, with entries and a context."""

    def __init__(self, left: Any, right: Any, tag: Any) -> None:
        self.left, self.right, self.tag = left, right, tag


class Bag:
    """Any number of children; the context is the tuple of names, and so are the entries."""

    def __init__(self, items: dict) -> None:
        self.items = items


class Switch:
    """Two children globally; in ALPHA the first one belongs to the context."""

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


class AlphaOnly(Pair):
    pass


@pytree.register_pytree_node_class(serialized_type_name="tests.Methods")
class Methods:
    def __init__(self, items: list, note: Any) -> None:
        self.items, self.note = items, note

    def __tree_flatten__(self) -> tuple:
        return self.items, self.note

    @classmethod
    def __tree_unflatten__(cls, context: Any, children: tuple) -> Methods:
        return cls(list(children), context)


add_custom(Box, lambda box: ((box.item,), None), lambda children, _: Box(*children))
add_custom(Pair, lambda p: ((p.a, p.b), None), lambda children, _: Pair(*children))
add_custom(
    Tagged,
    lambda t: ((child for child in (t.right, t.left)), t.tag, ("right", "left")),
    lambda children, tag: Tagged(children[1], children[0], tag),
)
add_custom(
    Bag,
    lambda bag: (list(bag.items.values()), tuple(bag.items), list(bag.items)),
    lambda children, names: Bag(dict(zip(names, children, strict=True))),
)
add_custom(Switch, lambda s: ((s.a, s.b), "global"), lambda children, _: Switch(*children))
add_custom(Switch, lambda s: ((s.b,), s.a, ("b",)), lambda children, a: Switch(a, *children), ALPHA)
add_custom(AlphaOnly, lambda p: ([p.a, p.b], None, (0, "b")), lambda children, _: AlphaOnly(*children), ALPHA)
add_custom(Ranged, lambda r: ((r.high,), r.low, ("high",)), lambda children, low: Ranged(low, *children), ALPHA)
add_rule(
    reference.Rule(
        "custom", Methods, "", Methods.__tree_flatten__, lambda kids, note: Methods.__tree_unflatten__(note, kids)
    )
)


# --- dataclasses and static classes -----------------------------------------------------------------------------------


@dataclasses.dataclass
class Sample:
    weight: Any
    bias: Any
    name: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    size: Any
    value: Any


@dataclasses.dataclass
class BetaOnly:
    value: Any
    unit: Any


@dataclasses.dataclass(frozen=True)
class Config:
    """A static node: it rides the structure by value."""

    width: Any
    mode: Any = None


class Color(enum.Enum):
    """Defined in an order that neither the names nor the values have."""

    RED = 2
    BLUE = 3
    GREEN = 1


add_dataclass(Sample, ("weight", "bias"), ("name",))
add_dataclass(Cell, ("value",), ("size",))
add_dataclass(BetaOnly, ("value",), ("unit",), BETA)
pytree.register_static(
    Config,
    serialized_type_name=named(Config),
    to_dumpable_context=lambda config: {"width": config.width, "mode": config.mode},
    from_dumpable_context=lambda dumped: Config(**dumped),
)
add_rule(reference.Rule("static", Config))


# --- leaves that look like nodes --------------------------------------------------------------------------------------


class ListLeaf(list):
    pass


class TupleLeaf(tuple):
    __slots__ = ()


class DictLeaf(dict):
    pass


class DequeLeaf(collections.deque):
    pass


class SampleLeaf(Sample):
    """A subclass of a registered class is not registered."""


class FieldsLeaf(tuple):
    """`_fields` is no tuple, so this is no namedtuple class."""

    __slots__ = ()
    _fields = ["a"]  # noqa: RUF012


def every_kind() -> dict:
    """A tree of nearly every kind of node, made alike in every process."""
    return {
        "b": [0, (None, Point(1, 2)), collections.deque([3], 4)],
        "a": Tagged(1, [2], ("t", -0.0, float("nan"))),
        1.0: Sample(1, 2, [3, {"k": {4}}]),
        "d": {"z": Config(1), "y": Pair(Box(0), Methods([], Color.RED))},
        "o": collections.OrderedDict(z=1, a=collections.defaultdict(list, k=Bag({"n": 1}))),
        None: Cell((1, True, 1.0), Nothing()),
    }
