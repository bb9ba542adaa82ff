"""What instructions.py counts: `python bench/repeat.py flatten dict 20` runs one operation 20 times on one tree.

It imports as little as it can, since under valgrind an import takes fifty times as long.
"""

import operator
import sys

import clika_pytree as cp

LEAVES = 200


def make_list():
    return [object() for _ in range(LEAVES)]


def make_dict():
    return {f"key_{i}": object() for i in range(LEAVES)}


def make_mixed():
    """Dicts, lists and tuples, a container for every two leaves."""
    return [
        {"weight": object(), "bias": (object(), object()), "state": [object(), {"step": object()}]}
        for _ in range(LEAVES // 5)
    ]


SHAPES = {"list": make_list, "dict": make_dict, "mixed": make_mixed}


def operations(tree):
    leaves, spec = cp.tree_flatten(tree)
    return {
        "flatten": lambda: cp.tree_flatten(tree),
        "leaves": lambda: cp.tree_leaves(tree),
        "structure": lambda: cp.tree_structure(tree),
        "unflatten": lambda: spec.unflatten(leaves),
        # A function written in C, so that little of the figure is the interpreter's.
        "map": lambda: cp.tree_map(operator.truth, tree),
        "flatten_up_to": lambda: spec.flatten_up_to(tree),
    }


if __name__ == "__main__":
    operation, shape, runs = sys.argv[1:]
    call = operations(SHAPES[shape]())[operation]
    for _ in range(int(runs)):
        call()
