"""The table of hooks and deeds: user code, wherever the library runs some, does what it should not.

    python tests/hook_table.py [--full] [hook ...]

prints a row for each hook and what came of each deed. Each hook runs in a process of its own, which says what it is
about to do, so that a crash or a hang names its cell.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import hook_deeds
from hook_classes import Listener
from hook_deeds import DEEDS
from hook_operations import OPERATIONS
from hook_verdicts import verdict
from hook_world import World

import clika_pytree as cp

SECONDS_PER_CELL = 60
RECURSION_LIMIT = sys.getrecursionlimit()

HOOKS = [
    *(f"key.__{name}__" for name in ("hash", "eq", "lt", "repr", "reduce", "del")),
    *(f"context.__{name}__" for name in ("hash", "eq", "repr", "reduce", "del", "getattribute")),
    *(f"static.__{name}__" for name in ("hash", "eq", "repr", "reduce", "del")),
    *(f"leaf.__{name}__" for name in ("eq", "lt", "add", "bool", "repr", "class", "getattr", "del")),
    *(f"{what}.__{name}__" for what in ("children", "entries", "pairs", "leaves", "path") for name in ("iter", "next")),
    *("children.__len__", "leaves.__len__", "weakref callback", "container.__del__"),
    *("flatten_fn", "flatten_fn of fresh children", "flatten_with_keys_fn", "unflatten_fn"),
    *("is_leaf", "answer.__bool__", "filter", "fn", "f_node", "f_leaf"),
    *("to_dumpable_context", "from_dumpable_context", "factory.__eq__", "factory.__hash__", "enum.__iter__"),
    *("record.__getattribute__", "descriptor.__get__", "descriptor.__set__", "default_factory"),
    *("init.__new__", "init.__post_init__", "init.__setattr__"),
    *(f"metaclass.__{name}__" for name in ("getattribute", "instancecheck", "eq")),
    *(f"runtime.{name}" for name in ("is_tensor_type", "describe", "compile", "trace", "wait", "is_traced")),
    *(f"runtime.{name}" for name in ("stored_as", "same_memory", "to_host", "from_host")),
    *(f"tensor.{name}" for name in ("shape", "dtype", "__add__", "__del__")),
    *("program.run", "condition", "progress", "only"),
]
NEVER_RUN = ["record.__setattr__", "metaclass.__hash__"]
"""What the library passes over: instances are rebuilt by their fields, and classes are known by their addresses."""


class Outcome(NamedTuple):
    """What came of one operation."""

    kind: str
    """`value`, `raised` (the very exception of the deed), or the name of another exception's class."""
    text: str
    calls: int
    leaked: int
    is_own_error: bool
    is_exception: bool
    """One of those that `except Exception` catches."""


def run(hook: str, deed: str, operation: str, at: int) -> Outcome:
    """One operation, with one deed at one call of one hook."""
    world = World()
    world.hook, world.at, world.deed = hook, at, DEEDS[deed]
    world.operation = OPERATIONS[operation]
    # A class that was looked at is remembered; after a registration it is looked at again.
    hook_deeds.register_another(world)
    world.known = {id(obj) for obj in gc.get_objects()} | {id(vars(world))}
    world.armed = hook
    try:
        outcome = settled(world, world.operation(world))
    except BaseException as error:
        outcome = settled(world, error)
    world.close()
    del world
    gc.collect()
    return outcome._replace(leaked=Listener.count_alive())


def settled(world: World, result: Any) -> Outcome:
    """The outcome as plain values, so that nothing of the result lives on."""
    world.armed = None
    sys.setrecursionlimit(RECURSION_LIMIT)
    kind = "value"
    if isinstance(result, BaseException):
        kind = "raised" if result is world.raised else type(result).__name__
    text = kind if isinstance(result, hook_deeds.Hostile) else repr(result)
    is_own, is_exception = isinstance(result, cp.PyTreeError), isinstance(result, Exception)
    return Outcome(kind, text, world.calls, 0, is_own, is_exception)


