"""The interpreter ends silently, whatever is alive of the library, wherever it is held, whoever calls it last."""

from __future__ import annotations

import sys

import pytest
from helpers import run_python

PREAMBLE = """
import atexit, enum, gc, sys, threading, time, weakref
from collections import OrderedDict, defaultdict, deque
import clika_pytree as cp
from classes import *

class Key:
    def __hash__(self): return 7
    def __eq__(self, other): return self is other
    def __lt__(self, other): return id(self) < id(other)

def make():
    key = Key()
    tree = {key: [1, (2,)], "o": OrderedDict({key: 1}), "d": defaultdict(Key, {key: 2}), "q": deque([3], 4),
            "t": Tagged(1, 2, (key, [key])), "s": Sample(1, 2, key), "c": Config(key), "p": Point(1, 2)}
    spec = cp.tree_structure(tree)
    leaves = cp.tree_iter(tree, is_leaf=lambda x: x is key)
    next(leaves)
    spec.key_paths(), hash(spec), spec == cp.tree_structure(tree)
    return [spec, leaves, tree, key, spec.children(), cp.tree_leaves_with_path(tree), {spec: "a guard"}]

def use():
    class Unseen: pass
    class Late(enum.Enum):
        B = 1
        A = 2
    Row = type("Row", (tuple,), {"_fields": ("a", "b")})
    tree = [Unseen(), Row((1, 2)), {Late.A: 1, Late.B: 2}, {"k": Tagged(1, 2, 3)}]
    leaves, spec = cp.tree_flatten(tree)
    assert len(cp.tree_leaves(spec.unflatten(leaves))) == len(leaves) == 7
    with cp.dict_insertion_ordered(False):
        cp.tree_map(lambda *pair: pair, tree, tree)
    assert list(cp.tree_iter(tree)) and repr(spec) and hash(spec) and cp.tree_leaves_with_path(tree)
    try: spec.unflatten([])
    except cp.LeafCountError: pass

class Last:
    "Uses the library when it goes."
    def __del__(self): use()
"""

HELD = {
    "globals": "held = make()",
    "a circle of globals": "held = make(); held.append(held); Key.held = held",
    "the module itself": "cp.held = make(); sys.modules['clika_pytree.held'] = cp.held",
    "builtins": "import builtins; builtins.held = make()",
    "a class that is registered": (
        "class Local: pass\n"
        "cp.register_pytree_node(Local, lambda x: ((1,), Local), lambda c, x: Local())\n"
        "Local.held = [cp.tree_structure(Local()), make()]"
    ),
    "a class that was": (
        "class Local: pass\n"
        "cp.register_pytree_node(Local, lambda x: ((1,), Local), lambda c, x: Local())\n"
        "Local.held = [cp.tree_structure(Local()), make()]\n"
        "cp.unregister_pytree_node(Local)"
    ),
    "an open block": "block = cp.dict_insertion_ordered(False); block.__enter__(); held = make()",
    "a suspended generator": (
        "def reading():\n"
        "    with cp.dict_insertion_ordered(False):\n"
        "        yield cp.tree_iter(make())\n"
        "        yield 2\n"
        "held = reading(); next(held)"
    ),
    "a thread's own data": (
        "local = threading.local()\n"
        "def body(): local.held = make()\n"
        "for _ in range(3):\n"
        "    thread = threading.Thread(target=body); thread.start(); thread.join()\n"
        "local.held = make()"
    ),
    "a thread that goes on": (
        "started = threading.Event()\n"
        "def body():\n"
        "    held = make()\n"
        "    while True:\n"
        "        leaves, spec = cp.tree_flatten({'a': [1, (2,)], 'b': deque([3])})\n"
        "        spec.unflatten(leaves); repr(spec); started.set()\n"
        "threading.Thread(target=body, daemon=True).start()\n"
        "started.wait()"
    ),
    "a thread in the middle of a walk": (
        "started = threading.Event()\n"
        "def wait(leaf):\n"
        "    started.set(); time.sleep(60)\n"
        "threading.Thread(target=lambda: cp.tree_map(wait, make()[2]), daemon=True).start()\n"
        "started.wait()"
    ),
    "an exception's traceback": (
        "try: cp.tree_map(lambda leaf: 1 / 0, make()[2])\nexcept ZeroDivisionError as error: held = error"
    ),
    "a weak reference": "held = make()[0]; ref = weakref.ref(held, lambda ref: use())",
}


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_what_is_alive_does_no_harm(held):
    done = run_python(f"{PREAMBLE}\n{held}\n")
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.xfail(
    sys.version_info < (3, 14),
    reason="CPython before 3.14 ends such a thread by unwinding its stack, which ends the process in Rust's frames",
    strict=False,
)
def test_a_thread_in_the_middle_of_a_mapped_function_does_no_harm():
    done = run_python(
        f"{PREAMBLE}\n"
        "started = threading.Event()\n"
        "def body():\n"
        "    while True: cp.tree_map(lambda x: started.set() or sum(range(1000)), [1] * 100)\n"
        "threading.Thread(target=body, daemon=True).start()\n"
        "started.wait()"
    )
    assert (done.stdout, done.stderr) == ("", "")


LAST = {
    "an atexit handler": "atexit.register(use)",
    "an atexit handler that makes more": "held = []; atexit.register(lambda: held.append(make()))",
    "a finalizer of a global": "last = Last()",
    "a finalizer in a circle": "last = Last(); last.own = last; del last",
    "a finalizer in a tree": "held = cp.tree_iter([1, Last()]); next(held)",
    "a finalizer of a key": "held = cp.tree_structure({Last(): 1})",
    "a finalizer of a context": "held = cp.tree_structure(Tagged(1, 2, Last()))",
    "weakref.finalize": "held = make(); weakref.finalize(held[3], use)",
    "a module that is torn down": (
        "import types\n"
        "module = types.ModuleType('late'); sys.modules['late'] = module\n"
        "module.use, module.last = use, Last()"
    ),
    "the end of a walk": "cp.tree_map(lambda leaf: leaf == 2 and sys.exit(0), [1, [2, 3]])",
    "the end in a flatten function": (
        "class Local: pass\n"
        "cp.register_pytree_node(Local, lambda x: sys.exit(0), lambda c, x: Local())\n"
        "held = make(); cp.tree_flatten([1, {'k': Local()}])"
    ),
}


@pytest.mark.parametrize("last", LAST.values(), ids=LAST)
def test_whoever_calls_last_gets_an_answer(last):
    done = run_python(f"{PREAMBLE}\n{last}\n")
    assert (done.stdout, done.stderr) == ("", "")
