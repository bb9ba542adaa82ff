"""How these modules map a function, and take trees apart along a structure, as the other libraries do."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque

from clika_pytree._native import StructureError, keystr
from clika_pytree.one_level import class_of, tree_flatten_one_level, tree_is_leaf
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import add_note, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from clika_pytree import TreeSpec

MAPPINGS = {"dict", "ordereddict", "defaultdict"}
MAPPING_CLASSES: set[type[object]] = {dict, OrderedDict, defaultdict}


def results_of(fn: Callable[..., Any], spec: TreeSpec, columns: Iterable[Iterable[Any]]) -> list[Any]:
    """What a function gives for the leaves of trees, an exception with a note that names the place."""
    results: list[Any] = []
    try:
        # What was called so far stays in the list: how many there are says where an exception was raised.
        results.extend(map(fn, *columns))
        if len(results) < spec.num_leaves:
            raise RuntimeError("the mapped function raised StopIteration")
    except Exception as error:
        path = keystr(spec.key_paths()[len(results)])
        add_note(error, f"clika_pytree: raised by the mapped function {place(path)}")
        raise
    return results


def flatten_up_to(spec: TreeSpec, tree: Any) -> list[Any]:
    """The parts of a tree at the leaves of a structure, whatever the kinds of dicts, the order of keys and `maxlen`."""
    try:
        return spec.flatten_up_to(tree)
    except StructureError:
        parts = loosely(spec, tree)
        if parts is None:
            raise
        return parts


def loosely(spec: TreeSpec, tree: Any) -> list[Any] | None:
    found: list[Any] = []
    waiting: list[tuple[TreeSpec, Any]] = [(spec, tree)]
    while waiting:
        spec, tree = waiting.pop()
        if spec.is_leaf():
            found.append(tree)
            continue
        children = children_like(spec, tree)
        if children is None:
            return None
        waiting.extend(zip(reversed(spec.children()), reversed(children), strict=True))
    return found


def children_like(spec: TreeSpec, tree: Any) -> list[Any] | None:
    """The children of a container in the order of those of a structure, or None where its root is another one."""
    options: Any = {"none_is_leaf": spec.none_is_leaf, "namespace": spec.namespace}
    if spec.kind in MAPPINGS:
        keys = spec.entries()
        if class_of(tree) not in MAPPING_CLASSES or len(tree) != len(keys) or any(key not in tree for key in keys):
            return None
        return [tree[key] for key in keys]
    if spec.kind == "deque":
        return list(tree) if class_of(tree) is deque and len(tree) == spec.num_children else None
    if tree_is_leaf(tree, **options):
        return None
    children, root = tree_flatten_one_level(tree, **options)
    return children if root.is_prefix(spec) else None
