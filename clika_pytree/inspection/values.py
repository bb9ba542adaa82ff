"""How two values differ, in words."""

from __future__ import annotations

from clika_pytree._native import MappingKey
from clika_pytree.columns import alike
from clika_pytree.spec_builder import CUSTOM, DATACLASS, NAMEDTUPLE, NONE
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import (
    LONGEST_REPR,
    PLAIN,
    array_facts,
    class_name,
    class_of,
    error_text,
    how_many,
    leaf_text,
    short_name,
    shorten,
    value_text,
    with_article,
)

from .flat_tree import MAPPINGS, SEQUENCES

if TYPE_CHECKING:
    from typing import Any

    from .flat_tree import FlatTree

QUICK = tuple(map(id, (int, bool, str, bytes, type(None))))
"""Classes whose `==` is that of contexts and keys, once the classes are the same."""

NOUNS = {NAMEDTUPLE: ("field", "fields"), DATACLASS: ("field", "fields"), CUSTOM: ("child", "children")}


def children_text(kind: int, cls: Any, count: int) -> str:
    """A container in words: what it is, and how many children it has."""
    name = short_name(cls)
    if kind == NONE:
        return "None"
    if kind in SEQUENCES:
        return how_many(name, count)
    if not count:
        return f"an empty {name}" if kind in MAPPINGS else with_article(name)
    one, several = NOUNS.get(kind, ("key", "keys"))
    return f"{with_article(name)} with {count:,} {one if count == 1 else several}"


class Texts:
    """What the children of trees are in words; of containers that look alike the text is made once."""

    def __init__(self) -> None:
        self.nodes: dict[Any, str] = {}
        self.dtypes: dict[int, tuple[Any, str]] = {}

    def of(self, tree: FlatTree, child: int) -> str:
        """A container by its number, or below zero a leaf."""
        return leaf_text(tree.leaves[~child], self.dtypes) if child < 0 else self.of_node(tree, child)

    def of_node(self, tree: FlatTree, node: int) -> str:
        kind, cls, count = tree.kinds[node], tree.class_of(node), tree.arities[node]
        text = self.nodes.get((kind, id(cls), count))
        if text is None:
            text = self.nodes[kind, id(cls), count] = children_text(kind, cls, count)
        return text


def full_name(cls: Any) -> str:
    try:
        module = shorten(str(type.__dict__["__module__"].__get__(cls)))
    except Exception:
        module = "?"
    return f"{module}.{class_name(cls)}"


def stranger_text(leaf: Any, cls: Any) -> str:
    """A leaf where the other tree has a container; an instance of a subclass may not be known to be one."""
    text = leaf_text(leaf)
    bases = type.__dict__["__mro__"].__get__(class_of(leaf))
    if not any(base is known for base in bases[1:] for known in (list, tuple, dict, cls)):
        return text
    return f"{text}, which is a leaf: its class is not registered"


def by_module(one: Any, other: Any) -> tuple[str, str]:
    names = [f"an instance of {full_name(cls)}" for cls in (one, other)]
    if names[0] == names[1]:
        names[1] += ", which is another class of that name"
    return names[0], names[1]


def value_difference(one: Any, other: Any) -> tuple[str, str] | None:
    """The texts of two values that are not equal as contexts and keys are: by exact type and value."""
    reason = None
    try:
        if one is other or MappingKey(one) == MappingKey(other):
            return None
    except Exception as error:
        reason = reason_of(error)
    texts = short(one), short(other)
    if reason is not None:
        return texts[0], f"{texts[1]}, and the two can't be compared ({reason})"
    if texts[0] != texts[1]:
        return texts
    for cls in (str, bytes):
        if class_of(one) is cls and class_of(other) is cls:
            return from_where_they_differ(one, other)
    return texts[0], "another one that prints alike"


def from_where_they_differ(one: Any, other: Any) -> tuple[str, str]:
    """The parts of two long texts in which they differ."""
    start = max(alike(one, other) - LONGEST_REPR // 3, 0)
    end = start + LONGEST_REPR
    first, second = (f"{'…' * (start > 0)}{text[start:end]!r}{'…' * (len(text) > end)}" for text in (one, other))
    return shorten(first), shorten(second)


def reason_of(error: Exception) -> str:
    # The comparison is that of keys, and what it raises speaks of a key.
    return shorten(error_text(error).replace("this key holds ", ""))


def short(value: Any) -> str:
    return leaf_text(value) if id(class_of(value)) in PLAIN or array_facts(value) is not None else value_text(value)


def leaf_difference(one: Any, other: Any) -> tuple[str, str] | None:
    """The texts of two leaves that are not equal."""
    if one is other:
        return None
    cls = class_of(one)
    if cls is not class_of(other):
        texts = leaf_text(one), leaf_text(other)
        return texts if texts[0] != texts[1] else by_module(cls, class_of(other))
    if id(cls) in QUICK:
        return None if one == other else value_difference(one, other)
    facts = array_facts(one), array_facts(other)
    if facts[0] is None or facts[1] is None:
        return value_difference(one, other)
    if facts[0] != facts[1]:
        return leaf_text(one), leaf_text(other)
    texts = leaf_text(one), leaf_text(other)
    try:
        remark = elements_that_differ(one, other, facts[0][0])
    except Exception as error:
        remark = f"{texts[1]}, and the two can't be compared ({reason_of(error)})"
    if remark is None or texts[0] != texts[1]:
        return None if remark is None else texts
    return with_values(texts[0], one, other) or (texts[0], remark)


def with_values(text: str, one: Any, other: Any) -> tuple[str, str] | None:
    """The texts of two arrays with their value where each has but one, and their library gives it."""
    try:
        texts = value_text(one.item()), value_text(other.item())
    except Exception:
        return None
    return None if texts[0] == texts[1] else (f"{text} of value {texts[0]}", f"one of value {texts[1]}")


def elements_that_differ(one: Any, other: Any, shape: tuple[Any, ...]) -> str | None:
    """How two arrays of one shape and dtype differ. The operators are those that all libraries have."""
    same = (one == other) | ((one != one) & (other != other))
    if not hasattr(same, "sum"):  # a stand-in without elements, such as a shape with a dtype
        return None if same else "another one of the same shape and dtype"
    total = 1
    for size in shape:
        total *= int(size)
    differing = total - int(same.sum())
    if total == 1:
        return "the same with another value" if differing else None
    return f"the same with {differing:,} of {total:,} elements different" if differing else None
