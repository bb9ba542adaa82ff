"""The graphs that are being made: of two threads with one new key, the second waits for the first."""

from __future__ import annotations

import threading

from clika_pytree._native import MappingKey
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree._native import GuardCall

__all__: list[str] = []


class Flight:
    """A graph on its way."""

    __slots__ = ("call", "landed", "thread")

    def __init__(self, call: GuardCall) -> None:
        self.call, self.thread = call, threading.get_ident()
        self.landed = threading.Event()


class Flights:
    """Those of one compiled function. No lock is held while user code runs, be it a trace or an `==`."""

    def __init__(self, dynamic: bool) -> None:
        self.dynamic = dynamic
        self._lock = threading.Lock()
        self._open: list[Flight] = []
        self.lookups = 0  # in vain, of calls that had been counted

    def begin(self, call: GuardCall) -> Flight | None:
        """A flight for this call; None once another thread, which was making its graph, has finished or failed."""
        while True:
            seen = self._open
            for flight in seen:
                # One of this thread is further out: to wait for it would be for ever.
                if flight.thread != threading.get_ident() and self.alike(flight.call, call):
                    flight.landed.wait()
                    return None
            with self._lock:
                if self._open is seen:
                    made = Flight(call)
                    self._open = [*seen, made]
                    return made

    def end(self, flight: Flight) -> None:
        with self._lock:
            self._open = [other for other in self._open if other is not flight]
        flight.landed.set()

    def looked_again(self) -> None:
        with self._lock:
            self.lookups += 1

    def alike(self, one: GuardCall, other: GuardCall) -> bool:
        """Whether one graph may do for two calls. Where this errs, a thread waits in vain, or a graph is made twice."""
        try:
            return (
                one.mask == other.mask
                and one.spec == other.spec
                and all(map(self.same_facts, one.tensors, other.tensors))
                and all(
                    is_tensor or same_value(a, b)
                    for a, b, is_tensor in zip(one.leaves, other.leaves, one.mask, strict=True)
                )
            )
        except Exception:
            return False

    def same_facts(self, one: Any, other: Any) -> bool:
        if class_of(one) is not class_of(other) or one.dtype != other.dtype:
            return False
        return len(one.shape) == len(other.shape) if self.dynamic else tuple(one.shape) == tuple(other.shape)


def same_value(one: Any, other: Any) -> bool:
    return one is other or (class_of(one) is class_of(other) and MappingKey(one) == MappingKey(other))
