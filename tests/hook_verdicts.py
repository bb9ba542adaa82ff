"""What may come of a deed at a hook, and what may not."""

from __future__ import annotations

from typing import Any

HARMLESS = {"nothing", "call back", "advance", "register another", "collect", "look around", "fork"}
"""Deeds that nobody may notice."""
LITTLE_ROOM = {"recurse", "limit recursion"}
REPORTS = {"check_node", "tree_diff", "tree_diff, leaves", "tree_summary"}
"""Operations that report what user code raises, or leave out its words."""
COMPARES_CALLS = ("compile", "GuardCache")
"""Operations, by the beginning of their names, that hold the leaves of calls against each other: one that can't be
compared is an error of the library. Where it is put in words why two calls differ, what raises is left out."""
PARTS_OF_CALLS = ("leaf.", "metaclass.", "key.", "context.", "static.", "tensor.")
PLAIN_PYTHON = {
    *("tree_max", "tree_min", "tree_sum", "tree_is_leaf", "check_node", "tree_flatten_one_level", "is_registered"),
    *("key.get", "tree_iter, shared", "all_leaves", "treespec_list and others", "tree_flatten with registrations"),
}
"""Operations that compare or index themselves, so that a change of the tree may be Python's own error."""


def verdict(hook: str, deed: str, operation: str, outcome: Any, undisturbed: Any) -> str:
    """What is wrong with an outcome; empty where it is right."""
    if outcome.leaked:
        return f"{outcome.leaked} objects leaked"
    same = outcome.text == undisturbed.text
    if deed in HARMLESS:
        return "" if same or is_shared_iterator(deed, operation) else "the deed shows"
    if deed == "raise KeyboardInterrupt" and not is_the_end(hook):
        return "" if outcome.kind == "raised" else "Ctrl-C is lost"
    if same or outcome.kind == "value":
        return "" if not deed.startswith("raise") or is_swallowed(hook, deed, operation, undisturbed) else "swallowed"
    if deed.startswith("raise"):
        return "" if is_raised(hook, deed, operation, outcome, undisturbed) else "another exception"
    if deed == "empty what it finds":
        # The locals of Python functions are among what it finds.
        return "" if outcome.is_exception else "no ordinary exception"
    if deed in LITTLE_ROOM and outcome.kind == "RecursionError":
        return ""
    fits = (
        outcome.is_own_error or outcome.kind == "RuntimeError" or (operation in PLAIN_PYTHON and outcome.is_exception)
    )
    return "" if fits else "no error of the library"


def is_the_end(hook: str) -> bool:
    """Whether Python itself reports what is raised there, and goes on."""
    return hook.endswith("__del__") or hook == "weakref callback"


def is_shared_iterator(deed: str, operation: str) -> bool:
    """The deed takes a leaf of the iterator that the operation reads."""
    return deed == "advance" and operation == "tree_iter, shared"


def is_raised(hook: str, deed: str, operation: str, outcome: Any, undisturbed: Any) -> bool:
    """Whether an exception is the one that user code raised, or what becomes of it by the rules."""
    if outcome.kind == "raised":
        return True
    if (
        operation.startswith(COMPARES_CALLS)
        and hook.startswith(("leaf.", "metaclass."))
        and outcome.kind == "GuardError"
    ):
        return True
    # A generator's and an iterator's end is Python's; of a lazy iterator it is made a RuntimeError.
    if deed == "raise StopIteration" and (hook.endswith(("__next__", "__repr__")) or outcome.kind == "RuntimeError"):
        return True
    if deed == "raise TypeError" and hook.endswith(("__hash__", "__eq__", "__lt__", "__len__", "__instancecheck__")):
        return outcome.is_own_error or outcome.kind == "TypeError"  # that there is none is a verdict on the object
    # The words of an error leave out what has none.
    return outcome.kind == undisturbed.kind and outcome.is_own_error


def is_swallowed(hook: str, deed: str, operation: str, undisturbed: Any) -> bool:
    """Whether an operation may succeed, or fail as ever, although user code raised."""
    if is_the_end(hook):
        return True
    if deed == "raise StopIteration" and hook.endswith("__next__"):
        return True
    if deed == "raise TypeError" and (hook == "key.__lt__" or hook.endswith("__len__")):
        return True  # such keys are sorted by their class; without a length, Python's `list` asks for none
    if hook == "condition":
        return True  # it does not hold, where it raises
    if operation.startswith(COMPARES_CALLS) and hook.startswith(PARTS_OF_CALLS):
        return True
    return operation in REPORTS or undisturbed.is_own_error
