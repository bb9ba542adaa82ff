"""`eval`: every tensor of some trees holds its elements when it returns."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from lazy_runtime import LazyRuntime, LazyTensor, OtherRuntime, OtherTensor, tensor

import clika_pytree as crt
from clika_pytree.runtimes import register_runtime, unregister_runtime


@pytest.fixture
def lazy() -> Iterator[LazyRuntime]:
    runtime = register_runtime(LazyRuntime())
    yield runtime
    unregister_runtime("lazy")


@crt.register_dataclass
@dataclasses.dataclass
class State:
    w: Any
    step: int = 0


def test_numpy_is_there_at_once() -> None:
    x = np.arange(3.0)
    assert crt.eval() is None
    assert crt.eval({"a": x, "b": [np.float32(1), None, "text"]}, x, 3, object()) is None


def test_every_tensor_is_computed_wherever_it_stands(lazy: LazyRuntime) -> None:
    x = tensor(1, 2)
    tree = {"a": x + 1, "b": [None, "text", (x * 2,)], "state": State({"deep": x + 3})}
    other = x * 5
    assert crt.eval(tree, other, np.ones(2)) is None
    found = [leaf for leaf in crt.tree_leaves([tree, other]) if isinstance(leaf, LazyTensor)]
    assert len(found) == 4
    assert all(leaf.computed for leaf in found)
    assert lazy.waits == [4]


def test_a_tensor_in_several_places_is_waited_for_once(lazy: LazyRuntime) -> None:
    x = tensor(1) + 1
    crt.eval(x, [x, {"x": x}], [x])
    assert lazy.waits == [1]


def test_an_object_that_is_a_leaf_is_not_looked_into(lazy: LazyRuntime) -> None:
    class Opaque:
        x = tensor(1) + 1

    crt.eval([Opaque(), {1}])
    assert lazy.waits == []


def bad() -> LazyTensor:
    return (tensor(1, -1)).log()


def test_a_computation_that_failed_is_named(lazy: LazyRuntime) -> None:
    good = tensor(1) + 1
    with pytest.raises(ValueError, match="math domain error") as caught:
        crt.eval([good], {"layers": [{"w": good}, {"w": bad()}]})
    assert caught.value.__notes__ == ["clika_pytree: eval() waited for trees[1]['layers'][1]['w']"]
    with pytest.raises(ValueError, match="math domain error") as caught:
        crt.eval(bad())
    assert caught.value.__notes__ == ["clika_pytree: eval() waited for trees[0]"]


def test_all_are_waited_for_before_a_failure_is_raised(lazy: LazyRuntime) -> None:
    tensors = [tensor(1) + 1, bad(), tensor(2) + 1, bad(), tensor(3) + 1]
    with pytest.raises(ValueError, match="math domain error") as caught:
        crt.eval(tensors)
    assert caught.value.__notes__ == ["clika_pytree: eval() waited for trees[0][1] (and 1 more)"]
    assert [item.computed for item in tensors] == [True, False, True, False, True]


def test_any_mixture_of_runtimes(lazy: LazyRuntime) -> None:
    other = register_runtime(OtherRuntime())
    try:
        mine, theirs = tensor(1) + 1, OtherTensor(None, 1, lambda a: a / 0, tensor(1))
        last = OtherTensor(None, 1, lambda a: a, tensor(1))
        with pytest.raises(ZeroDivisionError) as caught:
            crt.eval({"a": theirs, "b": mine, "c": np.ones(1), "d": last, "e": bad()})
        assert caught.value.__notes__ == ["clika_pytree: eval() waited for trees[0]['a'] (and 1 more)"]
        assert mine.computed
        assert last.computed
        assert (lazy.waits, other.waits) == ([2], [2, 1])
    finally:
        unregister_runtime("other")


def test_inside_a_trace_it_is_an_error_that_names_the_line(lazy: LazyRuntime) -> None:
    @crt.compile
    def step(x: Any) -> Any:
        crt.eval(x)
        return x

    for x in (np.ones(2), tensor(1)):
        with pytest.raises(crt.RecordingError) as caught:
            step(x)
        assert re.search(r"eval\(\) at .*test_eval\.py:\d+ was called inside step\(\)", str(caught.value))
    with pytest.raises(crt.RecordingError, match=r"inside traced\(\)"):
        crt.trace(traced, [tensor(1)])
    crt.eval(tensor(1))  # and outside it works again


def traced(xs: list[Any]) -> list[Any]:
    crt.eval(xs)
    return xs


def test_a_namespace(lazy: LazyRuntime) -> None:
    class Box:
        def __init__(self, x: Any) -> None:
            self.x = x

    crt.register_pytree_node(Box, lambda b: ((b.x,), None), lambda c, _: Box(*c), namespace="eval-test")
    box = Box(tensor(1) + 1)
    crt.eval(box)
    assert not box.x.computed
    crt.eval(box, namespace="eval-test")
    assert box.x.computed
    crt.unregister_pytree_node(Box, namespace="eval-test")


def test_odd_trees_are_errors_of_the_walk(lazy: LazyRuntime) -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(crt.CircularTreeError):
        crt.eval(1, loop)
