"""The recorded array: stands for a tensor while the function runs, and writes down what is done with it.

It is no subclass of ndarray: numpy would take a subclass's numbers without a word (`np.asarray`). `isinstance` is
answered by `__class__`, and it carries the real value, so that the first call gives its results, too.
"""

from __future__ import annotations

import operator
import weakref

import numpy as np

from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, short_name, with_article

from . import sizes
from .kinds import is_a
from .refusals import attribute_advice, is_own_caller, needs_value, refusal
from .sizes import COMPARISONS, UNARY, Size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .tape import Node, Tape

__all__: list[str] = []

# The operators of Python, as they are written: those of sizes, and one more.
BINARY = {**sizes.BINARY, "matmul": "@"}
# Methods that give memory of their own, whatever they are called with but `out=`.
FRESH = {
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "copy", "cumprod", "cumsum", "dot"),
    *("flatten", "max", "mean", "min", "nonzero", "prod", "repeat", "searchsorted", "std", "sum", "take"),
    *("trace", "var", "choose", "clip", "compress", "ptp"),
}
SHARING = {
    "astype",
    "diagonal",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "transpose",
    "view",
    "conj",
    "conjugate",
    "getfield",
    "newbyteorder",
    "round",
}
WRITING = {"byteswap", "fill", "partition", "put", "setfield", "sort"}
ATTRIBUTES = ("T", "imag", "mT", "real")
# Where `out` stands among the positional arguments.
OUT_AT = {
    "all": 1,
    "any": 1,
    "argmax": 1,
    "argmin": 1,
    "choose": 1,
    "clip": 2,
    "compress": 2,
    "cumprod": 2,
    "cumsum": 2,
    "dot": 1,
    "max": 1,
    "mean": 2,
    "min": 1,
    "prod": 2,
    "ptp": 1,
    "round": 1,
    "std": 2,
    "sum": 2,
    "take": 2,
    "trace": 4,
    "var": 2,
}
VALUES = (
    "dump",
    "dumps",
    "item",
    "tobytes",
    "tofile",
    "tolist",
    "tostring",
    "__dlpack__",
    "__dlpack_device__",
)
MEMORY = ("base", "ctypes", "data", "flags", "flat", "resize", "setflags", "strides")


