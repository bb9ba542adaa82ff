"""Other libraries of safetensors files: what each reads in a file, and what it writes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from clika_pytree.runtimes.file_dtypes import NAMES, PACKED

ALL = [name for code, name in NAMES.items() if code not in PACKED]
# A dtype, a shape and the elements in C order.
Facts = tuple[str, tuple[int, ...], bytes]


class Library(NamedTuple):
    """A library of safetensors files.

    Attributes:
        needs: The module that has to be there.
        how: How to get it.
        dtypes: Those that it reads.
        in_order: Whether it gives the tensors in the order of the file.
        read: The tensors of a file.
        write: Write arrays as its own tensors.
        only_read: Dtypes that it reads and has no tensors of; it gives their bytes.
    """

    needs: str
    how: str
    dtypes: list[str]
    in_order: bool
    read: Callable[[Path], dict[str, Facts]]
    write: Callable[[dict[str, np.ndarray], Path], None]
    only_read: tuple[str, ...] = ()

    def require(self) -> None:
        """Skip the test where the library is not there."""
        for needed, how in (("safetensors", "`pip install safetensors`"), (self.needs, self.how)):
            pytest.importorskip(needed, reason=f"{needed} is not installed: {how}")

    def as_read(self, array: Facts) -> Facts:
        """What it gives for an array that was written."""
        dtype, shape, elements = array
        return ("uint8" if dtype in self.only_read else dtype), shape, elements


def facts(array: np.ndarray) -> Facts:
    return str(array.dtype), array.shape, array.tobytes()


def read_numpy(path: Path) -> dict[str, Facts]:
    return {name: facts(array) for name, array in import_module("safetensors.numpy").load_file(path).items()}


def write_numpy(arrays: dict[str, np.ndarray], path: Path) -> None:
    import_module("safetensors.numpy").save_file(arrays, path)


@contextmanager
def wide_numbers():
    """JAX with numbers of 64 bits."""
    jax: Any = import_module("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield jax
    finally:
        jax.config.update("jax_enable_x64", before)


def read_flax(path: Path) -> dict[str, Facts]:
    with wide_numbers():
        found = import_module("safetensors.flax").load_file(path)
        return {name: facts(np.asarray(array)) for name, array in found.items()}


def write_flax(arrays: dict[str, np.ndarray], path: Path) -> None:
    with wide_numbers() as jax:
        tensors = {name: jax.numpy.asarray(array) for name, array in arrays.items()}
        import_module("safetensors.flax").save_file(tensors, path)


def read_torch(path: Path) -> dict[str, Facts]:
    torch: Any = import_module("torch")
    found = {}
    for name, tensor in import_module("safetensors.torch").load_file(path).items():
        elements = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
        found[name] = (str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), elements.tobytes())
    return found


def write_torch(arrays: dict[str, np.ndarray], path: Path) -> None:
    torch: Any = import_module("torch")
    tensors = {}
    for name, array in arrays.items():
        tensors[name] = torch.empty(array.shape, dtype=getattr(torch, str(array.dtype)))
        if array.size:
            tensors[name].reshape(-1).view(torch.uint8).copy_(
                torch.frombuffer(bytearray(array.tobytes()), dtype=torch.uint8)
            )
    import_module("safetensors.torch").save_file(tensors, path)


def read_mlx(path: Path) -> dict[str, Facts]:
    mx: Any = import_module("mlx.core")
    found = {}
    for name, tensor in mx.load(str(path)).items():
        elements = np.array(tensor.reshape(-1).view(mx.uint8)) if tensor.size else np.zeros(0, np.uint8)
        dtype = str(tensor.dtype).removeprefix("mlx.core.")
        found[name] = (dtype.replace("bool_", "bool"), tuple(tensor.shape), elements.tobytes())
    return found


def write_mlx(arrays: dict[str, np.ndarray], path: Path) -> None:
    mx: Any = import_module("mlx.core")
    tensors = {}
    for name, array in arrays.items():
        elements = mx.array(np.frombuffer(array.tobytes(), np.uint8))
        elements = elements.view(getattr(mx, str(array.dtype).replace("bool", "bool_")))
        tensors[name] = elements.reshape(array.shape)
    mx.save_safetensors(str(path), tensors)


# numpy's reader, and flax's above it, look for the floats of 8 bits in numpy, which has none.
NO_SMALL_FLOATS = [name for name in ALL if not name.startswith("float8")]
NOT_IN_MLX = ("float64", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")

LIBRARIES = {
    "numpy": Library("safetensors", "`pip install safetensors`", NO_SMALL_FLOATS, True, read_numpy, write_numpy),
    "flax": Library("jax", "`pip install jax`", NO_SMALL_FLOATS, True, read_flax, write_flax),
    "torch": Library("torch", "`make test-torch` installs it and runs this", ALL, True, read_torch, write_torch),
    "mlx": Library(
        "mlx.core",
        "`pip install 'mlx[cpu]'`",
        [name for name in ALL if name not in NOT_IN_MLX],
        False,
        read_mlx,
        write_mlx,
        ("float8_e4m3fn", "float8_e8m0fnu"),
    ),
}
