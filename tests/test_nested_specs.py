"""Specs, iterators and blocks that hold each other in long chains: they are compared, hashed and freed in loops.

What fails here would end the process, so every case has one of its own.
"""

from __future__ import annotations

import pytest
from helpers import SMALL_STACK, run_python

COMPARED, FREED, HELD = 20_000, 50_000, 400_000

SETUP = """
import contextvars, dataclasses, os, sys, threading
from collections import deque, namedtuple
from typing import Any
import clika_pytree as cp
from classes import Box, Config, Point, Sample, Tagged
from clika_pytree import _native
structure = cp.tree_structure

@dataclasses.dataclass
class Holder:
    value: Any

def on_a_small_stack(work):
    failed = []
    def body():
        try:
            work()
        except BaseException as error:
            failed.append(error)
    threading.stack_size({stack})
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]

def chain(depth, wrap, end=1):
    spec = structure(end)
    for _ in range(depth):
        spec = structure(wrap(spec))
    return spec
""".format(stack=SMALL_STACK)  # noqa: UP032 - the braces of an f-string would have to be doubled where it holds code

WRAPS = {
    "context": "lambda spec: Tagged(0, 0, spec)",
    "tuple in a context": "lambda spec: Tagged(0, 0, (1, (spec,)))",
    "list in a context": "lambda spec: Tagged(0, 0, [spec])",
    "value of a dict in a context": "lambda spec: Tagged(0, 0, {'k': spec})",
    "namedtuple in a context": "lambda spec: Tagged(0, 0, Point(spec, 0))",
    "dataclass in a context": "lambda spec: Tagged(0, 0, Holder(spec))",
    "slice in a context": "lambda spec: Tagged(0, 0, slice(spec, None))",
    "meta field": "lambda spec: Sample(0, 0, spec)",
    "static object": "lambda spec: Config(spec)",
    "far down in the tree": "lambda spec: [0, {'k': (0, Tagged(0, 0, spec))}]",
}
HASHED_ON_THE_WAY = {
    "key of a dict": "lambda spec: {spec: 0}",
    "key of a dict in a context": "lambda spec: Tagged(0, 0, {spec: 0})",
    "frozenset in a context": "lambda spec: Tagged(0, 0, frozenset({spec}))",
}
"""Here Python hashes each spec before the next one is made, so only the first comparison goes all the way down."""

every_wrap = pytest.mark.parametrize(
    "wrap", {**WRAPS, **HASHED_ON_THE_WAY}.values(), ids={**WRAPS, **HASHED_ON_THE_WAY}
)


def check(source: str, small_stack: bool = False) -> None:
    """Run `source` in a process of its own, on a thread with a small stack if so told."""
    body = "".join(f"    {line}\n" for line in source.splitlines())
    run_python(f"{SETUP}\ndef work():\n{body}\n{'on_a_small_stack(work)' if small_stack else 'work()'}\n", timeout=20)


# --- compared and hashed ----------------------------------------------------------------------------------------------


@every_wrap
def test_specs_in_specs_are_compared_and_hashed_without_recursion(wrap):
    check(
        f"one, same, other = [chain({COMPARED}, {wrap}, end) for end in (1, 2, [1])]\n"
        "assert (one == same) is True and (one != same) is False\n"
        "assert (one == other) is False and (one != other) is True\n"
        "assert hash(one) == hash(same) != hash(other)\n"
        "assert len({one, same, other}) == 2\n"
        "assert one.is_prefix(same) and not one.is_prefix(other)\n",
        small_stack=True,
    )


@pytest.mark.parametrize("first", ["hash", "==", "is_prefix", "key", "flatten_up_to"])
def test_whichever_operation_comes_first(first):
    operation = {
        "hash": "assert hash(one) == hash(same)",
        "==": "assert one == same and not one == other",
        "is_prefix": "assert one.is_prefix(same) and not one.is_prefix(other)",
        "key": "assert {one: 1}[same] == 1 and other not in {one: 1}",
        "flatten_up_to": "assert one.flatten_up_to(wrap(below)) == [0, 0]",
    }[first]
    check(
        "wrap = lambda spec: Tagged(0, 0, spec)\n"
        f"below = chain({COMPARED - 1}, wrap)\n"
        f"one, same, other = chain({COMPARED}, wrap), structure(wrap(below)), chain({COMPARED}, wrap, [])\n"
        f"{operation}\n",
        small_stack=True,
    )


