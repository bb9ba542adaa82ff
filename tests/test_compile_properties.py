"""Random calls of compiled functions: the results are those of the function, and a graph is made for each key.

The key is worked out here from the rules, by the reference engine: structure, values by type and bits, and of each
tensor that the function computes with its dtype, axes and sizes.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import same
from reference import Mode, value_key
from strategies import leaves as odd_leaves
from strategies import namespaces, nodes, numbers

import clika_pytree as cp

DTYPES = ["f4", "f8", "i4", "?", ">f4"]
SHAPES = [(), (1,), (2,), (3,), (0,), (2, 3), (3, 2), (1, 3), (4, 1)]


def array(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    return np.array(np.random.default_rng(seed).standard_normal(shape) * 4).astype(dtype)


arrays = st.builds(array, st.sampled_from(DTYPES), st.sampled_from(SHAPES), st.integers(0, 3))
tensors = st.one_of(arrays, arrays, arrays, st.builds(np.float32, st.sampled_from([1.5, -2.0])))
leaves = st.one_of(tensors, tensors, tensors, numbers, numbers, odd_leaves)
trees = st.recursive(leaves, nodes, max_leaves=8)


def is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray | np.generic)


# --- functions, and what of a tensor belongs to their key -------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Work:
    """What a function does with one tensor, and what of this tensor and its place it takes for granted."""

    step: Callable[[Any, int], Any]
    uses: Callable[[int], bool] = lambda place: True
    decides: Callable[[Any], Any] = lambda tensor: None

    def facts(self, tensor: Any, place: int, dynamic: bool) -> Any:
        if not self.uses(place):
            return type(tensor), "handed on"
        sizes = (tensor.ndim, self.decides(tensor)) if dynamic else tensor.shape
        return type(tensor), tensor.dtype, sizes


WORK = {
    "all": Work(lambda x, place: x * 2 + place),
    "none": Work(lambda x, place: x, lambda place: False),
    "every second": Work(lambda x, place: x if place % 2 else np.sin(x), lambda place: place % 2 == 0),
    "sizes": Work(lambda x, place: x.sum(0) / (x.shape[0] + 1) if x.ndim else x + 1),
    "size that decides": Work(
        lambda x, place: (x * 5 if x.shape[0] > 2 else x + 1) if x.ndim else x * 3,
        decides=lambda x: x.ndim and x.shape[0] > 2,
    ),
    "axes": Work(lambda x, place: x.T.reshape(-1) * x.ndim),
}


def function_of(work: Work, namespace: Any) -> Callable[..., Any]:
    def function(tree: Any, second: Any = None, *rest: Any, flag: Any = False, **more: Any) -> Any:
        with cp.dict_insertion_ordered(True):
            found, spec = cp.tree_flatten([tree, second, rest, flag, more], namespace=namespace)
        done = [work.step(leaf, place) if is_tensor(leaf) else leaf for place, leaf in enumerate(found)]
        return {"tree": spec.unflatten(done), "flag": flag}

    return function


# --- calls ------------------------------------------------------------------------------------------------------------

Call = tuple[list, dict]


@st.composite
def calls(draw: Any) -> Call:
    """A call, whose parameters are given in one of the ways there are."""
    tree = draw(trees)
    kwargs = draw(st.dictionaries(st.sampled_from(["flag", "b", "a"]), st.one_of(leaves, trees), max_size=2))
    how = draw(st.sampled_from(["alone", "alone", "by name", "second", "second by name", "rest"]))
    if how == "by name":
        return [], {**kwargs, "tree": tree}
    if how == "second by name":
        return [tree], {"second": draw(leaves), **kwargs}
    args = [tree, *([draw(leaves)] if how != "alone" else []), *(draw(st.lists(leaves)) if how == "rest" else [])]
    return args, kwargs


@st.composite
def calls_after(draw: Any, before: Call, namespace: Any) -> Call:
    """Another call: one of its own, or the one before with new tensors, given in another way, or with one new leaf."""
    if draw(st.integers(0, 4)) == 0:
        return draw(calls())
    found, spec = cp.tree_flatten(before, namespace=namespace)
    found = [leaf.copy() if is_tensor(leaf) else leaf for leaf in found]
    if found and draw(st.integers(0, 2)):
        place = draw(st.integers(0, len(found) - 1))
        found[place] = draw(st.one_of(resized(found[place]), leaves))
    args, kwargs = spec.unflatten(found)
    if args and draw(st.booleans()) and len(args) == 1:
        args, kwargs = [], {"tree": args[0], **kwargs}
    if draw(st.booleans()):
        kwargs = {"flag": False, **kwargs}
    return args, kwargs


def resized(leaf: Any) -> st.SearchStrategy:
    """A tensor of the same dtype and number of axes."""
    if not is_tensor(leaf):
        return leaves
    shapes = [shape for shape in SHAPES if len(shape) == leaf.ndim]
    return st.builds(array, st.just(leaf.dtype.str), st.sampled_from(shapes), st.integers(0, 3))


class Refused(Exception):
    """The reference's word for a call that can have no guard."""


