"""Contexts as values, where they are odd: circles, shared parts, equality of their own, hashes that should spread."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from classes import Config, FromRange, Point, Sample, Tagged
from helpers import run_python

import clika_pytree as cp

structure = cp.tree_structure


def spec_of(context: Any) -> cp.TreeSpec:
    return structure(Tagged(0, 0, context))


# --- hashes spread, and equal values have equal ones ------------------------------------------------------------------

SPREADING: dict[str, Callable[[int], Any]] = {
    "dicts in a list": lambda i: [{"a": 1}, {"b": i}],
    "first of two dicts": lambda i: [{"a": i}, {"b": 1}],
    "dicts in a dict": lambda i: {"x": {"a": 1}, "y": {"b": i}},
    "dicts in a tuple": lambda i: ({"layers": 12}, {"heads": i}),
    "dict keys": lambda i: [{"a": 1}, {f"b{i}": 1}],
    "key and value": lambda i: {i: 5000 - i},
    "dicts three deep": lambda i: {"a": {"b": {"c": i}}, "d": {"e": {"f": 0}}},
    "growing dicts": lambda i: [dict.fromkeys(range(i % 50), 0), dict.fromkeys(range(i // 50), 1)],
    "a set among dicts": lambda i: [{"a": {1, 2}}, {"b": {i, -7 - i}}],
    "sets of two": lambda i: {i, 5000 - i},
    "frozensets of two": lambda i: frozenset({i, 5000 - i}),
    "frozensets of names": lambda i: frozenset({f"a{i}", f"b{5000 - i}"}),
    "sets of neighbours": lambda i: set(range(i, i + 4)),
    "sets of sets": lambda i: {frozenset({i, 1}), frozenset({5000 - i, 2})},
    "sets of pairs": lambda i: {(i, 1), (5000 - i, 2)},
    "tuples": lambda i: (i, 5000 - i),
    "slices": lambda i: slice(i, 5000 - i),
    "floats": lambda i: (i / 4, -i / 4),
}


@pytest.mark.parametrize("make", SPREADING.values(), ids=SPREADING)
def test_two_thousand_contexts_have_nearly_as_many_hashes(make):
    hashes = [hash(spec_of(make(i))) for i in range(2000)]
    assert len(set(hashes)) >= 1990
    assert hashes == [hash(spec_of(make(i))) for i in range(2000)]


def test_a_thousand_sets_with_equal_sums_have_as_many_hashes():
    for wrap in (set, frozenset, lambda members: [set(members)], lambda members: {"k": frozenset(members)}):
        assert len({hash(spec_of(wrap({i, 2000 - i}))) for i in range(1000)}) >= 990
    edges = [frozenset({i, j}) for i in range(60) for j in range(i)]
    assert len({hash(spec_of(edge)) for edge in edges}) >= 0.99 * len(edges)


def test_equal_dicts_have_equal_hashes_whatever_else_is_in_memory():
    def made() -> Any:
        return [
            [{"a": 1}, {"b": 2, "c": 3}, {"a": 5, "b": 6, "c": 8, "d": 9}, {"z": (1, 2)}],
            [{f"k{j}": (i, j) for j in range(i % 5 + 1)} for i in range(50)],
            {i: {"x": {i: [i]}} for i in range(20)},
        ]

    kept, specs = [], []
    for turn in range(200):
        litter = [(i, object()) for i in range(turn * 7 % 60)]
        specs.append(spec_of(made()))
        kept.append(litter[:: turn % 3 + 1])  # frees some, so that the next parts stand at other addresses
    assert len({hash(spec) for spec in specs}) == 1
    assert all(spec == specs[0] for spec in specs)


@dataclasses.dataclass(frozen=True)
class Module:
    name: str
    options: dict = dataclasses.field(hash=False)


def test_equal_sets_of_dataclasses_with_unhashed_fields_are_equal_in_any_order():
    for turn in range(100):
        modules, again = ([Module(f"m{turn}.{i}", {"k": i}) for i in range(4)] for _ in range(2))
        others = frozenset(Module(f"q{i}", {}) for i in range(40))
        first = frozenset(modules)
        for same in (frozenset(again[::-1]), (others | frozenset(again)) - others):
            assert spec_of(first) == spec_of(same)
            assert hash(spec_of(first)) == hash(spec_of(same))
        changed = frozenset([*again[1:], Module(f"m{turn}.0", {"k": 1})])
        assert spec_of(first) != spec_of(changed)


# --- dataclasses with an equality of their own ------------------------------------------------------------------------


@dataclasses.dataclass
class ByName:
    """Its `__eq__` looks at one field; the decorator leaves it alone."""

    name: Any
    cache: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByName) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


@dataclasses.dataclass(eq=False)
class HeirByName(ByName):
    more: Any = None


@dataclasses.dataclass
class Plain:
    x: Any


class PlainWithMore(Plain):
    """No dataclass of its own: it compares what its base does not know."""

    def __init__(self, x: Any, y: Any) -> None:
        self.x, self.y = x, y

    def __eq__(self, other: object) -> bool:
        return type(other) is PlainWithMore and (self.x, self.y) == (other.x, other.y)

    def __hash__(self) -> int:
        return hash((self.x, self.y))


@dataclasses.dataclass
class ByFieldsAgain(ByName):
    """The decorator makes it an `__eq__` of all fields again."""


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "alone": lambda value: value,
    "tuple": lambda value: (0, value),
    "list": lambda value: [value],
    "dict": lambda value: {"k": value},
    "namedtuple": lambda value: Point(0, value),
    "dataclass": Plain,
    "static": lambda value: Config(value),
}


@pytest.mark.parametrize("wrap", CONTAINERS.values(), ids=CONTAINERS)
def test_a_dataclass_with_an_equality_of_its_own_is_compared_by_it(wrap):
    pairs = [
        (ByName("n", 1), ByName("n", [2]), True),
        (ByName("n"), ByName("m"), False),
        (HeirByName("n", 1, 2), HeirByName("n", 3, [4]), True),
        (HeirByName("n"), HeirByName("m"), False),
        (PlainWithMore(1, 2), PlainWithMore(1, 2), True),
        (PlainWithMore(1, 2), PlainWithMore(1, 3), False),
        (Plain(1), PlainWithMore(1, 2), False),
        (ByFieldsAgain("n", 1), ByFieldsAgain("n", 1), True),
        (ByFieldsAgain("n", 1), ByFieldsAgain("n", 2), False),
        (ByFieldsAgain("n", 1), ByFieldsAgain("n", True), False),
    ]
    for a, b, same in pairs:
        first, second = spec_of(wrap(a)), spec_of(wrap(b))
        assert (first == second) is same, (a, b)
        assert (first != second) is not same, (a, b)
        assert (hash(first) == hash(second)) is same, (a, b)


def test_a_dataclass_with_an_equality_and_no_hash_is_refused():
    @dataclasses.dataclass
    class NoHash:
        x: Any

        def __eq__(self, other: object) -> bool:
            return True

    for tree in (Tagged(0, 0, (NoHash(1),)), Sample(0, 0, NoHash(1))):
        with pytest.raises(cp.ContextError, match="NoHash") as caught:
            hash(structure([tree]))
        assert caught.value.path == "[0]"


# --- what can change is frozen ----------------------------------------------------------------------------------------


class Dims(NamedTuple):
    dims: Any
    more: Any = None


class DimsHeir(Dims):
    __slots__ = ()


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "namedtuple": Dims,
    "heir of a namedtuple": DimsHeir,
    "namedtuple in a tuple": lambda part: (0, (Dims(part),)),
    "namedtuple in a namedtuple": lambda part: Dims(0, Point(part, 0)),
    "namedtuple in a frozen tuple of lists": lambda part: ((Dims([0, part]),),),
    "list in a tuple in a namedtuple": lambda part: Dims((0, part)),
    "namedtuple with a constructor of its own": lambda part: tuple.__new__(FromRange, (part, 1)),
    "slice": lambda part: slice(part, None),
    "end of a slice": lambda part: slice(None, part, 2),
    "slice in a namedtuple": lambda part: Dims(slice(None, None, part)),
    "slices in a dict": lambda part: {"rows": slice(0, part)},
}
PARTS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "list": (lambda: [1], lambda part: part.append(2)),
    "dict": (lambda: {"a": [1]}, lambda part: part["a"].append(2)),
    "set": (lambda: {1}, lambda part: part.add(2)),
}


def find(value: Any, kind: type) -> Any:
    """The first part of a value that is of this exact type and can change."""
    if type(value) is kind and not (kind is dict and "rows" in value):
        return value
    if isinstance(value, slice):
        value = (value.start, value.stop, value.step)
    if isinstance(value, dict):
        value = list(value.values())
    below = (find(item, kind) for item in value if isinstance(item, (tuple, list, dict, set, slice)))
    return next((part for part in below if part is not None), None)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_what_can_change_inside_a_context_counts_as_it_was_at_flatten(hold, part):
    make, change = PARTS[part]
    for node in (lambda context: Tagged(1, 2, context), lambda context: Sample(1, 2, context)):
        original = hold(make())
        spec = structure(node(original))
        change(find(original, type(make())))
        assert spec == structure(node(hold(make())))
        assert hash(spec) == hash(structure(node(hold(make()))))
        assert spec != structure(node(original))

        context = getattr(spec.unflatten([1, 2]), "tag" if node(0).__class__ is Tagged else "name")
        assert type(context) is type(original)
        assert context == hold(make())
        change(find(context, type(make())))
        assert spec == structure(node(hold(make())))


# --- circles ----------------------------------------------------------------------------------------------------------

LIMITED = """
import dataclasses, resource, sys
from collections import namedtuple
from typing import Any
import clika_pytree as cp
from classes import Config, Point, Sample, Tagged
structure = cp.tree_structure
with open("/proc/self/statm") as statm:
    limit = int(statm.read().split()[0]) * resource.getpagesize() + 2**30
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

