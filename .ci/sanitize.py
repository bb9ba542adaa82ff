"""Run the tests under a watch: `sanitize.py asan|valgrind|test-checked [pytest's arguments]`.

Faults on purpose (rust/src/faults.rs) come first: what overlooks one of them says nothing about the tests.
`make asan`, `make valgrind` and `make test-checked` build the module that this needs. With `--ready` instead of
arguments for pytest it only says whether the machine has the tool.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PYTEST = Path(sysconfig.get_path("scripts"), "pytest")
# CPython's own allocator keeps freed objects in its arenas, where no tool sees that they are gone.
PLAIN_MALLOC = {"PYTHONMALLOC": "malloc"}
WATCHABLE = ["-m", "not slow and not real and not unwatched"]
# AddressSanitizer tells of each request that is too large for it, and refuses it; the MemoryError is the tests' to see.
REFUSAL = "WARNING: AddressSanitizer failed to allocate "
# AddressSanitizer runs all tests, but does not see what CPython's own code reads. Valgrind does, and is much slower: it
# runs those in which CPython gets objects from containers that are read in place, and that change meanwhile.
IN_PLACE = ["flatten", "walking", "dict_tables", "dict_order", "ordered_dicts", "unflatten", "treespec", "user_errors"]
LOOKED_UP = ["living_specs"]  # found by a pointer that keeps nothing alive


@dataclass
class Tool:
    faults: dict[str, str]
    """Each fault on purpose, and words from the report of it."""
    command: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    pytest: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    """What is run where nothing is named."""

    def run(self, *arguments: str, folder: Path = ROOT, **options: Any) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **self.environment}
        return subprocess.run([*self.command, *arguments], cwd=folder, env=environment, text=True, **options)


def asan(reports: Path) -> Tool:
    # rustc links its own runtime into programs only, and the program here is Python: gcc's comes before all others.
    asked = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False)
    runtime = Path(asked.stdout.strip())
    if sys.platform != "linux" or not runtime.is_absolute():
        sys.exit("AddressSanitizer's runtime for gcc, libasan.so, is missing: apt install gcc, or dnf install libasan")
    options = {
        "detect_leaks": 0,  # CPython keeps much to its end; tests/test_gc.py counts references instead
        "allocator_may_return_null": 1,  # where memory ends the tests expect an error, not the end of the process
        "max_allocation_size_mb": 4096,
        "log_path": reports / "asan",
    }
    return Tool(
        faults={
            "freed object": "heap-use-after-free",
            "freed items": "heap-use-after-free",
            "freed memory": "heap-use-after-free",
            "past the end": "heap-buffer-overflow",
        },
        environment={
            **PLAIN_MALLOC,
            "LD_PRELOAD": str(runtime.resolve()),
            "ASAN_OPTIONS": ":".join(f"{name}={value}" for name, value in options.items()),
            "TEST_SLOWDOWN": "5",
        },
        pytest=["-o", "timeout=900", *WATCHABLE],
    )


def valgrind(reports: Path) -> Tool:
    program = shutil.which("valgrind")
    if program is None:
        sys.exit("valgrind is missing: apt install valgrind, or dnf install valgrind")
    options = {
        "suppressions": ROOT / ".ci" / "valgrind.supp",
        "trace-children": "yes",
        "leak-check": "no",  # as with AddressSanitizer
        "error-limit": "no",
        "error-exitcode": 99,
        "log-file": reports / "valgrind.%p",
    }
    return Tool(
        faults={
            "freed object": "Invalid read",
            "freed items": "Invalid read",
            "freed memory": "Invalid read",
            "past the end": "Invalid read",
            "undefined value": "depends on uninitialised value",
        },
        command=[program, "--quiet", *(f"--{name}={value}" for name, value in options.items())],
        environment={**PLAIN_MALLOC, "TEST_SLOWDOWN": "50", "HYPOTHESIS_PROFILE": "few"},
        pytest=["-o", "timeout=3000", *WATCHABLE],
        tests=[f"tests/test_{name}.py" for name in [*IN_PLACE, *LOOKED_UP]],
    )


def checked(_reports: Path) -> Tool:
    return Tool(
        faults={
            "overflow": "attempt to add with overflow",
            "unchecked index": "unsafe precondition(s) violated",
        }
    )


def said(reports: Path) -> str:
    """What the tool has found, a file for each process, and forget it."""
    written = []
    for path in sorted(reports.iterdir()):
        lines = path.read_text(errors="replace").splitlines(keepends=True)
        written += [line for line in lines if REFUSAL not in line]
        path.unlink()
    return "".join(written)


def overlooked(tool: Tool, reports: Path) -> list[str]:
    missed = []
    for name, words in tool.faults.items():
        code = f"from clika_pytree import _native; _native._commit_fault({name!r})"
        done = tool.run(sys.executable, "-c", code, folder=ROOT / "tests", capture_output=True)
        report = done.stdout + done.stderr + said(reports)
        caught = done.returncode != 0 and words in report
        print(f"fault on purpose, {name}: {'caught' if caught else 'OVERLOOKED'}", flush=True)
        if not caught:
            missed.append(name)
            print(f"exit {done.returncode}, without {words!r} in:\n{report}", file=sys.stderr)
    return missed


TOOLS: dict[str, Callable[[Path], Tool]] = {"asan": asan, "valgrind": valgrind, "test-checked": checked}


def main() -> None:
    name, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as folder:
        reports = Path(folder)
        tool = TOOLS[name](reports)
        if arguments == ["--ready"]:
            return
        if missed := overlooked(tool, reports):
            sys.exit(f"{name} overlooks {', '.join(missed)}: its silence about the tests would mean nothing")
        tests = [] if any(argument.startswith("tests/") for argument in arguments) else tool.tests
        code = tool.run(sys.executable, str(PYTEST), *tool.pytest, *tests, *arguments, check=False).returncode
        if report := said(reports):
            sys.exit(f"{report}\n{name} reports the above")
    sys.exit(code)


if __name__ == "__main__":
    main()
