"""Every difference between two trees, by key path."""

from __future__ import annotations

from clika_pytree._native import ContextError, FlattenedIndexKey, MappingKey, lookup, tree_structure
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import (
    array_facts,
    error_text,
    how_many,
    key_text,
    leaf_text,
    listed,
    path_text,
    shorten,
    value_text,
    with_article,
)

from .levels import MAPPINGS, SEQUENCES, Rules, path_of

if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

    from clika_pytree.typing import IsLeaf, KeyPath, Namespace

    from .levels import Level, Way

    DifferenceKind: TypeAlias = Literal["type", "length", "only_a", "only_b", "order", "context", "leaf"]

MOST_LINES = 30


class Difference:
    """One difference between two trees.

    Attributes:
        path: Where it is, as a tuple of keys.
        kind: "type": other classes, or a leaf on one side; "length": another number of children; "only_a", "only_b":
            a child that the other side does not have; "order": the same keys in another order; "context": another
            context, `maxlen`, factory, meta field or static value; "leaf": leaves that are not equal.
        a: What stands there in the first tree, as short text; None for "only_b".
        b: What stands there in the second tree; None for "only_a".
    """

    __slots__ = ("a", "b", "kind", "path")
    __match_args__ = ("path", "kind", "a", "b")

    def __init__(self, path: KeyPath, kind: DifferenceKind, a: str | None, b: str | None) -> None:
        self.path, self.kind, self.a, self.b = path, kind, a, b

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Difference):
            return NotImplemented
        return (self.path, self.kind, self.a, self.b) == (other.path, other.kind, other.a, other.b)

    def __hash__(self) -> int:
        return hash((self.path, self.kind, self.a, self.b))

    def __repr__(self) -> str:
        return f"Difference({path_text(self.path)!r}, {self.kind!r}, a={self.a!r}, b={self.b!r})"

    def __str__(self) -> str:
        if self.kind == "only_a":
            what = f"only in a, which has {self.a}"
        elif self.kind == "only_b":
            what = f"only in b, which has {self.b}"
        elif self.kind == "order":
            what = f"the keys come in another order: a has {self.a}; b has {self.b}"
        else:
            what = f"a has {self.a}, b has {self.b}"
        return f"{path_text(self.path) or 'the root'}: {what}"


