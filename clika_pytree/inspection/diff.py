"""Every difference between two trees, by key path."""

from __future__ import annotations

from itertools import repeat

from clika_pytree._native import MappingKey, TreeSpec, tree_leaves
from clika_pytree.arguments import check_switch
from clika_pytree.spec_builder import (
    CUSTOM,
    DATACLASS,
    DEFAULTDICT,
    DEQUE,
    LEAVES,
    LIST,
    NAMEDTUPLE,
    NONE,
    STATIC,
    TUPLE,
)
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, key_text, listed

from .difference import Difference, TreeDiff, Ways
from .flat_tree import MAPPINGS, SEQUENCES, FlatTree, number_in, only
from .values import Texts, by_module, children_text, full_name, leaf_difference, stranger_text, value_difference

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clika_pytree.typing import IsLeaf, Namespace

    from .difference import DifferenceKind, Way

    # A child of a container: the number of a node, or below zero that of a leaf.
    Child = int
    # What makes a key of a name, the names of the children, and their places by what their keys are compared by.
    Table = tuple[Any, Sequence[Any], dict[Any, int]]
    # Two children to compare, or, in its place among them, a difference that is known already.
    Work = tuple[Way, Child, Child] | Difference
    # The way to a container, what makes a key of a name, and a name; nothing at the root.
    Step = tuple[Way, Any, Any] | None


def difference_of(a: Any, b: Any, leaves: bool, is_leaf: IsLeaf, none_is_leaf: bool, namespace: Namespace) -> TreeDiff:
    check_switch("tree_diff()", "leaves", leaves)
    if class_of(a) is TreeSpec and class_of(b) is TreeSpec:
        tree_leaves((), is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)  # refuses what they can't be
        trees = [FlatTree.of(spec) for spec in (a, b)]
    else:
        trees = [FlatTree(tree, is_leaf, none_is_leaf, namespace) for tree in (a, b)]
    if a is b:
        return TreeDiff()
    try:
        if not leaves and trees[0].spec == trees[1].spec:
            return TreeDiff()
    except Exception:  # some context or key can't be compared: the walk says which
        pass
    return TreeDiff(Comparison(trees[0], trees[1], leaves).differences())


