"""Trees inside a region that `torch.compile` traces, where no native code can run.

PyTorch follows Python here line by line, with values that stand for tensors, so this says over again what the native
walks do. What it gives is the same, but for the structure of a tree, which is one of its own and stays in the region.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from functools import partial
from types import ModuleType

from clika_pytree._native import LeafCountError, PyTreeTypeError, StructureError, lookup, tree_leaves
from clika_pytree.namedtuples import is_namedtuple_class
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree._native import Registration
    from clika_pytree.typing import IsLeaf, Namespace

__all__: list[str] = []

# A leaf, and what `is_leaf` made one.
LEAF, STOPPED = LEAVES = "leaf", "stopped"
CONTAINERS = (list, tuple, dict, OrderedDict, defaultdict, deque, type(None))

# How the classes that regions have met are registered, under names of its own for each. PyTorch guards what it reads of
# a module, so a region is traced again where a class is registered otherwise.
entries: Any = ModuleType("entries")
_names: dict[tuple[type[Any], Namespace], str] = {}


def entry_of(cls: type[Any], namespace: Namespace) -> str:
    """The name of a class in the entries. Python runs this while PyTorch traces."""
    name = _names.setdefault((cls, namespace), f"class{len(_names)}")
    write_entry(name, lookup(cls, namespace))
    return name


def write_entry(name: str, registration: Registration | None) -> None:
    setattr(entries, f"{name}_kind", None if registration is None else registration.kind)
    for part in ("flatten_fn", "unflatten_fn", "data_fields", "meta_fields", "rebuild"):
        setattr(entries, f"{name}_{part}", getattr(registration, part, None))


def rewrite_entries(registration: Registration) -> None:
    """Let regions see that a class is registered otherwise now."""
    for (cls, namespace), name in [*_names.items()]:
        if cls is registration.cls:
            write_entry(name, lookup(cls, namespace))


def are_dicts_sorted() -> bool:
    """Whether dicts flatten by sorted key. Python runs this while PyTorch traces."""
    return tree_leaves({1: 1, 0: 0}) == [0, 1]


def is_traced() -> bool:
    """Whether PyTorch follows this; it takes its own function for that."""
    return False


class Structure:
    """What a tree is beside its leaves, inside a region.

    Attributes:
        kind: What it is rebuilt as; `LEAF` or `STOPPED` for a tree that is one leaf.
        cls: The class of the node.
        context: The keys of a dict, the `maxlen` of a deque, what a registered class has as context.
        entry: The name of a registered class in the entries.
        children: The structures of what it holds; for a leaf its kind alone, which PyTorch traces faster.
        num_leaves: How many leaves it has.
    """

    def __init__(self, kind: str, cls: Any, context: Any, entry: str, children: list[Structure | str]):
        self.kind, self.cls, self.context, self.entry, self.children = kind, cls, context, entry, children
        self.num_leaves = 1 if kind in LEAVES else sum([count(child) for child in children])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and is_same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def is_leaf(self) -> bool:
        """Whether the tree is one leaf."""
        return self.kind in LEAVES

    def unflatten(self, leaves: Any) -> Any:
        """The tree with these leaves."""
        if not is_traced():
            raise PyTreeTypeError(
                "the structure of a tree does not leave a region that PyTorch compiles: return the leaves, or the "
                "tree, and flatten it outside"
            )
        return put_together(self, leaves)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a structure has no {name} inside a region that PyTorch compiles, only unflatten(), is_leaf(), num_leaves "
            "and ==: do outside what needs more"
        )


def count(structure: Structure | str) -> int:
    return 1 if isinstance(structure, str) else structure.num_leaves


def is_same(one: Structure | str, other: Structure | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str)
    pairs = zip(one.children, other.children, strict=False)
    return is_same_node(one, other) and all(is_same(child, its) for child, its in pairs)


def is_same_node(one: Structure, other: Structure) -> bool:
    """Whether two nodes are alike but for what is below them."""
    if one.is_leaf() or other.is_leaf():
        return one.is_leaf() and other.is_leaf()
    return (
        one.kind == other.kind
        and one.cls is other.cls
        and len(one.children) == len(other.children)
        and (one.context is other.context or bool(one.context == other.context))
    )


# --- taking apart -----------------------------------------------------------------------------------------------------


class Rules:
    """What is a leaf.

    Attributes:
        plain: Classes whose instances were leaves.
    """

    def __init__(self, is_leaf: IsLeaf, none_is_leaf: bool, namespace: Namespace):
        self.is_leaf, self.none_is_leaf, self.namespace = is_leaf, none_is_leaf, namespace
        self.plain: list[Any] = []


def structure_of(tree: Any, leaves: list[Any], rules: Rules) -> Structure:
    """The structure of a tree, whose leaves are added to a list."""
    found = taken_apart(tree, leaves, rules)
    return Structure(found, None, None, "", []) if isinstance(found, str) else found


def taken_apart(tree: Any, leaves: list[Any], rules: Rules) -> Structure | str:
    if rules.is_leaf is not None and rules.is_leaf(tree):
        leaves.append(tree)
        return STOPPED
    opened = None if type(tree) in rules.plain else open_node(tree, rules)
    if opened is None:
        leaves.append(tree)
        return LEAF
    kind, cls, context, entry, parts = opened
    return Structure(kind, cls, context, entry, [taken_apart(part, leaves, rules) for part in parts])


def open_node(obj: Any, rules: Rules) -> tuple[str, Any, Any, str, list[Any]] | None:
    """What a node is, and its children; None for a leaf."""
    if obj is None:
        return None if rules.none_is_leaf else ("none", None, None, "", [])
    cls: Any = class_of(obj)
    if cls is list or cls is tuple:
        return "sequence", cls, None, "", [*obj]
    if cls is dict or cls is OrderedDict:
        return "mapping", cls, [*obj.keys()], "", [*obj.values()]
    if cls is defaultdict:
        return "defaultdict", cls, (obj.default_factory, [*obj.keys()]), "", [*obj.values()]
    if cls is deque:
        return "deque", cls, obj.maxlen, "", [*obj]
    if cls is partial:
        raise PyTreeTypeError(
            "a Partial can't be told from a functools.partial inside a region that PyTorch compiles: pass its parts, "
            "or call the function outside"
        )
    entry = entry_of(cls, rules.namespace)
    kind = getattr(entries, f"{entry}_kind")
    if kind is not None:
        return opened_instance(obj, cls, kind, entry)
    if is_namedtuple_class(cls):
        return "namedtuple", cls, None, "", [*obj]
    rules.plain.append(cls)
    return None


def opened_instance(obj: Any, cls: Any, kind: str, entry: str) -> tuple[str, Any, Any, str, list[Any]]:
    """What an instance of a registered class is, and its children."""
    if kind == "static":
        return kind, cls, obj, entry, []
    if kind == "dataclass":
        context = [getattr(obj, name) for name in getattr(entries, f"{entry}_meta_fields")]
        return kind, cls, context, entry, [getattr(obj, name) for name in getattr(entries, f"{entry}_data_fields")]
    flat = getattr(entries, f"{entry}_flatten_fn")(obj)
    return kind, cls, flat[1], entry, [*flat[0]]


# --- putting together -------------------------------------------------------------------------------------------------


def put_together(structure: Any, leaves: Any) -> Any:
    """The tree of a structure with these leaves."""
    if not isinstance(structure, Structure):
        raise PyTreeTypeError(
            f"expected a structure that was made inside this region, got {class_of(structure).__name__}: a TreeSpec "
            "does not enter a region that PyTorch compiles, and none leaves it; call tree_flatten() inside it, too"
        )
    given = [*leaves]
    if len(given) != structure.num_leaves:
        raise LeafCountError(f"expected {structure.num_leaves} leaves, got {len(given)}")
    return given[0] if structure.is_leaf() else built(structure, given, 0)


def built(structure: Structure, leaves: list[Any], start: int) -> Any:
    """The tree with the leaves from a place on."""
    parts: list[Any] = []
    for child in structure.children:
        if isinstance(child, str):
            parts.append(leaves[start])
            start += 1
        else:
            parts.append(built(child, leaves, start))
            start += child.num_leaves
    return build_node(structure, parts)


def build_node(structure: Structure, parts: list[Any]) -> Any:
    kind, cls, context, entry = structure.kind, structure.cls, structure.context, structure.entry
    if kind == "none":
        return None
    if kind == "sequence":
        return parts if cls is list else (*parts,)
    if kind == "mapping":
        return cls(zip(context, parts, strict=True))
    if kind == "defaultdict":
        return defaultdict(context[0], zip(context[1], parts, strict=True))
    if kind == "deque":
        return deque(parts, maxlen=context)
    if kind == "namedtuple":
        return tuple.__new__(cls, parts)  # pyright: ignore[reportUnknownMemberType]
    if kind == "static":
        return context
    if kind == "dataclass":
        return build_dataclass(cls, context, entry, parts)
    return getattr(entries, f"{entry}_unflatten_fn")((*parts,), context)


def build_dataclass(cls: Any, context: list[Any], entry: str, parts: list[Any]) -> Any:
    data, meta = getattr(entries, f"{entry}_data_fields"), getattr(entries, f"{entry}_meta_fields")
    values = dict(zip((*data, *meta), (*parts, *context), strict=True))
    if getattr(entries, f"{entry}_rebuild") == "init":
        return cls(**values)
    made = object.__new__(cls)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


# --- several trees ----------------------------------------------------------------------------------------------------


def leaves_like(structure: Structure, tree: Any, number: int, rules: Rules) -> list[Any]:
    """The leaves of a further tree, which stand where the first one has its own."""
    found: list[Any] = []
    follow(structure.kind if structure.is_leaf() else structure, tree, found, (number, ""), rules)
    return found


def follow(wanted: Structure | str, tree: Any, found: list[Any], place: tuple[int, str], rules: Rules) -> None:
    is_stopped = wanted == STOPPED or (rules.is_leaf is not None and bool(rules.is_leaf(tree)))
    opened = None if is_stopped or type(tree) in rules.plain else open_node(tree, rules)
    if isinstance(wanted, str):
        if opened is not None:
            raise unlike(wanted, opened, place)
        found.append(tree)
        return
    if opened is None:
        raise unlike(wanted, opened, place)
    kind, cls, context, entry, parts = opened
    if not is_same_node(wanted, Structure(kind, cls, context, entry, [LEAF for _ in parts])):
        raise unlike(wanted, opened, place)
    for index, child in enumerate(wanted.children):
        follow(child, parts[index], found, (place[0], f"{place[1]}{key_of(wanted, index)}"), rules)


def key_of(structure: Structure, index: int) -> str:
    """How a child of a node is written in a key path."""
    if structure.kind == "mapping":
        return f"[{structure.context[index]!r}]"
    if structure.kind == "defaultdict":
        return f"[{structure.context[1][index]!r}]"
    if structure.kind == "namedtuple":
        return f".{structure.cls._fields[index]}"
    if structure.kind == "dataclass":
        return "." + str(getattr(entries, f"{structure.entry}_data_fields")[index])
    return f"[<flat index {index}>]" if structure.kind == "custom" else f"[{index}]"


def unlike(wanted: Structure | str, opened: Any, place: tuple[int, str]) -> StructureError:
    first = "a leaf" if isinstance(wanted, str) else described(wanted.kind, wanted.cls, len(wanted.children))
    other = "a leaf" if opened is None else described(opened[0], opened[1], len(opened[4]))
    if first == other:
        other = f"{other} with other keys, in another order, or with another context"
    return StructureError(
        f"tree {place[0]} does not have the structure of the first tree at {place[1] or 'the root'}: the first has "
        f"{first}, tree {place[0]} has {other}"
    )


def described(kind: str, cls: Any, count: int) -> str:
    return "None" if kind == "none" else f"a {cls.__name__} of {count}"
