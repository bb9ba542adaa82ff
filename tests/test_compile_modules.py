"""Modules as arguments of compiled functions: their tensors are inputs, what else they hold is guarded."""

from __future__ import annotations

import copy
import dataclasses
import gc
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sample import sample_runtime

import clika_pytree as cp
from clika_pytree.runtimes import register_runtime, unregister_runtime
from clika_pytree.runtimes.protocol import Runtime, TensorSpec

X = np.arange(6.0, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def crt() -> Iterator[Any]:
    with sample_runtime() as module:
        yield module


@pytest.fixture
def net(crt: Any) -> Any:
    return network(crt)


def network(crt: Any) -> Any:
    class Linear(crt.nn.Module):
        def __init__(self, scale: float) -> None:
            self.weight = crt.nn.Parameter(np.full((3, 2), scale, np.float32))
            self.bias = crt.nn.Parameter(np.zeros(2, np.float32))
            self.training = True

        def forward(self, x: Any) -> Any:
            y = x @ self.weight + self.bias
            return y * 2 if self.training else y

    class Net(crt.nn.Module):
        def __init__(self) -> None:
            self.head = Linear(1.0)
            self.steps = crt.tensor(np.float32(0))
            self.options = {"scale": 1.0}

        def forward(self, batch: Any, *, gain: float = 1.0) -> Any:
            return {"y": self.head(batch["x"]) * gain * self.options["scale"], "steps": self.steps}

    return Net()


def same(compiled: Any, net: Any, crt: Any, x: Any = X, **options: Any) -> None:
    """A compiled module and the module itself give the same."""
    batch = {"x": crt.tensor(x)}
    got, wanted = compiled(batch, **options), net(batch, **options)
    assert np.array_equal(got["y"].numpy(), wanted["y"].numpy())
    assert got["steps"] is net.steps


def test_its_tensors_are_read_at_each_call(crt: Any, net: Any) -> None:
    compiled = cp.compile(net)
    same(compiled, net, crt)
    net.head.weight = crt.nn.Parameter(np.full((3, 2), 5, np.float32))
    net.steps = crt.tensor(np.float32(7))
    same(compiled, net, crt)
    net.load_state_dict({name: crt.tensor(x.numpy() + 1) for name, x in net.state_dict().items()})
    same(compiled, net, crt)
    assert compiled.cache_info() == (2, 1, 64, 1)
    (row,) = compiled.graphs()
    assert row.key == {
        "self": repr(net)[:80],
        "batch['x']": "float32[2, 3]",
        "gain": "1.0",
        "self.head.weight": "float32[3, 2]",
        "self.head.bias": "float32[2]",
        "self.steps": "float32[]",
    }


def test_it_has_its_own_tensors_after_a_graph_was_made(crt: Any, net: Any) -> None:
    state = net.state_dict()
    compiled = cp.compile(net, dynamic=True)
    for rows in (2, 5, 1, 7, 0):
        same(compiled, net, crt, np.ones((rows, 3), np.float32))
    assert compiled.cache_info().currsize == 1
    assert all(net.state_dict()[name] is x for name, x in state.items())
    with pytest.raises(ValueError, match="can't multiply"):
        compiled({"x": crt.tensor(np.ones((2, 4), np.float32))})
    assert all(net.state_dict()[name] is x for name, x in state.items())


def test_everything_else_in_it_is_guarded(crt: Any, net: Any) -> None:
    compiled = cp.compile(net)
    same(compiled, net, crt)
    for change in (
        lambda: setattr(net.head, "training", False),
        lambda: net.options.update(scale=3.0),
        lambda: setattr(net, "options", {"scale": 3.5}),
        lambda: setattr(net, "head", network(crt).head),
        lambda: setattr(net, "extra", None),
    ):
        change()
        before = compiled.cache_info().misses
        same(compiled, net, crt)
        same(compiled, net, crt)
        assert compiled.cache_info().misses == before + 1
    net.head.training, net.options = True, {"scale": 3.5}
    same(compiled, net, crt)
    assert compiled.cache_info().misses == before + 1


def test_explain_names_what_changed_in_it(crt: Any, net: Any) -> None:
    compiled = cp.compile(net)
    batch = {"x": crt.tensor(X)}
    compiled(batch)

    def changes() -> list[tuple[str, str | None, str | None]]:
        return [change[:3] for change in compiled.explain(batch).changes]

    assert changes() == []
    net.head.training = False
    assert changes() == [("self.head.training", "True", "False")]
    net.head.training = True
    net.head.bias = crt.nn.Parameter(np.zeros((1, 2), np.float32))
    assert changes() == [("self.head.bias", "float32[2]", "float32[1, 2]")]
    net.head.bias = crt.nn.Parameter(np.zeros(2))
    assert changes() == [("self.head.bias", "float32[2]", "float64[2]")]
    del net.head.bias
    net.shift = crt.tensor(1.0)
    assert changes() == [("self.head.bias", "float32[2]", None), ("self.shift", None, "float64[]")]
    with pytest.raises(AttributeError):
        compiled(batch)


def test_a_module_is_an_argument_like_any_other(crt: Any) -> None:
    one, other = network(crt), network(crt)

    @cp.compile
    def step(models: dict[str, Any], x: Any) -> Any:
        return [model({"x": x})["y"] for model in models.values()]

    for first, second in ((one, other), (one, other), (other, one), (one, one)):
        got = step({"a": first, "b": second}, crt.tensor(X))
        wanted = [model({"x": crt.tensor(X)})["y"] for model in (first, second)]
        assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(got, wanted, strict=True))
    assert step.cache_info().currsize == 3
    assert "models['a'].head.weight" in step.graphs()[0].key
    # The same module twice, and one inside another.
    inner = cp.compile(lambda model, head, x: model({"x": x})["y"] + head(x))
    assert np.array_equal(inner(one, one.head, crt.tensor(X)).numpy(), 2 * one({"x": crt.tensor(X)})["y"].numpy())
    assert inner(one, one.head, crt.tensor(X)) is not None
    assert inner.cache_info() == (1, 1, 64, 1)


