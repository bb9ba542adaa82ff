"""The native guard cache: how the arguments of a call are bound to a signature."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from guarding import cache_of, get, put, resolve, resolver

SIGNATURES = [
    "",
    "x",
    "x, k=2",
    "x, y, z",
    "x, /, y",
    "x, /, y, *, k",
    "x=1, /",
    "x=1, y=2, /, z=3",
    "*args",
    "x, *args, k=1",
    "*, k",
    "*, j, k, l=1",
    "x, *, j, k",
    "**kw",
    "x, /, **kw",
    "x, y=1, *args, k, m=2, **kw",
]
CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((1,), {}),
    ((1, 2), {}),
    ((1, 2, 3), {}),
    ((1, 2, 3, 4), {}),
    ((), {"x": 1}),
    ((), {"k": 1}),
    ((1,), {"k": 2}),
    ((1,), {"x": 2}),
    ((1,), {"y": 2}),
    ((1, 2), {"y": 3, "k": 4}),
    ((1, 2, 3), {"k": 4}),
    ((), {"k": 1, "j": 2}),
    ((), {"x": 1, "y": 2}),
    ((), {"zz": 1}),
    ((1,), {"zz": 1, "k": 2}),
    ((1, 2), {"j": 1, "k": 1}),
]


@pytest.fixture(autouse=True)
def runtimes():
    with resolver(resolve):
        yield


def function(signature: str) -> Any:
    space: dict[str, Any] = {}
    exec(f"def fn({signature}):\n    return dict(locals())", space)
    return space["fn"]


@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_call_is_bound_as_python_does(signature: str) -> None:
    fn = function(signature)
    for args, kwargs in CALLS:
        cache = cache_of(fn)
        try:
            expected = fn(*args, **kwargs)
        except TypeError as error:
            for attempt in (cache.bind, cache.lookup):
                with pytest.raises(TypeError) as caught:
                    attempt(args, kwargs)
                # From 3.13 on Python guesses what was meant.
                assert str(caught.value) == str(error).partition(". Did you mean")[0]
                assert type(caught.value) is TypeError
            continue
        call = cache.bind(args, kwargs)
        values = call.spec.unflatten(call.leaves)
        assert dict(zip(inspect.signature(fn).parameters, values, strict=True)) == expected
        again, named = cache.unbind(values)
        assert fn(*again, **named) == expected
        cache.insert(call, "found")
        assert get(cache, *again, **named) == "found"
        assert get(cache, *args, **kwargs) == "found"


def test_ways_to_pass_an_argument_are_one() -> None:
    def fn(x: Any, k: int = 2) -> None: ...

    ways: list[Any] = [((1, 2), {}), ((1,), {"k": 2}), ((), {"x": 1, "k": 2}), ((), {"k": 2, "x": 1}), ((1,), {})]
    for args, kwargs in ways:
        cache = cache_of(fn)
        put(cache, "one", *args, **kwargs)
        assert [get(cache, *args, **kwargs) for args, kwargs in ways] == ["one"] * len(ways)
        assert get(cache, 1, 3) is None


def test_keyword_only_arguments_have_no_order_and_others_have() -> None:
    def fn(*, a: Any, b: Any, **kw: Any) -> None: ...

    cache = cache_of(fn)
    put(cache, 1, a=1, b=2, c=3, d=4)
    assert get(cache, b=2, c=3, a=1, d=4) == 1
    assert get(cache, a=1, b=2, d=4, c=3) is None
    assert get(cache, a=1, b=2, c=3) is None


def test_what_is_variadic_is_a_child() -> None:
    def fn(x: Any, *args: Any, k: int = 0, **kw: Any) -> None: ...

    call = cache_of(fn).bind((1, [2], 3), {"z": {"q": 4}, "k": 5})
    assert call.names == ("x", "args[0][0]", "args[1]", "k", "kw['z']['q']")
    assert str(call.spec) == "TreeSpec((*, ([*], *), *, {'z': {'q': *}}))"


def test_a_bound_tuple_and_dict_are_the_callers_own_no_more() -> None:
    def fn(*args: Any, **kw: Any) -> None: ...

    cache, kwargs = cache_of(fn), {"a": 1}
    call = cache.bind((1,), kwargs)
    kwargs["b"] = 2
    assert cache.unbind(call.spec.unflatten(call.leaves)) == ((1,), {"a": 1})


def test_values_of_parameters_are_arguments_again() -> None:
    def fn(p: Any, *rest: Any, mode: str, **kw: Any) -> None: ...

    cache = cache_of(fn)
    assert cache.unbind((1, (2, 3), "train", {"k": 4})) == ((1, 2, 3), {"mode": "train", "k": 4})
    for wrong in ((), (1, (), "train"), (1, (), "train", {}, 2)):
        with pytest.raises(ValueError, match="a value is needed for every parameter"):
            cache.unbind(wrong)
    for unfit in ((1, 2, "train", {}), (1, (), "train", ())):
        with pytest.raises(TypeError):
            cache.unbind(unfit)


def test_keywords_that_are_no_names_are_refused() -> None:
    cache = cache_of(lambda x: x)
    with pytest.raises(TypeError, match="keywords must be strings"):
        cache.lookup((), {1: 2})  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        cache.lookup([1], {})  # type: ignore[arg-type]

    class Text(str):
        __slots__ = ()

    put(cache, 1, x=0)
    assert cache.lookup((), {Text("x"): 0}) == (1, [])
