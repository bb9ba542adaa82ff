"""What reading and writing a structure share: its nodes, where each of them stands, and how they become a TreeSpec."""

from __future__ import annotations

import sys

from ._native import (
    DataclassKey,
    FlattenedIndexKey,
    GetAttrKey,
    MappingKey,
    PyTreeTypeError,
    PyTreeValueError,
    Registration,
    SequenceKey,
    TreeSpec,
    keystr,
    treespec_from_state,
    treespec_state,
)
from .namedtuples import is_namedtuple_class
from .plain_values import Refused, exactly, is_key
from .registration import named, namespaces_with
from .typing import TYPE_CHECKING
from .wording import add_note, described, key_text, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from .typing import Namespace

    # How the children of a container are called: a class of keys, and what each key is made of unless it is the index.
    Names = tuple[Callable[[Any], Any], tuple[Any, ...] | None]

__all__: list[str] = []

# The numbers of the kinds, and the version, in the state of a TreeSpec.
LEAVES, NONE, LIST, TUPLE, DICT, ORDEREDDICT, DEFAULTDICT, DEQUE, NAMEDTUPLE, CUSTOM, DATACLASS, STATIC = range(12)
STATE_VERSION = 1
NODE_FORMAT = "<BI"
SLOTS = {DEQUE: 1, NAMEDTUPLE: 1, CUSTOM: 3, DATACLASS: 2, STATIC: 2}
NAMES = ("leaf", "None", "list", "tuple", "dict", "OrderedDict", "defaultdict", "deque")

FACTORIES: dict[str, type] = {cls.__name__: cls for cls in (list, dict, set, tuple, int, float, str, bool)}


# json recurses in C, and not every Python notices the end of a small thread's stack before it is reached.
DEEPEST_JSON = 1000
CHUNK = 512


def read_json(text: str) -> Any:
    """The value of a JSON text."""
    import json

    if nests_too_deeply(text):
        raise Refused("it is JSON nested too deeply for any structure")
    try:
        return json.loads(text, object_pairs_hook=members_once)
    except RecursionError:
        raise Refused("it is JSON nested too deeply for any structure") from None
    except ValueError as error:
        raise Refused(f"it is not the whole JSON text that was written: {error}") from None


def nests_too_deeply(text: str) -> bool:
    # Without escapes every second part between quotes is a string, whose brackets do not count.
    outside = "".join(text.replace("\\\\", "").replace('\\"', "").split('"')[::2])
    depth = 0
    for start in range(0, len(outside), CHUNK):
        part = outside[start : start + CHUNK]
        opening = part.count("[") + part.count("{")
        if depth + opening > DEEPEST_JSON:
            for char in part:
                depth += (char in "[{") - (char in "]}")
                if depth > DEEPEST_JSON:
                    return True
        else:
            depth += opening - part.count("]") - part.count("}")
    return False


def members_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("an object has two members of one name")
    return members


class Place:
    """Where in a structure the next node stands."""

    def __init__(self) -> None:
        self.complete = False
        # Of each open container, outermost first: how its children are called, how many there are, how many are done.
        # Three lists rather than one of records: a deep structure gives the garbage collector nothing to go through.
        self.names: list[Names] = []
        self.arities: list[int] = []
        self.done: list[int] = []

    def enter(self, arity: int, names: Names) -> None:
        """Go on to the children of the container that stands here."""
        if arity:
            self.names.append(names)
            self.arities.append(arity)
            self.done.append(0)
        else:
            self.step(1)

    def step(self, count: int) -> None:
        """Leave behind as many neighbouring children, and every container whose last child is behind."""
        while self.done:
            self.done[-1] += count
            if self.done[-1] < self.arities[-1]:
                return
            self.names.pop()
            self.arities.pop()
            self.done.pop()
            count = 1
        self.complete = True

    def missing(self) -> int:
        """How many children of the innermost container are still to come."""
        if self.done:
            return self.arities[-1] - self.done[-1]
        return 0 if self.complete else 1

    def path(self) -> list[Any]:
        """The keys that lead here."""
        pairs = zip(self.names, self.done, strict=True)
        return [key(index if entries is None else entries[index]) for (key, entries), index in pairs]

    def error(self, message: str) -> PyTreeValueError:
        """The error whose message has this place where it says `{place}`."""
        path = self.path()
        error = PyTreeValueError(message.replace("{place}", place(path), 1))
        error.path = "".join(map(whole_text, path))
        return error


def whole_text(key: Any) -> str:
    try:
        return keystr((key,))
    except Exception:  # the repr of a user's object, or of a number of 5,000 digits
        return key_text(key)