def static_key(leaf: Any, namespace: Any) -> Any:
    """The key of a leaf that is no tensor."""
    if any(
        is_tensor(inner) for inner in cp.tree_leaves(list(getattr(leaf, "__dict__", {}).values()), namespace=namespace)
    ):
        raise Refused  # a class that is a node in another namespace
    if not has_hash(leaf):
        raise Refused
    return value_key(leaf)


def has_hash(value: Any, within: bool = False) -> bool:
    """Whether a value can be held against another one: a dataclass by its fields, and what containers in these hold."""
    cls = type(value)
    if dataclasses.is_dataclass(cls):
        return all(has_hash(getattr(value, field.name), True) for field in dataclasses.fields(cls) if field.compare)
    if cls in (tuple, frozenset) or reference.is_namedtuple_class(cls) or (within and cls in (list, set)):
        return all(has_hash(item, within) for item in value)
    if cls is slice:
        return all(has_hash(part, within) for part in (value.start, value.stop, value.step))
    if within and cls is dict:
        return all(has_hash(item, within) for item in value.values())
    try:
        hash(value)
    except TypeError:
        return False
    return True


def key_of(function: Any, call: Call, work: Work, namespace: Any, dynamic: bool) -> Any:
    """What two calls have in common if and only if one graph does for both."""
    bound = inspect.signature(function).bind(*call[0], **call[1])
    bound.apply_defaults()
    found, spec = reference.flatten(tuple(bound.arguments.values()), Mode(namespace=namespace))
    parts = [
        work.facts(leaf, place, dynamic) if is_tensor(leaf) else static_key(leaf, namespace)
        for place, leaf in enumerate(found)
    ]
    return reference.structure_key(spec), tuple(parts)


def check(data: st.DataObject, most_calls: int) -> None:
    work = WORK[data.draw(st.sampled_from(list(WORK)))]
    namespace, dynamic = data.draw(namespaces), data.draw(st.booleans())
    most = data.draw(st.sampled_from([64, 64, 1, 2]))
    function = function_of(work, namespace)
    compiled = cp.compile(function, dynamic=dynamic, namespace=namespace, max_graphs=most)
    kept: dict[Any, None] = {}  # the keys that have a graph, that used last at the end
    call = data.draw(calls())
    for _ in range(data.draw(st.integers(2, most_calls))):
        args, kwargs = call
        before = compiled.cache_info()
        try:
            key = key_of(function, call, work, namespace, dynamic)
        except Refused:
            for refusing in (compiled.explain, compiled):
                with pytest.raises(cp.GuardError):
                    refusing(*args, **kwargs)
        else:
            found = key in kept
            assert compiled.explain(*args, **kwargs).needs_graph == (not found)
            assert compiled.cache_info() == before, "asking why changes nothing"
            result, wanted = compiled(*args, **kwargs), function(*args, **kwargs)
            assert alike(result, wanted, namespace), (result, wanted)
            info = compiled.cache_info()
            assert (info.hits, info.misses) == (before.hits + found, before.misses + (not found)), compiled.graphs()
            kept.pop(key, None)
            kept[key] = None
            if len(kept) > most:
                del kept[next(iter(kept))]
        assert compiled.cache_info().currsize == len(compiled.graphs()) == len(kept), compiled.graphs()
        call = data.draw(calls_after(call, namespace))


def alike(a: Any, b: Any, namespace: Any) -> bool:
    """The same structure, the same bits in tensors, and what a structure counts as equal elsewhere."""
    (one, spec), (two, other) = (cp.tree_flatten(tree, namespace=namespace) for tree in (a, b))
    return spec == other and all(
        same(x, y) if is_tensor(y) else value_key(x) == value_key(y) for x, y in zip(one, two, strict=True)
    )


@settings(deadline=None)
@given(st.data())
def test_a_graph_for_each_key_and_the_results_of_the_function(data):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        check(data, 4)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@settings(deadline=None, max_examples=2_000)
@given(st.data())
def test_many_more_calls(data):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", cp.RecompileWarning)
        check(data, 12)
