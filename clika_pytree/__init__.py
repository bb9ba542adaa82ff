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

from . import pytree
from .typing import TYPE_CHECKING

__all__ = ["__version__", "pytree"]
__all__ += pytree.__all__

# Where runtimes meet trees. These names are not in `__all__`, as some of them hide builtins.
BOUNDARIES: dict[str, tuple[str, ...]] = {
    "boundary": (
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
    ),
    "runtimes": ("register_runtime", "unregister_runtime"),
    "runtimes.protocol": ("RecordingError",),
}

if TYPE_CHECKING:
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
    from .pytree import *  # noqa: F403  (the one list of public names is pytree.__all__)
    from .runtimes import register_runtime as register_runtime
    from .runtimes import unregister_runtime as unregister_runtime
    from .runtimes.protocol import RecordingError as RecordingError
else:
    # As a copy of the names this would load the modules that `pytree` loads on first use.
    def __getattr__(name):
        if name in __all__:
            value = getattr(pytree, name)
        else:
            found = next((module for module, names in BOUNDARIES.items() if name in names), None)
            if found is None:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
            from importlib import import_module

            value = getattr(import_module(f"{__name__}.{found}"), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__, *(name for names in BOUNDARIES.values() for name in names)})
