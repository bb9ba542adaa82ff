"""What the boundaries raise and warn of, beside the errors of the native module."""

from __future__ import annotations

from clika_pytree._native import PyTreeValueError

__all__ = ["MissError", "RecompileWarning"]


class MissError(PyTreeValueError):
    """A call that would need a new graph, of a function compiled with `on_miss="error"`."""

    __module__ = "clika_pytree"


class OtherResults(PyTreeValueError):
    """A runtime has traced a function once more, and its result was another one."""

    # What the native call of a compiled function looks for.
    _has_other_results = True


class RecompileWarning(UserWarning):
    """A compiled function makes graph after graph; the message names what keeps changing."""

    __module__ = "clika_pytree"
