"""What has to wait until somebody imports a module of another library.

A finder in `sys.meta_path` sees which modules are imported. It is there while something waits and no longer, it imports
nothing, and it leaves the finding to the others: the loader they found runs the module, then what waits for it is done.
"""

from __future__ import annotations

import sys
import warnings
from _thread import RLock, get_ident

from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__: list[str] = []

# What is to be done once a module is there, in the order it was asked for. An action must import nothing: it may run
# while an import holds the lock of all imports. It raises nothing.
_waiting: dict[str, list[Callable[[], None]]] = {}
_lock = RLock()


def when_imported(module: str, action: Callable[[], None]) -> None:
    """Do something now where a module has been imported, else when that is done."""
    with _lock:
        _waiting.setdefault(module, []).append(action)
        if finder not in sys.meta_path:
            sys.meta_path.insert(0, finder)
    settle()


def no_longer(module: str, action: Callable[[], None]) -> None:
    """Forget what waits for a module."""
    with _lock:
        actions = _waiting.get(module, [])
        if action in actions:
            actions.remove(action)
        if not actions:
            _waiting.pop(module, None)
    leave_when_idle()


def is_imported(module: str) -> bool:
    """Whether a module is there and has run to its end."""
    found = sys.modules.get(module)
    return found is not None and not getattr(getattr(found, "__spec__", None), "_initializing", False)


def settle() -> None:
    """Do what waits for modules that are there: one may have been half-way when something began to wait for it."""
    for module in [*_waiting]:
        if is_imported(module):
            act(module)


def act(module: str) -> None:
    """Do what waits for a module; each thing is done by one thread."""
    with _lock:
        actions = _waiting.pop(module, [])
    for action in actions:
        action()
    leave_when_idle()


def leave_when_idle() -> None:
    """Take the finder away where nothing waits any more."""
    with _lock:
        # The list is replaced, not changed: another thread may be half-way through it, and would pass a finder over.
        if not _waiting and sys.meta_path and finder in sys.meta_path:
            sys.meta_path = [other for other in sys.meta_path if other is not finder]


def warn_within_import(message: str) -> None:
    """Warn of what could not be done: an import has to come to its end, even where warnings are errors."""
    try:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    except RuntimeWarning:
        sys.stderr.write(f"RuntimeWarning: {message}\n")


class Finder:
    """Finds what the other finders find, for the modules that something waits for."""

    def __init__(self) -> None:
        # Searches under way, by thread: another finder may ask all of `sys.meta_path`, this one too.
        self.searches: set[tuple[int, str]] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        settle()
        search = get_ident(), name
        if name not in _waiting or search in self.searches:
            return None
        self.searches.add(search)
        try:
            spec = self.found_by_others(name, path, target)
        finally:
            self.searches.discard(search)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = Loader(spec.loader, name)
        return spec

    def found_by_others(self, name: str, path: Any, target: Any) -> Any:
        for other in [*sys.meta_path]:
            find = None if other is self else getattr(other, "find_spec", None)
            spec = find and find(name, path, target)
            if spec is not None:
                return spec
        return None


class Loader:
    """The loader of a module, with something to do after it. A module never sees it: it gets the loader itself."""

    def __init__(self, loader: Any, module: str) -> None:
        self.loader, self.module = loader, module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def create_module(self, spec: Any) -> Any:
        return self.loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        for holder, name in ((module.__spec__, "loader"), (module, "__loader__")):
            if getattr(holder, name, None) is self:
                setattr(holder, name, self.loader)
        self.loader.exec_module(module)
        act(self.module)


finder = Finder()
