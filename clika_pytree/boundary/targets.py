"""What stands behind a callable: a function, its signature, and the arguments that it has already."""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any, NamedTuple

from clika_pytree._native import PyTreeTypeError
from clika_pytree.runtimes import is_module
from clika_pytree.wording import class_of, described, short_name, shorten

__all__: list[str] = []

ANYTHING = inspect.Signature(
    [
        inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
        inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
    ]
)
PLACEHOLDER: Any = getattr(functools, "Placeholder", object())  # of Python 3.14
# Calling these gives no result that a graph could have.
UNFINISHED = (
    (inspect.iscoroutinefunction, "a coroutine function", "compile what it calls between its awaits"),
    (inspect.isasyncgenfunction, "an asynchronous generator", "compile what it calls between its awaits"),
    (inspect.isgeneratorfunction, "a generator", "return a list, or compile what it calls for each item"),
)


class Target(NamedTuple):
    """A function, and what it is called with before the arguments of a call: these count as arguments, too."""

    function: Any
    leading: tuple[Any, ...]
    keywords: dict[str, Any] | None
    signature: inspect.Signature
    name: str
    given: Any


def target_of(caller: str, given: Any) -> Target:
    """Take a callable apart: the object of a bound method, an object with `__call__`, the arguments of a partial."""
    function: Any = given
    leading: tuple[Any, ...] = ()
    keywords: dict[str, Any] | None = None
    # That of `forward` is the one that users of a module know; its `__call__` takes anything.
    signature: inspect.Signature | None = None
    while True:
        if isinstance(function, functools.partial):
            if any(arg is PLACEHOLDER for arg in function.args):
                raise PyTreeTypeError(
                    f"{caller} expects a partial without placeholders, got one with them; compile a function that puts "
                    "the arguments where they belong"
                )
            # Read at each call: the keywords of a partial are a dict that can be changed.
            keywords = function.keywords if keywords is None else {**function.keywords, **keywords}
            leading = (*function.args, *leading)
            function = function.func
        elif isinstance(function, types.MethodType):
            leading = (function.__self__, *leading)
            function = function.__func__
        elif type(compiled := getattr(function, "_target", None)) is Target:
            keywords = {**compiled.keywords, **(keywords or {})} if compiled.keywords else keywords
            leading = (*compiled.leading, *leading)
            function = compiled.function
        elif is_object_with_call(caller, function):
            leading = (function, *leading)
            if is_module(function) and inspect.isfunction(forward := getattr(class_of(function), "forward", None)):
                signature = inspect.signature(forward)
            function = type(function).__call__
        else:
            break
    for is_so, what, advice in UNFINISHED:
        if is_so(function):
            raise PyTreeTypeError(f"{caller} expects a function that returns its results, got {what}; {advice}")
    return Target(function, leading, keywords, signature or signature_of(function), name_of(given), given)


def is_object_with_call(caller: str, function: Any) -> bool:
    """Whether a callable is an object of a class with `__call__` written in Python; refuses what is no function."""
    cls = class_of(function)
    if isinstance(function, type):
        raise PyTreeTypeError(
            f"{caller} expects a function, got {described(function)}; compile a method of it, or a function that "
            "makes an instance"
        )
    if isinstance(function, (staticmethod, classmethod)):
        kind = short_name(cls)
        raise PyTreeTypeError(f"{caller} expects a function, got a {kind}; put @{kind} above @compile")
    if not callable(function):
        raise PyTreeTypeError(f"{caller} expects a function, got {described(function)}")
    return isinstance(inspect.getattr_static(cls, "__call__"), types.FunctionType)


def signature_of(function: Any) -> inspect.Signature:
    """The signature of a function in Python.

    One in C can tell an argument that was left out from one that has the default value, and is called as it was.
    """
    return inspect.signature(function) if isinstance(function, types.FunctionType) else ANYTHING


def name_of(given: Any) -> str:
    """How messages call a callable."""
    while isinstance(given, functools.partial):
        given = given.func
    name = getattr(given, "__name__", None)
    return shorten(name) if type(name) is str else short_name(class_of(given))
