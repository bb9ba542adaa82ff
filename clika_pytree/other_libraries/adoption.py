"""Classes that another library registers and that are nodes here, too."""

from __future__ import annotations

from _thread import RLock

from clika_pytree import registration as registrations
from clika_pytree._native import RegistrationError, set_adopted
from clika_pytree.arguments import check_namespace
from clika_pytree.typing import TYPE_CHECKING

from .imports import is_imported, no_longer, warn_within_import, when_imported
from .libraries import library_named

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree._native import Registration

__all__: list[str] = []

_lock = RLock()


class Source:
    """A library whose classes are nodes in one namespace here."""

    library: Any
    namespace: str
    adoptions: int
    entries: int

    def __init__(self, library: Any, namespace: str) -> None:
        self.library, self.namespace = library, namespace
        self.adoptions = 0
        # The dict to which the library adds its classes, once it is imported.
        self.table: dict[Any, Any] | None = None
        # How the library registers a class, and the same as a registration here: one for as long as that is the same.
        self.made: dict[type, tuple[Any, Registration]] = {}
        self.entries = 0  # in the table, when it was last looked at: a class that is gone is not held

    def begin(self) -> None:
        """Look at the library's classes: it has been imported. Nothing is imported here."""
        self.table = self.library.table()
        watch_tables()

    def __call__(self) -> None:
        try:
            if self.adoptions:
                self.begin()
                if self.table is None:
                    warn_within_import(no_table(self.library))
        except Exception as error:
            warn_within_import(f"adopt() could not look at the classes of {self.library.title}: {error}")

    def registration_of(self, cls: type) -> Registration | None:
        if self.table is None or not is_hashable(cls):
            return None
        if len(self.table) < self.entries:
            self.made = {cls: pair for cls, pair in self.made.items() if self.entry_of(cls) is pair[0]}
        self.entries = len(self.table)
        entry = self.entry_of(cls)
        if entry is None:
            self.made.pop(cls, None)
            return None
        held, made = self.made.get(cls, (None, None))
        if made is None or held is not entry:
            made = self.library.adopted(cls, self.namespace, entry)
            self.made[cls] = entry, made
        return made

    def entry_of(self, cls: type) -> Any:
        return self.library.entry_of(cls, self.namespace)


def is_hashable(cls: type) -> bool:
    """Whether a class can be in a dict; that of a metaclass with an `==` of its own may be in none."""
    try:
        hash(cls)
    except Exception:
        return False
    return True


# In the order in which they were adopted; replaced as a whole.
_sources: tuple[Source, ...] = ()


class Adoption:
    """What `adopt` did. `end()` takes it back, and so does the end of a `with` block over it."""

    library: str
    namespace: str

    def __init__(self, name: str, source: Source) -> None:
        self.library, self.namespace = name, source.namespace
        self._source: Source | None = source

    def end(self) -> None:
        """Make the library's classes leaves again; a second time does nothing.

        Structures made before keep working. Where a library was adopted several times, the last end counts.
        """
        global _sources
        with _lock:
            source, self._source = self._source, None
            if source is None:
                return
            source.adoptions -= 1
            if source.adoptions:
                return
            _sources = tuple(other for other in _sources if other is not source)
            watch_tables()
        no_longer(source.library.module, source)

    def __enter__(self) -> Adoption:
        return self

    def __exit__(self, *raised: object) -> None:
        self.end()

    def __repr__(self) -> str:
        ended = ", ended" if self._source is None else ""
        return f"Adoption({self.library!r}, namespace={self.namespace!r}{ended})"


def adopted(caller: str, name: Any, namespace: str) -> Adoption:
    global _sources
    library = library_named(caller, name)
    check_namespace(caller, namespace)
    if is_imported(library.module) and library.table() is None:
        raise RegistrationError(no_table(library))
    with _lock:
        source = next((s for s in _sources if s.library is library and s.namespace == namespace), None)
        waits = source is None
        if source is None:
            source = Source(library, namespace)
            _sources = (*_sources, source)
            # Here, so that another thread which adopts the same does not go on before.
            if is_imported(library.module):
                source.begin()
                waits = False
        source.adoptions += 1
    if waits:
        when_imported(library.module, source)
    return Adoption(name, source)


def no_table(library: Any) -> str:
    return f"adopt() can't see which classes this release of {library.title} has: it keeps them in another place"


def watch_tables() -> None:
    """Tell the native module whom to ask, and which dicts tell that there is something new."""
    with _lock:
        tables = {id(source.table): source.table for source in _sources if source.table is not None}
        set_adopted(registration_in if tables else None, tuple(tables.values()))


def registration_in(cls: type, namespace: str) -> Registration | None:
    """The registration that the first of the libraries has for a class, which is called where there is none of ours."""
    for source in _sources:
        if source.namespace == namespace:
            found = source.registration_of(cls)
            if found is not None:
                return found
    return None


def registration_named(name: str, namespace: str) -> Registration | None:
    """What a name stands for in documents: a class that a library has under it."""
    for source in _sources:
        if source.namespace == namespace and source.table is not None:
            cls = source.library.class_named(name)
            found = None if cls is None else source.registration_of(cls)
            if found is not None and found.serialized_type_name == name:
                return found
    return None


registrations.named_elsewhere.append(registration_named)
