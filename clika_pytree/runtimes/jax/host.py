"""The elements of arrays for files, arrays made of them, and what is known of an array without them."""

from __future__ import annotations

import numpy as np

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.runtimes.file_dtypes import FILE_DTYPES, why_not
from clika_pytree.runtimes.numpy import host as numpy_host
from clika_pytree.runtimes.protocol import Failed, Host, RecordingError, TensorSpec
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

from .library import Array, Tracer, is_key, jax

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import Any

__all__: list[str] = []


def describe(x: Any) -> TensorSpec:
    """The facts of an array, or of an object with a shape and a dtype that stands for one."""
    try:
        dtype = jax.dtypes.canonicalize_dtype(x.dtype, allow_extended_dtype=True)
    except TypeError:
        raise PyTreeTypeError(f"JAX has no dtype {x.dtype!r}; a stand-in for one of its arrays needs one") from None
    weak = bool(getattr(getattr(x, "aval", None), "weak_type", False))
    return TensorSpec(str(dtype), tuple(x.shape), device_of(x), "weak_type" if weak else None)


def device_of(x: Any) -> str:
    """`cpu` or `cuda:0`; how many there are where there are several."""
    if isinstance(x, Tracer) or not isinstance(x, Array):
        return "cpu"
    devices: Any = [*x.devices()]
    if len(devices) > 1:
        return f"{len(devices)} devices"
    (device,) = devices
    return "cpu" if device.platform == "cpu" and not device.id else f"{device.platform}:{device.id}"


def wait(tensors: Sequence[Any]) -> None:
    """Wait for all of them at once; where one has failed, find out which."""
    for index, tensor in enumerate(tensors):
        if isinstance(tensor, Tracer):
            raise Failed(
                index,
                RecordingError(
                    "eval() was called inside a function that JAX is tracing (jit, grad, vmap): an array has no "
                    "elements there. Return it, and call eval() on the result"
                ),
            )
    try:
        jax.block_until_ready([*tensors])
    except Exception:
        for index, tensor in enumerate(tensors):
            try:
                jax.block_until_ready(tensor)
            except Exception as error:
                raise Failed(index, error) from None
        raise


def stored_as(x: Any) -> tuple[str, tuple[int, ...]]:
    """What a file calls the dtype of an array, or JAX's name for one that no file has; and the shape."""
    name = str(x.dtype)
    return FILE_DTYPES.get(name, name), tuple(x.shape)


def to_host(x: Any) -> Host:
    """The elements in C order and little-endian."""
    if isinstance(x, Tracer):
        raise PyTreeTypeError("an array has no elements inside a function that JAX is tracing; return it first")
    if is_key(x.dtype):
        raise PyTreeTypeError(
            f"random keys of JAX ({x.dtype}) have no form in files: store jax.random.key_data(key), and make the key "
            "again with jax.random.wrap_key_data"
        )
    if not x.is_fully_addressable:
        raise PyTreeTypeError(
            f"an array of shape {tuple(x.shape)} is spread over devices of other processes: gather it first, with "
            "jax.experimental.multihost_utils.process_allgather"
        )
    why = why_not(stored_as(x)[0])
    if why is not None:
        raise PyTreeTypeError(f"the elements of an array of JAX can't be handed out: {why}")
    return numpy_host.to_host(np.asarray(x))


def from_host(host: Host, device: str) -> Any:
    """An array on a device, which is a platform or one of its devices: `cpu`, `gpu`, `cuda:1`."""
    array = numpy_host.from_host(host, "cpu")
    kept = jax.dtypes.canonicalize_dtype(array.dtype)
    if kept != array.dtype:
        raise PyTreeValueError(
            f"JAX would make {kept} of elements of dtype {array.dtype}: allow it 64 bits with "
            'jax.config.update("jax_enable_x64", True), or convert them first'
        )
    return jax.device_put(array, device_named(device))


def device_named(name: str) -> Any:
    platform, _, number = name.partition(":")
    try:
        devices = jax.devices(platform)
    except RuntimeError as error:
        raise PyTreeValueError(f"JAX has no device {name!r} here: {error}") from None
    if not number:
        return devices[0]
    found = [device for device in devices if str(device.id) == number]
    if not found:
        raise PyTreeValueError(f"JAX has no device {name!r} here, got {described(name)}; it has {devices}")
    return found[0]


def same_memory(x: Any) -> Hashable:
    """Address, shape and dtype on each device; nothing for arrays without elements, and for what has no memory."""
    if isinstance(x, Tracer) or not isinstance(x, Array) or is_key(x.dtype) or not x.size or x.is_deleted():
        return None
    try:
        where = tuple(shard.data.unsafe_buffer_pointer() for shard in x.addressable_shards)
    except Exception:  # a platform that does not tell
        return None
    return (where, x.shape, str(x.dtype))
