"""Fixtures of several test files."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest


def pytest_collection_finish() -> None:
    """Hides the libraries from the collector: a collection takes milliseconds then, and many tests make hundreds."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def small_heap() -> Iterator[None]:
    """Hides what other tests left, too: a collection then takes microseconds."""
    gc.collect()
    gc.freeze()
    yield
    gc.collect()


@pytest.fixture
def whole_heap() -> Iterator[None]:
    """Shows the collector everything again, for tests of what it finds in modules and classes."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def taking_turns() -> Iterator[None]:
    """Threads take turns after each microsecond, where they do after five milliseconds."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
