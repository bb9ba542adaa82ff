"""Run Python's tests on every other supported interpreter of this machine, each in an environment of its own.

`interpreters.py .venv` makes `.venv-3.12` and so on. The Python that runs this is left to `make test`. Looked for are
`python3.12` on the path and pyenv's versions; pyproject.toml lists what is supported.
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
# Of a CPython with a GIL that can make an environment; others say nothing, or fail.
DESCRIBE = (
    "import ensurepip, platform, sys, sysconfig, venv; sys.implementation.name == 'cpython' and "
    "not sysconfig.get_config_var('Py_GIL_DISABLED') and print(platform.python_version())"
)


def supported() -> list[str]:
    """`3.10` and so on."""
    classifiers = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    assert classifiers
    return classifiers


def version_of(program: Path | str) -> str:
    """The version of an interpreter that will do, else nothing: a shim of pyenv's may stand for none at all."""
    try:
        done = subprocess.run([program, "-c", DESCRIBE], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def candidates(minor: str) -> Iterator[Path | str]:
    """What is on the path, then what pyenv has: releases before what comes before them, the newest first."""
    if on_path := shutil.which(f"python{minor}"):
        yield on_path
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    found = [path for path in versions.glob(f"{minor}[.-]*") if (path / "bin" / "python").exists()]
    found.sort(key=lambda path: (path.name.replace(".", "").isdigit(), numbers(path.name)), reverse=True)
    yield from (path / "bin" / "python" for path in found)


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def find(minor: str) -> tuple[str, str] | None:
    """The first program that is this version of Python, and its whole version."""
    for program in candidates(minor):
        version = version_of(program)
        if version.startswith(f"{minor}."):
            return str(program), version
    return None


def run_tests(minor: str, program: str, venv: str) -> bool:
    # What make was given, ARGS for one, is handed on by the environment; what is named here goes before it.
    command = ["make", "--no-print-directory", "test-python", "WITH=core", f"VENV={venv}-{minor}", f"PYTHON={program}"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main() -> None:
    venv = sys.argv[1]
    own = "{}.{}".format(*sys.version_info)
    rows, failed = [], False
    for minor in supported():
        if minor == own:
            rows.append((minor, "left to `make test`"))
        elif found := find(minor):
            program, version = found
            print(f"\n--- Python {version}: {program}", flush=True)
            begun = time.monotonic()
            passed = run_tests(minor, program, venv)
            failed |= not passed
            rows.append((minor, f"{version} {'passed' if passed else 'FAILED'} in {time.monotonic() - begun:.0f} s"))
        else:
            rows.append((minor, "none here that has a GIL and the venv module"))
    print("\nInterpreters:")
    for minor, row in rows:
        print(f"  Python {minor:5} {row}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
