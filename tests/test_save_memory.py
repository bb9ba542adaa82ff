"""Files and memory: a call keeps none, and where none is left there is a MemoryError."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import run_python
from memory_growth import failing, heap, repeat
from test_out_of_memory import LIMITED

import clika_pytree as cp
from clika_pytree import _native
from clika_pytree.runtimes.numpy.host import READY

pytestmark = pytest.mark.unwatched
CALLS_EACH = 50
MOST_LOOKS = 20
BLOCKS_EACH = 0.1
W = np.ones((3, 4))
FLAT = {"w": W, "v": np.zeros(2)}
TREE = {"layers": [{"w": W, "n": 3}, {"w": W}], 7: (np.zeros(2, "f4"),)}


class Files:
    """Files to be read and written."""

    def __init__(self, folder: Path) -> None:
        names = ("flat", "tree", "cut", "new", "several")
        self.flat, self.tree, self.cut, self.new, self.several = (str(folder / f"{n}.safetensors") for n in names)
        cp.save(FLAT, self.flat)
        cp.save(TREE, self.tree)
        cp.save(FLAT, self.several, max_shard_bytes=50)
        Path(self.cut).write_bytes(Path(self.tree).read_bytes()[:-5])


CALLS: dict[str, Callable[[Files], Any]] = {
    "save": lambda files: cp.save(FLAT, files.new, fsync=False),
    "save, a tree": lambda files: cp.save(TREE, files.new, fsync=False),
    "save, several files": lambda files: cp.save(FLAT, files.new, max_shard_bytes=50, fsync=False),
    "load": lambda files: cp.load(files.flat),
    "load, a tree": lambda files: cp.load(files.tree),
    "load, read": lambda files: cp.load(files.tree, mmap=False),
    "load, a part": lambda files: cp.load(files.tree, only="[7]"),
    "load, several files": lambda files: cp.load(files.several),
    "inspect": lambda files: repr(cp.inspect(files.tree)),
    "facts": lambda files: [*map(_native.array_facts([W, 3, W[1:]], READY).__getitem__, range(3))],
}
FAILING: dict[str, Callable[[Files], Any]] = {
    "save, a leaf that is refused": lambda files: cp.save([object()], files.new),
    "save, a name twice": lambda files: _native.array_facts([W, W[1:]], READY).encode(["a", "a"], []),
    "save, no folder": lambda files: cp.save(FLAT, f"{files.new}/x"),
    "load, cut": lambda files: cp.load(files.cut),
    "load, no such runtime": lambda files: cp.load(files.flat, runtime="none"),
}


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("name", [*CALLS, *FAILING])
def test_nothing_is_kept(name, tmp_path):
    files = Files(tmp_path)
    call = failing(lambda: FAILING[name](files)) if name in FAILING else lambda: CALLS[name](files)
    repeat(call, 50)
    growth: list[float] = []
    while len(growth) < 4 or (len(growth) < MOST_LOOKS and min(growth) >= BLOCKS_EACH):
        before, _ = heap()
        repeat(call, CALLS_EACH)
        growth.append((heap()[0] - before) / CALLS_EACH)
    assert min(growth) < BLOCKS_EACH


SCRIPT = """
import numpy as np, clika_pytree as cp
from clika_pytree import _native

flat = {f"layers.{n}.weight": np.ones(2) for n in range(20_000)}
tree = {"layers": [{"weight": array, "bias": None} for array in flat.values()], "\\n" * 1000: 1}
cp.save(flat, folder + "/flat"), cp.save(tree, folder + "/tree")
works = {
    "save": lambda: cp.save(flat, folder + "/new", fsync=False),
    "save a tree": lambda: cp.save(tree, folder + "/new", fsync=False),
    "open": lambda: _native.TensorFile(folder + "/flat", "flat").entries(),
    "load": lambda: cp.load(folder + "/flat"),
    "load a tree": lambda: cp.load(folder + "/tree"),
}
wrong = {}
for name, work in works.items():
    work()
    ends = ends_of(work)
    if ends[-1] != 0 or set(ends) != {0, 1}:
        wrong[name] = ends
assert not wrong, wrong
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of a process's memory")
def test_files_of_many_tensors_end_in_a_memory_error(tmp_path):
    run_python(f"folder, factor = {str(tmp_path)!r}, 2\n{LIMITED}\n{SCRIPT}", timeout=100)


NATIVE: dict[str, Callable[[Files], Any]] = {
    "facts": lambda files: _native.array_facts([W, 3, W[1:]], READY),
    "a fact": lambda files: _native.array_facts([W], READY)[0],
    "encode facts": lambda files: _native.array_facts([W, W[1:]], READY).encode(["a", "b"], [("k", "v")]),
    "encode": lambda files: _native.encode_header([("a", "F32", (2, 3)), ("b", "U8", ())], [("k", "v")]),
    "open": lambda files: _native.TensorFile(files.tree, "name"),
    "entries": lambda files: _native.TensorFile(files.tree, "name").entries(),
    "metadata": lambda files: _native.TensorFile(files.tree, "name").metadata(),
    "map": lambda files: memoryview(_native.TensorFile(files.tree, "name").map("name")),  # type: ignore[arg-type]
}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="CPython 3.12 ends the process where a request fails once")
@pytest.mark.parametrize("name", NATIVE)
def test_a_request_for_memory_that_fails_is_a_memory_error(name, tmp_path):
    _testcapi = pytest.importorskip("_testcapi", reason="this Python comes without _testcapi, which can refuse memory")
    files = Files(tmp_path)
    NATIVE[name](files)
    number = missed = failures = 0
    while missed < 12:
        gc.collect()
        _testcapi.set_nomemory(number, number + 1)
        try:
            NATIVE[name](files)
            missed += 1
        except MemoryError:
            missed = 0
            failures += 1
        finally:
            _testcapi.remove_mem_hooks()
        number += 1
    assert failures > 0
