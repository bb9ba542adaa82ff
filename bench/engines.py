"""The libraries that are compared: what each of them calls for an operation, on the same tree."""

import importlib
import itertools
import pickle
import sys
from collections.abc import Callable
from importlib import metadata
from types import ModuleType
from typing import Any

from floor import build_floor
from trees import DATACLASSES, PAIRS, Tree, flatten_pair, variants

import clika_pytree

Calls = dict[str, Callable[[], object]]

OURS, FLOOR = "clika_pytree", "floor"
MODULES = {
    OURS: "clika_pytree",
    "jaxlib": "jax.tree_util",
    "optree": "optree",
    "dm-tree": "tree",
    "torch": "torch.utils._pytree",
}
ENGINES = [OURS, FLOOR, *list(MODULES)[1:]]
OPERATIONS = [
    "flatten",
    "flatten_again",
    "leaves",
    "flatten_up_to",
    "unflatten",
    "map",
    "map_anew",
    "map2",
    "with_path",
    "equal",
    "hash",
]


def same(leaf: object) -> object:
    """What is mapped: as little as a Python function can do."""
    return leaf


def first(leaf: object, _other: object) -> object:
    return leaf


def calls_clika_pytree(cp: ModuleType, tree: Tree, upcoming: Callable[[], Tree]) -> Calls:
    leaves, spec = cp.tree_flatten(tree)
    # A structure that is alive is found again by flatten, never by pickle: this one is built anew.
    other = pickle.loads(pickle.dumps(spec))
    return {
        "flatten": lambda: cp.tree_flatten(upcoming()),
        "flatten_again": lambda: cp.tree_flatten(tree),
        "leaves": lambda: cp.tree_leaves(tree),
        "flatten_up_to": lambda: spec.flatten_up_to(tree),
        "unflatten": lambda: spec.unflatten(leaves),
        "map": lambda: cp.tree_map(same, tree),
        "map_anew": lambda: cp.tree_map(same, upcoming()),
        "map2": lambda: cp.tree_map(first, tree, tree),
        "with_path": lambda: cp.tree_flatten_with_path(tree),
        **calls_of_specs(spec, other),
    }


def calls_jaxlib(jax: ModuleType, tree: Tree, upcoming: Callable[[], Tree]) -> Calls:
    leaves, spec = jax.tree_flatten(tree)
    return {
        "flatten": lambda: jax.tree_flatten(upcoming()),
        "flatten_again": lambda: jax.tree_flatten(tree),
        "leaves": lambda: jax.tree_leaves(tree),
        "flatten_up_to": lambda: spec.flatten_up_to(tree),
        "unflatten": lambda: jax.tree_unflatten(spec, leaves),
        "map": lambda: jax.tree_map(same, tree),
        "map_anew": lambda: jax.tree_map(same, upcoming()),
        "map2": lambda: jax.tree_map(first, tree, tree),
        "with_path": lambda: jax.tree_flatten_with_path(tree),
        **calls_of_specs(spec, jax.tree_structure(tree)),
    }


def calls_optree(optree: ModuleType, tree: Tree, upcoming: Callable[[], Tree]) -> Calls:
    leaves, spec = optree.tree_flatten(tree, none_is_leaf=True)
    return {
        "flatten": lambda: optree.tree_flatten(upcoming(), none_is_leaf=True),
        "flatten_again": lambda: optree.tree_flatten(tree, none_is_leaf=True),
        "leaves": lambda: optree.tree_leaves(tree, none_is_leaf=True),
        "flatten_up_to": lambda: spec.flatten_up_to(tree),
        "unflatten": lambda: optree.tree_unflatten(spec, leaves),
        "map": lambda: optree.tree_map(same, tree, none_is_leaf=True),
        "map_anew": lambda: optree.tree_map(same, upcoming(), none_is_leaf=True),
        "map2": lambda: optree.tree_map(first, tree, tree, none_is_leaf=True),
        "with_path": lambda: optree.tree_flatten_with_path(tree, none_is_leaf=True),
        **calls_of_specs(spec, optree.tree_structure(tree, none_is_leaf=True)),
    }


def calls_dm_tree(dm_tree: ModuleType, tree: Tree, upcoming: Callable[[], Tree]) -> Calls:
    """It has no structures: a tree is rebuilt from another one."""
    leaves = dm_tree.flatten(tree)
    return {
        "flatten": lambda: dm_tree.flatten(upcoming()),
        "flatten_again": lambda: dm_tree.flatten(tree),
        "unflatten": lambda: dm_tree.unflatten_as(tree, leaves),
        "map": lambda: dm_tree.map_structure(same, tree),
        "map_anew": lambda: dm_tree.map_structure(same, upcoming()),
        "map2": lambda: dm_tree.map_structure(first, tree, tree),
        "with_path": lambda: dm_tree.flatten_with_path(tree),
    }


