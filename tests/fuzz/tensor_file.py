"""Spoiled files of tensors: refused in words, or read as the safetensors library reads them, which refuses no more."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import classes
import numpy as np
from tensor_files import content, entry, spoiled

import clika_pytree as cp
from fuzz.plans import Drawer

try:
    import safetensors
except ImportError:  # where nothing is compared, nothing may crash all the same
    safetensors = None  # type: ignore[assignment]

LONGEST_MESSAGE = 2_000


@cache
def place() -> Path:
    """A file of this process."""
    folder = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())
    return folder / f"clika-fuzz-{os.getpid()}.safetensors"


@cache
def sound() -> list[bytes]:
    """Files to spoil."""
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    trees: list[Any] = [
        {"a": w, "b": np.zeros(3, np.uint8), "c": np.zeros((0, 2))},
        {"a": w, "step": 3, "b": w},
        {"a": [w, w, None], "b": classes.Point(np.ones(1), "x"), "c": classes.Sample(np.ones(1), 2, "n")},
        w,
    ]
    files = [content({"__metadata__": {"a": "b"}, "b": entry(3, 5), "a": entry(0, 3)}, b"12345")]
    files.append(content({"__metadata__": None, "b": entry(0, 5)}, b"12345"))  # as MLX writes it
    for tree in trees:
        cp.save(tree, place(), fsync=False)
        files.append(place().read_bytes())
    place().unlink()
    return files


def tensor_files(drawer: Drawer) -> list[str]:
    raw = spoiled(drawer.pick(sound()), drawer.random)
    path = place()
    path.write_bytes(raw)
    try:
        return [verdict(path, raw)]
    finally:
        path.unlink()


def verdict(path: Path, raw: bytes) -> str:
    """What became of a file; `load` and `inspect` raise nothing but what they document."""
    theirs = reference(raw)
    try:
        found = cp.inspect(path)
    except cp.FileFormatError as error:
        assert str(path) in str(error)
        assert len(str(error)) < LONGEST_MESSAGE
        check_refused(path)
        return "refused by both" if theirs is None else "refused by us alone"
    if safetensors is not None:
        assert theirs is not None, "taken here and refused by the reference"
        assert {tensor.name: tensor.nbytes for tensor in found.tensors} == {name: len(d) for name, d in theirs.items()}
    try:
        tree = cp.load(path)
    except cp.FileFormatError as error:
        assert "rebuilt" in str(error)
        return "its classes are refused"
    except cp.PyTreeValueError as error:
        assert "can't be loaded" in str(error)
        return "a dtype that numpy lacks"
    leaves = [leaf for leaf in cp.tree_leaves(tree) if isinstance(leaf, np.ndarray)]
    if theirs is not None:
        assert {leaf.tobytes() for leaf in leaves} == {bytes(data) for data in theirs.values()}
    return "read as the reference reads it"


def check_refused(path: Path) -> None:
    try:
        cp.load(path)
    except cp.FileFormatError:
        return
    raise AssertionError("loaded, and inspect refused it")


def reference(raw: bytes) -> dict[str, bytes] | None:
    if safetensors is None:
        return None
    try:
        return {name: tensor["data"] for name, tensor in safetensors.deserialize(raw)}
    except safetensors.SafetensorError:
        return None
