"""One random case, every main operation, ours beside the reference's."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import reference
from helpers import attempt, check_spec, identical, keywords, reading, tokens
from reference import Mode, Node, Spec, same_tree, structure_key, value_key

import clika_pytree as cp
from fuzz.plans import Drawer

CHECKS: list[tuple[Callable[[Case], None], float]] = []


class Reading:
    """A tree, what the reference reads in it, and what we read."""

    def __init__(self, tree: Any, mode: Mode) -> None:
        self.tree, self.mode = tree, mode
        result, self.refused = attempt(reference.flatten, tree, mode)
        if result is None:
            error = raised(cp.KeyOrderError, lambda: cp.tree_flatten(tree, **keywords(mode)))
            assert error.path == self.refused
            return
        self.leaves, self.expected = result
        self.found, self.spec = cp.tree_flatten(tree, **keywords(mode))


class Case:
    """Two trees, often of nearly one structure, and a way to read them."""

    def __init__(self, drawer: Drawer) -> None:
        self.drawer = drawer
        self.plan = drawer.tree()
        self.other_plan = drawer.edited(self.plan) if drawer.chance(0.9) else drawer.tree()
        self.mode = drawer.mode()
        with reading(self.mode):
            self.both = [Reading(plan.build(), self.mode) for plan in (self.plan, self.other_plan)]
        self.one, self.other = self.both

    def check(self) -> None:
        if self.one.refused is not None:
            return
        with reading(self.mode):
            for check, chance in CHECKS[:FIRST_OF_TWO] if self.other.refused is not None else CHECKS:
                if chance == 1 or self.drawer.chance(chance):
                    check(self)

    def __repr__(self) -> str:
        specs = [one.spec if one.refused is None else f"keys without an order at {one.refused}" for one in self.both]
        return f"{self.mode}\n{specs[0]}\n{specs[1]}"


def raised(kind: type[BaseException], call: Callable[[], Any]) -> Any:
    try:
        result = call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} expected, got {result!r}")


def agrees(call: Callable[[], Any], expected: Callable[[], Any]) -> tuple[Any, Any] | None:
    """What both give; None where both refuse, at one path."""
    theirs, path = attempt(expected)
    if path is None:
        return call(), theirs
    assert raised(cp.StructureError, call).path == path
    return None


# --- one tree ---------------------------------------------------------------------------------------------------------


def flatten(case: Case) -> None:
    one = case.one
    options = keywords(case.mode)
    assert identical(one.found, one.leaves)
    assert identical(cp.tree_leaves(one.tree, **options), one.leaves)
    assert identical(cp.tree_iter(one.tree, **options), one.leaves)
    again = cp.tree_structure(one.tree, **options)
    assert again == one.spec
    assert hash(again) == hash(one.spec)


def the_spec(case: Case) -> None:
    one = case.one
    if case.drawer.chance(0.1):
        check_spec(one.spec, one.expected.root, case.mode.none_is_leaf)
    else:
        check_root(one.spec, one.expected)


def check_root(spec: cp.TreeSpec, expected: Spec) -> None:
    root = expected.root
    assert (spec.kind, spec.type, spec.none_is_leaf) == (root.kind, root.type, expected.none_is_leaf)
    assert value_key(spec.context) == value_key(root.context)
    assert value_key(spec.entries()) == value_key(list(root.entries))
    assert value_key(spec.paths()) == value_key(reference.paths(root))
    assert spec.namespace == reference.spec_namespace(root)
    assert (spec.num_leaves, spec.num_nodes) == (reference.num_leaves(root), reference.num_nodes(root))
    assert repr(spec) == reference.spec_repr(expected)


def paths(case: Case) -> None:
    one = case.one
    pairs, spec = cp.tree_flatten_with_path(one.tree, **keywords(case.mode))
    assert spec == one.spec
    assert identical([leaf for _, leaf in pairs], one.leaves)
    found = [path for path, _ in pairs]
    assert found == spec.key_paths()
    texts = [cp.keystr(path) for path in found]
    assert [text for text in texts if " object at 0x" not in text] == [
        text for text in reference.path_texts(one.expected.root) if " object at 0x" not in text
    ]
    for text in texts:
        if "[<" not in text.replace("[<flat index", ""):
            assert cp.keystr(cp.parse_keystr(text)) == text


def unflatten(case: Case) -> None:
    one = case.one
    fresh = tokens(len(one.leaves))
    rebuilt = cp.tree_unflatten(one.spec, fresh)
    assert same_tree(rebuilt, reference.unflatten(one.expected, fresh), case.mode.namespace)
    if case.drawer.chance(0.3):
        assert same_tree(one.spec.unflatten(one.found), one.tree, case.mode.namespace)
    raised(cp.LeafCountError, lambda: one.spec.unflatten([*fresh, 0]))


def copies(case: Case) -> None:
    one = case.one
    loaded = pickle.loads(pickle.dumps(one.spec))
    assert loaded == one.spec
    assert hash(loaded) == hash(one.spec)
    assert repr(loaded) == repr(one.spec)
    try:
        text = cp.treespec_dumps(one.spec)
    except cp.PyTreeValueError:
        return
    read = cp.treespec_loads(text, case.mode.namespace)
    assert read == one.spec
    assert cp.treespec_dumps(read) == text


# --- two trees --------------------------------------------------------------------------------------------------------


def equality(case: Case) -> None:
    one, other = case.one, case.other
    same = structure_key(one.expected) == structure_key(other.expected)
    assert (one.spec == other.spec) is (other.spec == one.spec) is same
    assert (one.spec != other.spec) is (not same)
    assert hash(one.spec) == hash(other.spec) or not same
    try:
        prints = one.spec.fingerprint(), other.spec.fingerprint()
    except cp.PyTreeValueError:
        return
    assert (prints[0] == prints[1]) is same


def maps(case: Case) -> None:
    one, other = case.one, case.other
    calls: list[tuple] = []
    fresh = iter(made := tokens(len(one.leaves)))

    def fn(*leaves: Any) -> Any:
        calls.append(leaves)
        return next(fresh)

    options = keywords(case.mode)
    outcome = agrees(
        lambda: cp.tree_map(fn, one.tree, other.tree, **options),
        lambda: reference.pair_up(one.expected, other.tree, case.mode),
    )
    if outcome:
        mapped, column = outcome
        assert identical([pair[0] for pair in calls], one.leaves)
        assert identical([pair[1] for pair in calls], column)
        assert same_tree(mapped, reference.unflatten(one.expected, made), case.mode.namespace)


def prefixes(case: Case) -> None:
    one, other = case.one, case.other
    below = reference.is_prefix(one.expected.root, other.expected.root)
    above = reference.is_prefix(other.expected.root, one.expected.root)
    assert one.spec.is_prefix(other.spec) is other.spec.is_suffix(one.spec) is (one.spec <= other.spec) is below
    assert (one.spec >= other.spec) is above
    assert (one.spec < other.spec) is (below and not above)
    outcome = agrees(
        lambda: one.spec.flatten_up_to(other.tree),
        lambda: reference.flatten_up_to(one.expected, other.tree, case.mode.sort),
    )
    assert outcome is None or identical(*outcome)


def broadcasts(case: Case) -> None:
    one, other = case.one, case.other
    outcome = agrees(
        lambda: one.spec.broadcast(other.spec),
        lambda: reference.broadcast(one.expected.root, other.expected.root),
    )
    if outcome:
        check_root(outcome[0], Spec(outcome[1], case.mode.none_is_leaf))
    if case.mode.is_leaf is None and reference.is_prefix(one.expected.root, other.expected.root):
        options = keywords(case.mode)
        spread = cp.tree_broadcast_prefix(one.tree, other.tree, **options)
        assert same_tree(spread, reference.unflatten(other.expected, repeated(one, other)), case.mode.namespace)


def repeated(one: Reading, other: Reading) -> list:
    """The leaves of a prefix, each for every leaf of the other tree below it."""
    leaves = iter(one.leaves)
    out: list = []

    def go(above: Node, below: Node) -> None:
        if above.kind == "leaf":
            out.extend([next(leaves)] * reference.num_leaves(below))
            return
        for pair in zip(above.children, below.children, strict=True):
            go(*pair)

    go(one.expected.root, other.expected.root)
    return out


def composition(case: Case) -> None:
    one, other = case.one, case.other
    if len(one.leaves) * other.spec.num_nodes > 300:
        return
    made = reference.compose(one.expected.root, other.expected.root)
    check_root(one.spec.compose(other.spec), Spec(made, case.mode.none_is_leaf))


# The costly ones are made for some of the cases.
CHECKS += [(flatten, 1), (the_spec, 1), (paths, 1), (unflatten, 1), (copies, 0.25)]
FIRST_OF_TWO = len(CHECKS)
CHECKS += [(equality, 1), (maps, 1), (prefixes, 1), (broadcasts, 0.4), (composition, 0.25)]
