"""The two walks that every conversion is: over the nodes of a TreeSpec, and over a structure of another library.

Neither recurses, and neither makes a tree: a node is told to the other side as its kind, its context and the structures
of its children.
"""

from __future__ import annotations

from clika_pytree._native import PyTreeTypeError, TreeSpec
from clika_pytree.plain_values import Refused
from clika_pytree.spec_builder import Builder, Leaves, Place, nodes_of
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import described

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Protocol

    from clika_pytree.spec_builder import Node

    class Target(Protocol):
        """Makes the structure of another library from below."""

        def leaves(self, count: int) -> list[Any]:
            """The structures of neighbouring leaves."""
            ...

        def facts(self, node: Node) -> Any:
            """What the other library keeps of a node, or Refused."""
            ...

        def node(self, facts: Any, children: list[Any]) -> Any:
            """The structure of a node whose children are done."""
            ...


__all__: list[str] = []


def imported(caller: str, module: str, library: str) -> Any:
    """A module of another library."""
    import importlib

    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name != package:
            raise
        raise ModuleNotFoundError(
            f'{caller} needs {library}, which is not installed here: pip install "clika-pytree[{package}]"',
            name=package,
        ) from None


def converted(caller: str, spec: TreeSpec, target: Target) -> Any:
    """The structure of another library."""
    check_spec(caller, spec)
    place = Place()
    # Of each open node, outermost first: its facts and its number of children; and the children that are done.
    facts: list[Any] = []
    arities: list[int] = []
    done: list[list[Any]] = [[]]
    for node in nodes_of(spec):
        if isinstance(node, Leaves):
            done[-1].extend(target.leaves(node.count))
            place.step(node.count)
        else:
            try:
                facts.append(target.facts(node))
            except Refused as refusal:
                raise place.error(f"{caller} can't carry the {node.name()} {{place}}: {refusal}") from None
            arities.append(node.arity)
            done.append([])
            place.enter(node.arity, node.names())
        while arities and len(done[-1]) == arities[-1]:
            arities.pop()
            made = target.node(facts.pop(), done.pop())
            done[-1].append(made)
    return done[0][0]


def rebuilt(builder: Builder, root: Any, read: Callable[[Any, Builder], Sequence[Any]]) -> TreeSpec:
    """The TreeSpec of another library's structure; `read` adds one of its nodes and gives back the children."""
    try:
        return builder.build(root, read)
    except Refused as refusal:
        raise builder.place.error(f"{builder.caller} can't carry what stands {{place}}: {refusal}") from None


def with_runs(children: Iterable[Any], is_leaf: Callable[[Any], bool]) -> list[Any]:
    """The children of a node, neighbouring leaves put together."""
    from itertools import groupby

    runs: list[Any] = []
    for are_leaves, group in groupby(children, is_leaf):
        if are_leaves:
            runs.append(Leaves(sum(1 for _ in group)))
        else:
            runs.extend(group)
    return runs


def check_spec(caller: str, spec: object) -> None:
    if not isinstance(spec, TreeSpec):
        raise PyTreeTypeError(
            f"{caller} expects a TreeSpec of clika_pytree, got {described(spec)}; tree_structure() makes one"
        )
