"""Compiled functions of the tensors of a runtime that a program registers."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from lazy_runtime import LazyRuntime, LazyTensor, OtherRuntime, OtherTensor, tensor

import clika_pytree as crt
from clika_pytree.runtimes import register_runtime, unregister_runtime

X = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def lazy() -> Iterator[LazyRuntime]:
    runtime = register_runtime(LazyRuntime())
    yield runtime
    unregister_runtime("lazy")


def test_another_runtime_compiles(lazy: LazyRuntime) -> None:
    @crt.compile
    def f(p: Any, x: Any, k: int) -> Any:
        return {"y": p["w"] * x + k, "x": x, "k": k}

    for _ in range(2):
        x, w = tensor(1, 2, 3), tensor(4, 5, 6)
        got = f({"w": w}, x, 7)
        assert got["y"].compute() == [11, 17, 25]
        assert got["x"] is x
        assert got["k"] == 7
    assert [program.runs for program in lazy.programs] == [2]
    assert f.cache_info() == (1, 1, 64, 1)
    assert f({"w": tensor(1)}, tensor(2), 7)["y"].compute() == [9]  # guarded by the runtime, if at all
    assert f.cache_info().currsize == 1


def test_numpy_arrays_beside_another_runtime_are_its_inputs(lazy: LazyRuntime) -> None:
    compiled = crt.compile(lambda x, y: x * y)
    assert compiled(tensor(1, 2), np.array([3.0, 4.0])).compute() == [3, 8]
    assert compiled(np.array([3.0, 4.0]), np.array([1.0, 2.0])).tolist() == [3, 8]
    assert [len(row.key) for row in compiled.graphs()] == [2, 2]


def test_a_runtime_that_is_asked_for(lazy: LazyRuntime) -> None:
    for runtime in ("lazy", lazy):
        compiled = crt.compile(lambda x, k: x * k, runtime=runtime)
        assert type(compiled(np.array([3.0, 4.0]), 2)) is LazyTensor
    compiled = crt.compile(lambda x, k: [x], runtime="numpy")
    with pytest.raises(
        crt.PyTreeTypeError, match="compiled for the runtime numpy, and x is a tensor of lazy"
    ) as caught:
        compiled(tensor(1), 2)
    assert caught.value.path == "x"


def test_tensors_of_two_runtimes_are_refused(lazy: LazyRuntime) -> None:
    register_runtime(OtherRuntime())
    try:
        compiled = crt.compile(lambda p, x: x)
        with pytest.raises(crt.PyTreeTypeError) as caught:
            compiled({"n": X, "w": tensor(1)}, [OtherTensor([1.0], 1)])
        text = str(caught.value)
        assert "p['w'] is of lazy" in text
        assert "x[0] of other" in text
        assert compiled.cache_info().currsize == 0
    finally:
        unregister_runtime("other")


def test_another_structure_when_a_runtime_traces_again(lazy: LazyRuntime) -> None:
    kept: list[Any] = []
    original = lazy.compile

    def compile(flat_fn: Any, tensors: Any, dynamic: bool, names: Any) -> Any:
        kept.append(flat_fn)
        return original(flat_fn, tensors, dynamic, names)

    lazy.compile = compile  # type: ignore[method-assign]
    crt.compile(lambda x: [x] * x.size)(tensor(1, 2))
    assert len(kept[0]([tensor(3, 4)])) == 2
    with pytest.raises(crt.PyTreeValueError, match="another structure when its runtime traced it once more"):
        kept[0]([tensor(3)])
    crt.compile(lambda x: (x, x.size, "text"))(tensor(1, 2))
    assert len(kept[1]([tensor(3, 4)])) == 1
    with pytest.raises(crt.PyTreeValueError, match=r"other constants .*\[None, 1, 'text'\] in place of \[None, 2,"):
        kept[1]([tensor(3)])


def test_a_runtime_that_keeps_the_function_keeps_no_arguments(lazy: LazyRuntime) -> None:
    compiled = crt.compile(lambda x, n: x * n)
    kept: list[Any] = []

    class Program(Exception):
        pass

    original = lazy.compile

    def compile(flat_fn: Any, tensors: Any, dynamic: bool, names: Any) -> Any:
        kept.append(flat_fn)
        return original(flat_fn, tensors, dynamic, names)

    lazy.compile = compile  # type: ignore[method-assign]
    x = tensor(1, 2)
    alive = weakref.ref(x)
    assert compiled(x, 3).compute() == [3, 6]
    del x
    gc.collect()
    assert alive() is None
    assert [result.compute() for result in kept[0]([tensor(5)])] == [[15]]
