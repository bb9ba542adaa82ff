"""Build the wheels and the sdist of a release in `dist/`, and try each in an environment that has nothing else.

`wheels.py build .venv` makes a wheel for each supported interpreter of this machine. On Linux zig links them against
the glibc of manylinux2014, whatever the machine's own is, and maturin refuses a wheel that needs a newer one.
`wheels.py test .venv ARGS` installs each wheel beside nothing but what it depends on, looks at what came, and runs the
tests with it; then it builds the sdist, looks at that wheel, too, and asks whether the extras can be had. ARGS are
pytest's.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from interpreters import ROOT, find, supported

DIST = ROOT / "dist"
ON_GLIBC = platform.libc_ver()[0] == "glibc"
# The extras of users, each of which has to be installable beside the package.
RUNTIMES = ("jax", "torch", "mlx", "optree")
# What an environment has before anything is installed.
ITS_OWN = {"pip", "setuptools", "wheel"}


def run(*command: Path | str, cwd: Path = ROOT, **environment: str) -> None:
    subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, check=True)


def interpreters() -> Iterator[tuple[str, str]]:
    """Each minor version that the machine has, and its program."""
    for minor in supported():
        if found := find(minor):
            yield minor, found[0]


def new_environment(folder: Path, program: str) -> Path:
    run(program, "-m", "venv", "--clear", folder)
    return folder / "bin" / "python"


def pip(python: Path, *arguments: Path | str) -> None:
    # A missing Rust is an error, not a download.
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments, MATURIN_NO_INSTALL_RUST="1")


def maturin_required() -> str:
    required = re.search(r'^requires = \["maturin(.*)"\]$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert required
    return required[1]


# ---- building -------------------------------------------------------------------------------------------------------


def build(venv: str) -> None:
    python = new_environment(Path(f"{venv}-dist"), sys.executable)
    pip(python, "install", f"maturin[zig]{maturin_required()}", "twine>=6.1")
    maturin = python.with_name("maturin")
    portable = ["--zig", "--compatibility", "manylinux2014"] if ON_GLIBC else ["--compatibility", "pypi"]
    for old in DIST.glob("clika_pytree-*"):
        old.unlink()
    run(maturin, "sdist", "--out", DIST)
    for minor, program in interpreters():
        # A folder for each: what PyO3 compiles depends on the interpreter, and the next build finds it again.
        target = ROOT / "target" / f"python{minor}"
        # maturin finds zig by the Python that is first on the path.
        run(
            *(maturin, "build", "--release", "--locked", *portable),
            *("--interpreter", program, "--target-dir", target, "--out", DIST),
            PATH=f"{maturin.parent}{os.pathsep}{os.environ['PATH']}",
        )
    run(python.with_name("twine"), "check", "--strict", *sorted(DIST.glob("clika_pytree-*")))


# ---- trying ---------------------------------------------------------------------------------------------------------


def test(venv: str, arguments: list[str]) -> None:
    for minor, program in interpreters():
        wheel = the_one(DIST, f"clika_pytree-*-cp{minor.replace('.', '')}-*.whl")
        print(f"\n--- {wheel.name}", flush=True)
        python = new_environment(Path(f"{venv}-wheel-{minor}"), program)
        pip(python, "install", wheel)
        check(python)
        pip(python, "install", f"{wheel}[core]")
        run(python.with_name("pytest"), *arguments)
    sdist = the_one(DIST, "clika_pytree-*.tar.gz")
    print(f"\n--- {sdist.name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        python = new_environment(Path(f"{venv}-sdist"), sys.executable)
        pip(python, "wheel", "--no-deps", "--no-cache-dir", "--wheel-dir", folder, sdist)
        built = the_one(Path(folder), "*.whl")
        beside = the_one(DIST, f"clika_pytree-*-cp{sys.version_info.major}{sys.version_info.minor}-*.whl")
        assert modules(built) == modules(beside), modules(built) ^ modules(beside)
        pip(python, "install", built)
    check(python)
    pip(python, "install", "--upgrade", "pip")  # older ones download what they would install
    for extra in RUNTIMES:
        pip(python, "install", "--dry-run", f"{beside}[{extra}]")
        print(f"clika-pytree[{extra}] has all it asks for", flush=True)


def the_one(folder: Path, pattern: str) -> Path:
    found = list(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{folder} has {len(found)} files like {pattern} where one is expected: make wheel")
    return found[0]


def modules(wheel: Path) -> set[str]:
    """The files of the package in a wheel."""
    with zipfile.ZipFile(wheel) as files:
        return {name for name in files.namelist() if name.startswith("clika_pytree/")}


def check(python: Path) -> None:
    """Nothing came with the package but numpy, and its first steps succeed."""
    command = [python, "-m", "pip", "--disable-pip-version-check", "list", "--format", "json"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    names = {package["name"] for package in listed} - ITS_OWN
    if names != {"clika-pytree", "numpy"}:
        sys.exit(f"expected clika-pytree and numpy in the environment, found {sorted(names)}")
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-I", "-W", "error", ROOT / ".ci" / "first_steps.py", cwd=Path(folder))


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(sys.argv[2])
    else:
        test(sys.argv[2], sys.argv[3:])
