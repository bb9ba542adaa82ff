"""The nodes of our own JSON document.

The document has its version, whether None is a leaf, and one flat list of nodes in the order of a walk. A node is a
text of one star for each of several neighbouring leaves, null for a None node, or an object with a member that is its
kind. So no depth is a depth of the JSON, and a text can't be much smaller than what it describes.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

from ._native import DataclassKey, Registration, TreeSpec
from .namedtuples import is_namedtuple_class
from .plain_values import (
    Refused,
    are_texts,
    check_keys,
    count,
    exactly,
    read_entries,
    read_keys,
    read_one,
    write,
    write_entries,
)
from .spec_builder import (
    CUSTOM,
    DATACLASS,
    DEFAULTDICT,
    DEQUE,
    DICT,
    FACTORIES,
    LIST,
    NAMED_BY_INDEX,
    NAMEDTUPLE,
    NONE,
    ORDEREDDICT,
    TUPLE,
    Builder,
    Leaves,
    Node,
    Place,
    call_user,
    loaded,
    names_by_key,
    names_of_entries,
    nodes_of,
)
from .typing import TYPE_CHECKING
from .wording import described

if TYPE_CHECKING:
    from collections.abc import Callable, Set
    from typing import Any

__all__: list[str] = []

# --- writing ----------------------------------------------------------------------------------------------------------


def written_nodes(spec: TreeSpec, caller: str) -> list[Any]:
    """The list of nodes of a structure."""
    items: list[Any] = []
    # The items of dicts by their keys, where these are texts: many small dicts have the same.
    known: dict[tuple[Any, ...], dict[str, Any]] = {}
    for number, node in enumerate(nodes_of(spec)):
        if isinstance(node, Leaves):
            items.append("*" * node.count)
            continue
        shares = node.kind == DICT and node.order is None and are_texts(node.slots)
        item = known.get(node.slots) if shares else None
        if item is None:
            try:
                item = written_node(partial(path_of, spec, number), node)
            except Refused as refusal:
                message = f"{caller} can't write the {node.name()} {{place}}: {refusal}"
                raise place_of(spec, number).error(message) from None
            if node.order is not None:
                item["order"] = node.order
            if shares:
                known[node.slots] = item
        items.append(item)
    return items


def place_of(spec: TreeSpec, number: int) -> Place:
    """The place of a node in a structure."""
    place = Place()
    for node in islice(nodes_of(spec), number):
        if isinstance(node, Leaves):
            place.step(node.count)
        else:
            place.enter(node.arity, node.names())
    return place


def path_of(spec: TreeSpec, number: int) -> list[Any]:
    return place_of(spec, number).path()


def written_node(path: Callable[[], list[Any]], node: Node) -> Any:
    """The item of a node."""
    kind, slots = node.kind, node.slots
    if kind == NONE:
        return None
    if kind in (LIST, TUPLE):
        return {"list" if kind == LIST else "tuple": node.arity}
    if kind in (DICT, ORDEREDDICT):
        return {"dict" if kind == DICT else "ordereddict": written_keys(slots)}
    if kind == DEFAULTDICT:
        return {"defaultdict": written_keys(node.keys), "factory": written_factory(slots[0])}
    if kind == DEQUE:
        return {"deque": node.arity, "maxlen": slots[0]}
    if kind == NAMEDTUPLE:
        return written_namedtuple(slots[0])
    registration: Registration = slots[0]
    item = written_class(path, registration, slots[1])
    if kind == CUSTOM:
        item["children"] = node.arity
        if slots[2] is not None:
            try:
                item["entries"] = write_entries(slots[2])
            except Refused as refusal:
                raise Refused(f"its entries are more than plain values: {refusal}") from None
    elif kind == DATACLASS:
        item["fields"], item["meta"] = list(registration.data_fields), list(registration.meta_fields)
    return item


def written_keys(keys: Any) -> list[Any]:
    try:
        check_keys(keys)
        return write(keys)
    except Refused as refusal:
        raise Refused(
            f"its keys are more than plain values: {refusal}; use str, numbers, bytes, None or tuples of those as keys"
        ) from None


def written_factory(factory: Any) -> str | None:
    if factory is None:
        return None
    name: Any = getattr(factory, "__name__", None)
    if not exactly(name, str) or FACTORIES.get(name) is not factory:
        raise Refused(f"its factory is {described(factory)}, and only {', '.join(FACTORIES)} and None can be written")
    found: str = name
    return found


def written_namedtuple(cls: Any) -> dict[str, Any]:
    module, name = cls.__module__, cls.__qualname__
    if not exactly(module, str) or loaded(module, name) is not cls:
        raise Refused(
            f"the class is not what its module {described(module)} has under this name, so it would not be found "
            "again; define it at the top of a module"
        )
    return {"namedtuple": name, "module": module, "fields": list(cls._fields)}


def written_class(path: Callable[[], list[Any]], registration: Registration, context: Any) -> dict[str, Any]:
    """What all registered classes have: kind and name, namespace, context."""
    name = registration.serialized_type_name
    if name is None:
        raise Refused(
            "the class has no serialized_type_name; register it with one that is unique and does not change, "
            f'such as serialized_type_name="mylib.{registration.cls.__name__}"'
        )
    item: dict[str, Any] = {registration.kind: name}
    if registration.namespace:
        item["namespace"] = registration.namespace
    if registration.to_dumpable_context is not None:
        dumped = call_user(path, registration, "to_dumpable_context", context)
        try:
            item["dumped"] = write((dumped,))
        except Refused as refusal:
            raise Refused(f"what to_dumpable_context returns is more than plain values: {refusal}") from None
        return item
    try:
        item["context"] = write((context,))
    except Refused as refusal:
        raise Refused(
            f"its context is more than plain values: {refusal}; "
            "register the class with to_dumpable_context and from_dumpable_context"
        ) from None
    return item


# --- reading ----------------------------------------------------------------------------------------------------------


def read_node(builder: Builder, item: Any) -> None:
    """Add what an item of the list of nodes stands for."""
    if exactly(item, str):
        if item.count("*") != len(item):
            raise Refused(f"a text stands for leaves, one star for each, got {described(item)}")
        builder.leaves(len(item))
    elif item is None:
        if builder.none_is_leaf:
            raise Refused("None is a leaf in this structure, and here it is a node")
        builder.container(NONE, 0, NAMED_BY_INDEX)
    elif exactly(item, dict):
        kinds = [kind for kind in item if kind in READERS] if len(item) > 1 else [*item]
        if len(kinds) != 1 or kinds[0] not in READERS:
            raise Refused(
                f"a node has one member that says its kind ({', '.join(READERS)}), got the members "
                f"{described(', '.join(item))}"
            )
        READERS[kinds[0]](builder, item)
    else:
        raise Refused(f"a node is an object, null or a text of stars, got {described(item)}")


def check_members(item: dict[str, Any], needed: Set[str], possible: Set[str] = frozenset()) -> None:
    if item.keys() != needed and not needed <= item.keys() <= needed | possible:
        raise Refused(f"its members should be {', '.join(sorted(needed))}, got {described(', '.join(sorted(item)))}")


def read_list(builder: Builder, item: dict[str, Any]) -> None:
    check_members(item, {"list"})
    arity = count(item["list"], "the number of children")
    builder.container(LIST, arity, NAMED_BY_INDEX)


def read_tuple(builder: Builder, item: dict[str, Any]) -> None:
    check_members(item, {"tuple"})
    arity = count(item["tuple"], "the number of children")
    builder.container(TUPLE, arity, NAMED_BY_INDEX)


def read_dict(builder: Builder, item: dict[str, Any]) -> None:
    if len(item) > 1:
        check_members(item, {"dict"}, {"order"})
    keys = read_keys(item["dict"], builder.known_keys)
    builder.container(DICT, len(keys), names_by_key(keys), *keys, order=read_order(item, len(keys)))


def read_ordered_dict(builder: Builder, item: dict[str, Any]) -> None:
    check_members(item, {"ordereddict"})
    keys = read_keys(item["ordereddict"])
    builder.container(ORDEREDDICT, len(keys), names_by_key(keys), *keys)


def read_default_dict(builder: Builder, item: dict[str, Any]) -> None:
    check_members(item, {"defaultdict", "factory"}, {"order"})
    keys, name = read_keys(item["defaultdict"]), item["factory"]
    if name is not None and (not exactly(name, str) or name not in FACTORIES):
        raise Refused(f"its factory should be null or one of {', '.join(FACTORIES)}, got {described(name)}")
    factory = None if name is None else FACTORIES[name]
    order = read_order(item, len(keys))
    builder.container(DEFAULTDICT, len(keys), names_by_key(keys), factory, *keys, order=order)


def read_order(item: dict[str, Any], arity: int) -> list[int] | None:
    """For each key in the order of insertion, its place among the sorted ones."""
    if "order" not in item:
        return None
    order: Any = item["order"]
    if not exactly(order, list) or any(not exactly(place, int) for place in order) or sorted(order) != [*range(arity)]:
        raise Refused(f"its order should be the numbers from 0 to {arity - 1} in some order")
    checked: list[int] = order
    return checked


def read_deque(builder: Builder, item: dict[str, Any]) -> None:
    check_members(item, {"deque", "maxlen"})
    builder.deque(item["maxlen"], count(item["deque"], "the number of children"))


def read_namedtuple(builder: Builder, item: dict[str, Any]) -> None:
    check_members(item, {"namedtuple", "module", "fields"})
    name, module = item["namedtuple"], item["module"]
    if not exactly(name, str) or not exactly(module, str):
        raise Refused("the name of a class or of a module is no str")
    cls = loaded(module, name)
    if not is_namedtuple_class(cls):
        raise Refused(
            f"no loaded module {described(module)} has a namedtuple class {described(name)}; import the module first"
        )
    check_fields(cls, item["fields"], cls._fields)
    builder.namedtuple(cls, len(cls._fields))


def check_fields(cls: type, written: Any, fields: tuple[str, ...]) -> None:
    if written != list(fields):
        names = ", ".join(name for name in written if exactly(name, str)) if exactly(written, list) else written
        raise Refused(
            f"the fields of {cls.__qualname__} are others than when the text was written: "
            f"{described(', '.join(fields))} now, {described(names)} then"
        )


def read_class(builder: Builder, item: dict[str, Any], kind: str, members: set[str], possible: set[str]) -> Any:
    """The registration of a node, and its context."""
    context = "dumped" if "dumped" in item else "context"
    check_members(item, {kind, context, *members}, {"namespace", *possible})
    registration = builder.find(item[kind], item.get("namespace", ""))
    cls = registration.cls.__qualname__
    if registration.kind != kind:
        raise Refused(f"{cls} was a {kind} node when the text was written and is a {registration.kind} node now")
    value = read_one(item[context], "its context")
    if context == "dumped":
        if registration.from_dumpable_context is None:
            raise Refused(f"{cls} was written with to_dumpable_context; register it with from_dumpable_context again")
        value = builder.call_user(registration, "from_dumpable_context", value)
    return registration, value


def read_custom(builder: Builder, item: dict[str, Any]) -> None:
    registration, context = read_class(builder, item, "custom", {"children"}, {"entries"})
    arity, entries = count(item["children"], "the number of children"), None
    if "entries" in item:
        entries = tuple(read_entries(item["entries"], "its list of entries"))
        if len(entries) != arity:
            raise Refused(f"it has {len(entries)} entries for {arity} children")
    builder.container(CUSTOM, arity, names_of_entries(entries), registration, context, entries)


def read_dataclass(builder: Builder, item: dict[str, Any]) -> None:
    registration, values = read_class(builder, item, "dataclass", {"fields", "meta"}, set())
    fields = registration.data_fields
    check_fields(registration.cls, item["fields"], fields)
    check_fields(registration.cls, item["meta"], registration.meta_fields)
    if not exactly(values, tuple) or len(values) != len(registration.meta_fields):
        raise Refused(f"the context of {registration.cls.__qualname__} should be the tuple of its meta values")
    builder.container(DATACLASS, len(fields), (DataclassKey, fields), registration, values)


def read_static(builder: Builder, item: dict[str, Any]) -> None:
    registration, value = read_class(builder, item, "static", set(), set())
    builder.static(registration, value)


READERS: dict[str, Any] = {
    "list": read_list,
    "tuple": read_tuple,
    "dict": read_dict,
    "ordereddict": read_ordered_dict,
    "defaultdict": read_default_dict,
    "deque": read_deque,
    "namedtuple": read_namedtuple,
    "custom": read_custom,
    "dataclass": read_dataclass,
    "static": read_static,
}
