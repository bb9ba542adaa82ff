"""The same cases beside optree and JAX: where a rule is the same, so must be the result.

`DIFFERENCES` lists every rule that is not the same, with the trees that it touches. A result that differs in a tree
that no entry speaks of is a fault of one side.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import importlib
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import reference
from classes import FieldsLeaf, FromRange
from helpers import identical
from reference import Node, same_tree, value_key

import clika_pytree as cp
from fuzz.against_reference import Case, Reading

Where = Callable[[Case], bool]
DICTS = ("dict", "defaultdict", "ordereddict")


@dataclasses.dataclass(frozen=True, eq=False)
class Difference:
    """Some operations of a peer, the cases in which they may differ from ours, and why."""

    peer: str
    operations: str
    reason: str
    where: Where


# --- what a case has --------------------------------------------------------------------------------------------------


def readings(case: Case) -> Iterator[Reading]:
    return (one for one in (case.one, case.other) if one.refused is None)


def nodes(case: Case) -> Iterator[Node]:
    waiting = [one.expected.root for one in readings(case)]
    for node in waiting:
        waiting.extend(node.children)
    return iter(waiting)


def has(*kinds: str) -> Where:
    return lambda case: any(node.kind in kinds for node in nodes(case))


def has_class(cls: type) -> Where:
    return lambda case: any(node.type is cls for node in nodes(case))


def has_leaf(kind: type) -> Where:
    return lambda case: any(type(leaf) is kind for one in readings(case) for leaf in one.leaves)


def has_empty(case: Case) -> bool:
    return any(node.kind in ("deque", "ordereddict") and not node.children for node in nodes(case))


def refused(case: Case) -> bool:
    return any(one.refused is not None for one in (case.one, case.other))


def keys_of(case: Case) -> Iterator[tuple]:
    return (node.entries for node in nodes(case) if node.kind in DICTS)


def odd_keys(case: Case) -> bool:
    return any(not reference.is_plain(key) for keys in keys_of(case) for key in keys)


def mixed_keys(case: Case) -> bool:
    return any(len({type(key) for key in keys}) > 1 for keys in keys_of(case))


def nested_keys(case: Case) -> bool:
    return any(isinstance(key, (tuple, frozenset, enum.Enum)) for keys in keys_of(case) for key in keys)


def keys_were_moved(case: Case) -> bool:
    """A dict that is flattened in another order than it has."""
    dicts = (node for node in nodes(case) if node.kind in DICTS)
    return any(value_key(node.order) != value_key(node.entries) for node in dicts)


def at_one_place(case: Case) -> Iterator[tuple[Node, Node]]:
    """The containers of the two trees that stand at the same places."""
    waiting = [(whole(case.one), whole(case.other))]
    for one, other in waiting:
        waiting.extend(zip(one.children, other.children, strict=False))
    return ((one, other) for one, other in waiting if "leaf" not in (one.kind, other.kind))


def whole(one: Reading) -> Node:
    """The structure of a tree all the way down, where the predicate stopped too."""
    mode = dataclasses.replace(one.mode, is_leaf=None)
    try:
        return reference.flatten(one.tree, mode)[1].root
    except reference.Disordered:
        return reference.flatten(one.tree, dataclasses.replace(mode, sort=False))[1].root


def orders_differ(case: Case) -> bool:
    dicts = ((a, b) for a, b in at_one_place(case) if a.kind in DICTS and b.kind in DICTS)
    return any(a.entries != b.entries and set(a.entries) == set(b.entries) for a, b in dicts)


def kinds_of_dicts_differ(case: Case) -> bool:
    dicts = ((a, b) for a, b in at_one_place(case) if a.kind in DICTS and b.kind in DICTS)
    return any(a.kind != b.kind or (a.kind == "defaultdict" and a.context[0] is not b.context[0]) for a, b in dicts)


def maxlen_differs(case: Case) -> bool:
    return any(a.kind == b.kind == "deque" and a.context != b.context for a, b in at_one_place(case))


def equality_differs(case: Case) -> bool:
    """Two nodes at one place whose contexts are the same by `==`, and not by exact type and value, or the reverse."""
    pairs = ((a, b) for a, b in at_one_place(case) if a.type is b.type)
    return any((a.context == b.context) is not (value_key(a.context) == value_key(b.context)) for a, b in pairs)


def either(*conditions: Where) -> Where:
    return lambda case: any(condition(case) for condition in conditions)


# --- what is not the same ---------------------------------------------------------------------------------------------

BY_EQUALITY = "keys and contexts are compared by ==: 1, True and 1.0 are one value there, and so are 0.0 and -0.0"
BY_CLASS = "a namedtuple is rebuilt by its __new__ there, and that of FromRange takes one argument"

DIFFERENCES = [
    Difference("optree", "all", "os.stat_result and its like are nodes there", has_leaf(os.stat_result)),
    Difference("optree", "leaves repr", "keys without an order stay in insertion order there, unsaid", refused),
    Difference(
        "optree",
        "leaves repr",
        "Enum members have no order there; we take their definition's",
        either(nested_keys, mixed_keys),
    ),
    Difference("optree", "paths", "the entries of a namedtuple are numbers there", has("namedtuple")),
    Difference("optree", "repr", "a registered dataclass is a custom node there", has("dataclass")),
    Difference("optree", "repr", "empty ones are printed as deque() and OrderedDict() there", has_empty),
    Difference("optree", "unflatten map", BY_CLASS, has_class(FromRange)),
    Difference("optree", "equal", BY_EQUALITY, equality_differs),
    Difference("optree", "prefix up_to", BY_EQUALITY, equality_differs),
    Difference("optree", "prefix up_to", "the order of keys does not count there", orders_differ),
    Difference(
        "optree", "prefix up_to", "dict, OrderedDict and defaultdict fit each other there", kinds_of_dicts_differ
    ),
    Difference("optree", "prefix up_to", "the maxlen of a deque does not count there", maxlen_differs),
    Difference("jax", "all", "a deque is a leaf there", has("deque")),
    Difference("jax", "leaves", "keys of several types are an error there", either(mixed_keys, nested_keys, refused)),
    Difference("jax", "all", "a tuple subclass with any _fields at all is a namedtuple there", has_leaf(FieldsLeaf)),
    Difference("jax", "paths", "keys that are no plain values are written without their class there", odd_keys),
    Difference("jax", "repr", "other nodes than tuple, list, dict and None are CustomNode there", lambda case: True),
    Difference("jax", "unflatten map", BY_CLASS, has_class(FromRange)),
    Difference(
        "jax", "unflatten", "a rebuilt dict has its keys sorted there; ours has the order it had", keys_were_moved
    ),
    Difference("jax", "equal up_to", BY_EQUALITY, equality_differs),
]

# --- the peers --------------------------------------------------------------------------------------------------------


class Peer:
    """One other engine, with the node classes of the suite registered."""

    name: str
    library: Any

    def reads(self, case: Case) -> bool:
        """Whether it has this way of reading."""
        raise NotImplementedError

    def flatten(self, tree: Any, case: Case) -> tuple[list, Any]:
        raise NotImplementedError

    def differences(self, case: Case) -> Iterator[str]:
        """The operations whose results are not ours."""
        try:
            leaves, spec = self.flatten(case.one.tree, case)
            others, other_spec = self.flatten(case.other.tree, case)
        except Exception:
            yield "leaves"
            return
        if refused(case) or not identical(leaves, case.one.leaves) or not identical(others, case.other.leaves):
            yield "leaves"
            return
        for operation, ours, theirs in self.operations(case, spec, other_spec):
            if outcome(ours) != outcome(theirs):
                yield operation

    def operations(self, case: Case, spec: Any, other: Any) -> Iterator[tuple[str, Callable, Callable]]:
        one, two = case.one, case.other
        namespace = case.mode.namespace
        yield "nodes", lambda: one.spec.num_nodes, lambda: spec.num_nodes
        yield "leaves", lambda: one.spec.num_leaves, lambda: spec.num_leaves
        yield "unflatten", lambda: True, lambda: same_tree(spec.unflatten(one.leaves), one.tree, namespace)
        yield "equal", lambda: one.spec == two.spec, lambda: spec == other
        yield "up_to", lambda: ids(one.spec.flatten_up_to(two.tree)), lambda: ids(spec.flatten_up_to(two.tree))


def ids(items: list) -> list[int]:
    return [id(item) for item in items]


def outcome(call: Callable) -> Any:
    """What it gives, or that it refuses."""
    try:
        return call()
    except Exception:
        return Refusal


class Refusal:
    pass


def as_bool(predicate: Callable | None) -> Callable | None:
    return None if predicate is None else lambda obj: bool(predicate(obj))  # both take any truthy result: not so they


def inside(text: str) -> str:
    """The structure in a printed spec, without how it was read."""
    body = text.partition("(")[2].removesuffix(")")
    while True:
        head, comma, tail = body.rpartition(", ")
        if not comma or not tail.startswith(("none_is_leaf=", "NoneIsLeaf", "namespace=")):
            return body
        body = head


class Optree(Peer):
    name = "optree"

    def __init__(self) -> None:
        self.library = library = importlib.import_module("optree")
        self.globally = vars(library.registry)["__GLOBAL_NAMESPACE"]
        for (namespace, cls), rule in reference.RULES.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a namedtuple class is registered in a namespace
                library.register_pytree_node(
                    cls, taking_apart(rule), putting_together(rule), namespace=namespace or self.globally
                )

    def reads(self, case: Case) -> bool:
        return isinstance(case.mode.namespace, str)

    def ordered(self, case: Case) -> contextlib.AbstractContextManager:
        return self.library.dict_insertion_ordered(not case.mode.sort, namespace=case.mode.namespace or self.globally)

    def flatten(self, tree: Any, case: Case) -> tuple[list, Any]:
        mode = case.mode
        with self.ordered(case):
            return self.library.tree_flatten(
                tree, as_bool(mode.is_leaf), none_is_leaf=mode.none_is_leaf, namespace=mode.namespace
            )

    def operations(self, case: Case, spec: Any, other: Any) -> Iterator[tuple[str, Callable, Callable]]:
        yield from super().operations(case, spec, other)
        one, two = case.one, case.other
        yield "paths", lambda: value_key(one.spec.paths()), lambda: value_key(spec.paths())
        yield "repr", lambda: inside(repr(one.spec)), lambda: inside(repr(spec))
        yield "prefix", lambda: one.spec.is_prefix(two.spec), lambda: spec.is_prefix(other)


class Jax(Peer):
    name = "jax"

    def __init__(self) -> None:
        self.library = library = importlib.import_module("jax.tree_util")
        for (namespace, cls), rule in reference.RULES.items():
            if not namespace:
                library.register_pytree_with_keys(cls, taking_apart_with_texts(rule), putting_together(rule))

    def reads(self, case: Case) -> bool:
        return case.mode.namespace == "" and case.mode.sort and not case.mode.none_is_leaf

    def flatten(self, tree: Any, case: Case) -> tuple[list, Any]:
        return self.library.tree_flatten(tree, as_bool(case.mode.is_leaf))

    def operations(self, case: Case, spec: Any, other: Any) -> Iterator[tuple[str, Callable, Callable]]:
        yield from super().operations(case, spec, other)
        one = case.one
        yield "paths", lambda: list(map(cp.keystr, one.spec.key_paths())), lambda: self.paths(case)
        yield "repr", lambda: inside(repr(one.spec)), lambda: inside(repr(spec))

    def paths(self, case: Case) -> list[str]:
        pairs, _ = self.library.tree_flatten_with_path(case.one.tree, as_bool(case.mode.is_leaf))
        return [self.library.keystr(path) for path, _ in pairs]


def taking_apart(rule: reference.Rule) -> Callable:
    def flatten(obj: Any) -> tuple:
        node, children = reference.open_registered(obj, rule)
        return children, node.context, node.entries

    return flatten


class TextKey(str):
    """A key of JAX that prints as ours does."""


def taking_apart_with_texts(rule: reference.Rule) -> Callable:
    def flatten(obj: Any) -> tuple:
        node, children = reference.open_registered(obj, rule)
        return list(zip(map(TextKey, node.texts), children, strict=True)), node.context

    return flatten


def putting_together(rule: reference.Rule) -> Callable:
    def unflatten(context: Any, children: Any) -> Any:
        return reference.rebuild(Node(rule.kind, rule.cls, rule, context), list(children))

    return unflatten


# --- a case -----------------------------------------------------------------------------------------------------------


def installed() -> list[Peer]:
    """The peers that there are on this machine."""
    found = []
    for peer in (Optree, Jax):
        with contextlib.suppress(ImportError):
            found.append(peer())
    return found


def compare(peer: Peer, case: Case) -> list[Difference]:
    """The listed differences that a case shows; one that is not listed is an AssertionError."""
    found = []
    for operation in peer.differences(case) if peer.reads(case) else ():
        known = (d for d in DIFFERENCES if d.peer == peer.name and {"all", operation} & set(d.operations.split()))
        listed = next((difference for difference in known if difference.where(case)), None)
        assert listed is not None, f"{peer.name} differs in {operation}, and no listed difference speaks of such trees"
        found.append(listed)
    return found
