"""The public functions; what they do is imported when one of them is called."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clika_pytree.typing import Library

    from .adoption import Adoption

__all__ = ["adopt", "mirror"]


def adopt(library: Library, *, namespace: str = "") -> Adoption:
    """Make the classes nodes that another library registers: PyTorch, JAX or optree.

    That goes for the classes it has, and for those that are registered with it later. They are taken apart by the
    functions that the library has, and named in key paths as there. A registration here wins over an adopted one in the
    same namespace; of several adopted libraries, the first one that has a class does.

    Nothing is imported: a library that has not been imported is adopted when somebody imports it.

    Args:
        library: `"torch"`, `"jax"` or `"optree"`.
        namespace: The namespace here in which they are nodes, `""` being the global one. Of optree, these are the
            classes in its namespace of this name; PyTorch and JAX have none.

    Returns:
        What takes it back: an object with a method `end()`, which can be used in a `with` statement, too.

    Raises:
        PyTreeTypeError: (a `TypeError`) a name is not a str.
        PyTreeValueError: (a `ValueError`) it is the name of no library that can be adopted.
        RegistrationError: (a `ValueError`) this release of the library keeps its classes in another place.

    Example:
        >>> import jax
        >>> from clika_pytree import pytree
        >>> class Span:
        ...     def __init__(self, start, end):
        ...         self.start, self.end = start, end
        >>> jax.tree_util.register_pytree_node(Span, lambda s: ((s.start, s.end), None), lambda _, ends: Span(*ends))
        >>> with pytree.adopt("jax"):
        ...     pytree.tree_leaves(Span(1, 2))
        [1, 2]
        >>> len(pytree.tree_leaves(Span(1, 2)))
        1
    """
    from .adoption import adopted

    return adopted("adopt()", library, namespace)


def mirror(cls: type, libraries: Library | Iterable[Library], *, namespace: str = "") -> None:
    """Make a class that is registered here known to other libraries, too: PyTorch, JAX, optree.

    A library that has been imported is told at once. Another one is told when somebody imports it; nothing is imported
    for this. The library calls the functions of the registration here, with its own order of arguments, and names
    children in key paths as they are named here. Contexts are handed over as they are.

    `register_pytree_node` and the other ways to register take the same names as `mirror=`.

    Args:
        cls: The class.
        libraries: `"torch"`, `"jax"` or `"optree"`, or several of them.
        namespace: The namespace in which it is registered here. PyTorch and JAX have none. optree gets the class in
            its namespace of this name.

    Raises:
        PyTreeTypeError: (a `TypeError`) `cls` is not a class, or a name is not a str.
        PyTreeValueError: (a `ValueError`) a name is that of no library which classes can be mirrored in.
        RegistrationError: (a `ValueError`) the class is not registered in this namespace here, or is registered in one
            of the libraries already, or that library can't have it. No library has been told then.

    Example:
        >>> import jax
        >>> from clika_pytree import pytree
        >>> class Span:
        ...     def __init__(self, start, end):
        ...         self.start, self.end = start, end
        >>> pytree.register_pytree_node(
        ...     Span, lambda s: ((s.start, s.end), None, ("start", "end")), lambda children, _: Span(*children)
        ... )
        >>> pytree.mirror(Span, "jax")
        >>> jax.tree.leaves_with_path({"span": Span(1, 2)})[1]
        ((DictKey(key='span'), GetAttrKey(name='end')), 2)
    """
    from .mirroring import mirror_registered

    mirror_registered("mirror()", cls, libraries, namespace)
