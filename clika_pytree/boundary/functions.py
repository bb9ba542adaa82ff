"""The public functions; what they do is imported when one of them is called."""

from __future__ import annotations

import sys

from clika_pytree.typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Literal, ParamSpec, TypeVar

    from clika_pytree.runtimes.protocol import Runtime
    from clika_pytree.typing import Namespace

    from .compiled import Compiled
    from .files import FileSummary
    from .files.arguments import FilePath
    from .files.progress import Progress
    from .files.selection import Only
    from .options import OnMiss
    from .tracing import Graph

    P = ParamSpec("P")
    R = TypeVar("R")

__all__ = ["compile", "eval", "inspect", "load", "save", "trace"]

# Windows replaces no file that is mapped.
MAPPED = sys.platform != "win32"


@overload
def compile(
    fn: Callable[P, R],
    *,
    dynamic: bool = False,
    runtime: str | Runtime | None = None,
    max_graphs: int = 64,
    on_miss: OnMiss = "compile",
    namespace: Namespace = "",
) -> Compiled[P, R]: ...
@overload
def compile(
    fn: None = None,
    *,
    dynamic: bool = False,
    runtime: str | Runtime | None = None,
    max_graphs: int = 64,
    on_miss: OnMiss = "compile",
    namespace: Namespace = "",
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
def compile(
    fn: Any = None,
    *,
    dynamic: bool = False,
    runtime: str | Runtime | None = None,
    max_graphs: int = 64,
    on_miss: OnMiss = "compile",
    namespace: Namespace = "",
) -> Any:
    """Make a function of trees run as graphs of a runtime, one for each kind of call.

    The first call of a kind runs the function once and records what it does with its tensors. Later calls run what was
    recorded. Two calls are of one kind where their arguments have one structure, equal values in all leaves that are no
    tensors, and tensors of the same dtypes and sizes. So tensors are the inputs of a graph, and everything else is
    built into it, also what the function reads from globals and closures.

    It is a decorator, too, with or without arguments, also of methods, whose object is an argument like any other. The
    arguments that a `functools.partial` holds, and the object of a bound method or of a class with `__call__`, count as
    arguments of each call.

    Args:
        fn: A function whose arguments and result are trees.
        dynamic: Whether one graph serves all sizes that the function does not use as numbers of its own.
        runtime: The name of a runtime, or a runtime; without it, that of a call's tensors, and numpy for a call without
            tensors. numpy arrays may stand beside the tensors of any other runtime.
        max_graphs: How many graphs are kept. Beyond that, the one that was not used for the longest time goes.
        on_miss: What happens where no graph fits a call: "compile" makes one, "error" raises a `MissError`. It can be
            set later: `compiled.on_miss = "error"`.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        A `Compiled`, which is called like the function. `graphs()` lists its graphs, `explain(...)` says why a call
        needs a new one, `cache_info()` counts, `clear()` forgets. Without `fn`, a decorator.

    Raises:
        PyTreeTypeError: (a `TypeError`) `fn` is no function that returns its result, or an option is of the wrong sort.
        PyTreeValueError: (a `ValueError`) there is no such runtime, no such `on_miss`, or `max_graphs` is below 1.
        GuardError: (a `TypeError`, at a call) a leaf has no usable `==` and hash; as `UnregisteredNodeError`, an object
            holds tensors and its class is not registered. The message names the argument and what to do.
        RecordingError: (a `TypeError`, at a call) the function did something that a graph can't hold, such as a branch
            on the value of a tensor; the message names the line.

    Example:
        >>> import numpy as np
        >>> import clika_pytree as crt
        >>> @crt.compile
        ... def predict(params, batch):
        ...     hidden = np.tanh(batch["x"] @ params["w"])
        ...     return {"mean": hidden.mean(axis=0), "inputs": batch["x"]}
        >>> params, batch = {"w": np.eye(2)}, {"x": np.zeros((3, 2))}
        >>> predict(params, batch)["mean"]
        array([0., 0.])
        >>> predict(params, batch)["inputs"] is batch["x"]
        True
        >>> predict.cache_info()
        CacheInfo(hits=1, misses=1, maxsize=64, currsize=1)
        >>> predict.explain({"w": np.eye(2)}, {"x": np.zeros((4, 2))})
        predict: this call needs a new graph; one thing differs from the only graph:
          batch['x']: was float64[3, 2], now float64[4, 2]
    """
    from .compilation import compiler

    made = compiler(dynamic, runtime, max_graphs, on_miss, namespace)
    return made if fn is None else made(fn)


def trace(
    fn: Callable[[list[Any]], Sequence[Any]],
    stand_ins: Iterable[Any],
    *,
    names: Iterable[str] | None = None,
    outputs: Iterable[str] | None = None,
    runtime: str | Runtime | None = None,
) -> Graph:
    """Record a function once and give the graph of what it did.

    Args:
        fn: Takes its tensors as one list and returns a list of tensors.
        stand_ins: What stands for the tensors while the function is recorded: tensors, or objects with a `shape` and a
            `dtype`.
        names: The names of the inputs; without them `x0`, `x1` and so on.
        outputs: The names of the results; without them `result[0]`, `result[1]` and so on.
        runtime: The name of the runtime to trace for, or the runtime; without it, that of the stand-ins, and numpy's
            where they are no tensors.

    Returns:
        The graph. It is called with tensors by position or by name, and gives a list of results.

    Raises:
        RecordingError: (a `TypeError`) the function did something that a graph cannot hold; the message names the line.
        PyTreeTypeError: (a `TypeError`) a stand-in has no shape or dtype, or the function takes something else than one
            list, or returned no list.
        PyTreeValueError: (a `ValueError`) the names are not as many as the tensors, or not all different.

    Example:
        >>> import numpy as np
        >>> import clika_pytree as crt
        >>> def layer(tensors):
        ...     x, w = tensors
        ...     return [np.maximum(x @ w, 0), x.sum(axis=0)]
        >>> graph = crt.trace(layer, [np.ones((1, 3)), np.ones((3, 2))], names=["x", "w"], outputs=["y", "total"])
        >>> graph.inputs, graph.outputs
        (('x', 'w'), ('y', 'total'))
        >>> graph(np.ones((2, 3)), w=np.ones((3, 2)))
        [array([[3., 3.],
               [3., 3.]]), array([2., 2., 2.])]
    """
    from .tracing import traced

    return traced(fn, stand_ins, names, outputs, runtime)


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
    from .evaluation import wait_for

    wait_for(trees, namespace)


def save(
    obj: Any,
    path: FilePath,
    *,
    fsync: bool = True,
    max_shard_bytes: int | None = None,
    progress: Progress = None,
    namespace: Namespace = "",
) -> None:
    """Write a tensor, a flat dict of tensors, or any tree of tensors to a safetensors file.

    A dict or OrderedDict whose keys are str and whose values are tensors is written under its own keys, in its order,
    so that any reader of the format sees it as it is. Of another tree each tensor is an entry named by the text of its
    key path, and the structure is in the metadata of the file, for `load`. Leaves that are None, bool, int, float,
    complex, str or bytes are kept there, too. A tensor that stands at several places is one tensor again after `load`.

    The file is there as a whole or not at all: it is written beside the target and takes its place at the end, with the
    mode of the file that was there. The same tree gives the same bytes.

    Args:
        obj: The tensor, dict or tree; tensors of any runtime.
        path: Where to.
        fsync: Whether to return only once the file would survive a loss of power. Without it, what a loss of power soon
            after leaves may be a file with zeros in it.
        max_shard_bytes: The most bytes of tensors in a file; a larger tree becomes several files beside `path`, and an
            index that names them, as Hugging Face has them. None for one file.
        progress: True for a bar (where tqdm is installed), or a function that is called with the bytes done and in all.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Raises:
        PyTreeTypeError: (a `TypeError`) a leaf is neither a tensor nor a plain value, or its dtype is none that a file
            can hold. The message and `path` say which.
        PyTreeValueError: (a `ValueError`) two leaves would have the same name, a key can't be the name of a tensor,
            something in the structure can't be written (see `treespec_dumps`), or `max_shard_bytes` is below 1.
        OSError: The file could not be written. What was there before is still there.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import clika_pytree as crt
        >>> path = tempfile.mkdtemp() + "/model.safetensors"
        >>> crt.save({"layers": [{"w": np.ones((2, 3))}], "step": 7}, path)
        >>> crt.load(path)
        {'layers': [{'w': array([[1., 1., 1.],
               [1., 1., 1.]])}], 'step': 7}
    """
    from .files.saving import save_tree

    save_tree(obj, path, fsync, max_shard_bytes, progress, namespace)


def load(
    path: FilePath,
    device: str = "cpu",
    *,
    like: Any = None,
    only: Only = None,
    mmap: bool = MAPPED,
    runtime: str | Runtime | None = None,
    unknown: Literal["error", "dict"] = "error",
    progress: Progress = None,
    namespace: Namespace = "",
) -> Any:
    """Read the tree that `save` wrote, or the dict of tensors that another library wrote as safetensors.

    The whole header is checked before a tensor is made. Nothing is imported and no code of the file runs; it may come
    from a stranger. Classes are found among the registrations, namedtuple classes in the loaded modules.

    Mapped, a file of any size is loaded at once: its elements are read when they are looked at, and what is written to
    a tensor stays in this process. Replacing the file, as `save` does, leaves loaded tensors as they are; cutting it or
    writing into it does not.

    Args:
        path: The file; or an index of several files, or a folder with one of these in it.
        device: Where the tensors are to be.
        like: A tree of tensors, or of objects with a shape and a dtype. The file must have its structure, shapes and
            dtypes.
        only: What to load, by the beginning of the key path (`"['encoder']"`), in a flat dict by the beginning of the
            key (`"encoder"` stands for `"encoder.w"`, too), as text or as a tuple of keys; or a function that is asked
            for every name. In a tree a `NotLoaded` stands for every other tensor; of a flat dict the rest is left out.
        mmap: Whether to map the file rather than to read it.
        runtime: The name of the runtime whose tensors are made, or the runtime; without it, that of `like`, and numpy.
        unknown: What to do with classes that this process does not have: "error", or "dict" for a dict of the children.
        progress: True for a bar (where tqdm is installed), or a function that is called with the bytes done and in all.
        namespace: The name, or tuple of names, in which registered classes are looked up before the global ones.

    Returns:
        The tree. A tensor that stood at several places is one object.

    Raises:
        FileFormatError: (a `ValueError`) the file is damaged, of another kind, of a newer version, or holds classes
            that this process does not have.
        StructureError: (a `ValueError`) the file does not fit `like`; the message lists every difference.
        PyTreeTypeError: (a `TypeError`) the runtime has no tensors of a dtype in the file.
        PyTreeValueError: (a `ValueError`) nothing in the file is what `only` asks for.
        OSError: The file could not be read.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import clika_pytree as crt
        >>> path = tempfile.mkdtemp() + "/state.safetensors"
        >>> crt.save({"layer.w": np.ones(2), "layer.b": np.zeros(2), "step": 3}, path)
        >>> crt.load(path, only="layer")
        {'layer.w': array([1., 1.]), 'layer.b': array([0., 0.])}
    """
    from .files.loading import load_tree

    return load_tree(path, device, like, only, mmap, runtime, unknown, progress, namespace)


def inspect(path: FilePath, *, max_rows: int | None = 50, namespace: Namespace = "") -> FileSummary:
    """What is in a file of tensors, from its header alone.

    Args:
        path: The file; or an index of several files, or a folder with one of these in it.
        max_rows: How many lines the table has at most; None for all.
        namespace: The name, or tuple of names, in which registered classes are looked up before the global ones.

    Returns:
        A `FileSummary`, which prints as a table of paths, shapes, dtypes and bytes.

    Raises:
        FileFormatError: (a `ValueError`) the file is damaged, of another kind, or of a newer version.
        PyTreeTypeError: (a `TypeError`) `max_rows` is neither a number nor None.
        PyTreeValueError: (a `ValueError`) `max_rows` is below 0.
        OSError: The file could not be read.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import clika_pytree as crt
        >>> path = tempfile.mkdtemp() + "/state.safetensors"
        >>> crt.save({"layers": [{"w": np.ones((2, 3)), "b": np.zeros(3)}] * 4}, path)
        >>> crt.inspect(path).tensors[0].name
        "['layers'][0]['w']"
    """
    from .files.inspecting import summary_of_file

    return summary_of_file(path, max_rows, namespace)
