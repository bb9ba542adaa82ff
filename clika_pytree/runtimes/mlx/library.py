"""MLX itself. Nothing else here imports it by name, so that types are checked the same where it is not installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__: list[str] = []

mx: Any = import_module("mlx.core")

Array: type[Any] = mx.array
# By the names that numpy has for them, too.
DTYPES: dict[str, Any] = {
    name: getattr(mx, "bool_" if name == "bool" else name)
    for name in (
        *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
        *("float16", "bfloat16", "float32", "float64", "complex64"),
    )
    if hasattr(mx, "bool_" if name == "bool" else name)
}


def dtype_name(dtype: Any) -> str:
    """`float32` for MLX's dtype, or for another library's."""
    return str(dtype).rpartition(".")[2].removesuffix("_")
