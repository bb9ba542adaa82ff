"""Structures of optree.

optree has both ways of reading None, and keeps any order of a dict's keys. Its constructors know no registered classes,
so a PyTreeSpec is made of the state that pickling gives it: its nodes in post-order, which optree checks on the way in.
"""

from __future__ import annotations

from clika_pytree._native import PyTreeTypeError, PyTreeValueError, lookup
from clika_pytree.other_libraries.optree import plain_entry
from clika_pytree.plain_values import Refused, exactly
from clika_pytree.spec_builder import (
    CUSTOM,
    DEFAULTDICT,
    DEQUE,
    DICT,
    LIST,
    NAMED_BY_INDEX,
    NAMEDTUPLE,
    NONE,
    ORDEREDDICT,
    TUPLE,
    Builder,
)
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

from .classes import Theirs, add_registered, as_adopted, field_names, maker_of, their_context, theirs_of_mirrored
from .walks import check_spec, converted, imported, rebuilt, with_runs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clika_pytree._native import TreeSpec
    from clika_pytree.spec_builder import Node
    from clika_pytree.typing import Namespace

__all__: list[str] = []

# A node in a state: kind, arity, data, entries, class, numbers of leaves and of nodes, keys in insertion order.
KIND, ARITY, DATA, ENTRIES, CLASS, NUM_LEAVES, NUM_NODES, INSERTED = range(8)
NAMES = {
    NONE: "NONE",
    LIST: "LIST",
    TUPLE: "TUPLE",
    DICT: "DICT",
    ORDEREDDICT: "ORDEREDDICT",
    DEFAULTDICT: "DEFAULTDICT",
    DEQUE: "DEQUE",
    NAMEDTUPLE: "NAMEDTUPLE",
}


