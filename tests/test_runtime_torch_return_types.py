"""What functions of PyTorch with several results return: nodes, once PyTorch is a runtime."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from guard_table import RUNTIMES, equal
from torch_settings import backend

import clika_pytree as crt

torch = pytest.importorskip("torch", reason="`make test-torch` installs PyTorch and runs this")
import_module("clika_pytree.runtimes.torch.runtime")

X = torch.arange(6.0).reshape(2, 3)
CLASSES = [cls for cls in vars(torch.return_types).values() if isinstance(cls, type) and issubclass(cls, tuple)]


def same(one, other):
    return equal(RUNTIMES["torch"], one, other)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_one_is_taken_apart_and_rebuilt_with_anything(cls):
    fields = cls.__match_args__
    result = cls(range(len(fields)))
    leaves, spec = crt.tree_flatten(result)
    assert leaves == [getattr(result, name) for name in fields] == [*range(len(fields))]
    assert spec.key_paths() == [(crt.GetAttrKey(name),) for name in fields]
    assert all(crt.key_get(result, path) == leaf for path, leaf in crt.tree_leaves_with_path(result))
    rebuilt = spec.unflatten(fields)
    assert type(rebuilt) is cls
    assert tuple(rebuilt) == fields


def test_a_structure_is_written_pickled_and_told_to_pytorch():
    spec = crt.tree_structure({"m": torch.max(X, 0)})
    there = import_module("torch.utils._pytree").tree_structure({"m": torch.max(X, 0)})
    assert crt.treespec_loads(crt.treespec_dumps(spec)) == spec == pickle.loads(pickle.dumps(spec))
    assert crt.treespec_to_torch(spec) == there
    assert crt.treespec_from_torch(there) == spec
    assert spec.fingerprint() == crt.tree_structure({"m": torch.max(X + 1, 0)}).fingerprint()


def test_compiled_functions_take_and_return_them():
    @crt.compile
    def function(given, x):
        return torch.sort(given.values + x), torch.linalg.slogdet(x @ x.T)

    with backend():
        for x in (X, X + 1):
            result, wanted = function(torch.max(x, 0), x), function.__wrapped__(torch.max(x, 0), x)
            assert [*map(type, result)] == [torch.return_types.sort, torch.return_types.linalg_slogdet]
            assert same(crt.tree_leaves(result), crt.tree_leaves(wanted))
        assert function.cache_info()[:2] == (1, 1)
        assert str(function.explain(torch.min(X, 0), X).changes[0]).startswith("given: was a max")


def test_regions_of_torch_compile_see_them():
    def function(given, x):
        return crt.tree_map(lambda leaf: leaf * 2, [given, torch.max(x, 0)]), crt.tree_leaves(given)

    result = torch.compile(function, fullgraph=True, backend="eager")(torch.min(X, 0), X)
    assert [*map(type, result[0])] == [torch.return_types.min, torch.return_types.max]
    assert same(crt.tree_leaves(result), crt.tree_leaves(function(torch.min(X, 0), X)))


def test_files_keep_them(tmp_path):
    path = tmp_path / "highest.safetensors"
    crt.save({"m": torch.max(X, 0)}, path)
    code = (
        "import sys, clika_pytree as crt\n"
        "m = crt.load(sys.argv[1], runtime='torch')['m']\n"
        "print(type(m).__module__, type(m).__name__, m.values.tolist(), m.indices.tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    assert done.stdout == "torch.return_types max [3.0, 4.0, 5.0] [1, 1, 1]\n"


def test_the_tuples_of_the_standard_library_are_leaves():
    time = import_module("time").gmtime(0)
    assert crt.tree_leaves([time]) == [time]


@pytest.mark.parametrize(
    "first",
    [
        "crt.save({'m': found}, sys.argv[1])",
        "assert torch.equal(crt.compile(lambda m: m.values * 2)(found), found.values * 2)",
        "assert 'none yet' in str(crt.compile(lambda m: m.values * 2).explain(found))",
        "crt.eval(found)",
    ],
)
def test_they_are_nodes_in_the_first_call_already(tmp_path, first):
    code = (
        "import sys, torch, clika_pytree as crt\n"
        "found = torch.max(torch.ones(2, 2), 0)\n"
        f"assert crt.tree_leaves([found]) == [found]\n{first}\nassert len(crt.tree_leaves(found)) == 2\n"
    )
    path = str(tmp_path / "file")
    subprocess.run([sys.executable, "-c", code, path], check=True, cwd=Path(__file__).parent)


def test_who_registers_one_before_keeps_that():
    code = (
        "import torch, clika_pytree as crt\n"
        "found = torch.max(torch.ones(2, 2), 0)\n"
        "assert len(crt.tree_leaves(found)) == 1\n"
        "crt.register_pytree_node(torch.return_types.max, lambda m: (m[:1], m[1]), lambda c, i: type(found)((*c, i)))\n"
        "crt.eval(found)\n"
        "assert len(crt.tree_leaves(found)) == 1\n"
        "assert len(crt.tree_leaves(torch.min(torch.ones(2, 2), 0))) == 2\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