@dataclasses.dataclass
class Holder:
    a: Any
    b: Any = None
"""
CIRCLES = {
    "dataclass": "c = Holder(1); c.b = c",
    "two dataclasses": "c = Holder('child'); c.b = Holder('parent', c)",
    "dataclass and tuple": "c = Holder(1); c.b = (0, (c,))",
    "dataclass and list": "c = Holder([1]); c.a.append(c)",
    "dataclass and dict": "c = Holder({}); c.a['k'] = c",
    "dataclass and slice": "c = Holder(1); c.b = slice(c)",
    "dataclass and namedtuple": "c = Holder(1); c.b = Point(0, c)",
    "namedtuple": "x = []; c = Point(0, x); x.append(c)",
    "list of a namedtuple": "c = []; c.append(Point(c, 0))",
    "slice": "x = []; c = slice(x); x.append(c)",
    "slice in a dict": "c = {}; c['k'] = slice(None, c)",
    "list": "c = []; c.append(c)",
    "list beside others": "c = [1, [2]]; c.append([c])",
    "dict": "c = {}; c['k'] = c",
    "tuple": "x = []; c = (1, x); x.append(c)",
    "widening": "c = Holder([], []); c.a.extend([c, c]); c.b.extend([c, c])",
    "below": "x = Holder(1); x.b = x; c = ('far', ['down', {'k': x}])",
    "static object": "x = []; c = Config(x); x.append(c)",
}


@pytest.mark.unwatched
@pytest.mark.parametrize("circle", CIRCLES.values(), ids=CIRCLES)
def test_a_context_with_a_circle_is_refused_soon(circle):
    run_python(
        f"{LIMITED}\n"
        "def made(node):\n"
        f"    {circle}\n"
        "    return structure([0, node(c)])\n"
        "for node in (lambda c: Tagged(0, 0, c), lambda c: Sample(0, 0, c), Config):\n"
        "    one, other = made(node), made(node)\n"
        "    for operation in (lambda: hash(one), lambda: one == other, lambda: {other}):\n"
        "        for _ in range(2):\n"
        "            try: operation()\n"
        "            except cp.ContextError as error:\n"
        "                assert 'contains itself' in str(error) and error.path == '[1]', error\n"
        "                assert len(str(error)) < 1000\n"
        "            else: raise AssertionError('this was to fail')\n"
        "    assert one == one\n"
        "    assert len(one.unflatten([0] * one.num_leaves)) == 2\n"
        "    assert len(repr(one)) < 100_000\n",
        timeout=20,
    )


# --- shared parts -----------------------------------------------------------------------------------------------------

SHARING = {
    "tuple": "(x, x)",
    "tuples of three": "(x, (x, 1), x)",
    "list": "[x, x]",
    "dict": "{'a': x, 'b': x}",
    "namedtuple": "Point(x, x)",
    "dataclass": "Holder(x, x)",
    "slice": "slice(x, x)",
    "frozenset": "frozenset({(x, 0), (x, 1)})",
    "static in a tuple": "(Config(x), Config(x))",
    "spec": "structure(Tagged(0, 0, (x, x)))",
    "two specs": "(structure(Tagged(0, 0, x)), structure(Tagged(0, 0, x)))",
    "mixed": "(x, [x, {'k': Holder(x, Point(x, x))}])",
}
HASHED_BY_PYTHON = ("frozenset",)
"""Python itself takes twice as long for each level of these, so they are made less deep."""


@pytest.mark.parametrize("sharing", SHARING)
def test_a_context_that_shares_its_parts_is_read_hashed_and_compared_once_for_each(sharing):
    depth = 18 if sharing in HASHED_BY_PYTHON else 60
    run_python(
        f"{LIMITED}\n"
        "def made(end):\n"
        "    x = end\n"
        f"    for _ in range({depth}):\n"
        f"        x = {SHARING[sharing]}\n"
        "    return x\n"
        "for node in (lambda c: Tagged(0, 0, c), lambda c: Sample(0, 0, c)):\n"
        "    one, same, other = [structure(node(made(end))) for end in (1, 1, 2)]\n"
        "    assert hash(one) == hash(same) != hash(other)\n"
        "    assert one == same and not one != same and one != other\n"
        "    again = structure(node(made(1)))\n"
        "    assert again == one and again != other  # before it is hashed, too\n",
        timeout=20,
    )


# --- numpy scalars ----------------------------------------------------------------------------------------------------


def void(dtype: Any, data: bytes = b"\1\2\3\4") -> Any:
    return np.frombuffer(data, dtype=dtype)[0]


def test_numpy_records_are_told_apart_by_dtype_and_bytes():
    dtypes = [
        [("a", "i4")],
        [("b", "i4")],
        [("a", "f4")],
        [("a", "i2"), ("b", "i2")],
        "V4",
        [("a", "V4")],
        [("a", ">i4")],
    ]
    for wrap in (
        spec_of,
        lambda value: spec_of((value,)),
        lambda value: spec_of([value]),
        lambda v: structure(Config(v)),
    ):
        specs = [wrap(void(dtype)) for dtype in dtypes] + [wrap(void(dtype, b"\1\2\3\5")) for dtype in dtypes]
        again = [wrap(void(dtype)) for dtype in dtypes] + [wrap(void(dtype, b"\1\2\3\5")) for dtype in dtypes]
        for i, a in enumerate(specs):
            for j, b in enumerate(again):
                assert (a == b) is (i == j), (a, b)
                assert hash(a) == hash(b) or i != j
        assert len(set(specs)) == len(specs)


def test_long_doubles_are_equal_whatever_pads_them():
    third = np.longdouble(1) / np.longdouble(3)
    litter = [object()]
    for i in range(500):
        litter.append(bytes([i % 256]) * 16)
        again = np.longdouble(1) / np.longdouble(3)
        assert spec_of(again) == spec_of(third)
        assert hash(spec_of(again)) == hash(spec_of(third))
    assert spec_of(np.longdouble(2) / 3) != spec_of(third)
    assert spec_of(np.longdouble(1)) != spec_of(np.float64(1))


def test_namedtuple_classes_of_one_name_are_told_apart():
    first, second = namedtuple("Twin", "x y"), namedtuple("Twin", "x y")
    assert spec_of(first(1, 2)) == spec_of(first(1, 2))
    assert spec_of(first(1, 2)) != spec_of(second(1, 2))
