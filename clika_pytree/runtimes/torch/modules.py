"""Modules: their tensors, which are inputs read at each call, and whether they still are what a graph was made for.

Those among the arguments of a call are seen to by `compile`. Others, which a function reaches by closure, as a global
or in an object, are found here.
"""

from __future__ import annotations

import types
from contextlib import contextmanager

from clika_pytree.runtimes.numpy.reach import Search, top_of
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, shorten, value_text

from .library import Module, Tensor

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from typing import Any

    from clika_pytree.runtimes.numpy.reach import Find

__all__: list[str] = []

# How many objects around a function are looked at for modules.
MOST_FOUND = 20_000
TENSORS = ("_parameters", "_buffers")
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


# What stands for the tensors of modules that are arguments, by the identity of the tensor, while a function is traced.
lent: dict[int, Any] = {}


def state(module: Any) -> dict[str, Any]:
    """The tensors of a module by name: those of a state dict, each once, and the buffers that are not in it."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    agenda: list[tuple[str, Any]] = [("", module)]
    while agenda:
        prefix, part = agenda.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        attributes = attributes_of(part)
        for kind in TENSORS:
            for key, tensor in attributes[kind].items():
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    found[prefix + key] = tensor
        children: dict[str, Any] = attributes["_modules"]
        agenda += [(f"{prefix}{key}.", child) for key, child in reversed(children.items()) if child is not None]
    return found


@contextmanager
def holding(module: Any, others: Mapping[str, Any]) -> Generator[None]:
    """The block in which a module has other tensors, wherever it has its own: under several names, and in lists."""
    own = state(module)
    by_id = {id(own[name]): tensor for name, tensor in others.items() if name in own}
    keepers = Places({"": module}).keepers
    before = [(keeper, keeper.copy()) for _, keeper in keepers]
    added = {address: tensor for address, tensor in by_id.items() if address not in lent}
    lent.update(added)
    try:
        for keeper, was in before:
            for key, tensor in was.items():
                if id(tensor) in by_id:
                    keeper[key] = by_id[id(tensor)]
        yield
    finally:
        for address in added:
            lent.pop(address, None)
        for keeper, was in before:
            put_back(keeper, was)


def put_back(keeper: dict[str, Any], was: dict[str, Any]) -> None:
    """Give a dict of a module the tensors again that it had, and no other."""
    for key, value in [*keeper.items()]:
        if isinstance(value, Tensor) and was.get(key) is not value:
            del keeper[key]
    if not was.keys() <= keeper.keys():
        now = keeper.copy()
        keeper.clear()
        # In the order that they had.
        keeper.update({key: now.get(key, value) for key, value in was.items()})
        keeper.update({key: value for key, value in now.items() if key not in was})


class Around(Search):
    """The modules and all else that a function can get hold of; modules themselves are not looked into."""

    def within(self, name: str, found: Any, names: frozenset[str]) -> Iterator[Find]:
        if isinstance(found, (Module, Tensor)) or is_of_torch(found):
            return iter(())
        return super().within(name, found, names)


def is_of_torch(found: Any) -> bool:
    if isinstance(found, types.ModuleType):
        return top_of(found.__name__) == "torch"
    holder = found if isinstance(found, (type, types.FunctionType)) else class_of(found)
    return top_of(getattr(holder, "__module__", "")) == "torch"


def modules_around(flat_fn: Any) -> dict[str, Any]:
    """The modules that a function reaches and that are no arguments of it, by name."""
    given: dict[str, Any] = getattr(flat_fn, "values", {})
    roots = [*given.items(), ("", getattr(flat_fn, "__wrapped__", flat_fn))]
    found: dict[str, Any] = {}
    seen = {id(part) for value in given.values() if isinstance(value, Module) for part in value.modules()}
    for name, value in Around(roots, MOST_FOUND):
        if isinstance(value, Module) and id(value) not in seen:
            found[name if name not in found else f"{name} ({len(found)})"] = value
            seen.update(map(id, value.modules()))
    return found


def attributes_of(module: Any) -> dict[str, Any]:
    found: dict[str, Any] = module.__dict__
    return found


class Places:
    """Where the tensors of some modules are kept.

    Attributes:
        of: For the identity of a tensor: the dict that it is in, its key there, and its name.
        keepers: All dicts that tensors may be put in, with the names of the modules.
    """

    def __init__(self, modules: dict[str, Any]) -> None:
        self.of: dict[int, tuple[dict[str, Any], str, str]] = {}
        self.keepers: list[tuple[str, dict[str, Any]]] = []
        for name, root in modules.items():
            for path, module in root.named_modules(prefix=name):
                attributes = attributes_of(module)
                self.keepers.append((path, attributes))
                for kind in TENSORS:
                    tensors: dict[str, Any] = attributes[kind]
                    self.keepers.append((path, tensors))
                    for key, tensor in tensors.items():
                        if tensor is not None:
                            self.of.setdefault(id(tensor), (tensors, key, f"{path}.{key}"))


class Watched:
    """A module as a graph was made for it: its attributes, those of the modules in it, and how many hooks there are.

    What it holds is compared as the attributes of any other object are, one level deep. Its tensors are inputs.
    """

    def __init__(self, path: str, module: Any) -> None:
        self.path, self.module = path, module
        self.attributes = attributes_of(module)
        self.values = tuple(self.attributes.values())
        self.children: dict[str, Any] = self.attributes["_modules"]
        self.children_then = tuple(self.children.items())
        self.hooks: list[dict[int, Any]] = [self.attributes[name] for name in HOOKS if name in self.attributes]
        self.hooks_then = [*map(len, self.hooks)]
        self.names = tuple(self.attributes)
        tensors: list[dict[str, Any]] = [self.attributes[kind] for kind in TENSORS]
        self.none = [(held, key) for held in tensors for key, value in held.items() if value is None]

    def is_same(self) -> bool:
        try:
            return (
                tuple(self.attributes.values()) == self.values
                and (not self.children_then or tuple(self.children.items()) == self.children_then)
                and [*map(len, self.hooks)] == self.hooks_then
                and all(held.get(key) is None for held, key in self.none)
            )
        except Exception:  # of an `==` that gives no bool: it is asked of what is another object now
            return False

    def change(self) -> str:
        """What is different now, as `training = False (was True)`."""
        old = dict(zip(self.names, self.values, strict=True))
        for name in {**old, **self.attributes}:
            was, now = (values.get(name, MISSING) for values in (old, self.attributes))
            if was is not now and not same(was, now):
                return f"{self.path}.{name} = {value_text(now)} (was {value_text(was)})"
        if tuple(self.children.items()) != self.children_then:
            return f"{self.path} has other modules"
        for held, key in self.none:
            if held.get(key) is not None:
                return f"{self.path}.{key} is a tensor (was None)"
        return f"{self.path} has other hooks"


MISSING = object()


def same(was: Any, now: Any) -> bool:
    try:
        return bool(was == now)
    except Exception:
        return False


class Said:
    """What a condition says: a text without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Said) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text


