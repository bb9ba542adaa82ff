"""The table that a summary prints."""

from __future__ import annotations

from clika_pytree.columns import WIDTH, columns, cut_middle, filled, to_the_left, to_the_right
from clika_pytree.notebooks import paragraph, table_of
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    # What is known of a leaf: the name of its class, and of an array shape, dtype and bytes.
    Leaf = tuple[str, "tuple[int | str, ...] | None", "str | None", "int | None"]

COLUMNS = ("path", "leaves", "type", "shape", "dtype", "bytes")
TO_THE_RIGHT = ("leaves", "bytes")
TEXTS = ("type", "shape", "dtype")
SHORTEST_PATH = 24
SHORTEST_TEXT = 8


class SummaryRow:
    """One line of a summary: a leaf, the leaves that stand in one place of siblings that look alike, or a container
    without children.

    Attributes:
        path: The key path as text; `['h'][0…11].w` stands for the leaves of twelve siblings.
        count: How many leaves the line stands for; 0 for a container without children.
        type: The name of their class, or of the container's.
        shape: Their shape, None for leaves that are no arrays.
        dtype: Their dtype as text, or None.
        nbytes: The bytes of one of them, or None.
    """

    __slots__ = ("_keys", "count", "dtype", "nbytes", "path", "shape", "type")
    path: str
    count: int
    type: str
    shape: tuple[int | str, ...] | None
    dtype: str | None
    nbytes: int | None

    def __init__(self, keys: tuple[str, ...], count: int, leaf: Leaf) -> None:
        self._keys, self.path, self.count = keys, "".join(keys), count
        self.type, self.shape, self.dtype, self.nbytes = leaf

    def cells(self) -> tuple[str, ...]:
        shape = ""
        if self.shape is not None:
            shape = shorten(f"({', '.join(map(str, self.shape))}{',' * (len(self.shape) == 1)})")
        nbytes = "" if self.nbytes is None else bytes_text(self.count * self.nbytes)
        return (self.path or "the root", f"{self.count:,}", self.type, shape, self.dtype or "", nbytes)

    def indented(self, above: SummaryRow | None, room: int | None = None) -> list[str]:
        """The path without the keys that it shares with the row above; each is two columns.

        Where it is longer than there is room, its first keys are lines before it.
        """
        shared = 0
        for own, other in zip(self._keys[:-1], above._keys if above is not None else (), strict=False):
            if own != other or own.startswith("…"):
                break
            shared += 1
        if not self._keys:
            return ["the root"]
        return broken(shared, self._keys[shared:], room)

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in ("path", "count", "type", "shape", "dtype", "nbytes"))
        return f"SummaryRow({', '.join(shown)})"


class TreeSummary:
    """What is in a tree; printed, it is a table, in a notebook too.

    Where the lines would be longer than 80 characters, a path is written without the keys that it shares with the line
    above it, two columns for each, the type is left out where it is the same in all lines, and the first keys of a path
    that is still too long have a line of their own. Of a key that is longer than that the middle is left out, and of a
    type, shape or dtype that leaves no room for paths.

    Attributes:
        rows: The lines of the table.
        hidden_rows: How many lines were left out at the end.
        num_leaves: The leaves of the tree.
        num_arrays: Those that have a shape and a dtype; one that stands in several places counts once.
        num_elements: The elements of these arrays.
        nbytes: Their bytes.
    """

    rows: tuple[SummaryRow, ...]
    hidden_rows: int
    num_leaves: int
    num_arrays: int
    num_elements: int
    nbytes: int

    def __init__(self, rows: tuple[SummaryRow, ...], hidden_rows: int, num_leaves: int, totals: Totals) -> None:
        self.rows, self.hidden_rows = rows, hidden_rows
        self.num_leaves, self.num_arrays = num_leaves, len(totals.seen)
        self.num_elements, self.nbytes, self._repeated = totals.elements, totals.nbytes, totals.repeated

    def _totals(self) -> list[str]:
        """What stands below the table."""
        lines = [f"… and {counted(self.hidden_rows, 'more line', 'more lines')}"] if self.hidden_rows else []
        parts = [f"{counted(self.num_leaves, 'leaf', 'leaves')},", counted(self.num_arrays, "array", "arrays")]
        if self.num_arrays:
            elements = counted(self.num_elements, "element", "elements")
            parts = [*parts, f"of {elements},", bytes_text(self.nbytes)]
        lines += filled(parts)
        if self._repeated:
            places = counted(self._repeated, "more place", "more places")
            lines.append(f"an array that stands in several places is counted once ({places})")
        return lines

    def _cells(self) -> list[tuple[str, ...]]:
        """The texts of the table; without arrays it has three columns."""
        cells = [COLUMNS, *(row.cells() for row in self.rows)]
        return [line[:3] for line in cells] if all(row.shape is None for row in self.rows) else cells

    def __repr__(self) -> str:
        if not self.rows:
            return "\n".join(self._totals())
        cells, note = self._cells(), []
        if too_wide(aligned(cells)):
            cells = self._with_paths(cells)
        types = {row.type for row in self.rows}
        if too_wide(aligned(cells)) and len(types) == 1:
            cells = [(*line[:2], *line[3:]) for line in cells]
            note = [cut_middle(f"the type is {types.pop()} in every line", WIDTH)]
        lines = aligned(cells)
        for gap, is_cut in (("  ", False), (" ", False), ("  ", True), (" ", True)):
            if too_wide(lines):
                if (gap, is_cut) == (" ", True):
                    cells = with_room_for_paths(cells, len(gap))
                room = max(WIDTH - beside_paths(cells, len(gap)), SHORTEST_PATH)
                lines = aligned(self._with_paths(cells, room, is_cut), gap)
        return "\n".join([*lines, *self._totals(), *note])

    def _with_paths(
        self, cells: list[tuple[str, ...]], room: int | None = None, is_cut: bool = False
    ) -> list[tuple[str, ...]]:
        """The table with paths that begin below those above them; what is broken off of one is a line of one cell."""
        head, *lines = cells
        found = [head]
        for row, above, line in zip(self.rows, (None, *self.rows), lines, strict=False):
            *begun, path = row.indented(above, room)
            if is_cut and room is not None:
                begun, path = [cut_middle(text, WIDTH) for text in begun], cut_middle(path, room)
            found += [*((text,) for text in begun), (path, *line[1:])]
        return found

    def _repr_html_(self) -> str:
        foot = paragraph(self._totals())
        if not self.rows:
            return foot
        head, *rows = self._cells()
        return table_of(head, rows, to_the_right=TO_THE_RIGHT, broken=("path",)) + foot


