"""The sample runtime of examples/clika_runtime, known as long as a test runs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clika_pytree.runtimes import register_runtime, unregister_runtime

EXAMPLES = Path(__file__).parents[1] / "examples"


@contextmanager
def sample_runtime() -> Iterator[Any]:
    """The module `clika_runtime`, whose import makes its runtime known."""
    if str(EXAMPLES) not in sys.path:
        sys.path.append(str(EXAMPLES))
    module = importlib.import_module("clika_runtime")
    register_runtime(module.runtime)
    try:
        yield module
    finally:
        unregister_runtime(module.runtime)
