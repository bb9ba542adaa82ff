"""Where memory ends or the user interrupts, there is an error, and the process lives on.

Each case runs in a process of its own, with a limit of memory.
"""

from __future__ import annotations

import pytest
from helpers import notes, run_python

import clika_pytree as cp

pytestmark = pytest.mark.unwatched

LIMITED = """
import gc, itertools, resource, signal, struct, sys
import clika_pytree as cp
from clika_pytree import _native
with open("/proc/self/statm") as statm:
    limit = int(statm.read().split()[0]) * resource.getpagesize() + 2**26
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

class Endless: pass
def endless(children):
    cp.register_pytree_node(Endless, lambda e: (children(), None), lambda c, x: Endless())

def runs_out(operation):
    try: operation()
    except MemoryError: pass
    else: raise AssertionError("this was to run out of memory")
    gc.collect()
    assert cp.tree_map(lambda x: x + 1, {"a": [1, (2,)]}) == {"a": [2, (3,)]}
"""
ENDLESS = {
    "one leaf": "lambda: itertools.repeat(1)",
    "numbers": "lambda: itertools.count()",
    "a generator": "lambda: (i for i in itertools.count())",
    "containers": "lambda: itertools.repeat([1, {'k': ()}])",
    "new containers": "lambda: ([i] for i in itertools.count())",
    "one more of the class": "lambda: (Endless(),)",
    "one more of the class, and leaves": "lambda: (1, Endless(), 2)",
    "many more of the class": "lambda: iter(Endless, 0)",
}
READERS = {
    "leaves": "cp.tree_leaves(Endless())",
    "flatten": "cp.tree_flatten([1, Endless()])",
    "structure": "cp.tree_structure((Endless(), 2))",
    "map": "cp.tree_map(lambda *leaves: 0, Endless())",
    "map for effect": "cp.tree_map_(lambda *leaves: 0, Endless(), Endless())",
    "flatten with paths": "cp.tree_flatten_with_path([Endless()])",
}


@pytest.mark.parametrize("children", ENDLESS.values(), ids=ENDLESS)
def test_endless_children_end_in_a_memory_error(children):
    readers = "".join(f"runs_out(lambda: {reader})\n" for reader in list(READERS.values())[1:3])
    run_python(f"{LIMITED}\nendless({children})\n{readers}", timeout=100)


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_every_reader_ends_in_a_memory_error(reader):
    run_python(f"{LIMITED}\nendless(lambda: itertools.repeat(1))\nruns_out(lambda: {reader})\n", timeout=100)


@pytest.mark.parametrize("reader", [*list(READERS.values())[:4], "list(cp.tree_iter(Endless()))"])
@pytest.mark.parametrize("children", ENDLESS.values(), ids=ENDLESS)
def test_endless_children_can_be_interrupted(children, reader):
    run_python(
        f"{LIMITED}\nendless({children})\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        f"try: signal.setitimer(signal.ITIMER_REAL, 0.02); {reader}\n"
        "except KeyboardInterrupt: pass\n"
        "else: raise AssertionError('nobody interrupted')\n",
        timeout=30,
    )


def test_a_list_of_what_an_endless_iterator_gives_is_a_memory_error():
    run_python(
        f"{LIMITED}\nendless(lambda: (1, Endless()))\nruns_out(lambda: list(cp.tree_iter(Endless())))\n", timeout=100
    )


ENDLESS_CONTEXT = """
import dataclasses
@dataclasses.dataclass(frozen=True)
class Value:
    value: object
    def __getattribute__(self, name):
        return Value(0) if name == "value" else object.__getattribute__(self, name)
class Node: pass
cp.register_pytree_node(Node, lambda node: ((), Value(1)), lambda c, x: Node())
spec = cp.tree_structure(Node())
"""


@pytest.mark.parametrize(
    "operation",
    [
        "hash(spec)",
        "spec == cp.tree_structure(Node())",
        "spec.is_prefix(cp.tree_structure(Node()))",
        "hash(cp.MappingKey(Value(1)))",
    ],
)
def test_a_context_that_makes_parts_of_itself_without_end_is_a_memory_error(operation):
    run_python(f"{LIMITED}\n{ENDLESS_CONTEXT}\nruns_out(lambda: {operation})\n", timeout=100)


ROOMY = LIMITED.replace("2**26", "2**30")
"""Enough for a structure of a million nodes, and not for a list of its leaves."""

LARGE = """
row = cp.tree_structure([0] * 10**6)
table = row.compose(row)
assert table.num_leaves == 10**12 and table.num_nodes == 10**12 + 10**6 + 1
"""
FORGED = """
nodes = struct.pack("<BIBI", 2, 2**32 - 1, 0, 2**32 - 1)
table = _native.treespec_from_state((1, True, nodes, (), []))
assert table.num_leaves == 2**32 - 1
"""


