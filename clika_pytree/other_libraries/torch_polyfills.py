"""What PyTorch traces in the place of our native functions, where it compiles a function that calls them.

The runtime of PyTorch has this told, once the compiler is imported. Functions that are written in Python need none of
it: PyTorch follows them down to the native ones.
"""

from __future__ import annotations

import sys
from importlib import import_module

from clika_pytree import reductions, registration
from clika_pytree._native import PyTreeTypeError, PyTreeValueError, TreeSpec
from clika_pytree.typing import TYPE_CHECKING

from . import torch_regions
from .imports import when_imported
from .torch_regions import Rules, Structure, leaves_like, put_together, structure_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from clika_pytree.typing import Filter, IsLeaf, Namespace

__all__: list[str] = []

# What needs key paths or specs, which a region does not have.
REFUSED = (
    *("tree_flatten_with_path", "tree_leaves_with_path", "tree_map_with_path", "tree_paths"),
    *("treespec_from_state", "treespec_state"),
)


def flat(tree: Any, is_leaf: IsLeaf, none_is_leaf: bool, namespace: Namespace) -> tuple[list[Any], Structure]:
    if torch_regions.are_dicts_sorted():
        raise PyTreeValueError(
            "dict_insertion_ordered(False) does not hold inside a region that PyTorch compiles: leave the block before "
            "the region is called, or flatten outside of it"
        )
    leaves: list[Any] = []
    return leaves, structure_of(tree, leaves, Rules(is_leaf, none_is_leaf, namespace))


def tree_flatten(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> tuple[list[Any], Structure]:
    return flat(tree, is_leaf, none_is_leaf, namespace)


def tree_leaves(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> list[Any]:
    return flat(tree, is_leaf, none_is_leaf, namespace)[0]


def tree_structure(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> Structure:
    return flat(tree, is_leaf, none_is_leaf, namespace)[1]


def tree_iter(
    tree: Any, is_leaf: IsLeaf = None, *, none_is_leaf: bool = True, namespace: Namespace = ""
) -> Iterator[Any]:
    return iter(flat(tree, is_leaf, none_is_leaf, namespace)[0])


def tree_unflatten(treespec: Any, leaves: Any) -> Any:
    if isinstance(leaves, (Structure, TreeSpec)) and not isinstance(treespec, (Structure, TreeSpec)):
        return put_together(leaves, treespec)
    return put_together(treespec, leaves)


def tree_map(
    fn: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    leaves, structure = flat(tree, is_leaf, none_is_leaf, namespace)
    rules = Rules(is_leaf, none_is_leaf, namespace)
    columns = [leaves_like(structure, rest, index + 2, rules) for index, rest in enumerate(rests)]
    return put_together(structure, [fn(*row) for row in zip(leaves, *columns, strict=True)])


def tree_map_(
    fn: Callable[..., Any],
    tree: Any,
    /,
    *rests: Any,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    tree_map(fn, tree, *rests, is_leaf=is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return tree


def tree_map_only(
    filter: Filter,
    fn: Callable[[Any], Any],
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    leaves, structure = flat(tree, is_leaf, none_is_leaf, namespace)
    picks = reductions.picker("tree_map_only()", filter)
    return put_together(structure, [fn(leaf) if picks(leaf) else leaf for leaf in leaves])


def tree_map_only_(
    filter: Filter,
    fn: Callable[[Any], Any],
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> Any:
    tree_map_only(filter, fn, tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return tree


def is_registered(cls: type[Any], namespace: Namespace = "") -> bool:
    return (
        cls in torch_regions.CONTAINERS
        or getattr(torch_regions.entries, f"{torch_regions.entry_of(cls, namespace)}_kind") is not None
    )


POLYFILLS: tuple[Callable[..., Any], ...] = (
    *(tree_flatten, tree_leaves, tree_structure, tree_iter, tree_unflatten),
    *(tree_map, tree_map_, tree_map_only, tree_map_only_, is_registered),
)


def refusal(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise PyTreeTypeError(
            f"{name}() does not work inside a region that PyTorch compiles, which has neither key paths nor specs: "
            "call it outside, or compile with clika_pytree.compile()"
        )

    return refuse


def tell() -> None:
    """Give PyTorch's compiler what it shall trace; before 2.5 it takes nothing."""
    compiler: Any = getattr(sys.modules["torch"], "compiler", None)
    if not hasattr(compiler, "substitute_in_graph"):
        return
    native: Any = import_module("clika_pytree._native")
    for function in POLYFILLS:
        compiler.substitute_in_graph(getattr(native, function.__name__), skip_signature_check=True)(function)
    for name in REFUSED:
        compiler.substitute_in_graph(getattr(native, name), skip_signature_check=True)(refusal(name))
    compiler.substitute_in_graph(torch_regions.is_traced)(lambda: True)
    for asked in (torch_regions.entry_of, torch_regions.are_dicts_sorted):
        compiler.assume_constant_result(asked)
    registration.on_unregister.append(torch_regions.rewrite_entries)
    registration.on_register.append(torch_regions.rewrite_entries)


def prepare() -> None:
    """Tell PyTorch's compiler, now or when it is imported."""
    when_imported("torch._dynamo", tell)
