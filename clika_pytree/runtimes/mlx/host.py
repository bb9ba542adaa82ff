"""The elements of arrays for files, arrays made of them, and what is known of an array without them."""

from __future__ import annotations

import numpy as np

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.runtimes.file_dtypes import FILE_DTYPES, NAMES
from clika_pytree.runtimes.protocol import Failed, Host, RecordingError, TensorSpec
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .library import DTYPES, Array, dtype_name, mx
from .refusals import is_about_elements

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import Any

__all__: list[str] = []


def describe(x: Any) -> TensorSpec:
    """The facts of an array, or of an object with a shape and a dtype that stands for one."""
    name = dtype_name(x.dtype)
    if name not in DTYPES:
        raise PyTreeTypeError(f"MLX has no dtype {x.dtype}; a stand-in for one of its arrays needs one")
    return TensorSpec(name, tuple(x.shape))


def wait(tensors: Sequence[Any]) -> None:
    """Compute all of them at once, on this thread; where one fails, find out which."""
    try:
        mx.eval(*tensors)
    except Exception as failure:
        if len(tensors) == 1:
            raise Failed(0, traced_error(failure) or failure) from None
        for index, tensor in enumerate(tensors):
            try:
                mx.eval(tensor)
            except Exception as error:
                raise Failed(index, traced_error(error) or error) from None
        raise  # MLX may tell of a failure once


def traced_error(error: Exception) -> RecordingError | None:
    """MLX's error for elements of an array that has none, as its function is traced, in our terms."""
    if not is_about_elements(error):
        return None
    return RecordingError(
        "eval() was called inside a function that MLX is tracing (compile, grad, vmap): an array has no elements "
        "there. Return it, and call eval() on the result"
    )


def stored_as(x: Any) -> tuple[str, tuple[int, ...]]:
    """What a file calls the dtype of an array; and the shape."""
    name = dtype_name(x.dtype)
    return FILE_DTYPES.get(name, name), tuple(x.shape)


def to_host(x: Any) -> Host:
    """The elements in C order and little-endian, taken as bytes: numpy does not know all dtypes that MLX has."""
    code, shape = stored_as(x)
    if not x.size:
        return Host(code, shape, b"")
    flat = mx.contiguous(x).reshape(-1).view(mx.uint8)
    try:
        mx.eval(flat)
    except Exception as error:
        raise traced_error(error) or error from error
    return Host(code, shape, memoryview(flat))


def from_host(host: Host, device: str) -> Any:
    """An array of these elements. MLX's arrays are on no device, what computes with them is."""
    if device != "cpu" and not (device == "gpu" and mx.metal.is_available()):
        raise PyTreeValueError(f"MLX has no device {device!r} here")
    dtype = DTYPES.get(NAMES.get(host.dtype, ""))
    if dtype is None:
        raise PyTreeTypeError(f"MLX has no dtype for {host.dtype}; load it with another runtime")
    if 0 in host.shape:
        return mx.zeros(host.shape, dtype)
    flat: Any = np.frombuffer(host.buffer, np.uint8)
    return mx.array(flat).view(dtype).reshape(host.shape)


def same_memory(x: Any) -> Hashable:
    """The object: what another one shares with it, MLX does not tell."""
    return id(x) if x.size else None


def is_numpy(x: Any) -> bool:
    return issubclass(class_of(x), (np.ndarray, np.generic))


def as_array(x: Any) -> Any:
    return x if isinstance(x, Array) else mx.array(x)
