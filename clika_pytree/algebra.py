"""Trees turned inside out, and trees spread over other trees."""

from __future__ import annotations

from ._native import (
    PyTreeTypeError,
    PyTreeValueError,
    StructureError,
    TreeSpec,
    keystr,
    tree_flatten,
    tree_map_,
    tree_structure,
    treespec_state,
)
from .arguments import check_callable
from .one_level import tree_is_leaf
from .typing import TYPE_CHECKING
from .wording import add_note, described, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .typing import IsLeaf, Namespace

__all__ = [
    "tree_broadcast_common",
    "tree_broadcast_map",
    "tree_broadcast_prefix",
    "tree_transpose",
    "tree_transpose_map",
]


def tree_transpose(outer: TreeSpec, inner: TreeSpec, tree: Any, is_leaf: IsLeaf = None) -> Any:
    """Turn a tree of trees inside out: `outer` with an `inner` at each leaf becomes `inner` with an `outer` at each.

    The tree must have the structure `outer.compose(inner)`; the number of its leaves alone is not enough. Either
    structure may be without leaves. How None and registered classes are read is up to the specs.

    Args:
        outer: The structure at the top of the tree.
        inner: The structure that stands at each leaf of `outer`.
        tree: The tree.
        is_leaf: Called with every object of the tree; where it gives a true value, the object is a leaf.

    Returns:
        The tree with `inner` at the top, and `outer` at each leaf of that.

    Raises:
        StructureError: The tree does not have this structure; the message names the first place where it differs.
        PyTreeTypeError: `outer` or `inner` is not a TreeSpec.

    Example:
        >>> from clika_pytree import pytree
        >>> rows = [{"x": 1, "y": 2}, {"x": 3, "y": 4}]
        >>> outer, inner = pytree.tree_structure([0, 0]), pytree.tree_structure({"x": 0, "y": 0})
        >>> pytree.tree_transpose(outer, inner, rows)
        {'x': [1, 3], 'y': [2, 4]}
    """
    check_spec("tree_transpose()", "outer", outer)
    check_spec("tree_transpose()", "inner", inner)
    deeper = "give an inner that goes as deep, or stop there with is_leaf"
    return turned(outer, inner, fitted(outer.compose(inner), "outer.compose(inner)", tree, is_leaf, deeper))


