"""The guard table: pairs of calls that an engine may take for one, and what a compiled function makes of them.

Each row is asked of each runtime; a runtime comes in by a small class in `RUNTIMES`. Nothing here uses more of a tensor
than its operators, `sum` and `shape`, which all of them have.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

import clika_pytree as cp

Call = tuple[Any, ...]


class Numpy:
    """How the table is asked of numpy; another runtime's class differs from it in some of these."""

    name = "numpy"
    # Rows in which this runtime makes another number of graphs, being unable to carry a size along.
    graphs: ClassVar[dict[str, int]] = {}
    # Rows that take it long.
    slow: ClassVar[tuple[str, ...]] = ()
    batch_sizes: ClassVar[tuple[int, ...]] = (2, 4, 1, 7, 0, 2)

    def tensor(self, *values: float, rows: int | None = None) -> Any:
        """The values as a tensor of one axis, or that many rows of them."""
        array = np.array(values, np.float32)
        return array if rows is None else np.tile(array, (rows, 1))

    def same(self, a: Any, b: Any) -> bool:
        """Whether two tensors are of one dtype and shape, and have the same bits."""
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, np.ndarray | np.generic)

    def settings(self) -> contextlib.AbstractContextManager[Any]:
        """The block in which a row is asked."""
        return contextlib.nullcontext()


class Jax(Numpy):
    """JAX can't carry along a size that decides a branch: it is one graph per size."""

    name = "jax"
    graphs: ClassVar[dict[str, int]] = {"a_size_that_decides": 5}

    def tensor(self, *values: float, rows: int | None = None) -> Any:
        return importlib.import_module("jax.numpy").asarray(super().tensor(*values, rows=rows))

    def same(self, a: Any, b: Any) -> bool:
        """The values but for rounding: XLA may compute in another order."""
        if type(a) is not type(b) or (a.dtype, a.weak_type, a.shape) != (b.dtype, b.weak_type, b.shape):
            return False
        return np.allclose(np.asarray(a), np.asarray(b), rtol=1e-5, atol=1e-6, equal_nan=True)

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, importlib.import_module("jax").Array)


class Torch(Numpy):
    """PyTorch can't carry along a size that decides a branch, either."""

    name = "torch"
    graphs: ClassVar[dict[str, int]] = {"a_size_that_decides": 5}

    def tensor(self, *values: float, rows: int | None = None) -> Any:
        return importlib.import_module("torch").from_numpy(super().tensor(*values, rows=rows))

    def same(self, a: Any, b: Any) -> bool:
        """The values but for rounding: what is generated may compute in another order."""
        if type(a) is not type(b) or (a.dtype, a.shape, a.requires_grad) != (b.dtype, b.shape, b.requires_grad):
            return False
        one, other = (x.detach().resolve_conj().to(self.wide(x)) for x in (a, b))
        return bool(one.isclose(other, rtol=1e-5, atol=1e-6, equal_nan=True).all())

    def wide(self, x: Any) -> Any:
        torch = importlib.import_module("torch")
        return torch.complex128 if x.is_complex() else torch.float64

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, importlib.import_module("torch").Tensor)

    def settings(self) -> contextlib.AbstractContextManager[Any]:
        """Without generated code, which would take a second for each graph."""
        return importlib.import_module("torch_settings").backend()


class Mlx(Numpy):
    """MLX traces again for each size within one graph, so a size that decides takes no other."""

    name = "mlx"
    # A sum over no rows does not always end in MLX 0.32.
    batch_sizes: ClassVar[tuple[int, ...]] = (2, 4, 1, 7, 2)
    graphs: ClassVar[dict[str, int]] = {"a_size_that_decides": 1}
    # MLX has a compiler of C++ make code for each value.
    slow: ClassVar[tuple[str, ...]] = ("more_values_than_graphs",)

    def tensor(self, *values: float, rows: int | None = None) -> Any:
        return importlib.import_module("mlx.core").array(super().tensor(*values, rows=rows))

    def same(self, a: Any, b: Any) -> bool:
        """The values but for rounding: a compiled function may join operations."""
        if type(a) is not type(b) or a.dtype != b.dtype or a.shape != b.shape:
            return False
        return np.allclose(a.tolist(), b.tolist(), rtol=1e-5, atol=1e-6, equal_nan=True)

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, importlib.import_module("mlx.core").array)


RUNTIMES: dict[str, Any] = {runtime.name: runtime for runtime in [Numpy(), Jax(), Torch(), Mlx()]}
# Those whose library is not here are left out by the tests, which say so.
NEEDS = {"jax": "jax", "torch": "torch", "mlx": "mlx.core"}


