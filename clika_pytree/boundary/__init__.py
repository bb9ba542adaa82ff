"""Where a runtime meets a tree: functions of trees are compiled, traced and waited for here, trees saved and loaded.

The classes of the answers are here, too, for annotations and `match`; they are loaded when they are asked for.
"""

from clika_pytree._native import FileFormatError, GuardCache, GuardError, UnregisteredNodeError
from clika_pytree.typing import TYPE_CHECKING

from .errors import MissError, RecompileWarning
from .functions import compile, eval, inspect, load, save, trace

__all__ = [
    "FileFormatError",
    "GuardCache",
    "GuardError",
    "MissError",
    "RecompileWarning",
    "UnregisteredNodeError",
    "compile",
    "eval",
    "inspect",
    "load",
    "save",
    "trace",
]

if TYPE_CHECKING:
    from .compiled import Compiled as Compiled
    from .explanation import Change as Change
    from .explanation import Explanation as Explanation
    from .files import FileSummary as FileSummary
    from .files import NotLoaded as NotLoaded
    from .table import GraphRow as GraphRow
    from .table import GraphTable as GraphTable
    from .tracing import Graph as Graph
else:
    from clika_pytree.first_use import on_first_use

    __getattr__, __dir__ = on_first_use(
        globals(),
        {
            "compiled": ("Compiled",),
            "explanation": ("Change", "Explanation"),
            "files": ("FileSummary", "NotLoaded"),
            "table": ("GraphRow", "GraphTable"),
            "tracing": ("Graph",),
        },
    )