def test_what_stands_in_a_spec_counts_as_it_does_in_any_spec():
    check(
        "def inner(tree, **options): return structure(Tagged(0, 0, [structure(tree, **options)]))\n"
        "trees = [1, [1], (1,), {'a': 1}, {'b': 1}, {1: 0}, {True: 0}, Config(1), Config(True), Config(1.0), None]\n"
        "specs = [inner(tree) for tree in trees] + [inner(None, none_is_leaf=False), inner(1, none_is_leaf=False)]\n"
        "again = [inner(tree) for tree in trees] + [inner(None, none_is_leaf=False), inner(1, none_is_leaf=False)]\n"
        "for i, a in enumerate(specs):\n"
        "    for j, b in enumerate(again):\n"
        "        same = i == j or {i, j} == {0, 10}  # a leaf, and None read as a leaf\n"
        "        assert (a == b) is same, (a, b)\n"
        "        assert hash(a) == hash(b) or not same\n"
        "assert len(set(specs + again)) == len(specs) - 1\n"
        "with cp.dict_insertion_ordered(False):\n"
        "    ordered = inner({'b': 1, 'a': 1})\n"
        "assert ordered == inner({'a': 1, 'b': 1})\n"
        "assert hash(ordered) == hash(inner({'a': 1, 'b': 1}))\n"
    )


def test_an_unusable_value_in_a_spec_in_a_spec_is_refused():
    check(
        "import numpy as np\n"
        f"one, other = [chain({COMPARED}, lambda s: Tagged(0, 0, s), Tagged(0, 0, np.zeros(2))) for _ in range(2)]\n"
        "for operation in (lambda: hash(one), lambda: one == other, lambda: one != other, lambda: {one}):\n"
        "    for _ in range(2):\n"
        "        try: operation()\n"
        "        except cp.ContextError as error: assert 'ndarray' in str(error) and len(str(error)) < 1000\n"
        "        else: raise AssertionError('this was to fail')\n"
    )


@pytest.mark.parametrize(
    "held",
    [
        "s",
        "(1, (s,))",
        "[s]",
        "{'k': s}",
        "Point(s, 0)",
        "slice(s)",
        "Holder([s])",
        "structure(Config(s))",
        "structure(Tagged(0, 0, s))",
    ],
)
def test_a_spec_that_holds_itself_is_refused(held):
    check(
        "@cp.register_static\n"
        "@dataclasses.dataclass\n"
        "class Own:\n"
        "    name: str\n"
        "    spec: Any = None\n"
        "def circle():\n"
        "    own = Own('a')\n"
        "    s = structure([own])\n"
        f"    own.spec = {held}\n"
        "    return s\n"
        "one, other = circle(), circle()\n"
        "for operation in (lambda: hash(one), lambda: one == other, lambda: one != other, lambda: {other}):\n"
        "    for _ in range(2):\n"
        "        try: operation()\n"
        "        except cp.ContextError as error:\n"
        "            assert 'contains itself' in str(error), error\n"
        "            assert 'Own' in str(error) and '[0]' in str(error), error\n"
        "        else: raise AssertionError('this was to fail')\n"
        "assert one == one\n"
    )


def test_a_spec_that_holds_itself_is_printed_with_dots():
    check(
        "class Plain:\n"
        "    def __repr__(self): return f'Plain({self.held!r})'\n"
        "class Unnamed: pass\n"
        "def holding(context):\n"
        "    context.held = structure([Tagged(0, 0, context)])\n"
        "    return context.held\n"
        "spec = holding(Plain())\n"
        "assert repr(spec) == 'TreeSpec([CustomTreeNode(Tagged[Plain(TreeSpec(...))], [*, *])])'\n"
        "assert repr(spec) == str(spec) == f'{spec}'\n"
        "inner, outer = Plain(), Plain()\n"
        "inner.held, outer.held = structure(Tagged(0, 0, (outer,))), structure(Tagged(0, 0, [inner]))\n"
        "for held in (inner.held, outer.held):\n"
        "    assert repr(held).count('TreeSpec(') == 3 and repr(held).count('TreeSpec(...)') == 1\n"
        "assert repr([spec, spec]) == f'[{spec}, {spec}]'\n"
        "try: spec.flatten_up_to([3])\n"
        "except cp.StructureError as error: assert len(str(error)) < 300\n"
        "try: spec.broadcast(structure([()]))\n"
        "except cp.StructureError as error: assert len(str(error)) < 400\n",
        small_stack=True,
    )


def test_specs_in_specs_are_printed_as_deep_as_a_small_stack_allows():
    check(
        "wraps = [lambda s: Tagged(0, 0, s), lambda s: Tagged(0, 0, (1, [s])), lambda s: Config(s), lambda s: {s: 0},\n"
        "         lambda s: Tagged(0, 0, Holder(Point(s, 0)))]\n"
        "for wrap in wraps:\n"
        "    assert repr(chain(50, wrap)).count('TreeSpec(') == 51\n"
        "    spec = chain(1000, wrap)\n"
        "    for _ in range(3):\n"
        "        try: repr(spec)\n"
        "        except RecursionError as error: assert 'TreeSpecs in the contexts of one another' in str(error)\n"
        "        else: raise AssertionError('this was to fail')\n"
        "    assert repr(chain(50, wrap)).count('TreeSpec(') == 51\n",
        small_stack=True,
    )


