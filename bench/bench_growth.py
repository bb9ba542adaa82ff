"""Flatten, unflatten and map from a thousand leaves on, the engines side by side."""

import functools
import gc
from typing import Any

import pytest
from checks import check
from engines import FLOOR, OURS, calls_on
from selection import found
from trees import Tree, growing

OPERATIONS = ["flatten", "unflatten", "map"]
# The largest tree takes a gigabyte, twice that while it is rebuilt. Engines written in Python would need minutes.
LARGEST = {OURS: 10**7, FLOOR: 10**7, "dm-tree": 10**5, "torch": 10**5}
LARGEST_OF_OTHERS = 10**6


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    most = metafunc.config.getoption("--most-leaves")
    metafunc.parametrize(
        ("leaves", "engine", "operation"),
        [
            (10**power, engine, operation)
            for power in range(3, 8)
            for operation in OPERATIONS
            for engine in found(metafunc.config)
            if 10**power <= min(most, LARGEST.get(engine, LARGEST_OF_OTHERS))
        ],
    )


@functools.lru_cache(maxsize=1)
def tree_of(leaves: int) -> Tree:
    gc.collect()
    gc.disable()
    try:
        return growing(leaves)
    finally:
        gc.enable()


def test_growth(benchmark: Any, request: pytest.FixtureRequest, leaves: int, engine: str, operation: str) -> None:
    tree = tree_of(leaves)
    call = calls_on(engine, found(request.config)[engine], tree)[operation]
    benchmark.group = f"growth of {operation}"
    benchmark.extra_info.update(operation=operation, tree="growing", engine=engine, leaves=leaves, calls=1)
    rounds = max(3, min(100, 10**6 // leaves))
    # What was made is freed between the rounds, outside the time.
    result = benchmark.pedantic(call, rounds=rounds, iterations=1, warmup_rounds=1)
    if leaves <= 10**6:
        check(engine, operation, result, tree)
