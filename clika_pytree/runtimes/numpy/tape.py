"""What a recording writes down: nodes (tensors), and the operations on them in the order of the program."""

from __future__ import annotations

import threading

import numpy as np

from clika_pytree.runtimes.protocol import RecordingError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, shorten

from .array import MethodCall, Recorded
from .captured import Captured
from .kinds import is_a
from .leaks import has_stand_in
from .lines import caller_at, line_here_or_in, line_of, place_text, quoted_place, user_frame, user_line, without_caller
from .refusals import needs_value, refusal
from .sizes import Dim, Size, dims_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from .errors import Recording
    from .randomness import Watch

__all__: list[str] = []

INPUT, CONSTANT, RESULT = "input", "constant", "result"
_numpy: Any = np
AXIS_ERROR: Any = getattr(_numpy, "exceptions", _numpy).AxisError
BY_VALUE = (
    np.lib.NumpyVersion(_numpy.__version__) < "2.0.0"
)  # whether the value of a 0-d array matters to a result's dtype
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))


class Node:
    """A tensor of the graph, or a captured object. Of a tensor only the facts are kept, not the numbers."""

    __slots__ = (
        "alias",
        "dims",
        "dtype",
        "fresh",
        "index",
        "kind",
        "loose",
        "name",
        "ndim",
        "shape",
        "sources",
        "type",
        "value",
        "varies",
    )

    def __init__(self, kind: str, index: int, value: Any) -> None:
        self.kind, self.index = kind, index
        self.name = f"x{index}"  # of an input
        self.value: Any = value if kind == CONSTANT else None
        self.type: Any = type(value)
        tensor = is_a(value, (np.ndarray, np.generic))
        self.dtype: Any = value.dtype if tensor else None
        self.shape: tuple[int, ...] = value.shape if tensor else ()
        self.ndim = len(self.shape)
        self.alias: Node | None = None  # a parent in the sets of those that may share memory
        self.fresh = False  # whether its memory was made by the operation that made it
        self.sources: frozenset[int] = frozenset((index,)) if kind == INPUT else frozenset()
        self.varies = False  # whether its shape depends on values
        self.loose = False  # whether its dtype does
        self.dims: tuple[Any, ...] = self.shape if kind == CONSTANT else tuple(Dim(self, k) for k in range(self.ndim))

    def root(self) -> Node:
        node = self
        while node.alias is not None:
            node = node.alias
        return node

    def share(self, other: Node) -> None:
        """Note that the two may share memory."""
        a, b = self.root(), other.root()
        if a is not b:
            a.alias = b

    @property
    def is_array(self) -> bool:
        return self.type is np.ndarray


class Op:
    """One call: how it is written, what it takes, makes and writes into."""

    __slots__ = ("args", "call", "errors", "fresh", "kind", "kwargs", "line", "made", "name", "outputs", "writes")

    def __init__(
        self, kind: str, name: str, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any], line: tuple[str, int]
    ) -> None:
        self.kind, self.name, self.call, self.args, self.kwargs, self.line = kind, name, call, args, kwargs, line
        self.outputs: list[Node] = []
        self.made: Any = None  # the outputs in the shape of the result: a node, or lists and tuples of nodes
        self.writes: list[Node] = []
        self.fresh = False
        self.errors: dict[str, str] = {}  # what the function says with np.errstate at that place


def nodes_in(term: Any) -> Iterator[Node]:
    """The nodes that an argument mentions, those of its sizes too."""
    if isinstance(term, Node):
        yield term
    elif is_a(term, (list, tuple)):
        for item in term:
            yield from nodes_in(item)
    elif is_a(term, dict):
        yield from nodes_in(list(term.values()))
    elif is_a(term, slice):
        yield from nodes_in((term.start, term.stop, term.step))
    elif isinstance(term, SizeTerm):
        for dim in dims_in(term.expression):
            yield dim.node


def mixed(nodes: Sequence[Node]) -> bool:
    """Whether a 0-d tensor meets others."""
    tensors = [node for node in nodes if node.dtype is not None]
    return any(node.ndim for node in tensors) and any(not node.ndim and node.kind != CONSTANT for node in tensors)


class SizeTerm:
    """A size as an argument."""

    __slots__ = ("expression",)

    def __init__(self, expression: Any) -> None:
        self.expression = expression