@dataclasses.dataclass
class Case:
    """A function, calls of it one after the other, and how many graphs they need.

    `calls` may do something between two calls. Where the function is `frozen`, all results are those of the first call;
    else each is that of the function as it is. `refused` is in place of a result where a call is an error: the class,
    and what its message has.
    """

    function: Callable[..., Any]
    calls: Iterable[Call]
    graphs: int
    dynamic: bool = False
    frozen: bool = False
    refused: tuple[type[Exception], str] | None = None
    warned: str | None = None
    max_graphs: int = 64


ROWS: dict[str, Callable[[Any], Case]] = {}


def row(make: Callable[[Any], Case]) -> Callable[[Any], Case]:
    ROWS[make.__name__] = make
    return make


def check(runtime: Any, name: str) -> None:
    """Make the calls of a row, and hold results, graphs, warnings and refusals against what is right."""
    case = ROWS[name](runtime)
    compiled = cp.compile(case.function, dynamic=case.dynamic, max_graphs=case.max_graphs)
    first = None
    with runtime.settings(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in case.calls:
            if case.refused is not None:
                refuse(compiled, call, *case.refused)
                continue
            result = compiled(*call)
            first = result if first is None else first
            wanted = first if case.frozen else case.function(*call)
            assert equal(runtime, result, wanted), f"{name}: {call} gave {result}, not {wanted}"
    graphs = runtime.graphs.get(name, case.graphs)
    info = compiled.cache_info()
    assert info.currsize == min(graphs, case.max_graphs), compiled.graphs()
    assert case.refused is not None or info.misses == graphs, info
    assert [warning.category for warning in caught] == [cp.RecompileWarning] * (graphs > 7), caught
    assert case.warned is None or case.warned in str(caught[0].message)


def refuse(compiled: Any, call: Call, error: type[Exception], words: str) -> None:
    try:
        compiled(*call)
    except error as caught:
        assert words in str(caught), caught
    else:
        raise AssertionError(f"{call} is not refused")


def equal(runtime: Any, a: Any, b: Any) -> bool:
    """The same structure, tensors with the same bits, and equal values elsewhere."""
    first, structure = cp.tree_flatten(a)
    second, other = cp.tree_flatten(b)
    return structure == other and all(
        runtime.same(x, y) if runtime.is_tensor(x) else type(x) is type(y) and (x == y or x != x)
        for x, y in zip(first, second, strict=True)
    )


# --- structure --------------------------------------------------------------------------------------------------------


@row
def where_a_list_ends(rt: Any) -> Case:
    """`f([a], b)` and `f([a, b])`"""
    a, b = rt.tensor(1, 2), rt.tensor(3, 4)

    def function(items: list, *others: Any) -> Any:
        return sum(items) - sum(others)

    return Case(function, [([a], b), ([a, b],), ([a], b)], graphs=2)


@row
def where_an_inner_list_ends(rt: Any) -> Case:
    """`[[a, b], c]` and `[[a], b, c]`"""
    a, b, c = rt.tensor(1), rt.tensor(2), rt.tensor(3)

    def function(tree: list) -> Any:
        return sum(tree[0]) * 10 + tree[-1]

    return Case(function, [([[a, b], c],), ([[a], b, c],)], graphs=2)


@row
def list_or_tuple(rt: Any) -> Case:
    """`[a]` and `(a,)`"""
    a = rt.tensor(1, 2)

    def function(items: Any) -> Any:
        return items[0] + 1 if isinstance(items, list) else items[0] - 1

    return Case(function, [([a],), ((a,),), ([a],)], graphs=2)


@row
def order_of_a_dict(rt: Any) -> Case:
    """`{"a", "b"}` and `{"b", "a"}`, where the function looks at the order"""
    a, b = rt.tensor(1), rt.tensor(2)

    def function(tree: dict) -> Any:
        first, second = tree.values()
        return first * 10 + second, list(tree)

    return Case(function, [({"a": a, "b": b},), ({"b": b, "a": a},)], graphs=2)


@row
def keys_of_a_dict(rt: Any) -> Case:
    """-1 and -2 have one hash; 1, True and 1.0 are one key of a dict"""
    a = rt.tensor(1, 2)

    def function(tree: dict) -> Any:
        (key,) = tree
        return tree[key] * (3 if isinstance(key, bool) else key), repr(key)

    return Case(function, [({key: a},) for key in (-1, -2, 1, True, 1.0)], graphs=5)


@row
def none_or_a_tensor(rt: Any) -> Case:
    """None, then a tensor, in the same place"""
    a = rt.tensor(1, 2)

    def function(x: Any, bias: Any) -> Any:
        return x * 2 if bias is None else x * 2 + bias

    return Case(function, [(a, None), (a, rt.tensor(5, 5)), (a, None)], graphs=2)


# --- values -----------------------------------------------------------------------------------------------------------


@row
def one_true_or_float(rt: Any) -> Case:
    """`True`, `1` and `1.0`"""
    a = rt.tensor(1, 2)

    def function(x: Any, k: Any) -> Any:
        return x + {bool: 10, int: 20, float: 30}[type(k)]

    return Case(function, [(a, True), (a, 1), (a, 1.0), (a, True)], graphs=3)


@row
def sign_of_zero(rt: Any) -> Case:
    """`0.0` and `-0.0`"""
    a = rt.tensor(1, 2)

    def function(x: Any, k: float) -> Any:
        return x * math.copysign(1.0, k)

    return Case(function, [(a, 0.0), (a, -0.0), (a, 0.0)], graphs=2)


@row
def not_a_number(rt: Any) -> Case:
    """NaN twice, the same object or another one"""
    a, nan = rt.tensor(1, 2), float("nan")

    def function(x: Any, k: float) -> Any:
        return x * 2 if k != k else x

    return Case(function, [(a, nan), (a, nan), (a, float("nan"))], graphs=1)


@row
def a_list_of_strings(rt: Any) -> Case:
    """Lists are structure, so one that cannot be hashed is no trouble"""
    a = rt.tensor(1, 2)

    def function(x: Any, names: list) -> Any:
        return {name: x * len(name) for name in names}

    return Case(function, [(a, ["w"]), (a, ["w", "bias"]), (a, ["b", "w"]), (a, ["w"])], graphs=3)


@row
def a_set(rt: Any) -> Case:
    """What cannot be hashed, and is no structure"""
    a = rt.tensor(1, 2)
    calls = [(a, {"names": {"w"}})] * 2
    return Case(lambda x, cfg: x, calls, graphs=0, refused=(cp.GuardError, "cfg['names']"))


# --- sizes ------------------------------------------------------------------------------------------------------------


def batches(rt: Any) -> Iterator[Call]:
    for rows in rt.batch_sizes:
        yield (rt.tensor(1, 2, 3, rows=rows),)


def share(x: Any) -> Any:
    """A sum in which the number of rows is a number to compute with; 0 rows have 1."""
    return x.sum(0) / (x.shape[0] + 1)


@row
def batch_sizes(rt: Any) -> Case:
    """Batches of 2, 4, 1, 7 and 0 with `x.sum(0) / (x.shape[0] + 1)`, dynamic"""
    return Case(share, batches(rt), graphs=1, dynamic=True)


@row
def batch_sizes_that_are_fixed(rt: Any) -> Case:
    """The same with fixed sizes"""
    return Case(share, batches(rt), graphs=len({*rt.batch_sizes}))


@row
def a_size_that_decides(rt: Any) -> Case:
    """A branch on the number of rows, dynamic"""

    def function(x: Any) -> Any:
        return x * 2 if x.shape[0] > 3 else x - 1

    return Case(function, batches(rt), graphs=2, dynamic=True)


@row
def dtype_of_an_input(rt: Any) -> Case:
    """float32 and a comparison of it, whose dtype is bool"""
    a = rt.tensor(1, 2)
    return Case(lambda x: x * 3, [(a,), (a > 1,), (a,)], graphs=2, dynamic=True)


# --- what is around a function, and how many graphs there are ---------------------------------------------------------


@row
def a_captured_value_that_changes(rt: Any) -> Case:
    """5, then 6, captured by the function: frozen, as the documentation says"""
    a, captured = rt.tensor(1, 2), {"k": 5}

    def calls() -> Iterator[Call]:
        yield (a,)
        captured["k"] = 6
        yield (a,)

    return Case(lambda x: x * captured["k"], calls(), graphs=1, frozen=True)


class Settings:
    """No node, no tensors, and no equality of its own."""

    def __init__(self, scale: float) -> None:
        self.scale = scale


@row
def an_attribute_that_changes(rt: Any) -> Case:
    """An argument whose attribute is set between two calls is another value"""
    a, settings = rt.tensor(1, 2), Settings(2.0)

    def calls() -> Iterator[Call]:
        for scale in (2.0, 3.0, 2.0):
            settings.scale = scale
            yield a, settings

    return Case(lambda x, settings: x * settings.scale, calls(), graphs=2)


@row
def more_values_than_graphs(rt: Any) -> Case:
    """100 values where 64 graphs are kept: one warning, which names what changes"""
    a = rt.tensor(1, 2)
    return Case(lambda x, scale: x * scale, [(a, k) for k in range(100)], graphs=100, warned="scale")


@row
def the_graph_used_last_is_kept(rt: Any) -> Case:
    """Of three values in turn where two graphs are kept, the one used longest ago is made again"""
    a = rt.tensor(1, 2)
    calls = [(a, k) for k in (1, 2, 1, 3, 1, 2)]
    return Case(lambda x, scale: x * scale, calls, graphs=4, max_graphs=2)
