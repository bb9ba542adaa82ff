"""What each library of tensors needs at a boundary, and how the library of a tensor is found.

numpy is always there. Others are known by the module of a tensor's class, and loaded when one turns up: those of this
package, those that an installed package names as an entry point, and those that a program registers.
"""

from __future__ import annotations

from clika_pytree._native import (
    PyTreeTypeError,
    PyTreeValueError,
    RegistrationError,
    forget_runtimes,
    runtime_of,
    set_runtime_resolver,
)
from clika_pytree.typing import TYPE_CHECKING
from clika_pytree.wording import class_of, described, shorten

from .errors import RecordingError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeVar

    from .protocol import Runtime

    R = TypeVar("R", bound=Runtime)

__all__ = ["RecordingError", "register_runtime", "unregister_runtime"]

GROUP = "clika_pytree.runtimes"
# The runtimes of this package, and the modules that the classes of their tensors are in.
BUILT_IN = {"numpy": ("numpy",), "jax": ("jax", "jaxlib"), "mlx": ("mlx",), "torch": ("torch",)}
BY_MODULE = {module: name for name, modules in BUILT_IN.items() for module in modules}
# What stands for a tensor while a runtime of this package records.
RECORDED = "clika_pytree.runtimes."
METHODS = (
    *("is_tensor_type", "describe", "compile", "trace", "load_graph", "wait"),
    *("to_host", "from_host", "same_memory", "is_traced", "module_state", "with_module_state"),
)

_registered: dict[str, Runtime] = {}
# Entry points by name, once somebody had to look; None before.
_entry_points: dict[str, Any] | None = None


def register_runtime(runtime: R) -> R:
    """Make a library of tensors known to `compile`, `trace` and `eval`.

    An installed package need not call this: an entry point of the group `clika_pytree.runtimes`, whose name is the
    module of the tensors and whose value is the runtime, is loaded when the first such tensor is seen.

    A runtime takes the place of one of the same name whose class is the same by module and name, as when a cell of
    a notebook runs again, or a module is reloaded.

    Args:
        runtime: An object with the attributes and methods of `clika_pytree.runtimes.protocol.Runtime`.

    Returns:
        The runtime.

    Raises:
        PyTreeTypeError: (a `TypeError`) the object lacks a method or has a wrong attribute; nothing was changed.
        RegistrationError: (a `ValueError`) another runtime has that name.

    Example:
        >>> import clika_pytree
        >>> from clika_pytree.runtimes.protocol import Runtime, TensorSpec
        >>> class Blocks(Runtime):
        ...     name, modules = "blocks", ("blockarrays",)
        ...     def is_tensor_type(self, cls):
        ...         return cls.__name__ == "BlockArray"
        ...     def describe(self, x):
        ...         return TensorSpec(str(x.dtype), tuple(x.shape))
        >>> clika_pytree.register_runtime(Blocks()).name
        'blocks'
    """
    check(runtime)
    if runtime.name in BUILT_IN:
        raise RegistrationError(
            f"register_runtime() can't take the name {runtime.name!r}, which is that of a runtime of this package; "
            "choose another name"
        )
    held = _registered.setdefault(runtime.name, runtime)
    if held is not runtime:
        if defined_as(held) != defined_as(runtime):
            raise RegistrationError(
                f"register_runtime() has a runtime named {runtime.name!r} already, {described(held)}; choose another "
                f"name, or take that one back: unregister_runtime({runtime.name!r})"
            )
        _registered[runtime.name] = runtime
    forget_runtimes()
    return runtime


def defined_as(runtime: Any) -> tuple[Any, Any]:
    cls = class_of(runtime)
    return cls.__module__, cls.__qualname__


