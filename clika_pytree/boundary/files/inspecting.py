"""What `inspect` gives: what is in a file, without its tensors."""

from __future__ import annotations

from clika_pytree._native import TreeSpec
from clika_pytree.inspection.flat_tree import FlatTree
from clika_pytree.inspection.summary import check_max_rows, summary_of_flat
from clika_pytree.inspection.table import TreeSummary, bytes_text
from clika_pytree.treespecs import treespec_dict, treespec_leaf
from clika_pytree.typing import TYPE_CHECKING

from .arguments import path_of
from .document import KEY
from .opened import open_files
from .stand_ins import StoredTensor

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree.typing import Namespace

    from .arguments import FilePath
    from .opened import Opened

__all__ = ["FileSummary"]


class FileSummary:
    """What is in a file; printed, it is a table, in a notebook too.

    Attributes:
        path: The file or index.
        kind: `"tree"` for a tree, `"dict"` for a flat dict of tensors.
        structure: The TreeSpec of what `load` gives; dicts stand for classes that this process does not have.
        tensors: The tensors in the order of the file, with `name`, `dtype`, `shape` and `nbytes`.
        ties: For every name of a tensor that is there under another name, too, that other name.
        metadata: The texts that other programs left in the file.
        files: How many files it is in.
        file_bytes: The size of the file or files.
        table: The TreeSummary.
    """

    path: str
    kind: str
    structure: TreeSpec
    tensors: list[StoredTensor]
    ties: dict[str, str]
    metadata: dict[str, str]
    files: int
    file_bytes: int
    table: TreeSummary

    def __init__(
        self, opened: Opened, structure: TreeSpec, table: TreeSummary, tensors: list[StoredTensor], ties: dict[str, str]
    ) -> None:
        self.path, self.structure, self.table, self.tensors, self.ties = opened.name, structure, table, tensors, ties
        self.kind = "dict" if opened.document is None else opened.document.kind
        self.metadata = {key: text for key, text in opened.metadata.items() if key != KEY}
        self.files = len(opened.files)
        self.file_bytes = sum(file.size for _, file in opened.files)

    def _title(self) -> str:
        what = "a tree" if self.kind == "tree" else "a dict of tensors"
        where = f", {self.files} files" if self.files > 1 else ""
        return f"{self.path}: {what}{where}, {bytes_text(self.file_bytes)}"

    def __repr__(self) -> str:
        return f"{self._title()}\n{self.table!r}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(self._title())}</p>{self.table._repr_html_()}"  # pyright: ignore[reportPrivateUsage]


def summary_of_file(path: FilePath, max_rows: int | None, namespace: Namespace) -> FileSummary:
    name, place = path_of("inspect()", path)
    check_max_rows("inspect()", max_rows)
    opened = open_files(place, name)
    stored = {entry[0]: StoredTensor(*entry[:3], entry[4]) for entry in opened.entries.values()}
    structure, leaves, ties = contents(opened, stored, namespace)
    tree = FlatTree.of(structure)
    tree.leaves = leaves
    table = summary_of_flat(tree, max_rows)
    for row in table.rows:
        if row.type == StoredTensor.__name__:
            row.type = "tensor"  # of which library is for `load` to say
    return FileSummary(opened, structure, table, [*stored.values()], ties)


def contents(
    opened: Opened, stored: dict[str, StoredTensor], namespace: Namespace
) -> tuple[TreeSpec, list[Any], dict[str, str]]:
    """The structure, the leaves, and the ties by name."""
    document = opened.document
    structure = opened.structure(namespace, "dict")
    if document is not None and structure is not None:
        names = opened.leaves
        leaves: list[Any] = []
        for number, name in enumerate(names):
            if number in document.ties:
                leaves.append(leaves[document.ties[number]])
            else:
                leaves.append(document.values[number] if number in document.values else stored[name])
        return structure, leaves, {names[leaf]: names[first] for leaf, first in document.ties.items()}
    items: dict[str, Any] = dict(stored)
    if document is not None:
        rest = iter(stored.items())
        values = {place: (key, value) for place, key, value in document.values}
        items = dict(values[n] if n in values else next(rest) for n in range(len(stored) + len(values)))
        items |= {later: items[first] for later, first in document.ties.items()}
    structure = treespec_dict({key: treespec_leaf() for key in items})
    return structure, [*items.values()], {} if document is None else document.ties
