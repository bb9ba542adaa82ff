"""What a library of tensors tells the boundaries about itself. `Runtime` is the class to derive from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol

from clika_pytree._native import PyTreeTypeError, PyTreeValueError
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, short_name

from .errors import RecordingError as RecordingError
from .file_dtypes import FILE_DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from os import PathLike
    from typing import TypeAlias

    # Takes one list of tensors, gives one list of tensors and of plain values.
    FlatFn: TypeAlias = Callable[[list[Any]], list[Any]]

__all__ = [
    "Executable",
    "Failed",
    "Graph",
    "Guards",
    "Host",
    "Misfit",
    "RecordingError",
    "Runtime",
    "TensorGuards",
    "TensorSpec",
    "array_of_host",
    "host_of_array",
]


class Failed(Exception):
    """Raised by `Runtime.wait`: the computation of the tensor at `index` failed with `error`."""

    index: int
    error: BaseException

    def __init__(self, index: int, error: BaseException) -> None:
        super().__init__(index, error)
        self.index, self.error = index, error


class Misfit(Exception):
    """Raised by `Executable.run`, where its guards are checked by it: it is a program for other tensors."""

    # What the native call of a compiled function looks for.
    _has_other_results = True


class TensorSpec(NamedTuple):
    """What is known of a tensor without its elements.

    Attributes:
        dtype: The name of its dtype, such as `"float32"`.
        shape: Its sizes.
        device: Where its elements are.
        extra: What else tells two tensors apart for this runtime; any hashable value.
    """

    dtype: str
    shape: tuple[Any, ...]
    device: str = "cpu"
    extra: Hashable = None

    def __str__(self) -> str:
        place = "" if self.device == "cpu" else f" on {self.device}"
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]{place}"


class Host(NamedTuple):
    """The elements of a tensor in the memory of this process: in C order, little-endian.

    Attributes:
        dtype: The name that a file gives the dtype, such as `"F32"`.
        shape: The sizes.
        buffer: An object with the buffer protocol.
    """

    dtype: str
    shape: tuple[int, ...]
    buffer: Any


def dtype_name(dtype: Any) -> str:
    """`float32`, without the library that it is of."""
    return str(dtype).rpartition(".")[2]


def host_of_array(array: Any) -> Host:
    """The elements of an array of numpy, for a runtime that can give its tensors as one.

    Args:
        array: An array of a dtype that a file can hold.

    Returns:
        The elements; in the memory of the array where they lie as they have to.

    Example:
        >>> import numpy as np
        >>> from clika_pytree.runtimes.protocol import host_of_array
        >>> host_of_array(np.ones((2, 3), np.float32))[:2]
        ('F32', (2, 3))
    """
    from .numpy import host

    return host.to_host(array)


def array_of_host(host: Host) -> Any:
    """The array of numpy that has some elements, for a runtime that can make a tensor of one.

    Args:
        host: What `from_host` was given.

    Returns:
        The array, in the same memory where that is aligned for it.

    Example:
        >>> from clika_pytree.runtimes.protocol import Host, array_of_host
        >>> array_of_host(Host("U8", (3,), bytearray(b"abc")))
        array([97, 98, 99], dtype=uint8)
    """
    from .numpy.host import from_host

    return from_host(host, "cpu")


class Guards(Protocol):
    """Which tensors a graph is right for, by their places in the list. One without a fact may be any tensor."""

    @property
    def facts(self) -> Mapping[int, Any]:
        """What must hold of a tensor whatever its sizes: `type`, `dtype`, `ndim`, and `layout` or None."""
        ...

    @property
    def sizes(self) -> Mapping[tuple[int, int], int]:
        """The size that a tensor must have along an axis."""
        ...

    @property
    def conditions(self) -> Sequence[Any]:
        """Other conditions on sizes: `condition.function(tensors)` must be `condition.value`."""
        ...

    @property
    def places(self) -> Mapping[tuple[int, int], str]:
        """The line of the function for which a size is asked for, by file and number, where that is known."""
        ...


class Fact(NamedTuple):
    """What must hold of a tensor whatever its sizes."""

    type: type[Any]
    dtype: Any
    ndim: int
    layout: str | None = None


class TensorGuards:
    """The guards of a graph that is right for tensors like some others: of their dtypes, and of their sizes but a few.

    Args:
        tensors: Those that a graph was made for.
        free: The sizes that may be any, as `(tensor, axis)`.
        is_checked: Whether the program itself raises `Misfit` for other tensors. They are then held against the guards
            by it alone while all calls are of one kind, which saves reading what they are.

    Example:
        >>> import numpy as np
        >>> from clika_pytree.runtimes.protocol import TensorGuards
        >>> guards = TensorGuards([np.ones((2, 3)), np.ones(4)], free=[(0, 0)])
        >>> guards.sizes
        {(0, 1): 3, (1, 0): 4}
    """

    is_checked: bool

    def __init__(
        self, tensors: Sequence[Any], free: Iterable[tuple[int, int]] = (), *, is_checked: bool = False
    ) -> None:
        loose, self.is_checked = set(free), is_checked
        shapes = [tuple(tensor.shape) for tensor in tensors]
        self.facts: Mapping[int, Any] = {
            index: Fact(class_of(tensor), tensor.dtype, len(shape))
            for index, (tensor, shape) in enumerate(zip(tensors, shapes, strict=True))
        }
        self.sizes: Mapping[tuple[int, int], int] = {
            (index, axis): size
            for index, shape in enumerate(shapes)
            for axis, size in enumerate(shape)
            if (index, axis) not in loose
        }
        self.conditions: Sequence[Any] = []
        self.places: Mapping[tuple[int, int], str] = {}

    def check(self, tensors: Sequence[Any], names: Sequence[str]) -> None:
        """Refuse other tensors, where nobody else holds them against these guards: in `run` of a traced graph.

        Args:
            tensors: What the graph is to run for.
            names: What the error calls them.

        Raises:
            PyTreeValueError: (a `ValueError`) one of them has another dtype or another size.
        """
        for index, (name, tensor) in enumerate(zip(names, tensors, strict=True)):
            fact = self.facts[index]
            sizes = tuple(self.sizes.get((index, axis), "*") for axis in range(fact.ndim))
            asked = TensorSpec(dtype_name(fact.dtype), sizes)
            found = TensorSpec(dtype_name(tensor.dtype), tuple(tensor.shape))
            fits = asked.dtype == found.dtype and len(found.shape) == fact.ndim
            if not fits or any(a not in ("*", b) for a, b in zip(sizes, found.shape, strict=True)):
                raise PyTreeValueError(
                    f"the graph was traced for {asked} as {name}, got {found}; trace the function again for such"
                )


class Executable(Protocol):
    """A compiled function of a list of tensors."""

    @property
    def guards(self) -> Guards | None:
        """None for a runtime that guards its tensors itself."""
        ...

    @property
    def nodes(self) -> int | None:
        """How many operations it has, where that is known."""
        ...

    def run(self, tensors: Sequence[Any], /) -> Sequence[Any]:
        """The results for these tensors."""
        ...

    def text(self) -> str:
        """The program in a form that a person can read."""
        ...


class Graph(Protocol):
    """A traced function of a list of tensors. Where its runtime can write it to a file, it has `save(path)`, too."""

    @property
    def inputs(self) -> Sequence[str]:
        """The names of the tensors it takes."""
        ...

    @property
    def outputs(self) -> Sequence[str]:
        """The names of its results."""
        ...

    def run(self, tensors: Sequence[Any], /) -> Sequence[Any]:
        """The results for these tensors; raises where it was not traced for such."""
        ...

    def text(self) -> str:
        """The program in a form that a person can read."""
        ...


class Runtime(ABC):
    """A library of tensors, and how its functions are compiled, traced and waited for.

    A runtime that only holds tensors answers `is_tensor_type` and `describe`; the other methods are for what it can do
    beyond that, and say so where they are missing.

    Attributes:
        name: What `compile(runtime=...)` and messages call it.
        modules: The modules whose classes may be tensors: `is_tensor_type` is asked of a class where it, or one of its
            bases, is defined in one of these or in a module below it.
        own_guards: Whether what `compile` gives checks dtypes and sizes itself. Where it does not, its `guards` say
            what is to be checked.
        lazy: Whether a tensor may be handed on before its elements are computed.
        described_by: Where guards read what a tensor is, if not at its own `dtype` and `shape`: the name of an
            attribute whose value has these two and is equal for tensors that are alike in all respects, most often the
            same object; then names of other attributes of that value that count beside dtype and sizes.

    Example:
        >>> import clika_pytree
        >>> from clika_pytree.runtimes.protocol import Runtime, TensorSpec
        >>> class Lazy(Runtime):
        ...     name, modules, lazy = "lazy", ("lazy_arrays",), True
        ...     def is_tensor_type(self, cls):
        ...         return cls.__name__ == "LazyArray"
        ...     def describe(self, x):
        ...         return TensorSpec(x.dtype, x.shape)
        ...     def wait(self, tensors):
        ...         for tensor in tensors:
        ...             tensor.compute()
        >>> runtime = clika_pytree.register_runtime(Lazy())
    """

    name: str
    modules: tuple[str, ...]
    own_guards: bool = True
    lazy: bool = False
    described_by: tuple[str, ...] = ()

    @abstractmethod
    def is_tensor_type(self, cls: type[Any], /) -> bool:
        """Whether instances of a class are tensors. Asked once for each class."""

    @abstractmethod
    def describe(self, x: Any, /) -> TensorSpec:
        """What is known of a tensor, or of something that stands for one, without its elements."""

    def compile(
        self, flat_fn: FlatFn, tensors: Sequence[Any], dynamic: bool, names: Sequence[str], /
    ) -> tuple[Sequence[Any] | None, Executable]:
        """Compile a function for tensors like these.

        Args:
            flat_fn: Takes one list of tensors, gives one list of tensors.
            tensors: Those of the call at hand.
            dynamic: Whether one program should serve all sizes of the first axis.
            names: What messages call the tensors, such as `params['w']`.

        Returns:
            The results for these tensors where compiling computed them, else None; and the program.
        """
        raise self.cannot("compile functions")

    def trace(
        self,
        flat_fn: FlatFn,
        stand_ins: Sequence[Any],
        input_names: Sequence[str],
        output_names: Sequence[str] | None,
        /,
    ) -> Graph:
        """Run a function once over stand-ins and give its graph. Results without names are `result[0]` and so on."""
        raise self.cannot("trace functions")

    def load_graph(self, path: str | PathLike[str], /) -> Graph:
        """Read a graph that its `save` wrote."""
        raise self.cannot("read graphs")

    def wait(self, tensors: Sequence[Any], /) -> None:
        """Return once all tensors hold their elements; raise `Failed` for the first whose computation failed.

        Called on the thread that called `eval`, with no tensor twice.
        """
        if self.lazy:
            raise self.cannot("wait for its tensors")

    def stored_as(self, x: Any, /) -> tuple[str, tuple[int, ...]]:
        """What a file calls the dtype of a tensor, or its own name for one that no file has; and the shape."""
        from .answers import tensor_spec

        spec = tensor_spec(self, x)
        return FILE_DTYPES.get(spec.dtype, spec.dtype), tuple(spec.shape)

    def to_host(self, x: Any, /) -> Host:
        """The elements of a tensor, of the dtype and shape that `stored_as` says."""
        raise self.cannot("hand out the elements of its tensors")

    def from_host(self, host: Host, device: str, /) -> Any:
        """A tensor of these elements; it may share their memory where the device is the processor."""
        raise self.cannot("make tensors of elements")

    def from_memory(
        self, entries: Sequence[tuple[str, str, tuple[int, ...], int, int]], memory: Any, device: str, /
    ) -> list[Any]:
        """The tensors of some entries `(name, dtype, shape, first byte, bytes)` of a file that lies in memory."""
        return [
            self.from_host(Host(dtype, shape, memory[start : start + nbytes]), device)
            for _, dtype, shape, start, nbytes in entries
        ]

    def same_memory(self, x: Any, /) -> Hashable:
        """A value that two tensors have in common exactly if they are the same elements at the same place, or None."""
        return None

    def is_traced(self, tensors: Sequence[Any], /) -> bool:
        """Whether one of them stands for a tensor, as the library itself is tracing or transforming a function.

        A compiled function that is called with such runs as it is, as a part of that trace.
        """
        return False

    def module_state(self, obj: Any, /) -> dict[str, Any] | None:
        """The tensors of an object that this library calls a module, by name; None for every other object.

        A module among the arguments of a compiled function is no plain value: these tensors are inputs of its graph,
        read at each call. It is asked of what is no tensor and whose class, or one of its bases, is defined in one of
        `modules`. A name is the path to the tensor in the module, such as `"head.weight"`.
        """
        return None

    def with_module_state(self, obj: Any, state: Mapping[str, Any], /) -> AbstractContextManager[None]:
        """A block in which a module has other tensors, and after which it has its own again.

        Functions are compiled in it: what stands for the tensors is in their places. As it is here, it sets attributes.

        Args:
            obj: A module.
            state: All that `module_state` gives for it, with other tensors.
        """
        from .attributes import holding

        return holding(self, obj, state)

    def cannot(self, what: str) -> PyTreeTypeError:
        """The error where a method is missing that somebody needs."""
        return PyTreeTypeError(
            f"the runtime {self.name!r} can't {what}: its class {short_name(class_of(self))} does not define the method"
        )
