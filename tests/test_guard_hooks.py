"""The native guard cache: code of the user's that it runs may do anything, what it keeps ends when it should."""

from __future__ import annotations

import gc
import inspect
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from guarding import Condition, Guards, Plain, array, cache_of, get, put, resolve, resolver
from helpers import run_python

import clika_pytree as cp
from clika_pytree._native import GuardCache, forget_runtimes


@pytest.fixture(autouse=True)
def runtimes():
    with resolver(resolve):
        yield


class Hooked:
    """A value whose hash and equality do something first."""

    deed: Any = None

    def __init__(self, value: Any) -> None:
        self.value = value

    def act(self, hook: str) -> None:
        deed, Hooked.deed = Hooked.deed, None
        if deed is not None:
            deed(hook)
            Hooked.deed = deed

    def __hash__(self) -> int:
        self.act("hash")
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        self.act("eq")
        return type(other) is Hooked and other.value == self.value


class Node:
    def __init__(self, content: Any) -> None:
        self.content = content

    @staticmethod
    def flatten(node: Node) -> Any:
        Hooked.act(Hooked(0), "flatten")
        return (node.content,), Hooked("context")


@pytest.fixture
def node():
    cp.register_pytree_node(Node, Node.flatten, lambda context, children: Node(*children))
    yield
    cp.unregister_pytree_node(Node)
    Hooked.deed = None


def fresh() -> Any:
    """A call with a hook in a leaf and in a node."""
    return [Node(array(2)), Hooked("leaf"), {"k": Hooked("key")}]


def no() -> Any:
    raise LookupError("no")


DEEDS: dict[str, Any] = {
    "clear": lambda cache, tree: cache.clear(),
    "insert": lambda cache, tree: [put(cache, number, number) for number in range(4)],
    "collect": lambda cache, tree: gc.collect(),
    "look up": lambda cache, tree: cache.lookup((fresh(),), {}),
    "explain": lambda cache, tree: cache.explain((fresh(),)),
    "empty": lambda cache, tree: tree.clear(),
    "forget": lambda cache, tree: forget_runtimes(),
    "raise": lambda cache, tree: no(),
}


@pytest.mark.usefixtures("node", "small_heap")
@pytest.mark.parametrize("hook", ["hash", "eq", "flatten"])
@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("is_last", [True, False])
def test_code_of_the_user_may_do_anything(deed: str, hook: str, is_last: bool) -> None:
    cache = cache_of(lambda x: x, maxsize=4)
    put(cache, "value", fresh())
    if not is_last:
        put(cache, "other", 1)
    tree, done = fresh(), []

    def act(seen: str) -> None:
        if seen == hook:
            done.append(seen)
            DEEDS[deed](cache, tree)

    Hooked.deed = act
    for attempt in (cache.lookup, cache.bind, lambda args, kwargs: put(cache, "again", *args)):
        try:
            attempt((tree,), {})
        except LookupError:
            assert deed == "raise"
        except cp.PyTreeTypeError as error:
            assert isinstance(error.__cause__, LookupError)
    assert done
    Hooked.deed = None
    assert len(cache.entries()) == cache.cache_info().currsize <= 4
    put(cache, "after", fresh())
    assert get(cache, fresh()) == "after"


@pytest.mark.usefixtures("node")
def test_an_exception_while_values_are_compared_passes_with_a_note() -> None:
    cache = cache_of(lambda x: x)
    put(cache, 1, Hooked("a"))

    def act(hook: str) -> None:
        if hook == "eq":
            raise LookupError("no")

    Hooked.deed = act
    with pytest.raises(LookupError) as caught:
        cache.lookup((Hooked("a"),), {})
    assert caught.value.__notes__ == ["clika_pytree: raised while x was compared"]
    Hooked.deed = None
    assert get(cache, Hooked("a")) == 1


def test_a_condition_may_clear_the_cache() -> None:
    cache = cache_of(lambda x: x)
    put(cache, 1, array(2), guards=Guards(1, conditions=[Condition(lambda tensors: cache.clear() or 1, 1)]))
    put(cache, 2, "other")
    assert get(cache, array(2)) == 1
    assert cache.entries() == []


# --- what is kept -----------------------------------------------------------------------------------------------------


class Big(np.ndarray):
    pass


