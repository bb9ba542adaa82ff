"""What numpy hands over: ufuncs (NEP 13) and array functions (NEP 18)."""

from __future__ import annotations

import operator
import sys

import numpy as np

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

from .array import Recorded, has_tensor
from .refusals import needs_value, refusal
from .sizes import Size
from .tape import real

if TYPE_CHECKING:
    from typing import Any

    from .tape import Tape

__all__: list[str] = []

# The argument that is written into, as place and keyword.
WRITING = {
    np.copyto: (0, "dst"),
    np.fill_diagonal: (0, "a"),
    np.place: (0, "arr"),
    np.put: (0, "a"),
    np.put_along_axis: (0, "arr"),
    np.putmask: (0, "a"),
}
# dtype and ndim are guards, so what follows from them is a constant.
FACTS = {"can_cast", "common_type", "iscomplexobj", "isrealobj", "min_scalar_type", "ndim", "result_type"}
FILES = {"save", "savetxt", "savez", "savez_compressed"}
FRESH = {
    *("amax", "amin", "max", "min", "sum", "prod", "mean", "std", "var", "all", "any", "cumsum", "cumprod", "where"),
    *("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack", "zeros_like", "ones_like", "empty_like"),
    *("full_like", "dot", "inner", "outer", "tensordot", "kron", "copy", "argmax", "argmin", "argsort", "sort", "take"),
    *("clip", "tril", "triu", "roll", "tile", "repeat", "pad", "take_along_axis", "nonzero"),
    *(
        "argwhere",
        "flatnonzero",
        "bincount",
        "histogram",
        "interp",
        "cross",
        "zeros",
        "ones",
        "full",
        "empty",
        "arange",
    ),
    *("searchsorted", "nansum", "nanmean", "nanmax", "nanmin", "median", "percentile", "quantile", "eye", "linspace"),
}
# Functions whose results have as many items as the values say.
COUNTED = {
    *("argwhere", "bincount", "compress", "delete", "extract", "flatnonzero", "intersect1d", "nonzero", "setdiff1d"),
    *("setxor1d", "trim_zeros", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
    *("apply_along_axis", "apply_over_axes", "histogram", "histogram_bin_edges", "ix_", "lstsq"),
    *("polydiv", "polyfit", "polymul", "roots"),
}
# Functions whose results have the dtype that the values ask for.
LOOSE = {"eig", "eigvals", "poly", "real_if_close", "roots"}
# Functions that take sizes or places as an array.
BY_ARRAY = {
    "array_split",
    "dsplit",
    "hsplit",
    "insert",
    "arange",
    "pad",
    "repeat",
    "reshape",
    "resize",
    "split",
    "tile",
    "vsplit",
    "broadcast_to",
}
# Functions whose number of results or of axes depends on sizes.
SHAPED = {"cross", "histogramdd", "squeeze", "unstack"}
# Functions that give as many results as they are told to.
SPLITS = {"array_split", "dsplit", "hsplit", "split", "vsplit"}


def call_ufunc(tape: Tape, ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a call of a ufunc or of one of its methods."""
    if any(map(has_its_own, (*inputs, *kwargs.get("out", ())))):
        return NotImplemented
    out = kwargs.get("out", ())
    writes = [target for target in out if target is not None]
    if method == "at":
        writes = [inputs[0]]
    name = f"np.{ufunc.__name__}" if method == "__call__" else f"np.{ufunc.__name__}.{method}"
    if len(out) == 1:
        kwargs = {**kwargs, "out": out[0]}
    call = ufunc if method == "__call__" else getattr(ufunc, method)
    given = bool(out) and all(target is not None for target in out)
    kind = "ufunc" if method == "__call__" else "ufunc method"
    result = tape.add(
        kind, name, call, inputs, kwargs, writes=writes, fresh=not writes, optional=method == "at" or given
    )
    if given:
        return out[0] if len(out) == 1 else out
    if not writes or method == "at":
        return result
    return tuple(item if given is None else given for given, item in zip(out, result, strict=True))


def has_its_own(value: Any) -> bool:
    """Whether an operand is of a library of arrays that does what ufuncs do in its own way."""
    cls = class_of(value)
    return not issubclass(cls, (Recorded, Size, np.ndarray, np.generic)) and hasattr(cls, "__array_ufunc__")


def counted(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sizes as the numbers that they are, which the graph is then for."""
    return tuple([operator.index(arg) if type(arg) is Size else arg for arg in args])


def call_function(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a call of an array function."""
    name = function.__name__
    tensors: list[Any] = [value for value in (*args, *kwargs.values()) if type(value) is Recorded]
    if name in FACTS:
        for tensor in tensors:
            tape.use(tensor.traced_node)
            if tensor.traced_node.loose or (name == "min_scalar_type" and not tensor.ndim):
                raise needs_value(f"np.{name}()")
        return function(*real(args), **real(kwargs))
    if name in ("shape", "size") and is_numpys(function):
        return sizes(function, *args, **kwargs)
    if name in FILES:
        raise refusal(
            f"np.{name}() writes a file at the first call only", "return the tensors and write them afterwards"
        )
    if function in SHARED_MEMORY:
        raise needs_value(f"np.{name}()")
    if name in SPLITS and is_numpys(function):
        args, kwargs = counted(args), dict(zip(kwargs, counted(tuple(kwargs.values())), strict=True))
    if name in SHAPED and (
        name != "squeeze" or not ((len(args) > 1 and args[1] is not None) or kwargs.get("axis") is not None)
    ):
        for tensor in tensors:
            tensor.force_sizes()
    writes = [] if kwargs.get("out") is None else [*_as_tuple(kwargs["out"])]
    if function in WRITING:
        place, keyword = WRITING[function]
        writes.append(args[place] if len(args) > place else kwargs[keyword])
    elif name == "nan_to_num" and not (args[1] if len(args) > 1 else kwargs.get("copy", True)):
        writes.append(args[0] if args else kwargs["x"])
    check_positional_out(function, args)
    varies = (
        name in COUNTED
        or (name == "where" and len(args) == 1)
        or (name in BY_ARRAY and has_tensor(args if name == "arange" else args[1:], kwargs))
        or not is_numpys(function)
    )
    if not is_numpys(function):
        writes = tensors
    linalg = function.__module__ == "numpy.linalg" and name not in ("diagonal", "matrix_power", "matrix_transpose")
    fresh = not writes and is_numpys(function) and (name in FRESH or linalg)
    result = tape.add(
        "function",
        function_text(function),
        function,
        args,
        kwargs,
        writes=writes,
        fresh=fresh,
        varies=varies,
        loose=name in LOOSE or function.__module__ == "numpy.lib.scimath" or not is_numpys(function),
        optional=function in WRITING,
    )
    return kwargs["out"] if type(kwargs.get("out")) is Recorded else result


SHARED_MEMORY = (np.may_share_memory, np.shares_memory)


def check_positional_out(function: Any, args: tuple[Any, ...]) -> None:
    """An `out` among the positional arguments is refused: its place differs from function to function."""
    place = OUT_PLACES.get(function.__name__)
    if place is not None and len(args) > place and args[place] is not None:
        raise refusal(f"np.{function.__name__}() got its `out` by position", "give it by its name, out=")


OUT_PLACES = {
    "sum": 3,
    "prod": 3,
    "mean": 3,
    "std": 3,
    "var": 3,
    "max": 2,
    "min": 2,
    "amax": 2,
    "amin": 2,
    "all": 2,
    "any": 2,
    "cumsum": 3,
    "cumprod": 3,
    "dot": 2,
    "take": 3,
    "clip": 3,
    "round": 2,
    "around": 2,
    "concatenate": 2,
    "stack": 2,
    "argmax": 2,
    "argmin": 2,
    "trace": 5,
    "outer": 2,
    "compress": 3,
    "choose": 2,
    "median": 2,
    "nansum": 3,
    "nanmean": 3,
    "nanmax": 2,
    "nanmin": 2,
    "nanprod": 3,
    "percentile": 3,
    "quantile": 3,
    "nanmedian": 2,
    "fix": 1,
}


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if class_of(value) is tuple else (value,)


def sizes(function: Any, a: Any, axis: Any = None) -> Any:
    """np.shape and np.size, symbolic."""
    if class_of(a) is not Recorded:
        return function(real(a)) if axis is None else function(real(a), axis)
    if function.__name__ == "shape":
        return a.shape
    return a.size if axis is None else a.shape[axis]


def is_numpys(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy"


def function_text(function: Any) -> str:
    """`np.linalg.norm`, where that is the function; else its bare name."""
    module, name = getattr(function, "__module__", "") or "", function.__name__
    if is_numpys(function) and getattr(sys.modules.get(module), name, None) is function:
        return f"np{module[5:]}.{name}"
    return str(name)
