"""A slow, pure-Python model of the guard cache, to compare the native one with: every entry is compared in turn.

It shares the walk over trees with the library, and none of the rules of what makes two calls one.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import struct
import types
from collections import namedtuple
from typing import Any

import clika_pytree
from clika_pytree import MappingKey, TreeSpec, dict_insertion_ordered, keystr, tree_flatten
from clika_pytree._native import PyTreeTypeError, lookup
from clika_pytree.runtimes import runtime_of_type

try:
    from clika_pytree._native import GuardError, UnregisteredNodeError
except ImportError:

    class GuardError(PyTreeTypeError):
        """A leaf that can't be a guard."""

    class UnregisteredNodeError(GuardError):
        """An object that is a leaf and holds tensors."""


CacheInfo = namedtuple("CacheInfo", "hits misses maxsize currsize")
BY_IDENTITY = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, enum.Enum)
PLAIN = (type(None), bool, int, float, complex, str, bytes)

_runtimes: dict[type, Any] = {}


def forget_runtimes() -> None:
    _runtimes.clear()


def runtime_of(obj: Any) -> Any:
    cls = type(obj)
    if cls not in _runtimes:
        _runtimes[cls] = runtime_of_type(cls)
    return _runtimes[cls]


# --- what makes two static values one ---------------------------------------------------------------------------------


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


def value_key(value: Any, depth: int = 1) -> Any:
    """A value that is equal for two static values exactly if they are one guard."""
    cls = type(value)
    if cls is float:
        return cls, bits(value)
    if cls is complex:
        return cls, bits(value.real), bits(value.imag)
    if cls in PLAIN:
        return cls, value
    if cls is tuple:
        return cls, tuple(value_key(item, depth) for item in value)
    if isinstance(value, BY_IDENTITY):
        return "id", id(value)
    if cls is types.MethodType:
        return "method", id(value.__func__), value_key(value.__self__, depth)
    if dataclasses.is_dataclass(value) and cls.__eq__ is not object.__eq__:
        compared = [field.name for field in dataclasses.fields(value) if field.compare]
        return cls, tuple(attribute_key(getattr(value, name)) for name in compared)
    if cls.__eq__ is not object.__eq__:
        return cls, MappingKey(value)
    return "id", id(value), snapshot(value) if depth else None


def snapshot(value: Any) -> Any:
    """The attributes of an object, one level deep."""
    return tuple((name, attribute_key(held)) for name, held in attributes(value).items())


def attribute_key(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value), tuple(map(attribute_key, value))
    if type(value) is dict:
        return dict, tuple((value_key(key), attribute_key(held)) for key, held in value.items())
    try:
        return value_key(value, 0)
    except Exception:
        return "id", id(value)


def attributes(value: Any) -> dict[str, Any]:
    """What an object holds by name, in `__dict__` and slots."""
    found: dict[str, Any] = {}
    for cls in reversed(type(value).__mro__):
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            try:
                found[name] = object.__getattribute__(value, name)
            except AttributeError:
                continue
    held = getattr(value, "__dict__", None)
    return {**found, **(held if type(held) is dict else {})}


def check_static(value: Any, path: str, namespace: Any) -> None:
    """Refuse what can't be a guard."""
    cls = type(value)
    if cls in PLAIN or isinstance(value, BY_IDENTITY):
        return
    if cls is types.MethodType:
        check_static(value.__self__, path, namespace)
        return
    held = parts(value)
    inside = [name for name, part in held.items() if holds_tensor(part)]
    if inside:
        base = next((base for base in cls.__mro__[1:] if lookup(base, namespace) is not None), None)
        more = f" Its base {base.__name__} is registered; registration matches the exact class." if base else ""
        error: Exception = UnregisteredNodeError(
            f"{path} is a {cls.__name__}, which is not registered, so it counts as one leaf, but it holds tensors: "
            f"{', '.join(inside)}. They would be baked into the graph. Register the class.{more}"
        )
        error.path = path  # type: ignore[attr-defined]
        raise error
    if cls.__eq__ is object.__eq__:
        return
    try:
        hash(value if cls is set else MappingKey(value))
        if not isinstance(value == value, bool):
            raise TypeError("its == does not give a bool")
    except Exception as cause:
        error = GuardError(f"{path} is a {cls.__name__}, which can't be a guard: {cause}. Use a tuple or make it data.")
        error.path = path  # type: ignore[attr-defined]
        raise error from cause


