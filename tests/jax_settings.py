"""Settings of JAX for a block of a test."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def sixty_four_bits() -> Iterator[None]:
    config = importlib.import_module("jax").config
    config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        config.update("jax_enable_x64", False)
