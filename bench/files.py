"""Files of tensors: what is written and read, beside what, and what has to come of it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from figures import OURS

import clika_pytree as cp

RAW, SAFETENSORS = "raw", "safetensors"
State = dict[str, np.ndarray]


@dataclass
class Subject:
    """The same deed for each engine, what comes before it without being timed, and whether what it gave is right."""

    calls: dict[str, Callable[[], Any]]
    before: Callable[[], Any]
    check: Callable[[Any], bool]


def gibibyte() -> State:
    """16 arrays of 64 MiB, whose bytes lie one behind the other, for whoever writes them as they are."""
    whole = np.arange(1 << 28, dtype=np.float32).reshape(16, -1)
    return {f"layers.{number}.weight": row for number, row in enumerate(whole)}


def small10000() -> State:
    whole = np.arange(10_000 * 256, dtype=np.float32).reshape(10_000, -1)
    return {f"layers.{number}.weight": row for number, row in enumerate(whole)}


STATES: dict[str, Callable[[], State]] = {"small10000": small10000, "gibibyte": gibibyte}


def whole_of(state: State) -> memoryview:
    base: Any = next(iter(state.values())).base
    return memoryview(base).cast("B")


def write_raw(state: State, path: Path, fsync: bool) -> None:
    """The bytes of the arrays and nothing else."""
    rest = whole_of(state)
    with open(path, "wb", buffering=0) as file:
        while rest:
            rest = rest[file.write(rest) :]
        if fsync:
            os.fsync(file.fileno())


def saving(state: State, folder: Path, fsync: bool) -> Subject:
    """Each engine makes a file that is not there yet, on a disk that has nothing else to write."""
    path = folder / "state.safetensors"
    calls: dict[str, Callable[[], Any]] = {
        OURS: lambda: cp.save(state, path, fsync=fsync),
        RAW: lambda: write_raw(state, path, fsync),
    }
    try:
        from safetensors.numpy import save_file
    except ImportError:
        pass
    else:
        if not fsync:
            calls[SAFETENSORS] = lambda: save_file(state, path)

    def before() -> None:
        path.unlink(missing_ok=True)
        os.sync()

    size = whole_of(state).nbytes
    return Subject(calls, before, lambda _: size <= path.stat().st_size < size + 200 * len(state) + 1000)


def save(state: State, folder: Path) -> Subject:
    return saving(state, folder, fsync=False)


def save_synced(state: State, folder: Path) -> Subject:
    return saving(state, folder, fsync=True)


def load(state: State, folder: Path) -> Subject:
    """A file that the system has in memory; what is mapped is not looked at."""
    path = folder / "state.safetensors"
    cp.save(state, path, fsync=False)
    calls: dict[str, Callable[[], Any]] = {OURS: lambda: cp.load(path)}
    try:
        from safetensors.numpy import load_file
    except ImportError:
        pass
    else:
        calls[SAFETENSORS] = lambda: load_file(path)
    last = [*state][-1]
    return Subject(calls, lambda: None, lambda found: [*found] == [*state] and np.array_equal(found[last], state[last]))


# operation -> what it is done on, and who makes it
SUBJECTS: dict[str, tuple[list[str], Callable[[State, Path], Subject]]] = {
    "save": ([*STATES], save),
    "save_synced": (["gibibyte"], save_synced),
    "load": ([*STATES], load),
}
