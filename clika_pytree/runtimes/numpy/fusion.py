"""Elementwise operations: which may write into memory that dies, and which run block by block.

Both are for C-contiguous arrays of known equal shape only. There numpy's own result is C-contiguous, too, and computed
by the same loops over the same contiguous items, so neither bits nor layouts can differ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from clika_pytree.typing import TYPE_CHECKING

from .blocks import few, may_alias
from .dims import Assumed, first_size, of_input
from .sizes import Dim, dims_in
from .tape import CONSTANT, INPUT, Node, SizeTerm, nodes_in
from .ufuncs import ufunc_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .dims import Dims
    from .tape import Op

__all__: list[str] = []

NUMERIC = "biufc"
# Operations whose result is C-contiguous where what they take is.
KEEPING = {
    "copy",
    "astype",
    "zeros_like",
    "ones_like",
    "empty_like",
    "where",
    "clip",
    "concatenate",
    "stack",
    "reshape",
}
REDUCING = {"all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var"}


def has_plain_dtype(node: Node) -> bool:
    """Whether np.empty() can be told the dtype by its name."""
    return node.dtype.kind in NUMERIC and node.dtype.isnative and np.dtype(node.dtype.name).num == node.dtype.num


def is_of_inputs(size: SizeTerm) -> bool:
    return all(dim.node.kind == INPUT for dim in dims_in(size.expression))


class Count(NamedTuple):
    """A number of items: that of an input times a ratio, which is that of the first call; or known."""

    node: Node | None
    ratio: float


class Analysis:
    """Facts of the operations of a graph that decide what may be done with them."""

    def __init__(
        self, ops: Sequence[Op], outputs: Sequence[Any], inputs: Sequence[Node], layouts: Sequence[str]
    ) -> None:
        self.ops = ops
        self.assumed = Assumed()
        self.layouts = layouts
        self.leans: dict[int, set[int]] = {}  # by node, inputs whose layout that rests on
        self.last: dict[int, int] = {}  # by node, the last operation that mentions it
        for index, op in enumerate(ops):
            for node in (*nodes_in(op.args), *nodes_in(op.kwargs), *op.outputs):
                self.last[id(node)] = index
        self.kept = {id(node) for node in nodes_in(list(outputs))}
        self.shared = {id(op_node.root()) for op in ops for op_node in op.outputs if op_node.root() is not op_node}
        for op in ops:
            self.assumed.learn(op)
            self.note_layout(op)
        self.elementwise = [self.is_elementwise(op) for op in ops]
        self.products = [self.is_product(op) and self.is_lent(op.outputs[0]) for op in ops]

    def rests_on(self, node: Node) -> set[int] | None:
        """The inputs whose C layout makes this node C-contiguous, None where it may not be."""
        if node.ndim == 0:
            return set()
        if not node.is_array:
            return None
        if node.kind == INPUT:
            return {node.index} if self.layouts[node.index] == "C" else None
        if node.kind == CONSTANT:
            flags = node.value.flags
            return set() if flags.c_contiguous and flags.aligned else None
        return self.leans.get(id(node))

    def note_layout(self, op: Op) -> None:
        if len(op.outputs) != 1 or not op.outputs[0].is_array:
            return
        out, name = op.outputs[0], op.name.rpartition(".")[2]
        operands = [node for node in nodes_in(op.args) if node.dtype is not None]
        rests = [self.rests_on(node) for node in operands]
        known = [r for r in rests if r is not None]
        ordered = "order" in op.kwargs or any(type(arg) is str and len(arg) == 1 for arg in op.args)
        if len(known) < len(rests) or ordered:
            return
        product = op.name in ("@", "np.matmul") and not op.kwargs and all(node.ndim <= 2 for node in operands)
        keeping = op.kind in ("method", "function") and name in KEEPING and not (name == "reshape" and op.kwargs)
        reducing = op.kind in ("method", "function") and name in REDUCING and out.ndim <= 2 and operands[0].ndim <= 2
        if ufunc_of(op) is not None or (op.kind == "operator" and op.name == "**") or product or keeping or reducing:
            self.leans[id(out)] = set().union(*known)

    def is_elementwise(self, op: Op) -> bool:
        """Whether its result may be given memory: numbers only, all of it C-contiguous, of a known shape."""
        if ufunc_of(op) is None or len(op.outputs) != 1 or op.errors:
            return False
        out = op.outputs[0]
        if not out.is_array or out.ndim == 0 or not has_plain_dtype(out) or self.rests_on(out) is None:
            return False
        if self.is_small(out):
            return False
        return all(
            arg.dtype is not None and not arg.loose and arg.dtype.kind in NUMERIC and arg.dtype.isnative
            if isinstance(arg, Node)
            else type(arg) in (bool, int, float, complex) or (type(arg) is SizeTerm and is_of_inputs(arg))
            for arg in op.args
        )

    def dims(self, node: Node) -> Dims:
        return self.assumed.of(node)

    def dying(self, node: Any, index: int) -> bool:
        """Whether nobody looks at a node's memory after this operation."""
        return isinstance(node, Node) and self.last[id(node)] <= index and self.is_private(node)

    def is_private(self, node: Node) -> bool:
        """Whether a node's memory is its own, and nobody sees it after the run."""
        return (
            node.kind not in (INPUT, CONSTANT)
            and node.fresh
            and node.is_array
            and node.ndim > 0
            and node.alias is None
            and id(node) not in self.shared
            and id(node) not in self.kept
            and self.rests_on(node) is not None
        )

    def is_lent(self, node: Node) -> bool:
        """Whether a node may have memory that is kept from run to run: no result of the graph takes it over."""
        while self.is_private(node):
            index = self.last[id(node)]
            heir = self.ops[index].outputs[0] if self.elementwise[index] else None
            if heir is None or heir is node or not self.fits(node, heir):
                return True
            node = heir
        return False

    def is_product(self, op: Op) -> bool:
        """Whether it is a product of two matrices whose result may be given memory."""
        if op.name not in ("@", "np.matmul") or op.kwargs or op.errors or len(op.args) != 2:
            return False
        nodes = (*op.args, *op.outputs)
        plain = all(isinstance(node, Node) and node.is_array and node.ndim == 2 and not node.loose for node in nodes)
        return plain and all(map(has_plain_dtype, nodes)) and not self.is_small(op.outputs[0])

    def is_small(self, node: Node) -> bool:
        """Whether a node has so few items that allocating costs less than `out=` does, whatever is passed."""
        count = self.count_of(self.dims(node))
        return count is not None and count.node is None and count.ratio < few(node)

    def decision(self) -> tuple[bool, tuple[Node, int] | None]:
        """Whether the inputs decide if the memory of the results matters; and, where it is not known beforehand, the
        input that tells, and from how many items of it on."""
        outputs = [op.outputs[0] for k, op in enumerate(self.ops) if self.elementwise[k] or self.products[k]]
        counts = [self.count_of(self.dims(out)) for out in outputs]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return False, None
        tests = [
            (
                count.ratio * math.prod(max(1, size) for size in count.node.shape),
                count.node,
                int(few(out) / count.ratio),
            )
            for count, out in zip(known, outputs, strict=True)
            if count.node is not None
        ]
        return True, max(tests, key=lambda test: test[0])[1:] if len(tests) == len(known) > 0 else None

    def count_of(self, dims: Dims) -> Count | None:
        """How many items an array of these dims has, None where that is no matter of the inputs."""
        if not all(map(of_input, dims)):
            return None
        count = math.prod(max(1, first_size(dim)) for dim in dims)
        found = next((dim.node for dim in dims if type(dim) is Dim), None)
        if found is None:
            return Count(None, math.prod(first_size(dim) for dim in dims))
        return Count(found, count / math.prod(max(1, size) for size in found.shape))

    def fits(self, node: Node, out: Node) -> bool:
        """Whether a result has a node's dtype and shape, and can take its place."""
        return node.dtype == out.dtype and self.dims(node) == self.dims(out) and may_alias(out.dtype)

    def joins(self, op: Op, dims: Dims) -> bool:
        """Whether an elementwise operation can run by blocks of rows of arrays of that shape."""
        return self.dims(op.outputs[0]) == dims and all(
            not isinstance(arg, Node) or self.part(arg, dims) is not None for arg in op.args
        )

    def part(self, node: Node, dims: Dims) -> bool | None:
        """Whether a block takes rows of an operand, or all of it (False); None where that is not known."""
        own = self.dims(node)
        if len(own) < len(dims) or own[0] == 1:
            return False if own != dims else None
        return True if own[0] == dims[0] and own[0] != 1 else None

    def runs(self) -> list[tuple[int, int]]:
        """The longest stretches of elementwise operations of one shape, as first and end; single operations too."""
        found: list[tuple[int, int]] = []
        index = 0
        while index < len(self.ops):
            end = index + 1
            if self.elementwise[index]:
                dims = self.dims(self.ops[index].outputs[0])
                full = any(isinstance(arg, Node) and self.dims(arg) == dims for arg in self.ops[index].args)
                if full and self.joins(self.ops[index], dims):
                    while end < len(self.ops) and self.elementwise[end] and self.joins(self.ops[end], dims):
                        end += 1
            found.append((index, end))
            index = end
        return found
