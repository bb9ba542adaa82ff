"""Files of tensors: saving and loading beside the safetensors package and beside a raw write."""

import functools
from pathlib import Path
from typing import Any

import pytest
from engines import OURS
from files import STATES, SUBJECTS, State, Subject
from selection import found, wanted

# Saving waits for the disk, so the middle one of so many rounds counts.
ROUNDS = {"small10000": 25, "gibibyte": 7}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    config = metafunc.config
    metafunc.parametrize(
        ("operation", "name"),
        [
            pytest.param(operation, name, id=f"{operation}-{name}")
            for operation in wanted(config, "operations")
            if operation in SUBJECTS and OURS in found(config)
            for name in SUBJECTS[operation][0]
            if name in wanted(config, "trees") and (name != "gibibyte" or config.getoption("--gibibyte"))
        ],
    )
    metafunc.parametrize("engine", [OURS, "raw", "safetensors"])


@functools.cache
def state_of(name: str) -> State:
    return STATES[name]()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@functools.cache
def subject_of(operation: str, name: str, folder: Path) -> Subject:
    return SUBJECTS[operation][1](state_of(name), folder)


def test_files(benchmark: Any, operation: str, name: str, engine: str, folder: Path) -> None:
    subject = subject_of(operation, name, folder)
    if engine not in subject.calls:
        pytest.skip(f"{engine} does not do this, or is not installed")
    benchmark.group = f"{operation} {name}"
    benchmark.extra_info.update(operation=operation, tree=name, engine=engine, calls=1, figure="median")
    result = benchmark.pedantic(subject.calls[engine], setup=subject.before, rounds=ROUNDS[name])
    assert subject.check(result)
