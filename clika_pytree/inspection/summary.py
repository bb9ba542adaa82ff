"""A table of what is in a tree."""

from __future__ import annotations

from itertools import islice

from clika_pytree._native import MappingKey
from clika_pytree.arguments import check_count
from clika_pytree.spec_builder import CUSTOM, LEAVES, NAMEDTUPLE
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import PATH_ENDS, PLAIN, array_facts, class_of, key_text, short_name

from .flat_tree import MAPPINGS, FlatTree, number_in, only
from .folding import folded, text_of_group
from .table import SummaryRow, Totals, TreeSummary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from clika_pytree.typing import IsLeaf, Namespace

    from .folding import Group, Runs
    from .table import Leaf

MOST_KEYS = 2 * PATH_ENDS


def summary_of(
    tree: Any, max_rows: int | None, is_leaf: IsLeaf, none_is_leaf: bool, namespace: Namespace
) -> TreeSummary:
    check_max_rows("tree_summary()", max_rows)
    return summary_of_flat(FlatTree(tree, is_leaf, none_is_leaf, namespace), max_rows)


def summary_of_flat(tree: FlatTree, max_rows: int | None) -> TreeSummary:
    survey = Survey(tree)
    # The collector sees a list as long as it is while user code runs, and a tuple as long as it will be.
    rows = (*islice(survey.rows(), max_rows),)
    return TreeSummary(rows, survey.num_rows() - len(rows), len(tree.leaves), survey.totals)


def check_max_rows(caller: str, given: Any) -> None:
    if given is not None:
        check_count(caller, "max_rows", given, 0, " or None")


