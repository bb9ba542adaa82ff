"""One registration for several libraries: classes told to PyTorch, JAX and optree, and classes that those have."""

from .functions import adopt, mirror

__all__ = ["adopt", "mirror"]
