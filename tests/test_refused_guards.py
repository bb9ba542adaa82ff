"""The native guard cache: what can't be a guard is refused at the first call, with its path and a way out."""

from __future__ import annotations

import collections
import dataclasses
import functools
import re
from typing import Any

import numpy as np
import pytest
from guarding import Plain, Tensor, array, cache_of, resolve, resolver

import clika_pytree as cp


@pytest.fixture(autouse=True)
def runtimes():
    with resolver(resolve):
        yield


class Wrong:
    """An equality that is none."""

    answer: Any = None

    def __eq__(self, other: object) -> Any:
        if isinstance(self.answer, type):
            raise self.answer("no")
        return self.answer

    __hash__ = object.__hash__


class NoBool(Wrong):
    answer = 1


class Raising(Wrong):
    answer = ValueError


class NoHash:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


@dataclasses.dataclass
class Holder:
    value: Any


END = (
    ", so a later call can't be held against it. Pass something hashable in its place (a frozenset for a set, a frozen "
    "dataclass for an object), or register its class as a node"
)
REFUSED: list[tuple[Any, str]] = [
    ({1}, "a set, which can't be a guard: it can change, and has no hash"),
    (bytearray(b"a"), "a bytearray, which can't be a guard: it has no usable hash"),
    (NoHash(), "a NoHash, which can't be a guard: it has no usable hash"),
    (NoBool(), "a NoBool, which can't be a guard: it has an == that does not give a bool"),
    (Raising(), "a Raising, which can't be a guard: its hash or == raises a ValueError"),
    (Holder(NoHash()), "a Holder, which can't be a guard: it holds a tests.NoHash, which has no usable hash"),
    (collections.Counter("a"), "a Counter, which can't be a guard: it has no usable hash"),
]


@pytest.mark.parametrize(("value", "reason"), REFUSED, ids=lambda value: type(value).__name__)
def test_what_has_no_hash_or_equality_is_refused(value: Any, reason: str) -> None:
    cache = cache_of(lambda p: p)
    tree = {"cfg": [value]}
    for attempt in (cache.bind, lambda args, kwargs: cache.explain(args, kwargs)):
        with pytest.raises(cp.GuardError) as caught:
            attempt((tree,), {})
        text = re.sub(r"a [\w.]*\.NoHash", "a tests.NoHash", str(caught.value))
        assert text == f"p['cfg'][0] is {reason}{END}"
        assert caught.value.path == "p['cfg'][0]"
        assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value.__cause__, ValueError) is isinstance(value, Raising)
    assert cache.lookup((tree,), {}) is None


def test_an_exception_that_is_no_word_about_the_value_passes() -> None:
    class Interrupted(Wrong):
        answer = KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache_of(lambda x: x).bind((Interrupted(),), {})


def test_an_array_in_a_context_is_refused_with_its_path() -> None:
    class Grid:
        def __init__(self, context: Any) -> None:
            self.context = context

    cp.register_pytree_node(Grid, lambda grid: ((), grid.context), lambda context, _: Grid(context))
    with pytest.raises(cp.ContextError) as caught:
        cache_of(lambda p: p).bind(({"grid": Grid(array(2))},), {})
    assert str(caught.value).startswith("the context of Grid at p['grid'] can't be hashed: it holds a numpy.ndarray")
    assert caught.value.path == "p['grid']"
    cp.unregister_pytree_node(Grid)


def test_errors_of_a_flatten_function_name_the_parameter() -> None:
    class Broken:
        pass

    def fail(broken: Any) -> Any:
        raise LookupError("no")

    cp.register_pytree_node(Broken, fail, lambda context, children: Broken())
    cache = cache_of(lambda p: p)
    cache.insert(cache.bind(([1, 2],), {}), 1)
    for attempt in (cache.bind, cache.lookup):
        with pytest.raises(LookupError) as caught:
            attempt(([1, Broken()],), {})
        assert caught.value.__notes__ == ["clika_pytree: raised by the flatten function of Broken at p[1]"]
    cp.unregister_pytree_node(Broken)
    tree: list[Any] = []
    tree.append(tree)
    with pytest.raises(cp.CircularTreeError, match=re.escape("what stands at p[0]")):
        cache.bind((tree,), {})