def calls_torch(torch: ModuleType, tree: Tree, upcoming: Callable[[], Tree]) -> Calls:
    leaves, spec = torch.tree_flatten(tree)
    other = torch.tree_structure(tree)
    return {
        "flatten": lambda: torch.tree_flatten(upcoming()),
        "flatten_again": lambda: torch.tree_flatten(tree),
        "leaves": lambda: torch.tree_leaves(tree),
        "flatten_up_to": lambda: spec.flatten_up_to(tree),
        "unflatten": lambda: torch.tree_unflatten(leaves, spec),
        "map": lambda: torch.tree_map(same, tree),
        "map_anew": lambda: torch.tree_map(same, upcoming()),
        "map2": lambda: torch.tree_map(first, tree, tree),
        "with_path": lambda: torch.tree_flatten_with_path(tree),
        "equal": lambda: spec == other,
    }


def calls_floor(floor: ModuleType, tree: Tree, upcoming: Callable[[], Tree]) -> Calls:
    leaves, spec = floor.flatten(tree)
    return {
        "flatten": lambda: floor.flatten(upcoming()),
        "flatten_again": lambda: floor.flatten(tree),
        "flatten_up_to": lambda: floor.match(spec, tree),
        "unflatten": lambda: floor.unflatten(spec, leaves),
        "map": lambda: floor.map(same, tree),
        "map_anew": lambda: floor.map(same, upcoming()),
    }


def calls_of_specs(spec: Any, other: Any) -> Calls:
    assert spec is not other
    return {"equal": lambda: spec == other, "hash": lambda: hash(spec)}


CALLS: dict[str, Callable[[ModuleType, Tree, Callable[[], Tree]], Calls]] = {
    OURS: calls_clika_pytree,
    FLOOR: calls_floor,
    "jaxlib": calls_jaxlib,
    "optree": calls_optree,
    "dm-tree": calls_dm_tree,
    "torch": calls_torch,
}


def register_classes(engine: str, module: ModuleType) -> None:
    """Dataclasses as the engine knows them best, the other classes with Python functions."""
    fields = ["weight", "bias"]
    for made in DATACLASSES:
        if engine == OURS:
            module.register_dataclass(made)
        elif engine == "jaxlib":
            module.register_dataclass(made, fields, [])
        elif engine == "optree":
            register_optree(module, made, lambda node: ((node.weight, node.bias), None))
        elif engine == "torch":
            register_torch(module, made, lambda node: ([node.weight, node.bias], None))
    for made in PAIRS:
        if engine in (OURS, "jaxlib"):
            # JAX hands the context first.
            build = (lambda x, c, made=made: made(*x)) if engine == OURS else (lambda c, x, made=made: made(*x))
            module.register_pytree_node(made, flatten_pair, build)
        elif engine == "optree":
            register_optree(module, made, flatten_pair)
        elif engine == "torch":
            register_torch(module, made, flatten_pair)


def register_optree(optree: ModuleType, made: type, flatten: Callable[[Any], Any]) -> None:
    everywhere = vars(optree.registry)["__GLOBAL_NAMESPACE"]
    optree.register_pytree_node(made, flatten, lambda context, children: made(*children), namespace=everywhere)


def register_torch(torch: ModuleType, made: type, flatten: Callable[[Any], Any]) -> None:
    keys = lambda node: ([(torch.GetAttrKey(name), child) for name, child in vars(node).items()], None)  # noqa: E731
    torch.register_pytree_node(made, flatten, lambda x, c: made(*x), flatten_with_keys_fn=keys)


def installed(wanted: list[str]) -> dict[str, ModuleType]:
    """The engines that there are, ready for every tree; what is missing is said."""
    found: dict[str, ModuleType] = {}
    for engine in wanted:
        if engine == FLOOR:
            floor = build_floor()
            if floor is not None:
                found[engine] = floor
            continue
        try:
            found[engine] = importlib.import_module(MODULES[engine])
        except ImportError:
            print(f"{engine} is not installed: left out", file=sys.stderr)
            continue
        register_classes(engine, found[engine])
    return found


def versions(found: dict[str, ModuleType]) -> dict[str, str]:
    return {engine: metadata.version(engine.replace("_", "-")) for engine in found if engine != FLOOR}


def number_of_leaves(tree: Tree) -> int:
    return len(clika_pytree.tree_leaves(tree))


def calls_on(engine: str, module: ModuleType, tree: Tree) -> Calls:
    """operation -> a call of it; none where the engine sees other leaves in the tree, as dm-tree in dataclasses."""
    upcoming = itertools.cycle(variants(tree)).__next__
    calls = CALLS[engine](module, tree, upcoming)
    seen = leaves_in(calls["flatten_again"]())
    nones = sum(leaf is None for leaf in clika_pytree.tree_leaves(tree)) if engine == "jaxlib" else 0
    return calls if len(seen) == number_of_leaves(tree) - nones else {}


def leaves_in(result: Any) -> list[object]:
    """The leaves in what a function of one of the engines returned: alone, before the structure, or with paths."""
    if isinstance(result, tuple):
        result = result[1] if len(result) == 3 else result[0]
    if result and all(type(each) is tuple and len(each) == 2 for each in result):
        return [leaf for _, leaf in result]
    return result
