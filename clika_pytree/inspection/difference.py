"""One difference between two trees, and all of them, as data and in print."""

from __future__ import annotations

from itertools import islice

from clika_pytree.columns import WIDTH, columns, cut_apart, cut_middle, filled, one_line
from clika_pytree.notebooks import paragraph, table_of
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import cut_path, key_text, path_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, Literal, TypeAlias

    from clika_pytree.typing import KeyPath

    DifferenceKind: TypeAlias = Literal["type", "length", "only_a", "only_b", "order", "context", "leaf"]
    # The number of a path among those of a walk.
    Way: TypeAlias = int

MOST_SHOWN = 30
INDENT = "  "
MOST_BELOW = 3
# What is put together in print: differences in siblings that are told apart by a number.
SHORTEST_RUN = 3
MOST_FOLDED = 10_000
DEEPEST_FOLDED = 32


class Ways:
    """The paths of a walk by number: each is that of a parent, and what makes a key, of what. Number 0 is the root.

    Flat lists, as links from one to the next would be freed one inside the other: that takes a deep stack. Keys are
    made when somebody asks: of a hundred thousand differences few are looked at.
    """

    __slots__ = ("makers", "names", "parents")
    names: list[Any]
    makers: list[Any]
    parents: list[int]

    def __init__(self) -> None:
        self.names, self.makers, self.parents = [None], [None], [0]

    def longer(self, way: Way, make: Any, name: Any) -> Way:
        self.names.append(name)
        self.makers.append(make)
        self.parents.append(way)
        return len(self.names) - 1

    def beside_each_other(self, way: Way, make: Any, names: Sequence[Any]) -> range:
        """The ways that lead on from one, each by one of these names."""
        first = len(self.names)
        self.names += names
        self.makers += [make] * len(names)
        self.parents += [way] * len(names)
        return range(first, len(self.names))

    def last_keys(self, way: Way, most: int | None) -> KeyPath:
        """The keys from the root down, or as many of the last ones."""
        keys: list[Any] = []
        while way and (most is None or len(keys) < most):
            keys.append(self.makers[way](self.names[way]))
            way = self.parents[way]
        return tuple(reversed(keys))


def as_it_is(key: Any) -> Any:
    return key