# --- what holds tensors -----------------------------------------------------------------------------------------------


@dataclasses.dataclass
class State:
    w: Any
    step: int = 0


class Base(State):
    pass


class Sub(Base):
    pass


class Slots:
    __slots__ = ("b", "w")


class Batch(dict):
    pass


class Net:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)

    def __call__(self, x: Any) -> Any:
        return x

    def apply(self, x: Any) -> Any:
        return x


def slotted() -> Slots:
    made = Slots()
    made.w = array(1)
    return made


WITHOUT_PLACE = "it counts as one leaf, and the tensors that it holds at {} would be constants of the graph."
HOLDERS: list[tuple[Any, str, str, str]] = [
    (
        State(array(1)),
        "a State, a dataclass that is not registered: ",
        ".w",
        " Register the class, so that they are inputs: clika_pytree.register_dataclass(State)",
    ),
    (
        Net(w=array(1), n=2, layers=[1, {"b": Tensor(1)}]),
        "a Net, whose class is not registered: ",
        ".w, .layers",
        " Register the class, so that they are inputs: clika_pytree.register_pytree_node(Net, ...)",
    ),
    (
        slotted(),
        "a Slots, whose class is not registered: ",
        ".w",
        " Register the class, so that they are inputs: clika_pytree.register_pytree_node(Slots, ...)",
    ),
    (
        Batch(ids=array(1), n=1),
        "a Batch, whose class is not registered: ",
        "['ids']",
        (
            " Its base dict is a node, but that holds for instances of dict itself only. Register the class, so that "
            "they are inputs: clika_pytree.register_pytree_node(Batch, ...)"
        ),
    ),
    (
        functools.partial(len, array(1), k=array(1)),
        "a partial, whose class is not registered: ",
        ".args, .keywords",
        " Register the class, so that they are inputs: clika_pytree.register_pytree_node(partial, ...)",
    ),
    (
        Net(w=array(1)).apply,
        "a Net, whose class is not registered: ",
        ".w",
        " Register the class, so that they are inputs: clika_pytree.register_pytree_node(Net, ...)",
    ),
    (
        Net(a=array(1), b=array(1), c=array(1), d=array(1), e=array(1)),
        "a Net, whose class is not registered: ",
        ".a, .b, .c, .d, …",
        " Register the class, so that they are inputs: clika_pytree.register_pytree_node(Net, ...)",
    ),
]


@pytest.mark.parametrize(("value", "what", "places", "way_out"), HOLDERS, ids=lambda value: type(value).__name__)
def test_what_holds_tensors_and_is_no_node_is_refused(value: Any, what: str, places: str, way_out: str) -> None:
    cache = cache_of(lambda p: p)
    with pytest.raises(cp.UnregisteredNodeError) as caught:
        cache.bind(({"s": value},), {})
    assert str(caught.value) == f"p['s'] is {what}{WITHOUT_PLACE.format(places)}{way_out}"
    assert caught.value.path == "p['s']"
    assert isinstance(caught.value, cp.GuardError)


def test_a_subclass_of_a_registered_class_is_no_node() -> None:
    cp.register_dataclass(Base)
    with pytest.raises(cp.UnregisteredNodeError, match="Its base Base is a node, but that holds for instances of Base"):
        cache_of(lambda p: p).bind((Sub(array(1)),), {})
    assert cache_of(lambda p: p).bind((Base(array(1)),), {}).mask == (True, False)
    cp.unregister_pytree_node(Base)


def test_what_holds_none_is_a_value() -> None:
    class Circle:
        pass

    circle = Circle()
    circle.self = circle  # type: ignore[attr-defined]
    circle.list = []  # type: ignore[attr-defined]
    circle.list.append(circle.list)  # type: ignore[attr-defined]
    cache = cache_of(lambda p: p)
    for value in (circle, State(1.0), Plain(shape=(1, 2)), Net(), np.float32, np, len, lambda: array(1)):
        call = cache.bind((value,), {})
        assert call.mask == (False,)
        cache.insert(call, value)
        assert cache.lookup((value,), {}) == (value, [])
