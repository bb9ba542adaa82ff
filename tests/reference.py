"""A slow, recursive, pure-Python model of trees and their structures, to compare the library with.

It shares no code with the library. A structure is a tree of plain `Node` objects; two structures are the same
when their `structure_key`, a nest of tuples, is the same. Nothing here is meant for deep or large trees.
"""

from __future__ import annotations

import dataclasses
import enum
import itertools
import struct
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

from plain_texts import is_plain, written

NoneType = type(None)


class Disordered(Exception):
    """Keys without an order; `path` says where the dict stands."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Mismatch(Exception):
    """A tree that does not have the structure asked for; `path` says where they part."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


@dataclasses.dataclass(frozen=True, eq=False)
class Rule:
    """What was said about a class when it was registered."""

    kind: str
    cls: type
    namespace: str = ""
    flatten: Callable[[Any], tuple] | None = None
    unflatten: Callable[[tuple, Any], Any] | None = None
    data_fields: tuple[str, ...] = ()
    meta_fields: tuple[str, ...] = ()


@dataclasses.dataclass(eq=False)
class Node:
    kind: str
    type: type | None = None
    rule: Rule | None = None
    context: Any = None
    entries: tuple = ()
    children: tuple[Node, ...] = ()
    order: tuple | None = None  # the keys as the dict had them, for rebuilding
    texts: tuple[str, ...] = ()  # how each entry prints in a key path
    stopped: bool = False  # a leaf only because is_leaf said so


@dataclasses.dataclass(eq=False)
class Spec:
    root: Node
    none_is_leaf: bool = True


@dataclasses.dataclass(frozen=True)
class Mode:
    """How a tree is read."""

    is_leaf: Callable[[Any], Any] | None = None
    none_is_leaf: bool = True
    namespace: str | tuple[str, ...] = ""
    sort: bool = False


RULES: dict[tuple[str, type], Rule] = {}
SEQUENCES = {list: "list", tuple: "tuple", deque: "deque"}
MAPPINGS = {dict: "dict", OrderedDict: "ordereddict", defaultdict: "defaultdict"}


def find_rule(cls: type, namespace: str | tuple[str, ...]) -> Rule | None:
    names = (namespace,) if isinstance(namespace, str) else namespace
    for name in (*names, ""):
        if (name, cls) in RULES:
            return RULES[name, cls]
    return None


def is_namedtuple_class(cls: type) -> bool:
    fields = getattr(cls, "_fields", None)
    return issubclass(cls, tuple) and type(fields) is tuple and all(isinstance(name, str) for name in fields)


# --- reading one object -------------------------------------------------------------------------------------------


def open_node(obj: Any, mode: Mode, path: str = "") -> tuple[Node, list] | None:
    """The node that `obj` is, still without children, and the objects below it; None where it is a leaf."""
    cls = type(obj)
    if obj is None:
        return None if mode.none_is_leaf else (Node("none", NoneType), [])
    rule = find_rule(cls, mode.namespace)
    if rule is not None:
        return open_registered(obj, rule)
    if cls in SEQUENCES:
        children = list(obj)
        entries = tuple(range(len(children)))
        context = obj.maxlen if cls is deque else None
        return Node(SEQUENCES[cls], cls, None, context, entries, texts=tuple(f"[{i}]" for i in entries)), children
    if cls in MAPPINGS:
        return open_mapping(obj, mode, path)
    if is_namedtuple_class(cls):
        return Node("namedtuple", cls, entries=cls._fields, texts=tuple(f".{n}" for n in cls._fields)), list(obj)
    return None


def open_mapping(obj: Any, mode: Mode, path: str) -> tuple[Node, list]:
    cls = type(obj)
    order = tuple(obj)
    keys = tuple(sorted_keys(order, path)) if mode.sort and cls is not OrderedDict else order
    context = (obj.default_factory, keys) if cls is defaultdict else keys
    texts = tuple(key_text(key) for key in keys)
    return Node(MAPPINGS[cls], cls, None, context, keys, order=order, texts=texts), [obj[key] for key in keys]


