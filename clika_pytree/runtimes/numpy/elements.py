"""Arrays as bytes of a file and back."""

from __future__ import annotations

import numpy as np

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.runtimes.file_dtypes import FILE_DTYPES, NAMES
from clika_pytree.runtimes.protocol import Host
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

__all__: list[str] = []

# The dtypes that numpy has by itself, in both byte orders; those of other packages are looked for by name.
CODES: dict[Any, str] = {}
DTYPES: dict[str, Any] = {}
for _name, _code in FILE_DTYPES.items():
    if hasattr(np, _name) or _name == "bool":
        _dtype: Any = np.dtype(_name)
        DTYPES[_code] = _dtype
        CODES[_dtype] = CODES[_dtype.newbyteorder()] = _code


def stored_as(x: Any) -> tuple[str, tuple[int, ...]]:
    """What a file calls the dtype of an array, or numpy's name for one that no file has; and the shape."""
    dtype: Any = x.dtype
    code = CODES.get(dtype)
    if code is None:
        name: str = dtype.name
        code = FILE_DTYPES.get(name, name)
    return code, x.shape


def to_host(x: Any) -> Host:
    """The elements of an array in C order and little-endian; a copy only where they are not so already."""
    code, shape = stored_as(x)
    array: Any = np.asarray(x)
    if not little_endian(array.dtype):
        array = array.astype(array.dtype.newbyteorder("<"), order="C")
    return Host(code, shape, array if array.flags.c_contiguous else np.ascontiguousarray(array))


def little_endian(dtype: Any) -> bool:
    import sys

    order = dtype.byteorder
    return order in "<|" or (order == "=" and sys.byteorder == "little")


def from_host(host: Host, device: str) -> Any:
    """An array of these elements, in their memory where that is aligned for them."""
    if device != "cpu":
        raise PyTreeValueError(f"numpy has its arrays on the device 'cpu' alone, got {device!r}")
    array: Any = np.ndarray(host.shape, dtype_of(host.dtype), host.buffer)
    return array if array.flags.aligned else array.copy()


def dtype_of(code: str) -> Any:
    found: Any = DTYPES.get(code)
    if found is None:
        name = NAMES[code]
        try:
            import ml_dtypes

            found = DTYPES[code] = np.dtype(getattr(ml_dtypes, name))
        except (ImportError, AttributeError):
            raise PyTreeTypeError(
                f"its dtype is {name}, which numpy does not have by itself; install ml_dtypes, or load it with "
                "another runtime"
            ) from None
    return found if little_endian(found) else found.newbyteorder("<")


def same_memory(x: Any) -> Hashable:
    """Where the elements lie and how; scalars are values and share nothing."""
    if not issubclass(class_of(x), np.ndarray) or x.size == 0:
        return None
    return x.__array_interface__["data"][0], x.shape, x.strides, x.dtype
