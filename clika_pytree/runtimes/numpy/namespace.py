"""The array API namespace of a recorded array: numpy's, with functions that make arrays recorded, too."""

from __future__ import annotations

import numpy as np

from clika_pytree.typing import TYPE_CHECKING

from .array import Recorded, has_tensor

if TYPE_CHECKING:
    from typing import Any

    from .tape import Tape

__all__: list[str] = []

MAKERS = ("arange", "empty", "eye", "full", "linspace", "ones", "zeros")


class Namespace:
    """numpy, for `xp = x.__array_namespace__()`."""

    def __init__(self, tape: Tape, module: Any) -> None:
        self._tape, self._module = tape, module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if name not in MAKERS:
            return found

        def make(*args: Any, **kwargs: Any) -> Any:
            varies = has_tensor(args, kwargs)
            return self._tape.add("function", f"np.{name}", found, args, kwargs, fresh=True, varies=varies)

        return make

    def asarray(self, obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
        if type(obj) is not Recorded:
            return np.asarray(obj, dtype=dtype, copy=copy)
        return obj.astype(obj.dtype if dtype is None else dtype, copy=bool(copy))

    def __repr__(self) -> str:
        return "<numpy, recorded>"