def test_bound_methods_and_registered_holders(crt: Any, net: Any) -> None:
    compiled = cp.compile(net.head.forward)
    for scale in (1, 4):
        net.head.weight = crt.nn.Parameter(np.full((3, 2), scale, np.float32))
        assert np.array_equal(compiled(crt.tensor(X)).numpy(), net.head(crt.tensor(X)).numpy())
    assert compiled.cache_info().currsize == 1

    @dataclasses.dataclass
    class Trainer:
        model: Any
        rate: float

        def step(self, x: Any) -> Any:
            return self.model(x) * self.rate

    with pytest.raises(cp.UnregisteredNodeError, match=r"the tensors that it holds at \.model would be constants"):
        cp.compile(Trainer.step)(Trainer(net.head, 0.5), crt.tensor(X))
    cp.register_dataclass(Trainer)
    try:
        step = cp.compile(Trainer.step)
        assert step(Trainer(net.head, 0.5), crt.tensor(X)).numpy().tolist() == (net.head(X).numpy() * 0.5).tolist()
        assert "self.model.weight" in step.graphs()[0].key
    finally:
        cp.pytree.unregister_pytree_node(Trainer)


def test_modules_in_lists_and_dicts_of_a_module(crt: Any, net: Any) -> None:
    class Stack(crt.nn.Module):
        def __init__(self) -> None:
            self.layers = [network(crt).head, network(crt).head]

        def state_dict(self) -> dict[str, Any]:
            return {f"layers.{i}.{k}": x for i, layer in enumerate(self.layers) for k, x in layer.state_dict().items()}

        def forward(self, x: Any) -> Any:
            return self.layers[0](x) + self.layers[1](x)

    stack = Stack()
    compiled = cp.compile(stack)
    for scale in (1, 3):
        stack.layers[1].weight = crt.nn.Parameter(np.full((3, 2), scale, np.float32))
        assert np.array_equal(compiled(crt.tensor(X)).numpy(), stack(crt.tensor(X)).numpy())
    assert all(type(x) is crt.nn.Parameter for x in stack.state_dict().values())
    stack.layers[1].training = False
    (change,) = compiled.explain(crt.tensor(X)).changes
    assert change[:3] == ("self.layers[1].training", "True", "False")
    stack.layers.append(stack.layers[0])
    assert np.array_equal(compiled(crt.tensor(X)).numpy(), stack(crt.tensor(X)).numpy())
    hidden = type("Hidden", (crt.nn.Module,), {"forward": lambda self, x: self.layers[0](x)})()
    hidden.layers = [net.head]
    with pytest.raises(cp.GuardError, match=r"^self\.layers\[0\]\.weight is no parameter and no buffer") as caught:
        cp.compile(hidden)(crt.tensor(X))
    assert caught.value.path == "self.layers[0].weight"


