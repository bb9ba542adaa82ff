"""Compiled functions: a call beside jax.jit, beside eager numpy, and among many graphs."""

import functools
from typing import Any

import pytest
from bench_operations import calls_in_a_round
from compiled import SUBJECTS, Subject
from engines import OURS
from selection import found, wanted


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    config = metafunc.config
    engines = found(config)
    with_jax = "jaxlib" in engines
    metafunc.parametrize(
        ("operation", "name", "with_jax", "engine"),
        [
            pytest.param(operation, name, with_jax, engine, id=f"{operation}-{name}-{engine}")
            for operation in wanted(config, "operations")
            if operation in SUBJECTS and OURS in engines
            for name in SUBJECTS[operation][0]
            if name in wanted(config, "trees")
            for engine in subject_of(operation, name, with_jax).calls
        ],
    )


@functools.cache
def subject_of(operation: str, name: str, with_jax: bool) -> Subject:
    return SUBJECTS[operation][1](name, with_jax)


def test_compiled(benchmark: Any, operation: str, name: str, with_jax: bool, engine: str) -> None:
    subject = subject_of(operation, name, with_jax)
    call = subject.calls[engine]
    count = calls_in_a_round(call)

    def calls() -> object:
        for _ in range(count - 1):
            call()
        return call()

    benchmark.group = f"{operation} {name}"
    benchmark.extra_info.update(operation=operation, tree=name, engine=engine, calls=count)
    assert subject.check(benchmark(calls))
