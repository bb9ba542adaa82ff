"""Pairs of calls that must not share a graph, and those that must, asked of every runtime."""

import pytest
from guard_table import NEEDS, ROWS, RUNTIMES, check


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("runtime", RUNTIMES.values(), ids=list(RUNTIMES))
def test_guards(runtime, row):
    if runtime.name in NEEDS:
        pytest.importorskip(NEEDS[runtime.name])
    check(runtime, row)
