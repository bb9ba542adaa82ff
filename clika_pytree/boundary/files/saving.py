"""`save`: a tree of tensors as one safetensors file, or as several with an index."""

from __future__ import annotations

from clika_pytree._native import FileWriter, PyTreeTypeError, PyTreeValueError, encode_header
from clika_pytree.registration import described
from clika_pytree.typing import TYPE_CHECKING

from .plan import plan_of
from .progress import check_progress, reporting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from typing import Any

    from clika_pytree.typing import Namespace

    from .plan import Tensor
    from .progress import Progress

__all__ = ["save"]

# What is handed to the system at a time: so many tensors, so many bytes of copies.
MOST_PARTS = 1024
MOST_COPIED = 32 << 20


def save(
    obj: Any,
    path: str | PathLike[str],
    *,
    fsync: bool = True,
    max_shard_bytes: int | None = None,
    progress: Progress = None,
    namespace: Namespace = "",
) -> None:
    """Write a tensor, a flat dict of tensors, or any tree of tensors to a safetensors file.

    A dict or OrderedDict whose keys are str and whose values are tensors is written under its own keys, in its order,
    so that any reader of the format sees it as it is. Of another tree each tensor is an entry named by the text of its
    key path, and the structure is in the metadata of the file, for `load`. Leaves that are None, bool, int, float,
    complex, str or bytes are kept there, too. A tensor that stands at several places is one tensor again after `load`.

    The file is there as a whole or not at all: it is written beside the target and takes its place at the end, with the
    mode of the file that was there. The same tree gives the same bytes.

    Args:
        obj: The tensor, dict or tree; tensors of any runtime.
        path: Where to.
        fsync: Whether to return only once the file would survive a loss of power.
        max_shard_bytes: The most bytes of tensors in a file; a larger tree becomes several files beside `path`, and an
            index that names them, as Hugging Face has them. None for one file.
        progress: True for a bar (where tqdm is installed), or a function that is called with the bytes done and in all.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Raises:
        PyTreeTypeError: (a `TypeError`) a leaf is neither a tensor nor a plain value, or its dtype is none that a file
            can hold. The message and `path` say which.
        PyTreeValueError: (a `ValueError`) two leaves would have the same name, a key can't be the name of a tensor, or
            something in the structure can't be written (see `treespec_dumps`).
        OSError: The file could not be written. What was there before is still there.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import clika_pytree as crt
        >>> path = tempfile.mkdtemp() + "/model.safetensors"
        >>> crt.save({"layers": [{"w": np.ones((2, 3))}], "step": 7}, path)
        >>> crt.load(path)
        {'layers': [{'w': array([[1., 1., 1.],
               [1., 1., 1.]])}], 'step': 7}
    """
    name, place = path_of("save()", path)
    check_progress("save()", progress)
    if max_shard_bytes is not None and not (type(max_shard_bytes) is int and max_shard_bytes > 0):  # pyright: ignore[reportUnnecessaryComparison]
        raise PyTreeTypeError(
            f"save() expects a number of bytes or None as max_shard_bytes, got {described(max_shard_bytes)}"
        )
    plan = plan_of(obj, namespace)
    from .shards import forget_shards, is_sharded, save_shards

    with reporting(progress, plan.nbytes if progress else 0, "save") as report:
        if max_shard_bytes is not None and plan.nbytes > max_shard_bytes and len(plan.tensors) > 1:
            save_shards(plan, place, name, max_shard_bytes, fsync, report)
            return
        index = is_sharded(place)
        write_file(place, name, plan.tensors, plan.metadata, fsync, report)
        if index is not None:
            forget_shards(index)


def path_of(caller: str, path: Any) -> tuple[str, str]:
    """A path as messages name it and as the system takes it."""
    import os

    try:
        found = os.fsdecode(path)
    except TypeError:
        raise PyTreeTypeError(f"{caller} expects a path, got {described(path)}") from None
    if not found:
        raise PyTreeValueError(f"{caller} expects a path, got an empty text")
    return found, found


def write_file(
    place: str,
    name: str,
    tensors: Sequence[Tensor],
    metadata: dict[str, str],
    fsync: bool,
    report: Callable[[int], object] | None,
) -> None:
    """Write one file of these tensors."""
    try:
        header, size = encode_header([*tensors], [*metadata.items()])
    except PyTreeValueError as error:
        raise PyTreeValueError(f"save() can't write the file: {error}") from None
    check_folder(place)
    writer = FileWriter(place, name)
    try:
        writer.write([header])
        write_tensors(writer, tensors, report)
        writer.commit(fsync, size)
    finally:
        writer.discard()


def check_folder(place: str) -> None:
    import errno
    import os

    folder = os.path.dirname(place) or "."
    if not os.path.isdir(folder):
        what = "is no folder" if os.path.exists(folder) else "does not exist"
        raise OSError(errno.ENOTDIR if os.path.exists(folder) else errno.ENOENT, f"the folder {folder} {what}", place)


def write_tensors(writer: FileWriter, tensors: Sequence[Tensor], report: Callable[[int], object] | None) -> None:
    parts: list[Any] = []
    copied = 0
    for name, code, shape, tensor, runtime in tensors:
        if runtime is None:
            parts.append(tensor)
        else:
            try:
                host = runtime.to_host(tensor)
            except (PyTreeTypeError, PyTreeValueError) as error:
                raise type(error)(f"save() can't write the tensor {name!r}: {error}") from None
            if host.dtype != code or tuple(host.shape) != tuple(shape):
                raise PyTreeValueError(
                    f"save() found another dtype or shape in the tensor {name!r} than before: it was changed meanwhile"
                )
            parts.append(host.buffer)
            if host.buffer is not tensor:
                copied += getattr(host.buffer, "nbytes", 0)
        if len(parts) >= MOST_PARTS or copied >= MOST_COPIED:
            writer.write(parts, report)
            parts, copied = [], 0
    if parts:
        writer.write(parts, report)
