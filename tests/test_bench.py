"""The benchmarks run: they are no tests of speed, but they call much of the library and would rot unseen."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clika_pytree import _native

BENCH = Path(__file__).parents[1] / "bench"
RELEASE = _native.build_profile == "release"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=100)


def test_compare(tmp_path):
    done = run(tmp_path, str(BENCH / "compare.py"), "--trees", "leaf", "modules", "--json", "figures.json")
    if not RELEASE:
        assert done.returncode == 1
        assert "debug build" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert list(figures) == ["leaf", "modules"]
    for rows in figures.values():
        assert len(rows) == 9
        assert all(row["clika_pytree"] > 0 for row in rows.values())
        for operation in rows:
            assert operation in done.stdout


@pytest.mark.parametrize("shape", ["list", "dict", "mixed"])
def test_what_instructions_are_counted_of(tmp_path, shape):
    for operation in ["flatten", "leaves", "structure", "unflatten", "map", "flatten_up_to"]:
        done = run(tmp_path, str(BENCH / "repeat.py"), operation, shape, "2")
        assert (done.returncode, done.stderr) == (0, "")


def test_every_shape_has_the_leaves_that_figures_are_divided_by(tmp_path):
    code = "import repeat, clika_pytree as cp; print({len(cp.tree_leaves(make())) for make in repeat.SHAPES.values()})"
    done = run(BENCH, "-c", code)
    assert (done.stdout, done.stderr) == ("{200}\n", "")
