"""A spec travels by pickle: within a process, to another one, and damaged on the way."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from classes import ALPHA, AlphaOnly, Sample, Tagged, every_kind
from helpers import run_python
from hypothesis import given
from hypothesis import strategies as st
from strategies import modes, trees
from test_treespec import DIFFERENT

import clika_pytree as cp

structure = cp.tree_structure


def test_a_spec_travels_to_another_process():
    with cp.dict_insertion_ordered(False):
        spec = structure(every_kind(), none_is_leaf=False)
    assert [child.kind for child in spec.children()][:2] == ["dataclass", "dataclass"]  # None, then 1.0
    done = run_python(
        "import pickle, classes, clika_pytree as cp\n"
        f"spec = pickle.loads({pickle.dumps(spec)!r})\n"
        "with cp.dict_insertion_ordered(False):\n"
        "    leaves, own = cp.tree_flatten(classes.every_kind(), none_is_leaf=False)\n"
        "assert spec == own and hash(spec) == hash(own) and repr(spec) == repr(own)\n"
        "print(list(spec.unflatten(leaves)), list(spec.unflatten(leaves)['d']))\n"
    )
    assert done.stdout == "['b', 'a', 1.0, 'd', 'o', None] ['z', 'y']\n"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_pickle_protocol(protocol):
    for tree in DIFFERENT:
        spec = structure(tree)
        assert pickle.loads(pickle.dumps(spec, protocol)) == spec


def test_a_class_that_is_not_registered_where_the_pickle_is_read_is_named():
    spec = structure(AlphaOnly(1, 2), namespace=ALPHA)
    pickled = pickle.dumps([spec])
    script = (
        "import classes, pickle, clika_pytree as cp\n"
        f"cp.unregister_pytree_node(classes.AlphaOnly, namespace={ALPHA!r})\n"
        f"try: pickle.loads({pickled!r})\n"
        "except cp.PyTreeError as error: print(error)\n"
    )
    assert "AlphaOnly" in run_python(script).stdout


def test_a_pickle_holds_copies_of_what_the_spec_holds():
    spec = structure({"a": 0, "b": Tagged(0, 0, [1, 2])})
    state = spec.__reduce_ex__(4)
    stack = [state]
    while stack:  # spoil every list that the state is made of
        item = stack.pop()
        if type(item) in (tuple, list):
            stack.extend(item)
        if isinstance(item, list):
            item.clear()
    assert spec == structure({"a": 0, "b": Tagged(0, 0, [1, 2])})
    assert spec.child(1).context == [1, 2]


# --- fields that changed ----------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Fields:
    x: Any = 0
    y: Any = 0
    z: Any = 0


ROLES: list[tuple[list[str], list[str], list[str]]] = [
    (["x"], ["y", "z"], []),
    (["y"], ["x", "z"], []),
    (["x", "y"], ["z"], []),
    (["y", "x"], ["z"], []),
    (["x", "y", "z"], [], []),
    (["z", "y", "x"], [], []),
    (["x", "y"], [], ["z"]),
    (["x", "z"], [], ["y"]),
    (["x"], ["y"], ["z"]),
    (["x"], ["z"], ["y"]),
    ([], ["x", "y", "z"], []),
]


@pytest.fixture
def _forgotten() -> Iterator[None]:
    yield
    if cp.is_registered(Fields):
        cp.unregister_pytree_node(Fields)


def with_roles(data: list[str], meta: list[str], dropped: list[str]) -> cp.TreeSpec:
    if cp.is_registered(Fields):
        cp.unregister_pytree_node(Fields)
    cp.register_dataclass(Fields, data, meta, drop_fields=dropped)
    return structure([Fields()])


@pytest.mark.usefixtures("_forgotten")
def test_specs_of_a_dataclass_registered_with_other_fields_are_unequal():
    specs = [with_roles(*roles) for roles in ROLES]
    again = [with_roles(*roles) for roles in ROLES]
    for i, a in enumerate(specs):
        for j, b in enumerate(again):
            assert (a == b) is (i == j), (ROLES[i], ROLES[j])
            assert (a != b) is (i != j)
            assert a.is_prefix(b) is (i == j)
            assert hash(a) == hash(b) or i != j
    assert len(set(specs + again)) == len(ROLES)


@pytest.mark.usefixtures("_forgotten")
def test_a_pickle_from_before_the_fields_changed_is_refused():
    for old in ROLES:
        spec = with_roles(*old)
        pickled = pickle.dumps(spec)
        for new in ROLES:
            current = with_roles(*new)
            if new == old:
                assert pickle.loads(pickled) == spec == current
                continue
            with pytest.raises(ValueError, match="Fields") as caught:
                pickle.loads(pickled)
            assert isinstance(caught.value, cp.PyTreeError)


@pytest.mark.parametrize("fields", ["y x", "x", "x y z", "x z", ""])
def test_a_pickle_of_a_namedtuple_whose_fields_changed_is_refused(fields):
    script = (
        "import pickle, clika_pytree as cp\n"
        "from collections import namedtuple\n"
        "Row = namedtuple('Row', 'x y')\n"
        "spec = cp.tree_structure({'rows': [Row(1, 2)]})\n"
        "pickled = pickle.dumps(spec)\n"
        "Row = namedtuple('Row', 'x y')\n"
        "assert pickle.loads(pickled).paths() == spec.paths()\n"
        f"Row = namedtuple('Row', {fields!r})\n"
        "try: pickle.loads(pickled)\n"
        "except ValueError as error: print(type(error).__name__, error)\n"
    )
    assert "fields" in run_python(script).stdout


# --- damaged pickles --------------------------------------------------------------------------------------------------

strangers = st.sampled_from(
    [None, 0, 1, -1, 2**31, 2**63, 2**100, 1.5, "", "x", b"", b"\0" * 5, (), (0,), [], {}, object, list]
)


def places(state: Any) -> list[tuple]:
    """Where something stands in the nested tuples and lists of a state."""
    found: list[tuple] = []
    stack: list[tuple[tuple, Any]] = [((), state)]
    while stack:
        place, item = stack.pop()
        if type(item) in (tuple, list):
            for index, below in enumerate(item):
                found.append((*place, index))
                stack.append(((*place, index), below))
    return found


def replaced(state: Any, place: tuple, change: Any) -> Any:
    if not place:
        return change(state)
    items = list(state)
    items[place[0]] = replaced(items[place[0]], place[1:], change)
    return type(state)(items)


def damage(data: st.DataObject) -> Any:
    """One way to spoil a part of a state."""

    def change(part: Any) -> Any:
        if isinstance(part, bytes) and part and data.draw(st.booleans()):
            at = data.draw(st.integers(0, len(part) - 1))
            return data.draw(
                st.sampled_from([part[:at], part[:at] + bytes([part[at] ^ 1 << at % 8]) + part[at + 1 :], part * 2])
            )
        if type(part) in (tuple, list) and part and data.draw(st.booleans()):
            return data.draw(st.sampled_from([part[:-1], part[1:], part * 2, part[::-1]]))
        if type(part) is int and data.draw(st.booleans()):
            return part + data.draw(st.sampled_from([-1, 1]))
        return data.draw(strangers)

    return change


def load(reduced: tuple) -> Any:
    make, arguments, *state = reduced
    spec = make(*arguments)
    if state and state[0] is not None:
        spec.__setstate__(state[0])
    return spec


def nodes_of(*nodes: tuple[int, int]) -> bytes:
    return b"".join(bytes([kind]) + arity.to_bytes(4, "little") for kind, arity in nodes)


LEAVES, NONE, LIST, DICT, DEFAULTDICT, DEQUE, NAMEDTUPLE, CUSTOM = 0, 1, 2, 4, 6, 7, 8, 9
MOST = 2**32 - 1
FORGED_STATES: list[tuple[bytes, tuple]] = [
    (b"", ()),
    (nodes_of((LIST, 10**9)), ()),
    (nodes_of((LIST, MOST), (LIST, MOST), (LEAVES, MOST)), ()),
    (nodes_of((DICT, 10**9)), ()),
    (nodes_of((DICT, MOST), (LEAVES, MOST)), ("a",)),
    (nodes_of((LEAVES, 10**9)), ()),
    (nodes_of((LEAVES, 0)), ()),
    (nodes_of((LIST, 1), (LEAVES, 2)), ()),
    (nodes_of((LIST, 1), (LEAVES, 1), (LEAVES, 1)), ()),
    (nodes_of((LIST, 2), (LEAVES, 1))[:-1], ()),
    (nodes_of((12, 0)), ()),
    (nodes_of((NONE, 0)), ()),
    (nodes_of((LIST, 0)), ("left over",)),
    (nodes_of((DICT, 2), (LEAVES, 2)), (1, True)),
    (nodes_of((DICT, 1), (LEAVES, 1)), ([],)),
    (nodes_of((DEFAULTDICT, 0)), (3,)),
    (nodes_of((DEQUE, 1), (LEAVES, 1)), (-1,)),
    (nodes_of((DEQUE, 1), (LEAVES, 1)), (0,)),
    (nodes_of((DEQUE, 0)), (10**30,)),
    (nodes_of((NAMEDTUPLE, 1), (LEAVES, 1)), (Sample,)),
    (nodes_of((NAMEDTUPLE, 1), (LEAVES, 1)), (tuple,)),
    (nodes_of((CUSTOM, 0)), (Tagged, None, None)),
]


@pytest.mark.parametrize("number", range(len(FORGED_STATES)))
def test_a_forged_state_is_refused(number):
    nodes, slots = FORGED_STATES[number]
    load, (good, fields) = structure([0]).__reduce__()
    version, none_is_leaf, *_ = good
    with pytest.raises(cp.PyTreeValueError, match=r"^damaged TreeSpec: "):
        load((version, none_is_leaf, nodes, slots, []), fields)


@pytest.mark.parametrize(
    "order", [(0, [0, 0]), (0, [1]), (0, [0, 2]), (1, [0, 1]), (5, [0, 1]), (0, []), (0, [1, 0, 2])]
)
def test_a_forged_order_is_refused(order):
    with cp.dict_insertion_ordered(False):
        spec = structure({"b": 0, "a": 0})
    load, (state, fields) = spec.__reduce__()
    *most, orders = state
    assert load((*most, orders), fields) == spec
    with pytest.raises(ValueError, match="order"):
        load((*most, [order]), fields)


def test_a_state_that_contains_itself_is_refused_or_sound():
    circle: list = []
    circle.append((circle, {"k": circle}))
    load, (state, fields) = structure([Tagged(0, 0, 1), {"key": 0}]).__reduce__()
    version, none_is_leaf, nodes, slots, orders = state
    for forged in (
        (circle, none_is_leaf, nodes, slots, orders),
        (version, none_is_leaf, nodes, circle, orders),
        (version, none_is_leaf, nodes, slots, circle),
        (version, none_is_leaf, nodes, (circle, *slots[1:]), orders),
        (version, none_is_leaf, nodes, (*slots[:3], circle), orders),
    ):
        with pytest.raises(cp.PyTreeValueError, match=r"^damaged TreeSpec: "):
            load(forged, fields)
    spec = load((version, none_is_leaf, nodes, (slots[0], circle, *slots[2:]), orders), fields)
    assert spec.num_leaves == 3
    assert "..." in repr(spec)
    for operation in (hash, cp.treespec_dumps, cp.TreeSpec.fingerprint):
        with pytest.raises(cp.PyTreeError, match="contains itself"):
            operation(spec)


def test_every_truncation_of_a_pickle_is_an_error():
    with cp.dict_insertion_ordered(False):
        whole = pickle.dumps(structure(every_kind(), none_is_leaf=False))
    for end in range(len(whole)):
        with pytest.raises((pickle.UnpicklingError, ValueError, TypeError, EOFError, IndexError, AttributeError)):
            pickle.loads(whole[:end])


@given(trees, modes, st.data())
def test_a_forged_state_is_an_error_or_a_sound_spec(tree, mode, data):
    reduced = structure(tree, mode.is_leaf, none_is_leaf=mode.none_is_leaf, namespace=mode.namespace).__reduce_ex__(4)
    assert len(reduced[1:]) >= 1
    forged = reduced[1:]
    for _ in range(data.draw(st.integers(1, 3))):
        spots = [place for place in places(forged) if len(place) > 1]
        forged = replaced(forged, data.draw(st.sampled_from(spots)), damage(data))
    try:
        spec = load((reduced[0], *forged))
    except cp.PyTreeValueError:
        return
    assert isinstance(spec, cp.TreeSpec)
    if spec.num_leaves < 10_000:
        assert len(spec.paths()) == spec.num_leaves
        assert repr(spec).startswith("TreeSpec(")
        assert len(spec.children()) == len(spec.entries()) == spec.num_children
        assert spec.is_prefix(spec)
        assert pickle.loads(pickle.dumps(spec)) == spec


@given(st.data())
def test_a_truncated_or_flipped_pickle_is_an_error_or_a_sound_spec(data):
    whole = pickle.dumps(structure({"a": [0, (1,)], "b": Tagged(0, 0, "t"), "c": Sample(0, 0, [1])}))
    at = data.draw(st.integers(0, len(whole) - 1))
    flipped = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    for damaged in (whole[:at], flipped):
        try:
            loaded = pickle.loads(damaged)
        except Exception:
            continue
        assert not isinstance(loaded, cp.TreeSpec) or repr(loaded)
