"""Random programs over structures: every result must be what the reference makes of the same steps."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import reference
from helpers import identical, reading, tokens
from reference import Mode, Node, Spec, same_tree, structure_key

import clika_pytree as cp
from fuzz.against_reference import agrees, check_root, raised
from fuzz.plans import Drawer

LARGEST = 80


class Pool:
    """Structures that were made so far, each with the reference's."""

    def __init__(self, drawer: Drawer) -> None:
        self.drawer = drawer
        mode = drawer.mode()
        self.mode = Mode(None, mode.none_is_leaf, mode.namespace, mode.sort)
        self.pairs = [(cp.tree_structure(0, none_is_leaf=mode.none_is_leaf), Node("leaf"))]
        plan = drawer.tree()
        for _ in range(4):
            self.add_tree(plan.build())
            plan = drawer.edited(plan)

    def add_tree(self, tree: Any) -> None:
        with reading(self.mode):
            try:
                expected = reference.flatten(tree, self.mode)[1]
            except reference.Disordered:
                return
            options = {"none_is_leaf": self.mode.none_is_leaf, "namespace": self.mode.namespace}
            self.add(cp.tree_structure(tree, **options), expected.root)

    def add(self, spec: cp.TreeSpec, node: Node) -> None:
        check_root(spec, Spec(node, self.mode.none_is_leaf))
        if spec.num_nodes <= LARGEST:
            self.pairs.append((spec, node))

    def two(self) -> tuple[cp.TreeSpec, Node, cp.TreeSpec, Node]:
        return (*self.drawer.pick(self.pairs), *self.drawer.pick(self.pairs))


# --- steps ------------------------------------------------------------------------------------------------------------


def compose(pool: Pool) -> None:
    one, node, other, other_node = pool.two()
    if one.num_leaves * other.num_nodes <= LARGEST:
        made = one.compose(other)
        assert one.is_prefix(made)
        pool.add(made, reference.compose(node, other_node))


def broadcast(pool: Pool) -> None:
    one, node, other, other_node = pool.two()
    both = agrees(lambda: one.broadcast(other), lambda: reference.broadcast(node, other_node))
    if both:
        assert one <= both[0] >= other
        pool.add(*both)


def compare(pool: Pool) -> None:
    one, node, other, other_node = pool.two()
    below, above = reference.is_prefix(node, other_node), reference.is_prefix(other_node, node)
    assert (one <= other, one >= other) == (below, above)
    assert (one < other, one > other) == (below and not above, above and not below)
    same = structure_key(Spec(node)) == structure_key(Spec(other_node))
    assert (one == other) is same is (below and above)
    assert hash(one) == hash(other) or not same


def child(pool: Pool) -> None:
    one, node, *_ = pool.two()
    children = one.children()
    assert len(children) == len(node.children)
    if children:
        at = pool.drawer.below(len(children))
        assert one.child(at) == one.child(at - len(children)) == children[at]
        pool.add(one.child(at), node.children[at])
    raised(IndexError, lambda: one.child(len(children)))


def graft(pool: Pool) -> None:
    """`transform` with another structure at some leaves."""
    one, node, other, other_node = pool.two()
    if one.num_leaves * other.num_nodes > LARGEST:
        return
    choices = [pool.drawer.chance(0.4) for _ in range(one.num_leaves)]
    ours, theirs = iter(choices), iter(choices)

    def grafted(at: Node) -> Node:
        if at.kind == "leaf":
            return other_node if next(theirs) else at
        return copy_of(at, [grafted(below) for below in at.children])

    pool.add(one.transform(None, lambda leaf: other if next(ours) else leaf), grafted(node))


def change_nodes(pool: Pool) -> None:
    """`transform` with lists made tuples, and the reverse."""
    one, node, *_ = pool.two()
    turn: dict[str, tuple[str, type, Callable]] = {
        "list": ("tuple", tuple, cp.treespec_tuple),
        "tuple": ("list", list, cp.treespec_list),
    }

    def turned(at: Node) -> Node:
        made = copy_of(at, [turned(below) for below in at.children])
        if at.kind in turn:
            made.kind, made.type, _ = turn[at.kind]
        return made

    def change(level: cp.TreeSpec) -> cp.TreeSpec:
        if level.kind not in turn:
            return level
        return turn[level.kind][2](level.children(), none_is_leaf=level.none_is_leaf)

    pool.add(one.transform(change), turned(node))


def copy_of(node: Node, children: list[Node]) -> Node:
    made = copy.copy(node)
    made.children = tuple(children)
    return made


def rebuild(pool: Pool) -> None:
    one, node, *_ = pool.two()
    fresh = tokens(one.num_leaves)
    tree = one.unflatten(fresh)
    assert same_tree(tree, reference.unflatten(Spec(node), fresh), pool.mode.namespace)
    assert same_tree(one.walk(fresh), tree, pool.mode.namespace)
    with reading(pool.mode):
        assert identical(one.flatten_up_to(tree), fresh)
    raised(cp.LeafCountError, lambda: one.unflatten(fresh[1:] if fresh else [0]))


def travel(pool: Pool) -> None:
    one, node, *_ = pool.two()
    pool.add(pickle.loads(pickle.dumps(one)), node)
    try:
        text = cp.treespec_dumps(one)
    except cp.PyTreeValueError:
        return
    pool.add(cp.treespec_loads(text, pool.mode.namespace), node)


STEPS = [compose, broadcast, compare, child, graft, change_nodes, rebuild, travel]


def algebra(drawer: Drawer) -> list[str]:
    """A dozen steps, each on structures that earlier ones gave."""
    pool = Pool(drawer)
    taken = [drawer.pick(STEPS) for _ in range(12)]
    for step in taken:
        try:
            step(pool)
        except Exception as error:
            shown = "\n".join(str(spec) for spec, _ in pool.pairs)
            raise AssertionError(f"in {step.__name__}, with the structures\n{shown}") from error
    return [step.__name__ for step in taken]
