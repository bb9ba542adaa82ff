"""The native guard cache: the facts of tensors, and their runtimes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarding import (
    NUMPY,
    Condition,
    Fact,
    Guards,
    Runtime,
    Tensor,
    Traced,
    are_one,
    array,
    cache_of,
    get,
    put,
    resolve,
    resolver,
)
from helpers import run_python

import clika_pytree as cp
from clika_pytree._native import runtime_of


@pytest.fixture(autouse=True)
def runtimes():
    with resolver(resolve):
        yield


A, B, C = array(2), array(2), array(2)


@pytest.mark.parametrize(
    ("first", "second", "one"),
    [
        (array(2), array(3), False),
        (array(2, 3), array(3, 2), False),
        (array(2), array(2, 1), False),
        (array(0), array(0), True),
        (array(), array(), True),
        (array(), np.float32(0), False),
        (np.float32(0), np.float32(1), True),
        (np.float32(0), np.float64(0), False),
        (np.str_("a"), np.str_("bc"), False),
        (array(2), array(2, dtype=np.float64), False),
        (array(2), array(2, dtype=">f4"), False),
        (array(2, dtype=np.dtype(">f4")), array(2, dtype=np.dtype("<f4").newbyteorder()), True),
        (array(2, dtype=[("a", "i4")]), array(2, dtype=[("a", "i4")]), True),
        (array(2, dtype=[("a", "i4")]), array(2, dtype=[("b", "i4")]), False),
        (array(2), array(2).view(np.recarray), False),
        (array(3, 2).T, array(2, 3), True),
        (Tensor(2, 3), Tensor(2, 3), True),
        (Tensor(2, 3), Tensor(2, 4), False),
        (Tensor(2), Tensor(2, dtype="int8"), False),
        (Traced(2), Traced(3), True),
        (Traced(2), Tensor(2), False),
    ],
)
def test_tensors_are_told_apart_by_their_facts(first: Any, second: Any, one: bool) -> None:
    assert are_one(first, second) is one


def test_a_layout_counts_where_a_fact_names_it() -> None:
    class Subclass(np.ndarray):
        pass

    rows = array(2, 3)
    layouts = {
        "C": rows,
        "F": array(3, 2).T,
        "other": array(4, 3)[::2],
        "a subclass": rows.view(Subclass),
        "not aligned": np.frombuffer(bytes(25), np.uint8)[1:].view(np.float32).reshape(2, 3),
    }
    assert layouts["not aligned"].flags.aligned is False
    names = {"a subclass": "other", "not aligned": "other"}
    for name, tensor in layouts.items():
        cache = cache_of(lambda x: x)
        put(cache, 1, tensor, guards=Guards({0: Fact(names.get(name, name))}))
        for other, found in layouts.items():
            same = type(tensor) is type(found) and names.get(name, name) == names.get(other, other)
            assert (get(cache, found) == 1) is same, (name, other)
        put(cache, 2, tensor)
        assert all(get(cache, found) == 2 for found in layouts.values() if type(found) is type(tensor))


def test_a_tensor_without_a_fact_is_only_handed_on() -> None:
    cache = cache_of(lambda x, y: x)
    put(cache, 1, array(2), array(3), guards=Guards({1: Fact()}))
    assert get(cache, array(5, 5, dtype=np.int8), array(3)) == 1
    assert get(cache, array(2), array(4)) is None
    assert get(cache, np.float32(1), array(3)) is None
    assert get(cache, 1, array(3)) is None


def test_dynamic_guards_only_the_sizes_that_were_forced() -> None:
    cache = cache_of(lambda x: x, dynamic=True)
    put(cache, "free", array(2, 3))
    for shape in ((2, 3), (7, 0), (1, 1)):
        assert get(cache, array(*shape)) == "free"
    assert get(cache, array(2)) is None
    cache.clear()
    put(cache, "forced", array(2, 3), guards=Guards(1, {(0, 1): 3}))
    put(cache, "other", array(2, 4), guards=Guards(1, {(0, 1): 4}))
    put(cache, "rows", array(9, 5), guards=Guards(1, {(0, 0): 9}))
    assert [get(cache, array(n, 3)) for n in (2, 5, 1)] == ["forced"] * 3
    assert [get(cache, array(n, 4)) for n in (2, 5, 1)] == ["other"] * 3
    assert get(cache, array(9, 1)) == "rows"
    assert get(cache, array(8, 5)) is None


def test_conditions_come_last_and_an_exception_is_a_no() -> None:
    asked: list[Any] = []

    def rows(tensors: list[Any]) -> bool:
        asked.append(tensors)
        return tensors[0].shape[0] > 3

    cache = cache_of(lambda x: x, dynamic=True)
    put(cache, "many", array(5), guards=Guards(1, conditions=[Condition(rows, True)]))
    put(cache, "few", array(2), guards=Guards(1, conditions=[Condition(rows, False)]))
    assert [get(cache, array(n)) for n in (0, 9, 3, 4)] == ["few", "many", "few", "many"]
    assert all(type(tensors) is list and len(tensors) == 1 for tensors in asked)
    before = len(asked)
    assert get(cache, array(2, 2)) is None
    assert len(asked) == before
    put(cache, "never", array(1), guards=Guards(1, conditions=[Condition(lambda xs: 1 // xs[0].shape[0], 1)]))
    assert get(cache, array(1)) == "never"
    assert get(cache, array(0)) == "few"

    def interrupted(tensors: list[Any]) -> Any:
        raise KeyboardInterrupt

    put(cache, "stop", array(1), guards=Guards(1, conditions=[Condition(interrupted, 1)]))
    with pytest.raises(KeyboardInterrupt):
        get(cache, array(1))


def test_tensors_come_in_order_and_values_do_not() -> None:
    cache = cache_of(lambda x, y, z: x)
    put(cache, 1, {"a": A, "b": 2}, [B], "c")
    value, tensors = cache.lookup(({"a": C, "b": 2}, [A], "c"), {}) or (None, [])
    assert value == 1
    assert list(map(id, tensors)) == [id(C), id(A)]


def test_guards_that_name_what_is_not_there_are_refused() -> None:
    cache = cache_of(lambda x: x)
    call = cache.bind((A,), {})
    for guards in (Guards({1: Fact()}), Guards(1, {(1, 0): 2})):
        with pytest.raises(cp.PyTreeValueError, match="guards name the tensor 1, but the call has 1 of them"):
            cache.insert(call, 1, guards=guards)
    with pytest.raises(cp.PyTreeValueError, match="layout of a fact must be 'C', 'F', 'other' or None, got 'K'"):
        cache.insert(call, 1, guards=Guards({0: Fact("K")}))
    with pytest.raises(cp.PyTreeValueError, match="a call that another cache has bound"):
        cache_of(lambda x: x).insert(call, 1)
    assert cache.cache_info() == (0, 0, 8, 0)


# --- runtimes ---------------------------------------------------------------------------------------------------------


def test_a_resolver_is_asked_once_for_each_class() -> None:
    asked: list[type] = []

    def ask(cls: type) -> Any:
        asked.append(cls)
        return resolve(cls)

    with resolver(ask):
        for _ in range(3):
            assert runtime_of(A) is NUMPY
            assert runtime_of("text") is None
            assert get(cache_of(lambda x: x), [A, "text"]) is None
        assert asked == [np.ndarray, str]


def test_a_runtime_that_comes_later_counts_from_then_on() -> None:
    class Late:
        shape, dtype = (2,), "int8"

    cache = cache_of(lambda x: x)
    late = Late()
    put(cache, "a value", late)
    assert get(cache, late) == "a value"
    runtime = Runtime("late", Late)
    with resolver(lambda cls: runtime if cls is Late else resolve(cls)):
        assert get(cache, late) is None
        put(cache, "a tensor", late)
        assert get(cache, Late()) == "a tensor"
    with resolver(resolve):
        assert get(cache, late) == "a value"


def test_what_is_no_runtime_is_refused_when_it_is_met() -> None:
    with resolver(lambda cls: 1 if cls is Tensor else None), pytest.raises(AttributeError, match="own_guards"):
        runtime_of(Tensor())

    def fail(cls: type) -> Any:
        raise LookupError(cls.__name__)

    with resolver(fail), pytest.raises(LookupError, match="ndarray"):
        cache_of(lambda x: x).bind((A,), {})
    with pytest.raises(TypeError, match="resolver must be a function, got 1"), resolver(1):  # type: ignore[arg-type]
        pass


def test_tensors_of_two_runtimes_are_refused_and_numpy_goes_with_any() -> None:
    cache = cache_of(lambda x, y: x)
    assert [runtime.name for runtime in cache.bind((A, Tensor(2)), {}).runtimes] == ["plain", "numpy"]
    assert [runtime.name for runtime in cache.bind((1, A), {}).runtimes] == ["numpy"]
    assert cache.bind((1, 2), {}).runtimes == ()
    with pytest.raises(cp.GuardError) as caught:
        cache.bind(({"w": Tensor(2)}, [A, Traced(2)]), {})
    assert str(caught.value) == (
        "the tensors of one call must belong to one runtime (and numpy), but x['w'] is of plain and y[1] of own: "
        "convert one of them"
    )
    assert caught.value.path == "y[1]"


def test_arrays_are_read_where_they_lie_and_not_by_attributes() -> None:
    class Silent(np.ndarray):
        @property
        def shape(self) -> Any:
            raise LookupError

        @property
        def dtype(self) -> Any:
            raise LookupError

    cache = cache_of(lambda x: x)
    put(cache, 1, array(2).view(Silent), guards=Guards({0: Fact("other")}))
    assert get(cache, array(2).view(Silent)) == 1
    assert get(cache, array(3).view(Silent)) is None


def test_what_is_no_numpy_that_is_known_is_read_by_attributes() -> None:
    source = (
        "import inspect, sys, types\n"
        "from clika_pytree._native import GuardCache, set_runtime_resolver\n"
        "class ndarray:\n"
        "    def __init__(self, shape, dtype='int16'): self.shape, self.dtype = shape, dtype\n"
        "    {extra}\n"
        "numpy = sys.modules['numpy'] = types.ModuleType('numpy')\n"
        "numpy.ndarray, numpy.generic = ndarray, type('generic', (), {{}})\n"
        "class Runtime: name, own_guards = 'numpy', False\n"
        "set_runtime_resolver(lambda cls: Runtime if cls is ndarray else None)\n"
        "class Guards: facts, sizes, conditions = {{0: type('Fact', (), {{'layout': None}})}}, {{}}, ()\n"
        "cache = GuardCache(inspect.signature(lambda x: x), 4)\n"
        "cache.insert(cache.bind((ndarray((2, 3)),), {{}}), 1, guards=Guards)\n"
        "assert cache.lookup((ndarray((2, 3)),), {{}})[0] == 1\n"
        "assert cache.lookup((ndarray((2, 4)),), {{}}) is None\n"
        "assert cache.lookup((ndarray((2, 3), 'int8'),), {{}}) is None\n"
    )
    large = "__slots__ = (*'abcdefghijklmnop', 'shape', 'dtype')"
    for extra in ("", large):
        run_python(source.format(extra=extra))
