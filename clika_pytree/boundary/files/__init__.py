"""Trees of tensors as safetensors files: what `save`, `load` and `inspect` do."""

from __future__ import annotations

from .inspecting import FileSummary as FileSummary
from .stand_ins import NotLoaded as NotLoaded

__all__ = ["FileSummary", "NotLoaded"]
