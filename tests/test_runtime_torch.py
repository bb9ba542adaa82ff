"""Functions of trees compiled by PyTorch."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
from pathlib import Path

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


# --- what goes in and comes out ---------------------------------------------------------------------------------------


def test_the_first_call_and_later_ones_give_what_the_function_gives():
    with backend("inductor"):
        compiled = crt.compile(layer)
        for x in (torch.ones(2, 3), torch.zeros(2, 3)):
            assert same(compiled(PARAMS, x), layer(PARAMS, x))
        assert compiled.cache_info()[:2] == (1, 1)
        assert "tanh" in compiled.graphs()[0].program.text()


def test_the_program_is_the_operations_of_the_function():
    compiled = crt.compile(layer)
    compiled(PARAMS, torch.ones(2, 3))
    (row,) = compiled.graphs()
    assert row.nodes == 4
    assert row.program.text() == (
        "v0 = sum(x, 0)\nv1 = matmul(x, params['w'])\nv2 = add(v1, params['b'])\nv3 = tanh(v2)"
    )


def test_numpy_arrays_and_scalars_beside_tensors_are_inputs():
    seen = []

    @crt.compile
    def scaled(params, batch, factor):
        seen.append(type(batch["x"]))
        return batch["x"] @ params["w"] * factor

    for factor in (1, 2):
        batch = {"x": np.full((2, 3), factor, np.float32)}
        result = scaled(PARAMS, batch, np.float32(factor))
        assert isinstance(result, torch.Tensor)
        assert torch.allclose(result, factor**2 * torch.ones(2, 3) @ PARAMS["w"])
    assert scaled.cache_info()[:2] == (1, 1)
    assert all(issubclass(cls, torch.Tensor) for cls in seen)


def test_arrays_that_pytorch_does_not_take_as_they_are():
    compiled = crt.compile(lambda x, array: x + array)
    plain = np.arange(4, dtype=np.float32)
    locked = plain.copy()
    locked.flags.writeable = False
    for array in (plain[::-1], locked, plain.astype(">f4")):
        np.testing.assert_array_equal(compiled(torch.zeros(4), array), array)


def test_only_numpy_arrays_are_computed_by_pytorch_where_it_is_asked_for():
    compiled = crt.compile(lambda x: torch.sin(x), runtime="torch")
    assert isinstance(compiled(np.ones(3, np.float32)), torch.Tensor)


def test_an_input_comes_back_as_itself_and_one_result_in_two_places_as_one():
    @crt.compile
    def function(x, host):
        y = x + 1
        return {"x": x, "host": host, "twice": [y, y], "text": "t", "none": None}

    x, host = torch.ones(3), np.ones(2)
    for _ in range(2):
        result = function(x, host)
        assert result["x"] is x
        assert result["host"] is host
        assert result["twice"][0] is result["twice"][1]
        assert (result["text"], result["none"]) == ("t", None)


def test_a_result_that_is_a_view_of_an_input_shares_its_memory():
    compiled = crt.compile(lambda x: (x[1:], x.view(2, 2), x * 2))
    x = torch.ones(4)
    for _ in range(2):
        rest, square, _ = compiled(x)
        x[1] = 7
        assert rest[0] == 7
        assert square[0, 1] == 7


def test_an_input_that_is_written_into_is_changed():
    @crt.compile
    def step(x, total):
        total.add_(x)
        return total * 2

    total = torch.zeros(2)
    for count in (1, 2, 3):
        assert same(step(torch.ones(2), total), torch.full((2,), 2.0 * count))
    assert same(total, torch.full((2,), 3.0))


def test_one_tensor_in_two_places():
    @crt.compile
    def function(a, b):
        a.add_(1)
        return a + b

    for _ in range(2):
        one, other = torch.zeros(2), torch.zeros(2)
        assert same(function(one, other), torch.ones(2))
        assert same(function(one, one), torch.full((2,), 4.0))
    assert function.cache_info().currsize == 1


def test_what_was_there_before_comes_back_as_it_is():
    table, tensor = np.arange(3), torch.arange(3)
    compiled = crt.compile(lambda x: [x * 2, table, tensor, np.float32(2)])
    first, second = compiled(torch.ones(2)), compiled(torch.ones(2))
    assert first[2] is tensor
    assert type(first[3]) is np.float32
    first[1][0] = 7  # an array of numpy is the caller's own
    np.testing.assert_array_equal(second[1], [0, 1, 2])
    np.testing.assert_array_equal(table, [0, 1, 2])


def test_captured_tensors_are_read_when_it_is_called():
    w = torch.ones(2, requires_grad=True)
    compiled = crt.compile(lambda x: x * w + PARAMS["b"][:2])
    assert same(compiled(torch.ones(2)).detach(), torch.full((2,), 2.0))
    with torch.no_grad():
        w.mul_(3)
    result = compiled(torch.ones(2))
    assert same(result.detach(), torch.full((2,), 4.0))
    result.sum().backward()
    assert same(w.grad, torch.ones(2))
    assert compiled.cache_info().currsize == 1


@crt.register_dataclass
@dataclasses.dataclass(frozen=True)
class Validated:
    """A class that refuses what is no tensor."""

    x: object
    tag: str = dataclasses.field(default="t", metadata={"static": True})

    def __post_init__(self):
        assert isinstance(self.x, torch.Tensor), f"{self.x} is no tensor"


def test_pytorch_never_sees_a_class_of_the_users():
    compiled = crt.compile(lambda node: Validated(node.x * 2, node.tag))
    for tag in ("t", "u", "t"):
        result = compiled(Validated(torch.ones(2), tag))
        assert (result.tag, float(result.x[0])) == (tag, 2.0)
    assert compiled.cache_info().currsize == 2


def test_functions_of_this_library_work_in_what_is_compiled():
    compiled = crt.compile(lambda tree: crt.tree_map(lambda leaf: leaf * 2, tree))
    tree = {"a": [torch.ones(2), (torch.zeros(1),)]}
    for _ in range(2):
        assert same(compiled(tree), crt.tree_map(lambda leaf: leaf * 2, tree))


def test_subclasses_of_tensors_are_inputs():
    compiled = crt.compile(lambda p, x: p * x)
    for value in (1.0, 2.0):
        parameter = torch.nn.Parameter(torch.full((2,), value))
        assert same(compiled(parameter, torch.ones(2)).detach(), parameter.detach())
    assert compiled.cache_info()[:2] == (1, 1)


def test_random_numbers_are_drawn_at_each_call():
    compiled = crt.compile(lambda x: torch.rand_like(x) + torch.rand(3))
    assert not torch.equal(compiled(torch.ones(3)), compiled(torch.ones(3)))


# --- what is guarded, and by whom -------------------------------------------------------------------------------------


def test_dtypes_and_sizes_are_graphs_that_explain_and_on_miss_know_of():
    compiled = crt.compile(layer)
    compiled(PARAMS, torch.ones(2, 3))
    assert str(compiled.explain(PARAMS, torch.ones(5, 3)).changes[0]) == "x: was float32[2, 3], now float32[5, 3]"
    compiled.on_miss = "error"
    with pytest.raises(crt.MissError, match=r"x: was float32\[2, 3\], now float32\[5, 3\]"):
        compiled(PARAMS, torch.ones(5, 3))


def test_the_graphs_of_a_function_are_bounded():
    compiled = crt.compile(lambda x: x + 1, max_graphs=2)
    for size in (1, 2, 3):
        compiled(torch.ones(size))
    assert compiled.cache_info().currsize == 2


def test_more_graphs_of_one_function_than_pytorch_keeps_for_its_code():
    def factory(scale):
        return crt.compile(lambda x: x * scale)

    most = torch._dynamo.config.recompile_limit
    for scale in range(most + 2):
        compiled = factory(scale)
        assert same(compiled(torch.ones(2)), torch.full((2,), float(scale)))


def test_strides_gradients_and_modes_are_guarded_within_one_graph():
    compiled = crt.compile(lambda x, w: (x @ w).contiguous())
    x, w = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)
    flipped = torch.arange(12.0).reshape(4, 3).T
    for _ in range(2):
        assert same(compiled(x, w), x @ w)
        assert same(compiled(x, flipped), x @ flipped)
        with torch.no_grad():
            assert same(compiled(x, w), x @ w)
        with torch.inference_mode():
            assert compiled(x, w).is_inference()
        with torch.autocast("cpu", torch.bfloat16):
            assert compiled(x, w).dtype == torch.bfloat16
        assert compiled(x, w.clone().requires_grad_()).requires_grad
    assert compiled.cache_info().currsize == 1


def test_an_input_that_is_a_result_only_sometimes():
    compiled = crt.compile(lambda x: [x.contiguous(), x.contiguous() + 1])
    straight = torch.arange(6.0).reshape(2, 3)
    crossed = torch.arange(6.0).reshape(3, 2).T
    for _ in range(2):
        assert compiled(straight)[0] is straight
        result = compiled(crossed)
        assert result[0] is not crossed
        assert result[0].is_contiguous()
        assert same(result, [crossed.contiguous(), crossed + 1])


def test_an_object_that_holds_tensors_is_refused():
    class State:
        def __init__(self):
            self.w = torch.ones(2)

    with pytest.raises(crt.UnregisteredNodeError) as caught:
        crt.compile(lambda p: p["s"].w)({"s": State()})
    assert caught.value.path == "p['s']"


def test_tensors_of_two_libraries_are_refused():
    jnp = pytest.importorskip("jax.numpy")
    with pytest.raises(crt.GuardError, match="x is of torch and y of jax"):
        crt.compile(lambda x, y: x)(torch.ones(2), jnp.ones(2))


# --- what a trace does not have ---------------------------------------------------------------------------------------


def branch(p, x):
    if x["v"].max() > 1:
        return x["v"]
    return p


@pytest.mark.parametrize(
    ("function", "path"),
    [
        (branch, "x['v']"),
        (lambda p, x: x["v"] if bool(p) else x["v"] + 1, "p"),
        (lambda p, x: x["v"] + np.asarray(p), "p"),
        (lambda p, x: range(p)[0] + x["v"], "p"),
    ],
    ids=["max", "bool", "array", "index"],
)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_value_that_is_needed_is_an_error_with_key_path_and_line(function, path, dynamic):
    compiled = crt.compile(function, dynamic=dynamic)
    with pytest.raises(crt.RecordingError) as caught:
        compiled(torch.tensor(1), {"v": torch.ones(3)})
    assert caught.value.path == path
    assert f"needs the value of {path} while PyTorch traces it" in str(caught.value)
    assert __file__ in str(caught.value)
    assert compiled.cache_info().currsize == 0


def test_other_errors_are_left_as_they_are():
    for call in (lambda x: x @ torch.ones(5), lambda x: {}[3], lambda x: x.no_such()):
        with pytest.raises(Exception, match=r"\S") as wanted:
            call(torch.ones(2, 2))
        with pytest.raises(type(wanted.value)) as found:
            crt.compile(call)(torch.ones(2, 2))
        assert found.traceback[-1].path == Path(__file__) or "torch" in str(found.traceback[-1].path)
    with pytest.raises(KeyError, match="3"):
        crt.compile(lambda x: {}[3])(torch.ones(2))


# --- threads, imports -------------------------------------------------------------------------------------------------


def test_threads_with_one_new_call_make_one_graph():
    compiled = crt.compile(lambda x: x * 2)
    x, results = torch.ones(4), []
    threads = [threading.Thread(target=lambda: results.append(compiled(x))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiled.cache_info().currsize == 1
    assert len(results) == 6
    assert all(same(result, x * 2) for result in results)


def test_nothing_is_imported_before_a_tensor_turns_up():
    code = (
        "import sys, clika_pytree as crt, numpy as np\n"
        "crt.compile(lambda x: x + 1)(np.ones(2)); crt.eval({'a': np.ones(2)})\n"
        "assert not any(name.partition('.')[0] == 'torch' for name in sys.modules)\n"
        "assert 'clika_pytree.runtimes.torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
