"""The public functions; what they do is imported when one of them is called."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from clika_pytree._native import TreeSpec
    from clika_pytree.typing import Namespace

__all__ = [
    "treespec_from_jax",
    "treespec_from_optree",
    "treespec_from_torch",
    "treespec_to_jax",
    "treespec_to_optree",
    "treespec_to_torch",
]


def treespec_to_torch(spec: TreeSpec) -> Any:
    """The structure as PyTorch has it: a TreeSpec of `torch.utils._pytree`.

    No tree is built and no function of a registered class runs. Leaves keep their order. A registered class has to be
    registered with PyTorch in the same way: with functions that have the same children and context, with its
    `register_dataclass` and the same fields, or with `register_constant` where it is static here.

    Args:
        spec: The structure.

    Returns:
        PyTorch's TreeSpec, equal to that of `torch.utils._pytree.tree_structure` of the same tree.

    Raises:
        PyTreeTypeError: (a `TypeError`) `spec` is not a TreeSpec.
        PyTreeValueError: (a `ValueError`) PyTorch has nothing for a node of it; the message and `path` say which one,
            and what to change.
        ModuleNotFoundError: PyTorch is not installed.

    Example:
        >>> import torch.utils._pytree
        >>> from clika_pytree import pytree
        >>> spec = pytree.treespec_to_torch(pytree.tree_structure({"w": [1, 2], "b": None}))
        >>> spec == torch.utils._pytree.tree_structure({"w": [1, 2], "b": None})
        True
    """
    from .torch import to_torch

    return to_torch("treespec_to_torch()", spec)


def treespec_from_torch(treespec: Any, *, namespace: Namespace = "") -> TreeSpec:
    """The structure that a TreeSpec of `torch.utils._pytree` is of.

    No tree is built and no function of a registered class runs. Leaves keep their order.

    Args:
        treespec: PyTorch's TreeSpec.
        namespace: Where the registered classes are looked for, before the global registrations; a tuple of names is
            searched in order.

    Returns:
        The structure, in which None is a leaf. Children of registered classes have no names in it, as PyTorch keeps
        none.

    Raises:
        PyTreeTypeError: (a `TypeError`) `treespec` is not a TreeSpec of PyTorch, or `namespace` is not a str or a tuple
            of str.
        PyTreeValueError: (a `ValueError`) a class in it is not registered here, or in another way than with PyTorch;
            the message and `path` say where.
        ModuleNotFoundError: PyTorch is not installed.

    Example:
        >>> import torch.utils._pytree
        >>> from clika_pytree import pytree
        >>> pytree.treespec_from_torch(torch.utils._pytree.tree_structure({"w": [1, 2], "b": None}))
        TreeSpec({'w': [*, *], 'b': *})
    """
    from .torch import from_torch

    return from_torch("treespec_from_torch()", treespec, namespace)


def treespec_to_jax(spec: TreeSpec) -> Any:
    """The structure as JAX has it: a PyTreeDef.

    No tree is built and no function of a registered class runs. Leaves keep their order. JAX reads dicts by sorted key,
    so a dict or defaultdict whose keys stand in another order is an error: make the structure inside
    `dict_insertion_ordered(False)`. JAX takes None for a node; a leaf of this structure is a leaf of the PyTreeDef,
    whether None stood there or not. A registered class has to be registered with JAX in the same way: with functions
    that have the same children and context, with its `register_dataclass` and the same fields, or with
    `register_static`.

    Args:
        spec: The structure.

    Returns:
        The PyTreeDef. It is equal to that of `jax.tree.structure` of the same tree where `spec` was made inside
        `dict_insertion_ordered(False)` with `none_is_leaf=False`.

    Raises:
        PyTreeTypeError: (a `TypeError`) `spec` is not a TreeSpec.
        PyTreeValueError: (a `ValueError`) JAX has nothing for a node of it; the message and `path` say which one, and
            what to change.
        ModuleNotFoundError: JAX is not installed.

    Example:
        >>> from clika_pytree import pytree
        >>> with pytree.dict_insertion_ordered(False):
        ...     leaves, spec = pytree.tree_flatten({"w": [1, 2], "b": 3})
        >>> leaves, pytree.treespec_to_jax(spec)
        ([3, 1, 2], PyTreeDef({'b': *, 'w': [*, *]}))
    """
    from .jax import to_jax

    return to_jax("treespec_to_jax()", spec)


def treespec_from_jax(treedef: Any, *, none_is_leaf: bool = False, namespace: Namespace = "") -> TreeSpec:
    """The structure that a PyTreeDef of JAX is of.

    No tree is built and no function of a registered class runs. Leaves keep their order, so that of a dict's keys is
    JAX's, the sorted one.

    Args:
        treedef: The PyTreeDef.
        none_is_leaf: How the structure reads None. It is a node in JAX, so this is False; with True, a structure in
            which no None is a node comes out as one made with `none_is_leaf=True`.
        namespace: Where the registered classes are looked for, before the global registrations; a tuple of names is
            searched in order.

    Returns:
        The structure. Children of registered classes have no names in it, as a PyTreeDef keeps none.

    Raises:
        PyTreeTypeError: (a `TypeError`) `treedef` is not a PyTreeDef, or `namespace` is not a str or a tuple of str.
        PyTreeValueError: (a `ValueError`) a class in it is not registered here, or in another way than with JAX, or
            None is a node in spite of `none_is_leaf=True`; the message and `path` say where.
        ModuleNotFoundError: JAX is not installed.

    Example:
        >>> import jax
        >>> from clika_pytree import pytree
        >>> treedef = jax.tree.structure({"w": [1, 2], "b": None})
        >>> pytree.treespec_from_jax(treedef)
        TreeSpec({'b': None, 'w': [*, *]}, none_is_leaf=False)
    """
    from .jax import from_jax

    return from_jax("treespec_from_jax()", treedef, none_is_leaf, namespace)


def treespec_to_optree(spec: TreeSpec, *, namespace: str | None = None) -> Any:
    """The structure as optree has it: a PyTreeSpec.

    No tree is built and no function of a registered class runs. Leaves keep their order, and None is read as in `spec`.
    A registered class has to be registered with optree in the same way: with functions that have the same children and
    context, or as a dataclass with the same fields (`optree.dataclasses`).

    Args:
        spec: The structure.
        namespace: The namespace of optree in which the registered classes are looked for. None stands for that of
            `spec`.

    Returns:
        The PyTreeSpec. It is equal to that of `optree.tree_structure` of the same tree where both read dicts in one
        order: here inside `dict_insertion_ordered(False)`, or there inside `optree.dict_insertion_ordered(True, ...)`.

    Raises:
        PyTreeTypeError: (a `TypeError`) `spec` is not a TreeSpec, or `namespace` is not a str.
        PyTreeValueError: (a `ValueError`) optree has nothing for a node of it; the message and `path` say which one,
            and what to change. Or the classes are registered in several namespaces, and `namespace` is None.
        ModuleNotFoundError: optree is not installed.

    Example:
        >>> from clika_pytree import pytree
        >>> pytree.treespec_to_optree(pytree.tree_structure({"w": [1, 2], "b": None}))
        PyTreeSpec({'w': [*, *], 'b': *}, NoneIsLeaf)
    """
    from .optree import to_optree

    return to_optree("treespec_to_optree()", spec, namespace)


def treespec_from_optree(treespec: Any, *, namespace: Namespace | None = None) -> TreeSpec:
    """The structure that a PyTreeSpec of optree is of.

    No tree is built and no function of a registered class runs. Leaves keep their order. A dict that optree sorted is
    rebuilt in the order of its insertion, as optree does.

    Args:
        treespec: The PyTreeSpec; one of `torch.utils._cxx_pytree` is such a one, too.
        namespace: Where the registered classes are looked for, before the global registrations; a tuple of names is
            searched in order. None stands for the namespace of `treespec`.

    Returns:
        The structure; it reads None as `treespec` does.

    Raises:
        PyTreeTypeError: (a `TypeError`) `treespec` is not a PyTreeSpec, or `namespace` is not a str or a tuple of str.
        PyTreeValueError: (a `ValueError`) a class in it is not registered here, or in another way than with optree, or
            a node of optree is a leaf here; the message and `path` say where.
        ModuleNotFoundError: optree is not installed.

    Example:
        >>> import optree
        >>> from clika_pytree import pytree
        >>> spec = pytree.treespec_from_optree(optree.tree_structure({"w": [1, 2], "b": None}))
        >>> spec, spec.unflatten([1, 2])
        (TreeSpec({'b': None, 'w': [*, *]}, none_is_leaf=False), {'w': [1, 2], 'b': None})
    """
    from .optree import from_optree

    return from_optree("treespec_from_optree()", treespec, namespace)
