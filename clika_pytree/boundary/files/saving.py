"""`save`: a tree of tensors as one safetensors file, or as several with an index."""

from __future__ import annotations

from clika_pytree._native import PyTreeTypeError
from clika_pytree.registration import described
from clika_pytree.typing import TYPE_CHECKING

from .arguments import check_switch, path_of
from .plan import plan_of
from .progress import check_progress, reporting
from .writing import write_file

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree.typing import Namespace

    from .arguments import FilePath
    from .progress import Progress

__all__ = ["save"]


def save(
    obj: Any,
    path: FilePath,
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
        fsync: Whether to return only once the file would survive a loss of power. Without it, what a loss of power soon
            after leaves may be a file with zeros in it.
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
    check_switch("save()", "fsync", fsync)
    if max_shard_bytes is not None and not (type(max_shard_bytes) is int and max_shard_bytes > 0):  # pyright: ignore[reportUnnecessaryComparison]
        raise PyTreeTypeError(
            f"save() expects a number of bytes or None as max_shard_bytes, got {described(max_shard_bytes)}"
        )
    plan = plan_of(obj, namespace)
    from .shards import forget_shards, may_be_sharded, save_shards

    with reporting(progress, plan.nbytes if progress else 0, "save") as report:
        if max_shard_bytes is not None and plan.nbytes > max_shard_bytes and len(plan.tensors) > 1:
            save_shards(plan, place, name, max_shard_bytes, fsync, report)
            return
        was_sharded = may_be_sharded(place)
        write_file(place, name, plan, fsync, report)
        if was_sharded:
            forget_shards(place)