def test_what_a_graph_cannot_keep_is_refused(crt: Any, net: Any) -> None:
    def counting(model: Any, x: Any) -> Any:
        model.steps = model.steps + 1
        return model.head(x)

    def growing(model: Any, x: Any) -> Any:
        model.cache = x * 2
        return model.head(x)

    def losing(model: Any, x: Any) -> Any:
        y = model.head(x)
        del model.head.bias
        return y

    state = net.state_dict()
    for function, path, words in (
        (counting, "model.steps", "puts another tensor there: return that one"),
        (growing, "model.cache", "makes it; call the module once before"),
        (losing, "model.head.bias", "takes it away"),
    ):
        with pytest.raises(cp.RecordingError) as caught:
            cp.compile(function)(net, crt.tensor(X))
        assert caught.value.path == path
        assert words in str(caught.value)
        vars(net).pop("cache", None)
        assert all(net.state_dict()[name] is x for name, x in state.items())


def test_tied_tensors(crt: Any, net: Any) -> None:
    net.other = net.head.weight
    compiled = cp.compile(lambda model, x: x @ model.head.weight + x @ model.other)
    assert compiled(net, crt.tensor(X)).numpy().tolist() == (2 * (X @ net.other.numpy())).tolist()
    net.other = crt.nn.Parameter(np.zeros((3, 2), np.float32))
    assert compiled(net, crt.tensor(X)).numpy().tolist() == (X @ net.head.weight.numpy()).tolist()
    assert compiled.cache_info().currsize == 1


def test_a_copy_of_a_compiled_module_has_its_own_tensors(crt: Any, net: Any) -> None:
    compiled = cp.compile(net)
    same(compiled, net, crt)
    twin = copy.deepcopy(compiled)
    net.head.weight = crt.nn.Parameter(np.zeros((3, 2), np.float32))
    assert twin({"x": crt.tensor(X)})["y"].numpy().any()
    assert not compiled({"x": crt.tensor(X)})["y"].numpy().any()


def test_a_module_goes_with_the_graphs_that_hold_it(crt: Any) -> None:
    compiled = cp.compile(lambda model, x: model.head(x))
    net = network(crt)
    compiled(net, crt.tensor(X))
    alive = weakref.ref(net)
    del net
    gc.collect()
    assert alive() is not None
    compiled.clear()
    gc.collect()
    assert alive() is None


def test_more_and_more_modules_are_said(crt: Any) -> None:
    compiled = cp.compile(lambda model, x: model(x))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(9):
            compiled(network(crt).head, crt.tensor(X))
    assert [warning.category for warning in caught] == [cp.RecompileWarning]
    assert "model" in str(caught[0].message)


def test_a_function_with_a_miss_that_is_refused(crt: Any, net: Any) -> None:
    compiled = cp.compile(net)
    same(compiled, net, crt)
    compiled.on_miss = "error"
    net.head.training = False
    with pytest.raises(cp.MissError, match=r"none fits this call: self\.head\.training: was True, now False"):
        compiled({"x": crt.tensor(X)})


def test_what_a_runtime_answers_is_looked_at() -> None:
    class Box:
        pass

    Box.__module__ = "boxes"
    answers: list[Any] = [[1], {1: 2}, {"w": 3}]

    class Boxes(Runtime):
        name, modules = "boxes", ("boxes",)

        def is_tensor_type(self, cls: Any, /) -> bool:
            return False

        def describe(self, x: Any, /) -> TensorSpec:
            return TensorSpec("float", ())

        def module_state(self, obj: Any, /) -> Any:
            return answers.pop(0)

    register_runtime(Boxes())
    try:
        compiled = cp.compile(lambda box: 1)
        for got in ("got a list", "got the name 1", "got 3 as 'w'"):
            with pytest.raises(cp.PyTreeTypeError, match=rf"module_state\(\) of the runtime 'boxes' has to .* {got}"):
                compiled(Box())
    finally:
        unregister_runtime("boxes")
