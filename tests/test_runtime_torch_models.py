"""Models of PyTorch: compiled, waited for, saved and loaded."""

from __future__ import annotations

import inspect

import pytest
from torch_settings import backend

import clika_pytree as crt

torch = pytest.importorskip("torch", reason="`make test-torch` installs PyTorch and runs this")


@pytest.mark.parametrize("name", ["aot_eager", "inductor"])
def test_a_transformer_encoder(tmp_path, name):
    torch.manual_seed(0)

    def made():
        layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        return torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()

    model, x = made(), torch.randn(3, 5, 16)
    with backend(name), torch.no_grad():
        compiled = crt.compile(model)
        for batch in (x, x + 1):
            result = compiled(batch)
            crt.eval(result, dict(model.named_parameters()))
            assert torch.allclose(result, model(batch), rtol=1e-4, atol=1e-5)
        assert compiled.cache_info()[:2] == (1, 1)
        path = tmp_path / "encoder.safetensors"
        crt.save(model.state_dict(), path)
        other = made()
        other.load_state_dict(crt.load(path, runtime="torch"), assign=True)
        model.load_state_dict({key: value * 0 for key, value in model.state_dict().items()})
        assert not torch.allclose(compiled(x), other(x))
        model.load_state_dict(crt.load(path, runtime="torch"))
        assert torch.allclose(compiled(x), other(x), rtol=1e-4, atol=1e-5)
        assert compiled.cache_info().currsize == 1


def test_a_step_of_an_optimizer_over_trees():
    def step(params, state, batch):
        def loss(params):
            return ((batch["x"] @ params["w"] + params["b"] - batch["y"]) ** 2).mean()

        gradients, value = torch.func.grad_and_value(loss)(params)
        state = crt.tree_map(lambda m, g: 0.9 * m + g, state, gradients)
        return value, crt.tree_map(lambda p, m: p - 0.1 * m, params, state), state

    torch.manual_seed(0)
    params = {"w": torch.zeros(3, 1), "b": torch.zeros(1)}
    batch = {"x": torch.randn(8, 3), "y": torch.ones(8, 1)}
    ours = theirs = (params, crt.tree_map(torch.zeros_like, params))
    with backend():
        compiled = crt.compile(step)
        losses = []
        for _ in range(4):
            value, *ours = compiled(*ours, batch)
            wanted, *theirs = step(*theirs, batch)
            losses.append(float(value))
            assert torch.allclose(value, wanted)
        assert losses == sorted(losses, reverse=True)
        assert compiled.cache_info().currsize == 1


@pytest.fixture
def transformers():
    """The library, with its cache as a node: the keys and the values of each layer."""
    library = pytest.importorskip("transformers", reason="transformers is not installed")

    def rebuilt(children, _):
        cache = library.DynamicCache()
        for keys, values in children:
            layer = library.cache_utils.DynamicLayer()
            layer.keys, layer.values = keys, values
            layer.is_initialized, layer.device, layer.dtype = True, keys.device, keys.dtype
            cache.layers.append(layer)
        return cache

    crt.register_pytree_node(
        library.DynamicCache,
        lambda cache: ([(layer.keys, layer.values) for layer in cache.layers], None),
        rebuilt,
        serialized_type_name="transformers.DynamicCache",
        namespace="models",
    )
    yield library
    crt.unregister_pytree_node(library.DynamicCache, "models")


def test_a_transformers_model_with_its_cache(tmp_path, transformers):
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=32, **sizes)).eval()
    # The argument had another name before version 5.
    name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"

    def forward(model, tokens, cache):
        out = model(input_ids=tokens, use_cache=True, **{name: cache})
        return {"logits": out.logits, "cache": out[name]}

    def close(one, other):
        pairs = zip(*(crt.tree_leaves(tree, namespace="models") for tree in (one, other)), strict=True)
        return all(torch.allclose(a, b, atol=1e-5) for a, b in pairs)

    compiled = crt.compile(forward, namespace="models")
    ours = theirs = transformers.DynamicCache()
    with backend(), torch.no_grad():
        for tokens in ([[1, 2, 3]], [[4]], [[5]]):
            given = crt.tree_map(torch.clone, theirs, namespace="models")
            result = compiled(model, torch.tensor(tokens), ours)
            wanted = forward(model, torch.tensor(tokens), given)
            crt.eval(result, namespace="models")
            assert close(result, wanted)
            assert ours.get_seq_length() == theirs.get_seq_length()  # nothing was written into what was given
            ours, theirs = result["cache"], wanted["cache"]
        assert type(ours) is transformers.DynamicCache
        assert ours.get_seq_length() == 5

        path = tmp_path / "step.safetensors"
        crt.save({"weights": model.state_dict(), "cache": ours}, path, namespace="models")
        again = crt.load(path, runtime="torch", namespace="models")
        assert close(again["cache"], theirs)
        other = transformers.LlamaForCausalLM(model.config).eval()
        other.load_state_dict(again["weights"])
        assert close(compiled(other, torch.tensor([[6]]), again["cache"]), forward(model, torch.tensor([[6]]), theirs))
