"""Reading what `torch.utils._pytree.treespec_dumps` writes: `[1, {...}]`, a node inside the other.

PyTorch is not needed for it. Its writer recurses, so its texts are never deep.
"""

from __future__ import annotations

from ._native import DataclassKey, TreeSpec
from .namedtuples import is_namedtuple_class
from .plain_values import Refused, check_keys, count, exactly
from .spec_builder import (
    CUSTOM,
    DATACLASS,
    DEFAULTDICT,
    DEQUE,
    DICT,
    FACTORIES,
    LIST,
    NAMED_BY_INDEX,
    NAMED_BY_PLACE,
    ORDEREDDICT,
    TUPLE,
    Builder,
    loaded,
    names_by_key,
    read_json,
)
from .typing import TYPE_CHECKING
from .wording import described

if TYPE_CHECKING:
    from typing import Any

    from .typing import Namespace

__all__: list[str] = []

PROTOCOL = 1
MEMBERS = {"type", "context", "children_spec"}
MOST_DOTS = 50


def read_torch(document: list[Any], namespace: Namespace) -> TreeSpec:
    """The structure of a document that is a list."""
    builder = Builder("treespec_loads()", namespace, none_is_leaf=True)
    try:
        if len(document) != 2 or not exactly(document[0], int):
            raise Refused("a list is read as [protocol, node], and this is another one")
        if document[0] != PROTOCOL:
            raise Refused(f"PyTorch's protocol {document[0]} is unknown; protocol {PROTOCOL} can be read")
        return builder.build(document[1], read_node)
    except Refused as refusal:
        message = f"treespec_loads() can't read the node {{place}} of PyTorch's text: {refusal}"
        raise builder.place.error(message) from None


def read_node(node: Any, builder: Builder) -> list[Any]:
    """Add one node; what is given back are its children."""
    if not exactly(node, dict) or node.keys() != MEMBERS:
        raise Refused("a node is an object with the members type, context and children_spec, and this is no such thing")
    name, context, children = node["type"], node["context"], node["children_spec"]
    if not exactly(children, list):
        raise Refused(f"children_spec should be a list, got {described(children)}")
    if name is None:
        if context is not None or children:
            raise Refused("a leaf has no context and no children, and this one has")
        builder.leaves(1)
    elif exactly(name, str) and name in READERS:
        READERS[name](builder, context, len(children))
    else:
        read_registered(builder, name, context, len(children))
    nodes: list[Any] = children
    return nodes


# --- containers -------------------------------------------------------------------------------------------------------


def read_list(builder: Builder, context: Any, arity: int) -> None:
    no_context(context)
    builder.container(LIST, arity, NAMED_BY_INDEX)


def read_tuple(builder: Builder, context: Any, arity: int) -> None:
    no_context(context)
    builder.container(TUPLE, arity, NAMED_BY_INDEX)


def read_dict(builder: Builder, context: Any, arity: int) -> None:
    keys = keys_of(decode(context), arity)
    builder.container(DICT, arity, names_by_key(keys), *keys)


def read_ordered_dict(builder: Builder, context: Any, arity: int) -> None:
    keys = keys_of(decode(context), arity)
    builder.container(ORDEREDDICT, arity, names_by_key(keys), *keys)


def read_default_dict(builder: Builder, context: Any, arity: int) -> None:
    members = {"default_factory_module", "default_factory_name", "dict_context"}
    if not exactly(context, dict) or context.keys() != members:
        raise Refused("the context of a defaultdict is an object with its factory and its keys")
    module, name = context["default_factory_module"], context["default_factory_name"]
    if module != "builtins" or not exactly(name, str) or name not in FACTORIES:
        raise Refused(
            f"the factory {described(module)}, {described(name)} is none of those that are read: {', '.join(FACTORIES)}"
        )
    keys = keys_of(context["dict_context"], arity)
    builder.container(DEFAULTDICT, arity, names_by_key(keys), FACTORIES[name], *keys)


def read_deque(builder: Builder, context: Any, arity: int) -> None:
    maxlen = decode(context)
    if maxlen is not None and count(maxlen, "the maxlen of a deque") < arity:
        raise Refused(f"a deque with maxlen={maxlen} can't hold {arity} children")
    builder.container(DEQUE, arity, NAMED_BY_INDEX, maxlen)


def read_namedtuple(builder: Builder, context: Any, arity: int) -> None:
    builder.namedtuple(namedtuple_class(builder, context), arity)


