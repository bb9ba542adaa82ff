"""What stands where a tensor of a file was not loaded."""

from __future__ import annotations

from clika_pytree.runtimes.file_dtypes import NAMES

__all__ = ["NotLoaded", "StoredTensor"]


class StoredTensor:
    """A tensor as a file tells of it.

    Attributes:
        name: What it is called in the file.
        dtype: The name of its dtype, such as `"float32"`.
        shape: Its sizes.
        nbytes: The bytes it takes.
    """

    __slots__ = ("dtype", "name", "nbytes", "shape")
    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int

    def __init__(self, name: str, code: str, shape: tuple[int, ...], nbytes: int) -> None:
        self.name, self.dtype, self.shape, self.nbytes = name, NAMES[code], shape, nbytes

    def __repr__(self) -> str:
        return f"<{self.dtype}[{', '.join(map(str, self.shape))}] in a file>"


class NotLoaded(StoredTensor):
    """A tensor that `load(only=...)` left in the file."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<not loaded: {self.dtype}[{', '.join(map(str, self.shape))}]>"
