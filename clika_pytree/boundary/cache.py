"""The guard cache and what it knows of types: the one place from which the boundaries take them."""

from __future__ import annotations

try:
    from clika_pytree._native import (  # type: ignore[attr-defined]
        GuardCache,
        GuardError,
        UnregisteredNodeError,
        forget_runtimes,
        runtime_of,
        set_runtime_resolver,
    )
    from clika_pytree.runtimes import runtime_of_type

    set_runtime_resolver(runtime_of_type)
except ImportError:
    import importlib.util
    from pathlib import Path

    _spec = importlib.util.spec_from_file_location(
        "reference_guards", Path(__file__).parents[2] / "tests" / "reference_guards.py"
    )
    assert _spec is not None
    assert _spec.loader is not None
    _module = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(_module)
    GuardCache, runtime_of, forget_runtimes = _module.GuardCache, _module.runtime_of, _module.forget_runtimes
    GuardError, UnregisteredNodeError = _module.GuardError, _module.UnregisteredNodeError

__all__ = ["GuardCache", "GuardError", "UnregisteredNodeError", "forget_runtimes", "runtime_of"]
