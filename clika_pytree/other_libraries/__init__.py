"""One registration for several libraries: classes told to PyTorch, JAX and optree. None of them is imported for it."""

from .functions import mirror

__all__ = ["mirror"]
