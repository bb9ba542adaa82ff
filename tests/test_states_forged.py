"""Forged states of a TreeSpec: each is refused at its node, and what claims to be huge takes no memory."""

from __future__ import annotations

import struct
import textwrap
from pathlib import Path
from typing import Any

import pytest
from classes import Pair, Point
from helpers import run_python

import clika_pytree as cp

NODES = {"leaves": 0, "list": 2, "dict": 4, "defaultdict": 6, "deque": 7, "namedtuple": 8, "custom": 9, "static": 11}


def state_of(*nodes: tuple[str | int, int], slots: tuple = (), orders: Any = (), none_is_leaf: bool = True) -> tuple:
    numbers = [(NODES.get(kind, kind), arity) for kind, arity in nodes]
    return 1, none_is_leaf, b"".join(struct.pack("<BI", *node) for node in numbers), slots, list(orders)


LEAF = ("leaves", 1)
FORGED = {
    "the last container is not complete": state_of(("list", 2), LEAF),
    "nodes are left over after the last one of the root, at node 2": state_of(("list", 1), LEAF, ("list", 0)),
    "nodes are left over after the last one of the root, at node 1": state_of(LEAF, LEAF),
    "a run of leaves is empty or longer than its container, at node 1": state_of(("list", 1), ("leaves", 2)),
    "longer than its container, at node 2": state_of(("list", 2), LEAF, ("leaves", 2**32 - 1)),
    "an unknown kind, at node 1": state_of(("list", 1), (12, 0)),
    "None is a node, and the mode says that None is a leaf, at node 1": state_of(("list", 1), (1, 0)),
    "None with children, at node 0": state_of((1, 1), LEAF, none_is_leaf=False),
    "the key a list can't be hashed, at node 0": state_of(("dict", 1), LEAF, slots=([],)),
    "the key a dict can't be hashed, at node 1": state_of(("list", 1), ("defaultdict", 1), LEAF, slots=(int, {})),
    "the same key twice, at node 0": state_of(("dict", 2), ("leaves", 2), slots=(1, True)),
    "slots are missing, at node 0": state_of(("dict", 10**9), ("leaves", 10**9)),
    "slots are left over": state_of(LEAF, slots=(1,)),
    "an unfit maxlen, at node 0": state_of(("deque", 1), LEAF, slots=(2**63,)),
    "an unfit maxlen, at node 1": state_of(("list", 1), ("deque", 2), ("leaves", 2), slots=(1,)),
    "is none, or has another number of fields, at node 0": state_of(("namedtuple", 1), LEAF, slots=(Point,)),
    "a class that is not registered, at node 0": state_of(("custom", 1), LEAF, slots=(Pair, None, None)),
    "does not belong to a dict, at node 0": state_of(("list", 1), LEAF, orders=[(0, [0])]),
    "does not belong to a dict, at node 7": state_of(("dict", 1), LEAF, slots=("a",), orders=[(7, [0])]),
}


@pytest.mark.parametrize("message", FORGED)
def test_a_forged_state_is_refused_at_its_node(message):
    with pytest.raises(cp.PyTreeValueError) as caught:
        cp._native.treespec_from_state(FORGED[message])
    assert message in str(caught.value)
    assert str(caught.value).startswith("damaged TreeSpec: ")


@pytest.mark.parametrize("state", [None, [], (), (1,), (1, True, b"", (), None), ("1", True, b"", (), [])])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(cp.PyTreeValueError, match=r"^damaged TreeSpec: "):
        cp._native.treespec_from_state(state)


@pytest.mark.parametrize("fields", [[], (), (("x", "y"), ("x", "y")), "ab"])
def test_the_fields_of_a_state_must_be_those_of_its_namedtuples(fields):
    state = cp._native.treespec_state(cp.tree_structure([Point(0, 0)]))
    with pytest.raises(cp.PyTreeValueError, match="the fields of its namedtuples are"):
        cp._native.treespec_from_state(state, fields)
    with pytest.raises(cp.PyTreeValueError, match="node 1: a namedtuple has other fields"):
        cp._native.treespec_from_state(state, (("y", "x"),))


@pytest.mark.unwatched
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is limited as Linux does it")
def test_a_structure_of_a_billion_leaves_takes_no_memory_until_it_is_used():
    script = """
        import resource, struct
        import clika_pytree as cp

        def flat(kind, count):
            nodes = struct.pack("<BIBI", kind, count, 0, count)
            return cp._native.treespec_from_state((1, True, nodes, (), []))

        def may_use(megabytes):
            used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), resource.RLIM_INFINITY))

        may_use(64)
        wide = flat(2, 10**9)
        assert wide == flat(2, 10**9) and hash(wide) == hash(flat(2, 10**9)) and wide.num_leaves == 10**9
        for method, argument in (("broadcast", flat(3, 10**9)), ("unflatten", [1])):
            try: getattr(wide, method)(argument)
            except cp.StructureError as error: assert len(str(error)) < 400
        try: wide.flatten_up_to([1])  # asks for room for the leaves first
        except (cp.StructureError, MemoryError): pass
        for megabytes in range(8, 160, 8):  # wherever the memory ends, in its text or in Python's copy of that
            may_use(megabytes)
            try: text = repr(flat(2, 10**7))
            except MemoryError: continue
            assert len(text) == 3 * 10**7 + 10
            del text
        print("done")
    """
    assert "done" in run_python(textwrap.dedent(script)).stdout
