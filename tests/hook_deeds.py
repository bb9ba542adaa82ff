"""What user code may do at a hook: change the tree, call back, unregister, raise, collect, let others run, fork."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

from hook_classes import Group, Leaf, Other
from hook_operations import OPERATIONS
from hook_world import World

import clika_pytree as cp

Deed = Callable[[World], Any]


MOST_CALLS = 300
CLASS_OF: Any = object.__dict__["__class__"]


def nothing(w: World) -> None:
    """The call that all others are compared with."""


# --- changes of the tree ----------------------------------------------------------------------------------------------


def pop(w: World) -> None:
    for container in w.containers:
        if container:
            container.popitem() if isinstance(container, dict) else container.pop()


def clear(w: World) -> None:
    for container in w.containers:
        container.clear()


def grow(w: World) -> None:
    for container in w.containers:
        more = [f"new{i}" for i in range(40)]
        container.update(dict.fromkeys(more, 0)) if isinstance(container, dict) else container.extend(more)


def replace(w: World) -> None:
    """The same places, other children; what was there is freed, and its memory used again."""
    for container in w.containers:
        for place in list(container) if isinstance(container, dict) else range(len(container)):
            container[place] = [f"other{i}" for i in range(3)]


def refill(w: World) -> None:
    """Emptied and filled again to the same length, out of other memory."""
    for container in w.containers:
        count = len(container)
        container.clear()
        if isinstance(container, dict):
            container.update({f"new{i}": [i] for i in range(count)})
        else:
            container.extend([i] for i in range(count))


def drop(w: World) -> None:
    """All references but those of the call that runs."""
    for name in ("tree", "spec", "twin", "leaves", "iterator", "path", "text", "plain"):
        setattr(w, name, None)
    clear(w)
    gc.collect()


def change_classes(w: World) -> None:
    """Objects of another class than the one that was looked at."""
    for leaf in [*w.list, *w.inner, *w.items, *w.leaves]:
        if type(leaf) is Leaf:
            CLASS_OF.__set__(leaf, Other)
    group = w.tree["group"]
    if type(group) is Group:
        CLASS_OF.__set__(group, type("Unknown", (Group,), {}))


# --- calls of the library ---------------------------------------------------------------------------------------------


def call_back(w: World) -> None:
    """Every function, on the same tree and the same spec."""
    for name, operation in OPERATIONS.items():
        if name != "tree_iter, shared":
            with contextlib.suppress(Exception):
                operation(w)


def advance(w: World) -> None:
    """The iterator that may be the one that is being advanced."""
    with contextlib.suppress(RuntimeError, StopIteration):
        next(w.iterator)


def recurse(w: World) -> None:
    """The very call that runs, for ever. What goes on after an error of its user code would take for ever, too."""
    w.armed, w.at = w.hook, 0
    if w.calls > MOST_CALLS:
        raise RecursionError("enough")
    w.operation(w)


def unregister(w: World) -> None:
    w.unregister()


def register_anew(w: World) -> None:
    """The same classes, taken apart in another way."""
    w.unregister()
    for cls in w.classes:
        cp.register_pytree_node(cls, lambda obj: (("anew",), None), lambda children, _: list(children))


def register_another(w: World) -> None:
    space = f"tests.hooks.another.{len(w.notes)}"
    w.notes.append(space)
    cls = type("Another", (), {})
    cp.register_pytree_node(cls, lambda obj: ((), None), lambda children, _: cls(), namespace=space)
    cp.tree_leaves([cls(), type("Unseen", (tuple,), {"_fields": ("a",)})((1,))], namespace=space)
    cp.unregister_pytree_node(cls, namespace=space)


# --- exceptions -------------------------------------------------------------------------------------------------------


class Hostile(Exception):
    """Nothing can be asked of it."""

    def __str__(self) -> str:
        raise LookupError("no words")

    __repr__ = __str__

    def add_note(self, note: str) -> None:
        raise LookupError("no notes")


class Talkative(Exception):
    """Calls back when it is given a note."""

    def add_note(self, note: str) -> None:
        cp.tree_map(lambda leaf: leaf, [1, {"a": (2,)}])
        gc.collect()


def raiser(make: Callable[[], BaseException]) -> Deed:
    def raise_it(w: World) -> None:
        w.raised = make()
        raise w.raised

    return raise_it


# --- the interpreter --------------------------------------------------------------------------------------------------


def collect(w: World) -> None:
    gc.collect()


def look_around(w: World) -> None:
    """At every container there is, as the collector's list shows them: each must be whole.

    Not so the tuple that Python's own `tuple(...)` is filling while its iterator runs.
    """
    for obj in gc.get_objects():
        if type(obj) in (list, dict) or (type(obj) is tuple and not w.hook.endswith("__next__")):
            told = gc.get_referents(obj)
            assert type(obj) is dict or len(told) == len(obj), f"a half-filled {type(obj).__name__}"
            repr(type(obj)(obj))


def empty_what_it_finds(w: World) -> None:
    """Empties every list and dict that came into being since the call began, those of the library's functions too."""
    for obj in gc.get_objects():
        if type(obj) in (list, dict) and id(obj) not in w.known and obj and "world" not in obj:
            obj.clear()


def let_others_run(w: World) -> None:
    """Another thread has the interpreter for a while, and changes what it can."""

    def body() -> None:
        for change in (pop, grow, replace):
            with contextlib.suppress(Exception):
                change(w)
                time.sleep(0)
                cp.tree_leaves(w.tree)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


def fork(w: World) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # where another library has threads
        child = os.fork()
    if child == 0:
        status = 1
        try:
            for name in ("tree_flatten", "tree_map", "tree_unflatten", "hash", "repr"):
                OPERATIONS[name](w)
            gc.collect()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "the forked process failed"


def limit_recursion(w: World) -> None:
    """Leaves so little room that nearly every call of Python code fails. The runner takes the limit back."""
    depth = 0
    frame: Any = sys._getframe()
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    for limit in range(depth, depth + 50):
        try:
            sys.setrecursionlimit(limit)
        except RecursionError:
            continue
        return


DEEDS: dict[str, Deed] = {
    "nothing": nothing,
    "pop": pop,
    "clear": clear,
    "grow": grow,
    "replace": replace,
    "refill": refill,
    "drop": drop,
    "change classes": change_classes,
    "call back": call_back,
    "advance": advance,
    "recurse": recurse,
    "unregister": unregister,
    "register anew": register_anew,
    "register another": register_another,
    "raise LookupError": raiser(lambda: LookupError("injected")),
    "raise TypeError": raiser(lambda: TypeError("injected")),
    "raise StopIteration": raiser(lambda: StopIteration("injected")),
    "raise KeyboardInterrupt": raiser(lambda: KeyboardInterrupt("injected")),
    "raise hostile": raiser(Hostile),
    "raise talkative": raiser(Talkative),
    "collect": collect,
    "look around": look_around,
    "empty what it finds": empty_what_it_finds,
    "let others run": let_others_run,
    "fork": fork,
    "limit recursion": limit_recursion,
}
