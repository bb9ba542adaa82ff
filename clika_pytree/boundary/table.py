"""The graphs of a compiled function as a table."""

from __future__ import annotations

from typing import Any, NamedTuple

from clika_pytree.columns import WIDTH, filled
from clika_pytree.notebooks import paragraph, table_of
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import shorten, shorten_middle

from .explanation import leaf_texts, with_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clika_pytree._native import GuardEntry, TreeSpec

    from .program import Program

__all__: list[str] = []

MOST_ROWS = 64
MOST_PARTS = 8
LONGEST_PATH = 32
LONGEST_PART = 48
COLUMNS = ("hits", "nodes", "compiled in")


class GraphRow(NamedTuple):
    """One graph.

    Attributes:
        key: What it is for, as text by key path: tensors with dtype and sizes, of which one that may have any value is
            `*`, and the values of all other leaves.
        hits: How many calls it ran for after the one that made it.
        nodes: How many operations it has; None where its runtime does not say.
        seconds: How long making it took.
        spec: The structure of the arguments, of which each parameter is a child.
        program: What runs: its `text()` is the program.
    """

    key: dict[str, str]
    hits: int
    nodes: int | None
    seconds: float
    spec: TreeSpec
    program: Any

    def cells(self) -> tuple[str, str, str]:
        """The numbers as the table prints them."""
        return f"{self.hits:,}", "-" if self.nodes is None else f"{self.nodes:,}", duration(self.seconds)


class GraphTable(tuple[GraphRow, ...]):
    """The graphs of a function, that used last first: a tuple of rows, printed as a table, in a notebook too.

    Where there are several graphs, what is the same for all of them is left out of the print.
    """

    function: str
    parameters: tuple[str, ...]
    info: Any

    def __new__(cls, function: str, parameters: tuple[str, ...], rows: Sequence[GraphRow], info: Any) -> GraphTable:
        made = super().__new__(cls, rows)
        made.function, made.parameters, made.info = function, parameters, info
        return made

    def __reduce__(self) -> Any:
        raise TypeError("a table of graphs can't be pickled: graphs belong to their process")

    def __repr__(self) -> str:
        lines = filled([f"{self.function}:", self._counts()])
        if not self:
            return "\n".join(lines)
        cells = [COLUMNS, *(row.cells() for row in self[:MOST_ROWS])]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        indent = sum(widths) + 2 * len(widths)
        told = [["for"], *(wrapped(texts, WIDTH - indent) for texts in self.told())]
        for line, texts in zip(cells, told, strict=True):
            start = "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True))
            lines.append(f"{start}  {texts[0]}".rstrip())
            lines += [" " * indent + text for text in texts[1:]]
        return "\n".join([*lines, *self._rest()])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        head = paragraph([f"{self.function}: {self._counts()}"])
        if not self:
            return head
        cells = [(*row.cells(), ", ".join(texts)) for row, texts in zip(self, self.told(), strict=False)]
        table = table_of((*COLUMNS, "for"), cells, to_the_right=COLUMNS, broken=("for",))
        return head + table + (paragraph(rest) if (rest := self._rest()) else "")

    def _counts(self) -> str:
        hits, misses, most, count = self.info
        numbers = counted(hits, "hit", "hits"), counted(misses, "miss", "misses")
        return f"{counted(count, 'graph', 'graphs')} of at most {most:,}, {', '.join(numbers)}"

    def _rest(self) -> list[str]:
        return [f"… and {len(self) - MOST_ROWS:,} more"] if len(self) > MOST_ROWS else []

    def told(self) -> list[list[str]]:
        """What each graph is for, without what is the same for all of several graphs."""
        rows = self[:MOST_ROWS]
        keys = [{**structure(row, self.parameters), **row.key} for row in rows]
        names = list(dict.fromkeys(name for key in keys for name in key))
        if len(keys) > 1:
            names = [name for name in names if len({key.get(name) for key in keys}) > 1]
        else:
            names = [name for name in names if name in rows[0].key]
        return [texts_of(key, names) for key in keys]


def structure(row: GraphRow, parameters: tuple[str, ...]) -> dict[str, str]:
    """The structure of each argument that is no leaf."""
    return {
        f"{name} as": shorten(str(spec).removeprefix("TreeSpec(").removesuffix(")"), LONGEST_PART)
        for name, spec in zip(parameters, row.spec.children(), strict=True)
        if not spec.is_leaf()
    }


def texts_of(key: dict[str, str], names: list[str]) -> list[str]:
    found = [
        f"{shorten_middle(name, LONGEST_PATH)}{' ' if name.endswith(' as') else ': '}{shorten(key[name], LONGEST_PART)}"
        for name in names
        if name in key
    ]
    if len(found) > MOST_PARTS:
        found[MOST_PARTS - 1 :] = [f"and {len(found) - MOST_PARTS + 1:,} more"]
    return found or ["every call" if not key else "the same"]


def wrapped(texts: list[str], width: int) -> list[str]:
    """Texts with commas between them, on lines that are not too long."""
    *begun, last = [shorten(text, width - 1) for text in texts]
    return filled([*(f"{text}," for text in begun), last], width)


def counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def duration(seconds: float) -> str:
    if seconds < 0.9995:
        return f"{seconds * 1e3:.1f} ms" if seconds < 0.0995 else f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.1f} s"


def row_of(entry: GuardEntry) -> GraphRow:
    """The row of an entry of the cache, whose value is a program."""
    program: Program = entry.value
    texts = entry.guards
    key = leaf_texts(entry)
    # What is left are conditions on sizes.
    conditions = [condition_text(with_names(text, program.tensors())) for text in texts[len(program.names) :]]
    if conditions:
        key["where"] = " and ".join(conditions)
    return GraphRow(key, entry.hits, program.executable.nodes, program.seconds, entry.spec, program.executable)


def condition_text(text: str) -> str:
    """`x.shape[0] > 3` for `(x.shape[0] > 3) == True`."""
    if text.startswith("(") and text.endswith(") == True"):
        return text[1 : -len(") == True")]
    return f"not {text.removesuffix(' == False')}" if text.endswith(" == False") else text