def open_registered(obj: Any, rule: Rule) -> tuple[Node, list]:
    cls = type(obj)
    if rule.kind == "static":
        return Node("static", cls, rule, snapshot(obj)), []
    if rule.kind == "dataclass":
        context = snapshot(tuple(getattr(obj, name) for name in rule.meta_fields))
        node = Node("dataclass", cls, rule, context, rule.data_fields, texts=tuple(f".{n}" for n in rule.data_fields))
        return node, [getattr(obj, name) for name in rule.data_fields]
    assert rule.flatten is not None
    children, context, *rest = rule.flatten(obj)
    children = list(children)
    if rest:
        entries = tuple(rest[0])
        texts = tuple(entry_text(entry) for entry in entries)
    else:
        entries = tuple(range(len(children)))
        texts = tuple(f"[<flat index {i}>]" for i in entries)
    return Node("custom", cls, rule, snapshot(context), entries, texts=texts), children


def entry_text(entry: Any) -> str:
    return f".{entry}" if isinstance(entry, str) and entry.isidentifier() else key_text(entry)


def key_text(key: Any) -> str:
    return f"[{written(key)}]" if is_plain(key) else f"[<{type(key).__name__} {key!r}>]"


def snapshot(value: Any) -> Any:
    """A copy that later changes of lists, dicts and sets do not reach."""
    if type(value) in (list, tuple, set):
        return type(value)(snapshot(item) for item in value)
    if type(value) is dict:
        return {key: snapshot(item) for key, item in value.items()}
    return value


# --- keys under dict_insertion_ordered(False) -----------------------------------------------------------------------


class Ranked:
    """A key that compares by the rules: members of one Enum by their place in it, everything else by its own `<`."""

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: Ranked) -> bool:
        a, b = self.key, other.key
        if isinstance(a, enum.Enum) and type(a) is type(b):
            members = list(type(a))
            return members.index(a) < members.index(b)
        return bool(a < b)


def sorted_keys(keys: Iterable, path: str = "") -> list:
    def type_name(key: Any) -> str:
        return f"{type(key).__module__}.{type(key).__qualname__}"

    ranked = [Ranked(key) for key in keys]
    by_type = False
    try:
        ranked.sort()
    except TypeError:
        by_type = True
        try:
            ranked.sort(key=lambda item: (type_name(item.key), item))
        except TypeError:
            raise Disordered(path) from None
    for a, b in itertools.pairwise(ranked):
        if by_type and type_name(a.key) != type_name(b.key):
            continue
        if not a < b:
            raise Disordered(path)
    return [item.key for item in ranked]


# --- flatten and rebuild ---------------------------------------------------------------------------------------------


def flatten(tree: Any, mode: Mode = Mode()) -> tuple[list, Spec]:
    leaves: list = []

    def walk(obj: Any, path: str) -> Node:
        if mode.is_leaf is not None and mode.is_leaf(obj):
            leaves.append(obj)
            return Node("leaf", stopped=open_node(obj, dataclasses.replace(mode, sort=False)) is not None)
        opened = open_node(obj, mode, path)
        if opened is None:
            leaves.append(obj)
            return Node("leaf")
        node, children = opened
        node.children = tuple(walk(child, path + text) for child, text in zip(children, node.texts, strict=True))
        return node

    return leaves, Spec(walk(tree, ""), mode.none_is_leaf)


def unflatten(spec: Spec, leaves: Iterable) -> Any:
    source = iter(leaves)

    def build(node: Node) -> Any:
        if node.kind == "leaf":
            return next(source)
        return rebuild(node, [build(child) for child in node.children])

    tree = build(spec.root)
    assert next(source, source) is source, "leaves are left over"
    return tree


def rebuild(node: Node, children: list) -> Any:
    if node.kind == "none":
        return None
    if node.kind in ("list", "tuple"):
        return node.type(children)
    if node.kind == "deque":
        return deque(children, node.context)
    if node.kind == "namedtuple":
        return tuple.__new__(node.type, children)
    if node.kind in MAPPINGS.values():
        values = dict(zip(node.entries, children, strict=True))
        pairs = [(key, values[key]) for key in node.order]
        return defaultdict(node.context[0], pairs) if node.kind == "defaultdict" else node.type(pairs)
    if node.kind == "static":
        return node.context
    context = snapshot(node.context)
    if node.kind == "custom":
        return node.rule.unflatten(tuple(children), context)
    obj = object.__new__(node.type)
    values = zip((*node.rule.data_fields, *node.rule.meta_fields), (*children, *context), strict=True)
    for name, value in values:
        object.__setattr__(obj, name, value)
    return obj