def key_of_entry(entry: Any) -> Any:
    """The key that the entry of a custom node stands for."""
    if is_key(entry):
        return entry
    if exactly(entry, str) and entry.isidentifier():
        return GetAttrKey(entry)
    return SequenceKey(entry) if exactly(entry, int) and entry >= 0 else MappingKey(entry)


def key_of_field(name: Any) -> Any:
    """The key of a field of a namedtuple. A class that was made by hand may have names that no attribute has."""
    return GetAttrKey(name) if name.isidentifier() else MappingKey(name)


NAMED_BY_INDEX: Names = (SequenceKey, None)
NAMED_BY_PLACE: Names = (FlattenedIndexKey, None)


def names_by_key(keys: tuple[Any, ...]) -> Names:
    return MappingKey, keys


def names_of_entries(entries: tuple[Any, ...] | None) -> Names:
    return NAMED_BY_PLACE if entries is None else (key_of_entry, entries)


class Node:
    """A container of a structure: the number of its kind, how many children it has, what its slots hold.

    `order` is there for a dict that was flattened by sorted key: for each key in the order of insertion, its place
    among the sorted ones.
    """

    __slots__ = ("arity", "kind", "order", "slots")

    def __init__(self, kind: int, arity: int, slots: tuple[Any, ...], order: list[int] | None) -> None:
        self.kind, self.arity, self.slots, self.order = kind, arity, slots, order

    @property
    def keys(self) -> tuple[Any, ...]:
        """The keys of a dict of any kind."""
        return self.slots[1:] if self.kind == DEFAULTDICT else self.slots

    def name(self) -> str:
        """What it is called in a message."""
        if self.kind < NAMEDTUPLE:
            return NAMES[self.kind]
        name: str = (self.slots[0] if self.kind == NAMEDTUPLE else self.slots[0].cls).__qualname__
        return name

    def names(self) -> Names:
        """How its children are called."""
        if self.kind in (DICT, ORDEREDDICT, DEFAULTDICT):
            return names_by_key(self.keys)
        if self.kind == NAMEDTUPLE:
            return key_of_field, self.slots[0]._fields
        if self.kind == CUSTOM:
            return names_of_entries(self.slots[2])
        return (DataclassKey, self.slots[0].data_fields) if self.kind == DATACLASS else NAMED_BY_INDEX


class Leaves:
    """A number of leaves that are neighbours in one container."""

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count


def nodes_of(spec: TreeSpec) -> Iterator[Node | Leaves]:
    """The nodes of a structure in the order of a walk."""
    from struct import iter_unpack

    _, _, nodes, slots, orders = treespec_state(spec)
    order_of: dict[int, list[int]] = dict(orders)
    at = 0
    for number, (kind, arity) in enumerate(iter_unpack(NODE_FORMAT, nodes)):
        if kind == LEAVES:
            yield Leaves(arity)
        else:
            end = at + how_many_slots(kind, arity)
            yield Node(kind, arity, slots[at:end], order_of.get(number))
            at = end


def how_many_slots(kind: int, arity: int) -> int:
    if kind in (DICT, ORDEREDDICT, DEFAULTDICT):
        return arity + (kind == DEFAULTDICT)
    return SLOTS.get(kind, 0)


