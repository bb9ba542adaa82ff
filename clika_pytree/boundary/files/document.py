"""What a file says of a tree beside its tensors: the text under `clika_pytree` in the metadata.

    {"version": 1, "kind": "tree", "structure": {...}, "values": [[3, ["adam"]]], "ties": [[5, 0]]}
    {"version": 1, "kind": "dict", "values": [[2, "step", [7]]], "ties": [["head.w", "emb.w"]]}

Of a tree there is the structure as `treespec_dumps` writes it, each leaf that is a plain value, and each leaf that is a
tensor which stands at another place, too. The other leaves are the tensors of the file, by the text of their key path.
A flat dict of tensors needs none of this; its plain values have their places, and a tie names two tensors of the file.
"""

from __future__ import annotations

from clika_pytree._native import FileFormatError, MappingKey, PyTreeValueError, TreeSpec, leaf_names
from clika_pytree.plain_values import Refused, exactly, read_one, write
from clika_pytree.serialization import read_document, written_document
from clika_pytree.spec_builder import read_json
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described, shorten

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree.typing import Namespace

__all__ = ["FORMAT", "KEY", "VERSION"]

KEY = "clika_pytree"
# What transformers asks for where there is metadata at all.
FORMAT = {"format": "pt"}
VERSION = 1
# The name of a tensor that is no tree.
ROOT = "tensor"

PLAIN = (type(None), bool, int, float, complex, str, bytes)


# --- writing ----------------------------------------------------------------------------------------------------------


def tree_text(spec: TreeSpec, values: list[tuple[int, Any]], ties: list[tuple[int, int]]) -> str:
    return text_of(
        {
            "version": VERSION,
            "kind": "tree",
            "structure": written_document(spec, "save()"),
            "values": [[leaf, write((value,))] for leaf, value in values],
            "ties": ties,
        }
    )


def dict_text(values: list[tuple[int, str, Any]], ties: list[tuple[str, str]]) -> str:
    written = [[place, key, write((value,))] for place, key, value in values]
    return text_of({"version": VERSION, "kind": "dict", "values": written, "ties": ties})


def text_of(document: dict[str, Any]) -> str:
    import json

    return json.dumps(document, separators=(",", ":"))


# --- reading ----------------------------------------------------------------------------------------------------------


class Document:
    """What was read, checked as far as it can be without the tensors.

    Attributes:
        kind: `"tree"` or `"dict"`.
        structure: Of a tree, the document of its structure.
        values: Of a tree `{leaf: value}`, of a dict `[(place, key, value)]`.
        ties: `{later: earlier}`, numbers of leaves or names.
    """

    kind: str
    structure: Any
    values: Any
    ties: Any

    def __init__(self, kind: str, structure: Any, values: Any, ties: Any) -> None:
        self.kind, self.structure, self.values, self.ties = kind, structure, values, ties


def read_text(name: str, text: str) -> Document:
    """The document of a file."""
    try:
        document = read_json(text)
        version: Any = document.get("version") if exactly(document, dict) else None
        if not exactly(version, int) or version < 1:
            raise Refused("it has no version")
        if version > VERSION:
            raise FileFormatError(
                f"{name}: its tree was written by a newer clika_pytree (version {version} of the text, and this one "
                f"reads {VERSION}); upgrade it, or read the tensors with another reader of safetensors"
            )
        return read_tree(document) if document.get("kind") == "tree" else read_dict(document)
    except Refused as refusal:
        raise FileFormatError(f"{name}: what it says of its tree is damaged: {refusal}") from None


def read_tree(document: dict[str, Any]) -> Document:
    check_members(document, {"version", "kind", "structure", "values", "ties"})
    values: dict[int, Any] = {}
    for leaf, items in pairs(document["values"], "values"):
        values[number(leaf)] = plain(items)
    ties = {number(leaf): number(first) for leaf, first in pairs(document["ties"], "ties")}
    if len(values) != len(document["values"]) or len(ties) != len(document["ties"]):
        raise Refused("it has a leaf twice")
    if any(first >= leaf or first in ties or first in values or leaf in values for leaf, first in ties.items()):
        raise Refused("a tie does not lead to a tensor before it")
    return Document("tree", document["structure"], values, ties)


def read_dict(document: dict[str, Any]) -> Document:
    check_members(document, {"version", "kind", "values", "ties"})
    if document["kind"] != "dict":
        raise Refused(f"its kind is {described(document['kind'])}")
    values: list[tuple[int, str, Any]] = []
    for entry in listed(document["values"], 3, "values"):
        place, key, items = entry
        values.append((number(place), text(key), plain(items)))
    ties = {text(later): text(first) for later, first in pairs(document["ties"], "ties")}
    places = [place for place, _, _ in values]
    if places != sorted(set(places)) or len({key for _, key, _ in values}) != len(values):
        raise Refused("its values are in no order")
    if len(ties) != len(document["ties"]) or any(first in ties for first in ties.values()):
        raise Refused("a tie does not lead to a tensor before it")
    return Document("dict", None, values, ties)


def check_members(document: dict[str, Any], members: set[str]) -> None:
    if document.keys() != members:
        raise Refused(f"its members should be {', '.join(sorted(members))}")


def listed(items: Any, length: int, what: str) -> list[Any]:
    if not exactly(items, list) or not all(exactly(item, list) and len(item) == length for item in items):
        raise Refused(f"its {what} are no list of lists of {length}")
    found: list[Any] = items
    return found


def pairs(items: Any, what: str) -> list[Any]:
    return listed(items, 2, what)


def number(value: Any) -> int:
    if not exactly(value, int) or value < 0:
        raise Refused(f"a place should be a number, got {described(value)}")
    found: int = value
    return found


def text(value: Any) -> str:
    if not exactly(value, str):
        raise Refused(f"a name should be a text, got {described(value)}")
    found: str = value
    return found


def plain(items: Any) -> Any:
    value = read_one(items, "the value of a leaf")
    if not exactly(value, *PLAIN):
        raise Refused(f"a leaf can't be {described(value)}")
    return value


def read_structure(name: str, document: Any, namespace: Namespace, unknown: str) -> tuple[TreeSpec, list[str]]:
    """The structure of a tree, and the names of its leaves.

    Of classes that are not known here there are dicts of their children, where that is asked for; the names are those
    of the file all the same.
    """
    from .names import names_in, without_unknown

    try:
        known = without_unknown(document, namespace) if unknown == "dict" else document
        spec = read_document(known, namespace, "load()")
    except PyTreeValueError as error:
        way_out = '; unknown="dict" gives a dict in its place' if "class" in str(error) else ""
        failure = FileFormatError(f"{name}: its tree can't be rebuilt: {error}{way_out}")
        failure.path = error.path
        raise failure from None
    return spec, [name or ROOT for name in (leaf_names(spec) if known is document else names_in(document))]


def flat_key_problem(key: str) -> str | None:
    """Why a key of a flat dict can't be the name of a tensor."""
    if key == "__metadata__":
        return "the key '__metadata__': the safetensors format keeps it for itself; rename it"
    if not key.isascii() and any("\ud800" <= char <= "\udfff" for char in key):
        shown = shorten(str(MappingKey(key)))
        return f"the key {shown}: it has half of a surrogate pair, which no file can hold as text; rename it"
    return None
