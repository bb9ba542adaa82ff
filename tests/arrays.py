"""Stand-ins for the tensors of other libraries: they have the attributes and operators that all of those have."""

from __future__ import annotations

from typing import Any

import numpy as np


class Array:
    """A tensor whose class counts itself to no library; asking for its values when it should not be asked fails."""

    def __init__(self, values: Any, dtype: Any = "torch.float32") -> None:
        self._values = np.asarray(values, dtype=np.float32)
        self.shape, self.dtype = self._values.shape, dtype

    nbytes = property(lambda self: self._values.nbytes)
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: Any) -> Any:
        return self._values == other._values

    def __ne__(self, other: Any) -> Any:
        return self._values != other._values

    def __bool__(self) -> bool:
        raise RuntimeError("a tensor of several values has no truth value")

    def __repr__(self) -> str:
        raise AssertionError("nobody should print a tensor")


class Stand:
    """A shape and a dtype, without values."""

    def __init__(self, shape: tuple, itemsize: int = 4) -> None:
        self.shape = shape
        self.dtype = DType(itemsize)


class DType:
    def __init__(self, itemsize: int) -> None:
        self.itemsize = itemsize

    def __str__(self) -> str:
        return f"mlx.core.float{8 * self.itemsize}"


class Hostile:
    """Raises whatever it is asked."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("==")

    __hash__ = None  # type: ignore[assignment]
