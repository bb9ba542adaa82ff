"""`eval`: wait until tensors hold their elements."""

from __future__ import annotations

from clika_pytree._native import dict_insertion_ordered, keystr, tree_leaves, tree_leaves_with_path
from clika_pytree.runtimes import runtime_of
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

__all__ = ["eval"]


def eval(*trees: Any, namespace: Namespace = "") -> None:
    """Wait until every tensor in some trees holds its elements.

    Libraries that compute lazily, or on a device, hand out tensors before they are computed. Each library is asked to
    wait once, on the calling thread, for all of its tensors; those of numpy are there at once. What is not a tensor is
    passed over. An object that is a leaf, as its class is not registered, is not looked into.

    Args:
        trees: Any trees, of tensors of one library or of several.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Raises:
        RecordingError: (a `TypeError`) it was called inside a function that is compiled or traced, where a tensor has
            no elements yet.
        Exception: The error of the first computation that failed, with a note that has the key path of its tensor. All
            others were waited for.

    Example:
        >>> import numpy as np
        >>> import clika_pytree as crt
        >>> x = np.arange(3.0)
        >>> crt.eval({"exp": np.exp(x), "rest": [np.sum(x), None, "text"]}, x)
    """
    inside = traced_name()
    if inside is not None:
        raise RecordingError(
            f"eval() at {user_place()} was called inside {inside}, which is being compiled or traced: a tensor has no "
            "elements there. Return it, and call eval() on the result"
        )
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
