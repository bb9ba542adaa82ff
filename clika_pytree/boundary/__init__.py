"""Where a runtime meets a tree: functions of trees are compiled, traced and waited for here, trees saved and loaded."""

from clika_pytree._native import FileFormatError, GuardCache, GuardError, UnregisteredNodeError

from .compilation import compile
from .compiled import Compiled as Compiled
from .errors import MissError, RecompileWarning
from .evaluation import eval
from .explanation import Change as Change
from .explanation import Explanation as Explanation
from .files import FileSummary as FileSummary
from .files import NotLoaded as NotLoaded
from .files import inspect, load, save
from .table import GraphRow as GraphRow
from .table import GraphTable as GraphTable
from .tracing import Graph as Graph
from .tracing import trace

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
