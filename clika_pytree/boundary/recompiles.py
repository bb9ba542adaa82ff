"""The warning where a compiled function makes graph after graph."""

from __future__ import annotations

import inspect
import re
import warnings
from collections import Counter

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import shorten, shorten_middle

from .errors import RecompileWarning
from .state import OWN

if TYPE_CHECKING:
    from .explanation import Change

__all__: list[str] = []

# The graph from which on there is a warning.
TOO_MANY = 8
LONGEST_PATH = 60
LONGEST_VALUE = 40
MOST_VALUES = 4


class Recompiles:
    """The graphs that one function has made, and what was different each time."""

    def __init__(self, name: str, dynamic: bool) -> None:
        self.name, self.dynamic, self.count = name, dynamic, 0
        self.changes: list[tuple[Change, ...]] = []

    def wants_changes(self) -> bool:
        return 0 < self.count < TOO_MANY

    def note(self, changes: tuple[Change, ...]) -> None:
        """What differs between the call that a graph is made for and the closest one there is."""
        self.changes.append(changes)

    def made(self) -> None:
        """One more graph is there."""
        self.count += 1
        if self.count == TOO_MANY:
            text, self.changes = self.text(), []
            warnings.warn(text, RecompileWarning, stacklevel=frames_of_ours())

    def text(self) -> str:
        """The warning: what keeps changing is what differs in most of the calls."""
        counts = Counter(place for changes in self.changes for place in {(c.path, c.kind) for c in changes})
        (path, kind), count = counts.most_common(1)[0] if counts else (("", ""), 0)
        if 2 * count > len(self.changes):
            found = [c for changes in self.changes for c in changes if (c.path, c.kind) == (path, kind)]
            values = list(dict.fromkeys(shorten(text, LONGEST_VALUE) for c in found for text in (c.old, c.new) if text))
            shown = values if len(values) <= MOST_VALUES else [*values[: MOST_VALUES - 1], "…", values[-1]]
            what = f"{shorten_middle(path or 'a registration', LONGEST_PATH)} ({', '.join(shown)})"
        else:  # now this, now that: the parameter that has most of it
            roots = Counter(root_of(change.path) for changes in self.changes for change in changes)
            root = roots.most_common(1)[0][0] if roots else "the arguments"
            what, kind = f"{root}, in one way or another", "structure"
        times = "each time" if kind == "structure" or count == len(self.changes) else f"{count} times"
        return (
            f"{self.name}() has made {self.count} graphs: what changed {times} is {what}. {self.advice(kind)} Where it "
            f"is meant, filter this warning. {self.name}.graphs() lists the graphs, {self.name}.explain(...) compares "
            "a call with them"
        )

    def advice(self, kind: str) -> str:
        """What to do about a leaf that keeps changing."""
        if kind == "tensor" and not self.dynamic:
            return "compile(dynamic=True) makes one graph for all sizes that the function does not use as numbers."
        if kind in ("tensor", "condition"):
            return "A size that the function uses as a number is built into the graph."
        if kind in ("static", "attribute"):
            return (
                "The value of every leaf that is no tensor is built into the graph: pass it as a tensor (a numpy "
                "scalar will do), or leave it out of the arguments. A function or object made anew for each call is a "
                "new value."
            )
        return "The structure of the arguments is built into the graph: keep it the same from call to call."


def root_of(path: str) -> str:
    """The parameter that a path begins with."""
    return re.split(r"[\[.]", path, maxsplit=1)[0] or "a registration"


def frames_of_ours() -> int:
    """The stack level of the user's call."""
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(OWN):
        level, frame = level + 1, frame.f_back
    return level