class Comparison:
    """Two trees beside each other. Containers of one number have one structure and need no look inside."""

    def __init__(self, a: FlatTree, b: FlatTree, leaves: bool) -> None:
        self.a, self.b, self.leaves = a, b, leaves
        numbers: dict[Any, int] = {}
        for tree in (a, b):
            tree.open()
        self.numbers = structure_numbers(a, numbers), structure_numbers(b, numbers)
        self.found: list[Difference] = []
        self.ways, self.texts = Ways(), Texts()

    def differences(self) -> list[Difference]:
        roots = [-1 if tree.kinds[0] == LEAVES else 0 for tree in (self.a, self.b)]
        todo = self.compared(None, roots[0], roots[1])
        modes = [tree.spec.none_is_leaf for tree in (self.a, self.b)]
        if modes[0] != modes[1]:  # of specs
            self.found.append(self.at(0, "context", f"none_is_leaf={modes[0]}", f"none_is_leaf={modes[1]}"))
        while todo:
            work = todo.pop()
            if isinstance(work, Difference):
                self.found.append(work)
                continue
            way, one, other = work
            if one < 0 or other < 0:
                self.found.append(self.at(way, "type", *self.told_apart(one, other)))
            elif self.numbers[0][one] == self.numbers[1][other]:
                self.compare_leaves_below(way, one, other)
            else:
                todo.extend(reversed(self.compare_nodes(way, one, other)))
        return self.found

    def at(self, way: Way, kind: DifferenceKind, a: str | None, b: str | None) -> Difference:
        return Difference.at(self.ways, way, kind, a, b)

    def taken(self, step: Step) -> Way:
        return 0 if step is None else self.ways.longer(*step)

    # --- leaves -------------------------------------------------------------------------------------------------------

    def compare_leaves_below(self, way: Way, one: int, other: int) -> None:
        """The differences in the leaves of two containers of one structure."""
        if not self.leaves:
            return
        first, shift = self.a.first_leaves[one], self.b.first_leaves[other] - self.a.first_leaves[one]
        differing = (
            (leaf, texts)
            for leaf in range(first, first + self.a.num_leaves(one))
            if (texts := leaf_difference(self.a.leaves[leaf], self.b.leaves[leaf + shift])) is not None
        )
        for place, texts in ways_to(self.a, self.ways, way, one, differing):
            self.found.append(self.at(place, "leaf", *texts))

    # --- containers ---------------------------------------------------------------------------------------------------

    def compare_nodes(self, way: Way, one: int, other: int) -> list[Work]:
        """Finds the differences of two containers themselves; their children are left to do."""
        a, b = self.a, self.b
        same_type = a.class_of(one) is b.class_of(other)
        if not same_type:
            self.found.append(self.at(way, "type", *self.told_apart(one, other)))
            if not any(a.kinds[one] in family and b.kinds[other] in family for family in (SEQUENCES, MAPPINGS)):
                return []
        else:
            self.compare_contexts(way, one, other)
        (make, names), (_, others) = a.names(one), b.names(other)
        if not same_names(names, others):
            try:
                paired = self.paired_by_key(way, one, other)
            except Exception:  # the hash or the `==` of a key
                paired = None
            if paired is not None:
                self.found.extend(paired[0])
                return paired[1]
        if same_type and a.arities[one] != b.arities[other]:
            self.found.append(self.at(way, "length", self.texts.of_node(a, one), self.texts.of_node(b, other)))
        pairs = zip(names, children(a, one), children(b, other), strict=False)
        return [work for name, x, y in pairs for work in self.compared((way, make, name), x, y)]

    def compared(self, step: Step, one: Child, other: Child) -> list[Work]:
        """What is left to do for two things in one place; nothing where they are equal. Leaves are compared at once."""
        if one < 0 and other < 0:
            texts = leaf_difference(self.a.leaves[~one], self.b.leaves[~other]) if self.leaves else None
            return [] if texts is None else [self.at(self.taken(step), "leaf", *texts)]
        if not self.leaves and one >= 0 and other >= 0 and self.numbers[0][one] == self.numbers[1][other]:
            return []
        return [(self.taken(step), one, other)]

    def paired_by_key(self, way: Way, one: int, other: int) -> tuple[list[Difference], list[Work]] | None:
        """The difference in the order of keys; pairs of children with the same key, and what has no pair in its place.

        None where the keys do not tell the children apart.
        """
        first, second = table(*self.a.names(one)), table(*self.b.names(other))
        (make, names, mine), (_, _, others) = first, second
        if len(mine) < self.a.arities[one] or len(others) < self.b.arities[other]:
            return None
        texts = order_difference(first, second)
        order = [] if texts is None else [self.at(way, "order", *texts)]
        here, there = children(self.a, one), children(self.b, other)
        pairs = [*map(others.get, mine)]
        lost = [place for place, pair in enumerate(pairs) if pair is None]
        new = [place for known, place in others.items() if known not in mine]
        only_here = iter(self.without_pair("only_a", way, first, self.a, here, lost))
        work: list[Work] = []
        for place, pair in enumerate(pairs):
            if pair is None:
                work.append(next(only_here))
            else:
                work += self.compared((way, make, names[place]), here[place], there[pair])
        work += self.without_pair("only_b", way, second, self.b, there, new)
        return order, work

    def without_pair(
        self, kind: DifferenceKind, way: Way, named: Table, tree: FlatTree, found: list[Child], places: list[int]
    ) -> list[Difference]:
        """The differences of the children at these places, which the other tree has not."""
        make, names, _ = named
        taken = self.ways.beside_each_other(way, make, [names[place] for place in places])
        texts: Any = [self.texts.of(tree, found[place]) for place in places]
        sides = (texts, repeat(None)) if kind == "only_a" else (repeat(None), texts)
        made, ways = Difference.at, self.ways
        return [made(ways, place, kind, a, b) for place, a, b in zip(taken, *sides, strict=False)]

    def told_apart(self, one: Child, other: Child) -> tuple[str, str]:
        """The texts of two things that stand in one place and are of different classes."""
        a, b = self.a, self.b
        texts = self.texts.of(a, one), self.texts.of(b, other)
        if one >= 0 and other >= 0:
            if texts[0] != texts[1]:
                return texts
            # Classes of one name are told apart by their modules.
            names = [
                f"{text}, of the class {full_name(tree.class_of(node))}"
                for text, tree, node in zip(texts, (a, b), (one, other), strict=True)
            ]
            return names[0], names[1] + (" (another class)" if names[0] == names[1] else "")
        if one >= 0:
            texts = texts[0], stranger_text(b.leaves[~other], a.class_of(one))
        else:
            texts = stranger_text(a.leaves[~one], b.class_of(other)), texts[1]
        if texts[0] != texts[1]:
            return texts
        classes: list[Any] = [
            tree.class_of(child) if child >= 0 else type(tree.leaves[~child]) for tree, child in ((a, one), (b, other))
        ]
        return by_module(classes[0], classes[1])

    def compare_contexts(self, way: Way, one: int, other: int) -> None:
        """What differs between two nodes of one class beside their children."""
        kind = self.a.kinds[one]
        owner = children_text(STATIC, self.a.class_of(one), 0)
        if not self.registered_alike(one, other):
            self.found.append(self.at(way, "context", owner, f"{owner} (registered in another way)"))
            return
        first, second = self.a.own_slots(one), self.b.own_slots(other)
        names, values = ["the context "], [(first[-2:-1], second[-2:-1])]
        if kind in (DEFAULTDICT, DEQUE):
            names, values = ["default_factory=" if kind == DEFAULTDICT else "maxlen="], [(first, second)]
        elif kind == STATIC:
            names, values = [""], [(first[1:], second[1:])]
        elif kind == DATACLASS:
            names = [f"{field}=" for field in self.a.registration(one).meta_fields]
            values = [((x,), (y,)) for x, y in zip(first[1], second[1], strict=True)]
        elif kind != CUSTOM:
            return
        for name, ((x,), (y,)) in zip(names, values, strict=False):
            texts = value_difference(x, y)
            if texts is not None:
                shown = [f"{owner} with {name}{text}" if name else text for text in texts]
                self.found.append(self.at(way, "context", shown[0], shown[1]))

    def registered_alike(self, one: int, other: int) -> bool:
        """Whether two nodes of one class have the same parts: it may have been registered anew between them."""
        kind = self.a.kinds[one]
        if kind != self.b.kinds[other]:
            return False
        if kind != DATACLASS:
            return True
        return self.a.registration(one).meta_fields == self.b.registration(other).meta_fields