def tree_map(fn: Callable, tree: Any, *rests: Any, mode: Mode = Mode()) -> Any:
    leaves, spec = flatten(tree, mode)
    columns = [leaves, *(pair_up(spec, rest, mode) for rest in rests)]
    return unflatten(spec, [fn(*row) for row in zip(*columns, strict=True)])


def pair_up(spec: Spec, tree: Any, mode: Mode) -> list:
    """What stands in `tree` at every leaf of `spec`, where `tree` must have that very structure."""

    def leaf_fits(node: Node, obj: Any) -> bool:
        if node.stopped or open_node(obj, dataclasses.replace(mode, sort=False)) is None:
            return True
        return mode.is_leaf is not None and bool(mode.is_leaf(obj))

    return line_up(spec, tree, lambda node, obj, path: open_node(obj, mode, path), leaf_fits)


def flatten_up_to(spec: Spec, tree: Any, sort: bool = False) -> list:
    """What stands in `tree` at every leaf of `spec`, read with the registrations the structure was made with."""

    def open_like(node: Node, obj: Any, path: str) -> tuple[Node, list] | None:
        if type(obj) is not node.type:
            return None
        return open_registered(obj, node.rule) if node.rule else open_node(obj, Mode(None, False, "", sort), path)

    return line_up(spec, tree, open_like, lambda node, obj: True)


def line_up(spec: Spec, tree: Any, open_like: Callable, leaf_fits: Callable) -> list:
    out: list = []

    def match(node: Node, obj: Any, path: str) -> None:
        if node.kind == "leaf":
            if not leaf_fits(node, obj):
                raise Mismatch(path)
            out.append(obj)
            return
        opened = open_like(node, obj, path)
        if opened is None or shell_key(opened[0]) != shell_key(node) or len(opened[1]) != len(node.children):
            raise Mismatch(path)
        for child, below, text in zip(node.children, opened[1], node.texts, strict=True):
            match(child, below, path + text)

    match(spec.root, tree, "")
    return out


# --- structures as values --------------------------------------------------------------------------------------------


def value_key(value: Any) -> Any:
    """A hashable stand-in for a key or a context: equal only for the same type and the same bits."""
    cls = type(value)
    if cls in (str, int, NoneType):
        return cls, value
    if cls is float:
        return cls, struct.pack("<d", value)
    if cls is complex:
        return cls, struct.pack("<dd", value.real, value.imag)
    if cls in (tuple, list) or is_namedtuple_class(cls):
        return cls, tuple(value_key(item) for item in value)
    if cls in (set, frozenset):
        return cls, frozenset(value_key(item) for item in value)
    if cls is dict:
        return cls, tuple((value_key(key), value_key(item)) for key, item in value.items())
    if cls is slice:
        return cls, value_key((value.start, value.stop, value.step))
    if dataclasses.is_dataclass(cls):
        return cls, tuple(value_key(getattr(value, field.name)) for field in dataclasses.fields(value) if field.compare)
    if hasattr(cls, "dtype") and hasattr(cls, "tobytes"):
        return cls, value.dtype.str, value.tobytes()
    return cls, value


def shell_key(node: Node) -> Any:
    rule = node.rule
    manner = (rule.namespace, rule.data_fields, rule.meta_fields) if rule else None
    return node.kind, node.type, manner, value_key(node.context)


def node_key(node: Node) -> Any:
    return shell_key(node), tuple(node_key(child) for child in node.children)


def structure_key(spec: Spec) -> Any:
    return spec.none_is_leaf, node_key(spec.root)


