"""The libraries that classes are mirrored in and adopted from, as tests ask them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import pytest


class Shared(NamedTuple):
    """A library, as far as a test of one class needs it.

    Attributes:
        name: What it is called here.
        needs: The module that has to be there.
        flatten: Leaves with what leads to each, as text, and the structure.
        unflatten: A tree of a structure and leaves.
        register: Registers a class with functions whose context comes second, `flatten(obj)` and `unflatten(children,
            context)`; takes `names`, what leads to the children.
    """

    name: str
    needs: str
    flatten: Callable[..., tuple[list[tuple[str, Any]], Any]]
    unflatten: Callable[[Any, list], Any]
    register: Callable[..., None]

    def require(self) -> None:
        how = "`make test-torch` installs it and runs this" if self.name == "torch" else f"`pip install {self.name}`"
        pytest.importorskip(self.needs, reason=f"{self.name} is not installed: {how}")


def flatten_jax(tree: Any, namespace: str = "") -> tuple[list[tuple[str, Any]], Any]:
    jax: Any = import_module("jax")
    pairs, structure = jax.tree_util.tree_flatten_with_path(tree)
    assert (jax.tree.leaves(tree), jax.tree.structure(tree)) == ([leaf for _, leaf in pairs], structure)
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in pairs], structure


def unflatten_jax(structure: Any, leaves: list) -> Any:
    return import_module("jax").tree.unflatten(structure, leaves)


def register_jax(cls: type, flatten: Any, unflatten: Any, names: tuple[str, ...] | None = None) -> None:
    tree_util: Any = import_module("jax.tree_util")
    if names is None:
        tree_util.register_pytree_node(cls, flatten, lambda context, children: unflatten(children, context))
        return

    def with_keys(obj: Any) -> Any:
        children, context = flatten(obj)
        return tuple(zip(map(tree_util.GetAttrKey, names), children, strict=True)), context

    tree_util.register_pytree_with_keys(cls, with_keys, lambda context, children: unflatten(children, context))


def flatten_torch(tree: Any, namespace: str = "") -> tuple[list[tuple[str, Any]], Any]:
    pytree: Any = import_module("torch.utils._pytree")
    pairs, structure = pytree.tree_flatten_with_path(tree)
    assert pytree.tree_flatten(tree) == ([leaf for _, leaf in pairs], structure)
    return [(pytree.keystr(path), leaf) for path, leaf in pairs], structure


def unflatten_torch(structure: Any, leaves: list) -> Any:
    return import_module("torch.utils._pytree").tree_unflatten(leaves, structure)


def register_torch(cls: type, flatten: Any, unflatten: Any, names: tuple[str, ...] | None = None) -> None:
    pytree: Any = import_module("torch.utils._pytree")

    def with_keys(obj: Any) -> Any:
        children, context = flatten(obj)
        return list(zip(map(pytree.GetAttrKey, names or ()), children, strict=True)), context

    pytree.register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=None if names is None else with_keys)


def flatten_optree(tree: Any, namespace: str = "") -> tuple[list[tuple[str, Any]], Any]:
    optree: Any = import_module("optree")
    accessors, leaves, structure = optree.tree_flatten_with_accessor(tree, none_is_leaf=True, namespace=namespace)
    return [(accessor.codify(""), leaf) for accessor, leaf in zip(accessors, leaves, strict=True)], structure


def unflatten_optree(structure: Any, leaves: list) -> Any:
    return import_module("optree").tree_unflatten(structure, leaves)


def register_optree(
    cls: type, flatten: Any, unflatten: Any, names: tuple[str, ...] | None = None, namespace: str = ""
) -> None:
    registry: Any = import_module("optree.registry")
    registry.register_pytree_node(
        cls,
        lambda obj: (*flatten(obj), names),
        lambda context, children: unflatten(children, context),
        namespace=namespace or registry.__dict__["__GLOBAL_NAMESPACE"],
    )


SHARED = {
    "torch": Shared("torch", "torch", flatten_torch, unflatten_torch, register_torch),
    "jax": Shared("jax", "jax", flatten_jax, unflatten_jax, register_jax),
    "optree": Shared("optree", "optree", flatten_optree, unflatten_optree, register_optree),
}


@pytest.fixture(params=SHARED)
def library(request: pytest.FixtureRequest) -> Shared:
    """Each of the libraries that is installed (import it to use it)."""
    shared = SHARED[request.param]
    shared.require()
    return shared
