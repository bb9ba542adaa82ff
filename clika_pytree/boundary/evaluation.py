"""What `eval` does: wait until tensors hold their elements."""

from __future__ import annotations

from clika_pytree._native import dict_insertion_ordered, keystr, runtime_of, tree_leaves, tree_leaves_with_path
from clika_pytree.other_libraries.torch_return_types import register_once
from clika_pytree.runtimes.answers import failure_of
from clika_pytree.runtimes.protocol import Failed, RecordingError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import add_note

from .state import traced_name, user_place

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from clika_pytree.runtimes.protocol import Runtime
    from clika_pytree.typing import Namespace

    # The number of a tree, and of a leaf in it.
    Place: TypeAlias = tuple[int, int]

__all__: list[str] = []


def wait_for(trees: tuple[Any, ...], namespace: Namespace) -> None:
    inside = traced_name()
    if inside is not None:
        raise RecordingError(
            f"eval() at {user_place()} was called inside {inside}, which is being compiled or traced: a tensor has no "
            "elements there. Return it, and call eval() on the result"
        )
    register_once()
    failures: list[tuple[Place, BaseException]] = []
    for runtime, places, tensors in by_runtime(trees, namespace):
        try:
            failures += [(places[index], error) for index, error in waited(runtime, tensors)]
        except Exception as error:
            first = path_of(trees, places[0], namespace)
            which = first if len(tensors) == 1 else f"{len(tensors):,} tensors, the first of them {first}"
            # Which of them failed is known where the runtime raises `Failed`.
            add_note(error, f"clika_pytree: eval() asked the runtime {runtime.name!r} to wait for {which}")
            raise
    if failures:
        failures.sort(key=lambda failure: failure[0])
        place, failure = failures[0]
        more = f" (and {len(failures) - 1:,} more)" if len(failures) > 1 else ""
        add_note(failure, f"clika_pytree: eval() waited for {path_of(trees, place, namespace)}{more}")
        raise failure


def path_of(trees: tuple[Any, ...], place: Place, namespace: Namespace) -> str:
    tree, leaf = place
    with dict_insertion_ordered(True):
        return f"trees[{tree}]{keystr(tree_leaves_with_path(trees[tree], namespace=namespace)[leaf][0])}"


def by_runtime(trees: tuple[Any, ...], namespace: Namespace) -> list[tuple[Runtime, list[Place], list[Any]]]:
    """The tensors of each runtime, each once, and where they stand."""
    found: dict[int, tuple[Runtime, list[Place], list[Any]]] = {}
    seen: set[int] = set()
    with dict_insertion_ordered(True):
        for number, tree in enumerate(trees):
            for place, leaf in enumerate(tree_leaves(tree, namespace=namespace)):
                runtime: Runtime | None = runtime_of(leaf)
                if runtime is None or id(leaf) in seen:
                    continue
                seen.add(id(leaf))
                _, places, tensors = found.setdefault(id(runtime), (runtime, [], []))
                places.append((number, place))
                tensors.append(leaf)
    return list(found.values())


def waited(runtime: Runtime, tensors: list[Any]) -> list[tuple[int, BaseException]]:
    """Wait for all of them; the failures by place."""
    failures: list[tuple[int, BaseException]] = []
    start = 0
    while start < len(tensors):
        try:
            runtime.wait(tensors[start:])
            break
        except Failed as failed:
            index, error = failure_of(runtime, failed, tensors[start:])
            failures.append((start + index, error))
            start += index + 1
    return failures
