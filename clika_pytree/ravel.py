"""A tree of numbers and arrays as one flat vector, and back. numpy is imported at the first call."""

from __future__ import annotations

from ._native import PyTreeTypeError, PyTreeValueError, TreeSpec, keystr, runtime_of, tree_flatten
from .typing import TYPE_CHECKING
from .wording import described, place

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .typing import IsLeaf, Namespace

__all__ = ["tree_ravel"]


def tree_ravel(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    dtype: Any = None,
    none_is_leaf: bool = True,
    namespace: Namespace = "",
) -> tuple[Any, Callable[[Any], Any]]:
    """Lay all numbers of a tree into one numpy vector; also a function that makes the tree of such a vector.

    Leaves are numpy arrays and scalars, and the numbers of Python. Both ways copy. Every leaf comes back with its own
    shape and dtype, a Python number as one. Where dtypes differ the vector has one that holds all of them exactly;
    there is none for, say, int64 and float32, so that is an error unless `dtype` says what to convert to. It works
    inside a function that is compiled or traced for numpy, too.

    Args:
        tree: The tree.
        is_leaf: Called with every object; where it gives a true value, the object is a leaf.
        dtype: The dtype of the vector, whether or not it holds all values exactly.
        none_is_leaf: Whether None is a leaf (which has no place in a vector), or a node without children.
        namespace: The name, or tuple of names, in which registrations are looked up before the global ones.

    Returns:
        The vector, and a function of a vector of that length. The function rounds to floats of less precision; a value
        that a leaf's integer or bool dtype does not have is an error.

    Raises:
        PyTreeTypeError: A leaf is no number and no numpy array; the message names the place.
        PyTreeValueError: (a `ValueError`) no dtype holds all leaves exactly.

    Example:
        >>> import numpy as np
        >>> from clika_pytree import pytree
        >>> flat, back = pytree.tree_ravel({"w": np.ones((2, 2)), "b": 0.5})
        >>> flat
        array([1. , 1. , 1. , 1. , 0.5])
        >>> back(flat * 2)
        {'w': array([[2., 2.], [2., 2.]]), 'b': 1.0}
    """
    import numpy as np

    leaves, spec = tree_flatten(tree, is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    arrays = [as_array(spec, index, leaf) for index, leaf in enumerate(leaves)]
    target = common_dtype(spec, arrays) if dtype is None else np.dtype(dtype)
    if not is_numeric(target):
        raise PyTreeTypeError(f"tree_ravel() expects a dtype of numbers, got {target}")
    with np.errstate(all="ignore"):  # a cast of NaN warns on some machines
        vector = joined(arrays, target)
    kinds: list[Any] = [(leaf.__class__, array.dtype, array.shape) for leaf, array in zip(leaves, arrays, strict=True)]
    return vector, Unravel(spec, kinds)


class Unravel:
    """The function that takes a vector back to a tree; it can be pickled."""

    def __init__(self, spec: TreeSpec, kinds: list[tuple[type, Any, tuple[int, ...]]]) -> None:
        self.spec, self.kinds = spec, kinds
        self.sizes = [product(shape) for _, _, shape in kinds]

    def __repr__(self) -> str:
        return f"<the function that makes a tree of {len(self.kinds)} leaves of {sum(self.sizes)} numbers>"

    def __call__(self, vector: Any) -> Any:
        import numpy as np

        array = vector if is_recorded(vector) else np.asarray(vector)
        if array.shape != (sum(self.sizes),):
            raise PyTreeValueError(
                f"expected a vector of {sum(self.sizes)} numbers, got an array of shape {array.shape}"
            )
        leaves: list[Any] = []
        at = 0
        for index, ((cls, dtype, shape), size) in enumerate(zip(self.kinds, self.sizes, strict=True)):
            part = converted(self.spec, index, array[at : at + size], dtype).reshape(shape)
            leaves.append(part.item() if cls in PYTHON_NUMBERS else part if cls is np.ndarray else part[()])
            at += size
        return self.spec.unflatten(leaves)


PYTHON_NUMBERS = (bool, int, float, complex)


def as_array(spec: TreeSpec, index: int, leaf: Any) -> Any:
    """A leaf as an array of numbers."""
    import numpy as np

    array: Any = leaf if is_recorded(leaf) else np.asarray(leaf) if is_known(leaf) else None
    if array is not None and is_numeric(array.dtype):
        return array
    path = spec.key_paths()[index]
    error = PyTreeTypeError(
        f"tree_ravel() expects numbers and numpy arrays of numbers, got {leaf_name(leaf, array)} "
        f"{place(path)}; {advice(leaf)}"
    )
    error.path = keystr(path)
    raise error


def is_known(leaf: Any) -> bool:
    """Whether it is a number or an array, and nothing more: masks, units and the like would be lost."""
    import numpy as np

    return type(leaf) in (*PYTHON_NUMBERS, np.ndarray, np.memmap) or isinstance(leaf, np.generic)


def is_recorded(leaf: Any) -> bool:
    """Whether it stands for an array of numpy while a function is compiled or traced."""
    # Of other classes nobody is asked: those of a library that is not installed have no runtime.
    if not type(leaf).__module__.startswith("clika_pytree.runtimes.numpy."):
        return False
    runtime = runtime_of(leaf)
    return runtime is not None and runtime.is_traced([leaf])


def joined(arrays: list[Any], dtype: Any) -> Any:
    """The elements of some arrays in a row."""
    import numpy as np

    if any(map(is_recorded, arrays)):
        return np.concatenate([array.ravel() for array in arrays], dtype=dtype, casting="unsafe")
    vector = np.empty(sum(array.size for array in arrays), dtype)
    at = 0
    for array in arrays:
        vector[at : at + array.size] = array.ravel()
        at += array.size
    return vector


def is_numeric(dtype: Any) -> bool:
    import numpy as np

    # Kind V: the dtypes of packages such as ml_dtypes are of it, and records, which are no numbers.
    return dtype.kind in "biufc" or (dtype.kind == "V" and not issubclass(dtype.type, np.void))


def leaf_name(leaf: Any, array: Any) -> str:
    if array is None:
        return described(leaf)
    return "an int of more than 64 bits" if type(leaf) is int else f"an array of dtype {array.dtype}"


def advice(leaf: Any) -> str:
    if leaf is None:
        return "none_is_leaf=False leaves None out"
    packages = {cls.__module__.partition(".")[0] for cls in type(leaf).__mro__}
    for package in ("jax", "jaxlib", "torch", "mlx"):
        if package in packages:
            return "make numpy arrays of those of JAX, PyTorch and MLX first, with tree_map(numpy.asarray, tree)"
    return "tree_partition() takes other leaves out"


def common_dtype(spec: TreeSpec, arrays: list[Any]) -> Any:
    """The dtype that holds the values of all arrays exactly."""
    import numpy as np

    if not arrays:
        return np.dtype(np.float64)
    dtypes = list(dict.fromkeys(array.dtype for array in arrays))
    if len(dtypes) == 1:
        return dtypes[0]
    try:
        target = np.result_type(*dtypes)
    except TypeError:  # dtypes of other packages know few others
        target = None
    if target is not None and all(is_exact(dtype, target) for dtype in dtypes):
        return target
    where: dict[Any, int] = {}
    for index, array in enumerate(arrays):
        where.setdefault(array.dtype, index)
    paths = spec.key_paths()
    found = ", ".join(f"{dtype} {place(paths[index])}" for dtype, index in list(where.items())[:6])
    raise PyTreeValueError(
        f"tree_ravel() finds no dtype that holds all leaves exactly: there are {found}; pass dtype=... to convert "
        "them, or take some out with tree_partition()"
    )


def is_exact(dtype: Any, target: Any) -> bool:
    """Whether every value of a dtype has its equal in another."""
    import numpy as np

    if dtype == target:
        return True
    if not np.can_cast(dtype, target, "safe"):
        return False
    # numpy calls int64 to float64 safe, which loses digits.
    if dtype.kind in "iu" and target.kind in "fc":
        digits: int = np.finfo(target).nmant + 1
        return bool(dtype.itemsize * 8 - (dtype.kind == "i") <= digits)
    return bool(target.kind in "biufc")


def converted(spec: TreeSpec, index: int, part: Any, dtype: Any) -> Any:
    """A part of the vector in the dtype of its leaf, copied. Floats are rounded; other values must be there exactly."""
    import numpy as np

    if part.dtype == dtype:
        return part.astype(dtype)
    drops_imaginary = part.dtype.kind == "c" and dtype.kind != "c"
    real = part.real if drops_imaginary else part
    with np.errstate(all="ignore"):
        made = real.astype(dtype)
        fits = not drops_imaginary or bool(np.all(part.imag == 0))
        if dtype.kind in "biu":
            fits = fits and bool(np.all(made.astype(real.dtype) == real))
    if not fits:
        path = spec.key_paths()[index]
        error = PyTreeValueError(
            f"the vector has values of dtype {part.dtype} for the leaf {place(path)} that its dtype {dtype} does not "
            "have; round them first, or ravel the tree without this leaf"
        )
        error.path = keystr(path)
        raise error
    return made


def product(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