def places(calls: int, full: bool) -> list[int]:
    """At which calls of its hook a deed is done."""
    return sorted({1, 2, calls // 2, calls} - {0}) if full else [1, calls][: min(calls, 2)]


def operations(hook: str, full: bool) -> list[str]:
    """All of them, or every seventh, so that the hooks share them out."""
    first = HOOKS.index(hook) if hook in HOOKS else 0
    return list(OPERATIONS) if full else [*OPERATIONS][first % 7 :: 7]


def cells(hook: str, full: bool) -> Iterator[tuple[str, str, int, Outcome]]:
    """Every operation for which the hook fires, with every deed."""
    chosen = operations(hook, full)
    if not full and not any(run(hook, "nothing", operation, -1).calls for operation in chosen):
        chosen = list(OPERATIONS)
    for operation in chosen:
        undisturbed = run(hook, "nothing", operation, -1)
        for deed in DEEDS:
            for at in places(undisturbed.calls, full):
                if at <= undisturbed.calls:
                    yield operation, deed, at, undisturbed


def warm_up() -> None:
    """Everything is imported, and what there is from the start hidden from the collector, whose work it would be."""
    gc.freeze()
    for operation in OPERATIONS:
        run("", "nothing", operation, -1)
    gc.collect()
    gc.freeze()


def work(hook: str, full: bool) -> None:
    """Run the cells of a hook; say each before it runs, and after it what came of it and whether that is right."""
    sys.unraisablehook = lambda unraisable: None
    warm_up()
    for operation, deed, at, undisturbed in cells(hook, full):
        signal.alarm(SECONDS_PER_CELL)
        print(json.dumps([operation, deed, at]), flush=True)
        outcome = run(hook, deed, operation, at)
        signal.alarm(0)
        complaint = verdict(hook, deed, operation, outcome, undisturbed)
        same = outcome.text == undisturbed.text
        print(json.dumps([outcome.kind, same, outcome.is_own_error, outcome.text[:200], complaint]), flush=True)
    print(json.dumps("complete"), flush=True)


# --- the processes and what they print --------------------------------------------------------------------------------


class Row(NamedTuple):
    """What came of the cells of one hook."""

    hook: str
    cells: int
    operations: int
    marks: dict[str, set[str]]
    """By deed."""
    complaints: list[str]


def mark(kind: str, same: bool, is_own_error: bool) -> str:
    if same:
        return "="
    if kind == "value":
        return "~"
    return "!" if kind == "raised" else "e" if is_own_error else "x"


def run_hook(hook: str, full: bool = False) -> Row:
    """Run a hook in a process of its own."""
    here = Path(__file__)
    command = [sys.executable, str(here), "--work", *(["--full"] if full else []), hook]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, cwd=here.parent, capture_output=True, text=True, check=False, env=environment)
    return row_of(hook, done)


def row_of(hook: str, done: subprocess.CompletedProcess[str]) -> Row:
    """What a process said of the cells of its hook; where it did not come to the end, the cell that it was in."""
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    marks, complaints = defaultdict(set), []
    pairs = list(zip(lines[::2], lines[1::2], strict=False))
    for (operation, deed, at), (kind, same, is_own_error, text, complaint) in pairs:
        marks[deed].add(mark(kind, same, is_own_error))
        if complaint:
            complaints.append(f"{hook}: {deed} at call {at} in {operation}: {complaint}: {kind} {text}")
    if done.returncode or not lines or lines[-1] != "complete":
        at = lines[-1] if lines else "the start"
        complaints.append(f"{hook}: ended with {done.returncode} at {at}: {done.stderr[-2000:]}")
    return Row(hook, len(pairs), len({cell[0] for cell, _ in pairs}), marks, complaints)


LEGEND = (
    "= as undisturbed   ~ another value   ! the exception that was raised   e an error of the library   x another one"
)


def print_table(rows: list[Row]) -> None:
    for number, deed in enumerate(DEEDS, start=1):
        print(f"{number:3} {deed}")
    print(f"\n{LEGEND}\n")
    print(f"{'hook':30} {'cells':>6} {'ops':>4} " + " ".join(f"{n:>4}" for n in range(1, len(DEEDS) + 1)))
    for row in rows:
        entries = ("".join(sorted(row.marks.get(deed, ()))) or "." for deed in DEEDS)
        print(f"{row.hook:30} {row.cells:6} {row.operations:4} " + " ".join(f"{entry:>4}" for entry in entries))
    complaints = [complaint for row in rows for complaint in row.complaints]
    print(f"\n{sum(row.cells for row in rows)} cells, {len(complaints)} of them wrong")
    print("\n".join(complaints))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hooks", nargs="*", metavar="hook", help="a hook; without any, all of them")
    parser.add_argument("--full", action="store_true", help="every operation, and more calls of the hook")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.hooks[0], arguments.full)
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = list(pool.map(lambda hook: run_hook(hook, arguments.full), arguments.hooks or HOOKS))
    print_table(rows)
    sys.exit(any(row.complaints for row in rows))


if __name__ == "__main__":
    main()
