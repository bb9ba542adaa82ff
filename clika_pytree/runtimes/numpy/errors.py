"""What numpy does about floating-point errors: what a function says about it, and what is said outside of it.

The outside is that of each call. So that one can tell what the function says by itself, it is recorded in a state that
nobody uses, in which errors are logged; they are handled then as the state outside says.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from typing import Any

import numpy as np

from clika_pytree.runtimes.protocol import RecordingError

from .refusals import refusal

__all__: list[str] = []

UNSAID = "log"
errstate: Any = np.errstate
# The kinds of errors in the order in which numpy looks for them: how they are called, and their bits.
KINDS = {
    "divide": ("divide by zero", 1),
    "over": ("overflow", 2),
    "under": ("underflow", 4),
    "invalid": ("invalid value", 8),
}
PREFIX = "Warning: "


class Outside:
    """The state around a block of code, and what it does about an error that was logged."""

    def __init__(self) -> None:
        self.state: Any = np.geterr()
        self.call: Any = np.geterrcall()

    def handle(self, message: str, stacklevel: int, bits: int = 0) -> None:
        """Do what numpy does; `bits` are all errors of the operation, which a function that is called is told."""
        text = message.strip().removeprefix(PREFIX)
        kind = kind_of(message)
        how = self.state[kind]
        if how == "warn":
            warnings.warn(text, RuntimeWarning, stacklevel=stacklevel + 1)
        elif how == "raise":
            raise FloatingPointError(text)
        elif how == "print":
            print(PREFIX + text, file=sys.stderr)
        elif how == "log":
            self.call.write(message)
        elif how == "call":
            self.call(KINDS[kind][0], bits or KINDS[kind][1])


def kind_of(message: str) -> str:
    return next(kind for kind, (text, _) in KINDS.items() if message.startswith(PREFIX + text))


class Recording:
    """The block in which a function is recorded. `said()` is what it says of errors at this place."""

    def __init__(self) -> None:
        self.outside = Outside()
        self.inside = errstate(all=UNSAID, call=self)

    def __enter__(self) -> Recording:
        self.inside.__enter__()
        return self

    def __exit__(self, cls: object, error: object, trace: object) -> None:
        changed = np.geterrcall() is not self or any(how != UNSAID for how in np.geterr().values())
        self.inside.__exit__(None, None, None)
        if changed and error is None:
            raise RecordingError(
                "The recorded function changed what numpy does about errors for good, which a graph would not do: use "
                "`with np.errstate(...)` in the place of np.seterr()"
            )

    def write(self, message: str) -> None:
        """Called by numpy where an operation that is not recorded has an error."""
        self.outside.handle(message, 2)

    def __call__(self, text: str, bits: int) -> None:
        self.outside.call(text, bits)

    def said(self) -> dict[str, str]:
        if np.geterrcall() is not self:
            raise refusal(
                "A function that is called at errors, np.errstate(call=...), is not recorded",
                "set it outside of the function",
            )
        state: Any = np.geterr()
        return {kind: how for kind, how in state.items() if how != UNSAID}

    def as_outside(self, said: dict[str, str]) -> Any:
        """The block in which an operation is computed."""
        return errstate(**{**self.outside.state, **said}, call=self.outside.call)


class Collected:
    """The block of a graph that computes `length` rows, `n` at a time: at its end, each operation's errors are handled
    once.

    So they are those of whole arrays, in the order of the program.
    """

    inside: Any = None

    def __init__(self, n: int, length: int) -> None:
        if n >= length:
            return  # all at once
        self.outside = Outside()
        self.seen: dict[int, dict[int, str]] = {}  # messages by line and bit
        state = dict.fromkeys(KINDS, UNSAID)
        if "call" not in self.outside.state.values():
            state |= {kind: "ignore" for kind, how in self.outside.state.items() if how == "ignore"}
        self.inside = errstate(**state, call=self)

    def __enter__(self) -> None:
        if self.inside is not None:
            self.inside.__enter__()

    def __exit__(self, cls: object, error: object, trace: object) -> None:
        if self.inside is None:
            return
        self.inside.__exit__(None, None, None)
        if error is None:
            for _, messages in sorted(self.seen.items()):
                for _, message in sorted(messages.items()):
                    self.outside.handle(message, 2, sum(messages))

    def write(self, message: str) -> None:
        frame: Any = inspect.currentframe()
        self.seen.setdefault(frame.f_back.f_lineno, {})[KINDS[kind_of(message)][1]] = message