def unregister_runtime(runtime: str | Runtime) -> None:
    """Take back what `register_runtime` did: the tensors of that library are leaves like any other.

    Functions that were compiled or traced with it keep working. A runtime that an installed package names as an entry
    point is loaded again when the next of its tensors is seen.

    Args:
        runtime: The runtime, or its name.

    Raises:
        RegistrationError: (a `ValueError`) it is not registered.

    Example:
        >>> import clika_pytree
        >>> from clika_pytree.runtimes.protocol import Runtime, TensorSpec
        >>> class Blocks(Runtime):
        ...     name, modules = "blocks", ("blockarrays",)
        ...     def is_tensor_type(self, cls):
        ...         return cls.__name__ == "BlockArray"
        ...     def describe(self, x):
        ...         return TensorSpec(str(x.dtype), tuple(x.shape))
        >>> runtime = clika_pytree.register_runtime(Blocks())
        >>> clika_pytree.unregister_runtime("blocks")
    """
    for name, held in [*_registered.items()]:
        if held is runtime or (type(runtime) is str and name == runtime):
            del _registered[name]
            forget_runtimes()
            return
    known = ", ".join(map(repr, sorted(_registered))) or "none"
    raise RegistrationError(
        f"unregister_runtime() expects a runtime that was registered, or its name, got {described(runtime)}; "
        f"registered are {known}"
    )


def check(runtime: Any) -> None:
    cls = class_of(runtime)
    if issubclass(cls, type):
        raise PyTreeTypeError(
            f"register_runtime() expects a runtime, got {described(runtime)}; pass an instance: "
            f"register_runtime({shorten(runtime.__name__)}())"
        )
    missing = [name for name in METHODS if not callable(getattr(runtime, name, None))]
    if missing:
        raise PyTreeTypeError(
            f"register_runtime() expects an object with the methods of clika_pytree.runtimes.protocol.Runtime, got "
            f"{described(runtime)} without {', '.join(missing)}; derive its class from Runtime"
        )
    name: Any = getattr(runtime, "name", None)
    modules: Any = getattr(runtime, "modules", None)
    if type(name) is not str or not name:
        raise PyTreeTypeError(f"register_runtime() expects a runtime whose name is a str, got {described(name)}")
    if class_of(modules) is not tuple or not all(type(module) is str and module for module in modules):
        raise PyTreeTypeError(
            f"register_runtime() expects the runtime {name!r} to have a tuple of names of modules as modules, such as "
            f'("jax", "jaxlib"), got {described(modules)}'
        )
    names: Any = getattr(runtime, "described_by", ())
    if class_of(names) is not tuple or not all(type(name) is str for name in names):
        raise PyTreeTypeError(
            f"register_runtime() expects the runtime {name!r} to have a tuple of names of attributes as described_by, "
            f"got {described(names)}"
        )
    for flag in ("own_guards", "lazy"):
        if type(getattr(runtime, flag, None)) is not bool:
            raise PyTreeTypeError(
                f"register_runtime() expects the runtime {name!r} to have True or False as {flag}, "
                f"got {described(getattr(runtime, flag, None))}"
            )


# --- the runtime of a class -------------------------------------------------------------------------------------------


def runtime_of_type(cls: type[Any]) -> Runtime | None:
    """The runtime whose tensors the instances of a class are; what `set_runtime_resolver` is given."""
    from .answers import is_tensor_type

    return next((runtime for runtime in runtimes_about(cls) if is_tensor_type(runtime, cls)), None)


def runtime_of_module_type(cls: type[Any]) -> Runtime | None:
    """The runtime to ask whether the instances of a class, which are no tensors, are modules."""
    return next((runtime for runtime in runtimes_about(cls) if has_modules(runtime)), None)


def has_modules(runtime: Runtime) -> bool:
    from .protocol import Runtime

    return getattr(class_of(runtime), "module_state", None) is not Runtime.module_state


def is_module(obj: Any) -> bool:
    """Whether an object holds tensors that are inputs wherever it is an argument."""
    runtime = None if runtime_of(obj) is not None else runtime_of_module_type(class_of(obj))
    return runtime is not None and runtime.module_state(obj) is not None


