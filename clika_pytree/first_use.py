"""Names of a package that are loaded when they are first asked for.

Only for packages in which nobody looks a hot function up: CPython reads an attribute of a module that has a function
`__getattr__` in a slower way, be the attribute there or not.
"""

from __future__ import annotations

from .typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__: list[str] = []


def on_first_use(
    space: dict[str, Any], names: dict[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package, given its variables, and the names in each of its modules."""
    package: str = space["__name__"]
    module_of = {name: module for module, listed in names.items() for name in listed}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        from importlib import import_module

        value = space[name] = getattr(import_module(f"{package}.{module_of[name]}"), name)
        return value

    return get, lambda: sorted({*space, *module_of})
