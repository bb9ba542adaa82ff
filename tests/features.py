"""What the table of the README says of each library, computed: each row is a function of the library."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1] / "README.md"
LIBRARIES = {
    "clika_pytree": "clika_pytree",
    r"torch.utils.\_pytree": "torch.utils._pytree",
    "JAX": "jax.tree_util",
    "optree": "optree",
    "dm-tree": "tree",
}


def table() -> dict[str, dict[str, str]]:
    """The cells of the README's table, by the text of their row and the head of their column."""
    paragraphs = README.read_text(encoding="utf-8").split("\n\n")
    head, _, *rows = map(cells, next(part for part in paragraphs if part.startswith("| | clika")).splitlines())
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip()[1:-1].split("|")]


def leaves(m: Any, tree: Any, **options: Any) -> list[Any]:
    return m.tree_leaves(tree, **options) if hasattr(m, "tree_leaves") else m.flatten(tree, **options)


def takes(function: Any, option: str) -> bool:
    try:
        return option in inspect.signature(function).parameters
    except ValueError:
        return False


def none(m: Any) -> str:
    names = {1: "leaf", 0: "node"}
    usual = len(leaves(m, [None]))
    if not hasattr(m, "tree_leaves") or not takes(m.tree_leaves, "none_is_leaf"):
        return names[usual]
    other = len(leaves(m, [None], none_is_leaf=not usual))
    return f"{names[usual]}; {names[other]} on request"


def order_of_dicts(m: Any) -> str:
    names = {(1, 2): "insertion", (2, 1): "sorted"}
    usual = names[tuple(leaves(m, {"b": 1, "a": 2}))]
    if not hasattr(m, "dict_insertion_ordered"):
        return usual
    options = {"namespace": "features"} if takes(m.dict_insertion_ordered, "namespace") else {}
    with m.dict_insertion_ordered(usual == "sorted", **options):
        return f"{usual}; {names[tuple(leaves(m, {'b': 1, 'a': 2}, **options))]} on request"


def yes(answer: object) -> str:
    return "yes" if answer else "no"


def equal_numbers(m: Any) -> str:
    return yes(m.tree_structure({1: 0}) == m.tree_structure({True: 0})) if hasattr(m, "tree_structure") else "-"


def dataclass_nodes(m: Any) -> str:
    """Whether flattening a dataclass that was registered calls functions of Python."""

    @dataclasses.dataclass
    class Layer:
        weight: Any
        bias: Any

    options: dict[str, Any] = {}
    if hasattr(m, "register_dataclass"):
        m.register_dataclass(Layer)
    elif hasattr(m, "dataclasses"):
        options["namespace"] = "features"
        m.dataclasses.register_node(Layer, namespace="features")
    elif leaves(m, Layer(1, 2)) != [1, 2]:
        return "-"
    calls: list[str] = []
    tree = [Layer(1, 2) for _ in range(100)]
    leaves(m, tree, **options)
    sys.setprofile(lambda frame, event, _: calls.append(event) if event == "call" else None)
    try:
        found = leaves(m, tree, **options)
    finally:
        sys.setprofile(None)
    assert found == [1, 2] * 100
    return "Python functions" if len(calls) > 100 else "native node"


def namespaces(m: Any) -> str:
    return yes(hasattr(m, "register_pytree_node") and takes(m.register_pytree_node, "namespace"))


def outcome(function: Callable[..., Any], *arguments: Any) -> str:
    try:
        function(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def deep(m: Any) -> str:
    tree: Any = 1
    for _ in range(5000):
        tree = [tree]
    return yes(not outcome(leaves, m, tree))


def circle(m: Any) -> str:
    loop: list[Any] = [1]
    loop.append(loop)
    said = outcome(leaves, m, {"k": loop})
    return "names the place" if "['k'][1]" in said else said.partition(":")[0]


def misfit(m: Any) -> str:
    mapped = getattr(m, "tree_map", None) or m.map_structure
    said = outcome(mapped, lambda x, y: x, {"layers": [{"w": [1, 2]}]}, {"layers": [{"w": (1, 2)}]})
    assert said
    return yes("['layers'][0]['w']" in said)


def followed(m: Any) -> str:
    """Whether a key path that the library gives leads back to the leaf, by a function of the library."""
    tree = {"a": [1, (2,)]}
    if hasattr(m, "tree_accessors"):
        return yes([path(tree) for path in m.tree_accessors(tree)] == [1, 2])
    if hasattr(m, "key_get"):
        return yes([m.key_get(tree, path) for path, _ in m.tree_leaves_with_path(tree)] == [1, 2])
    return yes(any("get" in name.lower().split("_") for name in dir(m) if not name.startswith("_")))


def text(m: Any) -> str:
    if not hasattr(m, "treespec_dumps"):
        return yes(any("dumps" in name or "json" in name.lower() for name in dir(m)))
    spec = m.tree_structure({"a": [1, (2,)]})
    return yes(m.treespec_loads(m.treespec_dumps(spec)) == spec)


def pickled(m: Any) -> str:
    if not hasattr(m, "tree_structure"):
        return "-"
    spec = m.tree_structure({"a": [1, (2,)]})
    return yes(pickle.loads(pickle.dumps(spec)) == spec)


def differences(m: Any) -> str:
    one, other = {"a": [1], "b": [2]}, {"a": (1,), "b": (2,)}
    if hasattr(m, "tree_diff"):
        return yes([m.keystr(each.path) for each in m.tree_diff(one, other)] == ["['a']", "['b']"])
    found = m.prefix_errors(one, other) if hasattr(m, "prefix_errors") else ()
    return "those of a prefix" if len(found) == 2 else "no"


ROWS: dict[str, Callable[[Any], str]] = {
    "None": none,
    "order of a dict's leaves": order_of_dicts,
    "`{1: x}` and `{True: x}` have one structure": equal_numbers,
    "dataclasses": dataclass_nodes,
    "namespaces of registrations": namespaces,
    "a list nested 5,000 deep is flattened": deep,
    "a tree that contains itself": circle,
    "where two trees do not fit, the error names the place": misfit,
    "a key path is followed to its leaf": followed,
    "structures as JSON": text,
    "structures as pickles": pickled,
    "differences of two trees, listed by path": differences,
}


def module_of(column: str) -> Any:
    return importlib.import_module(LIBRARIES[column])
