"""What `save` writes: the tensors by name, and the metadata. Whatever can't be written is found here."""

from __future__ import annotations

from collections import OrderedDict

from clika_pytree._native import (
    MappingKey,
    PyTreeTypeError,
    PyTreeValueError,
    dict_insertion_ordered,
    keystr,
    runtime_of,
    tree_flatten,
    tree_flatten_with_path,
)
from clika_pytree.registration import with_article
from clika_pytree.runtimes.file_dtypes import why_not
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, place, short_name

from .document import FORMAT, KEY, PLAIN, dict_text, flat_key_problem, path_name, tree_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from typing import Any

    from clika_pytree.runtimes.protocol import Runtime
    from clika_pytree.typing import Namespace

    # Name, dtype as the file calls it, shape, the tensor, and its runtime.
    Tensor = tuple[str, str, tuple[int, ...], Any, Runtime]

__all__ = ["Plan", "plan_of"]

PLAIN_CLASSES = frozenset(map(id, PLAIN))


class Plan:
    """The tensors of a file in their order, and its metadata."""

    def __init__(self, tensors: list[Tensor], metadata: dict[str, str]) -> None:
        self.tensors, self.metadata = tensors, metadata
        self.sizes = [bytes_of(code, shape) for _, code, shape, _, _ in tensors]
        self.nbytes = sum(self.sizes)


def bytes_of(code: str, shape: Sequence[int]) -> int:
    import math

    bits = "".join(char for char in code.partition("_")[0] if char.isdigit())
    return math.prod(shape) * (int(bits) if bits else 8) // 8


def plan_of(obj: Any, namespace: Namespace) -> Plan:
    with dict_insertion_ordered(True):
        flat = flat_items(obj, namespace)
        if flat is not None:
            return plan_of_dict(flat)
        pairs, spec = tree_flatten_with_path(obj, namespace=namespace)
    leaves = Leaves(lambda index: pairs[index][0])
    values: list[tuple[int, Any]] = []
    ties: list[tuple[int, int]] = []
    for index, (path, leaf) in enumerate(pairs):
        runtime = runtime_of(leaf)
        if runtime is None:
            values.append((index, leaves.plain(index, leaf)))
            continue
        first = leaves.seen_at(index, leaf, runtime)
        if first is not None:
            ties.append((index, first))
        else:
            leaves.add(index, path_name(path), leaf, runtime)
    return Plan(leaves.tensors, {KEY: tree_text(spec, values, ties), **FORMAT})


def flat_items(obj: Any, namespace: Namespace) -> dict[str, Any] | None:
    """The dict that is written under its own keys; None of every other tree."""
    if class_of(obj) is not dict and class_of(obj) is not OrderedDict:
        return None
    items = dict(obj)
    if not all(type(key) is str for key in items):
        return None
    leaves, _ = tree_flatten(items, namespace=namespace)
    if len(leaves) != len(items) or any(a is not b for a, b in zip(leaves, items.values(), strict=True)):
        return None
    return items


def plan_of_dict(items: dict[str, Any]) -> Plan:
    keys = [*items]
    leaves = Leaves(lambda index: (MappingKey(keys[index]),))
    values: list[tuple[int, str, Any]] = []
    ties: list[tuple[str, str]] = []
    for index, (key, leaf) in enumerate(items.items()):
        problem = flat_key_problem(key)
        if problem is not None:
            raise with_path(PyTreeValueError(f"save() can't write {problem}"), leaves.path(index))
        runtime = runtime_of(leaf)
        if runtime is None:
            values.append((index, key, leaves.plain(index, leaf)))
            continue
        first = leaves.seen_at(index, leaf, runtime)
        if first is not None:
            ties.append((key, keys[first]))
        leaves.add(index, key, leaf, runtime)
    return Plan(leaves.tensors, {KEY: dict_text(values, ties), **FORMAT} if values or ties else {})


class Leaves:
    """The tensors that were met so far."""

    def __init__(self, path: Callable[[int], Sequence[Any]]) -> None:
        self.path = path
        self.tensors: list[Tensor] = []
        self.names: dict[str, int] = {}
        # Where a tensor was first met, by its identity and by its memory.
        self.objects: dict[int, int] = {}
        self.memories: dict[Hashable, int] = {}

    def plain(self, index: int, leaf: Any) -> Any:
        if id(class_of(leaf)) in PLAIN_CLASSES:
            return leaf
        name = with_article(short_name(class_of(leaf)))
        raise self.refused(
            index,
            PyTreeTypeError,
            f"it is {name}, neither a tensor nor a plain value (None, bool, int, float, complex, str, bytes); take it "
            "out of the tree, or register its class as a node",
        )

    def refused(self, index: int, error: Any, why: str, what: str = "leaf") -> Any:
        path = self.path(index)
        return with_path(error(f"save() can't write the {what} {place(path)}: {why}"), path)

    def seen_at(self, index: int, leaf: Any, runtime: Runtime) -> int | None:
        """The leaf that is the same elements at the same place."""
        first = self.objects.setdefault(id(leaf), index)
        if first != index:
            return first
        memory = runtime.same_memory(leaf)
        if memory is None:
            return None
        first = self.memories.setdefault((runtime.name, memory), index)
        self.objects[id(leaf)] = first
        return None if first == index else first

    def add(self, index: int, name: str, leaf: Any, runtime: Runtime) -> None:
        code, shape = runtime.stored_as(leaf)
        problem = why_not(code)
        if problem is not None:
            raise self.refused(index, PyTreeTypeError, problem, "tensor")
        if self.names.setdefault(name, index) != index:
            why = "another one has this name, as their keys are different and print alike; use keys that do not"
            raise self.refused(index, PyTreeValueError, why)
        self.tensors.append((name, code, shape, leaf, runtime))


def with_path(error: Any, path: Sequence[Any]) -> Any:
    try:
        error.path = keystr(path)
    except Exception:
        error.path = None  # the repr of a user's key failed
    return error