def tree_transpose_map(
    fn: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    inner: TreeSpec | None = None,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    """Map a function that returns trees, and turn the result inside out: one tree of `tree`'s structure for each leaf
    of what the function returns.

    Args:
        fn: Called with a leaf of each tree; all that it returns must have one structure.
        tree: The first tree.
        rests: More trees of the same structure.
        inner: The structure of what `fn` returns; what stands below its leaves is kept whole. Left out, it is the whole
            structure of the first result.
        is_leaf: Called with every object of the trees (not of the results); where it gives a true value, the object is
            a leaf.
        none_is_leaf: Whether None is a leaf, or a node without children.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        A tree of the structure `inner` whose leaves are trees of the structure of `tree`.

    Raises:
        StructureError: Trees, or results, that do not have one structure; the message names the place.
        PyTreeValueError: The tree has no leaves and there is no `inner`.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_transpose_map(lambda x: {"min": min(x), "max": max(x)}, {"a": {1, 2}, "b": {3}})
        {'min': {'a': 1, 'b': 3}, 'max': {'a': 2, 'b': 3}}
    """
    check_callable("tree_transpose_map()", "fn", fn)
    outer = tree_structure(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    results: list[Any] = []
    tree_map_(
        lambda *leaves: results.append(fn(*leaves)),
        tree,
        *rests,
        is_leaf=is_leaf,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )
    if inner is not None:
        check_spec("tree_transpose_map()", "inner", inner)
        outer.compose(inner)  # says so where the two read None in two ways
        return turned(outer, inner, taken_apart(outer, inner.flatten_up_to, results, "inner"))
    if not results:
        raise PyTreeValueError(
            "tree_transpose_map() got a tree without leaves, so there is no result to take the inner structure from; "
            "pass inner=..."
        )
    first = tree_structure(results[0], none_is_leaf=none_is_leaf, namespace=namespace)

    def leaves_of(result: Any) -> list[Any]:
        return fitted(first, "the first", result, None, "pass an inner, and what stands below it is kept whole")

    return turned(outer, first, taken_apart(outer, leaves_of, results, "its first result"))


def tree_broadcast_prefix(
    prefix: Any, tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> Any:
    """Spread the leaves of a prefix tree over a whole tree: each stands at all the leaves that are below its place.

    Args:
        prefix: A tree that ends earlier than `tree`, or where it ends; a single leaf is a prefix of every tree.
        tree: The tree whose structure the result has.
        is_leaf: Called with every object of both; where it gives a true value, the object is a leaf.
        none_is_leaf: Whether None is a leaf, or a node without children.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        A tree of the structure of `tree` that holds the leaves of `prefix`.

    Raises:
        StructureError: `prefix` has a container where `tree` has none such; the message names the place.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_broadcast_prefix({"w": 0.1, "b": 0}, {"w": [1, (2, 3)], "b": 4})
        {'w': [0.1, (0.1, 0.1)], 'b': 0}
    """
    leaves, above = tree_flatten(prefix, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    whole = tree_structure(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    if above.is_prefix(whole):
        return whole.unflatten(spread(leaves, above, whole))
    # Either this says what does not fit, or `is_leaf` stopped in the tree above a leaf of the prefix.
    parts = parts_of(tree, above, "the prefix")
    below = [tree_structure(part, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace) for part in parts]
    return above.unflatten([spec.unflatten([leaf] * spec.num_leaves) for leaf, spec in zip(leaves, below, strict=True)])


def tree_broadcast_common(
    first: Any, second: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> tuple[Any, Any]:
    """Spread two trees over one another, so that both have the structure in which they agree.

    Where one has a leaf and the other a container, the leaf is repeated at every leaf of that container.

    Args:
        first: A tree.
        second: Another one.
        is_leaf: See `tree_broadcast_prefix`, as for the following ones.
        none_is_leaf: Whether None is a leaf.
        namespace: Where registrations are looked up.

    Returns:
        Both trees, with one structure.

    Raises:
        StructureError: Both have a container at some place, and not the same; the message names the place.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.tree_broadcast_common([1, (2, 3)], [{"x": 4, "y": 5}, 6])
        ([{'x': 1, 'y': 1}, (2, 3)], [{'x': 4, 'y': 5}, (6, 6)])
    """
    columns, common = aligned((first, second), is_leaf, none_is_leaf, namespace)
    return common.unflatten(columns[0]), common.unflatten(columns[1])


def tree_broadcast_map(
    fn: Callable[..., Any],
    prefix: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    """Map a function over trees of which some end earlier than others: their leaves are repeated.

    Usually `prefix` says something of whole parts of the trees that follow. It need not be the shortest everywhere:
    the trees are spread over one another, as by `tree_broadcast_common`.

    Args:
        fn: Called with one leaf of each tree.
        prefix: The first tree.
        rests: The other trees.
        is_leaf: See `tree_broadcast_prefix`, as for the following ones.
        none_is_leaf: Whether None is a leaf.
        namespace: Where registrations are looked up.

    Returns:
        A tree of the structure in which all agree.

    Raises:
        StructureError: Two trees have different containers at one place; the message names it.

    Example:
        >>> from clika_pytree import pytree
        >>> rates, weights = {"body": 0.5, "head": 2}, {"body": [2, 4], "head": {"w": 10}}
        >>> pytree.tree_broadcast_map(lambda rate, w: rate * w, rates, weights)
        {'body': [1.0, 2.0], 'head': {'w': 20}}
    """
    check_callable("tree_broadcast_map()", "fn", fn)
    columns, common = aligned((prefix, *rests), is_leaf, none_is_leaf, namespace)
    return common.unflatten(called(fn, "the mapped function", common, columns))


# --- structures that fit ----------------------------------------------------------------------------------------------


def check_spec(caller: str, name: str, value: object) -> None:
    if not isinstance(value, TreeSpec):
        raise PyTreeTypeError(
            f"{caller} expects a TreeSpec as {name}, got {described(value)}; tree_structure() gives that of a tree"
        )


def turned(outer: TreeSpec, inner: TreeSpec, leaves: list[Any]) -> Any:
    """The leaves of `outer.compose(inner)` as a tree of `inner.compose(outer)`."""
    width = inner.num_leaves
    return inner.unflatten([outer.unflatten(leaves[at::width]) for at in range(width)])


def fitted(spec: TreeSpec, name: str, tree: Any, is_leaf: IsLeaf, deeper: str) -> list[Any]:
    """The leaves of a tree that has the structure `spec` and is nowhere deeper; `deeper` is the advice where it is."""
    reading: Any = {"none_is_leaf": spec.none_is_leaf, "namespace": spec.namespace}
    leaves, found = tree_flatten(tree, is_leaf, **reading)
    if found == spec:
        return leaves
    leaves = parts_of(tree, spec, name)
    for index, leaf in enumerate(leaves):
        if not tree_is_leaf(leaf, is_leaf, **reading):
            path = spec.key_paths()[index]
            raise structure_error(
                f"the tree is deeper than {name} {place(path)}: {name} has a leaf, the tree has "
                f"{described(leaf)}; {deeper}",
                keystr(path),
            )
    return leaves


def parts_of(tree: Any, spec: TreeSpec, name: str) -> list[Any]:
    """What a tree has at the leaves of a structure, which errors call by this name."""
    try:
        return spec.flatten_up_to(tree)
    except StructureError as error:
        text = str(error).replace("does not fit the spec", f"does not fit {name}", 1)
        raise structure_error(text.replace(": the spec has", f": {name} has", 1), error.path or "") from None


def taken_apart(outer: TreeSpec, take: Callable[[Any], list[Any]], results: list[Any], other: str) -> list[Any]:
    """The leaves of all results of a function; an error names the leaf that it was called with, too."""
    leaves: list[Any] = []
    for index, result in enumerate(results):
        try:
            leaves += take(result)
        except StructureError as error:
            path = outer.key_paths()[index]
            raise structure_error(
                f"what fn returned for the leaf {place(path)} does not have the structure of {other}: {error}",
                keystr(path) + (error.path or ""),
            ) from None
    return leaves


def structure_error(message: str, path: str) -> StructureError:
    error = StructureError(message)
    error.path = path
    return error


# --- leaves that are repeated -----------------------------------------------------------------------------------------


def aligned(
    trees: tuple[Any, ...], is_leaf: IsLeaf, none_is_leaf: bool, namespace: Namespace
) -> tuple[list[list[Any]], TreeSpec]:
    """The leaves of each tree, repeated as far as the structure goes in which all trees agree; and that structure."""
    flat = [tree_flatten(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace) for tree in trees]
    common = flat[0][1]
    for _, spec in flat[1:]:
        common = common.broadcast(spec)
    return [spread(leaves, spec, common) for leaves, spec in flat], common


def spread(leaves: list[Any], above: TreeSpec, whole: TreeSpec) -> list[Any]:
    """The leaves of a prefix, each as often as `whole` has leaves at its place."""
    if (above.num_nodes, above.num_leaves) == (whole.num_nodes, whole.num_leaves):
        return leaves
    counts = leaf_counts(above, whole)
    return [leaf for leaf, count in zip(leaves, counts, strict=True) for _ in range(count)]


def leaf_counts(above: TreeSpec, whole: TreeSpec) -> Iterator[int]:
    """How many leaves `whole` has at each leaf of its prefix `above`."""
    lower = nodes_of(whole)
    run = 0  # the leaves of `whole` that were reached, but not counted
    for is_run, size in nodes_of(above):
        if not is_run:
            next(lower)
            continue
        for _ in range(size):
            count, open_places = 0, 1
            while open_places:
                if run:
                    taken = min(run, open_places)
                    run, count, open_places = run - taken, count + taken, open_places - taken
                    continue
                below_is_run, below = next(lower)
                if below_is_run:
                    run = below
                else:
                    open_places += below - 1
            yield count


def nodes_of(spec: TreeSpec) -> Iterator[tuple[bool, int]]:
    """The nodes from the top down: whether it is a run of neighbouring leaves, and how many; else how many children."""
    import struct

    nodes: bytes = treespec_state(spec)[2]
    return ((kind == 0, size) for kind, size in struct.iter_unpack("<BI", nodes))


# --- calls and places -------------------------------------------------------------------------------------------------


def called(fn: Callable[..., Any], name: str, spec: TreeSpec, columns: list[list[Any]]) -> list[Any]:
    """What a function gives for each leaf; an exception gains a note that says at which."""
    results: list[Any] = []
    try:
        for leaves in zip(*columns, strict=True):
            results.append(fn(*leaves))  # noqa: PERF401  (their number is the place where it stopped)
    except Exception as error:
        add_note(error, f"clika_pytree: raised by {name} {place(spec.key_paths()[len(results)])}")
        raise
    return results
