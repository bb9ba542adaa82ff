"""What `save` does: a tree of tensors as one safetensors file, or as several with an index."""

from __future__ import annotations

from clika_pytree.arguments import check_count, check_switch
from clika_pytree.other_libraries.torch_return_types import register_once
from clika_pytree.typing import TYPE_CHECKING

from .arguments import path_of
from .plan import plan_of
from .progress import check_progress, reporting
from .writing import write_file

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree.typing import Namespace

    from .arguments import FilePath
    from .progress import Progress

__all__: list[str] = []


def save_tree(
    obj: Any, path: FilePath, fsync: bool, max_shard_bytes: int | None, progress: Progress, namespace: Namespace
) -> None:
    name, place = path_of("save()", path, "; the order is save(obj, path)")
    check_progress("save()", progress)
    check_switch("save()", "fsync", fsync)
    if max_shard_bytes is not None:
        check_count("save()", "max_shard_bytes", max_shard_bytes)
    register_once()
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