def runtimes_about(cls: type[Any]) -> Iterator[Runtime]:
    """The runtimes in whose modules a class or one of its bases is defined."""
    for base in type.__dict__["__mro__"].__get__(cls):
        module = module_of(base)
        if module is None:
            continue
        for runtime in [*reversed(_registered.values())]:
            if any(within(module, name) for name in runtime.modules):
                yield runtime
        found = from_this_package(module) or from_entry_point(module)
        if found is not None:
            yield found


def module_of(cls: Any) -> str | None:
    """The module of a class; None for those that no tensor is defined in, which is most of what is asked for."""
    import sys

    try:
        module: Any = type.__dict__["__module__"].__get__(cls)
    except AttributeError:
        return None
    if type(module) is not str:
        return None
    top = module.partition(".")[0]
    return None if top in sys.stdlib_module_names or top in ("__main__", "builtins") else module


def within(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")


def from_this_package(module: str) -> Runtime | None:
    import sys

    is_recorded = module.startswith(RECORDED)
    top = module.removeprefix(RECORDED).partition(".")[0]
    if is_recorded:
        return built_in(top, "recorded") if top == "numpy" else None
    # A class that only says that it is of a library which nobody has imported is none of its.
    return built_in(BY_MODULE[top]) if top in BY_MODULE and top in sys.modules else None


def built_in(name: str, which: str = "runtime") -> Runtime:
    from importlib import import_module

    try:
        runtime: Runtime = getattr(import_module(f"{GROUP}.{name}.runtime"), which)
    except ModuleNotFoundError as error:
        if error.name not in BUILT_IN[name]:
            raise
        raise PyTreeValueError(
            f"the runtime {name!r} needs the package {error.name}, which is not installed: "
            f"pip install 'clika-pytree[{name}]'"
        ) from error
    return runtime


def is_built_in(given: Any) -> bool:
    """Whether an object is a runtime of this package, which then is loaded."""
    import sys

    modules = [sys.modules.get(f"{GROUP}.{name}.runtime") for name in BUILT_IN]
    return any(getattr(module, "runtime", None) is given for module in modules if module is not None)


def from_entry_point(module: str) -> Runtime | None:
    """The runtime that an installed package has for the tensors of a module; loading registers it."""
    for name, entry in entry_points().items():
        if within(module, name):
            return loaded(entry)
    return None


def entry_points() -> dict[str, Any]:
    global _entry_points
    if _entry_points is None:
        from importlib import metadata

        _entry_points = {entry.name: entry for entry in metadata.entry_points(group=GROUP)}
    return _entry_points


def loaded(entry: Any) -> Runtime:
    """The runtime of an entry point: the object it names, or an instance of the class it names."""
    try:
        found = entry.load()
        runtime = found() if issubclass(class_of(found), type) else found
        check(runtime)
    except Exception as error:
        raise PyTreeValueError(
            f"the runtime for tensors of the module {entry.name!r} could not be loaded: the entry point "
            f"{entry.name} = {entry.value} of the group {GROUP} failed with {shorten(repr(error), 200)}"
        ) from error
    held: Runtime = _registered.setdefault(runtime.name, runtime)
    return held


# --- the runtime of a name --------------------------------------------------------------------------------------------


def runtime_named(caller: str, given: Any) -> Runtime:
    """The runtime that a caller asks for, by name or as the object that was registered."""
    if type(given) is str:
        if given in _registered:
            return _registered[given]
        if given in BUILT_IN:
            return built_in(given)
        if given in entry_points():
            return loaded(entry_points()[given])
        known = ", ".join(map(repr, sorted({*_registered, *BUILT_IN, *entry_points()})))
        raise PyTreeValueError(f"{caller} expects the name of a runtime, got {described(given)}; known are {known}")
    if any(runtime is given for runtime in _registered.values()):
        return given  # type: ignore[no-any-return]
    if is_built_in(given):
        return given  # type: ignore[no-any-return]
    raise PyTreeTypeError(
        f"{caller} expects the name of a runtime, or a runtime that was registered, got {described(given)}; "
        "register_runtime() makes one known"
    )


set_runtime_resolver(runtime_of_type, runtime_of_module_type)
