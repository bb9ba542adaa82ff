"""numpy's own recorder: a function of arrays runs once and becomes a graph of numpy calls."""

from __future__ import annotations

from .graph import Graph
from .recording import record
from .refusals import RecordingError

__all__ = ["Graph", "RecordingError", "record"]