@pytest.mark.parametrize("operation", ["table.paths()", "table.key_paths()", "repr(table)", "str(table)"])
@pytest.mark.parametrize("made", [LARGE, FORGED], ids=["composed", "forged"])
def test_what_lists_more_leaves_than_memory_holds_is_a_memory_error(made, operation):
    run_python(f"{ROOMY}\n{made}\nruns_out(lambda: {operation})\n", timeout=100)


@pytest.mark.parametrize("operation", ["table.entries()", "table.children()", "table.unflatten(itertools.repeat(0))"])
def test_a_node_with_more_children_than_memory_holds_is_a_memory_error(operation):
    run_python(f"{ROOMY}\n{FORGED}\nruns_out(lambda: {operation})\n", timeout=100)


def test_what_needs_no_list_of_the_leaves_works_on_any_number_of_them():
    run_python(
        f"{ROOMY}\n{LARGE}\n"
        "assert table == row.compose(row) and hash(table) == hash(row.compose(row)) != hash(row)\n"
        "assert row.is_prefix(table) and not table.is_prefix(row)\n"
        "assert len(table.entries()) == table.num_children == 10**6\n"
        "assert table.child(-1) == row\n"
        "try: table.unflatten([0])\n"
        "except cp.LeafCountError as error: assert '1000000000000' in str(error)\n"
        "else: raise AssertionError\n",
        timeout=100,
    )


def test_numbers_that_no_spec_can_count_are_an_error():
    run_python(
        f"{ROOMY}\n{LARGE}\n"
        "for _ in range(4):\n"
        "    try: table = table.compose(row)\n"
        "    except (MemoryError, OverflowError, ValueError): break\n"
        "assert table.num_leaves in (10**12, 10**18) and table.num_nodes > table.num_leaves\n",
        timeout=100,
    )


# CPython before 3.14 loses an exception where it has no memory for the frame object of a caller
# (python/cpython#131173), so these are made while there is some.
HOARD = f"""{LIMITED}
hoard = ()
def use_up(*_):
    global hoard
    frame = sys._getframe()
    while frame: frame = frame.f_back
    for size in (2**20, 2**12, 2**7, 1):
        try:
            while True: hoard = (hoard, bytes(size))
        except MemoryError: pass
    raise MemoryError

def deep(tree):
    for _ in range(1000): tree = [tree]
    return tree

class Node: pass
class Context:
    __hash__ = __eq__ = use_up
class Key:
    __lt__ = use_up
def node(flatten, unflatten):
    cp.register_pytree_node(Node, flatten, unflatten)
    return deep(Node())
"""
USED_UP_BY = {
    "a flatten function": "tree = node(use_up, use_up)\ndef operation(): cp.tree_flatten(tree)",
    "a flatten function, iterating": "tree = node(use_up, use_up)\ndef operation(): list(cp.tree_iter(tree))",
    "a flatten function, matching": "calls = iter([lambda n: ((), 0), use_up])\n"
    "spec = cp.tree_structure(node(lambda n: next(calls)(n), use_up))\n"
    "def operation(): spec.flatten_up_to(deep(Node()))",
    "an unflatten function": "spec = cp.tree_structure(node(lambda n: ((), 0), use_up))\n"
    "def operation(): spec.unflatten(())",
    "is_leaf": "tree = deep(0)\ndef operation(): cp.tree_leaves(tree, is_leaf=lambda x: x == 0 and use_up())",
    "a mapped function": "tree = deep(0)\ndef operation(): cp.tree_map(use_up, tree)",
    "a mapped function of two trees": "tree = deep(0)\ndef operation(): cp.tree_map(use_up, tree, tree)",
    "a context's hash": "spec = cp.tree_structure(node(lambda n: ((), Context()), use_up))\n"
    "def operation(): hash(spec)",
    "a context's equality": "tree = node(lambda n: ((), Context()), use_up)\n"
    "Context.__hash__ = lambda self: 0\n"
    "one, other = cp.tree_structure(tree), cp.tree_structure(tree)\n"
    "def operation(): one == other",
    "keys without a common order": "tree = deep({Key(): 0, Key(): 1})\n"
    "def operation():\n    with cp.dict_insertion_ordered(False): cp.tree_flatten(tree)",
    "a function of transform": "spec = cp.tree_structure(deep(0))\ndef operation(): spec.transform(None, use_up)",
}


@pytest.mark.parametrize("case", USED_UP_BY.values(), ids=USED_UP_BY)
def test_a_memory_error_of_user_code_passes_where_there_is_no_memory_for_a_note(case):
    run_python(
        f"{HOARD}\n{case}\n"
        "try: operation()\n"
        "except MemoryError:\n"
        "    while hoard: hoard = hoard[0]  # freed at once it takes stack, which has no memory to grow\n"
        "else: raise AssertionError('this was to run out of memory')\n",
        timeout=100,
    )


def test_a_memory_error_of_user_code_has_a_note_where_there_is_memory_for_it():
    with pytest.raises(MemoryError) as caught:
        cp.tree_map(lambda leaf: bytearray(2**62), {"weights": [0]})
    assert notes(caught.value) == "clika_pytree: raised by the mapped function at ['weights'][0]"
