"""Several files with an index, as Hugging Face has them.

The index names the file of every tensor. New files have names that were never used, and the index is replaced last, in
one step: whoever reads it finds the old files or the new ones, and none that is half written.
"""

from __future__ import annotations

import os
import re

from clika_pytree._native import FileFormatError, FileWriter, TensorFile
from clika_pytree.plain_values import Refused, exactly
from clika_pytree.spec_builder import read_json
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

from .alone import alone, was_interrupted
from .arguments import shown
from .document import FORMAT
from .opened import Opened
from .plan import Plan
from .writing import check_folder, write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .opened import Entry
    from .plan import Tensor

__all__ = ["forget_shards", "may_be_sharded", "open_shards", "resolved", "save_shards"]

FILE = ".safetensors"
INDEX = ".index.json"
USUAL_INDEX = f"model{FILE}{INDEX}"
# The names that `save` gives; it removes no others.
OURS = re.compile(r"-[0-9a-f]{8}-\d{5,}-of-\d{5,}\.safetensors")
TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{16}\.clika-tmp")
# An index has a line for each tensor, and the text of a tree where there is one.
LARGEST_INDEX = 400_000_000


# --- reading ----------------------------------------------------------------------------------------------------------


def resolved(place: str, name: str) -> str:
    """The file or index that a path stands for: a folder has one in it."""
    if os.path.isdir(place):
        names = sorted(os.listdir(place))
        found = [name for name in names if name.endswith(FILE + INDEX)] or [n for n in names if n.endswith(FILE)]
        if len(found) > 1 and USUAL_INDEX in found:
            found = [USUAL_INDEX]
        if len(found) != 1:
            many = f"{len(found)} files of tensors, {found[0]} among them; name one" if found else "no file of tensors"
            raise FileFormatError(f"{name}: the folder has {many}")
        return os.path.join(place, found[0])
    return place + INDEX if not os.path.exists(place) and os.path.exists(place + INDEX) else place


def open_shards(index: str, name: str) -> Opened:
    """Open the files of an index; one more time where it was replaced meanwhile."""
    text = read_index(index, name)
    for _ in range(3):
        try:
            return open_all(index, name, text)
        except FileNotFoundError:
            before, text = text, read_index(index, name)
            if text == before:
                raise
    return open_all(index, name, text)


