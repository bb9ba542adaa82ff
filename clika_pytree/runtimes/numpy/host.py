"""The elements of arrays for files, and arrays made of them."""

from __future__ import annotations

import importlib
import sys

import numpy as np

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.runtimes.file_dtypes import FILE_DTYPES, MASKED, NAMES, PACKED
from clika_pytree.runtimes.protocol import Host
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, short_name, shorten

from .kinds import is_a

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import Any

__all__: list[str] = []

# What a file calls the little-endian dtypes of numpy, and the other way round; one of another package is added once it
# was met.
READY: dict[Any, str] = {}
DTYPES: dict[str, Any] = {}
for _name, _code in FILE_DTYPES.items():
    if _name == "bool" or hasattr(np, _name):  # numpy 1 warns of whoever asks for np.bool
        _numpys: Any = np.dtype(_name)
        _dtype: Any = _numpys.newbyteorder("<")
        READY[_dtype] = _code
        DTYPES[_code] = _dtype
EMPTY: Any = np.empty(0)
LARGEST_ALIGNMENT = 16
# Texts, bytes and records, whose names count bits: an array of <U1 is one of str32.
NAMED_BY_BITS = "USVT"


def stored_as(x: Any) -> tuple[str, tuple[int, ...]]:
    """What a file calls the dtype of an array, or what numpy prints of one that no file has; and the shape."""
    dtype: Any = x.dtype
    name: str = dtype.name
    code = FILE_DTYPES.get(name)
    if code is None and dtype.kind in NAMED_BY_BITS:
        name = shorten(str(dtype))
    if is_a(x, np.ma.MaskedArray):
        return name + MASKED, x.shape
    if code is None:
        return name, x.shape
    if dtype not in READY and code not in PACKED and dtype.isnative and sys.byteorder == "little":
        READY[dtype] = code
    return code, x.shape


def to_host(x: Any) -> Host:
    """The elements in C order and little-endian: a view where they lie so, else a copy."""
    cls, dtype = class_of(x), x.dtype
    code = FILE_DTYPES.get(dtype.name)
    if code is None or code in PACKED or issubclass(cls, np.ma.MaskedArray):
        what = (
            f"arrays of dtype {dtype}"
            if code is None or code in PACKED
            else f"arrays of class {short_name(cls)}, which have a mask,"
        )
        raise PyTreeTypeError(f"numpy's runtime can't hand out {what} as bytes: no file format has them")
    plain: Any = np.ascontiguousarray(np.asarray(x), dtype.newbyteorder("="))
    return Host(code, tuple(x.shape), little(plain.reshape(-1)).view(np.uint8).data)


def little(array: Any) -> Any:
    """Elements in this machine's order as little-endian ones, or the other way round."""
    return array if sys.byteorder == "little" else array.byteswap()


def from_host(host: Host, device: str) -> Any:
    """An array over the same memory where that is aligned for it; it can be written into where that can."""
    check_device(device)
    return aligned(np.ndarray(host.shape, DTYPES.get(host.dtype) or other_dtype(host.dtype), host.buffer))


def from_memory(entries: Sequence[Any], memory: Any, device: str) -> list[Any]:
    """The arrays of some entries of a file that lies in memory."""
    check_device(device)
    make: Any = np.ndarray
    arrays = [make(shape, DTYPES.get(code) or other_dtype(code), memory, start) for _, code, shape, start, _ in entries]
    # A file in memory begins where every dtype is aligned.
    if any(entry[3] % LARGEST_ALIGNMENT for entry in entries):
        return [aligned(array) for array in arrays]
    return arrays


def aligned(array: Any) -> Any:
    return array if array.flags.aligned else array.copy()


def check_device(device: str) -> None:
    if device != "cpu":
        raise PyTreeValueError(f'numpy has its arrays on the device "cpu" only, not on {device!r}')


def other_dtype(code: str) -> Any:
    """A dtype that another package adds to numpy."""
    name = NAMES.get(code)
    if name is None or code in PACKED:
        raise PyTreeValueError(f"numpy has no dtype for {code}")
    DTYPES[code] = extension(name).newbyteorder("<") if sys.byteorder != "little" else extension(name)
    return DTYPES[code]


def extension(name: str) -> Any:
    """A dtype of ml_dtypes."""
    try:
        ml_dtypes = importlib.import_module("ml_dtypes")
    except ImportError as error:
        raise PyTreeValueError(f"numpy has the dtype {name} from the package ml_dtypes only: install it") from error
    held: Any = getattr(ml_dtypes, name, None)
    if held is None:
        raise PyTreeValueError(f"the package ml_dtypes {ml_dtypes.__version__} has no {name}: install a newer one")
    return np.dtype(held)


def is_of_own_class(cls: type) -> bool:
    """Whether it is a class of arrays beside numpy's first one."""
    return cls is not np.ndarray and issubclass(cls, np.ndarray)


def same_memory(x: Any) -> Hashable:
    """Address, shape, strides and dtype; nothing for scalars and for arrays without elements."""
    if not is_a(x, np.ndarray) or not x.size:
        return None
    return (x.__array_interface__["data"][0], x.shape, x.strides, x.dtype.str, x.dtype.name)
