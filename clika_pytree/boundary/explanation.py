"""Why a call needs a new graph: what differs from the call that a graph was made for."""

from __future__ import annotations

import re
from typing import NamedTuple

from clika_pytree._native import runtime_of
from clika_pytree.columns import WIDTH, columns, cut_apart, filled
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import shorten, shorten_middle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from clika_pytree._native import GuardCall, GuardEntry

__all__: list[str] = []

MOST_LINES = 20
LEAST_VALUES = 30  # characters for the old and the new value
# How a line goes on after the path, where not with `was`.
WORDS = {"context": ": its static part was ", "order": ": the keys were in the order "}
NUMBERED = re.compile(r"\bx(\d+)(?=\.shape\b)")
SIZES = re.compile(r"\[([^\]]*)\]")


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
        was = WORDS.get(self.kind, ": was ")
        room = WIDTH - 2 - len(was) - len(", now ")
        where = shorten_middle(self.path or "the call", room - LEAST_VALUES)
        room -= columns(where)
        if self.old is None:
            return f"{where}: new, {shorten(self.new or '', room)}"
        if self.new is None:
            return f"{where}: gone, was {shorten(self.old, room)}"
        old, new = self.old, self.new
        if old == new:  # as far as their texts tell
            room = WIDTH - 2 - columns(f"{where}: was , now another")
            return f"{where}: was {shorten(old, room)}, now another"
        if columns(old) + columns(new) > room:  # the shorter one leaves its room to the other
            old = shorten(old, max(room // 2, room - columns(new)))
            new = shorten(new, max(room // 2, room - columns(old)))
            if old == new:  # cut where they are still alike
                old, new = cut_apart(self.old, self.new, room // 2)
        return f"{where}{was}{old}, now {new}"


def changes_from(found: Iterable[Any], call: GuardCall) -> tuple[Change, ...]:
    """What `GuardCache.explain` found for a call."""
    changes = [Change(*difference) for difference in found]
    if any(change.old == change.new for change in changes):
        changes = [described_otherwise(change, call) if change.old == change.new else change for change in changes]
    if any(change.kind == "condition" for change in changes):
        tensors = tensor_names(call)
        changes = [
            change._replace(path=with_names(change.path, tensors)) if change.kind == "condition" else change
            for change in changes
        ]
    return tuple(changes)


def described_otherwise(change: Change, call: GuardCall) -> Change:
    """What differs is in the description that the runtime has of a tensor, and not in what is printed of it."""
    for name, leaf in zip(call.names, call.leaves, strict=True):
        described_by: tuple[str, ...] = getattr(runtime_of(leaf), "described_by", ()) if name == change.path else ()
        if described_by:
            return change._replace(new=f"{change.new} with another {described_by[0]}")
    return change


def leaf_texts(entry: GuardEntry) -> dict[str, str]:
    """What an entry of the cache, whose value is a program, asks of each leaf."""
    return {name: text[len(name) + 2 :] for name, text in zip(entry.value.names, entry.guards, strict=False)}


def tensor_names(call: GuardCall) -> list[str]:
    return [name for name, is_tensor in zip(call.names, call.mask, strict=True) if is_tensor]


def with_names(condition: str, tensors: list[str]) -> str:
    """A condition on sizes, `(x0.shape[0] > 3)`, with the names of the tensors."""
    return NUMBERED.sub(lambda match: tensors[int(match[1])], condition)


def reasons(changes: Iterable[Change], places: dict[tuple[str, int], str]) -> list[str]:
    """Why sizes matter to a graph that is to serve all of them: the lines that use them as numbers."""
    found: list[str] = []
    for change in changes:
        sizes = [SIZES.search(text or "") for text in (change.old, change.new)]
        if change.kind != "tensor" or sizes[0] is None or sizes[1] is None:
            continue
        pairs = zip(sizes[0][1].split(", "), sizes[1][1].split(", "), strict=False)
        found += [
            reason(f"{change.path}.shape[{axis}]", places[change.path, axis])
            for axis, (old, new) in enumerate(pairs)
            if old != new and (change.path, axis) in places
        ]
    return found


def reason(size: str, place: str) -> str:
    lines = filled([size, f"is used as a number at {place}"], WIDTH - 4)
    return "  " + "\n    ".join(lines)


class Explanation:
    """The answer to why a call needs a new graph; printed, it is a line for each difference.

    Attributes:
        function: The name of the compiled function.
        needs_graph: Whether no graph fits the call.
        num_graphs: How many graphs there are.
        changes: How the call differs from the one that the closest graph was made for; empty where a graph fits, and
            where there is none. Each has a `path`, `old`, `new` and a `kind`.
    """

    function: str
    needs_graph: bool
    num_graphs: int
    changes: tuple[Change, ...]

    def __init__(self, function: str, num_graphs: int, changes: tuple[Change, ...], notes: Sequence[str] = ()) -> None:
        self.function, self.num_graphs, self.changes, self._notes = function, num_graphs, changes, notes
        self.needs_graph = bool(changes) or not num_graphs

    def __repr__(self) -> str:
        title = f"{self.function}:"
        if not self.num_graphs:
            return "\n".join(filled([title, "this call needs a graph, there is none yet"]))
        if not self.changes:
            return "\n".join(filled([title, "a graph fits this call, none has to be made"]))
        count = len(self.changes)
        beside = "the only graph" if self.num_graphs == 1 else f"the closest of {self.num_graphs:,} graphs"
        differ = "one thing differs" if count == 1 else f"{count:,} things differ"
        lines = filled([title, "this call needs a new graph;", f"{differ} from {beside}:"])
        lines += [f"  {change}" for change in self.changes[:MOST_LINES]]
        if count > MOST_LINES:
            lines.append(f"  … and {count - MOST_LINES:,} more")
        return "\n".join([*lines, *self._notes])
