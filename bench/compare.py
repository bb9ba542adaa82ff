"""Time clika_pytree beside optree, jaxlib and dm-tree, where they are installed, on the trees of trees.py.

    python bench/compare.py
    python bench/compare.py --trees transformer call --only flatten map --json figures.json

Times are the best of many repeats, in microseconds; in brackets, how many times as long as ours the other one takes.
"""

import argparse
import importlib
import json
import platform
import timeit
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from release import require_release
from trees import TREES, Linear, Tree

import clika_pytree

Calls = dict[str, Callable[[], object]]

OPERATIONS = ["flatten", "leaves", "structure", "unflatten", "map", "map2", "flatten_up_to", "equal", "hash"]
OURS = "clika_pytree"


def first(leaf: object, _other: object = None) -> object:
    """What is mapped: as little as a Python function can do."""
    return leaf


def calls_clika_pytree(cp: ModuleType, tree: Tree, twin: Tree) -> Calls:
    leaves, spec = cp.tree_flatten(tree)
    return {
        "flatten": lambda: cp.tree_flatten(tree),
        "leaves": lambda: cp.tree_leaves(tree),
        "structure": lambda: cp.tree_structure(tree),
        "unflatten": lambda: cp.tree_unflatten(spec, leaves),
        "map": lambda: cp.tree_map(first, tree),
        "map2": lambda: cp.tree_map(first, tree, tree),
        "flatten_up_to": lambda: spec.flatten_up_to(tree),
        **calls_of_specs(spec, cp.tree_structure(twin)),
    }


def calls_optree(optree: ModuleType, tree: Tree, twin: Tree) -> Calls:
    options = {"none_is_leaf": True, "namespace": "bench"}
    leaves, spec = optree.tree_flatten(tree, **options)
    return {
        "flatten": lambda: optree.tree_flatten(tree, **options),
        "leaves": lambda: optree.tree_leaves(tree, **options),
        "structure": lambda: optree.tree_structure(tree, **options),
        "unflatten": lambda: optree.tree_unflatten(spec, leaves),
        "map": lambda: optree.tree_map(first, tree, **options),
        "map2": lambda: optree.tree_map(first, tree, tree, **options),
        "flatten_up_to": lambda: spec.flatten_up_to(tree),
        **calls_of_specs(spec, optree.tree_structure(twin, **options)),
    }


def calls_jax(jax: ModuleType, tree: Tree, twin: Tree) -> Calls:
    leaves, spec = jax.tree_flatten(tree)
    return {
        "flatten": lambda: jax.tree_flatten(tree),
        "leaves": lambda: jax.tree_leaves(tree),
        "structure": lambda: jax.tree_structure(tree),
        "unflatten": lambda: jax.tree_unflatten(spec, leaves),
        "map": lambda: jax.tree_map(first, tree),
        "map2": lambda: jax.tree_map(first, tree, tree),
        "flatten_up_to": lambda: spec.flatten_up_to(tree),
        **calls_of_specs(spec, jax.tree_structure(twin)),
    }


def calls_dm_tree(dm_tree: ModuleType, tree: Tree, _twin: Tree) -> Calls:
    """It has no spec: a tree is rebuilt from another one, and it knows no dataclasses."""
    if dm_tree.is_nested(tree) and any(isinstance(leaf, Linear) for leaf in dm_tree.flatten(tree)):
        return {}
    leaves = dm_tree.flatten(tree)
    return {
        "leaves": lambda: dm_tree.flatten(tree),
        "unflatten": lambda: dm_tree.unflatten_as(tree, leaves),
        "map": lambda: dm_tree.map_structure(first, tree),
        "map2": lambda: dm_tree.map_structure(first, tree, tree),
        "flatten_up_to": lambda: dm_tree.flatten_up_to(tree, tree),
    }


def calls_of_specs(spec: Any, other: Any) -> Calls:
    """`other` was made from a second tree, with keys of its own: nothing is equal for being the same object."""
    assert spec is not other
    assert spec == other
    return {"equal": lambda: spec == other, "hash": lambda: hash(spec)}


ENGINES: dict[str, tuple[str, Callable[[ModuleType, Tree, Tree], Calls]]] = {
    OURS: ("clika_pytree", calls_clika_pytree),
    "optree": ("optree", calls_optree),
    "jaxlib": ("jax.tree_util", calls_jax),
    "dm-tree": ("tree", calls_dm_tree),
}


def installed() -> dict[str, ModuleType]:
    """The libraries that can be imported."""
    found = {}
    for engine, (module, _) in ENGINES.items():
        try:
            found[engine] = importlib.import_module(module)
        except ImportError:
            print(f"{engine} is not installed: left out")
    return found


def register_dataclasses(found: dict[str, ModuleType]) -> None:
    clika_pytree.register_dataclass(Linear)
    if "optree" in found:
        found["optree"].register_pytree_node(
            Linear,
            lambda node: ((node.weight, node.bias), node.name),
            lambda name, children: Linear(*children, name),
            namespace="bench",
        )
    if "jaxlib" in found:
        found["jaxlib"].register_dataclass(Linear, ["weight", "bias"], ["name"])


def best(call: Callable[[], object], budget: float) -> float:
    """The shortest time of one call in microseconds, from as many runs as fit into `budget` seconds."""
    timer = timeit.Timer(call)
    number, seconds = 1, timer.timeit(1)
    while seconds < 0.001:
        number *= 4
        seconds = timer.timeit(number)
    repeats = max(3, round(budget / seconds))
    return min(timer.repeat(repeats, number)) / number * 1e6


def measure(name: str, found: dict[str, ModuleType], operations: list[str], rounds: int = 3) -> dict[str, Any]:
    """operation -> engine -> microseconds. The engines take turns, so that a slow moment meets all of them."""
    tree, twin = TREES[name](), TREES[name]()
    calls = {engine: ENGINES[engine][1](module, tree, twin) for engine, module in found.items()}
    figures: dict[str, dict[str, float]] = {}
    for operation in operations:
        row = {engine: known[operation] for engine, known in calls.items() if operation in known}
        times = [{engine: best(call, 0.03) for engine, call in row.items()} for _ in range(rounds)]
        figures[operation] = {engine: min(each[engine] for each in times) for engine in row}
    return figures


def print_header(found: dict[str, ModuleType]) -> None:
    versions = [f"{engine} {metadata.version(engine.replace('_', '-'))}" for engine in found]
    print(f"Python {platform.python_version()}, {', '.join(versions)}")
    print("Microseconds, the best of many; in brackets, how many times as long as ours\n")
    print(f"{'tree':<13}{'operation':<15}" + "".join(f"{engine:>20}" for engine in found))


def print_row(tree: str, operation: str, times: dict[str, float], engines: Iterable[str]) -> None:
    cells = []
    for engine in engines:
        ratio = f" ({times[engine] / times[OURS]:5.1f}x)" if engine in times and engine != OURS else ""
        cells.append(f"{times[engine]:.2f}{ratio}" if engine in times else "-")
    print(f"{tree:<13}{operation:<15}" + "".join(f"{cell:>20}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time clika_pytree beside other libraries.")
    parser.add_argument("--trees", nargs="+", choices=TREES, default=list(TREES), help="which trees", metavar="TREE")
    parser.add_argument("--only", nargs="+", choices=OPERATIONS, default=OPERATIONS, help="which operations")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    require_release()
    found = installed()
    register_dataclasses(found)
    print_header(found)
    figures = {}
    for name in options.trees:
        figures[name] = measure(name, found, options.only)
        for operation, times in figures[name].items():
            print_row(name, operation, times, found)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