class Difference:
    """One difference between two trees.

    Attributes:
        path: Where it is, as a tuple of keys.
        kind: "type": other classes, or a leaf on one side; "length": another number of children; "only_a", "only_b":
            a child that the other side does not have; "order": the same keys in another order; "context": another
            context, `maxlen`, factory, meta field or static value, or of two specs another `none_is_leaf`; "leaf":
            leaves that are not equal.
        a: What stands there in the first tree, as short text; None for "only_b".
        b: What stands there in the second tree; None for "only_a".
    """

    __slots__ = ("_way", "_ways", "a", "b", "kind")
    __match_args__ = ("path", "kind", "a", "b")
    kind: DifferenceKind
    a: str | None
    b: str | None

    def __init__(self, path: KeyPath, kind: DifferenceKind, a: str | None, b: str | None) -> None:
        self._ways, self._way = Ways(), 0
        for key in path:
            self._way = self._ways.longer(self._way, as_it_is, key)
        self.kind, self.a, self.b = kind, a, b

    @classmethod
    def at(cls, ways: Ways, way: Way, kind: DifferenceKind, a: str | None, b: str | None) -> Difference:
        """The difference at a place of a walk: differences far down share the way that leads to them."""
        made = cls.__new__(cls)
        made._ways, made._way, made.kind, made.a, made.b = ways, way, kind, a, b
        return made

    @property
    def path(self) -> KeyPath:
        return self.last_keys(None)

    def last_keys(self, most: int | None) -> KeyPath:
        """The keys from the root down, or as many of the last ones."""
        return self._ways.last_keys(self._way, most)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Difference):
            return NotImplemented
        return (self.kind, self.a, self.b, self.path) == (other.kind, other.a, other.b, other.path)

    def __hash__(self) -> int:
        return hash((self.path, self.kind, self.a, self.b))

    def __reduce__(self) -> tuple[Any, ...]:
        return Difference, (self.path, self.kind, self.a, self.b)

    def __repr__(self) -> str:
        return f"Difference({path_text(self.path)!r}, {self.kind!r}, a={self.a!r}, b={self.b!r})"

    def __str__(self) -> str:
        return "\n".join(self.lines(path_text(self.path)))

    def lines(self, path: str, places: int = 1) -> list[str]:
        """One line, where a terminal has room for it; else the place, and below it what each side has."""
        room = WIDTH - len(INDENT)
        where, end = path or "the root", f"{in_places(places)}:"
        line = one_line(f"{where}{end} {self.what()}")
        if columns(line) <= room:
            return [line]
        if self.kind == "order":
            end += " the keys come in another order:"
        begun = f"{cut_middle(where, room - len(end))}{end}"
        if self.kind in ("only_a", "only_b"):
            return [begun, *below(self.what(), room)]
        texts = str(self.a), str(self.b)
        if below(texts[0], room) == below(texts[1], room):  # what differs was left out
            texts = cut_apart(*texts, room // 2)
        return [begun, *below(f"a has {texts[0]}", room), *below(f"b has {texts[1]}", room)]

    def what(self, a: str = "a", b: str = "b") -> str:
        """The difference without its place, and the two sides by these names."""
        if self.kind == "only_a":
            return f"only in {a}, which has {self.a}"
        if self.kind == "only_b":
            return f"only in {b}, which has {self.b}"
        if self.kind == "order":
            return f"the keys come in another order: {a} has {self.a}; {b} has {self.b}"
        return f"{a} has {self.a}, {b} has {self.b}"


def below(text: str, room: int) -> list[str]:
    """A text on the lines below another one."""
    room -= 2 * len(INDENT)
    first, *more = filled(cut_middle(text, MOST_BELOW * room).split(" "), room)
    return [INDENT + first, *(2 * INDENT + line for line in more)]


class TreeDiff(tuple[Difference, ...]):
    """The differences between two trees: a tuple that prints one a line, and is false where there are none.

    In print, the same difference in siblings that are told apart by a number, such as the layers of a model, is one
    line: `['layers'][0…11]['w']`. Where a line would be longer than 80 characters, what each side has stands below
    the place; of what is still longer the middle is left out. In a notebook it is a table.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "no differences"
        rows = self._rows()
        lines = [f"{self._count()}:"]
        lines += [f"{INDENT}{text}" for difference, path, places in rows for text in difference.lines(path, places)]
        return "\n".join([*lines, *(INDENT + text for text in self._rest(rows))])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        if not self:
            return paragraph(["no differences"])
        rows = self._rows()
        cells = [
            (
                (path or "the root") + in_places(places),
                difference.kind.replace("_", " in "),
                difference.a or "",
                difference.b or "",
            )
            for difference, path, places in rows
        ]
        table = table_of(("path", "difference", "a", "b"), cells, to_the_right=(), broken=("path", "a", "b"))
        return table + paragraph([*self._rest(rows), self._count()])

    def _rows(self) -> list[tuple[Difference, str, int]]:
        return [*islice(folded_rows(self[:MOST_FOLDED]), MOST_SHOWN)]

    def _count(self) -> str:
        return f"{len(self):,} difference{'s' if len(self) > 1 else ''}"

    def _rest(self, rows: list[tuple[Difference, str, int]]) -> list[str]:
        """How many differences there are beside these."""
        rest = len(self) - sum(places for _, _, places in rows)
        return [f"… and {rest:,} more"] if rest else []


def in_places(places: int) -> str:
    return f" ({places:,} places)" if places > 1 else ""


def folded_rows(differences: Sequence[Difference]) -> Iterator[tuple[Difference, str, int]]:
    """What to print: a difference, the path or a pattern of paths, and how many places that stands for."""
    import re
    from collections import defaultdict

    split = re.compile("([0-9]{1,9})").split
    # What differs where, the numbers of the path left out, and the paths that this stands for.
    rows: dict[Any, list[list[str]]] = defaultdict(list)
    marks: list[Any] = []
    for number, difference in enumerate(differences):
        path = difference.last_keys(DEEPEST_FOLDED + 1)
        pieces = split("\0".join(map(key_text, path))) if len(path) <= DEEPEST_FOLDED else [str(number)]
        marks.append((difference.what(), *pieces[::2]))
        rows[marks[-1]].append(pieces)
    for difference, mark in zip(differences, marks, strict=True):
        row = rows[mark]
        pattern = folded(row) if row else None
        if pattern is not None:
            yield difference, cut_path(pattern.split(chr(0))), len(row)
            rows[mark] = []  # said for all of them
        elif row:
            yield difference, path_text(difference.path), 1


def folded(row: Sequence[Sequence[str]]) -> str | None:
    """The one text for paths that have all numbers of a range, or of several, and differ in nothing else."""
    if len(row) < SHORTEST_RUN:
        return None
    pieces, total = list(row[0]), 1
    for at in range(1, len(pieces), 2):
        texts = sorted({path[at] for path in row}, key=int)
        total *= int(texts[-1]) - int(texts[0]) + 1
        if len(texts) > 1:
            pieces[at] = f"{texts[0]}…{texts[-1]}"
    return "".join(pieces) if total == len(row) == len(set(map(tuple, row))) else None
