"""Where a runtime meets a tree: functions of trees are compiled, traced and waited for here."""

from clika_pytree._native import GuardCache, GuardError, UnregisteredNodeError

from .compilation import compile
from .compiled import Compiled as Compiled
from .errors import MissError, RecompileWarning
from .evaluation import eval
from .explanation import Change as Change
from .explanation import Explanation as Explanation
from .table import GraphRow as GraphRow
from .table import GraphTable as GraphTable
from .tracing import Graph as Graph
from .tracing import trace

__all__ = [
    "GuardCache",
    "GuardError",
    "MissError",
    "RecompileWarning",
    "UnregisteredNodeError",
    "compile",
    "eval",
    "trace",
]
