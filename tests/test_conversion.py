"""What all conversions of structures have in common."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from helpers import run_python

import clika_pytree as cp

FUNCTIONS: list[tuple[str, str, Any]] = [
    ("jax", "JAX", cp.treespec_to_jax),
    ("jax", "JAX", cp.treespec_from_jax),
    ("torch", "PyTorch", cp.treespec_to_torch),
    ("torch", "PyTorch", cp.treespec_from_torch),
    ("optree", "optree", cp.treespec_to_optree),
    ("optree", "optree", cp.treespec_from_optree),
]


@pytest.mark.parametrize(
    ("package", "library", "function"), FUNCTIONS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_library_that_is_missing_is_named(
    package: str, library: str, function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    with pytest.raises(ModuleNotFoundError) as caught:
        function(cp.tree_structure([1]))
    assert str(caught.value) == (
        f'{function.__name__}() needs {library}, which is not installed here: pip install "clika-pytree[{package}]"'
    )
    assert caught.value.name == package


def test_a_library_that_is_there_and_does_not_import_says_so_itself(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [name for name in sys.modules if name.partition(".")[0] == "optree"]:
        monkeypatch.delitem(sys.modules, module)
    (tmp_path / "optree.py").write_text("import something_it_needs")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'something_it_needs'"):
        cp.treespec_to_optree(cp.tree_structure([1]))
    sys.modules.pop("optree", None)


def test_no_other_library_is_imported_before_it_is_asked_for() -> None:
    run_python(
        "import sys, clika_pytree\n"
        "assert not {'jax', 'jaxlib', 'torch', 'optree', 'clika_pytree.conversion.jax'} & set(sys.modules)"
    )
