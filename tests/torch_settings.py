"""A cheaper PyTorch for tests: graphs are traced and run by eager kernels, and nothing is generated."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from clika_pytree.runtimes import runtime_named


@contextlib.contextmanager
def backend(name: str = "aot_eager") -> Iterator[Any]:
    runtime: Any = runtime_named("test", "torch")
    before = dict(runtime.settings)
    runtime.settings["backend"] = name
    try:
        yield runtime
    finally:
        runtime.settings.clear()
        runtime.settings.update(before)