class Survey:
    """What the parts of a tree look like. Each look has a number, and a leaf or the groups of its children once."""

    def __init__(self, tree: FlatTree) -> None:
        self.tree, self.totals = tree, Totals()
        self.numbers: dict[Any, int] = {}
        self.dtypes: dict[int, tuple[Any, str]] = {}
        self.leaves: dict[int, Leaf] = {}
        # Those of containers without children: a line of its own says that there is one, and has no leaves.
        self.empty: set[int] = set()
        # Of other containers: one that looks so, what its children look like, and how many rows they are.
        self.nodes: dict[int, tuple[int, list[Group], int]] = {}
        tree.open()
        self.root = self.survey()

    def num_rows(self) -> int:
        return self.rows_of(self.root)

    def rows_of(self, look: int) -> int:
        return self.nodes[look][2] if look in self.nodes else 1

    def survey(self) -> int:
        """The look of the root, found from the last node to the first."""
        tree = self.tree
        looks = self.looks_of_leaves()
        # The nodes whose parent is still to come: the look of a container, or those of a row of leaves.
        finished: list[int | list[tuple[int, int]]] = []
        for node in range(len(tree.kinds) - 1, -1, -1):
            arity = tree.arities[node]
            if tree.kinds[node] == LEAVES:
                first = tree.first_leaves[node]
                finished.append(run_lengths(looks[first : first + arity]))
                continue
            runs: list[tuple[int, int]] = []
            while arity > 0:
                child = finished.pop()
                if isinstance(child, int):
                    add_run(runs, child, 1)
                    arity -= 1
                elif runs:
                    for look, count in child:
                        add_run(runs, look, count)
                        arity -= count
                else:
                    runs = child
                    arity -= sum(count for _, count in child)
            finished.append(self.look_of_node(node, runs))
        root = finished.pop()
        return root if isinstance(root, int) else root[0][0]

    def looks_of_leaves(self) -> list[int]:
        by_type: dict[int, int] = {}

        def look_of(leaf: Any) -> int:
            facts = self.facts_of(leaf)
            look = number_in(self.numbers, facts)
            self.leaves[look] = facts
            if id(class_of(leaf)) in PLAIN:  # instances of these have no attributes of their own
                by_type[id(class_of(leaf))] = look
            return look

        known = by_type.get
        return [known(id(class_of(leaf))) or look_of(leaf) for leaf in self.tree.leaves]

    def facts_of(self, leaf: Any) -> Leaf:
        name = short_name(class_of(leaf))
        facts = None if id(class_of(leaf)) in PLAIN else array_facts(leaf, self.dtypes)
        if facts is None:
            return name, None, None, None
        shape, dtype = facts
        elements = product(shape)
        nbytes = bytes_of(leaf, elements)
        self.totals.add(leaf, elements, nbytes)
        return name, shape, dtype, nbytes

    def look_of_node(self, node: int, runs: Runs) -> int:
        tree = self.tree
        kind = tree.kinds[node]
        names: Any = None
        if kind in MAPPINGS:
            names = comparable(tree.dict_keys(node))
        elif kind == CUSTOM:
            make, entries = tree.names(node)
            names = entries if type(entries) is range else tuple([key_text(make(entry)) for entry in entries])
        mark = (kind, id(tree.class_of(node)) if kind >= NAMEDTUPLE else None, names, tuple(runs))
        look = number_in(self.numbers, mark)
        if not runs:
            self.leaves[look] = short_name(tree.class_of(node)), None, None, None
            self.empty.add(look)
        elif look not in self.nodes:
            _, names = tree.names(node)
            groups = folded(runs, None if type(names) is range else names)
            self.nodes[look] = node, groups, sum(self.rows_of(group.look) for group in groups)
        return look

    def rows(self) -> Iterator[SummaryRow]:
        """The lines of the table, one by one."""
        if self.root in self.leaves:
            yield self.row([], self.root, 1)
            return
        # The open containers: what is still to come of their groups, and how many of them a group stands for.
        todo = [self.opened(self.root, 1)]
        # The keys that lead to the group at hand.
        keys: list[str] = []
        while todo:
            node, groups, count = todo[-1]
            for group in groups:
                del keys[len(todo) - 1 :]
                keys.append(text_of_group(group, *self.tree.names(node)))
                if group.look in self.leaves:
                    yield self.row(keys, group.look, count * group.count)
                else:
                    todo.append(self.opened(group.look, count * group.count))
                    break
            else:
                todo.pop()

    def row(self, keys: list[str], look: int, count: int) -> SummaryRow:
        return SummaryRow(ends_of(keys), 0 if look in self.empty else count, self.leaves[look])

    def opened(self, look: int, count: int) -> tuple[int, Iterator[Group], int]:
        node, groups, _ = self.nodes[look]
        return node, iter(groups), count


def run_lengths(looks: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    start = 0
    for end, look in enumerate(looks):
        if look != looks[start]:
            runs.append((looks[start], end - start))
            start = end
    runs.append((looks[start], len(looks) - start))
    return runs


def add_run(runs: list[tuple[int, int]], look: int, count: int) -> None:
    if runs and runs[-1][0] == look:
        runs[-1] = look, runs[-1][1] + count
    else:
        runs.append((look, count))


def comparable(keys: Sequence[Any]) -> tuple[Any, ...]:
    """The keys of a dict as a reader tells them apart: to him 1 and True are two."""
    if only(int, keys) or only(str, keys):
        return tuple(keys)
    return tuple([key_text(MappingKey(key)) for key in keys])


def ends_of(keys: list[str]) -> tuple[str, ...]:
    """The keys of a row; the middle of a long path is left out."""
    if len(keys) <= MOST_KEYS:
        return tuple(keys)
    half = MOST_KEYS // 2
    return (*keys[:half], f"…({len(keys) - MOST_KEYS} more)…", *keys[-half:])


def bytes_of(value: Any, elements: int | None) -> int | None:
    """The bytes of an array; None where its library does not say, or where a size is no number yet."""
    try:
        return int(value.nbytes)
    except Exception:
        pass
    try:
        return None if elements is None else elements * int(value.dtype.itemsize)
    except Exception:
        return None


def product(shape: tuple[int | str, ...]) -> int | None:
    total = 1
    for size in shape:
        if isinstance(size, str):
            return None
        total *= size
    return total
