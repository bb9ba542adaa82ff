"""Running a function of numpy arrays three ways: as it is, recorded, and as a graph; and what must be equal then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clika_pytree.runtimes.numpy import Graph, record


def same(a: Any, b: Any) -> bool:
    """The same class, dtype, shape, memory layout and bits."""
    if isinstance(a, np.ndarray | np.generic):
        facts = (type(a), a.dtype, a.shape, laid_out(a)) == (type(b), b.dtype, b.shape, laid_out(b))
        return facts and (a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes())
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def laid_out(array: Any) -> Any:
    """The strides of the axes along which there is a step to take."""
    if array.size == 0:
        return None
    return [stride for stride, size in zip(array.strides, array.shape, strict=True) if size > 1]


def copies(arrays: Sequence[Any]) -> list[Any]:
    """Equal arrays of the same layout, negative strides and gaps too."""
    made = []
    for array in arrays:
        if not isinstance(array, np.ndarray):
            made.append(array)
            continue
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        copy = np.array(base, order="K", copy=True)
        assert copy.strides == base.strides
        offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        made.append(copy if base is array else np.ndarray(array.shape, array.dtype, copy, offset, array.strides))
    return made


def check(function: Callable[..., Any], *calls: Sequence[Any]) -> Graph:
    """Record the first call, run all of them: results and what is left in the arguments equal those of plain numpy.

    The graph for sizes of every kind comes back; the one for the first call's sizes is run for the calls it is for.
    """
    graph = check_graph(function, calls, dynamic=True)
    check_graph(function, calls, dynamic=False)
    return graph


def check_graph(function: Callable[..., Any], calls: Sequence[Sequence[Any]], *, dynamic: bool) -> Graph:
    arguments = copies(calls[0])
    results, graph = record(lambda arrays: list(function(*arrays)), arguments, dynamic=dynamic)
    wanted = copies(calls[0])
    assert same(results, list(function(*wanted)))
    assert same(arguments, wanted)
    for call in calls:
        given, wanted = copies(call), copies(call)
        if not (dynamic or graph.guards.hold(given)):
            assert [a.shape for a in given] != [a.shape for a in arguments]
            continue
        assert graph.guards.hold(given), graph.guards
        expected = list(function(*wanted))
        found = graph.run(given)
        assert same(found, expected), (found, expected, graph.text())
        assert same(given, wanted), graph.text()
        for result, eager in zip(found, expected, strict=True):  # an argument comes back as itself
            assert [result is array for array in given] == [eager is array for array in wanted]
    return graph
