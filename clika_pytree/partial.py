"""A partial call that is a node of a tree."""

from __future__ import annotations

from ._native import PyTreeTypeError, Registration, register
from .one_level import class_of
from .typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import partial
    from typing import Any
else:
    try:
        from _functools import partial  # the same class, without the modules that functools loads
    except ImportError:
        from functools import partial

__all__ = ["Partial"]


# A base with type arguments is for checkers only: at run time it would be an alias, made at import for nothing.
if TYPE_CHECKING:
    Base = partial[Any]
else:
    Base = partial


class Partial(Base):
    """A `functools.partial` that is a node: the function is part of the structure, the arguments are below it.

    Its children are the tuple `args` and the dict `keywords`, so a Partial can go wherever a tree goes, and mapping a
    function over it changes its arguments. Two have equal structures where their functions are equal. Attributes set on
    it by hand are not kept.

    Example:
        >>> from clika_pytree import pytree
        >>> def line(x, slope, offset):
        ...     return slope * x + offset
        >>> call = pytree.Partial(line, slope=2, offset=1)
        >>> call(10)
        21
        >>> pytree.tree_leaves(call)
        [2, 1]
        >>> pytree.tree_map(lambda leaf: leaf * 100, call)(10)
        2100
    """

    __module__ = "clika_pytree"  # where pickle finds it

    if TYPE_CHECKING:  # what checkers are not told of the base

        def __setstate__(self, state: tuple[Any, Any, Any, Any], /) -> None: ...


class Unfinished:
    """The function of a Partial that was rebuilt with something else than a tuple and a dict: it only keeps them."""

    def __init__(self, func: Any, args: Any, keywords: Any) -> None:
        self.func, self.args, self.keywords = func, args, keywords

    def __repr__(self) -> str:
        return f"<{self.func!r} with arguments that are no tuple and dict>"

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise PyTreeTypeError(
            "a Partial was rebuilt with something else in the place of its args tuple or keywords dict, so it can't be "
            "called, only flattened"
        )


def flatten(call: Partial) -> tuple[tuple[Any, Any], Any, tuple[str, str]]:
    func: Any = call.func
    if type(func) is Unfinished:
        return (func.args, func.keywords), func.func, ("args", "keywords")
    return (call.args, call.keywords), func, ("args", "keywords")


def are_arguments(args: Any, keywords: Any) -> bool:
    return class_of(args) is tuple and class_of(keywords) is dict and all(isinstance(name, str) for name in keywords)


def unflatten(children: tuple[Any, Any], func: Any) -> Partial:
    args, keywords = children
    if are_arguments(args, keywords):
        call = Partial(func)
        # Not Partial(func, *args, **keywords), which copies: a node has the very children that were put in.
        call.__setstate__((func, args, keywords, None))
        return call
    # Any value may stand in the place of a child, as in every node.
    return Partial(Unfinished(func, args, keywords))


register(Registration.function(Partial, "", flatten, unflatten))
