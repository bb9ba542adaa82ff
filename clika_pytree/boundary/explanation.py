"""Why a call needs a new graph: what differs from the call that a graph was made for."""

from __future__ import annotations

from typing import NamedTuple

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import shorten, shorten_middle

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

__all__: list[str] = []

WIDTH = 80
MOST_LINES = 20
LONGEST_PATH = 40


class Change(NamedTuple):
    """One difference between a call and the one that a graph was made for.

    Attributes:
        path: Where it is, from the name of the parameter on: `"p['dense']['w']"`.
        old: What the graph was made for, as text; None where there was nothing.
        new: What the call has, as text; None where it has nothing.
        kind: What sort of difference it is, such as "static" or "type".
    """

    path: str
    old: str | None
    new: str | None
    kind: str

    def __str__(self) -> str:
        where = shorten_middle(self.path or "the call", LONGEST_PATH)
        room = max(12, (WIDTH - 2 - len(where) - len(": was , now ")) // 2)
        if self.old is None:
            return f"{where}: new, {shorten(self.new or '', 2 * room)}"
        if self.new is None:
            return f"{where}: gone, was {shorten(self.old, 2 * room)}"
        old, new = self.old, self.new
        if len(old) + len(new) > 2 * room:  # the shorter one leaves its room to the other
            room_of_old = max(room, 2 * room - len(new))
            old, new = shorten(old, room_of_old), shorten(new, max(room, 2 * room - len(old)))
        return f"{where}: was {old}, now {new}"


def changes_from(found: Iterable[Any]) -> tuple[Change, ...]:
    """What `GuardCache.explain` found."""
    return tuple(Change(*difference) for difference in found)


class Explanation:
    """The answer to why a call needs a new graph; printed, it is a line for each difference.

    Attributes:
        function: The name of the compiled function.
        needs_graph: Whether no graph fits the call.
        num_graphs: How many graphs there are.
        changes: How the call differs from the one that the closest graph was made for; empty where a graph fits, and
            where there is none. Each has a `path`, `old`, `new` and a `kind`.
    """

    def __init__(self, function: str, num_graphs: int, changes: tuple[Change, ...]) -> None:
        self.function, self.num_graphs, self.changes = function, num_graphs, changes
        self.needs_graph = bool(changes) or not num_graphs

    def __repr__(self) -> str:
        if not self.num_graphs:
            return f"{self.function}: this call needs a graph, there is none yet"
        if not self.changes:
            return f"{self.function}: a graph fits this call, none has to be made"
        count = len(self.changes)
        beside = "the only graph" if self.num_graphs == 1 else f"the closest of {self.num_graphs:,} graphs"
        differ = "one thing differs" if count == 1 else f"{count:,} things differ"
        lines = [f"{self.function}: this call needs a new graph; {differ} from {beside}:"]
        lines += [f"  {change}" for change in self.changes[:MOST_LINES]]
        if count > MOST_LINES:
            lines.append(f"  … and {count - MOST_LINES:,} more")
        return "\n".join(lines)
