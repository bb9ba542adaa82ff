"""A table of what is in a tree."""

from __future__ import annotations

from clika_pytree._native import tree_structure
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import array_facts, class_of, key_text, shorten

from .levels import Rules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clika_pytree.typing import IsLeaf, Namespace

SHORTEST_RUN = 3
MOST_KEYS = 12
COLUMNS = ("path", "leaves", "type", "shape", "dtype", "bytes")
TO_THE_RIGHT = ("leaves", "bytes")


class SummaryRow:
    """One line of a summary: a leaf, or the leaves that stand in one place of siblings that look alike.

    Attributes:
        path: The key path as text; `['h'][0…11].w` stands for the leaves of twelve siblings.
        count: How many leaves the line stands for.
        type: The name of their class.
        shape: Their shape, None for leaves that are no arrays.
        dtype: Their dtype as text, or None.
        nbytes: The bytes of one of them, or None.
    """

    __slots__ = ("count", "dtype", "nbytes", "path", "shape", "type")

    def __init__(self, path: str, count: int, leaf: Leaf) -> None:
        self.path, self.count = path, count
        self.type, self.shape, self.dtype, self.nbytes = leaf

    def cells(self) -> tuple[str, ...]:
        shape = (
            "" if self.shape is None else shorten(f"({', '.join(map(str, self.shape))}{',' * (len(self.shape) == 1)})")
        )
        nbytes = "" if self.nbytes is None else bytes_text(self.count * self.nbytes)
        return (self.path or "the root", f"{self.count:,}", self.type, shape, self.dtype or "", nbytes)

    def __repr__(self) -> str:
        return f"SummaryRow({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


class TreeSummary:
    """What is in a tree; printed, it is a table, in a notebook too.

    Attributes:
        rows: The lines of the table.
        hidden_rows: How many lines were left out at the end.
        num_leaves: The leaves of the tree.
        num_arrays: Those that have a shape and a dtype; one that stands in several places counts once.
        num_elements: The elements of these arrays.
        nbytes: Their bytes.
    """

    def __init__(self, rows: tuple[SummaryRow, ...], hidden_rows: int, totals: Totals) -> None:
        self.rows, self.hidden_rows = rows, hidden_rows
        self.num_leaves, self.num_arrays = totals.leaves, len(totals.seen)
        self.num_elements, self.nbytes, self._repeated = totals.elements, totals.nbytes, totals.repeated

    def _totals(self) -> str:
        text = f"{counted(self.num_leaves, 'leaf', 'leaves')}, {counted(self.num_arrays, 'array', 'arrays')}"
        if self.num_arrays:
            text += f" of {counted(self.num_elements, 'element', 'elements')}, {bytes_text(self.nbytes)}"
        if self._repeated:
            places = counted(self._repeated, "more place", "more places")
            text += f"; an array that stands in several places is counted once ({places})"
        return text

    def _more(self) -> list[str]:
        return [f"… and {counted(self.hidden_rows, 'more line', 'more lines')}"] if self.hidden_rows else []

    def __repr__(self) -> str:
        cells = [COLUMNS, *(row.cells() for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                text.rjust(width) if name in TO_THE_RIGHT else text.ljust(width)
                for text, width, name in zip(line, widths, COLUMNS, strict=True)
            ).rstrip()
            for line in cells
        ]
        if not self.rows:
            lines = []
        return "\n".join([*lines, *self._more(), self._totals()])

    def _repr_html_(self) -> str:
        from html import escape

        def line(texts: Sequence[str], tag: str) -> str:
            return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in texts)}</tr>"

        body = "".join(line(row.cells(), "td") for row in self.rows)
        foot = "<br>".join(map(escape, [*self._more(), self._totals()]))
        head = line(COLUMNS, "th")
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{foot}</p>"


if TYPE_CHECKING:
    Leaf = tuple[str, "tuple[Any, ...] | None", "str | None", "int | None"]


