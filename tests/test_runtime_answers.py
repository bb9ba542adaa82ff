"""A runtime that answers nonsense is named, with the method that did."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import notes

import clika_pytree as crt
from clika_pytree._native import runtime_of
from clika_pytree.boundary import Graph
from clika_pytree.runtimes.protocol import Failed, Runtime, TensorSpec


class Tensor:
    shape, dtype = (2,), "float"


Tensor.__module__ = "sloppy_tensors"


class Program:
    guards, nodes = None, None

    def __init__(self, results: Any = None) -> None:
        self.results = results

    def run(self, tensors: Any) -> Any:
        return tensors if self.results is None else self.results

    def text(self) -> str:
        return ""


class Traced(Program):
    inputs, outputs = ("x",), ("y",)


class Sloppy(Runtime):
    name, modules, lazy = "sloppy", ("sloppy_tensors",), True

    def is_tensor_type(self, cls: Any, /) -> Any:
        return issubclass(cls, Tensor)

    def describe(self, x: Any, /) -> Any:
        return TensorSpec("float", (2,))

    def wait(self, tensors: Any, /) -> None:
        pass


@pytest.fixture
def sloppy() -> Iterator[Callable[..., Runtime]]:
    """Registers a runtime with some methods replaced."""

    def make(**members: Any) -> Runtime:
        methods = {name: value for name, value in members.items() if callable(value)}
        runtime: Runtime = crt.register_runtime(type("Sloppy", (Sloppy,), {**members, **methods})())
        return runtime

    yield make
    crt.unregister_runtime("sloppy")


def raising(error: BaseException) -> Callable[..., Any]:
    def method(*args: Any) -> Any:
        raise error

    return method


def compiling(answer: Any) -> Callable[..., Any]:
    def compile(self: Any, flat_fn: Any, tensors: Any, dynamic: bool, names: Any) -> Any:
        flat_fn(tensors)
        return answer

    return compile


RUNS = "a program like protocol.Executable"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "compile() of the runtime 'sloppy' has to give two things, the results of this call (or None) and the "),
        ((1, 2, 3), "compile() of the runtime 'sloppy' has to give two things"),
        ((None, None), f"compile() of the runtime 'sloppy' has to give {RUNS}, got None"),
        ((None, "x"), f"compile() of the runtime 'sloppy' has to give {RUNS}, got 'x' without run()"),
        ((5, Program()), "compile() of the runtime 'sloppy' has to give a list of results, got 5"),
        (([], Program()), "the runtime 'sloppy' gave 0 results of a function that returned 1 tensor"),
        ((None, Program(7)), "run() of a program of the runtime 'sloppy' has to give a list of results, got 7"),
        ((None, Program([1, 2])), "the runtime 'sloppy' gave 2 results of a function that returned 1 tensor"),
    ],
    ids=["nothing", "three things", "no program", "a str", "a number", "too few", "a run of a number", "too many"],
)
def test_what_compile_gives(sloppy: Any, answer: Any, message: str) -> None:
    sloppy(compile=compiling(answer))
    function = crt.compile(lambda x: {"a": x})
    with pytest.raises(crt.PyTreeTypeError, match="^" + re.escape(message)):
        function(Tensor())
    assert function.cache_info().currsize == 0


def test_a_program_has_what_tables_and_guards_need(sloppy: Any) -> None:
    program = Program()
    program.nodes = "many"  # type: ignore[assignment]
    sloppy(compile=compiling((None, program)))
    with pytest.raises(crt.PyTreeTypeError, match=r"a program whose nodes are a number or None, got 'many'"):
        crt.compile(lambda x: x)(Tensor())
    sloppy(compile=compiling((None, Program())), own_guards=False)
    with pytest.raises(crt.PyTreeTypeError, match=r"a program with guards, as its own_guards is False, got None"):
        crt.compile(lambda x: x)(Tensor())


def test_compile_has_to_run_the_function(sloppy: Any) -> None:
    sloppy(compile=lambda self, *args: (None, Program()))
    with pytest.raises(crt.PyTreeTypeError, match="'sloppy' did not run the function that its compile"):
        crt.compile(lambda x: x)(Tensor())


def test_a_program_may_run_the_function_at_its_first_call(sloppy: Any) -> None:
    class Late(Program):
        def __init__(self, flat_fn: Any) -> None:
            self.run = flat_fn

    sloppy(compile=lambda self, flat_fn, tensors, dynamic, names: (None, Late(flat_fn)))
    x, function = Tensor(), crt.compile(lambda x: {"a": x, "b": 1})
    assert function(x) == {"a": x, "b": 1} == function(x)
    assert function.cache_info().currsize == 1


def test_an_error_of_the_users_function_is_its_own(sloppy: Any) -> None:
    sloppy(compile=lambda self, flat_fn, tensors, dynamic, names: (flat_fn(tensors), Program()))
    with pytest.raises(ZeroDivisionError) as caught:
        crt.compile(lambda x: 1 // 0)(Tensor())
    assert notes(caught.value) == ""


@pytest.mark.parametrize("answer", ["yes", None, 1, np.ones(2)], ids=["a str", "None", "a number", "an array"])
def test_whether_a_class_is_one_of_tensors_is_true_or_false(sloppy: Any, answer: Any) -> None:
    sloppy(is_tensor_type=lambda self, cls: answer)
    with pytest.raises(crt.PyTreeTypeError, match=r"is_tensor_type\(\) of the runtime 'sloppy' has to give True or F"):
        crt.compile(lambda x: x)(Tensor())


def test_an_error_when_a_class_is_asked_about_names_it(sloppy: Any) -> None:
    sloppy(is_tensor_type=raising(RuntimeError("boom")))
    with pytest.raises(RuntimeError, match="boom") as caught:
        runtime_of(Tensor())
    assert notes(caught.value) == (
        "clika_pytree: is_tensor_type() of the runtime 'sloppy' was asked of the class Tensor"
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "has to give a TensorSpec, got None"),
        ("float[2]", "has to give a TensorSpec, got 'float[2]'"),
        (TensorSpec(None, (2,)), "whose dtype is a str and whose shape is a tuple, got a dtype that is None and"),  # type: ignore[arg-type]
        (TensorSpec("f4", [2]), "and a shape that is a list"),  # type: ignore[arg-type]
    ],
    ids=["nothing", "a str", "no dtype", "a list of sizes"],
)
def test_what_describe_gives(sloppy: Any, answer: Any, message: str, tmp_path: Path) -> None:
    sloppy(describe=lambda self, x: answer)
    with pytest.raises(crt.PyTreeTypeError, match=re.escape(message)):
        crt.save([Tensor()], tmp_path / "a.safetensors")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize(
    "failed", [Failed(9, KeyError()), Failed(-1, KeyError()), Failed("x", KeyError()), Failed(0, 1)]
)  # type: ignore[arg-type]
def test_a_failure_says_of_which_tensor_it_is(sloppy: Any, failed: Failed) -> None:
    sloppy(wait=raising(failed))
    with pytest.raises(crt.PyTreeTypeError, match=r"wait\(\) of the runtime 'sloppy' has to raise Failed with the p"):
        crt.eval([Tensor()])


def test_an_error_that_says_of_no_tensor_is_told_where_they_stood(sloppy: Any) -> None:
    sloppy(wait=raising(RuntimeError("out of memory")))
    with pytest.raises(RuntimeError, match="out of memory") as caught:
        crt.eval(1, {"a": [Tensor(), Tensor()]})
    assert notes(caught.value) == (
        "clika_pytree: eval() asked the runtime 'sloppy' to wait for 2 tensors, the first of them trees[1]['a'][0]"
    )
    sloppy(wait=raising(RuntimeError("out of memory")))
    with pytest.raises(RuntimeError) as caught:
        crt.eval({"a": Tensor()})
    assert notes(caught.value) == "clika_pytree: eval() asked the runtime 'sloppy' to wait for trees[0]['a']"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "trace() of the runtime 'sloppy' has to give a graph like protocol.Graph, got None"),
        (Program(), "got a Program without inputs, outputs"),
        (type("Two", (Traced,), {"inputs": ("x", "y")})(), "has to give a graph of 1 input, got one of 2"),
    ],
    ids=["nothing", "a program", "two inputs"],
)
def test_what_trace_gives(sloppy: Any, answer: Any, message: str) -> None:
    sloppy(trace=lambda self, *args: answer)
    with pytest.raises(crt.PyTreeTypeError, match=re.escape(message)):
        crt.trace(lambda tensors: tensors, [Tensor()])


def test_what_a_graph_gives(sloppy: Any) -> None:
    sloppy(trace=lambda self, *args: Traced(7), load_graph=lambda self, path: None)
    graph = crt.trace(lambda tensors: tensors, [Tensor()])
    with pytest.raises(crt.PyTreeTypeError, match=r"run\(\) of the graph has to give a list, got 7"):
        graph(Tensor())
    with pytest.raises(crt.PyTreeTypeError, match=r"load_graph\(\) of the runtime 'sloppy' has to give a graph"):
        Graph.load("file", runtime="sloppy")
