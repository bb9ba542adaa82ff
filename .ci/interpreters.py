"""Run Python's tests on every supported interpreter of this machine, each in an environment of its own.

`interpreters.py .venv` leaves out the Python of `.venv`, which `make test` uses, and makes `.venv-3.12` and so on.
Looked for are `python3.12` on the path and pyenv's versions; pyproject.toml lists what is supported.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DESCRIBE = (
    "import platform, sys, sysconfig; sys.implementation.name == 'cpython' and "
    "not sysconfig.get_config_var('Py_GIL_DISABLED') and print(platform.python_version())"
)


def supported() -> list[str]:
    classifiers = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert classifiers
    return classifiers


def version_of(program: Path | str) -> str:
    """The version of a CPython with a GIL, else nothing: a shim of pyenv's may stand for no interpreter at all."""
    try:
        done = subprocess.run([program, "-c", DESCRIBE], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def candidates(minor: str) -> Iterator[Path | str]:
    if on_path := shutil.which(f"python{minor}"):
        yield on_path
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    yield from sorted(versions.glob(f"{minor}.*/bin/python"), key=numbers, reverse=True)


def numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


def find(minor: str) -> tuple[str, str] | None:
    """The first program that is this version of Python, and its whole version."""
    for program in candidates(minor):
        version = version_of(program)
        if version.startswith(f"{minor}."):
            return str(program), version
    return None


def run_tests(minor: str, program: str, venv: str) -> bool:
    command = ["make", "--no-print-directory", "test-python", "WITH=core", f"VENV={venv}-{minor}", f"PYTHON={program}"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main() -> None:
    venv = sys.argv[1]
    own = version_of(ROOT / venv / "bin" / "python")
    rows, failed = [], False
    for minor in supported():
        found = find(minor)
        if own.startswith(f"{minor}."):
            rows.append((minor, f"{own} is the Python of {venv}, for `make test`"))
        elif found is None:
            rows.append((minor, "not on this machine"))
        else:
            program, version = found
            print(f"\n--- Python {version}: {program}", flush=True)
            begun = time.monotonic()
            passed = run_tests(minor, program, venv)
            failed |= not passed
            rows.append((minor, f"{version} {'passed' if passed else 'FAILED'} in {time.monotonic() - begun:.0f} s"))
    print("\nInterpreters:")
    for minor, row in rows:
        print(f"  Python {minor:5} {row}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
