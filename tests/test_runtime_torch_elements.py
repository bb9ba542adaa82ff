"""Waiting for tensors of PyTorch, their elements, and files of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import clika_pytree as crt
from clika_pytree.runtimes import runtime_named
from clika_pytree.runtimes.protocol import Host

torch = pytest.importorskip("torch", reason="`make test-torch` installs PyTorch and runs this")

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16", "complex64"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
]


@pytest.fixture
def runtime():
    return runtime_named("test", "torch")


class State(NamedTuple):
    count: object
    mean: object


def bytes_of(x):
    return x.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes() if x.numel() else b""


# --- waiting ----------------------------------------------------------------------------------------------------------


def test_each_device_is_waited_for_once(runtime, monkeypatch):
    from clika_pytree.runtimes.torch import host

    waited = []
    monkeypatch.setattr(host, "synchronize", waited.append)
    x = torch.ones(3)
    assert crt.eval({"x": x, "rest": [x + 1, None, "text", np.ones(2)]}, State(x, torch.zeros(0))) is None
    assert waited == []

    class Elsewhere:
        def __init__(self, name):
            self.device = torch.device(name)

    monkeypatch.setattr(host.functorch, "is_functorch_wrapped_tensor", lambda x: False)
    runtime.wait([Elsewhere("cuda:0"), x, Elsewhere("cuda:1"), Elsewhere("cuda:0")])
    assert waited == [torch.device("cuda:0"), torch.device("cuda:1")]


def test_waiting_inside_a_transformation_is_refused():
    with pytest.raises(crt.RecordingError, match="tracing or transforming"):
        torch.vmap(lambda x: crt.eval({"x": x}) or x)(torch.ones(2))
    compiled = crt.compile(lambda x: crt.eval(x))
    with pytest.raises(crt.RecordingError, match="was called inside"):
        compiled(torch.ones(2))


# --- elements ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 2)])
def test_elements_there_and_back(runtime, dtype, shape):
    x = torch.ones(shape).to(getattr(torch, dtype))
    host = runtime.to_host(x)
    assert len(bytes(host.buffer)) == x.nbytes
    assert (host.dtype, tuple(host.shape)) == runtime.stored_as(x)
    again = runtime.from_host(host, "cpu")
    assert (again.dtype, again.shape) == (x.dtype, x.shape)
    assert bytes_of(again) == bytes_of(x)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.T,
        lambda x: x[:, ::2],
        lambda x: x[0].expand(3, 4),
        lambda x: x.requires_grad_(),
        lambda x: torch.complex(x, x).conj(),
        lambda x: torch.complex(x, x).conj().imag,
    ],
    ids=["transposed", "strided", "broadcast", "gradient", "conjugate", "negative"],
)
def test_the_elements_are_the_values_however_they_lie(runtime, change):
    x = change(torch.arange(12.0).reshape(3, 4))
    again = runtime.from_host(runtime.to_host(x), "cpu")
    assert torch.equal(again, x.detach())


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
def test_what_has_no_elements_is_refused(runtime):
    cases = {
        "complex128": torch.ones(2, dtype=torch.complex128),
        "device meta": torch.ones(2, device="meta"),
        "sparse_coo": torch.ones(2, 2).to_sparse(),
        "quantized": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
    }
    for words, tensor in cases.items():
        with pytest.raises(crt.PyTreeTypeError, match=words):
            runtime.to_host(tensor)
    with pytest.raises(crt.PyTreeTypeError, match="tracing or transforming"):
        torch.vmap(runtime.to_host)(torch.ones(2))
    for device in ("cuda:99", "nonsense"):
        with pytest.raises(crt.PyTreeValueError, match=f"no device '{device}'"):
            runtime.from_host(Host("F32", (1,), bytes(4)), device)
    with pytest.raises(crt.PyTreeValueError, match="no dtype for F6_E2M3"):
        runtime.from_host(Host("F6_E2M3", (4,), bytes(3)), "cpu")


def test_the_same_memory(runtime):
    x = torch.arange(4.0)
    assert runtime.same_memory(x) == runtime.same_memory(x.view(4)) == runtime.same_memory(torch.nn.Parameter(x))
    for other in (x.clone(), x[1:], x.view(2, 2), x.view(torch.int32)):
        assert runtime.same_memory(x) != runtime.same_memory(other)
    for nothing in (torch.ones(0), torch.ones(2, device="meta"), torch.ones(2, 2).to_sparse()):
        assert runtime.same_memory(nothing) is None


def test_facts(runtime):
    assert str(runtime.describe(torch.ones(2, 3, dtype=torch.bfloat16))) == "bfloat16[2, 3]"
    assert str(runtime.describe(torch.ones(2, device="meta"))) == "float32[2] on meta"


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_tree_of_tensors_is_saved_and_loaded(tmp_path):
    tree = {
        "params": {"w": torch.arange(6.0).reshape(2, 3).T, "half": torch.ones(2, dtype=torch.bfloat16), "none": None},
        "state": State(torch.tensor(3), [torch.zeros(0, 2), np.ones(2, np.float32)]),
    }
    path = tmp_path / "tree.safetensors"
    crt.save(tree, path)
    loaded = crt.load(path, like=tree)
    assert crt.tree_structure(loaded) == crt.tree_structure(tree)
    for one, other in zip(crt.tree_leaves(loaded), crt.tree_leaves(tree), strict=True):
        if isinstance(other, torch.Tensor):
            assert type(one) is torch.Tensor
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            assert bytes_of(one) == bytes_of(other)
    plain = crt.load(path, runtime="torch")
    assert isinstance(plain["state"].mean[1], torch.Tensor)
    plain["params"]["half"].zero_()  # a private mapping
    assert float(crt.load(path, like=tree)["params"]["half"][0]) == 1


def test_tensors_that_share_memory_are_tied_in_a_file(tmp_path):
    w = torch.arange(4.0)
    crt.save({"in": {"w": w}, "out": {"w": w.view(4)}, "part": {"w": w[1:]}}, tmp_path / "tied.safetensors")
    loaded = crt.load(tmp_path / "tied.safetensors", runtime="torch")
    assert loaded["in"]["w"] is loaded["out"]["w"]
    assert torch.equal(loaded["part"]["w"], w[1:])


def test_the_state_of_a_module_is_read_by_others(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    path = tmp_path / "model.safetensors"
    crt.save(model.state_dict(), path)
    read = safetensors.load_file(path)
    assert [*read] == [*model.state_dict()]
    again = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    again.load_state_dict(crt.load(path, runtime="torch"))
    assert torch.equal(again[0].weight, model[0].weight)
