"""What an operation gave, held against the tree: a figure counts only beside a right result."""

from typing import Any

from engines import FLOOR, OURS, leaves_in
from trees import Tree

import clika_pytree

KEEP_THE_ORDER = {OURS, FLOOR, "torch"}
TREES_GIVEN = {"unflatten", "map", "map2"}


def check(engine: str, operation: str, result: Any, tree: Tree) -> None:
    in_order = engine in KEEP_THE_ORDER
    if operation == "equal":
        assert result is True
    elif operation == "hash":
        assert isinstance(result, int)
    elif operation == "map_anew":
        ((name, mapped),) = result.items()
        assert name.startswith("variant")
        check(engine, "map", mapped, tree)
    elif operation in TREES_GIVEN:
        # Containers first ask whether their items are the same objects: no array is compared.
        assert result is not tree or not isinstance(tree, (list, dict, tuple))
        assert result == tree
        assert same_leaves(clika_pytree.tree_leaves(result), tree, in_order)
    else:
        assert same_leaves(leaves_in(result), tree, in_order, nones=engine != "jaxlib")


def same_leaves(leaves: list[object], tree: Tree, in_order: bool, nones: bool = True) -> bool:
    """Whether these are the leaves of the tree; other engines sort the keys of dicts, and JAX leaves out None."""
    expected = [id(leaf) for leaf in clika_pytree.tree_leaves(tree) if nones or leaf is not None]
    given = [id(leaf) for leaf in leaves]
    return given == expected if in_order else sorted(given) == sorted(expected)
