"""How a library of tensors is made known, and how the library of a tensor is found."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import lazy_runtime
import numpy as np
import pytest
from helpers import run_python
from lazy_runtime import LazyRuntime, LazyTensor, tensor

import clika_pytree as crt
from clika_pytree.runtimes import register_runtime, runtime_named, runtime_of, unregister_runtime
from clika_pytree.runtimes.protocol import Runtime, TensorSpec


@pytest.fixture
def lazy() -> Iterator[LazyRuntime]:
    runtime = register_runtime(LazyRuntime())
    yield runtime
    unregister_runtime("lazy")


def test_a_registered_runtime_is_found_by_the_module_of_a_class(lazy: LazyRuntime) -> None:
    assert runtime_of(tensor(1)) is lazy
    assert runtime_of(np.ones(2)) is runtime_of(np.float32(1)) is runtime_named("test", "numpy")
    assert runtime_of([tensor(1)]) is runtime_of(1) is runtime_of(None) is runtime_of(np.dtype("f4")) is None


def test_a_subclass_of_a_tensor_is_one(lazy: LazyRuntime) -> None:
    class Mine(LazyTensor):
        pass

    class MyArray(np.ndarray):
        pass

    assert Mine.__module__ == __name__
    assert runtime_of(Mine([1.0], 1)) is lazy
    assert runtime_of(np.ones(2).view(MyArray)) is runtime_named("test", "numpy")


def test_a_class_is_asked_about_once(lazy: LazyRuntime) -> None:
    x = tensor(1, 2)
    for _ in range(3):
        crt.eval([x, {"x": x}], tensor(3))
    assert lazy.asked == [LazyTensor]


def test_what_was_seen_before_the_registration_is_asked_about_again() -> None:
    x = tensor(1)
    assert runtime_of(x) is None
    register_runtime(LazyRuntime())
    assert runtime_of(x) is runtime_named("test", "lazy")
    unregister_runtime("lazy")
    assert runtime_of(x) is None


def test_registering_twice(lazy: LazyRuntime) -> None:
    class Other(LazyRuntime):
        pass

    assert register_runtime(lazy) is lazy
    with pytest.raises(crt.RegistrationError, match=r"'lazy' already, a LazyRuntime; .* unregister_runtime\('lazy'\)"):
        register_runtime(Other())
    Other.name = "numpy"
    with pytest.raises(crt.RegistrationError, match="can't take the name 'numpy', which is that of a runtime of this"):
        register_runtime(Other())
    assert runtime_of(tensor(1)) is lazy


def test_a_cell_that_runs_again_puts_its_runtime_in_the_place_of_the_first(lazy: LazyRuntime) -> None:
    """The class is made anew, with the same name in the same module; so is the object, where only that line ran."""
    x = tensor(1, 2)
    function, asked = crt.compile(lambda x: x + x), crt.compile(lambda x: x + x, runtime="lazy")
    assert function(x).compute() == asked(x).compute() == [2, 4]
    for cls in (LazyRuntime, type("LazyRuntime", (LazyRuntime,), {"__module__": LazyRuntime.__module__})):
        again = cls()
        assert register_runtime(again) is again
        assert runtime_of(x) is again is runtime_named("test", "lazy")
        assert function(x).compute() == asked(x).compute() == [2, 4]
        with pytest.raises(crt.PyTreeTypeError, match="runtime that was registered"):
            runtime_named("test", lazy)


def test_taking_back(lazy: LazyRuntime) -> None:
    x, function = tensor(1, 2), crt.compile(lambda x: x + x)
    function(x)
    crt.unregister_runtime(lazy)
    assert runtime_of(x) is None
    with pytest.raises(crt.RegistrationError, match="expects a runtime that was registered, or its name, got 'lazy'; "):
        crt.unregister_runtime("lazy")
    for given in (lazy, None, "numpy"):
        with pytest.raises(crt.RegistrationError, match="registered are none"):
            crt.unregister_runtime(given)  # type: ignore[arg-type]
    register_runtime(lazy)
    assert function(x).compute() == [2, 4]


class Nameless(LazyRuntime):
    name = ""


class OneModule(LazyRuntime):
    modules = "lazy_tensors"  # type: ignore[assignment]


class Undecided(LazyRuntime):
    lazy = None  # type: ignore[assignment]


class Described(LazyRuntime):
    described_by = "aval"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (LazyRuntime, ["got the class LazyRuntime", "register_runtime(LazyRuntime())"]),
        (None, ["got None without is_tensor_type, describe", "derive its class from Runtime"]),
        (lazy_runtime, ["without is_tensor_type"]),
        (Nameless(), ["name is a str, got ''"]),
        (OneModule(), ["'lazy'", "tuple of names of modules", "got 'lazy_tensors'"]),
        (Undecided(), ["True or False as lazy, got None"]),
        (Described(), ["a tuple of names of attributes as described_by, got 'aval'"]),
    ],
    ids=["class", "none", "module", "nameless", "one module", "undecided", "described"],
)
def test_what_is_no_runtime_is_refused(given: Any, words: list[str]) -> None:
    with pytest.raises(crt.PyTreeTypeError) as caught:
        register_runtime(given)
    assert all(word in str(caught.value) for word in words), caught.value
    with pytest.raises(crt.PyTreeValueError, match="known are"):
        runtime_named("compile()", "lazy")


def test_the_base_class_says_what_is_missing() -> None:
    class Holder(Runtime):
        name, modules, lazy = "holder", ("holders",), True

        def is_tensor_type(self, cls: type[Any], /) -> bool:
            return False

        def describe(self, x: Any, /) -> TensorSpec:
            return TensorSpec("?", ())

    runtime = Holder()
    for call in (
        lambda: runtime.compile(list, [], False, []),
        lambda: runtime.trace(list, [], [], None),
        lambda: runtime.load_graph("graph"),
        lambda: runtime.wait([1]),
        lambda: runtime.to_host(1),
        lambda: runtime.from_host(None, "cpu"),  # type: ignore[arg-type]
    ):
        with pytest.raises(crt.PyTreeTypeError, match=r"the runtime 'holder' can't .* its class Holder does not"):
            call()
    assert runtime.same_memory(1) is runtime.module_state(1) is None
    assert not runtime.is_traced([1])
    runtime.lazy = False  # type: ignore[misc]
    assert runtime.wait([1]) is None  # type: ignore[func-returns-value]


def test_a_spec_prints_as_tensors_do() -> None:
    assert str(TensorSpec("float32", (2, 3))) == "float32[2, 3]"
    assert str(TensorSpec("bfloat16", (), "cuda:0")) == "bfloat16[] on cuda:0"


def test_a_runtime_by_name_or_object(lazy: LazyRuntime) -> None:
    assert runtime_named("compile()", "lazy") is runtime_named("compile()", lazy) is lazy
    numpy = runtime_named("compile()", "numpy")
    assert runtime_named("compile()", numpy) is numpy
    with pytest.raises(
        crt.PyTreeValueError,
        match=r"compile\(\) expects .* got 'lasy'; known are 'jax', 'lazy', 'mlx', 'numpy', 'torch'",
    ):
        runtime_named("compile()", "lasy")
    for given in (LazyRuntime(), 3, LazyRuntime):
        with pytest.raises(crt.PyTreeTypeError, match=r"register_runtime\(\) makes one known"):
            runtime_named("compile()", given)


# --- entry points -----------------------------------------------------------------------------------------------------


ADAPTER = """
from clika_pytree.runtimes.protocol import Runtime, TensorSpec
print("adapter loaded")

