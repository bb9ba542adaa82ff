"""What stands for a tensor or a size ends with the recording: somebody who still holds one would have a wrong number.

The function may have put it into a global, an attribute, an argument, a closure or an object that it returned. A graph
does nothing of that kind at later calls, so it is an error.
"""

from __future__ import annotations

import gc
import time
import types

from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, short_name

from .array import Recorded
from .kinds import is_a
from .lines import quoted_place
from .randomness import is_alone
from .sizes import Size

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .tape import Tape

__all__: list[str] = []

STAND_INS = (Recorded, Size)
FAR = 6  # references between a stand-in and what an error can name
MANY = 2_000  # objects that are looked at for that
PAUSES = (0.01, 0.1, 0.9)  # seconds, one in all; after each, all objects of the process are looked at


def is_stand_in(value: Any) -> bool:
    return class_of(value) in STAND_INS


def has_stand_in(array: Any) -> bool:
    """Whether an array of objects has a stand-in among them, also in lists and tuples."""
    agenda: list[Any] = [array.tolist()]
    while agenda:
        found = agenda.pop()
        if is_stand_in(found):
            return True
        if class_of(found) in (list, tuple):
            agenda.extend(found)
    return False


def check_ended(tape: Tape) -> None:
    """Refuse a recording of which a stand-in is left."""
    if next(left_of(tape), None) is None:
        return
    gc.collect()  # what lies in a circle of garbage is held by nobody
    # Another thread may hold all objects for a moment: one that begins to record looks for generators among them.
    # While it collects garbage itself, `gc.collect` does nothing here.
    for pause in () if is_alone() else PAUSES:
        if next(left_of(tape), None) is None:
            return
        time.sleep(pause)
        gc.collect()
    found = next(left_of(tape), None)
    if found is not None:
        raise RecordingError(outlived(tape, found))


def left_of(tape: Tape) -> Iterator[Any]:
    return (found for reference in tape.stand_ins if (found := reference()) is not None)


def outlived(tape: Tape, found: Any) -> str:
    holder = holder_of(found)
    if type(found) is Size:
        return (
            f"The recorded function keeps a size of a tensor beyond its end{holder}. With sizes that vary, later calls "
            "would find the size of the first one there: return it, or make a number of it with int(), which the graph "
            "is then for"
        )
    op = next((op for op in tape.ops if any(node is found.traced_node for node in op.outputs)), None)
    what = f"the argument {found.traced_node.name}" if op is None else f"the result of {op.name}"
    place = ": " if op is None else f", at {quoted_place(*op.line)}"
    return (
        f"The recorded function keeps a tensor beyond its end{holder}: {what}{place}later calls run a graph, which "
        "keeps nothing. Return the tensor, in a container or an object of a registered class, and store it outside"
    )


def holder_of(found: Any) -> str:
    """What holds an object, as far as it can be named."""
    seen = {id(found), id(tuple)}
    layer: list[Any] = [found]
    for _ in range(FAR):
        above: list[Any] = []
        for held in layer:
            for holder in gc.get_referrers(held):
                if id(holder) in seen or holder is layer or holder is above or is_a(holder, types.FrameType):
                    continue
                seen.add(id(holder))
                text = named(holder, held)
                if text:
                    return f", {text}"
                above.append(holder)
                if len(seen) > MANY:
                    return ""
        layer = above
    return ""


def named(holder: Any, held: Any) -> str:
    """What a reader knows an object by that holds another one, empty for containers on the way."""
    if is_a(holder, types.FunctionType):
        return f"in the closure of {holder.__qualname__}()"
    if is_a(holder, (types.GeneratorType, types.CoroutineType)):
        return f"in the generator {holder.__qualname__}()"
    cls = class_of(holder)
    if cls is dict:
        owner: Any = next((found for found in gc.get_referrers(holder) if attributes_of(found) is holder), None)
        return "" if owner is None else attribute_of(owner, holder, held)
    if cls in (list, tuple, set, frozenset, types.CellType) or cls.__module__ == "builtins":
        return ""
    return attribute_of(holder, attributes_of(holder) or {}, held)


def attributes_of(holder: Any) -> Any:
    """The dict of an object's attributes, None where it has none; of a class, what is in its place."""
    attributes: Any = getattr(holder, "__dict__", None)
    if is_a(holder, type):
        attributes = next((found for found in gc.get_referents(holder) if class_of(found) is dict), None)
    return attributes if class_of(attributes) is dict else None


def attribute_of(owner: Any, attributes: dict[str, Any], held: Any) -> str:
    name, cls = next((name for name, value in [*attributes.items()] if value is held), None), class_of(owner)
    if (cls.__module__ or "").startswith("clika_pytree."):
        return "in its result, where it is no leaf"
    if is_a(owner, types.ModuleType):
        return f"in the global {name} of {owner.__name__}"
    if name is None:
        return f"in an object of class {short_name(cls)}"
    return f"in the attribute .{name} of {short_name(owner if is_a(owner, type) else cls)}"
