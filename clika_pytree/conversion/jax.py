"""Structures of JAX.

JAX reads dicts by sorted key, takes None for a node and a deque for a leaf. A PyTreeDef gives its nodes and is made of
nodes through its public methods; both copy what is below a node, so the time is that of all nodes times the depth.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from itertools import pairwise

from clika_pytree._native import PyTreeTypeError, lookup
from clika_pytree.plain_values import Refused, exactly
from clika_pytree.spec_builder import (
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
from clika_pytree.wording import described, value_text

from .classes import (
    Theirs,
    add_registered,
    as_adopted,
    by_name,
    field_names,
    maker_of,
    their_context,
    theirs_of_mirrored,
)
from .walks import converted, imported, rebuilt, with_runs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clika_pytree._native import TreeSpec
    from clika_pytree.spec_builder import Node
    from clika_pytree.typing import Namespace

__all__: list[str] = []

SEQUENCES: dict[int, type] = {NONE: type(None), LIST: list, TUPLE: tuple}
BUILT_IN = (type(None), list, tuple, dict, OrderedDict, defaultdict, deque)
INTERNALS = "jax._src.tree_util"
OLD_KINDS: dict[Any, int] = {None: 0, type(None): 1, tuple: 2, list: 4, dict: 5}
OLD_NAMEDTUPLE, OLD_CUSTOM, OLD_DATACLASS = 3, 6, 7
KINDS = {"register_dataclass": "dataclass", "register_static": "static"}


class Jax:
    """The side of JAX."""

    def __init__(self, caller: str) -> None:
        tree_util = imported(caller, "jax.tree_util", "JAX")
        self.treedef_class = tree_util.PyTreeDef
        self.registry = tree_util.default_registry
        # Nothing public tells how a class is registered; without this, all count as registered with functions.
        self.entries: dict[type, Any] = getattr(sys.modules.get(INTERNALS), "_registry", {})
        self.leaf = self.node(None, [])

    # --- from ours to JAX's

    def leaves(self, count: int) -> list[Any]:
        return [self.leaf] * count

    def facts(self, node: Node) -> tuple[type, Any]:
        """What `node_data()` of the PyTreeDef will give."""
        kind, slots = node.kind, node.slots
        if kind in SEQUENCES:
            return SEQUENCES[kind], None
        if kind == DICT:
            check_sorted(slots)
            return dict, list(slots)
        if kind == ORDEREDDICT:
            return OrderedDict, slots
        if kind == DEFAULTDICT:
            check_sorted(node.keys)
            return defaultdict, (slots[0], node.keys)
        if kind == DEQUE:
            if not self.is_registered(deque):
                raise Refused(
                    "JAX takes a deque for a leaf; use a list, or register deque with JAX "
                    "(jax.tree_util.register_pytree_node)"
                )
            return deque, slots[0]
        if kind == NAMEDTUPLE:
            return slots[0], None
        return self.registered_facts(slots[0].cls, node)

    def registered_facts(self, cls: type, node: Node) -> tuple[type, Any]:
        if has_fields(cls):
            raise Refused("it is a namedtuple class that is registered, and JAX makes a plain namedtuple node of those")
        if not self.is_registered(cls):
            raise Refused(
                "the class is not registered with JAX; register it there with the same children and context "
                "(jax.tree_util.register_pytree_node, register_dataclass or register_static)"
            )
        theirs = self.theirs(cls)
        theirs = as_adopted(theirs, node.slots[0])
        context = their_context(node.slots[0], node.slots[1], theirs)
        if theirs.kind == "dataclass" and not theirs.is_mirrored:
            context = tuple(context[name] for name in theirs.meta_fields)
        return cls, context

    def node(self, facts: tuple[type, Any] | None, children: list[Any]) -> Any:
        make = getattr(self.treedef_class, "from_node_data_and_children", None)
        return self.made_of_state(facts, children) if make is None else make(self.registry, facts, children)

    def made_of_state(self, facts: tuple[type, Any] | None, children: list[Any]) -> Any:
        """The same of what a pickle holds: jaxlib before 0.8 has no such method."""
        nodes = [node for child in children for node in child.__getstate__()[1]]
        num_leaves = sum(child.num_leaves for child in children) + (facts is None)
        cls, data = facts or (None, None)
        registered: type | None = None
        if cls is None or cls in OLD_KINDS:
            kind = OLD_KINDS[cls]
        elif has_fields(cls):
            kind, data = OLD_NAMEDTUPLE, cls
        else:
            theirs = self.theirs(cls)
            kind = OLD_DATACLASS if theirs.kind == "dataclass" and not theirs.is_mirrored else OLD_CUSTOM
            registered = cls
        nodes.append((kind, len(children), data, registered, num_leaves, len(nodes) + 1))
        made = self.treedef_class.__new__(self.treedef_class)
        made.__setstate__((self.registry, nodes))
        return made

    def is_registered(self, cls: type) -> bool:
        try:
            self.node((cls, None), [])
        except RuntimeError:
            return False
        return True

    def theirs(self, cls: type) -> Theirs:
        """How JAX registers a class; with functions, too, where it was told to its registry alone."""
        entry = self.entries.get(cls)
        if entry is None:
            return Theirs("JAX", "custom")
        ours = theirs_of_mirrored("JAX", entry.to_iter)
        if ours is not None:
            return ours
        kind = KINDS.get(maker_of(entry.from_iter, INTERNALS), "custom")
        data, meta = field_names(entry.to_iter) if kind == "dataclass" else ((), ())
        return Theirs("JAX", kind, data, meta)

    # --- from JAX's to ours

    def read(self, treedef: Any, builder: Builder) -> Sequence[Any]:
        """Add one node; what is given back are its children."""
        facts = treedef.node_data()
        if facts is None:
            builder.leaves(1)
            return ()
        cls, context = facts
        children: list[Any] = treedef.children()
        if cls in BUILT_IN:
            read_built_in(builder, cls, context, len(children))
        elif has_fields(cls) and cls not in self.entries:
            builder.namedtuple(cls, len(children))
        else:
            theirs = as_adopted(self.theirs(cls), lookup(cls, builder.namespace))
            if theirs.kind == "dataclass" and not theirs.is_mirrored:
                context = by_name(theirs.meta_fields, context)
            add_registered(builder, cls, theirs, context, len(children))
        return with_runs(children, is_leaf)


def is_leaf(treedef: Any) -> bool:
    nodes: int = treedef.num_nodes
    leaves: int = treedef.num_leaves
    return nodes == leaves == 1


def has_fields(cls: Any) -> bool:
    """What a namedtuple class is to JAX."""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")  # pyright: ignore[reportUnknownArgumentType]


def check_sorted(keys: tuple[Any, ...]) -> None:
    """Refuse keys in another order than JAX reads them in: the leaves would belong to other keys."""
    for before, after in pairwise(keys):
        try:
            in_order = bool(before < after)
        except Exception:
            raise Refused(
                f"JAX reads a dict by sorted key, and its keys {value_text(before)} and {value_text(after)} can't be "
                "compared; use keys of one class that has an order, or an OrderedDict"
            ) from None
        if not in_order:
            raise Refused(
                f"JAX reads a dict by sorted key, and in this one {value_text(before)} stands before "
                f"{value_text(after)}; make the structure inside dict_insertion_ordered(False), where leaves come in "
                "JAX's order, or use an OrderedDict, which JAX reads as it stands"
            )


def read_built_in(builder: Builder, cls: type, context: Any, arity: int) -> None:
    if cls is dict or cls is OrderedDict:
        builder.mapping(DICT if cls is dict else ORDEREDDICT, arity, context)
    elif cls is defaultdict:
        factory, keys = context
        builder.mapping(DEFAULTDICT, arity, keys, factory)
    elif cls is deque:
        builder.deque(context, arity)
    elif cls is type(None):
        if builder.none_is_leaf:
            raise Refused("None is a node in JAX, and none_is_leaf=True has none; pass none_is_leaf=False")
        builder.container(NONE, 0, NAMED_BY_INDEX)
    else:
        builder.container(LIST if cls is list else TUPLE, arity, NAMED_BY_INDEX)


def to_jax(caller: str, spec: TreeSpec) -> Any:
    return converted(caller, spec, Jax(caller))


def from_jax(caller: str, treedef: Any, none_is_leaf: bool, namespace: Namespace) -> TreeSpec:
    side = Jax(caller)
    if not isinstance(treedef, side.treedef_class):
        raise PyTreeTypeError(
            f"{caller} expects a PyTreeDef of JAX, got {described(treedef)}; jax.tree.structure() makes one"
        )
    if not exactly(none_is_leaf, bool):
        raise PyTreeTypeError(f"{caller} expects a bool as none_is_leaf, got {described(none_is_leaf)}")
    return rebuilt(Builder(caller, namespace, none_is_leaf), treedef, side.read)
