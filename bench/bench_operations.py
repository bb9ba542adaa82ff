"""Each operation on each tree, the engines side by side."""

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
from checks import check
from engines import calls_on, number_of_leaves
from selection import found, wanted
from trees import TREES


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    config = metafunc.config
    engines = found(config)
    rows = []
    for name in wanted(config, "trees"):
        if name not in TREES:
            continue
        tree = TREES[name]()
        calls = {engine: calls_on(engine, module, tree) for engine, module in engines.items()}
        rows += [
            pytest.param(name, tree, operation, engine, calls[engine][operation], id=f"{operation}-{name}-{engine}")
            for operation in wanted(config, "operations")
            for engine in engines
            if operation in calls[engine]
        ]
    metafunc.parametrize(("name", "tree", "operation", "engine", "call"), rows)


# A round of pytest-benchmark is about so long: neither the timer nor its own call weighs.
SECONDS = 0.002


def calls_in_a_round(call: Callable[[], object]) -> int:
    call()
    begun = time.perf_counter()
    call()
    return max(1, min(10_000, int(SECONDS / (time.perf_counter() - begun))))


def test_operation(benchmark: Any, name: str, tree: Any, operation: str, engine: str, call: Any) -> None:
    count = calls_in_a_round(call)

    def calls() -> object:
        for _ in itertools.repeat(None, count - 1):
            call()
        return call()

    benchmark.group = f"{operation} {name}"
    leaves = number_of_leaves(tree)
    benchmark.extra_info.update(operation=operation, tree=name, engine=engine, leaves=leaves, calls=count)
    check(engine, operation, benchmark(calls), tree)
