"""A few seconds of `make fuzz` and `make differential`, always with the same inputs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.targets import TARGETS
from helpers import SLOWDOWN

FOLDER = Path(__file__).parent


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(program), *arguments]
    return subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=110 * SLOWDOWN, check=False)


def test_random_input_does_no_harm():
    done = run(FOLDER / "run_fuzz.py", "--count", "3000", "--seconds", str(14 * SLOWDOWN))
    assert done.returncode == 0, done.stdout + done.stderr
    tried = {
        target: int(count.replace(",", "")) for target, count in re.findall(r"(\w+): ([\d,]+) inputs", done.stdout)
    }
    assert tried.keys() == TARGETS.keys()
    assert min(tried.values()) >= 5, done.stdout


FAULTS = """
import ctypes, sys
sys.path[:0] = [{folder!r}]
import run_fuzz

def for_ever():
    while True: pass

FAULTS = {{2: lambda: 1 / 0, 4: lambda: ctypes.string_at(0), 6: for_ever, 8: lambda: bytes(10**10)}}

def planted(drawer):
    FAULTS.get(drawer.number, bool)()
    return ["fine"]

run_fuzz.TARGETS.clear()
run_fuzz.TARGETS["planted"] = planted
run_fuzz.MOST_WORK = 0.3
run_fuzz.__file__ = __file__
sys.exit(run_fuzz.main())
"""
REPORTED = {
    2: "ZeroDivisionError",
    4: "the process ended with SIGSEGV",
    6: "the process ended with SIGPROF: more than 0.3 seconds of work",
    8: "MemoryError",
}


@pytest.mark.unwatched
def test_a_fault_is_found_and_names_its_input(tmp_path):
    """What a target may do, each at one input: it is reported with its number, and the inputs after it are tried."""
    program = tmp_path / "planted.py"
    program.write_text(FAULTS.format(folder=str(FOLDER)))
    done = run(program, "planted", "--count", "12", "--seconds", "100")
    assert done.returncode == 1, done.stdout + done.stderr
    reports = re.findall(r"INPUT (\d+) of planted(.*?)(?=INPUT|\Z)", done.stdout, re.S)
    assert [int(number) for number, _ in reports] == list(REPORTED)
    for number, text in reports:
        assert REPORTED[int(number)] in text
