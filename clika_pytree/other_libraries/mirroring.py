"""Telling other libraries of a class that is registered here."""

from __future__ import annotations

from clika_pytree import registration as registrations
from clika_pytree._native import PyTreeTypeError, RegistrationError, lookup
from clika_pytree.arguments import check_class, check_namespace
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

from .imports import is_imported, no_longer, warn_within_import, when_imported
from .libraries import library_named
from .parts import Parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from clika_pytree._native import Registration

__all__: list[str] = []


def mirror_registered(caller: str, cls: type, libraries: Any, namespace: str) -> None:
    check_class(caller, cls)
    check_namespace(caller, namespace)
    found = lookup(cls, namespace)
    if found is None or found.namespace != namespace:
        where = f"in namespace {namespace!r}" if namespace else "globally"
        raise RegistrationError(
            f"{caller} expects a class that is registered here {where}, got {cls.__qualname__}; call "
            "register_pytree_node() or one of its kind first"
        )
    mirroring(caller, found, libraries)()


def mirroring(caller: str, registration: Registration, libraries: Any) -> Callable[[], None]:
    """Check that every library can be told of a class; what is given back tells them."""
    names = [libraries] if isinstance(libraries, str) else libraries
    if not hasattr(names, "__iter__"):
        raise PyTreeTypeError(
            f"{caller} expects the name of a library or a list of such names, got {described(libraries)}"
        )
    chosen = list(dict.fromkeys([library_named(caller, name) for name in names]))
    for library in chosen:
        reason = reason_against(library, registration)
        if reason:
            raise RegistrationError(
                f"{caller} can't mirror {registration.cls.__qualname__} in {library.title}: {reason}"
            )

    parts = Parts(registration)

    def tell() -> None:
        for library in chosen:
            tell_when_imported(library, parts)

    return tell


def reason_against(library: Any, registration: Registration) -> str:
    """Why a library can't be told of a class, or nothing."""
    cls, namespace = registration.cls, registration.namespace
    if namespace and not library.has_namespaces:
        return (
            f"it is registered in namespace {namespace!r} here, and {library.title} has no namespaces; register it "
            "globally, too, or mirror it in optree alone"
        )
    if is_imported(library.module) and library.is_registered(cls, namespace):
        return f"it is registered there already; leave it at that ({library.way_back})"
    if any(task.library is library and task.parts.registration is registration for task in _tasks):
        return "it will be told of it when it is imported, as was asked for before; mirror it once"
    reason: str = library.refusal(registration)
    return reason


class Task:
    """A library that is to be told of a class when it has been imported."""

    def __init__(self, library: Any, parts: Parts) -> None:
        self.library, self.parts = library, parts

    def __call__(self) -> None:
        if not self.take_back():
            return
        try:
            self.library.tell(self.parts)
        except Exception as error:
            warn_within_import(
                f"mirror() could not tell {self.library.title} of {self.parts.cls.__qualname__}: {error}"
            )

    def take_back(self) -> bool:
        """Whether it was still to be done."""
        try:
            _tasks.remove(self)
        except ValueError:
            return False
        return True


_tasks: list[Task] = []


def tell_when_imported(library: Any, parts: Parts) -> None:
    if is_imported(library.module):
        library.tell(parts)
        return
    task = Task(library, parts)
    _tasks.append(task)
    when_imported(library.module, task)


def forget(registration: Registration) -> None:
    """Tell nobody of a class that is registered here no longer."""
    for task in [*_tasks]:
        if task.parts.registration is registration:
            task.take_back()
            no_longer(task.library.module, task)


registrations.on_unregister.append(forget)
