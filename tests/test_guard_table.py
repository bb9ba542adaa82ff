"""Pairs of calls that must not share a graph, and those that must, asked of every runtime."""

import pytest
from guard_table import NEEDS, ROWS, RUNTIMES, check

CASES = [
    pytest.param(runtime, row, id=f"{runtime.name}-{row}", marks=[pytest.mark.slow] if row in runtime.slow else [])
    for runtime in RUNTIMES.values()
    for row in ROWS
]


@pytest.mark.parametrize(("runtime", "row"), CASES)
def test_guards(runtime, row):
    if runtime.name in NEEDS:
        pytest.importorskip(NEEDS[runtime.name])
    check(runtime, row)
