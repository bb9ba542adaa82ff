"""What `save` writes: the tensors by name, and the metadata. Whatever can't be written is found here."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from math import prod

from clika_pytree._native import (
    MappingKey,
    PyTreeTypeError,
    PyTreeValueError,
    array_facts,
    dict_insertion_ordered,
    keystr,
    runtime_of,
    tree_flatten,
    tree_flatten_with_path,
)
from clika_pytree.registration import with_article
from clika_pytree.runtimes.file_dtypes import BITS, why_not
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, place, short_name

from .document import FORMAT, KEY, PLAIN, dict_text, flat_key_problem, path_name, tree_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from typing import Any

    from clika_pytree.runtimes.protocol import Runtime
    from clika_pytree.typing import Namespace

    # Name, dtype as the file calls it, shape, the tensor, and its runtime; None where it has the bytes as they are.
    Tensor = tuple[str, str, tuple[int, ...], Any, Runtime | None]

__all__ = ["Plan", "plan_of"]

PLAIN_CLASSES = frozenset(map(id, PLAIN))


class Plan:
    """The tensors of a file in their order, and its metadata."""

    def __init__(self, tensors: list[Tensor], metadata: dict[str, str]) -> None:
        self.tensors, self.metadata = tensors, metadata

    @cached_property
    def sizes(self) -> list[int]:
        """The bytes of each tensor."""
        return [prod(shape) * BITS[code] // 8 for _, code, shape, _, _ in self.tensors]

    @cached_property
    def nbytes(self) -> int:
        return sum(self.sizes)


def plan_of(obj: Any, namespace: Namespace) -> Plan:
    with dict_insertion_ordered(True):
        flat = flat_items(obj, namespace)
        if flat is not None:
            return plan_of_dict(flat)
        pairs, spec = tree_flatten_with_path(obj, namespace=namespace)
    leaves = Leaves(lambda index: pairs[index][0], [leaf for _, leaf in pairs])
    values: list[tuple[int, Any]] = []
    ties: list[tuple[int, int]] = []
    for index, (path, leaf) in enumerate(pairs):
        first = leaves.look(index)
        if first is None:
            values.append((index, leaf))
        elif first != index:
            ties.append((index, first))
        else:
            leaves.add(index, path_name(path))
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
    leaves = Leaves(lambda index: (MappingKey(keys[index]),), [*items.values()])
    if leaves.are_ready() and "".join(keys).isascii() and "__metadata__" not in items:
        # Nothing to say of any of them, as in most state dicts.
        return Plan(
            [(key, *fact[:2], leaf, None) for (key, leaf), fact in zip(items.items(), leaves.facts, strict=True)], {}
        )
    values: list[tuple[int, str, Any]] = []
    ties: list[tuple[str, str]] = []
    for index, key in enumerate(keys):
        problem = flat_key_problem(key)
        if problem is not None:
            raise with_path(PyTreeValueError(f"save() can't write {problem}"), leaves.path(index))
        first = leaves.look(index)
        if first is None:
            values.append((index, key, leaves.leaves[index]))
            continue
        if first != index:
            ties.append((key, keys[first]))
        leaves.add(index, key)
    return Plan(leaves.tensors, {KEY: dict_text(values, ties), **FORMAT} if values or ties else {})


class Leaves:
    """The leaves of a tree, looked at in their order."""

    def __init__(self, path: Callable[[int], Sequence[Any]], leaves: list[Any]) -> None:
        self.path, self.leaves = path, leaves
        self.facts = facts_of(leaves)
        self.tensors: list[Tensor] = []
        self.names: set[str] = set()
        # Where a tensor was first met, by its identity and by its memory; those that the facts tell of apart.
        self.objects: dict[int, int] = {}
        self.memories: dict[Hashable, int] = {}

    def are_ready(self) -> bool:
        """Whether all are arrays that lie in memory as in a file, and none is there twice."""
        return all(fact is not None and fact[2] and fact[3] == index for index, fact in enumerate(self.facts))

    def look(self, index: int) -> int | None:
        """The first leaf that is the same tensor as this one, mostly itself; None where it is a plain value."""
        fact = self.facts[index]
        if fact is not None:
            found: int = fact[3]
            return found
        leaf = self.leaves[index]
        if id(class_of(leaf)) in PLAIN_CLASSES:
            return None
        runtime = runtime_of(leaf)
        if runtime is None:
            name = with_article(short_name(class_of(leaf)))
            raise self.refused(
                index,
                PyTreeTypeError,
                f"it is {name}, neither a tensor nor a plain value (None, bool, int, float, complex, str, bytes); take "
                "it out of the tree, or register its class as a node",
            )
        first = self.objects.setdefault(id(leaf), index)
        if first != index:
            return first
        memory = runtime.same_memory(leaf)
        if memory is not None:
            first = self.objects[id(leaf)] = self.memories.setdefault((runtime.name, memory), index)
        return first

    def add(self, index: int, name: str) -> None:
        """Add a tensor that was looked at to those of the file."""
        leaf, fact = self.leaves[index], self.facts[index]
        if fact is not None:
            code, shape, is_ready, _ = fact
            runtime = None if is_ready else runtime_of(leaf)
        else:
            runtime = runtime_of(leaf)
            code, shape = runtime.stored_as(leaf)
            problem = why_not(code)
            if problem is not None:
                raise self.refused(index, PyTreeTypeError, problem, "tensor")
        if name in self.names:
            why = "another one has this name, as their keys are different and print alike; use keys that do not"
            raise self.refused(index, PyTreeValueError, why)
        self.names.add(name)
        self.tensors.append((name, code, shape, leaf, runtime))

    def refused(self, index: int, error: Any, why: str, what: str = "leaf") -> Any:
        path = self.path(index)
        return with_path(error(f"save() can't write the {what} {place(path)}: {why}"), path)


def facts_of(leaves: list[Any]) -> list[Any]:
    """What is known at once of the arrays among some leaves, where numpy's own runtime has them."""
    import sys

    if "numpy" in sys.modules:
        from clika_pytree.runtimes.numpy import host, runtime

        if runtime_of(host.EMPTY) is runtime.runtime:
            return array_facts(leaves, host.READY)
    return [None] * len(leaves)


def with_path(error: Any, path: Sequence[Any]) -> Any:
    try:
        error.path = keystr(path)
    except Exception:
        error.path = None  # the repr of a user's key failed
    return error