class TreeDiff(tuple[Difference, ...]):
    """The differences between two trees: a tuple that prints one a line, and is false where there are none."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "no differences"
        lines = [f"{len(self)} difference{'s' if len(self) > 1 else ''}:"]
        lines += [f"  {difference}" for difference in self[:MOST_LINES]]
        if len(self) > MOST_LINES:
            lines.append(f"  … and {len(self) - MOST_LINES} more")
        return "\n".join(lines)

    __str__ = __repr__


def tree_diff(
    a: Any,
    b: Any,
    *,
    leaves: bool = False,
    is_leaf: IsLeaf = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> TreeDiff:
    """Every difference in structure between two trees, and in their leaves where asked for, by key path.

    Below nodes of different classes the comparison goes on where their children can be paired: between lists, tuples
    and deques by place, between the kinds of dicts by key. Leaves are equal where their classes and values are; arrays
    of any library where their shapes, dtypes and elements are, NaN being equal to NaN.

    Args:
        a: The first tree.
        b: The second tree.
        leaves: Whether leaves are compared too.
        is_leaf: Called with every object; where it gives a true value, the object is a leaf.
        none_is_leaf: Whether None is a leaf, or a node without children.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        A tuple of differences in the order of the trees, empty where there are none. Each has a `path`, a `kind` and
        the texts `a` and `b`. Printed, it is one line a difference; a long one is cut.

    Raises:
        CircularTreeError: (a `ValueError`) a tree contains itself.

    Example:
        >>> from clika_pytree import pytree
        >>> old = {"w": [1, 2], "b": 0, "name": "x"}
        >>> new = {"w": (1, 2, 3), "name": "y"}
        >>> pytree.tree_diff(old, new)
        2 differences:
          ['w']: a has a list of 2, b has a tuple of 3
          ['b']: only in a, which has 0
        >>> [difference.kind for difference in pytree.tree_diff(old, new, leaves=True)]
        ['type', 'only_a', 'leaf']
    """
    rules = Rules(is_leaf, none_is_leaf, namespace)
    # This also refuses circles, round which the walk below would go for ever.
    specs = [tree_structure(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace) for tree in (a, b)]
    try:
        if not leaves and specs[0] == specs[1]:
            return TreeDiff()
    except ContextError:  # some context can't be compared: the walk says which
        pass
    found: list[Difference] = []
    # The pairs still to compare; a pair of None stands for a difference whose turn has come.
    todo: list[tuple[Way, Any, Any, Difference | None]] = [(None, a, b, None)]
    while todo:
        way, one, other, difference = todo.pop()
        if difference is not None:
            found.append(difference)
            continue
        if one is other:
            continue
        levels = rules.level(one), rules.level(other)
        if levels[0] is not None and levels[1] is not None:
            compare_nodes(way, levels[0], levels[1], rules, found, todo)
        elif levels[0] is not None or levels[1] is not None:
            found.append(Difference(path_of(way), "type", *told_apart(one, other, *levels)))
        elif leaves:
            texts = leaf_difference(one, other)
            if texts is not None:
                found.append(Difference(path_of(way), "leaf", *texts))
    return TreeDiff(found)


def node_text(node: Any, level: Level | None) -> str:
    return leaf_text(node) if level is None else level_text(level)


def level_text(level: Level) -> str:
    """What a message says of a node."""
    cls: Any = level.spec.type
    if level.kind == "none":
        return "None"
    count = len(level.children)
    if count or level.kind in (*SEQUENCES, *MAPPINGS):
        return how_many(cls.__name__, count)
    return with_article(cls.__name__)


def told_apart(one: Any, other: Any, first: Level | None, second: Level | None) -> tuple[str, str]:
    """The texts of two objects of different classes; classes of one name are told apart by their modules."""
    texts = node_text(one, first), node_text(other, second)
    return texts if texts[0] != texts[1] else by_module(one, other)


def by_module(one: Any, other: Any) -> tuple[str, str]:
    names = [f"an instance of {type(value).__module__}.{type(value).__qualname__}" for value in (one, other)]
    if names[0] == names[1]:
        names[1] += ", which is another class of that name"
    return names[0], names[1]


def compare_nodes(way: Way, one: Level, other: Level, rules: Rules, found: list[Difference], todo: list[Any]) -> None:
    """The differences of two nodes themselves; their children are left to do."""
    same_type = one.spec.type is other.spec.type
    if not same_type:
        names = [level_text(one), level_text(other)]
        if names[0] == names[1]:
            names = [
                f"{name}, of the class {full_name(level)}" for name, level in zip(names, (one, other), strict=True)
            ]
            names[1] += " (another class)" if names[0] == names[1] else ""
        found.append(Difference(path_of(way), "type", names[0], names[1]))
        if not any(one.kind in family and other.kind in family for family in (SEQUENCES, MAPPINGS)):
            return
    else:
        found.extend(Difference(path_of(way), "context", *texts) for texts in context_differences(one, other, rules))
    paired = None if by_place(one) and by_place(other) else paired_by_key(way, one, other, rules, found)
    if paired is None:
        if same_type and len(one.children) != len(other.children):
            found.append(Difference(path_of(way), "length", level_text(one), level_text(other)))
        pairs = zip(one.keys, one.children, other.children, strict=False)
        paired = [((way, key), x, y, None) for key, x, y in pairs]
    todo.extend(reversed(paired))


def full_name(level: Level) -> str:
    cls: Any = level.spec.type
    return f"{cls.__module__}.{cls.__qualname__}"


def by_place(level: Level) -> bool:
    """Whether the children are told apart by nothing but their places."""
    return level.kind in SEQUENCES or all(type(key) is FlattenedIndexKey for key in level.keys)


def paired_by_key(way: Way, one: Level, other: Level, rules: Rules, found: list[Difference]) -> list[Any] | None:
    """Pairs of children with the same key, and, in their places, the differences where there is no pair.

    None where the keys do not tell the children apart.
    """
    mine = dict(zip(map(table_key, one.keys), zip(one.keys, one.children, strict=True), strict=True))
    others = dict(zip(map(table_key, other.keys), zip(other.keys, other.children, strict=True), strict=True))
    if len(mine) < len(one.keys) or len(others) < len(other.keys):
        return None
    found.extend(order_difference(way, mine, others))
    work: list[Any] = []
    for known, (key, child) in mine.items():
        if known in others:
            work.append(((way, key), child, others[known][1], None))
        else:
            present = node_text(child, rules.level(child))
            work.append((None, None, None, Difference(path_of((way, key)), "only_a", present, None)))
    for known, (key, child) in others.items():
        if known not in mine:
            present = node_text(child, rules.level(child))
            work.append((None, None, None, Difference(path_of((way, key)), "only_b", None, present)))
    return work


def order_difference(way: Way, mine: dict[Any, Any], others: dict[Any, Any]) -> list[Difference]:
    """The difference where the keys that both sides have come in another order."""
    orders = [known for known in mine if known in others], [known for known in others if known in mine]
    # The keys before the first one out of place say nothing.
    first = next((place for place, pair in enumerate(zip(*orders, strict=True)) if pair[0] != pair[1]), None)
    if first is None:
        return []
    texts = [listed((key_text(mine[known][0]) for known in order[first:]), len(order) - first) for order in orders]
    return [Difference(path_of(way), "order", texts[0], texts[1])]


def table_key(key: Any) -> Any:
    """What a key is looked up by: the key itself, or its text where it has no hash."""
    try:
        hash(key)
    except TypeError:
        return str(key)
    return key


def context_differences(one: Level, other: Level, rules: Rules) -> list[tuple[str, str]]:
    """What differs between two nodes of one class beside their children."""
    kind, first, second = one.kind, one.spec.context, other.spec.context
    names = [""]
    values = [(first, second)]
    if kind in ("dict", "ordereddict"):
        return []
    if kind == "defaultdict":
        names, values = ["default_factory="], [(first[0], second[0])]
    elif kind == "deque":
        names = ["maxlen="]
    elif kind == "custom":
        names = ["context="]
    elif kind == "dataclass":
        registration = lookup(one.spec.type, rules.namespace) if one.spec.type is not None else None
        fields = registration.meta_fields if registration is not None else ()
        names = [f"{field}=" for field in fields]
        values = list(zip(first, second, strict=True))
    texts: list[tuple[str, str]] = []
    for name, (x, y) in zip(names, values, strict=False):
        pair = value_difference(x, y)
        if pair is not None:
            texts.append((name + pair[0], name + pair[1]))
    return texts


def value_difference(one: Any, other: Any) -> tuple[str, str] | None:
    """The texts of two values that are not equal as contexts and keys are: by exact type and value."""
    reason = None
    try:
        if one is other or MappingKey(one) == MappingKey(other):
            return None
    except Exception as error:
        reason = reason_of(error)
    texts = short(one), short(other)
    if reason is not None:
        return texts[0], f"{texts[1]}, and the two can't be compared ({reason})"
    return texts if texts[0] != texts[1] else (texts[0], "another one that prints alike")


def reason_of(error: Exception) -> str:
    # The comparison is that of keys, and what it raises speaks of a key.
    return shorten(error_text(error).replace("this key holds an object of class", "class"))


def short(value: Any) -> str:
    return leaf_text(value) if array_facts(value) is not None else value_text(value)


def leaf_difference(one: Any, other: Any) -> tuple[str, str] | None:
    """The texts of two leaves that are not equal."""
    if one is other:
        return None
    if type(one) is not type(other):
        texts = leaf_text(one), leaf_text(other)
        return texts if texts[0] != texts[1] else by_module(one, other)
    facts = array_facts(one), array_facts(other)
    if facts[0] is None or facts[1] is None:
        return value_difference(one, other)
    if facts[0] != facts[1]:
        return leaf_text(one), leaf_text(other)
    try:
        remark = elements_that_differ(one, other, facts[0][0])
    except Exception as error:
        remark = f"{leaf_text(other)}, and the two can't be compared ({reason_of(error)})"
    return None if remark is None else (leaf_text(one), remark)


def elements_that_differ(one: Any, other: Any, shape: tuple[Any, ...]) -> str | None:
    """How two arrays of one shape and dtype differ. The operators are those that all libraries have."""
    same = (one == other) | ((one != one) & (other != other))
    if not hasattr(same, "sum"):  # a stand-in without elements, such as a shape with a dtype
        return None if same else "another one of the same shape and dtype"
    total = 1
    for size in shape:
        total *= int(size)
    differing = total - int(same.sum())
    return f"the same with {differing} of {total} elements different" if differing else None
