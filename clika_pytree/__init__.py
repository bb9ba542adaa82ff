"""Trees of Python containers: flatten them, map over them, compare their structure, and put them back together.

`from clika_pytree import pytree` and `import clika_pytree as crt` give the same names.

Example:
    >>> from clika_pytree import pytree
    >>> leaves, spec = pytree.tree_flatten({"w": [1, 2], "b": (3, None)})
    >>> leaves, spec
    ([1, 2, 3, None], TreeSpec({'w': [*, *], 'b': (*, *)}))
    >>> pytree.tree_unflatten(spec, list("abcd"))
    {'w': ['a', 'b'], 'b': ('c', 'd')}
"""

try:
    from ._native import __version__
except ModuleNotFoundError as _error:
    if _error.name != "clika_pytree._native":
        raise
    raise ModuleNotFoundError(
        "clika_pytree._native is missing: this is the source folder, not the installed package. Run Python in another "
        "folder, or build the module here: maturin develop --release",
        name=_error.name,
    ) from None

from . import boundary, pytree, runtimes

# Each as itself: to pyright, a name that is not in __all__ is private without it.
from .boundary import FileFormatError as FileFormatError
from .boundary import GuardCache as GuardCache
from .boundary import GuardError as GuardError
from .boundary import MissError as MissError
from .boundary import RecompileWarning as RecompileWarning
from .boundary import UnregisteredNodeError as UnregisteredNodeError
from .boundary import compile as compile
from .boundary import eval as eval
from .boundary import inspect as inspect
from .boundary import load as load
from .boundary import save as save
from .boundary import trace as trace
from .pytree import *  # noqa: F403
from .runtimes import RecordingError as RecordingError
from .runtimes import register_runtime as register_runtime
from .runtimes import unregister_runtime as unregister_runtime

__all__ = ["__version__", "pytree"]
__all__ += pytree.__all__

# Where runtimes meet trees: not for `from clika_pytree import *`, as some of these names hide builtins.
BOUNDARIES = (*boundary.__all__, *runtimes.__all__)
