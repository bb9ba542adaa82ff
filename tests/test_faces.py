"""What the package hands on, under which names, and what importing it costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import pickle
import pydoc
import re
import typing
from pathlib import Path
from typing import Any, Optional

import pytest
from helpers import run_python

import clika_pytree
from clika_pytree import _native, aliases, one_level, pytree

PACKAGE = Path(clika_pytree.__file__).parent
INTERNAL = {
    "Dispatcher",
    "FileFormatError",
    "ArrayFacts",
    "FileWriter",
    "GuardCache",
    "GuardCall",
    "GuardEntry",
    "GuardError",
    "MappedFile",
    "Registration",
    "Replay",
    "TensorFile",
    "TreeIter",
    "UnregisteredNodeError",
    "array_facts",
    "build_profile",
    "encode_header",
    "flatten_in_order",
    "forget_runtimes",
    "leaf_names",
    "leaves_in_order",
    "lookup",
    "register",
    "registered",
    "has_tensors",
    "runtime_of",
    "set_adopted",
    "set_runtime_resolver",
    "structure_in_order",
    "tensor_parts",
    "tracked_instances",
    "treespec_from_state",
    "treespec_state",
    "unregister",
}
PYTHON_MODULES = [
    "algebra",
    "class_nodes",
    "conversion",
    "dataclass_nodes",
    "inspection",
    "key_paths",
    "namedtuples",
    "one_level",
    "other_libraries",
    "partial",
    "partition",
    "ravel",
    "reductions",
    "registration",
    "serialization",
    "treespecs",
    "typing",
]
WITHOUT_CONSTANTS = [name for name in pytree.__all__ if not name.isupper()]

# What the engine promises; a name that goes away breaks somebody's program.
PROMISED = [
    "tree_flatten",
    "tree_unflatten",
    "tree_leaves",
    "tree_iter",
    "tree_structure",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_all",
    "tree_any",
    "tree_all_only",
    "tree_any_only",
    "tree_reduce",
    "tree_sum",
    "tree_max",
    "tree_min",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_dataclass",
    "register_static",
    "unregister_pytree_node",
    "is_registered",
    "dict_insertion_ordered",
    "TreeSpec",
    "PyTree",
    "PyTreeError",
    "PyTreeValueError",
    "PyTreeTypeError",
    "StructureError",
    "LeafCountError",
    "CircularTreeError",
    "KeyOrderError",
    "RegistrationError",
    "NodeError",
    "ContextError",
    "tree_transpose",
    "tree_transpose_map",
    "tree_broadcast_prefix",
    "tree_broadcast_common",
    "tree_broadcast_map",
    "tree_partition",
    "tree_combine",
    "tree_replace_nones",
    "tree_ravel",
    "tree_flatten_one_level",
    "tree_is_leaf",
    "all_leaves",
    "arg_tree_leaves",
    "Partial",
    "treespec_leaf",
    "treespec_none",
    "treespec_list",
    "treespec_tuple",
    "treespec_dict",
    "treespec_ordereddict",
    "treespec_defaultdict",
    "treespec_deque",
    "treespec_namedtuple",
    "treespec_from_collection",
    "adopt",
    "mirror",
]


def native_names() -> list[str]:
    return [name for name in vars(_native) if not name.startswith("_") and name not in INTERNAL]


def test_the_public_names_are_sorted_and_complete() -> None:
    assert pytree.__all__ == sorted(pytree.__all__, key=lambda name: (not name.isupper(), name))
    assert set(PROMISED) <= set(pytree.__all__)
    expected = set(native_names())
    for module in PYTHON_MODULES:
        expected.update(importlib.import_module(f"clika_pytree.{module}").__all__)
    assert set(pytree.__all__) == expected


def test_both_faces_give_every_name() -> None:
    assert set(clika_pytree.__all__) == {*pytree.__all__, "__version__", "pytree"}
    for name in pytree.__all__:
        assert getattr(clika_pytree, name) is getattr(pytree, name)
    assert clika_pytree.pytree is pytree


def test_faces_only_hand_on_names() -> None:
    for face in ("__init__.py", "pytree.py"):
        for node in ast.parse((PACKAGE / face).read_text()).body:
            assert isinstance(node, (ast.ImportFrom, ast.Try, ast.Assign, ast.AugAssign, ast.Expr)), ast.dump(node)


def test_names_of_the_faces_are_looked_up_fast() -> None:
    """CPython specialises the look-up only in a module without such a function."""
    assert not {"__getattr__", "__dir__"} & {*vars(clika_pytree), *vars(pytree)}


def test_the_names_for_runtimes_are_on_one_face_only() -> None:
    """`compile` and `eval` would hide builtins under `import *`."""
    boundaries = {*clika_pytree.BOUNDARIES}
    assert not boundaries & {*clika_pytree.__all__, *pytree.__all__}
    for name in boundaries:
        value = getattr(clika_pytree, name)
        assert value.__module__.startswith("clika_pytree")
        assert pickle.loads(pickle.dumps(value)) is value
        assert not hasattr(pytree, name) or name in native_names()
    run_python(
        "import builtins, clika_pytree as cp\nfrom clika_pytree import *\n"
        f"assert {boundaries!r} <= set(dir(cp)) and compile is builtins.compile and eval is builtins.eval\n"
        "assert cp.eval is not eval\n"
    )


def test_the_names_for_runtimes_are_public_to_type_checkers() -> None:
    """Of a face with an `__all__`, pyright takes a name outside it for private unless it is imported as itself."""
    imported = [
        node for node in ast.parse((PACKAGE / "__init__.py").read_text()).body if isinstance(node, ast.ImportFrom)
    ]
    handed_on = [alias.name for node in imported for alias in node.names if alias.asname == alias.name]
    assert sorted(handed_on) == sorted(clika_pytree.BOUNDARIES)


@pytest.mark.parametrize("room", ["boundary", "inspection"])
def test_classes_of_answers_are_loaded_on_first_use(room: str) -> None:
    tree = ast.parse((PACKAGE / room / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {(node.module, alias.name) for node in block.body for alias in getattr(node, "names", ())}
    package = importlib.import_module(f"clika_pytree.{room}")
    assert {name for _, name in seen} <= {*dir(package)}
    for module, name in seen:
        assert getattr(package, name) is getattr(importlib.import_module(f"clika_pytree.{room}.{module}"), name)
        code = f"from clika_pytree.{room} import {name}"
        assert f"clika_pytree.{room}.{module}" in loaded_by(code)
        assert not loaded_by(code) & {"numpy", "jax", "torch", "safetensors", "importlib.metadata", "json"}
    with pytest.raises(AttributeError, match=f"module 'clika_pytree.{room}' has no attribute 'tree_mop'"):
        package.tree_mop  # noqa: B018


def test_native_functions_are_not_wrapped() -> None:
    for name in native_names():
        assert getattr(pytree, name) is getattr(_native, name)
    for name in pytree.__all__:
        hot = name.startswith(("tree_f", "tree_u", "tree_l", "tree_i", "tree_st", "tree_map"))
        if hot and name not in one_level.__all__:
            assert inspect.isbuiltin(getattr(pytree, name)), name


def test_names_of_modules_are_the_ones_users_see() -> None:
    for name in WITHOUT_CONSTANTS:
        value = getattr(pytree, name)
        assert value.__name__ == name
        assert value.__module__.startswith("clika_pytree"), (name, value.__module__)


def test_signatures_can_be_read() -> None:
    for name in WITHOUT_CONSTANTS:
        value = getattr(pytree, name)
        if not inspect.isclass(value):
            inspect.signature(value)
    read = inspect.signature(pytree.tree_flatten).parameters
    assert list(read) == ["tree", "is_leaf", "none_is_leaf", "namespace"]
    assert (read["is_leaf"].default, read["none_is_leaf"].default, read["namespace"].default) == (None, True, "")


def test_version_and_profile() -> None:
    assert clika_pytree.__version__ == _native.__version__
    assert clika_pytree.__version__.count(".") >= 2
    assert _native.build_profile in ("release", "debug")


def loaded_by(code: str) -> set[str]:
    """The modules that a program loads."""
    done = run_python(
        f"import sys\nbefore = set(sys.modules)\n{code}\nprint('loaded', *sorted(set(sys.modules) - before))\n"
    )
    return set(done.stdout.partition("loaded")[2].split())


HEAVY = {"numpy", "jax", "torch", "safetensors", "dataclasses", "inspect", "typing", "json", "functools", "re", "enum"}
# The public functions; what they do is loaded when they are called.
WHOLE = {"boundary", "conversion", "inspection", "other_libraries", "runtimes"}
LIGHT = {"errors", "functions"}


@pytest.mark.parametrize(
    "code",
    [
        "import clika_pytree",
        "from clika_pytree import *",
        "from clika_pytree import pytree\npytree.tree_map(str, {'a': [1]}, is_leaf=None)",
        "import clika_pytree.pytree as p\nspec = p.tree_structure(1)\nspec == spec",
        "import clika_pytree as c\nc.tree_unflatten(*c.tree_flatten([1, None]))\nhasattr(c, 'nothing')\ndir(c)",
    ],
)
def test_importing_loads_little(code: str) -> None:
    loaded = loaded_by(code)
    assert {name for name in loaded if not name.startswith("clika_pytree")} <= {
        *("__future__", "_collections", "_contextvars", "_functools"),
    }
    inner = {tuple(name.split(".")[1:]) for name in loaded}
    assert {parts for parts in inner if len(parts) > 1} <= {(room, module) for room in WHOLE for module in LIGHT}
    assert not loaded & HEAVY


def test_a_name_that_there_is_not() -> None:
    for face in (clika_pytree, pytree):
        with pytest.raises(AttributeError, match=f"module '{face.__name__}' has no attribute 'tree_mop'") as caught:
            face.tree_mop  # noqa: B018
        assert (caught.value.name, caught.value.obj) == ("tree_mop", face)
    run_python(
        "import clika_pytree\ntry:\n    from clika_pytree import tree_mop\n"
        "except ImportError as error:\n    assert 'tree_mop' in str(error)\n"
    )


def test_tools_see_every_name_before_it_is_loaded() -> None:
    run_python(
        "import clika_pytree as cp, pickle, pydoc, unittest.mock\n"
        "assert {*cp.__all__, '__version__'} <= set(dir(cp)) and set(cp.pytree.__all__) <= set(dir(cp.pytree))\n"
        "text = pydoc.plain(pydoc.render_doc(cp.pytree))\n"
        "assert all(name in text for name in cp.pytree.__all__)\n"
    )
    for name in WITHOUT_CONSTANTS:
        assert pickle.loads(pickle.dumps(getattr(pytree, name))) is getattr(pytree, name)
        assert pydoc.locate(f"clika_pytree.{name}") is getattr(pytree, name)


def test_a_pickle_is_read_by_a_program_that_has_not_used_the_name() -> None:
    values = [pytree.Partial(len, [1]), pytree.tree_structure(pytree.Partial(len, [1])), pytree.tree_sum]
    run_python(
        f"import pickle\ncall, spec, total = pickle.loads({pickle.dumps(values)!r})\n"
        "assert spec.unflatten([(1, 2)]).args == ([(1, 2)],) and total([1, 2]) == 3\n"
    )


def test_either_import_works_alone() -> None:
    for line in (
        "from clika_pytree import pytree",
        "import clika_pytree.pytree as pytree",
        "import clika_pytree as pytree",
    ):
        run_python(f"{line}\nassert pytree.tree_leaves([1, (2, None)]) == [1, 2, None]\n")
    run_python("from clika_pytree import *\nassert tree_leaves([1]) == [1] and pytree.tree_leaves is tree_leaves\n")


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
    stub = ast.parse((PACKAGE / "_native.pyi").read_text())
    stubbed = {node.name for node in stub.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    stubbed |= {
        node.target.id for node in stub.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    assert stubbed == {*native_names(), *INTERNAL, "__version__"}


# --- the type of trees ------------------------------------------------------------------------------------------------


def test_the_type_of_trees_works_in_annotations_at_run_time() -> None:
    PyTree = pytree.PyTree
    T = typing.TypeVar("T")

    def fn(a: PyTree[int], b: PyTree[T], c: Optional[PyTree[str]], d: PyTree[int] | None, e: PyTree) -> None: ...  # noqa: UP045

    fn.__annotations__ = {
        "a": PyTree[int],
        "b": PyTree[T],
        "c": Optional[PyTree[str]],  # noqa: UP045
        "d": PyTree[int] | None,
        "e": "PyTree[int]",
    }
    hints = typing.get_type_hints(fn, localns={"PyTree": PyTree})
    assert typing.get_args(hints["a"]) == (int,)
    assert typing.get_origin(hints["a"]) is PyTree
    assert hints["b"][int] == hints["e"] == PyTree[int]
    assert type(None) in typing.get_args(hints["c"])
    assert type(None) in typing.get_args(hints["d"])
    assert hash(PyTree[int]) == hash(PyTree[int])


def test_the_types_of_signatures_are_there_at_run_time() -> None:
    from clika_pytree.typing import FlattenFn, KeyEntry, KeyPath, UnflattenFn

    assert typing.get_args(KeyPath) == (KeyEntry, ...)
    assert {pytree.SequenceKey, pytree.DataclassKey} < set(typing.get_args(KeyEntry))
    assert typing.get_args(UnflattenFn[int])[-1] is int
    assert typing.get_args(FlattenFn[int])[0] == [int]
    with pytest.raises(AttributeError, match=r"clika_pytree\.typing.* no attribute 'KeyPaths'"):
        clika_pytree.typing.KeyPaths  # noqa: B018
    for_checkers = re.findall(r"from \.aliases import (\w+) as \1$", (PACKAGE / "typing.py").read_text(), re.M)
    assert for_checkers == aliases.__all__


@pytest.mark.parametrize("tree", [None, 1, [1], {"a": object()}, int])
def test_every_object_is_a_tree(tree: Any) -> None:
    assert isinstance(tree, pytree.PyTree)
    with pytest.raises(TypeError):
        isinstance(tree, pytree.PyTree[int])


def test_the_type_of_trees_has_no_instances() -> None:
    with pytest.raises(TypeError, match="annotations"):
        pytree.PyTree()
