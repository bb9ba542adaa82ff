"""Where a runtime meets a tree: functions of trees are compiled, traced and waited for here."""

from .cache import GuardCache, GuardError, UnregisteredNodeError
from .compile import Compiled as Compiled
from .compile import compile
from .errors import MissError, RecompileWarning

__all__ = ["GuardCache", "GuardError", "MissError", "RecompileWarning", "UnregisteredNodeError", "compile"]
