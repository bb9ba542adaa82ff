"""What the tests of the guard cache share: runtimes, guards, and caches that are filled by calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from clika_pytree._native import GuardCache, set_runtime_resolver
from clika_pytree.runtimes import runtime_of_module_type, runtime_of_type


class Runtime:
    def __init__(self, name: str, *classes: type, own_guards: bool = False) -> None:
        self.name, self.classes, self.own_guards = name, classes, own_guards


class Tensor:
    """A tensor of a runtime that is read by attributes."""

    def __init__(self, *shape: int, dtype: str = "float32") -> None:
        self.shape, self.dtype = shape, dtype


class Traced(Tensor):
    """One of a runtime that has guards of its own."""


NUMPY = Runtime("numpy", np.ndarray, np.generic)
PLAIN = Runtime("plain", Tensor)
OWN = Runtime("own", Traced, own_guards=True)


def resolve(cls: type) -> Runtime | None:
    found = [runtime for runtime in (OWN, PLAIN, NUMPY) if issubclass(cls, runtime.classes)]
    return found[0] if found else None


@contextmanager
def resolver(function: Callable[[type], Any]) -> Iterator[None]:
    set_runtime_resolver(function)
    try:
        yield
    finally:
        set_runtime_resolver(runtime_of_type, runtime_of_module_type)


class Fact:
    def __init__(self, layout: str | None = None) -> None:
        self.layout = layout


class Condition:
    def __init__(self, function: Callable[[list[Any]], Any], value: Any, text: str = "a size") -> None:
        self.function, self.value, self.text = function, value, text


class Guards:
    def __init__(
        self,
        facts: dict[int, Fact] | int = 0,
        sizes: dict[tuple[int, int], int] | None = None,
        conditions: list[Condition] | None = None,
    ) -> None:
        self.facts = {index: Fact() for index in range(facts)} if isinstance(facts, int) else facts
        self.sizes, self.conditions = sizes or {}, conditions or []


def cache_of(fn: Callable[..., Any], maxsize: int = 8, **options: Any) -> GuardCache:
    return GuardCache(inspect.signature(fn), maxsize, name=fn.__name__, **options)


def put(cache: GuardCache, value: Any, *args: Any, guards: Any = "all facts", **kwargs: Any) -> None:
    """Insert a value for a call."""
    call = cache.bind(args, kwargs)
    cache.insert(call, value, guards=Guards(len(call.tensors)) if guards == "all facts" else guards)


def get(cache: GuardCache, *args: Any, **kwargs: Any) -> Any:
    """What is found for a call, without its tensors; None for nothing."""
    found = cache.lookup(args, kwargs)
    return None if found is None else found[0]


def are_one(first: Any, second: Any) -> bool:
    """Whether two arguments are one key: each way, by the entry used last and by its hash."""
    answers = set()
    for one, other in ((first, second), (second, first)):
        for detour in (False, True):
            cache = cache_of(lambda x: x)
            put(cache, "one", one)
            if detour:
                put(cache, "detour", ("something", "else"))
            answers.add(get(cache, other) == "one")
            assert get(cache, one) == "one"
    assert len(answers) == 1
    return answers.pop()


class Plain:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class Valued:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Valued and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def method(self) -> Any:
        return self.value


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return np.zeros(shape, dtype)
