"""The same programs with PyTorch's module, and the table of docs/pytorch.md against it (`make test-torch`)."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import operator
from typing import Any, TypeVar

import pytest
from pytorch_programs import Program, all_programs
from pytorch_table import VERSION, rows
from registering import clean_registry  # noqa: F401

from clika_pytree import pytree

torch: Any = pytest.importorskip("torch", minversion=VERSION, reason="`make test-torch` installs PyTorch and runs this")
there: Any = importlib.import_module("torch.utils._pytree")
if importlib.util.find_spec("optree") is not None:
    # It hands all registered classes on to optree while it is first imported: before a test registers any.
    importlib.import_module("torch.utils._cxx_pytree")
NAMES = [name for row in rows() for name in row.there]


def public_names() -> set[str]:
    """What the module defines itself, as far as it has no underscore."""
    found: set[str] = set()
    for node in ast.parse(inspect.getsource(there)).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.Assign(targets=targets):
                found.update(target.id for target in targets if isinstance(target, ast.Name))
    left_out = {"log", *(name for name in found if isinstance(getattr(there, name, None), TypeVar))}
    return {name for name in found - left_out if not name.startswith("_")}


@pytest.mark.filterwarnings("ignore:PyTree type .* is a subclass of `collections.namedtuple`:UserWarning")  # of optree
@pytest.mark.parametrize("program", all_programs(), ids=str)
def test_a_program_gives_what_is_written_down(program: Program) -> None:
    result = program.run(there)
    assert (result, repr(result)) == (program.there, repr(program.there))


def test_the_table_has_every_public_name() -> None:
    assert len(there.__all__) > 30
    assert {*there.__all__, *public_names()} - {*NAMES} == set()


def test_the_table_has_every_member_of_a_spec() -> None:
    members = {f"TreeSpec.{name}" for name in dir(there.TreeSpec) if not name.startswith("_")}
    assert members == {name for name in NAMES if name.startswith("TreeSpec.")}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_table_is_there(name: str) -> None:
    operator.attrgetter(name)(there)


def test_classes_that_pytorch_registers_are_leaves_here() -> None:
    immutable = importlib.import_module("torch.fx.immutable_collections").immutable_list
    for tree in (torch.Size([1, 2]), immutable([1, 2])):
        assert len(there.tree_leaves(tree)) == 2
        assert pytree.tree_leaves(tree) == [tree]


def test_tensors_are_leaves_of_both() -> None:
    tree = {"w": torch.ones(2), "b": [torch.nn.Parameter(torch.zeros(1)), None]}
    leaves, spec = pytree.tree_flatten(tree)
    for own, other in zip(leaves, there.tree_leaves(tree), strict=True):
        assert own is other
    assert spec.unflatten(leaves)["b"][0] is tree["b"][0]


def test_a_key_of_pytorch_leads_on_here() -> None:
    tree = {"a": [1, (2, {3: 4})]}
    for path, leaf in there.tree_leaves_with_path(tree):
        assert pytree.keystr(path) == there.keystr(path)
        assert pytree.key_get(tree, path) is leaf
