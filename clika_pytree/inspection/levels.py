"""A tree one level at a time, so that a walk over it keeps its own stack, however deep the tree is."""

from __future__ import annotations

from clika_pytree._native import tree_flatten
from clika_pytree.key_paths import only_root
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from clika_pytree._native import TreeSpec
    from clika_pytree.typing import IsLeaf, Namespace

    # A path while walking: the way to the parent, and a key. Written out only where it is shown.
    Way: TypeAlias = "tuple[Way, Any] | None"

SEQUENCES = ("list", "tuple", "deque")
MAPPINGS = ("dict", "ordereddict", "defaultdict")


class Level:
    """A node without what is below its children."""

    __slots__ = ("children", "keys", "kind", "spec")

    def __init__(self, spec: TreeSpec, children: list[Any]) -> None:
        self.spec, self.children = spec, children
        self.kind = spec.kind
        self.keys: list[Any] = [path[0] for path in spec.key_paths()]


class Rules:
    """How trees are read."""

    __slots__ = ("is_leaf", "leaf_types", "namespace", "none_is_leaf")

    def __init__(self, is_leaf: IsLeaf, none_is_leaf: bool, namespace: Namespace) -> None:
        self.is_leaf, self.none_is_leaf, self.namespace = is_leaf, none_is_leaf, namespace
        # Without a predicate the class decides; most objects of a tree are leaves of few classes.
        self.leaf_types: set[type] = set()

    def level(self, node: Any) -> Level | None:
        """The node that an object is; None where it is a leaf."""
        if type(node) in self.leaf_types:
            return None
        # Below the root everything is a leaf here, None too.
        none_is_leaf = self.none_is_leaf or node is not None
        children, spec = tree_flatten(
            node, only_root(node, self.is_leaf), none_is_leaf=none_is_leaf, namespace=self.namespace
        )
        if not spec.is_leaf():
            return Level(spec, children)
        if self.is_leaf is None:
            self.leaf_types.add(class_of(node))
        return None


def path_of(way: Way) -> tuple[Any, ...]:
    keys: list[Any] = []
    while way is not None:
        way, key = way
        keys.append(key)
    return tuple(reversed(keys))
