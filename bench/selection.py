"""What was asked for on the command line of pytest."""

import functools
from types import ModuleType

import pytest
from engines import installed


def wanted(config: pytest.Config, name: str) -> list[str]:
    return config.getoption(f"--{name}").split(",")


def found(config: pytest.Config) -> dict[str, ModuleType]:
    return engines(config.getoption("--engines"))


@functools.cache
def engines(names: str) -> dict[str, ModuleType]:
    """Imported, and classes registered, once."""
    return installed(names.split(","))
