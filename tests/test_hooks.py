"""User code at every hook of the library does every deed: the table that `hook_table.py` prints, a part of its cells.

`pytest -m slow` runs all of them.
"""

from __future__ import annotations

import pytest
from helpers import run_python
from hook_classes import Leaf
from hook_deeds import DEEDS
from hook_table import HOOKS, NEVER_RUN, OPERATIONS, row_of, run, run_hook
from hook_verdicts import verdict

import clika_pytree as cp

EVERY_TIME = ["context.__hash__", "flatten_fn", "unflatten_fn", "fn"]


@pytest.mark.parametrize(
    "hook", [pytest.param(hook, marks=() if hook in EVERY_TIME else pytest.mark.slow) for hook in HOOKS]
)
def test_no_deed_at_a_hook_does_harm(hook):
    row = run_hook(hook)
    assert row.complaints == []
    assert row.cells >= 20


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("hook", HOOKS)
def test_no_deed_in_any_operation_does_harm(hook):
    row = run_hook(hook, full=True)
    assert row.complaints == []
    assert row.cells >= 20


WORDS = [
    *(("key.__repr__", "raise KeyboardInterrupt", name) for name in ("GuardCache", "compile", "compile, explain")),
    *(("key.__repr__", "raise KeyboardInterrupt", name) for name in ("tree_map, other keys", "tree_summary")),
    *(("metaclass.__getattribute__", "raise KeyboardInterrupt", name) for name in ("compile", "compile, explain")),
    *(("tensor.dtype", f"raise {error}", "compile, explain") for error in ("LookupError", "KeyboardInterrupt")),
    ("key.__repr__", "look around", "tree_summary"),
    ("key.__eq__", "raise StopIteration", "treespec_list and others"),
    ("path.__iter__", "raise TypeError", "keystr"),
]
"""Deeds while something is put in words, or where Python hides them."""


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize(("hook", "deed", "operation"), WORDS)
def test_no_deed_while_something_is_worded_does_harm(hook, deed, operation):
    undisturbed = run(hook, "nothing", operation, -1)
    for at in {1, undisturbed.calls}:
        assert verdict(hook, deed, operation, run(hook, deed, operation, at), undisturbed) == ""


@pytest.mark.usefixtures("small_heap")
@pytest.mark.parametrize("hook", NEVER_RUN)
def test_what_the_library_has_no_need_of_never_runs(hook):
    assert [name for name in OPERATIONS if run(hook, "nothing", name, -1).calls] == []


def test_every_function_is_an_operation():
    others = ("torch", "jax", "optree", "class", "static", "dataclass", "instance")  # other libraries, and registering
    called = " ".join(OPERATIONS)
    functions = {name for name in cp.__all__ if name.startswith(("tree", "key", "all_", "arg_", "check"))}
    assert {name for name in functions if name not in called and not name.endswith(others)} <= SPEC_BUILDERS
    boundaries = {name for name in cp.BOUNDARIES if name.islower()}
    assert {name for name in boundaries if name not in called} == set()


SPEC_BUILDERS = {f"treespec_{kind}" for kind in ("leaf", "none", "tuple", "dict", "ordereddict", "defaultdict")}
SPEC_BUILDERS |= {"treespec_deque", "treespec_namedtuple"}
"""All in one operation with `treespec_list`."""


def test_a_leak_is_found(monkeypatch):
    kept: list = []
    monkeypatch.setitem(DEEDS, "keep", lambda world: kept.append(Leaf("kept")))
    outcome = run("fn", "keep", "tree_map", 1)
    assert outcome.leaked == 1
    assert verdict("fn", "keep", "tree_map", outcome, outcome) == "1 objects leaked"


def test_a_deed_that_shows_is_found():
    undisturbed = run("fn", "nothing", "tree_map", -1)
    changed = run("flatten_fn", "clear", "tree_map", 1)
    assert verdict("flatten_fn", "collect", "tree_map", changed, undisturbed) == "the deed shows"
    assert verdict("fn", "raise LookupError", "tree_map", undisturbed, undisturbed) == "swallowed"
    raised = run("fn", "raise LookupError", "tree_map", 1)
    assert verdict("fn", "clear", "tree_map", raised, undisturbed) == "no error of the library"


def test_a_crash_names_its_cell():
    done = run_python(
        "import os, signal, sys\n"
        "import hook_table\n"
        "hook_table.DEEDS.clear()\n"
        "hook_table.DEEDS.update({'nothing': lambda w: None, 'die': lambda w: os.kill(os.getpid(), signal.SIGKILL)})\n"
        "hook_table.work('fn', True)\n",
        check=False,
    )
    (complaint,) = row_of("fn", done).complaints
    assert complaint.startswith("fn: ended with -9 at ['tree_map', 'die', 1]")
