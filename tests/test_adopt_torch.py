"""Classes that PyTorch has: its own, those of transformers and of tensordict."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from typing import Any

import pytest

import clika_pytree as cp
from clika_pytree import pytree

WITHOUT_TORCH = "torch is not installed: `make test-torch` installs it and runs this"


def test_return_types_and_sizes_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason=WITHOUT_TORCH)
    found = torch.ones(2, 3).max(0)
    assert len(cp.tree_leaves(torch.Size([2, 3]))) == 1
    with pytree.adopt("torch"):
        leaves, spec = cp.tree_flatten([found, torch.Size([2, 3])])
        assert [type(leaf) for leaf in leaves] == [torch.Tensor, torch.Tensor, int, int]
        rebuilt = spec.unflatten([1, 2, 3, 4])
        assert type(rebuilt[0]) is torch.return_types.max
        assert tuple(rebuilt[0]) == (1, 2)


def test_dataclasses_and_constants_of_pytorch() -> None:
    pytest.importorskip("torch", reason=WITHOUT_TORCH)
    torch_pytree: Any = import_module("torch.utils._pytree")

    @dataclasses.dataclass
    class Layer:
        weight: Any
        bias: Any = None

    @dataclasses.dataclass(frozen=True)
    class Config:
        heads: int

    torch_pytree.register_dataclass(Layer, serialized_type_name="tests.adopt.Layer")
    torch_pytree.register_constant(Config)
    with pytree.adopt("torch"):
        tree = [Layer(1), Layer(2, 3), Config(4)]
        leaves, spec = cp.tree_flatten(tree)
        assert leaves == [1, 2, 3]
        assert [cp.keystr(path) for path in spec.key_paths()] == ["[0].weight", "[1].weight", "[1].bias"]
        assert spec.unflatten(leaves) == tree
        assert cp.treespec_to_torch(spec) == torch_pytree.tree_structure(tree)
        assert cp.tree_leaves(cp.treespec_from_torch(torch_pytree.tree_structure(tree)).unflatten(leaves)) == leaves
        spec = cp.tree_structure(Layer(1))
        assert cp.treespec_loads(cp.treespec_dumps(spec)) == spec


def test_outputs_of_transformers() -> None:
    torch = pytest.importorskip("torch", reason=WITHOUT_TORCH)
    pytest.importorskip("transformers", reason="transformers is not installed: `pip install transformers`")
    outputs: Any = import_module("transformers.modeling_outputs")
    torch_pytree: Any = import_module("torch.utils._pytree")
    output = outputs.BaseModelOutput(last_hidden_state=torch.ones(2), hidden_states=(torch.zeros(1), torch.ones(1)))
    with pytree.adopt("torch"):
        leaves, spec = cp.tree_flatten(output)
        theirs, structure = torch_pytree.tree_flatten(output)
        assert all(x is y for x, y in zip(leaves, theirs, strict=True))
        assert [cp.keystr(path) for path in spec.key_paths()] == [
            "['last_hidden_state']",
            "['hidden_states'][0]",
            "['hidden_states'][1]",
        ]
        rebuilt = spec.unflatten([1, 2, 3])
        assert type(rebuilt) is outputs.BaseModelOutput
        assert rebuilt["hidden_states"] == (2, 3)
        assert cp.treespec_to_torch(spec) == structure


def test_a_cache_of_transformers() -> None:
    """It is registered by a function of theirs, after PyTorch was adopted."""
    torch = pytest.importorskip("torch", reason=WITHOUT_TORCH)
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    cache = transformers.DynamicCache()
    cache.update(torch.ones(1, 2, 3, 4), torch.zeros(1, 2, 3, 4), 0)
    with pytree.adopt("torch"):
        executorch: Any = import_module("transformers.integrations.executorch")
        executorch.register_dynamic_cache_export_support()
        leaves, spec = cp.tree_flatten([cache])
        assert [cp.keystr(path) for path in spec.key_paths()] == ["[0]['key_cache'][0]", "[0]['value_cache'][0]"]
        (rebuilt,) = spec.unflatten(leaves)
        assert type(rebuilt) is transformers.DynamicCache
        assert rebuilt.get_seq_length() == 3


def test_tensordicts() -> None:
    torch = pytest.importorskip("torch", reason=WITHOUT_TORCH)
    tensordict = pytest.importorskip("tensordict", reason="tensordict is not installed: `pip install tensordict`")
    tree = tensordict.TensorDict({"a": torch.ones(3, 2), "b": {"c": torch.zeros(3)}}, batch_size=[3])
    with pytree.adopt("torch"):
        leaves, spec = cp.tree_flatten(tree)
        assert [leaf.shape for leaf in leaves] == [(3, 2), (3,)]
        doubled = cp.tree_map(lambda leaf: leaf * 2, tree)
        assert type(doubled) is type(tree)
        assert doubled["b", "c"].shape == (3,)
        assert doubled.batch_size == tree.batch_size
        assert spec.num_leaves == 2


def test_functions_of_adopted_classes_compile() -> None:
    torch = pytest.importorskip("torch", reason=WITHOUT_TORCH)
    tensordict = pytest.importorskip("tensordict", reason="tensordict is not installed: `pip install tensordict`")
    from torch_settings import backend

    tree = tensordict.TensorDict({"a": torch.ones(3, 2), "b": {"c": torch.zeros(3)}}, batch_size=[3])
    with backend(), pytree.adopt("torch"):
        step = cp.compile(lambda tree: {"tree": tree.apply(lambda leaf: leaf + 1), "best": tree["a"].max(1)})
        for _ in range(2):
            result = step(tree.clone())
            assert type(result["tree"]) is type(tree)
            assert result["tree"]["b", "c"].tolist() == [1.0, 1.0, 1.0]
            assert type(result["best"]) is torch.return_types.max
        assert step.cache_info()[:2] == (1, 1)