# --- structures in numbers --------------------------------------------------------------------------------------------


def structure_numbers(tree: FlatTree, numbers: dict[Any, int]) -> array[int]:
    """For every container a number that only containers of the same structure have."""
    from array import array

    found = array("Q", bytes(8 * len(tree.kinds)))
    # From the last node to the first: the nodes at the top of the stack are the children of the one that comes.
    finished: list[int] = []
    for node in range(len(tree.kinds) - 1, -1, -1):
        kind, missing = tree.kinds[node], tree.arities[node]
        if kind == LEAVES:
            finished.append(-missing)
            continue
        below: list[int] = []
        while missing > 0:
            child = finished.pop()
            below.append(child)
            missing -= 1 if child > 0 else -child
        number = number_of((kind, own_values(tree, node), tuple(below)), numbers)
        if number is None:
            own = tuple(map(id, tree.own_slots(node)[:2]))
            number = number_in(numbers, (kind, own, tuple(below)))
        found[node] = number
        finished.append(number)
    return found


def number_of(mark: Any, numbers: dict[Any, int]) -> int | None:
    """The number of a structure; None where its context can't be compared."""
    try:
        return number_in(numbers, mark)
    except MemoryError:
        raise
    except Exception:
        return None


def own_values(tree: FlatTree, node: int) -> Any:
    """What two containers of one structure have in common, as a value that compares as contexts and keys do."""
    kind = tree.kinds[node]
    if kind in (LIST, TUPLE, NONE):
        return None
    if kind in MAPPINGS:
        keys = tree.dict_keys(node)
        exact = keys if only(str, keys) else tuple(map(MappingKey, keys))
        return (MappingKey(tree.own_slots(node)[0]), exact) if kind == DEFAULTDICT else exact
    if kind == NAMEDTUPLE:
        return id(tree.class_of(node))
    slots = tree.own_slots(node)
    return MappingKey(slots[0]) if kind == DEQUE else (id(tree.class_of(node)), MappingKey(slots[1]))


