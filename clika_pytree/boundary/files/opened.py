"""An open file of tensors, or several with an index, as `load` and `inspect` see it."""

from __future__ import annotations

from contextlib import contextmanager

from clika_pytree._native import FileFormatError, TensorFile
from clika_pytree.plain_values import Refused
from clika_pytree.typing import TYPE_CHECKING

from .arguments import shown
from .document import KEY, read_structure, read_text

if TYPE_CHECKING:
    from collections.abc import Generator

    from clika_pytree._native import TreeSpec
    from clika_pytree.typing import Namespace

    from .document import Document

    # Name, dtype as the file calls it, shape, first byte, bytes.
    Entry = tuple[str, str, tuple[int, ...], int, int]

__all__ = ["Opened", "open_files"]


class Opened:
    """What is known of a tree before a tensor of it is made.

    Attributes:
        name: What errors call it.
        files: The files, each with what errors call it.
        entries: The tensors by name, in the order of the file or of the index.
        places: Of several files, the number of the one that a tensor is in.
        document: What it says of its tree, or None.
        metadata: The texts beside the tensors.
        leaves: Of a tree whose structure was read, the names of its leaves.
    """

    name: str
    files: list[tuple[str, TensorFile]]
    entries: dict[str, Entry]
    places: dict[str, int]
    metadata: dict[str, str]

    def __init__(
        self,
        name: str,
        files: list[tuple[str, TensorFile]],
        entries: dict[str, Entry],
        metadata: dict[str, str],
        places: dict[str, int] | None = None,
    ) -> None:
        self.name, self.files, self.entries, self.metadata = name, files, entries, metadata
        self.places = places or {}
        self.document: Document | None = read_text(name, metadata[KEY]) if KEY in metadata else None
        self.leaves: list[str] = []
        if self.document is not None and self.document.kind == "dict":
            with self.damaged():
                self.check_dict(self.document)

    def structure(self, namespace: Namespace, unknown: str) -> TreeSpec | None:
        """The structure of a tree; of a dict there is none."""
        if self.document is None or self.document.kind == "dict":
            return None
        with self.damaged():
            spec, self.leaves = read_structure(self.name, self.document.structure, namespace, unknown)
            self.check_tree(self.document)
        return spec

    @contextmanager
    def damaged(self) -> Generator[None]:
        try:
            yield
        except Refused as refusal:
            raise FileFormatError(f"{self.name}: what it says of its tree is damaged: {refusal}") from None

    @property
    def nbytes(self) -> int:
        return sum(entry[4] for entry in self.entries.values())

    def check_tree(self, document: Document) -> None:
        """Whether the leaves that are tensors are the tensors that are there."""
        count = len(self.leaves)
        if any(leaf >= count for leaf in (*document.values, *document.ties)):
            raise Refused("it has a leaf that its structure has not")
        others = document.values.keys() | document.ties.keys()
        names = [name for leaf, name in enumerate(self.leaves) if leaf not in others]
        if len(set(names)) != len(names):
            raise Refused("two leaves have one name")
        missing = [name for name in names if name not in self.entries]
        if missing:
            raise Refused(f"the tensor {missing[0]!r} of its tree is not there")
        if len(names) != len(self.entries):
            known = set(names)
            left = next(name for name in self.entries if name not in known)
            raise Refused(f"the tensor {left!r} has no place in its tree")

    def check_dict(self, document: Document) -> None:
        total = len(self.entries) + len(document.values)
        if any(place >= total or key in self.entries for place, key, _ in document.values):
            raise Refused("a plain value has no place in it")
        for later, first in document.ties.items():
            ours, theirs = self.entries.get(later), self.entries.get(first)
            if ours is None or theirs is None or ours[1:3] != theirs[1:3]:
                raise Refused(f"the tensor {later!r} is no other name of a tensor like it")


def open_files(place: str, name: str) -> Opened:
    """Open the file, the folder or the index at a path."""
    from .shards import INDEX, open_shards, resolved

    found = resolved(place, name)
    return open_shards(found, name) if found.endswith(INDEX) else open_one(found, name)


def open_one(place: str, name: str) -> Opened:
    file = TensorFile(place, name)
    entries: dict[str, Entry] = {entry[0]: entry for entry in file.entries()}
    return Opened(name, [(shown(place), file)], entries, file.metadata())
