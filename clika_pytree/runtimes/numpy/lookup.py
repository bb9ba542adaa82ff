"""The functions that an operation can be, by name: what a graph in a file may call."""

from __future__ import annotations

import operator
import sys

import numpy as np

from clika_pytree.typing import TYPE_CHECKING

from .array import ATTRIBUTES, BINARY, FRESH, SHARING, WRITING, MethodCall
from .functions import FILES
from .namespace import MAKERS
from .sizes import COMPARISONS, UNARY

if TYPE_CHECKING:
    from typing import Any

__all__: list[str] = []

UFUNC_METHODS = {"accumulate", "at", "outer", "reduce", "reduceat"}
# Functions that read files or take functions.
LEFT_OUT = {
    *("apply_along_axis", "apply_over_axes", "fromfile", "fromfunction", "fromregex", "genfromtxt", "loadtxt"),
    *("piecewise", *FILES),
}
TWO = {sign: name for name, sign in (BINARY | COMPARISONS).items()}
ONE = {sign: name for name, sign in UNARY.items()}


def found(kind: str, name: str, count: int) -> Any:
    """What an operation of a kind calls with so many arguments, None where there is no such."""
    if kind == "operator":
        known = {1: ONE, 2: TWO}.get(count, {}).get(name)
        return None if known is None else getattr(operator, f"__{known}__")
    if kind == "in place":
        sign = name.removeprefix("x ").removesuffix("= y")
        known = TWO.get(sign) if name == f"x {sign}= y" else None
        return getattr(operator, f"__i{known}__", None)
    if kind in ("item", "store"):
        return operator.getitem if kind == "item" else operator.setitem
    if kind == "attribute":
        return operator.attrgetter(name) if name in ATTRIBUTES else None
    if kind == "method":
        return MethodCall(name) if name in FRESH | SHARING | WRITING else None
    if kind == "ufunc":
        return ufunc(name)
    if kind == "ufunc method":
        owner, _, method = name.rpartition(".")
        return getattr(ufunc(owner), method, None) if method in UFUNC_METHODS else None
    return divmod if name == "divmod" else array_function(name) if kind == "function" else None


def ufunc(name: str) -> Any:
    module, _, last = name.rpartition(".")
    if module == "scipy.special":
        from importlib import import_module

        held: Any = sys.modules.get(module) or import_module(module)
    else:
        held = np if module == "np" else None
    value = member(held, last)
    return value if isinstance(value, np.ufunc) else None


def member(module: Any, name: str) -> Any:
    return None if module is None else module.__dict__.get(name)


def array_function(name: str) -> Any:
    parts = name.split(".")
    last = parts[-1]
    if parts[0] != "np" or last in LEFT_OUT or len(parts) > 3:
        return None
    held: Any = np
    if len(parts) == 3:
        held = {"fft": np.fft, "linalg": np.linalg}.get(parts[1])
    value = member(held, last)
    return value if hasattr(value, "_implementation") or (held is np and last in MAKERS) else None


def path_of(op: Any) -> str | None:
    """The name under which `found` gives what an operation calls, None where it is not among them."""
    for name in (op.name, f"scipy.special.{op.name.removeprefix('np.')}"):
        if name.startswith("scipy") and op.kind not in ("ufunc", "ufunc method"):
            continue
        if name.startswith("scipy") and "scipy.special" not in sys.modules:
            continue
        value = found(op.kind, name, len(op.args))
        if value is op.call or (op.kind in ("attribute", "method", "ufunc method") and value is not None):
            owner = getattr(value, "__self__", None)
            if op.kind != "ufunc method" or owner is op.call.__self__:
                return str(name)
    return None
