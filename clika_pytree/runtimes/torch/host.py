"""The elements of tensors for files, tensors made of them, and what is known of a tensor without them."""

from __future__ import annotations

import sys
import warnings

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.runtimes.file_dtypes import BITS, FILE_DTYPES, NAMES, PACKED, why_not
from clika_pytree.runtimes.protocol import Failed, Host, RecordingError, TensorSpec
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

from .library import Symbols, Tensor, Traced, functorch, torch

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import Any

__all__: list[str] = []

# Tensors are seen as ones of these, whose elements have as many bytes: numpy lacks a good many dtypes.
BYTES_AS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def describe(x: Any) -> TensorSpec:
    """The facts of a tensor, or of an object with a shape and a dtype that stands for one."""
    if isinstance(x, Symbols):
        return TensorSpec(type(x).__name__, ())
    device = getattr(x, "device", "cpu")
    return TensorSpec(name_of(x.dtype), tuple(x.shape), str(device) if isinstance(device, torch.device) else "cpu")


def name_of(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def dtype_named(name: str) -> Any:
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise PyTreeTypeError(f"PyTorch {torch.__version__} has no dtype {name}")
    return dtype


def wait(tensors: Sequence[Any]) -> None:
    """Wait for each device that a tensor is on, once; the processor is never behind."""
    devices: dict[Any, int] = {}
    for index, tensor in enumerate(tensors):
        if isinstance(tensor, Traced) or functorch.is_functorch_wrapped_tensor(tensor):
            raise Failed(
                index,
                RecordingError(
                    "eval() was called inside a function that PyTorch is tracing or transforming (export, vmap, grad): "
                    "a tensor has no elements there. Return it, and call eval() on the result"
                ),
            )
        if tensor.device.type not in ("cpu", "meta"):
            devices.setdefault(tensor.device, index)
    for device, index in devices.items():
        try:
            synchronize(device)
        except Exception as error:
            raise Failed(index, error) from None


def synchronize(device: Any) -> None:
    library: Any = getattr(torch, device.type, None)
    if device.type == "mps":
        library.synchronize()
    elif hasattr(library, "synchronize"):
        library.synchronize(device)


def stored_as(x: Any) -> tuple[str, tuple[int, ...]]:
    """What a file calls the dtype of a tensor, or PyTorch's name for one that no file has; and the shape."""
    name = name_of(x.dtype)
    return FILE_DTYPES.get(name, name), tuple(x.shape)


def to_host(x: Any) -> Host:
    """The elements in C order and little-endian: a view where they lie so, else a copy."""
    code, shape = stored_as(x)
    problem = why_no_elements(x) or why_not(code)
    if problem is not None:
        raise PyTreeTypeError(f"the elements of a tensor of PyTorch can't be handed out: {problem}")
    plain = x.detach().resolve_conj().resolve_neg().cpu().contiguous()
    width = BITS[code] // 8
    if code == "C64":
        plain = torch.view_as_real(plain)
        width = 4
    elements: Any = plain.reshape(-1).view(BYTES_AS[width]).numpy()
    if sys.byteorder != "little":
        elements = elements.byteswap()
    return Host(code, shape, elements.view("uint8").data)


def why_no_elements(x: Any) -> str | None:
    if isinstance(x, Traced) or functorch.is_functorch_wrapped_tensor(x):
        return "it has none inside a function that PyTorch is tracing or transforming; return it first"
    if x.device.type == "meta":
        return "it is on the device meta, where tensors have none"
    if x.is_quantized:
        return "it is quantized: save x.int_repr(), its scale and its zero point"
    if x.layout is not torch.strided:
        return f"its layout is {name_of(x.layout)}: save x.to_dense(), or its parts"
    if x.is_nested:
        return "it is a nested tensor: save its parts"
    return None


def from_host(host: Host, device: str) -> Any:
    """A tensor over the same memory where the device is the processor and that is aligned for it."""
    where = device_named(device)
    return on_device(over(host.dtype, host.shape, host.buffer, 0), where)


def from_memory(entries: Sequence[Any], memory: Any, device: str) -> list[Any]:
    """The tensors of some entries of a file that lies in memory."""
    where = device_named(device)
    return [on_device(over(code, shape, memory, start), where) for _, code, shape, start, _ in entries]


def on_device(tensor: Any, device: Any) -> Any:
    return tensor if device.type == "cpu" else tensor.to(device)


def over(code: str, shape: tuple[int, ...], memory: Any, start: int) -> Any:
    """A tensor over some bytes of a buffer, or a copy where they are not aligned for its dtype."""
    name = NAMES.get(code)
    if name is None or code in PACKED:
        raise PyTreeValueError(f"PyTorch has no dtype for {code}")
    dtype = dtype_named(name)
    count = 1
    for size in shape:
        count *= size
    if not count:
        return torch.empty(shape, dtype=dtype)
    with warnings.catch_warnings():
        # A buffer that can't be written into: whoever loads so asked for it.
        warnings.filterwarnings("ignore", "The given buffer is not writable", UserWarning)
        raw = torch.frombuffer(memory, dtype=torch.uint8, count=count * BITS[code] // 8, offset=start)
    width = BITS[code] // (16 if code == "C64" else 8)
    if raw.data_ptr() % width or sys.byteorder != "little":
        raw = raw.clone()
    if sys.byteorder != "little":
        raw = raw.view(-1, width).flip(1).contiguous().view(-1)
    return raw.view(dtype).view(shape)


def device_named(name: str) -> Any:
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except Exception as error:
        first = str(error).partition("\n")[0]
        raise PyTreeValueError(f"PyTorch has no device {described(name)} here: {first}") from None
    return device


def same_memory(x: Any) -> Hashable:
    """Storage, place in it, shape, strides and dtype; nothing for tensors without elements."""
    if not isinstance(x, Tensor) or why_no_elements(x) is not None or not x.numel():
        return None
    try:
        storage = x.untyped_storage()
        return (
            *(str(x.device), storage.data_ptr(), x.storage_offset(), tuple(x.shape), x.stride(), name_of(x.dtype)),
            *(x.is_conj(), x.is_neg()),
        )
    except Exception:  # a subclass without a storage of its own
        return None