class Totals:
    """The sums over the arrays of a tree."""

    elements: int
    nbytes: int
    repeated: int

    def __init__(self) -> None:
        self.elements = self.nbytes = self.repeated = 0
        self.seen: set[int] = set()

    def add(self, value: Any, elements: int | None, nbytes: int | None) -> None:
        if id(value) in self.seen:
            self.repeated += 1
            return
        self.seen.add(id(value))
        self.elements += elements or 0
        self.nbytes += nbytes or 0


def too_wide(lines: Sequence[str]) -> bool:
    return max(map(columns, lines)) > WIDTH


def widths_of(cells: Sequence[Sequence[str]]) -> list[int]:
    """How wide the columns of a table are. A line of one cell takes all the room."""
    return [max(map(columns, column)) for column in zip(*(line for line in cells if len(line) > 1), strict=True)]


def beside_paths(cells: Sequence[Sequence[str]], gap: int) -> int:
    return sum(width + gap for width in widths_of(cells)[1:])


def with_room_for_paths(cells: Sequence[tuple[str, ...]], gap: int) -> list[tuple[str, ...]]:
    """The table with the widest of its other texts cut, as far as the shortest path needs it."""
    widths = widths_of(cells)
    texts = [place for place, name in enumerate(cells[0]) if name in TEXTS]
    excess = beside_paths(cells, gap) + SHORTEST_PATH - WIDTH
    while excess > 0 and (widest := max(texts, key=widths.__getitem__, default=0)) and widths[widest] > SHORTEST_TEXT:
        widths[widest] -= 1
        excess -= 1
    return [
        tuple(cut_middle(text, widths[place]) if place in texts else text for place, text in enumerate(line))
        for line in cells
    ]


def broken(shared: int, keys: tuple[str, ...], room: int | None) -> list[str]:
    """The keys below so many others as one text, or as several: the last is no longer than there is room, if it can."""
    for first in range(len(keys)):
        text = "  " * (shared + first) + "".join(keys[first:])
        if room is None or columns(text) <= room or first == len(keys) - 1:
            return [*broken(shared, keys[:first], WIDTH), text]
    return []


def aligned(cells: Sequence[Sequence[str]], gap: str = "  ") -> list[str]:
    """The lines of a table whose first line has the names of the columns."""
    sides = [to_the_right if name in TO_THE_RIGHT else to_the_left for name in cells[0]]
    widths = widths_of(cells)
    return [
        gap.join(side(text, width) for text, width, side in zip(line, widths, sides, strict=False)).rstrip()
        for line in cells
    ]


def counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def bytes_text(number: int) -> str:
    if number < 1024:
        return f"{number:,} B"
    size = float(number)
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1023.95:  # what rounds to 1024.0 is one of the next unit
            return f"{size:.1f} {unit}"
    return f"{size / 1024:,.1f} TiB"
