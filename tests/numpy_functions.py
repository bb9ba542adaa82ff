"""Every function of numpy that hands arrays over (NEP 13, NEP 18), and every method: computed by a graph, or refused.

`python tests/numpy_functions.py` prints both lists, and for those that are refused what the error says.
"""

from __future__ import annotations

import inspect
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from recorded import same

from clika_pytree.runtimes.numpy import RecordingError, record

ARRAY = np.array([[2.0, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 4]])
# Other numbers, on which what depends on values differs: how many items a result has, and which dtype.
OTHERS = [
    np.array([[2.0, 1], [1, 3]]),
    np.array([[0, 1, 0.5], [1, 0, 0.2], [0.5, 0.2, 0]]),
    np.array([[0, -1, 0.5], [1, 0, -7], [0, 0.2, 0]]),
    np.zeros((3, 3)),
]
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
TEXTS: list[Callable[[Any, Any], Any]] = [
    lambda f, x: f(x.astype("U4")),
    lambda f, x: f(x.astype("U4"), x.astype("U4")),
    lambda f, x: f(x.astype("U4"), 9),
    lambda f, x: f(x.astype("U4"), "."),
    lambda f, x: f(x.astype("U4"), ".", "12"),
    lambda f, x: f(x.astype("S4")),
    lambda f, x: f("%s", x.astype("U4")),
    lambda f, x: f(".", x.astype("U4")),
]


def days(x: Any) -> Any:
    return x.astype("i8").astype("M8[D]")


SPECIAL: dict[str, Callable[[Any, Any], Any]] = {
    "numpy.apply_along_axis": lambda f, x: f(np.sort, 0, x),
    "numpy.apply_over_axes": lambda f, x: f(np.sum, x, [0]),
    "numpy.astype": lambda f, x: f(x, "f4"),
    "numpy.bincount": lambda f, x: f(np.abs(x[0]).astype("i8")),
    "numpy.busday_count": lambda f, x: f(days(x), days(x) + 5),
    "numpy.busday_offset": lambda f, x: f(days(x), 1, roll="forward"),
    "numpy.can_cast": lambda f, x: f(x, "f4"),
    "numpy.datetime_as_string": lambda f, x: f(days(x)),
    "numpy.dsplit": lambda f, x: f(x[None], 1),
    "numpy.histogram": lambda f, x: f(x, "auto"),
    "numpy.interp": lambda f, x: f(x, [0, 1, 2.0], [3, 4, 5.0]),
    "numpy.isnat": lambda f, x: f(days(x)),
    "numpy.linalg.tensorsolve": lambda f, x: f(x, x[0]),
    "numpy.packbits": lambda f, x: f(x > 1),
    "numpy.polyfit": lambda f, x: f(x[0], x[1], 1),
    "numpy.put_along_axis": lambda f, x: f(x, np.argsort(x, 0), 9.0, 0),
    "numpy.ravel_multi_index": lambda f, x: f((np.abs(x[0]).astype("i8"), np.abs(x[1]).astype("i8")), (9, 9)),
    "numpy.take_along_axis": lambda f, x: f(x, np.argsort(x, 1), 1),
    "numpy.unpackbits": lambda f, x: f(np.abs(x).astype("u1")),
    "numpy.unravel_index": lambda f, x: f(np.abs(x).astype("i8"), (9, 9)),
    "ndarray.astype": lambda f, x: f(x, "f4"),
    "ndarray.getfield": lambda f, x: f(x, "i4", 4),
    "ndarray.setfield": lambda f, x: f(x, 1.0, "f8"),
    "ndarray.to_device": lambda f, x: f(x, "cpu"),
}
LEFT_OUT = {"save", "savez", "savez_compressed", "savetxt", "tofile", "dump"}  # files
LEFT_OUT |= {"empty_like", "is_busday"}  # no numbers to compare, none to give
REFUSED = {
    *("numpy.allclose", "numpy.array2string", "numpy.array_equal", "numpy.array_equiv", "numpy.array_repr"),
    *("numpy.array_str", "numpy.einsum_path", "numpy.may_share_memory", "numpy.shares_memory", "ndarray.dumps"),
    *("ndarray.item", "ndarray.resize", "ndarray.setflags", "ndarray.tobytes", "ndarray.tolist"),
}
GONE = {"ndarray.itemset", "ndarray.tostring"}  # that numpy 1 had


