"""Trees of tensors as safetensors files: `save`, `load` and `inspect`."""

from __future__ import annotations

from .inspecting import FileSummary as FileSummary
from .inspecting import inspect
from .loading import load
from .saving import save
from .stand_ins import NotLoaded as NotLoaded

__all__ = ["inspect", "load", "save"]
