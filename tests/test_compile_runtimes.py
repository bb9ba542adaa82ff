"""Compiled functions of the tensors of a runtime that a program registers."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from lazy_runtime import LazyProgram, LazyRuntime, LazyTensor, OtherRuntime, OtherTensor, tensor

import clika_pytree as crt
from clika_pytree.runtimes import register_runtime, unregister_runtime
from clika_pytree.runtimes.protocol import Misfit, TensorGuards

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


class RetracingProgram:
    """It traces again for each size, as jit functions do that guard their inputs themselves."""

    def __init__(self, flat_fn: Any) -> None:
        self.flat_fn, self.traced, self.guards, self.nodes = flat_fn, {}, None, None

    def run(self, tensors: Any) -> Any:
        key = tuple(item.size for item in tensors)
        if key not in self.traced:
            self.traced[key] = LazyProgram(self.flat_fn, tensors)
        return self.traced[key].run(tensors)

    def text(self) -> str:
        return "retracing"


def test_a_size_that_a_result_follows_from_is_right_where_a_runtime_guards_itself(
    lazy: LazyRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy, "compile", lambda flat_fn, *rest: (None, RetracingProgram(flat_fn)))
    kept = crt.compile(lambda x: x * 2)
    sized = crt.compile(lambda x: (x * 2, x.size, [x] * x.size))
    for size in (2, 3, 1, 2, 3):
        x = tensor(*range(size))
        assert kept(x).compute() == [2 * value for value in range(size)]
        doubled, count, copies = sized(x)
        assert doubled.compute() == [2 * value for value in range(size)]
        assert count == len(copies) == size
    assert kept.cache_info().currsize == 1
    assert [row.key["x"] for row in sized.graphs()] == ["float[3]", "float[2]", "float[1]"]
    (change,) = sized.explain(tensor(1, 2, 3, 4)).changes
    assert change[:3] == ("x", "float[3]", "float[4]")


def test_guards_that_a_program_checks_itself(lazy: LazyRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []

    class Checked(LazyProgram):
        def __init__(self, flat_fn: Any, tensors: Any) -> None:
            super().__init__(flat_fn, tensors)
            self.guards = TensorGuards(tensors, is_checked=True)
            self.size = tensors[0].size

        def run(self, tensors: Any) -> Any:
            ran.append(tensors[0].size)
            if tensors[0].size != self.size:
                raise Misfit
            return super().run(tensors)

    monkeypatch.setattr(lazy, "own_guards", False)
    monkeypatch.setattr(lazy, "compile", lambda flat_fn, tensors, *rest: (None, Checked(flat_fn, tensors)))
    compiled = crt.compile(lambda x, k: x * k)
    for _ in range(3):
        assert compiled(tensor(1, 2), 2).compute() == [2, 4]
    assert ran == [2, 2, 2]
    (change,) = compiled.explain(tensor(1, 2, 3), 2).changes
    assert change[:3] == ("x", "float[2]", "float[3]")
    for size in (3, 2, 3, 2):
        assert compiled(tensor(*range(size)), 2).compute() == [2 * value for value in range(size)]
    assert [row.key["x"] for row in compiled.graphs()] == ["float[2]", "float[3]"]
    # From then on each is held against the guards before it runs.
    assert ran[3:] == [3, 3, 2, 3, 2]
    assert compiled.cache_info().misses == 2
    compiled.on_miss = "error"
    with pytest.raises(crt.MissError, match=r"x: was float\[2\], now float\[1\]"):
        compiled(tensor(1), 2)
