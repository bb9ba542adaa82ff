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
    encode_header,
    keystr,
    leaf_names,
    runtime_of,
    tree_flatten,
)
from clika_pytree.boundary.state import traced_name, user_place
from clika_pytree.runtimes.file_dtypes import BITS, why_not
from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, place, short_name, with_article

from .document import FORMAT, KEY, PLAIN, ROOT, dict_text, flat_key_problem, tree_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from typing import Any

    from clika_pytree._native import ArrayFacts
    from clika_pytree.runtimes.protocol import Runtime
    from clika_pytree.typing import Namespace

    # Name, dtype as the file calls it, shape, the tensor, and its runtime; None where it has the bytes as they are.
    Tensor = tuple[str, str, tuple[int, ...], Any, Runtime | None]

__all__ = ["Plan", "plan_of"]

PLAIN_CLASSES = frozenset(map(id, PLAIN))


# What is handed to the system at a time: so many tensors, so many bytes of copies.
MOST_PARTS = 1024
MOST_COPIED = 32 << 20


class Plan:
    """The tensors of a file in their order, and its metadata.

    `is_dict` says that they are named by the keys of a flat dict, and not by the texts of key paths.
    """

    is_dict = False

    def __init__(self, tensors: list[Tensor], metadata: dict[str, str], *, is_dict: bool) -> None:
        self.tensors, self.metadata, self.is_dict = tensors, metadata, is_dict

    @cached_property
    def sizes(self) -> list[int]:
        """The bytes of each tensor."""
        return [prod(shape) * BITS[code] // 8 for _, code, shape, _, _ in self.tensors]

    @cached_property
    def nbytes(self) -> int:
        return sum(self.sizes)

    def header(self) -> tuple[bytes, int]:
        """The first bytes of the file, and its size."""
        return encode_header(self.tensors, sorted(self.metadata.items()))

    def parts(self) -> Iterator[list[Any]]:
        """The bytes of the tensors, some at a time."""
        parts: list[Any] = []
        copied = 0
        for name, code, shape, tensor, runtime in self.tensors:
            if runtime is None:
                parts.append(tensor)
            else:
                try:
                    host = runtime.to_host(tensor)
                except (PyTreeTypeError, PyTreeValueError) as error:
                    raise self.refused(name, type(error), str(error)) from None
                if host.dtype != code or tuple(host.shape) != tuple(shape):
                    why = "it has another dtype or shape than before, as it was changed meanwhile"
                    raise self.refused(name, PyTreeValueError, why)
                parts.append(host.buffer)
                if host.buffer is not tensor:
                    copied += getattr(host.buffer, "nbytes", 0)
            if len(parts) >= MOST_PARTS or copied >= MOST_COPIED:
                yield parts
                parts, copied = [], 0
        if parts:
            yield parts

    def refused(self, name: str, error: Any, why: str) -> Any:
        path = str(MappingKey(name)) if self.is_dict else "" if name == ROOT else name
        refusal = error(f"save() can't write the tensor {f'at {path}' if path else 'at the root'}: {why}")
        refusal.path = path
        return refusal


class ReadyPlan(Plan):
    """Arrays of numpy that lie in memory as in a file, each of them once: nothing is kept of them one by one."""

    def __init__(self, names: list[str], arrays: list[Any], facts: ArrayFacts, metadata: dict[str, str]) -> None:
        self.names, self.arrays, self.facts, self.metadata = names, arrays, facts, metadata

    @cached_property
    def tensors(self) -> list[Tensor]:  # type: ignore[override]
        """As others have them, for files that take a part of them each."""
        facts: Any = self.facts
        pairs = zip(self.names, self.arrays, strict=True)
        return [(name, *facts[index][:2], array, None) for index, (name, array) in enumerate(pairs)]

    def header(self) -> tuple[bytes, int]:
        return self.facts.encode(self.names, sorted(self.metadata.items()))

    def parts(self) -> Iterator[list[Any]]:
        for start in range(0, len(self.arrays), MOST_PARTS):
            yield self.arrays[start : start + MOST_PARTS]


def plan_of(obj: Any, namespace: Namespace) -> Plan:
    with dict_insertion_ordered(True):
        flat = flat_items(obj, namespace)
        if flat is not None:
            return plan_of_dict(flat)
        found, spec = tree_flatten(obj, namespace=namespace)
    leaves = Leaves(lambda index: spec.key_paths()[index], found)
    facts = leaves.facts
    if facts is not None and facts.are_ready:
        names = leaf_names(spec)
        if "" not in names and len({*names}) == len(names):
            return ReadyPlan(names, found, facts, {KEY: tree_text(spec, [], []), **FORMAT})
    values: list[tuple[int, Any]] = []
    ties: list[tuple[int, int]] = []
    tensors: list[int] = []
    for index, leaf in enumerate(found):
        first = leaves.look(index)
        if first is None:
            values.append((index, leaf))
        elif first != index:
            ties.append((index, first))
        else:
            tensors.append(index)
    names = leaf_names(spec)
    for index in tensors:
        leaves.add(index, names[index] or ROOT)
    return Plan(leaves.tensors, {KEY: tree_text(spec, values, ties), **FORMAT}, is_dict=False)


def flat_items(obj: Any, namespace: Namespace) -> dict[str, Any] | None:
    """The dict that is written under its own keys; None of every other tree."""
    if class_of(obj) is not dict and class_of(obj) is not OrderedDict:
        return None
    items = dict(obj)
    if {*map(type, items)} - {str}:
        return None
    leaves, spec = tree_flatten(items, namespace=namespace)
    # Whether each value is a leaf.
    return items if len(leaves) == len(items) == spec.num_nodes - 1 else None


def plan_of_dict(items: dict[str, Any]) -> Plan:
    keys = [*items]
    leaves = Leaves(lambda index: (MappingKey(keys[index]),), [*items.values()])
    facts = leaves.facts
    if facts is not None and facts.are_ready and "".join(keys).isascii() and "__metadata__" not in items:
        # Nothing to say of any of them, as in most state dicts.
        return ReadyPlan(keys, leaves.leaves, facts, {})
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
    metadata = {KEY: dict_text(values, ties), **FORMAT} if values or ties else {}
    return Plan(leaves.tensors, metadata, is_dict=True)


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
        # Asked once: code of the user's may take a runtime back.
        self.runtimes: dict[int, Runtime] = {}

    def fact(self, index: int) -> tuple[str, tuple[int, ...], bool, int] | None:
        """What is known of a leaf without a look at its runtime."""
        return None if self.facts is None else self.facts[index]

    def look(self, index: int) -> int | None:
        """The first leaf that is the same tensor as this one, mostly itself; None where it is a plain value."""
        fact = self.fact(index)
        if fact is not None:
            return fact[3]
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
        if runtime.is_traced([leaf]):
            raise self.without_elements(index)
        self.runtimes[index] = runtime
        first = self.objects.setdefault(id(leaf), index)
        if first != index:
            return first
        memory = runtime.same_memory(leaf)
        if memory is not None:
            first = self.objects[id(leaf)] = self.memories.setdefault((runtime.name, memory), index)
        return first

    def add(self, index: int, name: str) -> None:
        """Add a tensor that was looked at to those of the file."""
        leaf, fact = self.leaves[index], self.fact(index)
        if fact is not None:
            code, shape, is_ready, _ = fact
            runtime = None if is_ready else runtime_of(leaf)
        else:
            runtime = self.runtimes[index]
            code, shape = runtime.stored_as(leaf)
            problem = why_not(code)
            if problem is not None:
                raise self.refused(index, PyTreeTypeError, problem, "tensor")
        if name in self.names:
            why = "another one has this name, as their keys are different and print alike; use keys that do not"
            raise self.refused(index, PyTreeValueError, why)
        self.names.add(name)
        self.tensors.append((name, code, shape, leaf, runtime))

    def without_elements(self, index: int) -> Any:
        inside = traced_name() or "a function"
        return self.refused(
            index,
            RecordingError,
            f"it stands for one inside {inside}, which is being compiled or traced, and has no elements there, at "
            f"{user_place()}. Return it, and save the result",
            "tensor",
        )

    def refused(self, index: int, error: Any, why: str, what: str = "leaf") -> Any:
        path = self.path(index)
        return with_path(error(f"save() can't write the {what} {place(path)}: {why}"), path)


def facts_of(leaves: list[Any]) -> ArrayFacts | None:
    """What is known at once of the arrays among some leaves, where numpy's own runtime has them.

    Beside arrays of another class, as memory-mapped ones, all are looked at one by one: they may be the same memory.
    """
    import sys

    if "numpy" in sys.modules:
        from clika_pytree.runtimes.numpy import host, runtime

        # By identity, as the hash of a class may be that of a metaclass.
        classes = dict(zip(map(id, map(type, leaves)), map(type, leaves), strict=True))
        if runtime_of(host.EMPTY) is runtime.runtime and not any(map(host.is_of_own_class, classes.values())):
            return array_facts(leaves, host.READY)
    return None


def with_path(error: Any, path: Sequence[Any]) -> Any:
    try:
        error.path = keystr(path)
    except Exception:
        error.path = None  # the repr of a user's key failed
    return error
