"""In the place of `jax.tree`: `from clika_pytree.compat.jax import tree`.

The functions of `clika_pytree.compat.jax` under their short names.

Example:
    >>> from clika_pytree.compat.jax import tree
    >>> tree.map(lambda x: x + 1, {"b": 1, "a": (2, None)})
    {'b': 2, 'a': (3, None)}
"""

from __future__ import annotations

from dataclasses import field

from clika_pytree.typing import TYPE_CHECKING

from . import tree_all as all
from . import tree_broadcast as broadcast
from . import tree_flatten as flatten
from . import tree_flatten_with_path as flatten_with_path
from . import tree_leaves as leaves
from . import tree_leaves_with_path as leaves_with_path
from . import tree_map as map
from . import tree_map_with_path as map_with_path
from . import tree_reduce as reduce
from . import tree_reduce_associative as reduce_associative
from . import tree_structure as structure
from . import tree_transpose as transpose
from . import tree_unflatten as unflatten

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]

if TYPE_CHECKING:
    from typing import Any


def static(**arguments: Any) -> Any:
    """A field of a dataclass that is part of the structure; the arguments are those of `dataclasses.field`."""
    arguments["metadata"] = {**(arguments.get("metadata") or {}), "static": True}
    return field(**arguments)
