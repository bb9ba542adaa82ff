"""Compiled functions beside the functions themselves, on numpy: results, graphs, and what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from recorded import same

import clika_pytree as cp


def vector(*values: float) -> Any:
    return np.array(values or (1.0, 2.0, 3.0))


def alike(a: Any, b: Any) -> bool:
    """The same structure, and leaves with the same bits and memory layout."""
    (leaves, structure), (others, other) = cp.tree_flatten(a), cp.tree_flatten(b)
    return structure == other and all(map(same, leaves, others))


def counts(compiled: Any) -> tuple[int, int]:
    """The hits and misses of a compiled function."""
    info = compiled.cache_info()
    return info.hits, info.misses


def equal(a: Any, b: Any) -> bool:
    """Two trees without a difference; what differs is what the failure shows."""
    differences = cp.tree_diff(a, b, leaves=True)
    assert not differences, differences
    return True


def graphs(compiled: Any) -> int:
    """How many there are; none was thrown away."""
    info = compiled.cache_info()
    assert info.currsize == info.misses
    return info.currsize


def agree(function: Any, *calls: tuple, number: int, **options: Any) -> Any:
    """Calls of the compiled function give what the function gives, and make that many graphs."""
    compiled = cp.compile(function, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in calls:
            result, wanted = compiled(*call), function(*call)
            assert alike(result, wanted), (call, result, wanted)
    assert graphs(compiled) == number, compiled.graphs()
    assert [warning.category for warning in caught] == [cp.RecompileWarning] * (number > 7), caught
    return compiled


def refused(function: Any, *args: Any, error: type[Exception], path: str | None = None, **kwargs: Any) -> str:
    """The message of the first call, which the second one repeats; no graph is made."""
    compiled = cp.compile(function)
    texts = set()
    for _ in range(2):
        with pytest.raises(error) as caught:
            compiled(*args, **kwargs)
        assert isinstance(caught.value, TypeError)
        assert isinstance(caught.value, cp.PyTreeError)
        assert path is None or caught.value.path == path
        texts.add(str(caught.value))
    assert compiled.cache_info().currsize == 0
    (text,) = texts
    return text
