"""What a recorded function can get hold of."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clika_pytree import RecordingError
from clika_pytree.runtimes.numpy import record

STORE: dict[str, Any] = {}


@pytest.mark.usefixtures("whole_heap")
def test_something_large_beside_it_hides_no_generator_while_other_threads_run():
    """A generator counts then where the function can reach it."""
    large = [[[object()] for _ in range(300)] for _ in range(300)]
    STORE.update(before=large, holder=SimpleNamespace(rng=np.random.default_rng(0)), after=[*large])
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        with pytest.raises(RecordingError, match="random numbers"):
            record(lambda arrays: [arrays[0] + STORE["holder"].rng.normal()], [np.ones(3)])
    finally:
        ended.set()
        thread.join()
        STORE.clear()
