"""How far a large file is, for people."""

from __future__ import annotations

from contextlib import contextmanager

from clika_pytree._native import PyTreeTypeError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any, TypeAlias

    Progress: TypeAlias = bool | Callable[[int, int], object] | None

__all__ = ["check_progress", "reporting"]


def check_progress(caller: str, progress: Any) -> None:
    if progress is not None and type(progress) is not bool and not callable(progress):
        raise PyTreeTypeError(
            f"{caller} expects True, False or a function of two numbers, the bytes done and in all, as progress, "
            f"got {described(progress)}"
        )


@contextmanager
def reporting(progress: Progress, total: int, what: str) -> Generator[Callable[[int], object] | None]:
    """What is to be called with the bytes of each step; None where nobody asked."""
    if not progress:
        yield None
    elif progress is True:
        from importlib import import_module

        try:
            tqdm: Any = import_module("tqdm.auto").tqdm
        except ImportError:  # a bar is a comfort
            yield None
            return
        with tqdm(total=total, unit="B", unit_scale=True, unit_divisor=1024, desc=what) as bar:
            yield bar.update
    else:
        done = 0

        def step(nbytes: int) -> None:
            nonlocal done
            done += nbytes
            progress(done, total)

        yield step
