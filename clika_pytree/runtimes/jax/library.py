"""JAX itself. Nothing else here imports it by name, so that types are checked the same where it is not installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__: list[str] = []

jax: Any = import_module("jax")
tree_util: Any = import_module("jax.tree_util")
export: Any = import_module("jax.export")

Array: type[Any] = jax.Array
Tracer: type[Any] = jax.core.Tracer


def is_key(dtype: Any) -> bool:
    """Whether it is the dtype of random keys."""
    return bool(jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key))