# --- children ---------------------------------------------------------------------------------------------------------


def children(tree: FlatTree, node: int) -> list[Child]:
    found: list[Child] = []
    child, end = node + 1, tree.ends[node]
    while child < end:
        if tree.kinds[child] == LEAVES:
            first = tree.first_leaves[child]
            found.extend(range(~first, ~(first + tree.arities[child]), -1))
        else:
            found.append(child)
        child = tree.ends[child]
    return found


def same_names(names: Any, others: Any) -> bool:
    """Whether children can be paired by their places, as far as that is quick to see."""
    if type(names) is range or type(others) is range:
        return type(names) is type(others)
    return only(str, names) and only(str, others) and tuple(names) == tuple(others)


def table(make: Any, names: Any) -> Table:
    """The places of children by what their keys are compared by."""
    known = names if make is MappingKey and only(str, names) else [table_key(make(name)) for name in names]
    return make, names, dict(zip(known, range(len(known)), strict=True))


def table_key(key: Any) -> Any:
    """What a key is looked up by: the str of a dict's key, else the key itself, or its text where it has no hash."""
    if type(key) is MappingKey and type(key.key) is str:
        return key.key
    try:
        hash(key)
    except Exception:
        return type(key), key_text(key)
    return key


def order_difference(one: Table, other: Table) -> tuple[str, str] | None:
    """The texts of the keys that both sides have, where they come in another order."""
    mine, others = one[2], other[2]
    orders = [known for known in mine if known in others], [known for known in others if known in mine]
    # The keys before the first one out of place say nothing.
    first = next((place for place, pair in enumerate(zip(*orders, strict=True)) if pair[0] != pair[1]), None)
    if first is None:
        return None
    texts = [
        listed((key_text(make(names[places[known]])) for known in order[first:]), len(order) - first)
        for order, (make, names, places) in zip(orders, (one, other), strict=True)
    ]
    return texts[0], texts[1]


def ways_to(
    tree: FlatTree, ways: Ways, way: Way, node: int, leaves: Iterator[tuple[int, Any]]
) -> Iterator[tuple[Way, Any]]:
    """The ways to leaves below a node, which come in order, each with what came with it."""
    # The open containers: the way to it, where its leaves end, its names, and the next child with its place.
    open_nodes: list[list[Any]] = [
        [way, tree.first_leaves[node] + tree.num_leaves(node), tree.names(node), node + 1, 0]
    ]
    for leaf, found in leaves:
        while leaf >= open_nodes[-1][1]:
            open_nodes.pop()
        while True:
            level = open_nodes[-1]
            child: int
            way, _, (make, names), child, place = level
            end = tree.first_leaves[child] + tree.num_leaves(child)
            is_run = tree.kinds[child] == LEAVES
            if is_run and leaf < end:
                yield ways.longer(way, make, names[place + leaf - tree.first_leaves[child]]), found
                break
            level[3], level[4] = tree.ends[child], place + (tree.arities[child] if is_run else 1)
            if leaf < end:
                open_nodes.append([ways.longer(way, make, names[place]), end, tree.names(child), child + 1, 0])
