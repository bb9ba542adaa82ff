"""One recorded run of a function."""

from __future__ import annotations

import numpy as np

from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING

from .array import Recorded
from .dims import layout_class
from .entropy import Entropy
from .errors import Recording as Errors
from .graph import Graph, Names, output_term
from .kinds import is_a
from .leaks import check_ended, is_stand_in
from .randomness import Watch
from .refusals import Refusals
from .tape import INPUT, Node, Tape, real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

__all__: list[str] = []


def record(
    flat_fn: Callable[[list[Any]], list[Any]],
    tensors: Sequence[Any],
    reachable: Iterable[Any] = (),
    *,
    dynamic: bool = True,
    names: Names | None = None,
) -> tuple[list[Any], Graph]:
    """Run a function of a list of arrays once, and write down what it does with them.

    Args:
        flat_fn: Takes one list of arrays and gives a list of arrays and other values.
        tensors: The arrays, and scalars, of this call.
        reachable: Other objects that the function may get hold of; random generators in them are watched.
        dynamic: Whether sizes stay symbolic. Where they do not, the graph is for inputs of these shapes only.
        names: Of the inputs and results, for a graph that says what it takes, and that runs for inputs of every layout.

    Returns:
        The results of this call, and the graph.

    Raises:
        RecordingError: (a `PyTreeTypeError`) the function did something that a graph cannot hold; the message names the
            line and says what to do.

    Example:
        >>> import numpy as np
        >>> from clika_pytree.runtimes.numpy import record
        >>> results, graph = record(lambda xs: [xs[0].sum(0) / xs[0].shape[0]], [np.ones((2, 3))])
        >>> results, graph.run([np.arange(12.0).reshape(4, 3)])
        ([array([1., 1., 1.])], [array([4.5, 5.5, 6.5])])
    """
    for index, tensor in enumerate(tensors):
        if not isinstance(tensor, np.ndarray | np.generic):
            raise RecordingError(f"record() expects numpy arrays, got {type(tensor).__name__} at {index}")
    layouts = [layout_class(tensor) for tensor in tensors]
    values: dict[str, Any] = getattr(flat_fn, "values", {})
    watch = Watch([*values.items(), *((f"argument {index}", root) for index, root in enumerate((flat_fn, *reachable)))])
    tape = Tape(tensors, watch, dynamic)
    for node, name in zip(tape.inputs, names.inputs if names else (), strict=False):
        node.name = name
    recorded = [Recorded(tape, node, tensor) for node, tensor in zip(tape.inputs, tensors, strict=True)]
    try:
        outputs = run(tape, watch, flat_fn, recorded)
        tape.check_failed()
        tape.captured.check()
        outputs = own_memory(tape, outputs, watch.arrays)
        terms = [output_term(tape, value) for value in outputs]
        results = [value.value if type(value) is Node else real(value) for value in outputs]
    finally:
        tape.open = False
    del recorded, outputs
    check_ended(tape)
    return results, Graph(tape, terms, layouts, names)


def run(tape: Tape, watch: Watch, flat_fn: Callable[[list[Any]], list[Any]], recorded: list[Any]) -> list[Any]:
    """The function's results. A refusal that another thread met goes before what came of it in this one."""
    try:
        with Entropy(), Refusals():
            with Errors() as tape.errors:
                outputs = flat_fn(recorded)
            tape.errors = None
            watch.end()
            return outputs
    finally:
        if tape.elsewhere is not None:
            raise tape.elsewhere.with_traceback(None)


def own_memory(tape: Tape, outputs: list[Any], within_reach: dict[int, Any]) -> list[Any]:
    """The results, those copied at each run that lie in the memory of a constant: the caller may write into a result.

    An array that is captured comes back as itself, as it does without a graph; one that the function made without any
    tensor does not.
    """
    captured = {id(owner(array)) for array in within_reach.values() if not is_stand_in(array)}
    roots = {id(node.root()) for node in tape.constants.values() if is_a(node.value, np.ndarray)}
    results: list[Any] = []
    for value in outputs:
        array = real(value)
        if is_a(array, np.ndarray):
            if array is value:
                is_copied = id(owner(array)) not in captured
                value = value if is_copied else tape.itself(value)
            else:
                node = value.traced_node
                is_copied = node.kind != INPUT and id(node.root()) in roots and tape.captured.shares(array)
            if is_copied:
                value = tape.add("function", "np.copy", np.copy, (value,), {"order": "K", "subok": True}, fresh=True)
        results.append(value)
    return results


def owner(array: Any) -> Any:
    """The array whose memory a view shows."""
    while is_a(array.base, np.ndarray):
        array = array.base
    return array