def read_index(index: str, name: str) -> str:
    with open(index, "rb") as file:
        content = file.read(LARGEST_INDEX + 1)
    if len(content) > LARGEST_INDEX:
        raise FileFormatError(f"{name}: the index has more than {LARGEST_INDEX} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise FileFormatError(f"{name}: the index is no UTF-8") from None


def open_all(index: str, name: str, text: str) -> Opened:
    try:
        places, metadata = checked_index(read_json(text))
    except Refused as refusal:
        raise FileFormatError(f"{name}: the index is none of tensors: {refusal}") from None
    files: list[tuple[str, TensorFile]] = []
    numbers: dict[str, int] = {}
    found: dict[str, Entry] = {}
    for file_name in dict.fromkeys(places.values()):
        place = os.path.join(os.path.dirname(index), file_name)
        number = len(files)
        files.append((shown(place), TensorFile(place, shown(place))))
        for entry in files[-1][1].entries():
            if places.get(entry[0]) != file_name:
                raise FileFormatError(f"{name}: the tensor {entry[0]!r} of {file_name} is not in the index")
            found[entry[0]], numbers[entry[0]] = entry, number
    missing = [tensor for tensor in places if tensor not in found]
    if missing:
        raise FileFormatError(
            f"{name}: {places[missing[0]]} has no tensor {missing[0]!r}, which the index says is there"
        )
    return Opened(name, files, {tensor: found[tensor] for tensor in places}, metadata, numbers)


def checked_index(index: Any) -> tuple[dict[str, str], dict[str, str]]:
    """Which file each tensor is in, and the texts beside them."""
    places: Any = index.get("weight_map") if exactly(index, dict) else None
    if not exactly(places, dict):
        raise Refused("it has no weight_map")
    for file in places.values():
        # A name of a file beside the index; a path could lead anywhere.
        if not exactly(file, str) or not file.endswith(FILE) or os.path.basename(file) != file or "\\" in file:
            raise Refused(f"a file beside it should be named, got {described(file)}")
    metadata: Any = index.get("metadata", {})
    if not exactly(metadata, dict):
        raise Refused("its metadata is no object")
    return places, {key: value for key, value in metadata.items() if exactly(value, str)}


# --- writing ----------------------------------------------------------------------------------------------------------


def save_shards(
    plan: Plan, place: str, name: str, most: int, fsync: bool, report: Callable[[int], object] | None
) -> None:
    """Write the files, then the index, then remove what was there before."""
    target = os.path.realpath(place)
    check_folder(target)
    with alone(target) as is_alone:
        before = names_in_index(target)
        if is_alone:
            remove(abandoned(target))
        written: list[str] = []
        try:
            write_all(plan, target, name, most, fsync, report, written)
        except BaseException:
            remove(written)
            raise
        remove([*(file for file in before if is_ours(target, file)), target])


def write_all(
    plan: Plan,
    target: str,
    name: str,
    most: int,
    fsync: bool,
    report: Callable[[int], object] | None,
    written: list[str],
) -> None:
    """Write the files and the index; `written` gets the files as they are begun."""
    import json
    import secrets

    groups = groups_of(plan, most)
    token = secrets.token_hex(4)
    places: dict[str, str] = {}
    for number, tensors in enumerate(groups, 1):
        file = f"{stem_of(target)}-{token}-{number:05}-of-{len(groups):05}{FILE}"
        written.append(file)
        write_file(file, shown(file), Plan(tensors, FORMAT, is_dict=plan.is_dict), fsync, report)
        places |= dict.fromkeys((tensor[0] for tensor in tensors), os.path.basename(file))
    document = {"metadata": {**plan.metadata, "total_size": plan.nbytes}, "weight_map": places}
    content = json.dumps(document, indent=2).encode()
    writer = FileWriter(target + INDEX, name, len(content))
    try:
        writer.write([content])
        writer.commit(fsync)
    finally:
        writer.discard()


def groups_of(plan: Plan, most: int) -> list[list[Tensor]]:
    """The tensors of each file, in order."""
    groups: list[list[Tensor]] = []
    room = 0
    for tensor, size in zip(plan.tensors, plan.sizes, strict=True):
        if not groups or size > room:
            groups.append([])
            room = most
        groups[-1].append(tensor)
        room -= size
    return groups


def stem_of(target: str) -> str:
    return os.path.join(os.path.dirname(target), os.path.basename(target).removesuffix(FILE))


def is_ours(target: str, file: str) -> bool:
    """Whether a file has a name that `save` gives to one of several for this path."""
    stem = stem_of(target)
    return file.startswith(stem) and OURS.fullmatch(file.removeprefix(stem)) is not None


def may_be_sharded(place: str) -> bool:
    """Whether an earlier save to a path has, or may have, left several files."""
    target = os.path.realpath(place)
    return os.path.exists(target + INDEX) or was_interrupted(target)


def forget_shards(place: str) -> None:
    """Remove the index and the files that a save to one file has replaced. Those of others stay."""
    target = os.path.realpath(place)
    with alone(target) as is_alone:
        ours = [file for file in names_in_index(target) if is_ours(target, file)]
        remove([target + INDEX, *ours] if ours else [])
        if is_alone:
            remove(abandoned(target))


def names_in_index(target: str) -> list[str]:
    """The files of the index of a path, where that can be read."""
    try:
        return files_of(target + INDEX)
    except (OSError, FileFormatError, Refused):
        return []


def files_of(index: str) -> list[str]:
    places, _ = checked_index(read_json(read_index(index, index)))
    return [os.path.join(os.path.dirname(index), name) for name in dict.fromkeys(places.values())]


def abandoned(target: str) -> list[str]:
    """What processes that were killed have left: files of our names, and temporaries of such, that no index names."""
    folder = os.path.dirname(target)
    names = os.listdir(folder)
    found: list[str] = []
    for name in names:
        temporary = TEMPORARY.fullmatch(name)
        if is_ours(target, os.path.join(folder, temporary[1] if temporary else name)):
            found.append(os.path.join(folder, name))
    if not found:
        return []
    try:
        # Somebody may have given an index another name.
        named = {file for name in names if name.endswith(INDEX) for file in files_of(os.path.join(folder, name))}
    except (OSError, FileFormatError, Refused):
        return []
    return [file for file in found if file not in named]


def remove(files: Iterable[str]) -> None:
    from contextlib import suppress

    for file in files:
        with suppress(OSError):
            os.remove(file)
