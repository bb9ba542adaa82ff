"""User code that calls what called it, without end: an error, however much Python itself allows.

Each case runs in a process of its own: what it guards against is the end of the native stack.
"""

from __future__ import annotations

import sys

import pytest
from helpers import run_python

PREAMBLE = """
import sys
import clika_pytree as cp

class Node: pass

def node(flatten=lambda node: ((), None), unflatten=lambda children, context: Node()):
    cp.register_pytree_node(Node, flatten, unflatten)
    return cp.tree_structure(Node()) if flatten(0) else None

class Key: pass
one_key, other_key = cp.MappingKey(Key()), cp.MappingKey(Key())

class Context:
    def __hash__(self): return hash(cp.tree_structure(Node()))

sys.setrecursionlimit(10**6)
one = cp.tree_structure([0])
functions = [lambda node: ((), None)]
"""
CALLS = {
    "tree_map": "call = lambda leaf=0: cp.tree_map(call, [leaf])",
    "tree_map of two": "call = lambda leaf=0, other=0: cp.tree_map(call, [leaf], [other])",
    "tree_map_": "call = lambda leaf=0: cp.tree_map_(call, [leaf])",
    "tree_map_only": "call = lambda leaf=0: cp.tree_map_only(int, call, [leaf])",
    "tree_map_with_path": "call = lambda path=0, leaf=0: cp.tree_map_with_path(call, [leaf])",
    "is_leaf": "call = lambda node=0: cp.tree_leaves([node], call)",
    "tree_iter": "call = lambda node=0: list(cp.tree_iter([node], call))",
    "flatten_fn": (
        "node(lambda node: functions[0](node))\nfunctions[0] = cp.tree_flatten\ncall = lambda: cp.tree_flatten(Node())"
    ),
    "unflatten_fn": "spec = node(unflatten=lambda *parts: spec.unflatten([])); call = lambda: spec.unflatten([])",
    "flatten_up_to": (
        "spec = node(lambda node: functions[0](node))\nfunctions[0] = spec.flatten_up_to\n"
        "call = lambda: spec.flatten_up_to(Node())"
    ),
    "hash": "node(lambda node: ((), Context())); call = lambda: hash(cp.tree_structure(Node()))",
    "fingerprint": (
        "call = lambda context=0: cp.tree_structure(Node()).fingerprint()\n"
        "cp.register_pytree_node(Node, lambda node: ((), Node), lambda children, context: Node(), "
        "serialized_type_name='node', to_dumpable_context=call, from_dumpable_context=call)"
    ),
    "hash of a key": "Key.__hash__ = lambda key: hash(cp.MappingKey(key)); call = lambda: hash(Key())",
    "equality of keys": "Key.__eq__ = lambda *keys: one_key == other_key; call = lambda: one_key == other_key",
    "text of a key": "Key.__repr__ = lambda key: cp.keystr((one_key,)); call = lambda: repr(Key())",
    "prefix": (
        "Key.__eq__ = lambda *keys: one.is_prefix(other); Key.__hash__ = lambda key: 0\n"
        "node(lambda node: ((), Key())); one, other = (cp.tree_structure(Node()) for _ in range(2))\n"
        "call = lambda: one.is_prefix(other)"
    ),
    "transform": "call = lambda leaf=0: one.transform(None, call)",
    "walk, f_node": "call = lambda *parts: one.walk([0], call)",
    "walk, f_leaf": "call = lambda leaf=0: one.walk([0], None, call)",
}

# CPython 3.12 counts what C calls apart from what Python calls, and allows 1500 of it whatever limit is set.
SAID = ["calls inside one another", *["maximum recursion depth exceeded"] * (sys.version_info[:2] == (3, 12))]


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_without_end_are_an_error(call):
    run_python(
        f"{PREAMBLE}\n{call}\n"
        "for _ in range(3):\n"
        "    try: call()\n"
        f"    except RecursionError as error: assert any(said in str(error) for said in {SAID}), error\n"
        "    else: raise AssertionError\n"
        "assert cp.tree_map(lambda x: x + 1, {'a': [1]}) == {'a': [2]}\n"
    )


def test_a_hundred_calls_inside_one_another_are_none():
    run_python(
        f"{PREAMBLE}\n"
        "def deeper(leaf): return leaf if leaf == 100 else cp.tree_map(deeper, [leaf + 1])[0]\n"
        "assert cp.tree_map(deeper, 0) == 100\n"
    )
