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
except ModuleNotFoundError as error:
    if error.name != "clika_pytree._native":
        raise
    raise ModuleNotFoundError(
        "clika_pytree._native is missing: this is the source folder, not the installed package. Run Python in another "
        "folder, or build the module here: maturin develop --release",
        name=error.name,
    ) from None

from . import pytree
from .typing import TYPE_CHECKING

__all__ = ["__version__", "pytree"]
__all__ += pytree.__all__

if TYPE_CHECKING:
    from .pytree import *  # noqa: F403  (the one list of public names is pytree.__all__)
else:
    # As a copy of the names this would load the modules that `pytree` loads on first use.
    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
        value = globals()[name] = getattr(pytree, name)
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
