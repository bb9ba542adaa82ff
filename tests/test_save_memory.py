"""Files and memory: where none is left there is a MemoryError."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest
from boundary_calls import READY, Boundaries, W
from helpers import run_python
from test_out_of_memory import LIMITED

from clika_pytree import _native

pytestmark = pytest.mark.unwatched

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


NATIVE: dict[str, Callable[[Boundaries], Any]] = {
    "facts": lambda files: _native.array_facts([W, 3, W[1:]], READY),
    "a fact": lambda files: _native.array_facts([W], READY)[0],
    "encode facts": lambda files: _native.array_facts([W, W[1:]], READY).encode(["a", "b"], [("k", "v")]),
    "encode": lambda files: _native.encode_header([("a", "F32", (2, 3)), ("b", "U8", ())], [("k", "v")]),
    "open": lambda files: _native.TensorFile(files.tree, "name"),
    "entries": lambda files: _native.TensorFile(files.tree, "name").entries(),
    "metadata": lambda files: _native.TensorFile(files.tree, "name").metadata(),
    "map": lambda files: memoryview(_native.TensorFile(files.tree, "name").map("name")),  # type: ignore[arg-type]
}


@pytest.mark.usefixtures("small_heap")
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="CPython 3.12 ends the process where a request fails once")
@pytest.mark.parametrize("name", NATIVE)
def test_a_request_for_memory_that_fails_is_a_memory_error(name, tmp_path):
    _testcapi = pytest.importorskip("_testcapi", reason="this Python comes without _testcapi, which can refuse memory")
    files = Boundaries(tmp_path)
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
