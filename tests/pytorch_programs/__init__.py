"""Small programs as people write them for `torch.utils._pytree`, and what each returns here and there.

A program is a function of the module; it returns plain data. `test_pytorch_programs.py` runs all of them with
`clika_pytree.pytree`, `test_beside_pytorch.py` with PyTorch's module too. Where the two differ, the program names the
row of docs/pytorch.md that says how.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

SAME: Any = object()
EVERYWHERE = "everywhere"
PROGRAMS: list[Program] = []


class Program(NamedTuple):
    run: Callable[[Any], Any]
    here: Any
    there: Any
    row: str | None

    def __str__(self) -> str:
        return self.run.__name__

    def names(self) -> set[str]:
        """The attributes that its code uses."""
        return set(names_in(self.run.__code__))


def program(here: Any, there: Any = SAME, *, row: str | None = None) -> Callable[[Callable[[Any], Any]], Program]:
    """Make a function a program that returns `here` with this library and `there` with PyTorch.

    `row` is a name in the table whose row says how the results differ, or how the names do; EVERYWHERE stands for the
    list above the table.
    """

    def add(run: Callable[[Any], Any]) -> Program:
        PROGRAMS.append(Program(run, here, here if there is SAME else there, row))
        return PROGRAMS[-1]

    return add


def names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def all_programs() -> list[Program]:
    if not PROGRAMS:
        for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
            importlib.import_module(f"{__name__}.{path.stem}")
    return PROGRAMS


# --- what programs are made of ----------------------------------------------------------------------------------------


def outcome(action: Callable[..., Any], *args: Any) -> Any:
    """What a call returns, or the name of the built-in class that its exception is an instance of."""
    try:
        return action(*args)
    except Exception as error:
        return next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins")


def outcomes(action: Callable[..., Any], calls: Iterable[tuple]) -> list[Any]:
    return [outcome(action, *args) for args in calls]


def either(module: Any, *names: str) -> Any:
    """The first of these that the module has: for a name that is another here."""
    return next(getattr(module, name) for name in names if hasattr(module, name))


def written_paths(module: Any, tree: Any) -> list[str]:
    return [module.keystr(path) for path, _ in module.tree_leaves_with_path(tree)]


def loaded_again(module: Any, spec: Any) -> Any:
    return module.treespec_loads(module.treespec_dumps(spec))


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


class Node:
    def __init__(self, *items: Any, note: Any = None) -> None:
        self.items, self.note = list(items), note

    def flat(self) -> tuple[list, Any]:
        return self.items, self.note

    @classmethod
    def built(cls, children: Any, note: Any) -> Any:
        return cls(*children, note=note)


def new_class() -> Any:
    """A class for one program. PyTorch never forgets a registration, so none registers a class of another one."""
    return type("New", (Node,), {})


def registered(module: Any, **options: Any) -> Any:
    """A new class whose instances are nodes with their items as children and their note as context."""
    cls = new_class()
    module.register_pytree_node(cls, cls.flat, cls.built, **options)
    return cls