class Tape:
    """A recording in progress."""

    def __init__(self, tensors: Sequence[Any], watch: Watch | None, dynamic: bool) -> None:
        self.watch, self.dynamic = watch, dynamic
        self.open = True
        self.running = ""  # the operation that is computed just now
        self.thread = threading.get_ident()
        self.elsewhere: Exception | None = None  # the refusal that another thread has met
        self.stand_ins: list[Any] = []  # weak references to all that stand for tensors and sizes
        self.errors: Recording | None = None  # what numpy does about errors, while the function runs
        self.strict = "raise" in np.geterr().values()  # whether an operation counts as one that can fail
        self.inputs = [Node(INPUT, index, tensor) for index, tensor in enumerate(tensors)]
        for node in () if dynamic else self.inputs:
            node.dims = node.shape
        self.constants: dict[Any, Node] = {}
        self.originals: list[Any] = []  # whose addresses are keys of the constants
        self.captured = Captured(watch.arrays.values() if watch is not None else ())
        self.failed: tuple[Op, str] | None = None
        self.ops: list[Op] = []
        self.count = 0
        self.used: set[int] = set()  # inputs of which dtype, ndim or an operation was asked
        self.forced: dict[Any, Any] = {}  # (input, axis) to size
        self.places: dict[Any, str] = {}  # (input, axis) to the line that used the size as a number
        self.conditions: list[tuple[Any, Any]] = []  # other size expressions and their values

    def check_open(self) -> None:
        if not self.open:
            raise refusal(
                "A tensor or a size of a recorded function was used after that function had ended",
                "return it from the function, and do not keep it in a global, an attribute or a closure",
            )
        if threading.get_ident() != self.thread:
            refused = refusal(
                f"A tensor of a recorded function was used in another thread, {threading.current_thread().name!r}, and "
                "a graph runs in one",
                "do this step in the function's own thread, or leave it out of the compiled function",
                line_here_or_in(self.thread),
            )
            # The first one is what the function came to; others follow while it is left.
            self.elsewhere = self.elsewhere or refused
            raise refused

    def use(self, node: Node) -> None:
        self.check_open()
        if node.kind == INPUT:
            self.used.add(node.index)

    def constant(self, value: Any) -> Node:
        """The node of a captured object, one for each object."""
        node = self.constants.get(id(value))
        if node is None:
            self.check_items(value)
            node = self.constants[id(value)] = Node(CONSTANT, len(self.constants), self.captured.take(value))
            self.originals.append(value)
        return node

    def itself(self, array: Any) -> Node:
        """The node of a captured array that is a result: no copy of it, but the array."""
        node = self.constants[id(array), "itself"] = Node(CONSTANT, len(self.constants), array)
        return node

    def check_items(self, array: Any) -> None:
        """Refuse an array of objects that has tensors as its items: these would be those of the first call."""
        if is_a(array, np.ndarray) and array.dtype.hasobject and has_stand_in(array):
            raise refusal(
                "An array of objects that holds tensors is not recorded",
                "keep them in a list or a tuple, or join them with np.stack",
            )

    def term(self, value: Any) -> Any:
        """An argument as the graph keeps it."""
        cls = class_of(value)
        if cls is Recorded:
            if value.traced_tape is not self:
                raise refusal("A tensor of another recording was used", "pass it to this function as an argument")
            self.use(value.traced_node)
            return value.traced_node
        if cls is Size:
            return SizeTerm(value.expression)
        if cls in PLAIN:
            return value
        if issubclass(cls, list):
            return [self.term(item) for item in value]
        if issubclass(cls, tuple):
            return tuple(self.term(item) for item in value)
        if issubclass(cls, dict):
            return {key: self.term(item) for key, item in value.items()}
        if cls is slice:
            return slice(self.term(value.start), self.term(value.stop), self.term(value.step))
        return self.constant(value)

    def force(self, expression: Any, value: Any) -> None:
        """Make a size's value a guard."""
        self.check_open()
        dims = list(dims_in(expression))
        if all(dim.node.kind == INPUT for dim in dims):
            if isinstance(expression, Dim):
                self.force_axis(expression.node, expression.axis)
            elif dims and not any(e is expression for e, _ in self.conditions):
                self.conditions.append((expression, value))
            return
        for dim in dims:
            self.force_shape(dim.node)

    def force_axis(self, node: Node, axis: int) -> None:
        self.use(node)
        self.forced[node.index, axis] = node.shape[axis]
        if (node.index, axis) not in self.places:
            self.places[node.index, axis] = place_text(*user_line())

    def force_shape(self, node: Node) -> None:
        """Guard all sizes that a node's shape can depend on."""
        if node.varies:
            raise needs_value("A size that depends on values, used as a number,")
        for index in node.sources:
            for axis in range(self.inputs[index].ndim):
                self.force_axis(self.inputs[index], axis)

    def refuse_captured(self, target: Any, how: str) -> None:
        """The error where an array that is no input and no result would be written into."""
        captured = type(target) is not Recorded
        if not captured and target.traced_node.kind == RESULT and not target.traced_node.fresh:
            root = target.traced_node.root()
            captured = any(
                node.root() is root and is_a(node.value, np.ndarray) for node in self.constants.values()
            ) and self.captured.shares(target.traced_value)
        if captured:
            raise refusal(
                f"{how} writes into an array that the function captured, which a graph would do once only",
                "pass the array as an argument; for an array made in the function, write "
                "np.zeros_like(x), x.copy(), or x.__array_namespace__().zeros(shape)",
            )

    def add(
        self,
        kind: str,
        name: str,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        *,
        writes: Sequence[Any] = (),
        fresh: bool = False,
        varies: bool = False,
        loose: bool = False,
        optional: bool = False,
    ) -> Any:
        """Run a call on the real values and write it down.

        Args:
            writes: What it writes into.
            fresh: Whether the memory of its results is their own.
            varies: Whether the shape of a result depends on values.
            loose: Whether the dtype of a result does.
            optional: Whether a result may be None, or what is written into.
        """
        self.check_open()
        if self.running:
            raise refusal(
                f"A function that {self.running} calls used a tensor of the recorded function",
                f"give it all it needs as arguments of {self.running}, or compute it before",
            )
        kwargs = kwargs or {}
        for target in writes:
            self.refuse_captured(target, f"{name}")
        if self.watch is not None:
            self.watch.look()
        frame = user_frame()
        op = Op(kind, name, call, tuple(self.term(arg) for arg in args), self.term(kwargs), line_of(frame))
        if self.errors is not None:
            op.errors = self.errors.said()
        result = self.run(op, caller_at(frame), *function_of(call, real(args)), real(kwargs))
        op.writes = [target.traced_node for target in writes]
        for target in writes:
            if any(node.root() is target.traced_node.root() for node in self.inputs):
                self.captured.written.append(target.traced_value)
        op.fresh = fresh
        used = [*nodes_in(op.args), *nodes_in(op.kwargs)]
        origin = Node(RESULT, -1, None)  # what all results of the call have in common
        origin.sources = frozenset[int]().union(*(node.sources for node in used))
        origin.varies = varies or any(node.varies for node in used)
        origin.loose = loose or any(node.loose for node in used) or (BY_VALUE and mixed(used))
        op.made, wrapped = (None, None) if optional else self.wrap(op, result, origin)
        self.ops.append(op)
        self.connect(op)
        return wrapped

    def run(self, op: Op, caller: Callable[..., Any], *given: Any) -> Any:
        """Call it, and remember an error that another call need not give: if the function goes on, it has branched."""
        self.running = op.name
        try:
            if self.errors is None:
                return caller(*given)
            with self.errors.as_outside(op.errors):
                return caller(*given)
        except Exception as error:
            without_caller(error)
            # Some are a matter of dtypes and numbers of axes, which are guards.
            if not isinstance(error, (TypeError, AXIS_ERROR)):
                self.failed = self.failed or (op, f"{type(error).__name__} ({shorten(str(error))})")
            raise
        finally:
            self.running = ""

    def check_failed(self) -> None:
        """Refuse a function that caught such an error."""
        if self.failed is not None:
            op, error = self.failed
            raise RecordingError(
                f"{op.name} raised {error}, which the function caught, at {quoted_place(*op.line)}whether it is raised "
                "may differ from call to call, and a graph goes one way: compute with arrays instead (np.where for a "
                "branch), or leave this step out of the compiled function"
            )

    def connect(self, op: Op) -> None:
        """Note which nodes may share memory after an operation, and what is known of its shape."""
        from .dims import proven_dims

        if not op.fresh:
            used = [*nodes_in(op.args), *nodes_in(op.kwargs)]
            arrays = [node for node in (*used, *op.outputs) if issubclass(node.type, np.ndarray)]
            for node in arrays if op.outputs else ():
                node.share(arrays[0])
        proven_dims(op)

    def wrap(self, op: Op, result: Any, origin: Node) -> tuple[Any, Any]:
        """A result as nodes and as what the function goes on with."""
        if is_a(result, (np.ndarray, np.generic)):
            self.check_items(result)
            node = Node(RESULT, self.count, result)
            self.count += 1
            node.sources, node.varies, node.loose = origin.sources, origin.varies, origin.loose
            node.fresh = op.fresh
            if not (self.dynamic or node.varies):
                node.dims = node.shape
            op.outputs.append(node)
            return node, Recorded(self, node, result)
        if is_a(result, (list, tuple)):
            pairs = [self.wrap(op, item, origin) for item in result]
            made, wrapped = [a for a, _ in pairs], [b for _, b in pairs]
            if is_a(result, list):
                return made, wrapped
            cls = class_of(result)
            return tuple(made), tuple(wrapped) if cls is tuple else cls(*wrapped)
        raise needs_value(f"{op.name}, whose result is a Python {type(result).__name__},")


def function_of(call: Any, args: Any) -> tuple[Any, Any]:
    """What is called, and with what: a method without a frame of ours around it."""
    return (getattr(args[0], call.name), args[1:]) if type(call) is MethodCall else (call, args)


def real(value: Any) -> Any:
    """An argument with the first call's values in place of what is recorded."""
    cls = class_of(value)
    if cls is Recorded:
        return value.traced_value
    if cls is Size:
        return value.value
    if issubclass(cls, list):
        return [real(item) for item in value]
    if issubclass(cls, tuple):
        return tuple(real(item) for item in value)
    if issubclass(cls, dict):
        return {key: real(item) for key, item in value.items()}
    if cls is slice:
        return slice(real(value.start), real(value.stop), real(value.step))
    return value
