"""Print time and memory of every operation on very large trees, and how they grow.

    python bench/limits.py
    python bench/limits.py --scale 0.1 --only keys

Each case runs in a process of its own, at half its size and at its size, on a thread with a stack of 256 KB. `s` is
processor time at full size. `B/node` is the most memory that an operation took beyond what was there before, by node
and key. `x` says how often the figure before it grew where the size doubled: 2 is linear, a dash stands for figures
too small to say. Linux only, for the memory.
"""

import argparse
import gc
import json
import operator
import subprocess
import sys
import threading
import time
from collections import OrderedDict, defaultdict, deque, namedtuple

from release import require_release

import clika_pytree as cp

One = namedtuple("One", ["item"])


class Box:
    def __init__(self, item):
        self.item = item


cp.register_pytree_node(Box, lambda box: ((box.item,), None), lambda items, _: Box(*items))


def nested(wrap):
    def make(depth):
        tree = 0
        for _ in range(depth):
            tree = wrap(tree)
        return tree

    return make


def of_many_classes(count):
    classes = [type(f"Class{i}", (Box,), {}) for i in range(count)]
    for cls in classes:
        cp.register_pytree_node(cls, lambda box: ((box.item,), None), lambda items, _, cls=cls: cls(*items))
    return [cls(0) for cls in classes]


MILLION = 1_000_000
SHORTEST, LEAST = 0.005, 1_000_000
CASES = {
    "10 million leaves": (10 * MILLION, lambda n: [0] * n),
    "lists, 1 million deep": (MILLION, nested(lambda below: [below])),
    "tuples, 1 million deep": (MILLION, nested(lambda below: (below,))),
    "dicts, 1 million deep": (MILLION, nested(lambda below: {"k": below})),
    "namedtuples, 1 million deep": (MILLION, nested(One)),
    "registered, 1 million deep": (MILLION, nested(Box)),
    # CPython frees these two recursively.
    "deques, 50,000 deep": (50_000, nested(lambda below: deque((below,)))),
    "defaultdicts, 50,000 deep": (50_000, nested(lambda below: defaultdict(None, k=below))),
    "100,000 keys": (100_000, lambda n: {f"key {i}": i for i in range(n)}),
    "100,000 keys, ordered": (100_000, lambda n: OrderedDict((f"key {i}", i) for i in range(n))),
    "10 MB of keys": (10_000, lambda n: {f"{i:01000}": i for i in range(n)}),
    "100,000 registered classes": (100_000, of_many_classes),
}


def operations(tree, again):
    """By name, what is measured; each is called once."""
    leaves, spec = cp.tree_flatten(tree)
    other = cp.tree_structure(again)
    parts = [
        ("flatten", lambda: cp.tree_flatten(tree)),
        ("leaves", lambda: cp.tree_leaves(tree)),
        ("unflatten", lambda: spec.unflatten(leaves)),
        ("map", lambda: cp.tree_map(operator.not_, tree)),
        ("map of two", lambda: cp.tree_map(operator.is_, tree, again)),
        ("up to", lambda: spec.flatten_up_to(again)),
        ("equality", lambda: spec == other),
        ("paths", spec.paths),
        ("print", lambda: repr(spec)),
        ("pickle", spec.__reduce__),
        ("compose", lambda: spec.compose(cp.tree_structure([0]))),
        ("prefix", lambda: spec <= other),
    ]
    return spec, dict(parts)


def peak_kilobytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))


def measured(work):
    """Seconds, bytes."""
    gc.collect()
    with open("/proc/self/clear_refs", "w") as forget_the_peak:
        forget_the_peak.write("5")
    before, start = peak_kilobytes("VmRSS"), time.process_time()
    result = work()
    seconds, peak = time.process_time() - start, peak_kilobytes("VmHWM")
    del result
    return seconds, 1024 * max(0, peak - before)


def on_a_small_stack(work):
    """The same on a thread with a stack of 256 KB; what was made is freed on this one."""
    made = []
    threading.stack_size(256 * 1024)
    thread = threading.Thread(target=lambda: made.append(measured_and_kept(work)))
    thread.start()
    threading.stack_size(0)
    thread.join()
    ((figures, _),) = made
    return figures


def measured_and_kept(work):
    kept = []
    return measured(lambda: kept.append(work())), kept


def run_case(name, size):
    gc.disable()  # a collection of millions of objects is Python's time
    make = CASES[name][1]
    start = time.process_time()
    tree = make(size)
    figures = {"(making it)": (time.process_time() - start, 0)}
    again = tree if "classes" in name else make(size)
    spec, works = operations(tree, again)
    for operation, work in works.items():
        figures[operation] = on_a_small_stack(work)
    nodes = spec.num_nodes + (size if "keys" in name else 0)
    print(json.dumps([nodes, sys.getsizeof(spec), figures]))


def figures_of(name, size):
    script = [sys.executable, __file__, "--case", name, "--size", str(size)]
    done = subprocess.run(script, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name} of size {size} ended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def growth(half, full, smallest):
    return f"{full / half:.1f}" if half >= smallest else "-"


def print_case(name, size):
    _, _, half = figures_of(name, size // 2)
    nodes, spec_bytes, full = figures_of(name, size)
    print(f"\n{name}: {nodes:,} nodes and keys; the spec takes {spec_bytes / nodes:.1f} bytes for each")
    print(f"  {'':<12}{'s':>8}{'x':>6}{'B/node':>9}{'x':>6}")
    for operation, (seconds, memory) in full.items():
        in_time = growth(half[operation][0], seconds, SHORTEST)
        in_memory = growth(half[operation][1], memory, LEAST)
        print(f"  {operation:<12}{seconds:>8.3f}{in_time:>6}{memory / nodes:>9.0f}{in_memory:>6}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Time and memory on very large trees, and how they grow.")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--scale", type=float, default=1, help="the part of each size")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        return run_case(options.case, options.size)
    require_release()
    for name, (size, _) in CASES.items():
        if options.only in name:
            print_case(name, int(size * options.scale))
    return None


if __name__ == "__main__":
    main()