def test_values_are_kept_until_their_entry_goes_and_tensors_never() -> None:
    cache = cache_of(lambda x, y: x, maxsize=2)
    config, tensor, value = Plain(rate=1), array(3).view(Big), Plain()
    kept, dropped, result = weakref.ref(config), weakref.ref(tensor), weakref.ref(value)
    put(cache, value, tensor, config)
    assert get(cache, tensor, config) is value
    del tensor, config, value
    gc.collect()
    assert dropped() is None
    assert kept() is not None
    assert result() is not None
    put(cache, 2, 2, 2)
    put(cache, 3, 3, 3)
    assert kept() is None
    assert result() is None


def test_a_class_of_tensors_may_end() -> None:
    cache = cache_of(lambda x: x)

    def make() -> Any:
        class Local(np.ndarray):
            pass

        put(cache, 1, array(2).view(Local))
        return weakref.ref(Local)

    local = make()
    gc.collect()
    assert local() is not None
    cache.clear()
    gc.collect()
    assert local() is None


def test_a_cache_that_is_held_by_what_it_keeps_is_collected() -> None:
    class Function:
        pass

    function = Function()
    function.cache = cache = cache_of(lambda x: x)  # type: ignore[attr-defined]
    put(cache, function, array(2))
    call = cache.bind((function,), {})
    cache.insert(call, call)
    gone = weakref.ref(function), weakref.ref(cache)
    del function, cache, call
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_the_collector_sees_each_reference_once() -> None:
    value, static, default = Plain(), Plain(a=[1]), Plain()

    def fn(x: Any, y: Any, z: Any = default) -> None: ...

    cache = cache_of(fn)
    put(cache, value, array(2), static)
    call = cache.bind((array(2), static), {})
    entry = cache.entries()[0]
    seen = {id(cache): cache, id(entry): entry, id(call): call}
    for owner in seen.values():
        referents = gc.get_referents(owner)
        for thing in (value, static, default, entry):
            held = sum(referent is thing for referent in referents)
            assert held == {
                (id(cache), id(entry)): 1,
                (id(cache), id(default)): 1,
                (id(entry), id(value)): 1,
                (id(entry), id(static)): 1,
                (id(entry), id(default)): 1,
                (id(call), id(static)): 2,
                (id(call), id(default)): 2,
            }.get((id(owner), id(thing)), 0)


def test_many_threads_share_a_cache() -> None:
    cache = cache_of(lambda x, y: x, maxsize=20)
    stop, wrong = threading.Event(), []

    def work(seed: int) -> None:
        number = seed
        while not stop.is_set():
            number = (number * 7 + 1) % 40
            found = cache.lookup((array(3), number), {})
            if found is None:
                put(cache, number, array(3), number)
            elif found[0] != number:
                wrong.append(found)
            if number == seed:
                cache.clear()
                cache.explain((array(2), -1))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    stop.wait(1)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert cache.cache_info().currsize <= 20


def test_deep_and_wide_arguments_are_walked() -> None:
    deep: Any = array(1)
    for _ in range(100_000):
        deep = [deep]
    wide = [array(1), *range(10_000)]
    cache = GuardCache(inspect.signature(lambda x, y: x), 4)
    call = cache.bind((deep, wide), {})
    cache.insert(call, 1, guards=Guards(2))
    assert get(cache, deep, wide) == 1
    assert get(cache, deep, [*wide, 1]) is None
    assert get(cache, wide, deep) is None
    while deep is not call.tensors[0]:
        deep = deep[0]


def test_numpy_is_not_loaded() -> None:
    source = (
        "import sys, inspect\n"
        "from clika_pytree._native import GuardCache, set_runtime_resolver\n"
        "class Runtime: name, own_guards = 'plain', False\n"
        "class Tensor: shape, dtype = (2,), 'f4'\n"
        "set_runtime_resolver(lambda cls: Runtime if cls is Tensor else None)\n"
        "class Guards: facts, sizes, conditions = {0: type('Fact', (), {'layout': None})}, {}, ()\n"
        "cache = GuardCache(inspect.signature(lambda x: x), 4)\n"
        "cache.insert(cache.bind((Tensor(),), {}), 1, guards=Guards)\n"
        "assert cache.lookup((Tensor(),), {})[0] == 1\n"
        "assert 'numpy' not in sys.modules\n"
    )
    run_python(source)
