"""What `load` does: the tree of a file."""

from __future__ import annotations

from clika_pytree._native import FileFormatError, PyTreeTypeError, PyTreeValueError, runtime_of, tree_leaves
from clika_pytree.arguments import check_switch
from clika_pytree.other_libraries.torch_return_types import register_once
from clika_pytree.runtimes import runtime_named
from clika_pytree.runtimes.protocol import Host
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

from .arguments import path_of
from .opened import open_files
from .progress import check_progress, reporting
from .selection import Selection
from .stand_ins import NotLoaded

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from clika_pytree._native import TensorFile
    from clika_pytree.runtimes.protocol import Runtime
    from clika_pytree.typing import Namespace

    from .arguments import FilePath
    from .opened import Entry, Opened
    from .progress import Progress
    from .selection import Only

__all__: list[str] = []

# So many bytes of two tensors are compared at a time.
COMPARED = 1 << 22


def load_tree(
    path: FilePath,
    device: str,
    like: Any,
    only: Only,
    mmap: bool,
    runtime: str | Runtime | None,
    unknown: Literal["error", "dict"],
    progress: Progress,
    namespace: Namespace,
) -> Any:
    name, place = path_of("load()", path)
    check_progress("load()", progress)
    check_switch("load()", "mmap", mmap)
    if unknown not in ("error", "dict"):
        raise PyTreeTypeError(f'load() expects "error" or "dict" as unknown, got {described(unknown)}')
    if type(device) is not str:
        raise PyTreeTypeError(f"load() expects the name of a device, got {described(device)}")
    register_once()
    opened = open_files(place, name)
    chosen = runtime_for(runtime, like, namespace)
    spec = opened.structure(namespace, unknown)
    if like is not None:
        from .likeness import check_like

        check_like(opened, spec, like, namespace)
    selection = Selection(opened, only)
    wanted = selection.names
    total = sum(opened.entries[entry][4] for entry in wanted) if progress else 0
    with reporting(progress, total, "load") as report:
        tensors = tensors_of(opened, wanted, Making(chosen, device, mmap, report))
    return tree_of(opened, spec, tensors) if spec is not None else dict_of(opened, tensors, selection)


def runtime_for(runtime: Any, like: Any, namespace: Namespace) -> Runtime:
    if runtime is not None:
        return runtime_named("load()", runtime)
    if like is not None:
        for leaf in tree_leaves(like, namespace=namespace):
            found: Runtime | None = runtime_of(leaf)
            if found is not None and found.name != "numpy":
                return found
    return runtime_named("load()", "numpy")


class Making:
    """How the tensors are made."""

    def __init__(self, runtime: Runtime, device: str, mapped: bool, report: Callable[[int], object] | None) -> None:
        self.runtime, self.device, self.mapped, self.report = runtime, device, mapped, report

    def mapped_tensors(self, place: str, file: TensorFile, entries: list[Entry]) -> list[Any]:
        """Tensors of a file, in its memory."""
        whole: Any = file.map(place)  # has the buffer protocol, which stubs can say from Python 3.12 on
        memory = memoryview(whole)
        step = 1 if self.report is not None else len(entries) or 1
        tensors: list[Any] = []
        for start in range(0, len(entries), step):
            part = entries[start : start + step]
            try:
                tensors += self.runtime.from_memory(part, memory, self.device)
            except (PyTreeTypeError, PyTreeValueError):
                for entry in part:  # which of them it was
                    self.made(place, entry, memory[entry[3] : entry[3] + entry[4]])
                raise
            if self.report is not None:
                self.report(part[0][4])
        return tensors

    def read_tensors(self, place: str, file: TensorFile, entries: list[Entry]) -> list[Any]:
        """Tensors of a file, each in memory of its own."""
        import numpy as np

        tensors: list[Any] = []
        for entry in entries:
            memory = np.empty(entry[4], np.uint8)
            file.read_into(memory, entry[3], place)
            tensors.append(self.made(place, entry, memory))
            if self.report is not None:
                self.report(entry[4])
        return tensors

    def made(self, place: str, entry: Entry, memory: Any) -> Any:
        try:
            return self.runtime.from_host(Host(entry[1], entry[2], memory), self.device)
        except (PyTreeTypeError, PyTreeValueError) as error:
            raise type(error)(f"{place}: the tensor {entry[0]!r} can't be loaded: {error}") from None


def tensors_of(opened: Opened, wanted: list[str], making: Making) -> dict[str, Any]:
    """The tensors by name; a tie of a flat dict is the tensor that it is tied to."""
    ties = ties_of(opened)
    named = {*wanted} if ties else ()
    own = [name for name in wanted if ties.get(name) not in named] if ties else wanted
    make = making.mapped_tensors if making.mapped else making.read_tensors
    tensors: dict[str, Any] = {}
    for number, (place, file) in enumerate(opened.files):
        names = [name for name in own if opened.places[name] == number] if opened.places else own
        if names:
            entries = [opened.entries[name] for name in names]
            tensors.update(zip(names, make(place, file, entries), strict=True))
    if len(opened.files) == 1 and not ties:
        return tensors
    return {name: tensors[name if name in tensors else ties[name]] for name in wanted}


def ties_of(opened: Opened) -> dict[str, str]:
    """The names of a flat dict that stand for the tensor of another name.

    Both tensors are in the file, where another program may have changed one of them.
    """
    document = opened.document
    if document is None or document.kind != "dict":
        return {}
    return {later: first for later, first in document.ties.items() if have_same_bytes(opened, later, first)}


def have_same_bytes(opened: Opened, later: str, first: str) -> bool:
    import numpy as np

    ours, theirs = (bytes_in(opened, name) for name in (later, first))
    steps = range(0, len(ours), COMPARED)
    return all(np.array_equal(ours[start : start + COMPARED], theirs[start : start + COMPARED]) for start in steps)


def bytes_in(opened: Opened, name: str) -> Any:
    import numpy as np

    place, file = opened.files[opened.places.get(name, 0)]
    _, _, _, start, nbytes = opened.entries[name]
    whole: Any = file.map(place)
    return np.frombuffer(whole, np.uint8)[start : start + nbytes]


def tree_of(opened: Opened, spec: Any, tensors: dict[str, Any]) -> Any:
    document: Any = opened.document
    leaves: list[Any] = []
    for number, name in enumerate(opened.leaves):
        if number in document.values:
            leaves.append(document.values[number])
        elif number in document.ties:
            leaves.append(leaves[document.ties[number]])
        elif name in tensors:
            leaves.append(tensors[name])
        else:
            leaves.append(NotLoaded(*opened.entries[name][:3], opened.entries[name][4]))
    if spec.num_leaves != len(leaves):
        raise FileFormatError(
            f"{opened.name}: its tree has {len(leaves)} leaves, and the classes here make others of it"
        )
    return spec.unflatten(leaves)


def dict_of(opened: Opened, tensors: dict[str, Any], selection: Selection) -> dict[str, Any]:
    """The tensors, and the plain values that were asked for, at their places."""
    document = opened.document
    if document is None or not document.values:
        return tensors
    names = iter(opened.entries)
    values = {place: (key, value) for place, key, value in document.values}
    wanted = {*selection.values}
    found: dict[str, Any] = {}
    for place in range(len(opened.entries) + len(values)):
        key, value = values[place] if place in values else (next(names), None)
        if key in tensors:
            found[key] = tensors[key]
        elif key in wanted:
            found[key] = value
    return found
