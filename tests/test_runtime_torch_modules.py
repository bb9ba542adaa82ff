"""Modules of PyTorch in compiled functions: their tensors are inputs, and what else they hold is watched."""

from __future__ import annotations

import pytest
from guard_table import RUNTIMES, equal
from torch_settings import backend

import clika_pytree as crt
from clika_pytree.runtimes import runtime_named

torch = pytest.importorskip("torch", reason="`make test-torch` installs PyTorch and runs this")
nn = torch.nn


@pytest.fixture(autouse=True)
def cheap():
    with backend():
        yield


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.ReLU(), nn.Linear(4, 2))


X = torch.linspace(-1, 1, 24).reshape(8, 3)


def same(one, other):
    return equal(RUNTIMES["torch"], one, other)


def test_a_module_is_compiled_and_called_like_itself(model):
    model.eval()
    compiled = crt.compile(model)
    for x in (X, X + 1):
        assert same(compiled(x), model(x))
    assert compiled.cache_info()[:2] == (1, 1)


def test_generated_code_gives_what_the_module_gives(model):
    model.eval()
    with backend("inductor"):
        assert same(crt.compile(model)(X), model(X))


@pytest.mark.parametrize("how", ["argument", "closure", "captured object", "method"])
def test_modules_are_found_wherever_a_function_has_them(model, how):
    model.eval()

    class Trainer:
        def __init__(self):
            self.model = model

    trainer = Trainer()
    functions = {
        "argument": (lambda m, x: m["net"](x), ({"net": model},)),
        "closure": (lambda x: model(x), ()),
        "captured object": (lambda x: trainer.model(x), ()),
        "method": (model.forward, ()),
    }
    function, leading = functions[how]
    compiled = crt.compile(function)
    for _ in range(2):
        assert same(compiled(*leading, X), model(X))
    with torch.no_grad():
        model[0].weight.mul_(2)
    assert same(compiled(*leading, X), model(X))
    model[0].weight = nn.Parameter(torch.zeros(4, 3))
    assert same(compiled(*leading, X), model(X))
    assert compiled.cache_info().currsize == 1
    model.load_state_dict({key: value + 1 for key, value in model.state_dict().items()}, assign=True)
    assert same(compiled(*leading, X), model(X))
    assert compiled.cache_info().currsize == 1


def test_what_else_a_module_holds_makes_another_graph(model):
    compiled = crt.compile(lambda m, x: m(x))
    model.eval()
    compiled(model, X)
    model.train()
    change = compiled.explain(model, X).changes[0]
    assert str(change) == "m.training: was False, now True"
    torch.manual_seed(1)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    result = compiled(model, X)
    after = {key: value.clone() for key, value in model.state_dict().items()}
    model.load_state_dict(before)
    torch.manual_seed(1)
    assert result.shape == model(X).shape
    assert same(after, dict(model.state_dict()))  # running means and all
    model.eval()
    assert same(compiled(model, X), model(X))
    assert compiled.cache_info().currsize == 2
    model[2] = nn.Identity()
    assert same(compiled(model, X), model(X))
    assert compiled.cache_info().currsize == 3
    model[0].bias = None
    assert same(compiled(model, X), model(X))
    handle = model[0].register_forward_hook(lambda m, args, out: out * 2)
    assert same(compiled(model, X), model(X))
    handle.remove()
    assert same(compiled(model, X), model(X))


def test_an_attribute_of_a_module_is_a_part_of_the_key():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = 2.0

        def forward(self, x):
            return x * self.scale

    model = Scaled()
    compiled = crt.compile(model)
    for scale in (2.0, 3.0, 2.0):
        model.scale = scale
        assert same(compiled(X), X * scale)
    assert compiled.cache_info().currsize == 2


def test_another_module_is_another_graph(model):
    compiled = crt.compile(lambda m, x: m(x))
    other = nn.Linear(3, 2)
    for one in (model.eval(), other, model):
        assert same(compiled(one, X), one(X))
    assert compiled.cache_info().currsize == 2


@pytest.mark.parametrize("name", ["aot_eager", "inductor"])
def test_modules_are_trained(model, name):
    model[2] = nn.Identity()
    state = {key: value.clone() for key, value in model.state_dict().items()}

    def trained(forward):
        model.load_state_dict(state)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (forward(X) - 1).square().mean().backward()
            optimizer.step()
        return {key: value.clone() for key, value in model.state_dict().items()}

    with backend(name):
        compiled = crt.compile(model)
        found, wanted = trained(compiled), trained(model)
    assert int(found["1.num_batches_tracked"]) == int(wanted["1.num_batches_tracked"]) == 3
    for key, value in wanted.items():
        assert torch.allclose(found[key], value, rtol=1e-3, atol=1e-4), key
    assert compiled.cache_info()[:2] == (2, 1)


def test_one_parameter_in_two_modules():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(5, 3)
            self.head = nn.Linear(3, 5, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, x):
            return self.head(self.embed(x))

    model, x = Tied(), torch.tensor([1, 4])
    compiled = crt.compile(model)
    for _ in range(2):
        found, wanted = compiled(x), model(x)
        assert same(found, wanted)
        gradients = [torch.autograd.grad(result.sum(), model.embed.weight)[0] for result in (found, wanted)]
        assert same(*gradients)


def test_recurrent_modules_hold_their_weights_twice():
    model = nn.LSTM(3, 4, batch_first=True)
    compiled = crt.compile(lambda m, x: m(x)[0])
    x = X.reshape(2, 4, 3)
    with torch.no_grad():  # PyTorch can't compile their gradients
        for _ in range(2):
            assert same(compiled(model, x), model(x)[0])
        model.weight_ih_l0.mul_(2)
        assert same(compiled(model, x), model(x)[0])


def test_binding_a_tensor_inside_is_refused_and_undone():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            self.seen = self.seen + 1
            return x * self.seen

    model = Counter()
    with pytest.raises(crt.RecordingError, match=r"at self\.seen the compiled function puts another") as caught:
        crt.compile(model)(X)
    assert caught.value.path == "self.seen"
    assert float(model.seen) == 0


def test_a_call_with_nothing_but_a_module_is_pytorchs(model):
    compiled = crt.compile(lambda m: m[0].weight.sum())
    assert same(compiled(model), model[0].weight.sum())


def test_the_tensors_of_a_module_have_names(model):
    runtime = runtime_named("test", "torch")
    assert runtime.module_state(model).keys() == model.state_dict().keys()
    assert runtime.module_state(X) is None


def test_graphs_have_the_tensors_of_arguments_and_watch_other_modules(model):
    compiled = crt.compile(lambda net, x: net(x))
    compiled(model.eval(), X)
    assert compiled.graphs()[0].key["net.0.weight"] == "float32[4, 3]"

    captured = crt.compile(lambda x: model(x))
    captured(X)
    assert captured.graphs()[0].key["where"] == "model == what it was"
    model.train()
    assert str(captured.explain(X).changes[0]) == "model: was what it was, now model.training = True (was False)"
    model.eval()
    assert not captured.explain(X).needs_graph


def test_a_captured_module_that_binds_a_tensor_is_refused_too():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = torch.zeros(())

        def forward(self, x):
            self.seen = self.seen + 1
            return x * self.seen

    model = Counter()
    with pytest.raises(crt.RecordingError, match=r"model\.seen was bound to another tensor .* in place"):
        crt.compile(lambda x: model(x))(X)
    assert float(model.seen) == 0
