"""Fixtures of several test files."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def small_heap() -> Iterator[None]:
    """Hides what was there before from the collector: a collection then takes microseconds, not a tenth of a second."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.collect()


@pytest.fixture
def taking_turns() -> Iterator[None]:
    """Threads take turns after each microsecond, where they do after five milliseconds."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
