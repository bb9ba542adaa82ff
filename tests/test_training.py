"""examples/training.py as a user runs it: a program of its own, whose exit code says whether its claims hold."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "training.py"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)


def test_a_thousand_steps_of_many_sizes_are_one_graph(tmp_path):
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Everything said above was checked.\n")
    assert "1,000 batches of 247 different sizes" in done.stdout
    assert "CacheInfo(hits=999, misses=1, maxsize=64, currsize=1)" in done.stdout
    losses = [float(found) for found in re.findall(r"mean loss of the last 200: ([\d.]+)", done.stdout)]
    assert len(losses) == 5
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.1
    assert re.search(r"^ +999 +\d+ +[\d.]+ m?s  params\[0\]\['w'\]: float32\[\*, \*\]", done.stdout, re.M), "the table"
    assert re.search(r"# training.py:\d+$", done.stdout, re.M), "the source, with the lines it comes from"
    assert re.search(r"^ +batch\.points: .*float64", done.stdout, re.M), "why another call needs a graph"
    assert re.search(r"^ +adam: .*was 0.003, now 0.01$", done.stdout, re.M)
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_fewer_steps(tmp_path):
    done = run(tmp_path, "--steps", "100")
    assert (done.returncode, done.stderr) == (0, "")
    assert "CacheInfo(hits=99, misses=1, maxsize=64, currsize=1)" in done.stdout


def test_too_few_steps(tmp_path):
    done = run(tmp_path, "--steps", "3")
    assert done.returncode == 2
    assert "--steps must be 100 at least" in done.stderr