def functions() -> Iterator[tuple[str, Any, list[Callable[[Any, Any], Any]]]]:
    """Their names, and the ways to call them."""
    texts = {id(module): name for name in ("char", "strings") if (module := getattr(np, name, None)) is not None}
    modules: dict[str, Any] = {"numpy": np} | {
        f"numpy.{name}": getattr(np, name)
        for name in ("linalg", "fft", "emath", "char", "strings")
        if hasattr(np, name)
    }
    seen: set[int] = set()
    for module, held in modules.items():
        for name, found in list(vars(held).items()):
            if name in LEFT_OUT or not (hasattr(found, "_implementation") or isinstance(found, np.ufunc)):
                continue
            if id(found) not in seen or module in ("numpy", "numpy.linalg"):
                seen.add(id(found))
                calls = [*CALLS, *TEXTS] if id(held) in texts else CALLS
                yield f"{module}.{name}", found, special(f"{module}.{name}", calls)
    for name in dir(np.ndarray):
        if name not in LEFT_OUT and not name.startswith("_") and callable(getattr(np.ndarray, name)):
            method = lambda x, *args, name=name: getattr(x, name)(*args)  # noqa: E731
            yield f"ndarray.{name}", method, special(f"ndarray.{name}", CALLS)


def special(name: str, calls: list[Callable[[Any, Any], Any]]) -> list[Callable[[Any, Any], Any]]:
    return [*calls, SPECIAL[name]] if name in SPECIAL else calls


def parts(result: Any) -> list[Any]:
    return [part for item in result for part in parts(item)] if isinstance(result, list | tuple) else [result]


def probed(result: Any) -> Iterator[Any]:
    """An array of numbers, and what is computed with its dtype and its sizes."""
    yield result
    if isinstance(result, np.ndarray) and result.ndim:
        yield from ((result + 1) * 2 - result, result / result.shape[0], result.shape)


def verdict(function: Any, call: Any) -> str | None:
    """How a call fares: None where numpy itself refuses it; the message where the recorder does."""

    def program(arrays: list[Any]) -> list[Any]:
        found = parts(call(function, arrays[0]))
        return [*(probe for part in found for probe in (probed(part) if numbers else [part])), arrays[0]]

    try:
        found = parts(call(function, ARRAY.copy()))
        numbers = all(part.dtype.kind in "iufc" for part in found if isinstance(part, np.ndarray))
        wanted = program([ARRAY.copy()])
    except Exception:
        return None
    for dynamic in (True, False):
        try:
            first, graph = record(program, [ARRAY.copy()], dynamic=dynamic)
        except RecordingError as error:
            assert f"at {__file__}:" in str(error)
            return str(error)
        if not same(first, wanted):
            return "differs"
        for other in (ARRAY, *OTHERS):
            if not graph.guards.hold([other]):
                continue
            try:
                expected = program([other.copy()])
            except Exception:
                continue
            if not same(graph.run([other.copy()]), expected):
                return "differs"
    return "equal"


def table() -> tuple[list[str], dict[str, str], list[str], list[str]]:
    """Those that a graph computes, those that are refused and why, those that differ, and those without a call."""
    equal, refused, differ, untried = [], {}, [], []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function, calls in functions():
            verdicts = [found for found in (verdict(function, call) for call in calls) if found is not None]
            messages = [found for found in verdicts if found not in ("equal", "differs")]
            if "differs" in verdicts:
                differ.append(name)
            elif "equal" in verdicts:
                equal.append(name)
            elif messages:
                refused[name] = messages[0]
            else:
                untried.append(name)
    return equal, refused, differ, untried


if __name__ == "__main__":
    equal, refused, differ, untried = table()
    print(f"numpy {np.__version__}: {len(equal)} functions and methods that a graph computes as numpy does")
    print(textwrap.fill(", ".join(equal), 118, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False))
    print(f"{len(refused)} that an error refuses")
    for name, message in refused.items():
        print(f"  {name}: {inspect.cleandoc(message.partition(', at ')[0])}")
    for what, names in (("differ", differ), ("could not be called here", untried)):
        print(f"{len(names)} that {what}" + (f": {', '.join(names)}" if names else ""))