def namedtuple_class(builder: Builder, name: Any) -> Any:
    """The class by its serialized name, else by its module and name where that module is loaded."""
    if not exactly(name, str) or name.count(".") > MOST_DOTS:
        raise Refused(f"the context of a namedtuple is the name of its class, got {described(name)}")
    try:
        cls: Any = builder.find(name).cls
    except Refused:
        parts = name.split(".")
        places = ((".".join(parts[:at]), ".".join(parts[at:])) for at in range(len(parts) - 1, 0, -1))
        cls = next((found for found in (loaded(*place) for place in places) if found is not None), None)
    if not is_namedtuple_class(cls):
        raise Refused(f"no loaded module has a namedtuple class {described(name)}; import its module first")
    return cls


READERS: dict[str, Any] = {
    "builtins.list": read_list,
    "builtins.tuple": read_tuple,
    "builtins.dict": read_dict,
    "collections.OrderedDict": read_ordered_dict,
    "collections.defaultdict": read_default_dict,
    "collections.deque": read_deque,
    "collections.namedtuple": read_namedtuple,
}


# --- registered classes -----------------------------------------------------------------------------------------------


def read_registered(builder: Builder, name: Any, context: Any, arity: int) -> None:
    registration = builder.find(name)
    cls = registration.cls.__qualname__
    if registration.kind == "dataclass":
        check_fields(cls, decode(context), registration.data_fields, registration.meta_fields)
        if arity != len(registration.data_fields):
            raise Refused(f"{cls} has {len(registration.data_fields)} data fields, and the text has {arity} children")
        builder.container(DATACLASS, arity, (DataclassKey, registration.data_fields), registration, ())
        return
    if registration.from_dumpable_context is None:
        value = revived(decode(context), list)
    else:
        value = builder.call_user(registration, "from_dumpable_context", context)
    if registration.kind == "custom":
        builder.container(CUSTOM, arity, NAMED_BY_PLACE, registration, value, None)
    else:
        builder.static(registration, value, arity)


def check_fields(cls: str, context: Any, data: tuple[str, ...], meta: tuple[str, ...]) -> None:
    """The context of a dataclass says which of its fields are children, and which were None."""
    pair = context if exactly(context, list) and len(context) == 2 else [None, None]
    if pair[1]:
        raise Refused(
            f"PyTorch left out the fields of {cls} that were None, which are leaves here; "
            "make the structure anew from the tree"
        )
    if pair != [list(data), []] or meta:
        raise Refused(f"the fields of {cls} are others than when PyTorch made the structure")


# --- contexts ---------------------------------------------------------------------------------------------------------


def decode(context: Any) -> Any:
    """The value of a context that is written as JSON within the JSON."""
    if not exactly(context, str):
        raise Refused(f"its context should be JSON as a text, got {described(context)}")
    try:
        return read_json(context)
    except Refused as refusal:
        raise Refused(f"its context can't be read: {refusal}") from None


def no_context(context: Any) -> None:
    if decode(context) is not None:
        raise Refused("a list or tuple has no context, and this one has")


def keys_of(context: Any, arity: int) -> tuple[Any, ...]:
    if not exactly(context, list) or len(context) != arity:
        raise Refused(f"a dict of {arity} children has a list of {arity} keys, got {described(context)}")
    # No list can be a key: what is written as one was a tuple.
    keys: tuple[Any, ...] = revived(context, tuple)
    check_keys(keys)
    try:
        different = len(dict.fromkeys(keys)) == arity
    except TypeError:
        raise Refused("an object stands where a key should") from None
    if not different:
        raise Refused("the same key is in it twice")
    return keys


def revived(context: Any, sequence: type) -> Any:
    """A context with its Enum members, and with its lists as `sequence`."""
    root = [context]
    waiting: list[tuple[Any, Any]] = [(root, 0)]
    containers: list[tuple[Any, Any]] = []
    while waiting:
        around, key = waiting.pop()
        item = around[key]
        if exactly(item, list, dict):
            containers.append((around, key))
            waiting.extend((item, part) for part in (item if exactly(item, dict) else range(len(item))))
    for around, key in reversed(containers):  # what is inside comes before what is around it
        item = around[key]
        if exactly(item, list):
            around[key] = sequence(item)
        elif item.keys() == {"__enum__", "fqn", "name"}:
            around[key] = enum_member(item["fqn"], item["name"])
    return root[0]


def enum_member(class_name: Any, name: Any) -> Any:
    from enum import EnumMeta

    module, _, qualified_name = class_name.partition(":") if exactly(class_name, str) else ("", "", "")
    cls = loaded(module, qualified_name)
    if not isinstance(cls, EnumMeta):
        raise Refused(f"no loaded module has an Enum {described(class_name)}; import its module first")
    member: Any = cls.__members__.get(name) if exactly(name, str) else None
    if member is None:
        raise Refused(f"{cls.__qualname__} has no member {described(name)}")
    return member
