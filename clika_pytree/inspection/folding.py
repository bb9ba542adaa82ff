"""Which siblings of a tree are written as one: `[0…11]`, `['h.0…11.weight']`."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import key_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    # What the children of a node look like, in their order: a number for each look, and how many in a row have it.
    Runs = Sequence[tuple[int, int]]

SHORTEST_RUN = 3
# Names say something, so they are left out only where there are very many.
SHORTEST_RUN_OF_NAMES = 11
MOST_NUMBERS = 8


class Group:
    """Children that are written as one: those from `first` to `last` of one look, or every one that fits a pattern.

    `ranges` has, for each number in the name of the first child, the first and last that it stands for, or None.
    """

    __slots__ = ("count", "first", "last", "look", "ranges")

    def __init__(self, first: int, last: int, look: int, count: int, ranges: tuple[Any, ...] = ()) -> None:
        self.first, self.last, self.look, self.count, self.ranges = first, last, look, count, ranges


def folded(runs: Runs, names: Sequence[Any] | None) -> list[Group]:
    """The groups of the children of one node; `names` is None where they are known by their places."""
    if names is None:
        return list(by_place(runs))
    texts = [name if type(name) is str else str(name) if type(name) is int and name >= 0 else "" for name in names]
    looks = [look for look, count in runs for _ in range(count)]
    groups = Numbered(texts, looks).groups(range(len(looks)), 0)
    return list(by_name(groups))


def by_place(runs: Runs) -> Iterator[Group]:
    at = 0
    for look, count in runs:
        if count >= SHORTEST_RUN:
            yield Group(at, at + count - 1, look, count)
        else:
            for place in range(at, at + count):
                yield Group(place, place, look, 1)
        at += count


def by_name(groups: list[Group]) -> Iterator[Group]:
    """The groups with long rows of single children of one look put together."""
    start = 0
    while start < len(groups):
        first, end = groups[start], start + 1
        if first.count == 1:
            while end < len(groups) and groups[end].count == 1 and groups[end].look == first.look:
                end += 1
        if end - start >= SHORTEST_RUN_OF_NAMES:
            yield Group(first.first, groups[end - 1].first, first.look, end - start)
        else:
            yield from groups[start:end]
        start = end


class Numbered:
    """Children whose names have numbers in them, as `layer3` or, in a flat state dict, `h.3.mlp.weight`."""

    def __init__(self, texts: list[str], looks: list[int]) -> None:
        import re

        number = re.compile("([0-9]{1,9})")
        self.looks = looks
        # The text before each number, the number, and so on; the text behind the last number at the end.
        self.pieces: list[list[str]] = [number.split(text, MOST_NUMBERS) for text in texts]

    def groups(self, children: Sequence[int], level: int) -> list[Group]:
        """The groups of children that are alike up to the number of this level."""
        found: list[Group] = []
        for blocks in self.alike(self.blocks(children, level), level):
            numbers = [self.pieces[block[0]][2 * level + 1] for block in blocks] if len(blocks) > 1 else []
            for part, ends in contiguous(blocks, numbers):
                if ends is None:
                    found.extend(group for block in part for group in self.inside(block, level))
                    continue
                for group in self.inside(part[0], level):
                    group.count *= len(part)
                    group.ranges = (*(None for _ in range(level)), ends, *group.ranges[level + 1 :])
                    found.append(group)
        return found

    def blocks(self, children: Sequence[int], level: int) -> Iterator[list[int]]:
        """Neighbours that have the same text and number at this level."""
        block: list[int] = []
        mark: Any = None
        for child in children:
            own = self.pieces[child][2 * level : 2 * level + 2]
            if block and (len(own) < 2 or own != mark):
                yield block
                block = []
            block.append(child)
            mark = own
        if block:
            yield block

    def alike(self, blocks: Iterator[list[int]], level: int) -> Iterator[list[list[int]]]:
        """Neighbouring blocks that differ in nothing but the number of this level."""
        row: list[list[int]] = []
        mark: Any = None
        for block in blocks:
            pieces = self.pieces[block[0]]
            own: Any = None
            if len(pieces) > 2 * level + 1:
                own = pieces[2 * level], self.looks[block[0]], pieces[2 * level + 2 :]
                if len(block) > 1:
                    own += tuple((self.looks[child], self.pieces[child][2 * level + 2 :]) for child in block[1:])
            if row and (own is None or own != mark):
                yield row
                row = []
            row.append(block)
            mark = own
        if row:
            yield row

    def inside(self, block: list[int], level: int) -> list[Group]:
        """The groups of one block."""
        if len(block) == 1:
            return [Group(block[0], block[0], self.looks[block[0]], 1)]
        return self.groups(block, level + 1)


def contiguous(blocks: list[Any], texts: list[str]) -> Iterator[tuple[list[Any], tuple[str, str] | None]]:
    """Parts of a row of numbered blocks, each with its lowest and highest number where it has all between them."""
    numbers = [int(text) for text in texts]
    if len(blocks) < SHORTEST_RUN:
        yield blocks, None
        return
    low, high = min(numbers), max(numbers)
    # Any order will do: sorted names have 10 before 2.
    if high - low + 1 == len(numbers) == len(set(numbers)):
        yield blocks, (texts[numbers.index(low)], texts[numbers.index(high)])
        return
    start = 0
    for end in range(1, len(blocks) + 1):
        if end == len(blocks) or numbers[end] != numbers[end - 1] + 1:
            ends = (texts[start], texts[end - 1]) if end - start >= SHORTEST_RUN else None
            yield blocks[start:end], ends
            start = end


def text_of_group(group: Group, make: Callable[[Any], Any], names: Sequence[Any]) -> str:
    """How the key of a group is written."""
    name = names[group.first]
    if any(group.ranges):
        if type(name) is int:
            return f"[{group.ranges[0][0]}…{group.ranges[0][1]}]"
        pieces = Numbered([name], [0]).pieces[0]
        for level, ends in enumerate(group.ranges):
            if ends is not None:
                pieces[2 * level + 1] = f"{ends[0]}…{ends[1]}"
        return key_text(type(make(name))("".join(pieces)))
    first = key_text(make(name))
    if group.count == 1:
        return first
    last = key_text(make(names[group.last]))
    return f"{first[:-1]}…{last[1:]}" if first.startswith("[") and last.startswith("[") else f"{first}…{last}"