UNCHANGED = Said("what it was")


class Unchanged:
    """The condition that a module is what it was."""

    value = UNCHANGED

    def __init__(self, name: str, module: Any) -> None:
        self.text = name
        self.watched = [Watched(path, one) for path, one in module.named_modules(prefix=name)]

    def function(self, tensors: Sequence[Any]) -> Said:
        for watched in self.watched:
            if not watched.is_same():
                return Said(shorten(watched.change(), 200))
        return UNCHANGED


class SameHooks:
    """The condition that a module which is an argument has the hooks that it had; guards see what else it holds."""

    value = UNCHANGED

    def __init__(self, name: str, module: Any) -> None:
        self.text = f"the hooks of {name}"
        parts = [attributes_of(part) for part in module.modules()]
        self.hooks: list[dict[int, Any]] = [part[kind] for part in parts for kind in HOOKS if kind in part]
        self.then = [*map(tuple, self.hooks)]

    def function(self, tensors: Sequence[Any]) -> Said:
        return UNCHANGED if [*map(tuple, self.hooks)] == self.then else Said("others")


def conditions(flat_fn: Any, modules: dict[str, Any]) -> list[Unchanged | SameHooks]:
    """What must hold of the modules that are arguments of a function, and of others that it reaches."""
    given: dict[str, Any] = getattr(flat_fn, "values", {})
    hooks = [SameHooks(name, value) for name, value in given.items() if isinstance(value, Module)]
    return [*hooks, *(Unchanged(name, module) for name, module in modules.items())]
