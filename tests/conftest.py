"""Fixtures of several test files."""

from __future__ import annotations

import gc
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
