"""pytest-benchmark's side: which rows run, and what the JSON says of the machine and the versions."""

import os
from typing import Any

import compiled
import files
import numpy as np
import pytest
from engines import ENGINES, OPERATIONS, versions
from release import require_release
from selection import found
from trees import TREES

from clika_pytree import _native


def pytest_addoption(parser: pytest.Parser) -> None:
    trees = list(dict.fromkeys([*TREES, *compiled.NAMES, *files.STATES]))
    operations = [*OPERATIONS, *compiled.SUBJECTS, *files.SUBJECTS]
    for name, known in {"engines": ENGINES, "operations": operations, "trees": trees}.items():
        parser.addoption(f"--{name}", default=",".join(known), help=f"which of: {', '.join(known)}")
    parser.addoption(
        "--gibibyte", action="store_true", help="files of 1 GiB, too; they take minutes and 3 GiB of memory"
    )
    parser.addoption("--most-leaves", default=10**7, type=int, help="how far the growing tree grows")


def pytest_configure() -> None:
    require_release()


def pytest_benchmark_update_json(output_json: dict[str, Any]) -> None:
    """The times of single rounds would make tens of megabytes of it."""
    for measured in output_json["benchmarks"]:
        del measured["stats"]["data"]


def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    machine_info["versions"] = {**versions(found(config)), "numpy": np.__version__}
    machine_info["build_profile"] = _native.build_profile
    machine_info["cpus"] = os.cpu_count()