class Boxes(Runtime):
    name, modules, lazy = "boxes", ("boxlib",), True

    def is_tensor_type(self, cls):
        return cls.__name__ == "Box"

    def describe(self, x):
        return TensorSpec("box", ())

    def wait(self, tensors):
        print("waited for", len(tensors))

runtime = Boxes()
"""


@pytest.fixture
def installed(tmp_path: Any) -> Any:
    """A folder with a library, an adapter for it, and the metadata of a distribution that names the adapter."""
    (tmp_path / "boxlib").mkdir()
    (tmp_path / "boxlib" / "__init__.py").write_text("class Box: pass\nclass Other: pass\n")
    (tmp_path / "boxlib_adapter.py").write_text(ADAPTER)
    info = tmp_path / "boxlib_adapter-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: boxlib-adapter\nVersion: 1.0\n")

    def name(value: str) -> Any:
        (info / "entry_points.txt").write_text(f"[clika_pytree.runtimes]\nboxlib = {value}\n")
        return tmp_path

    return name


def run(folder: Any, code: str) -> str:
    return run_python(f"import sys\nsys.path.insert(0, {str(folder)!r})\n{textwrap.dedent(code)}").stdout


@pytest.mark.parametrize("value", ["boxlib_adapter:runtime", "boxlib_adapter:Boxes"])
def test_an_entry_point_is_loaded_when_a_tensor_of_its_module_turns_up(installed: Any, value: str) -> None:
    printed = run(
        installed(value),
        """
        import clika_pytree as crt
        class Unknown: pass
        crt.eval([1, "text", None, Unknown(), print, {1: {2}}])
        import boxlib
        print("before")
        crt.eval(boxlib.Box(), [boxlib.Box(), boxlib.Other()])
        crt.eval(boxlib.Box())
        """,
    )
    assert printed.splitlines() == ["before", "adapter loaded", "waited for 2", "waited for 1"]


def test_an_entry_point_is_found_by_name(installed: Any) -> None:
    printed = run(
        installed("boxlib_adapter:runtime"),
        """
        import clika_pytree as crt
        crt.compile(lambda x: x, runtime="boxlib")
        """,
    )
    assert printed.splitlines() == ["adapter loaded"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("boxlib_adapter:nothing", "AttributeError"),
        ("no_such_module:runtime", "ModuleNotFoundError"),
        ("boxlib:Box", "without is_tensor_type"),
    ],
)
def test_an_entry_point_that_fails_is_named(installed: Any, value: str, reason: str) -> None:
    printed = run(
        installed(value),
        """
        import clika_pytree as crt, boxlib
        try:
            crt.eval(boxlib.Box())
        except crt.PyTreeValueError as error:
            print(error)
        """,
    )
    assert "tensors of the module 'boxlib' could not be loaded" in printed
    assert f"boxlib = {value} of the group clika_pytree.runtimes" in printed
    assert reason in printed


def test_nothing_is_imported_to_ask() -> None:
    run_python(
        "import sys, clika_pytree as crt, fractions, decimal\n"
        "class Mine: pass\n"
        "crt.eval([1, 'a', None, Mine(), fractions.Fraction(1), decimal.Decimal(1), sys, print])\n"
        "assert not {'numpy', 'jax', 'torch', 'mlx', 'importlib.metadata'} & set(sys.modules)\n"
    )


def test_the_numpy_runtime_holds_what_stands_for_arrays() -> None:
    seen: list[Any] = []

    @crt.compile(dynamic=True)
    def f(x: Any) -> Any:
        seen.extend([runtime_of(x), runtime_of(x.shape[0])])
        return x

    f(np.ones(3))
    assert [runtime.name for runtime in seen] == ["numpy"] * 2
    assert runtime_named("test", "numpy") not in seen
    assert sys.modules["numpy"]
