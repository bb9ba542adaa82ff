"""Structures of PyTorch: the TreeSpecs of `torch.utils._pytree`.

PyTorch takes None for a leaf and reads dicts in insertion order, as is done here. A TreeSpec of it is a Python object
with a type, a context and the list of its children's TreeSpecs.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple

from clika_pytree._native import PyTreeTypeError, lookup
from clika_pytree.namedtuples import is_namedtuple_class
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
from clika_pytree.torch_json import check_fields
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, described

from .classes import Theirs, add_registered, as_adopted, field_names, maker_of, their_context, theirs_of_mirrored
from .walks import converted, imported, rebuilt, with_runs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from clika_pytree._native import TreeSpec
    from clika_pytree.spec_builder import Node
    from clika_pytree.typing import Namespace

__all__: list[str] = []

KINDS = {"register_dataclass": "dataclass", "register_constant": "static"}


class Torch:
    """The side of PyTorch."""

    def __init__(self, caller: str) -> None:
        self.pytree = imported(caller, "torch.utils._pytree", "PyTorch")
        # Older releases have no function for leaves, and none has static classes.
        make_leaf = getattr(self.pytree, "treespec_leaf", None) or self.pytree.LeafSpec
        self.leaf: Any = make_leaf()
        self.constant: Any = getattr(self.pytree, "ConstantNode", ())

    # --- from ours to PyTorch's

    def leaves(self, count: int) -> list[Any]:
        return [self.leaf] * count

    def facts(self, node: Node) -> tuple[Any, Any]:
        """The type and the context of PyTorch's TreeSpec."""
        kind, slots = node.kind, node.slots
        if kind in (LIST, TUPLE):
            return (list if kind == LIST else tuple), None
        if kind in (DICT, ORDEREDDICT):
            return (dict if kind == DICT else OrderedDict), list(slots)
        if kind == DEFAULTDICT:
            return defaultdict, [slots[0], list(node.keys)]
        if kind == DEQUE:
            return deque, slots[0]
        if kind == NAMEDTUPLE:
            return namedtuple, slots[0]
        if kind == NONE:
            raise Refused("None is no node in PyTorch; make the structure with none_is_leaf=True")
        return self.registered_facts(slots[0].cls, node)

    def registered_facts(self, cls: Any, node: Node) -> tuple[type, Any]:
        if is_namedtuple_class(cls):
            raise Refused("it is a namedtuple class that is registered, and PyTorch takes no notice of that")
        theirs = self.theirs(cls)
        if theirs is None:
            raise Refused(
                "the class is not registered with PyTorch; register it there with the same children and context "
                "(torch.utils._pytree.register_pytree_node, register_dataclass or register_constant)"
            )
        theirs = as_adopted(theirs, node.slots[0])
        context = their_context(node.slots[0], node.slots[1], theirs)
        if theirs.is_mirrored:
            return cls, context
        if theirs.kind == "dataclass":
            return cls, [list(theirs.data_fields), []]
        return cls, self.constant(context) if theirs.kind == "static" else context

    def node(self, facts: tuple[Any, Any], children: list[Any]) -> Any:
        return self.pytree.TreeSpec(*facts, children)

    def theirs(self, cls: Any) -> Theirs | None:
        """How PyTorch registers a class."""
        entry = self.pytree.SUPPORTED_NODES.get(cls)
        if entry is None:
            return None
        ours = theirs_of_mirrored("PyTorch", entry.flatten_fn)
        if ours is not None:
            return ours
        kind = KINDS.get(maker_of(entry.flatten_fn, self.pytree.__name__), "custom")
        data = field_names(entry.flatten_fn)[0] if kind == "dataclass" else ()
        return Theirs("PyTorch", kind, data)

    # --- from PyTorch's to ours

    def read(self, treespec: Any, builder: Builder) -> Sequence[Any]:
        """Add one node; what is given back are its children."""
        cls, context = treespec.type, treespec.context
        if cls is None:
            builder.leaves(1)
            return ()
        # The children are an attribute in older releases.
        children: list[Any] = treespec.children() if hasattr(treespec, "children") else treespec.children_specs
        arity = len(children)
        if cls in (list, tuple):
            builder.container(LIST if cls is list else TUPLE, arity, NAMED_BY_INDEX)
        elif cls in (dict, OrderedDict):
            builder.mapping(DICT if cls is dict else ORDEREDDICT, arity, context)
        elif cls is defaultdict:
            if not exactly(context, list, tuple) or len(context) != 2:
                raise Refused(f"its context should be its factory and its keys, got {described(context)}")
            builder.mapping(DEFAULTDICT, arity, context[1], context[0])
        elif cls is deque:
            builder.deque(context, arity)
        elif cls is namedtuple:
            builder.namedtuple(context, arity)
        else:
            self.read_registered(builder, cls, context, arity)
        return with_runs(children, is_leaf)

    def read_registered(self, builder: Builder, cls: type, context: Any, arity: int) -> None:
        theirs = self.theirs(cls)
        if theirs is None:
            raise Refused(f"{cls.__qualname__} is registered with PyTorch no longer")
        theirs = as_adopted(theirs, lookup(cls, builder.namespace))
        if theirs.is_mirrored:
            pass
        elif theirs.kind == "dataclass":
            check_fields(cls.__qualname__, context, theirs.data_fields, ())
            context = {}
        elif isinstance(context, self.constant):
            context = context.value
        add_registered(builder, cls, theirs, context, arity)


def is_leaf(treespec: Any) -> bool:
    return treespec.type is None


def to_torch(caller: str, spec: TreeSpec) -> Any:
    return converted(caller, spec, Torch(caller))


def from_torch(caller: str, treespec: Any, namespace: Namespace) -> TreeSpec:
    side = Torch(caller)
    if not isinstance(treespec, side.pytree.TreeSpec):
        way_out = "torch.utils._pytree.tree_structure() makes one"
        if class_of(treespec).__module__.partition(".")[0] == "optree":
            way_out = "one of torch.utils._cxx_pytree is optree's: treespec_from_optree() takes it"
        raise PyTreeTypeError(f"{caller} expects a TreeSpec of PyTorch, got {described(treespec)}; {way_out}")
    return rebuilt(Builder(caller, namespace, none_is_leaf=True), treespec, side.read)
