"""numpy's own recorder: a function of arrays runs once and becomes a graph of numpy calls."""

from __future__ import annotations

from clika_pytree.runtimes.protocol import RecordingError

from .graph import Graph
from .recording import record

__all__ = ["Graph", "RecordingError", "record"]
