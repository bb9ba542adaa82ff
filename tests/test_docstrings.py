"""Every example in a public docstring runs, and every public function has one."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import re
from typing import Any

import documents
import pytest

import clika_pytree
from clika_pytree import boundary, pytree, runtimes
from clika_pytree.runtimes import protocol

BOUNDARIES = clika_pytree.BOUNDARIES
# What these functions give, and what the author of a runtime meets.
boundary_classes: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        *(boundary.Change, boundary.Compiled, boundary.Explanation, boundary.Graph, boundary.GraphRow),
        *(boundary.GraphTable, protocol.Executable, protocol.Failed, protocol.Graph, protocol.Guards, protocol.Host),
        *(protocol.Runtime, protocol.TensorGuards, protocol.TensorSpec, protocol.array_of_host),
        *(protocol.host_of_array,),
    )
}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def documented() -> dict[str, Any]:
    """Everything public that can carry a docstring: modules, functions, classes and the members of classes."""
    found: dict[str, Any] = {"clika_pytree": clika_pytree, "pytree": pytree}
    found |= {"boundary": boundary, "protocol": protocol}
    for name in ("torch", "jax", "jax.tree", "optree"):
        found[f"compat.{name}"] = importlib.import_module(f"clika_pytree.compat.{name}")
    for name in [*pytree.__all__, *BOUNDARIES, *boundary_classes]:
        value = boundary_classes.get(name) or getattr(clika_pytree, name)
        if name.isupper():  # a constant, whose docstring is that of int
            continue
        found[name] = value
        if inspect.isclass(value) and not issubclass(value, BaseException):
            # A native class has its members in another order in each process, and pytest-xdist compares the names.
            for member, attribute in sorted(vars(value).items()):
                if not member.startswith("_") and type(attribute) is not bool:
                    found[f"{name}.{member}"] = attribute
    return found


def examples(name: str) -> doctest.DocTest:
    doc = inspect.getdoc(OBJECTS[name]) or ""
    return doctest.DocTestParser().get_doctest(doc, {"__name__": "__main__"}, name, None, None)


OBJECTS = documented()
WITH_EXAMPLES = [name for name in OBJECTS if examples(name).examples]
COMPAT = [name for name in OBJECTS if name.startswith("compat.")]
PUBLIC = [*pytree.__all__, *BOUNDARIES]
FUNCTIONS = [name for name in PUBLIC if callable(OBJECTS.get(name)) and not inspect.isclass(OBJECTS[name])]


@pytest.mark.parametrize("name", OBJECTS)
def test_it_has_a_docstring(name: str) -> None:
    doc = inspect.getdoc(OBJECTS[name])
    assert doc
    assert doc.strip()[0].isupper()


@pytest.mark.parametrize("name", [*FUNCTIONS, "clika_pytree", "TreeSpec", "dict_insertion_ordered", "PyTree", *COMPAT])
def test_it_has_an_example(name: str) -> None:
    assert name in WITH_EXAMPLES


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_its_examples_run(name: str) -> None:
    test = examples(name)
    for library in documents.needed(example.source for example in test.examples):
        pytest.importorskip(library, reason=f"its example is about {library}, which is not installed")
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    try:
        result = runner.run(test, out=said.append, clear_globs=False)
    finally:
        for value in list(test.globs.values()):
            if isinstance(value, type):
                with contextlib.suppress(ValueError):
                    pytree.unregister_pytree_node(value)
        for runtime in list(runtimes._registered):
            runtimes.unregister_runtime(runtime)
    assert result.attempted > 0
    assert result.failed == 0, "".join(said)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_takes(name: str) -> None:
    """Each parameter is named, or it is said of which function they are those."""
    doc = inspect.getdoc(OBJECTS[name]) or ""
    elsewhere = re.search(r"[Aa]rguments .*those of `(\w+)`", doc)
    if elsewhere is None:
        for parameter in inspect.signature(OBJECTS[name]).parameters:
            assert re.search(rf"\b{parameter}\b", doc), parameter
    else:
        assert elsewhere[1] in FUNCTIONS
