"""Classes whose every method that the library may run, or cause to run, is a hook."""

from __future__ import annotations

import dataclasses
import enum
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

FRESH = "fresh"


def nothing(name: str) -> None:
    """What a hook does while no world listens."""


class Listener:
    """Where user code reports, and which of the objects below were made."""

    hear: Callable[[str], None] = staticmethod(nothing)
    made: ClassVar[list[weakref.ref]] = []

    @classmethod
    def count_alive(cls) -> int:
        """How many of those made since the last count are alive."""
        made, cls.made = cls.made, []
        return sum(ref() is not None for ref in made)


def hook(name: str) -> None:
    Listener.hear(name)


class Counted:
    """Its end is a hook, too."""

    end = "container.__del__"

    def __new__(cls, *args: Any, **fields: Any) -> Any:
        made = object.__new__(cls)
        Listener.made.append(weakref.ref(made))
        return made

    def __del__(self) -> None:
        hook(self.end)


class Meta(type):
    """The library looks at classes it has not seen before, and asks them about instances."""

    def __getattribute__(cls, name: str) -> Any:
        if name in ("_fields", "__iter__", "__module__", "__qualname__", "__dataclass_fields__", "__args__"):
            hook("metaclass.__getattribute__")
        return type.__getattribute__(cls, name)

    def __instancecheck__(cls, obj: object) -> bool:
        hook("metaclass.__instancecheck__")
        return type.__instancecheck__(cls, obj)

    def __eq__(cls, other: object) -> bool:
        hook("metaclass.__eq__")
        return cls is other

    def __hash__(cls) -> int:
        hook("metaclass.__hash__")
        return type.__hash__(cls)


class Leaf(Counted, metaclass=Meta):
    end = "leaf.__del__"

    def __init__(self, label: str) -> None:
        self.label = label

    @property
    def __class__(self) -> type:
        hook("leaf.__class__")
        return type(self)

    def __repr__(self) -> str:
        hook("leaf.__repr__")
        return self.label

    def __eq__(self, other: object) -> bool:
        hook("leaf.__eq__")
        return self is other

    def __lt__(self, other: Any) -> bool:
        hook("leaf.__lt__")
        return self.label < getattr(other, "label", "")

    def __gt__(self, other: Any) -> bool:
        hook("leaf.__lt__")
        return self.label > getattr(other, "label", "")

    def __add__(self, other: Any) -> Any:
        hook("leaf.__add__")
        return self

    __radd__ = __add__

    def __bool__(self) -> bool:
        hook("leaf.__bool__")
        return True

    def __getattr__(self, name: str) -> Any:
        hook("leaf.__getattr__")
        raise AttributeError(name)

    __hash__ = object.__hash__


class Other(Leaf):
    """What a leaf may turn into."""


class Answer:
    """What a predicate says."""

    def __init__(self, answer: bool) -> None:
        self.answer = answer

    def __bool__(self) -> bool:
        hook("answer.__bool__")
        return self.answer


class Value(Counted):
    """A key, a context or a static node; all of one class have one hash."""

    kind = ""

    def __init__(self, label: str) -> None:
        self.label = label

    def __init_subclass__(cls) -> None:
        cls.end = f"{cls.kind}.__del__"

    def __hash__(self) -> int:
        hook(f"{self.kind}.__hash__")
        return 7

    def __eq__(self, other: object) -> bool:
        hook(f"{self.kind}.__eq__")
        return type(other) is type(self) and self.label == other.label

    def __repr__(self) -> str:
        hook(f"{self.kind}.__repr__")
        return f"<{self.label}>"

    def __reduce__(self) -> Any:
        hook(f"{self.kind}.__reduce__")
        return type(self), (self.label,)


class Key(Value):
    kind = "key"

    def __gt__(self, other: Any) -> bool:
        return not self < other

    def __lt__(self, other: Any) -> bool:
        hook("key.__lt__")
        return self.label < getattr(other, "label", other)


class Context(Value):
    kind = "context"


class Static(Value):
    kind = "static"


@dataclasses.dataclass(frozen=True)
class Fields:
    """A context that is compared field by field."""

    value: Any

    def __getattribute__(self, name: str) -> Any:
        if name == "value":
            hook("context.__getattribute__")
        return object.__getattribute__(self, name)


class HandedOut:
    """Children, entries, leaves or a path, handed out one by one."""

    def __init__(self, name: str, items: Iterable) -> None:
        self.name, self.content = name, list(items)

    def __iter__(self) -> Iterator:
        hook(f"{self.name}.__iter__")
        return OneByOne(self.name, self.content)

    def __len__(self) -> int:
        hook(f"{self.name}.__len__")
        return len(self.content)


