"""The guard cache and what it knows of types: the one place from which the boundaries take them."""

from __future__ import annotations

from clika_pytree.typing import TYPE_CHECKING

__all__ = ["GuardCache", "GuardError", "UnregisteredNodeError", "forget_runtimes", "runtime_of"]

if TYPE_CHECKING:
    from typing import Any

    GuardCache: Any
    from clika_pytree._native import PyTreeTypeError

    GuardError: type[PyTreeTypeError]
    UnregisteredNodeError: type[PyTreeTypeError]

    def forget_runtimes() -> None: ...
    def runtime_of(obj: Any) -> Any: ...
else:
    import importlib.util
    from pathlib import Path

    _file = Path(__file__).parents[2] / "tests" / "reference_guards.py"
    _spec = importlib.util.spec_from_file_location("reference_guards", _file)
    _module = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(_module)
    GuardCache, runtime_of, forget_runtimes = _module.GuardCache, _module.runtime_of, _module.forget_runtimes
    GuardError, UnregisteredNodeError = _module.GuardError, _module.UnregisteredNodeError