class Optree:
    """The side of optree, with one namespace of it."""

    def __init__(self, caller: str, namespace: str) -> None:
        self.optree = imported(caller, "optree", "optree")
        self.namespace = namespace
        kinds = self.optree.PyTreeKind
        self.numbers = {kind: int(getattr(kinds, name)) for kind, name in NAMES.items()}
        self.names = {int(number): name for name, number in kinds.__members__.items()}
        self.custom = int(kinds.CUSTOM)
        self.leaf = (int(kinds.LEAF), 0, None, None, None, 1, 1, None)
        self.nodes: list[tuple[Any, ...]] = []

    # --- from ours to optree's

    def leaves(self, count: int) -> list[tuple[int, int]]:
        """Adds leaves; what stands for a node while its parent is open are its numbers of leaves and of nodes."""
        self.nodes.extend([self.leaf] * count)
        return [(1, 1)] * count

    def facts(self, node: Node) -> tuple[Any, ...]:
        """Of a node's state, the kind, the data, the entries, the class and the keys in the order of insertion."""
        kind, slots = node.kind, node.slots
        if kind not in self.numbers:
            return self.registered_facts(slots[0].cls, node)
        data: Any = None
        inserted: Any = None
        if kind in (DICT, ORDEREDDICT, DEFAULTDICT):
            data = list(node.keys)
            if kind != ORDEREDDICT:
                inserted = dict.fromkeys(data if node.order is None else [data[place] for place in node.order])
            if kind == DEFAULTDICT:
                data = (slots[0], data)
        elif kind in (DEQUE, NAMEDTUPLE):
            data = slots[0]
            if kind == NAMEDTUPLE and not self.optree.is_namedtuple_class(data):
                raise Refused("optree takes it for a leaf: the class has no _make and _asdict")
        return self.numbers[kind], data, None, None, inserted

    def registered_facts(self, cls: type, node: Node) -> tuple[Any, ...]:
        theirs = self.theirs(cls)
        if theirs is None:
            raise Refused(
                f"the class is not registered with optree {self.where()}; register it there with the same children and "
                "context (optree.register_pytree_node or optree.dataclasses), or pass the namespace it is registered in"
            )
        theirs = as_adopted(theirs, node.slots[0])
        context = their_context(node.slots[0], node.slots[1], theirs)
        if theirs.kind == "dataclass" and not theirs.is_mirrored:
            context = tuple((name, context[name]) for name in theirs.meta_fields)
        entries: Any = None
        if node.kind == CUSTOM and node.slots[2] is not None:
            entries = tuple(map(plain_entry, node.slots[2]))
        elif theirs.kind == "dataclass":
            entries = theirs.data_fields
        return self.custom, context, entries, cls, None

    def node(self, facts: tuple[Any, ...], children: list[tuple[int, int]]) -> tuple[int, int]:
        kind, data, entries, cls, inserted = facts
        num_leaves = sum(leaves for leaves, _ in children)
        num_nodes = 1 + sum(nodes for _, nodes in children)
        self.nodes.append((kind, len(children), data, entries, cls, num_leaves, num_nodes, inserted))
        return num_leaves, num_nodes

    def finished(self, none_is_leaf: bool) -> Any:
        """The PyTreeSpec of the nodes; as optree does, it has the namespace only where a class was looked up."""
        namespace = self.namespace if any(state[KIND] == self.custom for state in self.nodes) else ""
        made = self.optree.PyTreeSpec.__new__(self.optree.PyTreeSpec)
        made.__setstate__((tuple(self.nodes), none_is_leaf, namespace))
        return made

    def theirs(self, cls: type) -> Theirs | None:
        """How optree registers a class."""
        entry = self.optree.register_pytree_node.get(cls, namespace=self.namespace)
        if entry is None or int(entry.kind) != self.custom:
            return None
        ours = theirs_of_mirrored("optree", entry.flatten_func)
        if ours is not None:
            return ours
        if not maker_of(entry.flatten_func, "optree.dataclasses"):
            return Theirs("optree", "custom")
        data, meta, _ = field_names(entry.flatten_func)
        return Theirs("optree", "dataclass", data, (name for name, _ in meta))

    def where(self) -> str:
        return f"in the namespace {self.namespace!r}" if self.namespace else "globally"

    # --- from optree's to ours

    def read(self, index: int, builder: Builder) -> Sequence[Any]:
        """Add one node of the state; what is given back are the places of its children."""
        state = self.nodes[index]
        name, arity, data = self.names[state[KIND]], state[ARITY], state[DATA]
        if name == "LEAF":
            builder.leaves(1)
            return ()
        if name in ("NONE", "LIST", "TUPLE"):
            builder.container({"NONE": NONE, "LIST": LIST, "TUPLE": TUPLE}[name], arity, NAMED_BY_INDEX)
        elif name in ("DICT", "ORDEREDDICT", "DEFAULTDICT"):
            self.read_dict(builder, name, state)
        elif name == "DEQUE":
            builder.deque(data, arity)
        elif name == "NAMEDTUPLE":
            builder.namedtuple(data, arity)
        elif name == "CUSTOM":
            self.read_registered(builder, state)
        else:
            cls = data.__qualname__ if name == "STRUCTSEQUENCE" else "frozendict"
            raise Refused(f"{cls} is a node in optree and a leaf here; stop optree there with is_leaf")
        return with_runs(self.children(index), self.is_leaf)

    def is_leaf(self, index: int) -> bool:
        kind: int = self.nodes[index][KIND]
        return kind == self.leaf[KIND]

    def children(self, index: int) -> list[int]:
        places: list[int] = []
        below = index - 1
        for _ in range(self.nodes[index][ARITY]):
            places.append(below)
            below -= self.nodes[below][NUM_NODES]
        return places[::-1]

    def read_dict(self, builder: Builder, name: str, state: tuple[Any, ...]) -> None:
        factory: tuple[Any, ...] = ()
        keys: Any = state[DATA]
        if name == "DEFAULTDICT":
            factory, keys = (state[DATA][0],), state[DATA][1]
        kind = {"DICT": DICT, "ORDEREDDICT": ORDEREDDICT, "DEFAULTDICT": DEFAULTDICT}[name]
        places = {key: place for place, key in enumerate(keys)}
        order = [places[key] for key in state[INSERTED] or keys]
        builder.mapping(kind, state[ARITY], keys, *factory, order=None if order == [*range(len(keys))] else order)

    def read_registered(self, builder: Builder, state: tuple[Any, ...]) -> None:
        cls = state[CLASS]
        theirs = self.theirs(cls)
        if theirs is None:
            raise Refused(f"{cls.__qualname__} is registered with optree no longer")
        theirs = as_adopted(theirs, lookup(cls, builder.namespace))
        add_registered(builder, cls, theirs, state[DATA], state[ARITY], state[ENTRIES])


def to_optree(caller: str, spec: TreeSpec, namespace: str | None) -> Any:
    check_spec(caller, spec)
    side = Optree(caller, one_namespace(caller, spec.namespace if namespace is None else namespace))
    converted(caller, spec, side)
    return side.finished(spec.none_is_leaf)


def one_namespace(caller: str, namespace: Namespace) -> str:
    if isinstance(namespace, str):
        return namespace
    if not exactly(namespace, tuple):
        raise PyTreeTypeError(f"{caller} expects a str as namespace, got {described(namespace)}")
    names = " and ".join(map(repr, namespace))
    raise PyTreeValueError(
        f"{caller} expects one namespace, which is all that a structure of optree has, got {names}; pass "
        "namespace=... with the one in which optree has all the classes"
    )


def from_optree(caller: str, treespec: Any, namespace: Namespace | None) -> TreeSpec:
    optree = imported(caller, "optree", "optree")
    if not isinstance(treespec, optree.PyTreeSpec):
        raise PyTreeTypeError(
            f"{caller} expects a PyTreeSpec of optree, got {described(treespec)}; optree.tree_structure() makes one"
        )
    side = Optree(caller, treespec.namespace)
    nodes, none_is_leaf, _ = treespec.__getstate__()
    side.nodes = nodes
    builder = Builder(caller, treespec.namespace if namespace is None else namespace, none_is_leaf)
    return rebuilt(builder, len(nodes) - 1, side.read)