def parts(value: Any) -> dict[str, Any]:
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        items = value.values() if isinstance(value, dict) else value
        return {f"[{index}]": item for index, item in enumerate(items)} | attributes(value)
    if hasattr(value, "keywords") and hasattr(value, "func"):
        return {"func": value.func, "args": value.args, "keywords": value.keywords} | attributes(value)
    return attributes(value)


def holds_tensor(value: Any) -> bool:
    return any(runtime_of(leaf) is not None for leaf in tree_flatten(value)[0])


# --- calls ------------------------------------------------------------------------------------------------------------


class Call:
    """One call, bound to the signature and taken apart."""

    def __init__(self, cache: GuardCache, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = cache.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        self.parameters = list(cache.signature.parameters.values())
        values = tuple(bound.arguments[parameter.name] for parameter in self.parameters)
        with dict_insertion_ordered(True):
            self.leaves, self.spec = tree_flatten(values, namespace=cache.namespace)
        hash(self.spec)
        self.names = tuple(f"{self.parameters[path[0].idx].name}{keystr(path[1:])}" for path in self.spec.key_paths())
        found = [runtime_of(leaf) for leaf in self.leaves]
        self.mask = tuple(runtime is not None for runtime in found)
        self.tensors = [leaf for leaf, is_tensor in zip(self.leaves, self.mask, strict=True) if is_tensor]
        distinct = {id(runtime): runtime for runtime in found if runtime is not None}.values()
        self.runtimes = tuple(sorted(distinct, key=lambda runtime: runtime.name == "numpy"))
        for leaf, name, is_tensor in zip(self.leaves, self.names, self.mask, strict=True):
            if not is_tensor:
                check_static(leaf, name, cache.namespace)
        self.statics = [leaf for leaf, is_tensor in zip(self.leaves, self.mask, strict=True) if not is_tensor]
        self.registrations = registrations(self.spec, cache.namespace)

    def key(self) -> Any:
        """All but the facts of the tensors."""
        return self.spec, self.mask, self.registrations, tuple(map(value_key, self.statics))


def registrations(spec: TreeSpec, namespace: Any) -> tuple[Any, ...]:
    found: list[Any] = []
    todo = [spec]
    while todo:
        node = todo.pop()
        if node.kind in ("custom", "dataclass", "static"):
            found.append(id(lookup(node.type, namespace)))
        todo.extend(node.children())
    return tuple(found)


class Entry:
    """One graph and what it is right for."""

    def __init__(self, call: Call, value: Any, guards: Any, dynamic: bool) -> None:
        self.call, self.value, self.hits = call, value, 0
        self.key, self.classes = call.key(), [type(tensor) for tensor in call.tensors]
        self.spec, self.statics = call.spec, call.statics
        self.facts, self.sizes, self.conditions = {}, {}, ()
        if guards is not None:
            self.facts, self.sizes, self.conditions = guards.facts, dict(guards.sizes), guards.conditions
            for index in () if dynamic else self.facts:
                self.sizes.update({(index, axis): size for axis, size in enumerate(call.tensors[index].shape)})
        # A description must not keep the tensors of the first call.
        self.shown = [described(tensor) for tensor in call.tensors]
        call.tensors = []
        call.leaves = [None if is_tensor else leaf for leaf, is_tensor in zip(call.leaves, call.mask, strict=True)]

    @property
    def guards(self) -> list[str]:
        tensors = [name for name, is_tensor in zip(self.call.names, self.call.mask, strict=True) if is_tensor]
        return [f"{name}: {shown}" for name, shown in zip(tensors, self.shown, strict=True)]

    def holds(self, call: Call) -> bool:
        try:
            if call.key() != self.key:
                return False
        except Exception:
            return False
        tensors = call.tensors
        return (
            [type(tensor) for tensor in tensors] == self.classes
            and all(fact_holds(fact, tensors[index]) for index, fact in self.facts.items())
            and all(tensors[index].shape[axis] == size for (index, axis), size in self.sizes.items())
            and all(condition.function(tensors) == condition.value for condition in self.conditions)
        )


def fact_holds(fact: Any, tensor: Any) -> bool:
    if type(tensor) is not fact.type or tensor.dtype != fact.dtype or tensor.ndim != fact.ndim:
        return False
    return fact.layout is None or fact.holds(tensor)


def described(tensor: Any) -> str:
    return f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


class GuardCache:
    """What was made for a call, found again by a call for which it is right."""

    def __init__(
        self, signature: inspect.Signature, maxsize: int, *, namespace: Any = "", dynamic: bool = False
    ) -> None:
        self.signature, self.maxsize, self.namespace, self.dynamic = signature, maxsize, namespace, dynamic
        self.clear()

    def clear(self) -> None:
        self._entries: list[Entry] = []  # newest use first
        self.hits = self.misses = self.evictions = 0

    def lookup(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any]] | None:
        try:
            call = Call(self, args, kwargs)
        except Exception:
            self.misses += 1
            return None
        for entry in self._entries:
            if entry.holds(call):
                self._entries.remove(entry)
                self._entries.insert(0, entry)
                entry.hits += 1
                self.hits += 1
                return entry.value, call.tensors
        self.misses += 1
        return None

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        return Call(self, args, kwargs)

    def insert(self, call: Call, value: Any, *, guards: Any = None) -> None:
        entry = Entry(call, value, guards, self.dynamic)
        self._entries.insert(0, entry)
        while len(self._entries) > self.maxsize:
            self._entries.pop()
            self.evictions += 1

    def entries(self) -> list[Entry]:
        return list(self._entries)

    def cache_info(self) -> Any:
        return CacheInfo(self.hits, self.misses, self.maxsize, len(self._entries))

    def explain(self, *given: Any) -> list[tuple[str, str | None, str | None, str]]:
        """What differs from the closest entry: the path, what was there, what is there, and the kind."""
        call = given[0] if len(given) == 1 else Call(self, *given)
        if not self._entries or any(entry.holds(call) for entry in self._entries):
            return []
        return min((self.differences(entry, call) for entry in self._entries), key=len)

    def differences(self, entry: Entry, call: Call) -> list[tuple[str, str | None, str | None, str]]:
        if entry.call.spec != call.spec:
            found = clika_pytree.tree_diff(entry.call.spec, call.spec)
            names = [parameter.name for parameter in call.parameters]
            return [(f"{names[d.path[0].idx]}{keystr(d.path[1:])}", d.a, d.b, d.kind) for d in found]
        found = []
        if entry.call.registrations != call.registrations:
            found.append(("", "the registrations of then", "other registrations", "registration"))
        shown, statics = iter(entry.shown), iter(entry.statics)
        facts = iter(range(len(entry.shown)))
        for name, leaf, was_tensor, is_tensor in zip(call.names, call.leaves, entry.call.mask, call.mask, strict=True):
            old = next(shown) if was_tensor else next(statics)
            index = next(facts) if was_tensor else -1
            if was_tensor and is_tensor:
                if index in entry.facts and old != described(leaf):
                    found.append((name, old, described(leaf), "tensor"))
            elif was_tensor or is_tensor or value_key(old) != value_key(leaf):
                texts = [old if was_tensor else repr(old), described(leaf) if is_tensor else repr(leaf)]
                found.append((name, *texts, "static"))
        return found