class Builder:
    """Takes the nodes of a structure in the order of a walk; `caller` is the function that its errors name."""

    def __init__(self, caller: str, namespace: Namespace, none_is_leaf: bool) -> None:
        self.caller, self.namespace = caller, namespace
        self.searched = searched_namespaces(caller, namespace)
        self.none_is_leaf = none_is_leaf
        self.place = Place()
        self.kinds: list[int] = []
        self.arities: list[int] = []
        self.slots: list[Any] = []
        self.orders: list[tuple[int, list[int]]] = []
        self.known_keys: set[tuple[str, ...]] = set()  # of dicts: many small ones have the same
        self.in_run = False

    def leaves(self, count: int) -> None:
        """Add leaves; neighbours in one container become one run, however they are written."""
        missing = self.place.missing()
        if not 0 < count <= missing:
            raise Refused(f"{count} leaves stand where at least one and at most {missing} can")
        if self.in_run:
            self.arities[-1] += count
        else:
            self.kinds.append(LEAVES)
            self.arities.append(count)
        self.in_run = count < missing
        self.place.step(count)

    def container(self, kind: int, arity: int, names: Names, *slots: Any, order: list[int] | None = None) -> None:
        if self.place.complete:
            raise Refused("the structure is complete, and this node is left over")
        if order is not None:
            self.orders.append((len(self.kinds), order))
        self.kinds.append(kind)
        self.arities.append(arity)
        self.slots.extend(slots)
        self.in_run = False
        self.place.enter(arity, names)

    def mapping(self, kind: int, arity: int, keys: Any, *factory: Any, order: list[int] | None = None) -> None:
        """Add a dict of any kind with the keys that another library has for it."""
        if not exactly(keys, list, tuple):
            raise Refused(f"its keys should be a list, got {described(keys)}")
        if len(keys) != arity:
            raise Refused(f"it has {arity} children and {len(keys)} keys")
        self.container(kind, arity, names_by_key(tuple(keys)), *factory, *keys, order=order)

    def deque(self, maxlen: Any, arity: int) -> None:
        if maxlen is not None and (not exactly(maxlen, int) or not arity <= maxlen <= sys.maxsize):
            raise Refused(f"it should have no maxlen or one from {arity} on, got {described(maxlen)}")
        self.container(DEQUE, arity, NAMED_BY_INDEX, maxlen)

    def namedtuple(self, cls: Any, arity: int) -> None:
        if not is_namedtuple_class(cls):
            raise Refused(f"{described(cls)} stands for a namedtuple class, and its _fields is no tuple of names")
        fields: tuple[str, ...] = cls._fields
        if len(fields) != arity:
            raise Refused(f"{cls.__qualname__} has {len(fields)} fields, and here it has {arity} children")
        self.container(NAMEDTUPLE, arity, (key_of_field, fields), cls)

    def static(self, registration: Registration, value: Any, arity: int = 0) -> None:
        name = registration.cls.__qualname__
        if arity:
            raise Refused(f"{name} is registered as static, so it has no children, and here it has {arity}")
        if type(value) is not registration.cls:
            raise Refused(f"it should be an instance of {name}, got {described(value)}")
        self.container(STATIC, 0, NAMED_BY_INDEX, registration, value)

    def build(self, root: Any, read: Callable[[Any, Builder], Sequence[Any]]) -> TreeSpec:
        """The structure of a tree of another making: `read` adds one node of it and gives back its children.

        Among those, leaves can be put together as Leaves.
        """
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, Leaves):
                self.leaves(node.count)
            else:
                waiting.extend(reversed(read(node, self)))
        return self.finish()

    def finish(self) -> TreeSpec:
        from struct import Struct

        if not self.place.complete:
            missing = self.place.missing()
            raise Refused(f"the text ends here, and {missing} more node{'s' if missing > 1 else ''} should follow")
        nodes = b"".join(map(Struct(NODE_FORMAT).pack, self.kinds, self.arities))
        try:
            return treespec_from_state((STATE_VERSION, self.none_is_leaf, nodes, tuple(self.slots), self.orders))
        except ValueError as error:
            raise Refused(str(error)) from None

    def find(self, name: Any, own_namespace: Any = "") -> Registration:
        """The registration that a serialized name stands for, rather one of the namespace it was written with."""
        if not exactly(name, str) or not exactly(own_namespace, str):
            raise Refused("the name of a class or of a namespace is no str")
        first = (own_namespace,) if own_namespace in self.searched else ()
        for namespace in (*first, *self.searched):
            found = named(name, namespace)
            if found is not None:
                return found
        others = namespaces_with(name)
        if others:
            way_out = f"it is in the namespace {others[0]!r}: pass namespace={others[0]!r}"
        else:
            way_out = "import the module that registers it first, or register it with this serialized_type_name"
        raise Refused(f"no class is registered under the name {described(name)}; {way_out}")

    def call_user(self, registration: Registration, function: str, value: Any) -> Any:
        return call_user(self.place.path, registration, function, value)


def call_user(path: Callable[[], list[Any]], registration: Registration, function: str, value: Any) -> Any:
    """Call a context function of a registration; an exception of it says where."""
    try:
        return getattr(registration, function)(value)
    except Exception as error:
        name = registration.cls.__qualname__
        add_note(error, f"clika_pytree: raised by {function} of {name} {place(path())}")
        raise


def searched_namespaces(caller: str, namespace: Any) -> tuple[str, ...]:
    """The namespaces in the order in which a class is looked for in them."""
    names: tuple[Any, ...] = namespace if exactly(namespace, tuple) else (namespace,)
    for name in names:
        if not isinstance(name, str):
            raise PyTreeTypeError(f"{caller} expects a str or a tuple of str as namespace, got {described(name)}")
    return (*names, "")


def loaded(module: str, qualified_name: str) -> Any:
    """What a loaded module has under this name, else None. Nothing is imported, and no module's code runs."""
    holder = sys.modules.get(module)
    found: Any = None
    # A lazy module imports on attribute access, so its dict is read past it.
    names: Any = object.__getattribute__(holder, "__dict__") if isinstance(holder, type(sys)) else {}
    for part in qualified_name.split("."):
        found = names.get(part)
        names = vars(found) if isinstance(found, type) else {}
    return found
