"""Writes the files that every later version has to load, once a version: `python tests/write_saved.py FOLDER`."""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from pathlib import Path
from typing import Any

import classes
import numpy as np

import clika_pytree as cp


def saved() -> dict[str, Any]:
    """The trees by the names of their files."""
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    return {
        "tensor": w,
        "flat": {"z.weight": w, "a.bias": np.arange(3, dtype=np.int8), "m": np.array(2.5)},
        "flat_with_values": {"epoch": 3, "w": w, "none": None, "lr": 1e-3, "tied": w},
        "containers": {
            "list": [w, (np.zeros(2), None)],
            "ordered": OrderedDict(b=np.ones(1), a=[]),
            "default": defaultdict(list, {"a": np.ones(2)}),
            "deque": deque([np.ones(1), True], maxlen=4),
            1: {(1, "x"): np.ones(1), None: b"\xff", 1.5: -0.0},
        },
        "classes": [
            classes.Point(w, "x"),
            classes.Pair(np.ones(1), [1]),
            classes.Tagged(np.ones(2), 1, "tag"),
            classes.Sample(np.ones(3), w, "name"),
            classes.Config(2, "adam"),
        ],
        "plain": [None, True, 2**70, 1.5, float("nan"), 1j, "text\ud800", b"\x00"],
        "dtypes": {
            name: np.arange(4).astype(name)
            for name in ("bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8")
        },
    }


if __name__ == "__main__":
    for name, tree in saved().items():
        cp.save(tree, Path(sys.argv[1]) / f"{name}.safetensors")
