"""Models of PyTorch: compiled, waited for, saved and loaded."""

from __future__ import annotations

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


def test_a_transformers_model_with_its_cache(tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.LlamaConfig(
        hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, vocab_size=32
    )
    model = transformers.LlamaForCausalLM(config).eval()
    tokens = torch.tensor([[1, 2, 3]])

    def forward(model, tokens, past):
        cache = transformers.DynamicCache.from_legacy_cache(past) if past else transformers.DynamicCache()
        out = model(input_ids=tokens, past_key_values=cache, use_cache=True)
        return out.logits, [(layer.keys, layer.values) for layer in cache.layers]

    with backend(), torch.no_grad():
        compiled = crt.compile(forward)
        logits, cache = compiled(model, tokens, None)
        wanted, other = forward(model, tokens, None)
        assert torch.allclose(logits, wanted, atol=1e-5)
        crt.save({"cache": cache}, tmp_path / "cache.safetensors")
        again = crt.load(tmp_path / "cache.safetensors", runtime="torch")["cache"]
        assert all(torch.allclose(a, b) for a, b in zip(crt.tree_leaves(again), crt.tree_leaves(other), strict=True))
