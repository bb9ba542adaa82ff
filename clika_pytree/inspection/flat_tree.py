"""A tree as two lists, its leaves and its nodes, in which a walk needs no stack however deep the tree is."""

from __future__ import annotations

from itertools import repeat
from operator import is_

from clika_pytree._native import (
    DataclassKey,
    FlattenedIndexKey,
    MappingKey,
    SequenceKey,
    tree_flatten,
    treespec_state,
)
from clika_pytree.spec_builder import (
    CUSTOM,
    DATACLASS,
    DEFAULTDICT,
    DEQUE,
    DICT,
    LEAVES,
    LIST,
    NAMEDTUPLE,
    NODE_FORMAT,
    ORDEREDDICT,
    STATIC,
    TUPLE,
    key_of_entry,
    key_of_field,
)
from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence
    from typing import Any

    from clika_pytree._native import Registration, TreeSpec
    from clika_pytree.typing import IsLeaf, Namespace

SEQUENCES = (LIST, TUPLE, DEQUE)
MAPPINGS = (DICT, ORDEREDDICT, DEFAULTDICT)
# What stands in a structure that was given without a tree: messages call it a leaf.
LEAF: Any = type("leaf", (), {})()
HOW_MANY_SLOTS = {DEFAULTDICT: 1, DEQUE: 1, NAMEDTUPLE: 1, CUSTOM: 3, DATACLASS: 2, STATIC: 2}


class FlatTree:
    """The leaves and nodes of a tree in the order of a walk; a node is known by its number.

    Neighbouring leaves of one container are one node of the kind `LEAVES`.
    """

    __slots__ = ("arities", "classes", "ends", "first_leaves", "first_slots", "kinds", "leaves", "slots", "spec")

    leaves: list[Any]
    spec: TreeSpec

    def __init__(self, tree: Any, is_leaf: IsLeaf, none_is_leaf: bool, namespace: Namespace) -> None:
        self.leaves, self.spec = tree_flatten(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)

    @classmethod
    def of(cls, spec: TreeSpec) -> FlatTree:
        """The tree that a structure stands for."""
        made = cls.__new__(cls)
        made.leaves, made.spec = [LEAF] * spec.num_leaves, spec
        return made

    def open(self) -> None:
        """Make the list of nodes, which takes longer than flattening."""
        from array import array
        from collections import OrderedDict, defaultdict, deque
        from struct import iter_unpack

        self.classes: Any = (None, type(None), list, tuple, dict, OrderedDict, defaultdict, deque)
        _, _, nodes, self.slots, _ = treespec_state(self.spec)
        self.kinds: bytes = nodes[::5]
        self.arities = array("Q", [arity for _, arity in iter_unpack(NODE_FORMAT, nodes)])
        count = len(self.kinds)
        self.first_slots, self.first_leaves = array("Q", bytes(8 * count)), array("Q", bytes(8 * count))
        slot = leaf = 0
        for node, (kind, arity) in enumerate(zip(self.kinds, self.arities, strict=True)):
            self.first_slots[node], self.first_leaves[node] = slot, leaf
            if kind == LEAVES:
                leaf += arity
            elif kind > TUPLE:
                slot += HOW_MANY_SLOTS.get(kind, 0) + (arity if kind in MAPPINGS else 0)
        self.ends = ends_of(self.kinds, self.arities)

    def num_leaves(self, node: int) -> int:
        end = self.ends[node]
        return (self.first_leaves[end] if end < len(self.kinds) else len(self.leaves)) - self.first_leaves[node]

    def own_slots(self, node: int) -> tuple[Any, ...]:
        """What a node carries, as in the state of a TreeSpec."""
        first = self.first_slots[node]
        slots: tuple[Any, ...] = self.slots[first : first + HOW_MANY_SLOTS.get(self.kinds[node], 0)]
        return slots

    def dict_keys(self, node: int) -> tuple[Any, ...]:
        """The keys of a node of one of the kinds of dicts."""
        first = self.first_slots[node] + (self.kinds[node] == DEFAULTDICT)
        keys: tuple[Any, ...] = self.slots[first : first + self.arities[node]]
        return keys

    def class_of(self, node: int) -> Any:
        """The class of a container."""
        kind = self.kinds[node]
        if kind >= NAMEDTUPLE:
            holder = self.slots[self.first_slots[node]]
            return holder if kind == NAMEDTUPLE else holder.cls
        return self.classes[kind]

    def registration(self, node: int) -> Registration:
        """The registration of a custom node, a dataclass or a static object."""
        found: Registration = self.slots[self.first_slots[node]]
        return found

    def names(self, node: int) -> tuple[Any, Sequence[Any]]:
        """How the children are called: a class of keys or what makes one, and what each key is made of."""
        kind, arity = self.kinds[node], self.arities[node]
        if kind in MAPPINGS:
            return MappingKey, self.dict_keys(node)
        if kind == NAMEDTUPLE:
            fields = self.class_of(node)._fields
            return (key_of_field, fields) if len(fields) == arity else (SequenceKey, range(arity))
        if kind == DATACLASS:
            return DataclassKey, self.registration(node).data_fields
        if kind == CUSTOM:
            entries = self.own_slots(node)[2]
            return (FlattenedIndexKey, range(arity)) if entries is None else (key_of_entry, entries)
        return SequenceKey, range(arity)


def only(cls: type, values: Sequence[Any]) -> bool:
    """Whether all of these values are of this very class."""
    return all(map(is_, map(type, values), repeat(cls)))


def number_in(numbers: dict[Any, int], mark: Any) -> int:
    """The number of a mark, a new one for a new mark."""
    # Not `setdefault`, which in CPython 3.13.0 goes on where there is no memory for the entry (python/cpython#109700).
    number = numbers.get(mark)
    if number is None:
        number = numbers[mark] = len(numbers) + 1
    return number


def ends_of(kinds: bytes, arities: array[int]) -> array[int]:
    """For every node the number of the first one behind it and all that is below it."""
    from array import array

    ends = array("Q", bytes(8 * len(kinds)))
    # From the last node to the first: the nodes at the top of the stack are the children of the one that comes.
    finished: list[int] = []
    for node in range(len(kinds) - 1, -1, -1):
        end, missing = node + 1, arities[node]
        if kinds[node] != LEAVES:
            while missing > 0:
                child = finished.pop()
                end = ends[child]
                missing -= arities[child] if kinds[child] == LEAVES else 1
        ends[node] = end
        finished.append(node)
    return ends
