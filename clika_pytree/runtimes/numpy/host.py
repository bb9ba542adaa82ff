"""The elements of arrays for files, and arrays made of them."""

from __future__ import annotations

import importlib
import sys

import numpy as np

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.runtimes.protocol import Host
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, short_name

from .kinds import is_a

if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

__all__: list[str] = []

# The names of dtypes in a file, by those of numpy and of ml_dtypes.
CODES = {
    "bool": "BOOL",
    **{f"{kind}int{bits}": f"{letter}{bits}" for kind, letter in (("", "I"), ("u", "U")) for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
    "complex64": "C64",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2": "F8_E5M2",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0",
}
NAMES = {code: name for name, code in CODES.items()}


def to_host(x: Any) -> Host:
    """The elements in C order and little-endian: a view where they lie so, else a copy."""
    cls, dtype = class_of(x), x.dtype
    code = CODES.get(dtype.name)
    if code is None or issubclass(cls, np.ma.MaskedArray):
        what = f"arrays of dtype {dtype}" if code is None else f"arrays of class {short_name(cls)}, which have a mask,"
        raise PyTreeTypeError(f"numpy's runtime can't hand out {what} as bytes: no file format has them")
    plain: Any = np.ascontiguousarray(np.asarray(x), dtype.newbyteorder("="))
    return Host(code, tuple(x.shape), little(plain.reshape(-1)).view(np.uint8).data)


def little(array: Any) -> Any:
    """Elements in this machine's order as little-endian ones, or the other way round."""
    return array if sys.byteorder == "little" else array.byteswap()


def from_host(host: Host, device: str) -> Any:
    """An array over the same memory; it can be written into where that can."""
    if device != "cpu":
        raise PyTreeValueError(f'numpy has its arrays on the device "cpu" only, not on {device!r}')
    name = NAMES.get(host.dtype)
    if name is None:
        raise PyTreeValueError(f"numpy has no dtype for {host.dtype}")
    try:
        dtype: Any = np.dtype(name)
    except TypeError:
        dtype = extension(name)
    flat: Any = np.frombuffer(host.buffer, np.uint8)
    return little(flat.view(dtype)).reshape(host.shape)


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


def same_memory(x: Any) -> Hashable:
    """Address, shape, strides and dtype; nothing for scalars and for arrays without elements."""
    if not is_a(x, np.ndarray) or not x.size:
        return None
    return (x.__array_interface__["data"][0], x.shape, x.strides, x.dtype.str, x.dtype.name)
