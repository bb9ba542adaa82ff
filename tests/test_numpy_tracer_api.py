"""Every function of numpy that hands arrays over, and every method: recorded, it computes what numpy computes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from recorded import same

from clika_pytree.runtimes.numpy import RecordingError, record

ARRAY = np.array([[2.0, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 4]])
OTHER = np.array([[2.0, 1], [1, 3]])
CALLS: list[Callable[[Any, Any], Any]] = [
    lambda f, x: f(x),
    lambda f, x: f(x, x),
    lambda f, x: f(x, 1),
    lambda f, x: f(x, 2),
    lambda f, x: f(x, x, x),
    lambda f, x: f(x[0]),
    lambda f, x: f(x[0], x[1]),
    lambda f, x: f(x, 0, 1),
    lambda f, x: f(x > 1, x),
    lambda f, x: f(x, (3, 3)),
    lambda f, x: f("ij->ji", x),
    lambda f, x: f(x, [0, 1], 1),
    lambda f, x: f(x, x > 1, 3.0),
    lambda f, x: f(x.astype("i8"), x.astype("i8")),
    lambda f, x: f([x, x]),
]
LEFT_OUT = {"save", "savez", "savez_compressed", "savetxt", "tofile", "dump"}  # files
LEFT_OUT |= {"empty_like", "is_busday"}  # no numbers to compare, none to give
REFUSED = {
    *("numpy.allclose", "numpy.array2string", "numpy.array_equal", "numpy.array_equiv", "numpy.array_repr"),
    *("numpy.array_str", "numpy.einsum_path", "numpy.may_share_memory", "numpy.shares_memory", "ndarray.dumps"),
    *("ndarray.item", "ndarray.resize", "ndarray.setflags", "ndarray.tobytes", "ndarray.tolist"),
}


def functions() -> Iterator[tuple[str, Any]]:
    for module in (np, np.linalg, np.fft):
        for name, found in list(vars(module).items()):
            if name not in LEFT_OUT and (hasattr(found, "_implementation") or isinstance(found, np.ufunc)):
                yield f"{module.__name__}.{name}", found
    for name in dir(np.ndarray):
        if name not in LEFT_OUT and not name.startswith("_") and callable(getattr(np.ndarray, name)):
            yield f"ndarray.{name}", lambda x, *args, name=name: getattr(x, name)(*args)


def plain(result: Any) -> Any:
    """Tuples of every class as tuples."""
    return tuple(map(plain, result)) if isinstance(result, tuple) else result


def verdict(function: Any, call: Any) -> str | None:
    """How a call fares: None where numpy itself refuses it."""
    wanted_array = ARRAY.copy()
    try:
        wanted = plain(call(function, wanted_array))
    except Exception:
        return None
    array, other = ARRAY.copy(), ARRAY.copy()
    try:
        first, graph = record(lambda arrays: [plain(call(function, arrays[0])), arrays[0]], [array])
    except RecordingError as error:
        assert f"at {__file__}:" in str(error)
        return "refused"
    found = graph.run([other])
    right = all(same(a, b) for a, b in ((first[0], wanted), (found[0], wanted), (array, wanted_array), (other, array)))
    if right and graph.guards.hold([OTHER]):
        try:
            wanted = plain(call(function, OTHER.copy()))
        except Exception:
            return "equal"
        right = same(graph.run([OTHER.copy()])[0], wanted)
    return "equal" if right else "differs"


def test_every_function_is_recorded_or_refused():
    equal, refused = set(), set()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in functions():
            verdicts = [verdict(function, call) for call in CALLS]
            assert "differs" not in verdicts, (name, verdicts)
            if "equal" in verdicts:
                equal.add(name)
            elif "refused" in verdicts:
                refused.add(name)
    assert len(equal) > 350
    assert refused == REFUSED