def tree_summary(
    tree: Any,
    *,
    max_rows: int | None = 50,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> TreeSummary:
    """A table of the leaves of a tree: paths, types, shapes, dtypes and bytes, with totals.

    Three or more siblings in a row that look alike, such as the layers of a model, are one group of lines; their keys
    are written `[0…11]`. Arrays are known by having a shape and a dtype, whichever library they are of, and none is
    asked for its values.

    Args:
        tree: The tree.
        max_rows: How many lines the table has at most; None for all.
        is_leaf: Called with every object; where it gives a true value, the object is a leaf.
        none_is_leaf: Whether None is a leaf, or a node without children.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        A `TreeSummary`, which prints as the table and shows as one in a notebook. It has `rows`, `num_leaves`,
        `num_arrays`, `num_elements` and `nbytes`.

    Raises:
        CircularTreeError: (a `ValueError`) the tree contains itself.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_summary({"layers": [{"w": 0.5, "b": None}] * 12, "name": "net"})
        path                 leaves  type      shape  dtype  bytes
        ['layers'][0…11]['w']    12  float
        ['layers'][0…11]['b']    12  NoneType
        ['name']                  1  str
        25 leaves, 0 arrays
    """
    rules = Rules(is_leaf, none_is_leaf, namespace)
    tree_structure(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)  # refuses circles
    totals = Totals()
    root = surveyed(tree, rules, totals)
    rows: list[SummaryRow] = []
    for row in rows_of(root):
        if max_rows is not None and len(rows) >= max_rows:
            break
        rows.append(row)
    return TreeSummary(tuple(rows), root.num_rows - len(rows), totals)


class Totals:
    def __init__(self) -> None:
        self.leaves = self.elements = self.nbytes = self.repeated = 0
        self.seen: set[int] = set()

    def add(self, value: Any, leaf: Leaf) -> None:
        self.leaves += 1
        _, shape, _, nbytes = leaf
        if shape is None:
            return
        if id(value) in self.seen:
            self.repeated += 1
            return
        self.seen.add(id(value))
        self.nbytes += nbytes or 0
        self.elements += product(shape) or 0


class Part:
    """A node or leaf of the tree as the table sees it. Parts that look alike have one `look`."""

    __slots__ = ("groups", "key", "leaf", "look", "num_rows")

    def __init__(self, key: Any, look: int, leaf: Leaf | None, groups: list[list[Part]]) -> None:
        self.key, self.look, self.leaf, self.groups = key, look, leaf, groups
        self.num_rows: int = 1 if leaf is not None else sum(group[0].num_rows for group in groups)


def surveyed(tree: Any, rules: Rules, totals: Totals) -> Part:
    """The parts of a tree, from the leaves up, on a stack of our own."""
    looks: dict[Any, int] = {}
    # The open nodes: key, class, keys and children still to come, parts done.
    done: list[Part] = []
    open_nodes: list[tuple[Any, type, Iterator[tuple[Any, Any]], list[Part]]] = []
    coming: Iterator[tuple[Any, Any]] = iter([(None, tree)])
    parts = done
    while True:
        for key, child in coming:
            level = rules.level(child)
            if level is None:
                leaf = leaf_facts(child)
                totals.add(child, leaf)
                parts.append(Part(key, looks.setdefault(leaf, len(looks)), leaf, []))
                continue
            open_nodes.append((key, class_of(child), coming, parts))
            coming, parts = iter(list(zip(level.keys, level.children, strict=True))), []
            break
        else:
            if not open_nodes:
                return done[0]
            finished = parts
            key, cls, coming, parts = open_nodes.pop()
            look = (cls, *((key_text(part.key), part.look) for part in finished))
            parts.append(Part(key, looks.setdefault(look, len(looks)), None, grouped(finished)))


def grouped(parts: list[Part]) -> list[list[Part]]:
    """Neighbours that look alike, in groups; groups of fewer than three are taken apart again."""
    runs: list[list[Part]] = []
    for part in parts:
        if runs and runs[-1][0].look == part.look:
            runs[-1].append(part)
        else:
            runs.append([part])
    groups: list[list[Part]] = []
    for run in runs:
        groups.extend([run] if len(run) >= SHORTEST_RUN else [[part] for part in run])
    return groups


def rows_of(root: Part) -> Iterator[SummaryRow]:
    """The lines of the table, one by one."""
    # A way is the text of a key, behind the way to its parent.
    todo: list[tuple[Part, Any, int]] = [(root, None, 1)]
    while todo:
        part, way, count = todo.pop()
        if part.leaf is not None:
            yield SummaryRow(text_of(way), count, part.leaf)
            continue
        for group in reversed(part.groups):
            text = key_text(group[0].key)
            if len(group) > 1:
                text = run_text(text, key_text(group[-1].key))
            todo.append((group[0], (way, text), count * len(group)))


def run_text(first: str, last: str) -> str:
    """`[0…11]` for the keys `[0]` to `[11]`."""
    return f"{first[:-1]}…{last[1:]}" if first.startswith("[") and last.startswith("[") else f"{first}…{last}"


def text_of(way: Any) -> str:
    texts: list[str] = []
    while way is not None:
        way, text = way
        texts.append(text)
    texts.reverse()
    if len(texts) > MOST_KEYS:
        half = MOST_KEYS // 2
        texts = [*texts[:half], f"…({len(texts) - MOST_KEYS} more)…", *texts[-half:]]
    return "".join(texts)


def leaf_facts(value: Any) -> Leaf:
    name = type(value).__name__
    facts = array_facts(value)
    if facts is None:
        return name, None, None, None
    shape, dtype = facts
    try:
        hash(shape)
    except TypeError:  # sizes of some library that are no numbers
        shape = tuple(map(str, shape))
    return name, shape, dtype, bytes_of(value, shape)


def bytes_of(value: Any, shape: tuple[Any, ...]) -> int | None:
    """The bytes of an array; None where its library does not say, or where a size is no number yet."""
    try:
        return int(value.nbytes)
    except Exception:
        size = product(shape)
    try:
        return None if size is None else size * int(value.dtype.itemsize)
    except Exception:
        return None


def product(shape: tuple[Any, ...]) -> int | None:
    total = 1
    try:
        for size in shape:
            total *= int(size)
    except Exception:
        return None
    return total


def counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def bytes_text(number: int) -> str:
    if number < 1024:
        return f"{number} B"
    size = float(number)
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} TiB"
