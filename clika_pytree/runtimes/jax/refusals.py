"""JAX's errors about values that a trace does not have, in terms of the function's arguments."""

from __future__ import annotations

import importlib
import linecache
import os
import re
import traceback

import clika_pytree
from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import listed, shorten

from .library import jax

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__: list[str] = []

# Where JAX says which arguments a value comes from; the list that it sees is called so in `program.SIGNATURE`.
DEPENDS = re.compile(r"depends on the values? of the arguments? (.*)")
ITEM = re.compile(r"\btensors\[(\d+)\]")
NEEDS_VALUE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
LIBRARIES = ("jax", "jaxlib", "numpy")
FOLDERS = tuple(
    os.path.dirname(os.path.abspath(str(module.__file__))) + os.sep
    for module in (clika_pytree, *map(importlib.import_module, LIBRARIES))
)


def translated(name: str, error: Exception, names: Sequence[str]) -> RecordingError | None:
    """The error for a value that follows from arguments of ours; None where JAX names none."""
    if not isinstance(error, NEEDS_VALUE):
        return None
    found = DEPENDS.search(str(error))
    needed = [names[int(index)] for index in ITEM.findall(found[1])] if found else []
    if not needed:
        return None
    file, line = user_line(error)
    source = linecache.getline(file, line).strip()
    place = f"{file}:{line}:\n    {shorten(source)}\n" if source else f"{file}:{line}: "
    those = listed(needed, len(needed))
    made = RecordingError(
        f"{name}() needs the value of {those} while JAX traces it, at {place}a graph is the same for all values: "
        "compute with arrays instead (jnp.where, jax.lax.cond), or pass plain numbers, which are built into the graph"
    )
    made.path = needed[0]
    return made


def user_line(error: BaseException) -> tuple[str, int]:
    """The innermost line that is neither ours nor a library's."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    users = [place for place in frames if not place[0].startswith(FOLDERS)]
    return users[-1] if users else ("?", 0)
