"""Compiled functions of PyTorch and its gradients: through them, in them, and around them."""

from __future__ import annotations

import numpy as np
import pytest
from guard_table import RUNTIMES, equal
from torch_settings import backend

import clika_pytree as crt

torch = pytest.importorskip("torch", reason="`make test-torch` installs PyTorch and runs this")

PARAMS = {"w": torch.arange(12.0).reshape(3, 4) / 10, "b": torch.ones(4)}


@pytest.fixture(autouse=True)
def cheap():
    with backend():
        yield


def layer(params, x):
    return {"sum": x.sum(0), "y": torch.tanh(x @ params["w"] + params["b"])}


def same(one, other):
    return equal(RUNTIMES["torch"], one, other)


# --- gradients --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["aot_eager", "inductor"])
def test_training_steps_are_those_of_the_function(name):
    def loss(params, x, y):
        return {"loss": ((torch.tanh(x @ params["w"]) @ params["v"] - y) ** 2).mean()}

    def trained(function):
        torch.manual_seed(0)
        params = {"w": torch.randn(3, 4, requires_grad=True), "v": torch.randn(4, 1, requires_grad=True)}
        optimizer = torch.optim.SGD(params.values(), lr=0.1)
        x = torch.randn(8, 3)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            value = function(params, x, x.sum(1, keepdim=True))["loss"]
            value.backward()
            optimizer.step()
            losses.append(float(value.detach()))
        return losses

    with backend(name):
        compiled = crt.compile(loss)
        np.testing.assert_allclose(trained(compiled), trained(loss), rtol=1e-5)
        assert compiled.cache_info()[:2] == (2, 1)


class Doubled(torch.autograd.Function):
    """Twice its input, with a gradient that nobody would derive."""

    @staticmethod
    def forward(ctx, x, w):
        return x * 2 * w

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 100, gradient * 7


def test_gradients_of_ones_own_and_blocks_without_are_kept():
    w = torch.ones(2, requires_grad=True)

    def function(x):
        with torch.no_grad():
            fixed = x * 3
        return Doubled.apply(x, w * 1) + fixed + x.detach()

    found = []
    for one in (function, crt.compile(function)):
        x = torch.ones(2, requires_grad=True)
        w.grad = None
        one(x).sum().backward()
        found.append((x.grad, w.grad))
    assert same(found[0], found[1])
    assert float(found[1][0][0]) == 100


def test_a_backward_pass_inside_a_compiled_function():
    @crt.compile
    def gradient(w, x):
        return torch.autograd.grad((w * x).sum(), w)

    w = torch.ones(2, requires_grad=True)
    assert same(gradient(w, torch.full((2,), 3.0)), (torch.full((2,), 3.0),))


# --- inside PyTorch's own transformations -----------------------------------------------------------------------------


@pytest.fixture
def compiled_layer():
    compiled = crt.compile(layer)
    compiled(PARAMS, torch.ones(2, 3))
    return compiled


def test_compiled_functions_are_mapped_over(compiled_layer):
    xs = torch.arange(24.0).reshape(4, 2, 3)
    found = torch.vmap(lambda x: compiled_layer(PARAMS, x))(xs)
    assert same(found, torch.vmap(lambda x: layer(PARAMS, x))(xs))
    assert compiled_layer.cache_info().currsize == 1


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")  # of PyTorch itself
def test_compiled_functions_have_functional_gradients(compiled_layer):
    x = torch.ones(2, 3)

    def loss(function):
        return torch.func.grad(lambda params: function(params, x)["y"].sum())

    assert same(loss(compiled_layer)(PARAMS), loss(layer)(PARAMS))
    assert same(torch.func.jvp(lambda x: compiled_layer(PARAMS, x)["y"], (x,), (x,))[1] > 0, torch.ones(2, 4) > 0)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")  # of PyTorch itself
def test_second_derivatives_are_those_of_torch_func():
    compiled = crt.compile(lambda x: {"y": torch.sin(x) ** 2})
    x = torch.ones(2, requires_grad=True)
    (gradient,) = torch.autograd.grad(compiled(x)["y"].sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        gradient.sum().backward()
    hessian = torch.func.hessian(lambda x: compiled(x)["y"].sum())(x.detach())
    assert torch.allclose(hessian, torch.diag(2 * torch.cos(2 * x.detach())))


def test_the_function_itself_is_a_part_of_what_pytorch_compiles(compiled_layer):
    def outer(layer):
        return torch.compile(lambda x: layer(PARAMS, x)["y"] * 2, fullgraph=True, backend="eager")

    x = torch.ones(2, 3)
    assert same(outer(compiled_layer.__wrapped__)(x), layer(PARAMS, x)["y"] * 2)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="compiled function layer"):
        outer(compiled_layer)(x)


def test_compiled_functions_are_exported_as_a_part(compiled_layer):
    class Whole(torch.nn.Module):
        def forward(self, x):
            return compiled_layer(PARAMS, x)["y"] * 2

    exported = torch.export.export(Whole(), (torch.ones(2, 3),), strict=False).module()
    assert same(exported(torch.ones(2, 3)), layer(PARAMS, torch.ones(2, 3))["y"] * 2)


def test_compiled_functions_in_compiled_functions(compiled_layer):
    outer = crt.compile(lambda x: compiled_layer(PARAMS, x)["y"] * 2)
    for _ in range(2):
        assert same(outer(torch.ones(2, 3)), layer(PARAMS, torch.ones(2, 3))["y"] * 2)