@every_wrap
def test_specs_in_specs_can_be_printed_and_taken_apart_or_end_in_a_recursion_error(wrap):
    check(
        f"spec = chain({COMPARED}, {wrap})\n"
        "def tree_of(): return spec.unflatten([0] * spec.num_leaves)\n"
        "def mismatch(): return spec.flatten_up_to([[[0]]])\n"
        "for operation in (lambda: repr(spec), lambda: spec.context, spec.children, tree_of, spec.__reduce_ex__,\n"
        "                  lambda: spec.compose(spec), mismatch):\n"
        "    try: operation()\n"
        "    except (RecursionError, TypeError, cp.StructureError) as error: assert len(str(error)) < 1000\n",
        small_stack=True,
    )


# --- freed ------------------------------------------------------------------------------------------------------------


@every_wrap
def test_specs_in_specs_are_freed_without_recursion(wrap):
    check(f"spec = chain({FREED}, {wrap})\ndel spec\n", small_stack=True)


CHAINS = {
    "iterators over iterators": "held = cp.tree_iter(held)",
    "iterators over lists of iterators": "held = cp.tree_iter([[held]]); next(held)",
    "iterators begun": "held = cp.tree_iter([[0, held]]); next(held)",
    "iterators over specs of iterators": "held = cp.tree_iter(structure(Tagged(0, 0, held)))",
    "is_leaf of iterators": "held = cp.tree_iter(1, [held].append)",
    "specs": "held = structure(Tagged(0, 0, held))",
    "registrations": "held = _native.Registration.function(Holder, '', held, held)",
    "defaults": "held = _native.Registration.dataclass(Holder, '', (), (), (('value', held, False),), False)",
    "mapping keys": "held = cp.MappingKey(held)",
    "mapping keys over specs": "held = structure(Tagged(0, 0, cp.MappingKey(held)))",
    "errors": "error = cp.PyTreeError(); error.path = held; held = error",
}


@pytest.mark.parametrize("step", CHAINS.values(), ids=CHAINS)
def test_other_objects_in_chains_are_freed_without_recursion(step):
    # Errors are freed by CPython alone; 3.13 takes half a megabyte of stack for a chain of them.
    small_stack = "Error" not in step
    check(f"held = None\nfor _ in range({HELD}):\n    {step}\ndel held\n", small_stack=small_stack)


@pytest.mark.parametrize("ends", ["with its context", "one by one", "with the outermost"])
def test_blocks_that_are_never_left_are_freed_without_recursion(ends):
    leave = {
        "with its context": "del context",
        "one by one": "for block in reversed(blocks): context.run(block.__exit__, None, None, None)",
        "with the outermost": "context.run(blocks[0].__exit__, None, None, None); context.run(cp.tree_leaves, {})",
    }[ends]
    keep = "blocks.append(block)" if ends != "with its context" else "pass"
    check(
        "blocks = []\n"
        "def enter():\n"
        f"    for _ in range({HELD}):\n"
        "        block = cp.dict_insertion_ordered(False)\n"
        "        block.__enter__()\n"
        f"        {keep}\n"
        "context = contextvars.copy_context()\n"
        "context.run(enter)\n"
        "assert context.run(cp.tree_leaves, {'b': 1, 'a': 2}) == [2, 1]\n"
        f"{leave}\n"
        "blocks.clear()\n"
        "assert cp.tree_leaves({'b': 1, 'a': 2}) == [1, 2]\n",
        small_stack=True,
    )


def test_what_is_put_off_while_a_chain_is_freed_is_freed_at_last():
    check(
        "import gc, weakref\n"
        "class Thing: pass\n"
        "died = []\n"
        "class Last:\n"
        "    def __del__(self):\n"
        "        died.append(chain(500, lambda spec: Tagged(0, 0, (Thing(), spec))).num_leaves)\n"
        "for depth in (1, 31, 32, 33, 34, 63, 64, 65, 66, 1000):\n"
        "    things = [Thing() for _ in range(depth)]\n"
        "    spec = structure(Tagged(0, 0, Last()))\n"
        "    for thing in things:\n"
        "        spec = structure(Tagged(0, 0, (thing, spec)))\n"
        "    dead = [weakref.ref(thing) for thing in things]\n"
        "    died.clear()\n"
        "    del spec, things, thing\n"
        "    assert died == [2], depth\n"
        "    assert [ref() for ref in dead] == [None] * depth\n"
    )
