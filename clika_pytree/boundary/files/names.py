"""What the document of a structure says without its classes: the names of the leaves, and dicts for unknown classes."""

from __future__ import annotations

from clika_pytree._native import (
    DataclassKey,
    FlattenedIndexKey,
    MappingKey,
    SequenceKey,
    keystr,
)
from clika_pytree.namedtuples import is_namedtuple_class
from clika_pytree.plain_values import Refused, check_keys, count, exactly, read_entries, read_keys, write
from clika_pytree.registration import named
from clika_pytree.spec_builder import key_of_entry, key_of_field, loaded, searched_namespaces
from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree.typing import Namespace

    # What makes the key of a child, of what for each of them, and how many there are.
    Children = tuple[Any, Any, int]

__all__ = ["names_in", "without_unknown"]


def names_in(document: Any) -> list[str]:
    """The name of every leaf of a structure, from its document."""
    names: list[str] = []
    # Of each open container: its own key as text, its children, and how many of them are done.
    keys: list[str] = []
    around: list[Children] = []
    done: list[int] = []
    for item in nodes_of(document):
        for _ in range(len(item) if exactly(item, str) else 1):
            key = ""
            if around:
                make, entries, _ = around[-1]
                key = keystr((make(entries[done[-1]]),))
                done[-1] += 1
            if exactly(item, str):
                names.append("".join((*keys, key)))
            else:
                children = children_of(item)
                if children[2]:
                    keys.append(key)
                    around.append(children)
                    done.append(0)
            while done and done[-1] == around[-1][2]:
                keys.pop()
                around.pop()
                done.pop()
    return names


def nodes_of(document: Any) -> list[Any]:
    nodes: Any = document.get("nodes") if exactly(document, dict) else None
    if not exactly(nodes, list):
        raise Refused("its structure is no list of nodes")
    found: list[Any] = nodes
    return found


def children_of(item: Any) -> Children:
    """How the children of a node are called."""
    if item is None:
        return SequenceKey, (), 0
    if not exactly(item, dict):
        raise Refused("a node of its structure is no object")
    for kind in ("list", "tuple", "deque"):
        if kind in item:
            arity = count(item[kind], "the number of children")
            return SequenceKey, range(arity), arity
    for kind in ("dict", "ordereddict", "defaultdict"):
        if kind in item:
            keys = read_keys(item[kind])
            return MappingKey, keys, len(keys)
    if "namedtuple" in item or "dataclass" in item:
        fields: Any = item.get("fields")
        if not exactly(fields, list) or not all(exactly(field, str) for field in fields):
            raise Refused("the fields of a node are no list of names")
        return (key_of_field if "namedtuple" in item else DataclassKey), fields, len(fields)
    if "static" in item:
        return SequenceKey, (), 0
    arity = count(item.get("children"), "the number of children")
    if "entries" not in item:
        return FlattenedIndexKey, range(arity), arity
    entries = read_entries(item["entries"], "its list of entries")
    if len(entries) != arity:
        raise Refused(f"it has {len(entries)} entries for {arity} children")
    return key_of_entry, entries, arity


# --- classes that are not known here ----------------------------------------------------------------------------------


def without_unknown(document: Any, namespace: Namespace) -> Any:
    """The document with dicts in place of the classes that this process does not have; itself where it has them all."""
    searched = searched_namespaces("load()", namespace)
    nodes = nodes_of(document)
    unknown = [place for place, item in enumerate(nodes) if is_unknown(item, searched)]
    if not unknown:
        return document
    known = [*nodes]
    for place in unknown:
        known[place] = as_dict(nodes[place])
    return {**document, "nodes": known}


def is_unknown(item: Any, searched: tuple[str, ...]) -> bool:
    if not exactly(item, dict):
        return False
    if "namedtuple" in item:
        module, name = item.get("module"), item["namedtuple"]
        return not (exactly(module, str) and exactly(name, str) and is_namedtuple_class(loaded(module, name)))
    for kind in ("custom", "dataclass", "static"):
        if kind in item:
            own = item.get("namespace", "")
            places = (*((own,) if own in searched else ()), *searched)
            name = item[kind]
            return exactly(name, str) and all(named(name, place) is None for place in places)
    return False


def as_dict(item: Any) -> dict[str, Any]:
    """A node as a dict of its children, by the names that they have in paths."""
    _, entries, arity = children_of(item)
    keys = [getattr(entry, entry.__match_args__[0]) if hasattr(entry, "__match_args__") else entry for entry in entries]
    try:
        check_keys(keys)
        written = write(keys)
        read_keys(written)
    except Refused:
        written = list(range(arity))
    return {"dict": written}