class OneByOne:
    def __init__(self, name: str, items: list) -> None:
        self.name, self.items = name, iter(items)

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        hook(f"{self.name}.__next__")
        return next(self.items)


# --- nodes ------------------------------------------------------------------------------------------------------------


class Named(tuple, metaclass=Meta):
    __slots__ = ()
    _fields = ("x", "y")


class Group(Counted):
    def __init__(self, items: list, context: Any) -> None:
        self.items, self.context = items, context

    def __repr__(self) -> str:
        return f"Group({self.items})"

    def flatten(self) -> Any:
        hook("flatten_fn")
        children = HandedOut("children", self.items)
        entries = HandedOut("entries", [f"item{i}" for i in range(len(self.items))])
        return children, (self.context, [self.context]), entries

    @staticmethod
    def unflatten(children: tuple, context: Any) -> Any:
        hook("unflatten_fn")
        return Group(list(children), context[0])


class WithKeys(Group):
    def flatten_with_keys(self) -> Any:
        hook("flatten_with_keys_fn")
        return HandedOut("pairs", [(Key(f"key{i}"), item) for i, item in enumerate(self.items)]), Fields((1, "v"))

    @staticmethod
    def unflatten(children: tuple, context: Any) -> Any:
        hook("unflatten_fn")
        return WithKeys(list(children), context)


class Maker(Group):
    """All its children are made when it is taken apart, and nobody else holds them."""

    def flatten(self) -> Any:
        hook("flatten_fn of fresh children")
        leaf = Leaf(FRESH)
        context = Context(FRESH)
        return [
            [leaf, Leaf(FRESH)],
            {Key(FRESH): Leaf(FRESH)},
            Group([Leaf(FRESH)], context),
            self.watched(leaf),
        ], context

    def watched(self, leaf: Leaf) -> Any:
        return (leaf,)

    @staticmethod
    def unflatten(children: tuple, context: Any) -> Any:
        hook("unflatten_fn")
        return Maker([], context)


class Strange(Counted, metaclass=Meta):
    """A registered class with a metaclass."""

    def __init__(self, item: Any) -> None:
        self.item = item

    def __repr__(self) -> str:
        return f"Strange({self.item})"


class Described:
    """A data descriptor."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = "_" + name

    def __get__(self, obj: Any, owner: type | None = None) -> Any:
        if obj is None:
            raise AttributeError(self.name)
        hook("descriptor.__get__")
        return obj.__dict__[self.name]

    def __set__(self, obj: Any, value: Any) -> None:
        hook("descriptor.__set__")
        obj.__dict__[self.name] = value


def make_default() -> Any:
    hook("default_factory")
    return "made"


@dataclasses.dataclass(eq=False)
class Record:
    """Rebuilt by its fields, without a call of `__new__` that could count it."""

    plain: Any
    described: Any = Described()
    meta: Any = None
    dropped: Any = dataclasses.field(default_factory=make_default)

    def __del__(self) -> None:
        hook("container.__del__")

    def __getattribute__(self, name: str) -> Any:
        if name in ("plain", "meta"):
            hook("record.__getattribute__")
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        hook("record.__setattr__")
        object.__setattr__(self, name, value)


@dataclasses.dataclass(eq=False)
class Init(Counted):
    """Rebuilt by its constructor."""

    item: Any
    meta: Any

    def __new__(cls, *args: Any, **fields: Any) -> Any:
        hook("init.__new__")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        hook("init.__post_init__")

    def __setattr__(self, name: str, value: Any) -> None:
        hook("init.__setattr__")
        object.__setattr__(self, name, value)


class EnumMeta(enum.EnumMeta):
    def __iter__(cls) -> Iterator:
        hook("enum.__iter__")
        return super().__iter__()


class Color(enum.Enum, metaclass=EnumMeta):
    RED = 2
    BLUE = 1


class Factory:
    """The factory of a defaultdict."""

    def __call__(self) -> Any:
        raise LookupError("nobody is to call it")

    def __repr__(self) -> str:
        return "Factory()"

    def __eq__(self, other: object) -> bool:
        hook("factory.__eq__")
        return self is other

    def __hash__(self) -> int:
        hook("factory.__hash__")
        return 5


def dump(context: Any) -> Any:
    hook("to_dumpable_context")
    return "dumped"


def load(dumped: Any) -> Any:
    hook("from_dumpable_context")
    return Context("plain"), [Context("plain")]