def same_tree(a: Any, b: Any, namespace: str | tuple[str, ...] = "") -> bool:
    """The same containers (types, keys and their order, contexts) around the very same leaf objects."""
    mode = Mode(namespace=namespace)
    (leaves_a, spec_a), (leaves_b, spec_b) = flatten(a, mode), flatten(b, mode)
    same_leaves = len(leaves_a) == len(leaves_b) and all(x is y for x, y in zip(leaves_a, leaves_b, strict=True))
    return same_leaves and structure_key(spec_a) == structure_key(spec_b)


def num_leaves(node: Node) -> int:
    return 1 if node.kind == "leaf" else sum(map(num_leaves, node.children))


def num_nodes(node: Node) -> int:
    return 1 + sum(map(num_nodes, node.children))


def namespaces(node: Node) -> tuple[str, ...]:
    """The namespaces that registrations of this structure stand in, in the order a walk meets them."""
    own = (node.rule.namespace,) if node.rule and node.rule.namespace else ()
    return tuple(dict.fromkeys((*own, *(name for child in node.children for name in namespaces(child)))))


def spec_namespace(node: Node) -> str | tuple[str, ...]:
    used = namespaces(node)
    return used if len(used) > 1 else "".join(used)


def paths(node: Node) -> list[tuple]:
    if node.kind == "leaf":
        return [()]
    pairs = zip(node.entries, node.children, strict=True)
    return [(entry, *path) for entry, child in pairs for path in paths(child)]


def path_texts(node: Node) -> list[str]:
    if node.kind == "leaf":
        return [""]
    return [text + path for text, child in zip(node.texts, node.children, strict=True) for path in path_texts(child)]


def is_prefix(a: Node, b: Node) -> bool:
    if a.kind == "leaf":
        return True
    if shell_key(a) != shell_key(b) or len(a.children) != len(b.children):
        return False
    return all(is_prefix(x, y) for x, y in zip(a.children, b.children, strict=True))


def compose(outer: Node, inner: Node) -> Node:
    if outer.kind == "leaf":
        return inner
    return dataclasses.replace(outer, children=tuple(compose(child, inner) for child in outer.children))


def broadcast(a: Node, b: Node, path: str = "") -> Node:
    """What both agree in: where one has a leaf, what the other has there."""
    if a.kind == "leaf" or b.kind == "leaf":
        return b if a.kind == "leaf" else a
    if shell_key(a) != shell_key(b) or len(a.children) != len(b.children):
        raise Mismatch(path)
    triples = zip(a.children, b.children, a.texts, strict=True)
    return dataclasses.replace(a, children=tuple(broadcast(x, y, path + text) for x, y, text in triples))


def node_repr(node: Node) -> str:
    parts = [node_repr(child) for child in node.children]
    listed = ", ".join(parts)
    keyed = "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(node.entries, parts, strict=True)) + "}"
    named = [f"{name}={part}" for name, part in zip(node.entries, parts, strict=True)]
    name = node.type.__name__ if node.type else ""
    if node.kind == "dataclass":
        named += [f"{meta}={value!r}" for meta, value in zip(node.rule.meta_fields, node.context, strict=True)]
    forms = {
        "leaf": lambda: "*",
        "none": lambda: "None",
        "list": lambda: f"[{listed}]",
        "tuple": lambda: f"({listed},)" if len(parts) == 1 else f"({listed})",
        "deque": lambda: f"deque([{listed}])" if node.context is None else f"deque([{listed}], maxlen={node.context})",
        "dict": lambda: keyed,
        "ordereddict": lambda: f"OrderedDict({keyed})",
        "defaultdict": lambda: f"defaultdict({node.context[0]!r}, {keyed})",
        "namedtuple": lambda: f"{name}({', '.join(named)})",
        "dataclass": lambda: f"{name}({', '.join(named)})",
        "custom": lambda: f"CustomTreeNode({name}[{node.context!r}], [{listed}])",
        "static": lambda: f"CustomTreeNode({name}[{node.context!r}], [])",
    }
    return forms[node.kind]()


def spec_repr(spec: Spec) -> str:
    mode = "" if spec.none_is_leaf else ", none_is_leaf=False"
    used = spec_namespace(spec.root)
    return f"TreeSpec({node_repr(spec.root)}{mode}{f', namespace={used!r}' if used else ''})"