class Recorded:
    """A tensor of a recording: its node in the graph, and its value in the first call."""

    __slots__ = ("__weakref__", "traced_node", "traced_tape", "traced_value")
    __array_priority__ = 1000.0

    def __init__(self, tape: Tape, node: Node, value: Any) -> None:
        self.traced_tape, self.traced_node, self.traced_value = tape, node, value
        tape.stand_ins.append(weakref.ref(self))

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return class_of(self.traced_value)

    # What numpy hands over.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .functions import call_ufunc

        return call_ufunc(self.traced_tape, ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .functions import call_function

        if any(cls not in (Recorded, Size) and not issubclass(cls, np.ndarray) for cls in types):
            return NotImplemented
        return call_function(self.traced_tape, function, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        from .namespace import Namespace

        return Namespace(self.traced_tape, np)

    # Facts: dtype and ndim are guards of the graph, sizes are symbolic.

    @property
    def dtype(self) -> Any:
        self.traced_tape.use(self.traced_node)
        if self.traced_node.loose:
            raise needs_value("The dtype of a result that has the one its values ask for, such as np.linalg.eig(),")
        return self.traced_value.dtype

    @property
    def ndim(self) -> int:
        self.traced_tape.use(self.traced_node)
        return int(self.traced_value.ndim)

    @property
    def itemsize(self) -> int:
        return int(self.dtype.itemsize)

    @property
    def device(self) -> str:
        return "cpu"

    @property
    def shape(self) -> tuple[Any, ...]:
        self.traced_tape.use(self.traced_node)
        return tuple(self._size(axis) for axis in range(self.traced_value.ndim))

    @property
    def size(self) -> Any:
        count: Any = 1
        for axis, size in enumerate(self.shape):
            count = size if axis == 0 else count * size
        return count

    @property
    def nbytes(self) -> Any:
        return self.size * self.itemsize

    def _size(self, axis: int) -> Any:
        dim, value = self.traced_node.dims[axis], self.traced_value.shape[axis]
        return dim if type(dim) is int else Size(self.traced_tape, dim, value)

    def force_sizes(self) -> None:
        for size in self.shape:
            operator.index(size)

    def __len__(self) -> int:
        if not self.traced_value.ndim:
            raise TypeError("len() of unsized object")
        return operator.index(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if not self.traced_value.ndim:
            raise TypeError("iteration over a 0-d array")
        return iter([self[index] for index in range(len(self))])

    def __hash__(self) -> int:
        if isinstance(self.traced_value, np.generic):
            raise needs_value("hash()")
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __repr__(self) -> str:
        facts = f"{self.traced_value.dtype}, shape {self.traced_value.shape}"
        if not self.traced_tape.open:
            return f"<an array of {facts}, of a recording that has ended>"
        if is_own_caller():
            return f"<recorded array of {facts}>"
        raise needs_value("The text of a tensor (str(), repr(), print() and the like)")

    # Items, views and writing.

    def __getitem__(self, key: Any) -> Any:
        varies = has_mask(key)
        return self.traced_tape.add("item", "[]", operator.getitem, (self, key), varies=varies)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.traced_tape.add("store", "x[...] = y", operator.setitem, (self, key, value), writes=[self], optional=True)

    def __delitem__(self, key: Any) -> None:
        raise ValueError("cannot delete array elements")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Recorded.__slots__:
            object.__setattr__(self, name, value)
        elif name in ("real", "imag"):
            getattr(self, name)[...] = value
        else:
            raise refusal(
                f"Setting .{name} of a recorded array is not recorded", "make a new one with x.reshape() or x.view()"
            )

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        self.traced_value.to_device(device, stream=stream)  # which refuses other devices
        return self

    def __copy__(self) -> Any:
        return self.copy(order="K")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy(order="K")

    def __divmod__(self, other: Any) -> Any:
        return self.traced_tape.add("function", "divmod", divmod, (self, other), fresh=True)

    def __rdivmod__(self, other: Any) -> Any:
        return self.traced_tape.add("function", "divmod", divmod, (other, self), fresh=True)

    def __round__(self, digits: Any = None) -> Any:
        raise needs_value("round()")

    def __getattr__(self, name: str) -> Any:
        if name in ("__array_interface__", "__array_struct__") or not hasattr(self.traced_value, name):
            raise AttributeError(f"{type(self.traced_value).__name__!r} object has no attribute {name!r}")
        kind = short_name(type(self.traced_value))
        what = f"The attribute .{name} of {'an array' if kind == 'ndarray' else with_article(kind)} is not recorded"
        raise refusal(what, attribute_advice(self.traced_value, name))


def has_mask(key: Any) -> bool:
    """Whether an index takes as many items as an array of bools is true."""
    keys: Any = key if class_of(key) is tuple else (key,)
    return any(is_a(k, list) or (is_a(k, (np.ndarray, np.generic)) and k.dtype == bool) for k in keys)


def binary(kind: str, name: str, sign: str, swapped: bool) -> Callable[[Recorded, Any], Any]:
    function = getattr(operator, f"__{name}__")

    def method(self: Recorded, other: Any) -> Any:
        if getattr(class_of(other), "__array_ufunc__", self) is None:
            return NotImplemented
        pair = (other, self) if swapped else (self, other)
        return self.traced_tape.add("operator", sign, function, pair, fresh=True)

    return method


def in_place(name: str, sign: str) -> Callable[[Recorded, Any], Any]:
    function = getattr(operator, f"__i{name}__")
    plain = getattr(operator, f"__{name}__")

    def method(self: Recorded, other: Any) -> Any:
        if isinstance(self.traced_value, np.generic):
            return plain(self, other)
        self.traced_tape.add("in place", f"x {sign}= y", function, (self, other), writes=[self], optional=True)
        return self

    return method


def unary(name: str, sign: str) -> Callable[[Recorded], Any]:
    function = getattr(operator, f"__{name}__")
    return lambda self: self.traced_tape.add("operator", sign, function, (self,), fresh=True)


def method_of(name: str) -> Callable[..., Any]:
    def method(self: Recorded, *args: Any, **kwargs: Any) -> Any:
        if name == "squeeze" and not args and kwargs.get("axis") is None:
            self.force_sizes()  # the number of axes depends on them
        at = OUT_AT.get(name, len(args))
        out = kwargs.get("out", args[at] if at < len(args) else None)
        writes = [] if out is None else [out]
        if name in WRITING and (name != "byteswap" or args or kwargs):
            writes.append(self)
        known = None if self.traced_node.loose else self.traced_value.dtype
        fresh = (name in FRESH and out is None) or (
            name == "astype" and known is not None and np.dtype(dtype_in(args, kwargs)) != known
        )
        varies = name in ("nonzero", "compress") or (name in ("repeat", "reshape") and has_tensor(args, kwargs))
        optional = name in WRITING and name != "byteswap"
        call = MethodCall(name)
        return self.traced_tape.add(
            "method", name, call, (self, *args), kwargs, writes=writes, fresh=fresh, varies=varies, optional=optional
        )

    method.__name__ = name
    return method


def dtype_in(args: Any, kwargs: Any) -> Any:
    return kwargs["dtype"] if "dtype" in kwargs else args[0]


def has_tensor(args: Any, kwargs: Any) -> bool:
    return any(type(value) is Recorded for value in (*args, *kwargs.values()))


class MethodCall:
    """A method by its name, called on the first argument."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, target: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(target, self.name)(*args, **kwargs)


def refused_value(name: str) -> Callable[..., Any]:
    text = {
        "__bool__": "A branch (if, while, and, or, not)",
        "__contains__": "`in`",
        "__format__": "Formatting",
        "__reduce_ex__": "Pickling or copying",
    }
    short = text.get(name, name.strip("_") + "()" if name.startswith("__") else f".{name}()")

    def method(self: Recorded, *args: Any, **kwargs: Any) -> Any:
        self.traced_tape.check_open()
        if name == "__array__":
            raise refusal(
                "np.asarray() of a tensor, or whatever else makes an array of it (np.array([x, y]), y[:] = x), needs "
                "its value, which differs from call to call",
                "use a function that numpy hands over: np.stack, not np.array, for a list of tensors; write into "
                "np.zeros_like(x), not into np.zeros(shape); to read an array that was captured at an index, pass it "
                "as an argument, or write np.take_along_axis(table, index, 0)",
            )
        if name == "__index__":
            raise refusal(
                "A tensor as an index, or as a number of items, needs its value, which differs from call to call",
                "pass the array as an argument, of which table[index] is recorded; "
                "np.take_along_axis(table, index, 0) reads one that is captured",
            )
        if name in ("__float__", "__int__", "__complex__"):  # numpy calls them for `y[0] = x[0]`
            raise needs_value(short, "np.where for a branch, np.zeros_like(x) for an array to write into")
        raise needs_value(short)

    return method


def attribute(name: str) -> property:
    def get(self: Recorded) -> Any:
        return self.traced_tape.add("attribute", name, operator.attrgetter(name), (self,))

    return property(get)


def refused_memory(name: str) -> property:
    def get(self: Recorded) -> Any:
        self.traced_tape.check_open()
        raise refusal(
            f"The attribute .{name} is about the memory of an array, which differs from call to call",
            "x.reshape(-1) and x.ravel() give all items in a row",
        )

    return property(get)


for _name, _sign in BINARY.items():
    setattr(Recorded, f"__{_name}__", binary("operator", _name, _sign, False))
    setattr(Recorded, f"__r{_name}__", binary("operator", _name, _sign, True))
    setattr(Recorded, f"__i{_name}__", in_place(_name, _sign))
for _name, _sign in COMPARISONS.items():
    setattr(Recorded, f"__{_name}__", binary("operator", _name, _sign, False))
for _name, _sign in UNARY.items():
    setattr(Recorded, f"__{_name}__", unary(_name, _sign))
for _name in sorted((FRESH | SHARING | WRITING) & {*dir(np.ndarray)}):
    setattr(Recorded, _name, method_of(_name))
for _name in ATTRIBUTES:
    setattr(Recorded, _name, attribute(_name))
for _name in MEMORY:
    setattr(Recorded, _name, refused_memory(_name))
for _name in ("bool", "int", "float", "complex", "index", "array", "contains", "format", "reduce_ex"):
    setattr(Recorded, f"__{_name}__", refused_value(f"__{_name}__"))
for _name in VALUES:
    setattr(Recorded, _name, refused_value(_name))
